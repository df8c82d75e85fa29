"""The TabFaith sets: faithful summaries, injected errors, three enterprise domains."""
