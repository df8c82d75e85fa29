"""The TabFaith sets: faithful summaries, planted errors, three enterprise domains."""
