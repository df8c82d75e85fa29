"""STAF: claims, verifiers of every sort, and one way to run them."""
