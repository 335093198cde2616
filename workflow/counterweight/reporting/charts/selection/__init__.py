"""Figures of studies of selection bias."""
