"""Weights that make labeled rows stand for others, from the rows themselves."""
