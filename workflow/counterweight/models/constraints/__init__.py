"""Classifiers under constraints on rates."""
