"""Statements about the one thing that an info box describes."""
