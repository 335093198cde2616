"""Sheets of studies of constraints."""
