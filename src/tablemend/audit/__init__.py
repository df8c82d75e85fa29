"""Many answers of a model, scored and counted: how often it makes things up, and where."""
