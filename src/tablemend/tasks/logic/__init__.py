"""Logical annotation: which relation holds between what an input says and what its output says."""
