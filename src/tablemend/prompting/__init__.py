"""Prompts as files, and answers read strictly: what every room that asks models shares."""
