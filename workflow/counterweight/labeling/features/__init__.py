"""Recipes that make numbers of a table's columns."""
