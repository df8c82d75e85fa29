"""Verifying claims by program: values, comparisons, counts, arithmetic, time; no model."""
