"""Sheets of studies of logs."""
