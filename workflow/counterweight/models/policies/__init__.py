"""Policies that choose actions."""
