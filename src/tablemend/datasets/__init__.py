"""The data sets that we make: one folder each."""
