"""Answer tables verified against the text that they were made from."""
