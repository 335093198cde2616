"""Models of answers to offers."""
