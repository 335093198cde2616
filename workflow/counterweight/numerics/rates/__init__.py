"""Rates on named data sets: the language of objectives, constraints and measures.

The names below are found in their modules on first use, so that a config's expressions can
be checked (`counterweight.numerics.rates.language`) without importing numpy.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterweight.numerics.rates.datasets import DataSets
    from counterweight.numerics.rates.language import parse_constraint, parse_expression
    from counterweight.numerics.rates.values import compile, measure

__all__ = ["DataSets", "compile", "measure", "parse_constraint", "parse_expression"]

_MODULES = {
    "DataSets": "datasets",
    "compile": "values",
    "measure": "values",
    "parse_constraint": "language",
    "parse_expression": "language",
}


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
