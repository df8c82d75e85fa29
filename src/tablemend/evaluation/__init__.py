"""The comparison: every system answers the same examples, and one scorer scores all of them."""
