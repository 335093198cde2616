"""Figures of studies of offers."""
