"""Prompts as files, and answers read strictly: shared by every package that asks models."""
