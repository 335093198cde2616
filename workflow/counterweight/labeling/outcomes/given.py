"""Outcome as it stands in the table, blank where nobody knows it: a class or a number."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import require
from counterweight.labeling.own.words import holds

KIND = "blanks"
OPTIONS = {
    "column": {"type": "string", "description": "Column of the table."},
    "positive": {
        "type": ["string", "number", "boolean", "null"],
        "default": None,
        "description": "Value that counts as 1; null for 1 itself.",
    },
    "kind": {
        "enum": ["class", "number", None],
        "default": None,
        "description": "class, one of two values; number; null to find out.",
    },
}


def given(frame, types, *, column, positive=None, kind=None):
    """Outcomes as numbers, NaN where blank.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    types : mapping of str to str
        Type of each column.
    column : str
    positive : str, number or bool, optional
        What counts as 1, all else as 0; by default of a column of two numbers the larger one.
    kind : {"class", "number"}, optional

    Returns
    -------
    values : numpy.ndarray of float64 (n,)
    binary : bool
    names : tuple of str
        What 0 and 1 stand for; empty for numbers.

    Raises
    ------
    CounterweightError
        When there is no such column, it is empty, has one value only, or more than two classes.
    """
    require(frame, [column], "outcome")
    values = frame[column]
    if positive is None and types.get(column) != "text":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        there = np.unique(numbers[~np.isnan(numbers)])
        _check_there(column, there)
        if kind == "number" or (kind is None and len(there) > 2):
            return numbers, False, ()
        if len(there) > 2:
            raise CounterweightError(
                f"The outcome {column!r} is to be a class, and has {len(there)} values "
                f"({listed(there[:8])}): say which counts as 1 by outcome.positive, or set "
                "outcome.kind to number."
            )
        boolean = types.get(column) == "boolean"
        names = ("no", "yes") if boolean else tuple(f"{value:g}" for value in there)
        return np.where(np.isnan(numbers), np.nan, numbers == there[1]), True, names
    if kind == "number":
        raise CounterweightError(
            f"The outcome {column!r} is to be a number, and "
            + ("holds text" if types.get(column) == "text" else "positive names one value of it")
            + ": correct outcome.kind, or leave outcome.positive out."
        )
    words = values.dropna().astype(str).unique()
    _check_there(column, words)
    if positive is None:
        if len(words) > 2:
            raise CounterweightError(
                f"The outcome {column!r} has {len(words)} classes ({listed(sorted(words), 8)}), "
                "and only two can be learned: say by outcome.positive which of them counts as 1 "
                "against all others."
            )
        example = f"outcome: {{column: {column}, positive: {sorted(words)[-1]}}}"
        raise CounterweightError(
            f"The outcome {column!r} is one of {listed(sorted(words))}: say by outcome.positive "
            f"which counts as 1, as in {example}."
        )
    yes = holds(frame, types, column, positive)
    if types.get(column) == "boolean":
        one = bool(values[yes].iloc[0])
        names = ("no", "yes") if one else ("yes", "no")
        return np.where(values.isna(), np.nan, yes.astype(float)), True, names
    ones, others = (values[part].dropna().unique() for part in (yes, ~yes))
    one = _shown(ones[0])
    names = (_shown(others[0]) if len(others) == 1 else f"not {one}", one)
    return np.where(values.isna(), np.nan, yes.astype(float)), True, names


def _shown(value):
    """A value in print: a word, or a number without a point where it has no fraction."""
    return value if isinstance(value, str) else f"{value:g}"


def _check_there(column, there):
    if len(there) == 0:
        raise CounterweightError(
            f"The outcome {column!r} is blank in every row: nothing can be learned from it."
        )
    if len(there) == 1:
        raise CounterweightError(
            f"The outcome {column!r} is {there[0]} wherever it is not blank: two values are needed "
            "to learn what tells them apart."
        )
