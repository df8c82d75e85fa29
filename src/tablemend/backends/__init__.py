"""Engines that answer requests: one string names a model, one function opens it."""
