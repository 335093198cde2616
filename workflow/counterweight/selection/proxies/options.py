"""Options of proxies, checked against what their modules say about them."""

import numbers

import numpy as np

from counterweight.errors import CounterweightError, listed


def check_options(values, options):
    """Refuse options of a proxy that its literal `OPTIONS` does not allow.

    A config is checked by the same fragments; this is for those who construct a proxy
    themselves. Lists are left to the proxy.

    Parameters
    ----------
    values : mapping of str to value
        By name, all options.
    options : dict of str to dict
        JSON-schema fragments by name.

    Raises
    ------
    CounterweightError
        For a word that is none of ``enum``, or a number of the wrong type or out of bounds.
    """
    for name, node in options.items():
        value, kinds = values[name], node.get("type", ())
        kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
        if "enum" in node:
            if not isinstance(value, str) or value not in node["enum"]:
                raise CounterweightError(
                    f"{name} is {value!r}: choose one of {listed(node['enum'])}."
                )
        elif "array" not in kinds and not (value is None and "null" in kinds):
            whole = "integer" in kinds
            number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
            fits = number and np.isfinite(value) and (not whole or int(value) == value)
            if not (fits and _within(value, node)):
                kind = "whole number" if whole else "number"
                raise CounterweightError(f"{name} is {value!r}: give a {kind}{_bounds(node)}.")


def _within(value, node):
    return (
        value >= node.get("minimum", -np.inf)
        and value <= node.get("maximum", np.inf)
        and value > node.get("exclusiveMinimum", -np.inf)
        and value < node.get("exclusiveMaximum", np.inf)
    )


def _bounds(node):
    words = {
        "minimum": "of at least",
        "exclusiveMinimum": "above",
        "maximum": "of at most",
        "exclusiveMaximum": "below",
    }
    told = [f"{word} {node[key]}" for key, word in words.items() if key in node]
    return f" {' and '.join(told)}" if told else ""
