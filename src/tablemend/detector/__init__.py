"""Which errors does an answer hold? Imports no torch."""
