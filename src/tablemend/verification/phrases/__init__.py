"""Turns of phrase that say a whole relation: "outscored", "ahead of", "within the range"."""
