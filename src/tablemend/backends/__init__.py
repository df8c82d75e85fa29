"""Engines that answer prompts: each is a ``generate(requests, sampling, ...)``."""
