"""Measure, train away and mend what language models make up around tables."""

__version__ = "0.1.0"
