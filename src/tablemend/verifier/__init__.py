"""Claims of texts and answer tables, verifiers of every sort, and one way to run them (STAF)."""
