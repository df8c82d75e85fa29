"""Examples by language models: prompts, what a program checks, and how stages follow each other."""
