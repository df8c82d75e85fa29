"""The tables of a source: where they come from, what their columns hold, names for more rows."""
