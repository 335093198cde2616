"""Classifiers to take away: the final fit on every label that may be seen, saved and applied."""
