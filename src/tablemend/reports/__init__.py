"""Rates, intervals, paired tests, and what people look at."""
