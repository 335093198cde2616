"""Options of estimators, checked by the declarations that a config is checked by."""

import re

import numpy as np

from counterweight.errors import CounterweightError, listed

_BOUNDS = (
    ("minimum", "at least", np.greater_equal),
    ("exclusiveMinimum", "above", np.greater),
    ("maximum", "at most", np.less_equal),
    ("exclusiveMaximum", "below", np.less),
)
_KINDS = {
    "number": ("a number", (int, float, np.integer, np.floating)),
    "integer": ("a whole number", (int, np.integer)),
    "boolean": ("true or false", (bool, np.bool_)),
    "string": ("a text", str),
    "array": ("a list of texts", (list, tuple, np.ndarray)),
    "null": ("null", type(None)),
}


def check_options(values, options):
    """Refuse values that their entry in `options` excludes.

    A config is checked by the same fragments; this is for those who construct an estimator
    themselves. What the items of a list are is left to the estimator, and so are options
    with neither ``enum`` nor ``type``.

    Parameters
    ----------
    values : mapping of str to value
        By name, all options: ``vars`` of an estimator.
    options : mapping of str to dict
        JSON-schema fragments: enum, or type (one or several), bounds and a pattern of words.
    """
    for name, node in options.items():
        value = values[name]
        if "enum" in node:
            fits = isinstance(value, str) and value in node["enum"]
        else:
            fits = "type" not in node or any(_meets(value, kind, node) for kind in _kinds(node))
        if not fits:
            raise CounterweightError(f"{name} must be {_asked(node)}, not {value!r}.")


def _kinds(node):
    return [node["type"]] if isinstance(node["type"], str) else node["type"]


def _meets(value, kind, node):
    if not isinstance(value, _KINDS[kind][1]):
        return False
    if kind == "string":
        return re.search(node.get("pattern", ""), value) is not None
    if kind not in ("number", "integer"):
        return True
    bounded = all(fits(value, node[key]) for key, _, fits in _BOUNDS if key in node)
    return bool(not isinstance(value, bool) and np.isfinite(value) and bounded)


def _asked(node):
    """What an option must be, in words."""
    if "enum" in node:
        return f"one of {listed(node['enum'])}"
    asked = []
    for kind in _kinds(node):
        text = _KINDS[kind][0]
        if kind in ("number", "integer"):
            bounds = [f"{word} {node[key]}" for key, word, _ in _BOUNDS if key in node]
            text = " ".join([text, " and ".join(bounds)]).strip()
        elif kind == "string" and "pattern" in node:
            words = node["pattern"].strip("^()$").split("|")
            text = words[0] if len(words) == 1 else f"one of {listed(words)}"
        asked += [text] if kind != "null" else []
    return ", or ".join(asked)
