"""From a finished run to what others can use and check: merged weights, a folder, a model card."""
