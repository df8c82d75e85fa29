"""What is wrong in a table that a model wrote: answers against gold and source."""
