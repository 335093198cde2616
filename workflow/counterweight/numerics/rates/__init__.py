"""Rates on named data sets: the language of objectives, constraints and measures.

The names below are found in their modules on first use, so that a config's expressions can
be checked (`counterweight.numerics.rates.language`) without importing numpy.
"""

import importlib

_MODULES = {
    "DataSets": "datasets",
    "compile": "values",
    "measure": "values",
    "parse_constraint": "language",
    "parse_expression": "language",
}
__all__ = [*_MODULES]


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
