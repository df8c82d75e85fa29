"""Pretrained models that are fetched by name, and checked."""
