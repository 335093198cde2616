"""Sheets of studies of balanced filters."""
