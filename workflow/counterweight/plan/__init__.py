"""From config to plan: checks, defaults, registries, digests of code."""
