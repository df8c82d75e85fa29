"""Engines that turn prompts into answers."""
