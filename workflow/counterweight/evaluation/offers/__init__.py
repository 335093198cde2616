"""Offers: fit, revenue, regressions."""
