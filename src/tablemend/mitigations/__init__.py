"""Ways to make fewer errors, one function each."""
