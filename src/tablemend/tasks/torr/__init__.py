"""ToRR: ten data sets of questions about tables, each example in many prompt configurations."""
