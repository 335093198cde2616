"""Figures of studies of constraints."""
