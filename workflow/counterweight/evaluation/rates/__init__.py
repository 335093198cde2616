"""Rates of classifiers."""
