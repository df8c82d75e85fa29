"""A model server for tests: it speaks the OpenAI protocol, answers by program, fails on demand."""
