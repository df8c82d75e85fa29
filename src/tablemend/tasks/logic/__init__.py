"""Inputs and outputs whose divergence is to be named: formulas of a blocks world, and hotels."""
