"""The benchmarks, one folder each: data, prompts, targets, scores and rewards."""
