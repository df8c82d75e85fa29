"""One class a benchmark: what is asked, taught, scored and paid."""
