"""Sheets of studies of offers."""
