"""The solver behind constrained classifiers."""
