"""What data sets share: source tables, splits, cards, labelled texts, the shortcut probe."""
