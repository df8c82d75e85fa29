"""One module a benchmark: load, prompt, judge."""
