"""A table of one's own: what its columns are, who is labeled in it."""
