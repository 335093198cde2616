"""Tilted classifiers: of labeled rows, moved to others by a number in the log odds."""
