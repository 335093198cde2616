"""Tilts: populations that differ by a number in the log odds of y given x."""
