"""Preference pairs: a gold answer beside one that the detector finds fault with."""
