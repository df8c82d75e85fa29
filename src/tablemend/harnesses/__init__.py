"""Our tasks and scorers in other evaluation harnesses: inspect_ai and lm-evaluation-harness."""
