"""Figures of studies of balanced filters."""
