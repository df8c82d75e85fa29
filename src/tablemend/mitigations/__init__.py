"""Mending answers: CAVE, repair without a model, constrained decoding."""
