"""Balanced filters."""
