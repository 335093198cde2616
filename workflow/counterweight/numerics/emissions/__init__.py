"""Densities of mixed features within a component of a mixture."""
