"""Data sets drawn from models whose truth is known."""
