"""Constraints on rates for any classifier that takes weights, by reductions."""
