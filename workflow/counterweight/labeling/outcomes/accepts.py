"""Outcome of an offer: 1 where it was accepted."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import require
from counterweight.labeling.own.words import FALSE, TRUE

OPTIONS = {
    "column": {
        "type": "string",
        "default": "answer",
        "description": "Column of the answers: 0 or 1, false or true, no or yes.",
    },
    "positive": {
        "type": ["string", "number", "boolean", "null"],
        "default": None,
        "description": "The answer that accepts, where answers are other words or numbers; all "
        "others refuse. null for those above.",
    },
    "blanks": {
        "enum": ["refuse", "unanswered"],
        "default": "refuse",
        "description": "refuse: a missing answer is an error. unanswered: the person is no "
        "example, but gets an offer.",
    },
}
WORDS = dict.fromkeys(TRUE, 1) | dict.fromkeys(FALSE, 0)


def accepts(frame, population, *, column="answer", positive=None, blanks="refuse"):
    """Answers as 0 (refused) and 1 (accepted).

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows, with ``row``.
    population : numpy.ndarray of bool
        Not used: the answer is the same in every population.
    column : str
        Numbers 0 and 1, booleans, or the words no and yes, false and true, 0 and 1, in
        capitals or not; or whatever `positive` tells apart.
    positive : str, float or bool, optional
        The answer that accepts, in capitals or not; every other one refuses.
    blanks : {"refuse", "unanswered"}
        What a missing answer is.

    Returns
    -------
    numpy.ndarray of int8, or of float where an answer is missing
        NaN where it is.

    Raises
    ------
    CounterweightError
        When the column is missing; an answer is missing and must not be; one is none of these,
        or none is the one that accepts.
    """
    require(frame, [column], "outcome rule accepts")
    values, rows = frame[column], frame["row"].to_numpy()
    missing = values.isna().to_numpy()
    if missing.any() and blanks == "refuse":
        raise CounterweightError(
            f"The answer {column!r} is missing in {int(missing.sum())} of {len(values)} rows "
            f"(first: row {rows[missing][0]}): leave those rows out, since a refused offer is a 0 "
            "and not a blank."
        )
    given, rows = values[~missing], rows[~missing]
    answers = np.full(len(values), np.nan)
    answers[~missing] = (
        _plain(given, rows, column) if positive is None else _told(given, positive, column)
    )
    return answers if missing.any() else answers.astype(np.int8)


def _plain(values, rows, column):
    """Answers that need no word for yes."""
    if _numeric(values):
        answers = values.to_numpy(dtype=float)
        wrong = ~np.isin(answers, (0.0, 1.0))
    else:
        known = values.astype(str).str.strip().str.lower().map(WORDS)
        wrong = known.isna().to_numpy()
        answers = known.fillna(0).to_numpy(dtype=float)
    if wrong.any():
        words = listed(sorted(values[wrong].astype(str).unique()), 5)
        raise CounterweightError(
            f"The answer {column!r} is {words} in {int(wrong.sum())} of {len(values)} rows (first: "
            f"row {rows[wrong][0]}) where 0 or 1, no or yes is expected: recode these answers, say "
            "which one accepts (positive), or choose another column."
        )
    return answers


def _told(values, positive, column):
    """Answers of which one accepts."""
    word = str(positive).strip().lower()
    if _numeric(values):
        # Columns of yes and no may have come as 1 and 0.
        try:
            number = float(WORDS.get(word, word))
        except ValueError:
            number = np.nan
        answers = values.to_numpy(dtype=float) == number
    else:
        answers = (values.astype(str).str.strip().str.lower() == word).to_numpy()
    if len(values) and not answers.any():
        words = listed(sorted(values.astype(str).unique()), 5)
        raise CounterweightError(
            f"None of the {len(values)} answers in {column!r} is {positive!r}; they are {words}: "
            "name the one that accepts."
        )
    return answers


def _numeric(values):
    return pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
