"""Mixtures of Gaussians as classifiers."""
