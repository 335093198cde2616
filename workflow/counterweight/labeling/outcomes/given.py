"""Outcome as it stands in the table, blank where nobody knows it: a class or a number."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Option, Text
from counterweight.labeling.columns import require
from counterweight.labeling.own.words import MISSING, NEGATIVE, equal, holds, like_codes, told_apart

KIND = "blanks"
OPTIONS = {
    "column": Text(..., "Column of the table."),
    "positive": Option(None, "Value that counts as 1; null for 1 itself.", type=["string", "number", "boolean"], null=True),
    "negative": NEGATIVE,
    "missing": MISSING,
    "kind": Choice(None, ["class", "number", None], "class, one of two values; number; null to find out."),
}  # fmt: skip


def given(frame, types, *, column, positive=None, negative=None, missing=None, kind=None):
    """Outcomes as numbers, NaN where blank.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    types : mapping of str to str
        Type of each column.
    column : str
    positive : str, number or bool, optional
        What counts as 1, the other value as 0; by default of a column of two numbers the larger
        one.
    negative, missing : value or list of values, optional
        See `told_apart`; `missing` also of numbers.
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
        When there is no such column, it is empty, has one value only, or more than two classes;
        for numbers of which some look like codes of unknown, beside 0 and 1.
    """
    require(frame, [column], "outcome")
    values, text = frame[column], types.get(column) == "text"
    if negative is not None and positive is None:
        raise CounterweightError(
            f"outcome.negative says what of {column!r} is a 0, and nothing says what is a 1: say "
            "that by outcome.positive."
        )
    if positive is None and missing not in (None, []):
        values = values.mask(equal(values, missing, text=text))
    if positive is None and types.get(column) != "text":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        there = np.unique(numbers[~np.isnan(numbers)])
        _check_there(column, there)
        codes = there[like_codes(there)]
        if kind is None and missing is None and len(there) - len(codes) == 2 and 0 < len(codes) < 3:
            raise CounterweightError(
                f"The outcome {column!r} is {listed(_shown(value) for value in there)}: if "
                f"{listed(map(_shown, codes))} stands for unknown, say outcome.missing: "
                f"[{', '.join(map(_shown, codes))}]; if these are numbers, outcome.kind: number."
            )
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
        examples = (f"{{column: {column}, positive: {word}}}" for word in sorted(words))
        raise CounterweightError(
            f"The outcome {column!r} is one of {listed(sorted(words))}: say by outcome.positive "
            f"which counts as 1, as in outcome: {' or '.join(examples)}."
        )
    holds(frame, types, column, positive)
    found = told_apart(
        values, positive, negative, missing, text=text, what=f"outcome {column!r}", key="outcome"
    )
    ones, others = (values[found == value].unique() for value in (1, 0))
    if not len(others):
        raise CounterweightError(
            f"The outcome {column!r} is {_shown(ones[0])} wherever it is known: two values are "
            "needed to learn what tells them apart."
        )
    if types.get(column) == "boolean":
        return found, True, ("no", "yes") if ones[0] else ("yes", "no")
    one = _shown(ones[0])
    return found, True, (_shown(others[0]) if len(others) == 1 else f"not {one}", one)


def classes_as_given(values, y, names, kind=None, form=None):
    """What 0 and 1 stand for, as the table that people gave has it: two JSON values.

    Parameters
    ----------
    values : pandas.Series (n,)
        The outcome's column of the prepared table.
    y : array (n,) of 0 and 1, NaN where nobody knows
    names : sequence
        What to say where either stands for several values.
    kind, form : str, dict, optional
        Type of the column, and how its texts were read.
    """
    made = []
    for one in (0, 1):
        own = values[np.asarray(y) == one].dropna().unique()
        if len(own) != 1:
            return list(names)
        value = own[0]
        if kind == "boolean":
            # Tables are read with true and false as such, and other words as texts.
            word = (form or {}).get("true" if value else "false", "true")
            made.append(bool(value) if word.lower() in ("true", "false") else word)
        elif isinstance(value, str):
            made.append(value)
        else:
            made.append(int(value) if float(value).is_integer() else float(value))
    return made


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
