"""The comparison: every arm answers the same examples, and one detector judges all of them."""
