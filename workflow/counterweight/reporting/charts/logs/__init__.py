"""Figures of studies of logs."""
