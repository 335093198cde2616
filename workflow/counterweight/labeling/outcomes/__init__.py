"""Rules that make the outcome of a row."""
