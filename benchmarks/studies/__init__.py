"""Studies: several trainings and one comparison each, so that ways of training can be compared."""
