"""What can be computed of what a sentence names: each operator fills its slots in every way."""
