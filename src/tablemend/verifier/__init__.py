"""Claims of a text or an answer table against tables."""
