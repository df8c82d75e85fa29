"""The schema of recipes: what is trained, how it answers, and what is compared."""
