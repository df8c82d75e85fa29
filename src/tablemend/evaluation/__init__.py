"""The comparison: every system answers the same examples, and one detector judges all of them."""
