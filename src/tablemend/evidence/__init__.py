"""What a claim can rest on: the cells of tables with their headers, the sentences of a context."""
