"""Renderer, fine-tuning and checkpoint checks."""
