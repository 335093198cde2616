"""Rules of whose label is seen."""
