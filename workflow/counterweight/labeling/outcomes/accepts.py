"""Outcome of an offer: 1 where it was accepted."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Option, Text
from counterweight.labeling.columns import require
from counterweight.labeling.own.words import FALSE, MISSING, NEGATIVE, TRUE, equal, told_apart

OPTIONS = {
    "column": Text("answer", "Column of the answers: 0 or 1, false or true, no or yes."),
    "positive": Option(None,
        "The answer that accepts, where answers are other words or numbers; null for those above.", type=["string", "number", "boolean"], null=True),
    "negative": NEGATIVE,
    "missing": MISSING,
    "blanks": Choice("refuse", ["refuse", "unanswered"], "refuse: a missing answer is an error. unanswered: the person is no example, but gets an offer."),
}  # fmt: skip
WORDS = dict.fromkeys(TRUE, 1) | dict.fromkeys(FALSE, 0)


def accepts(
    frame,
    population,
    *,
    column="answer",
    positive=None,
    negative=None,
    missing=None,
    blanks="refuse",
):
    """Answers as 0 (refused) and 1 (accepted), int8; float with NaN where an answer is missing.

    By `OPTIONS`; the answer is the same in every population. Without ``positive`` answers are
    numbers 0 and 1, booleans, or the words no and yes, false and true, 0 and 1, in capitals or not.

    Raises
    ------
    CounterweightError
        When the column is missing; an answer is missing and must not be; one is none of these,
        or none is the one that accepts.
    """
    require(frame, [column], "outcome rule accepts")
    values, rows = frame[column], frame["row"].to_numpy()
    text = not _numeric(values)
    low = values.astype("str").str.strip().str.lower() if text else values
    said = {"negative": _lower(negative), "missing": _lower(missing)}
    blank = values.isna().to_numpy(bool)
    if missing is not None:
        blank = blank | equal(low, said["missing"], text=text)
    if blank.any() and blanks == "refuse":
        raise CounterweightError(
            f"The answer {column!r} is missing in {int(blank.sum())} of {len(values)} rows "
            f"(first: row {rows[blank][0]}): leave those rows out, since a refused offer is a 0 "
            "and not a blank."
        )
    if positive is None:
        if negative is not None:
            raise CounterweightError(
                f"answer.negative says what of {column!r} refuses, and nothing says what accepts: "
                "say it by answer.positive."
            )
        answers = np.full(len(values), np.nan)
        answers[~blank] = _plain(low[~blank], rows[~blank], column)
    else:
        yes = equal(low[~blank], _lower(positive), text=text)
        if len(yes) and not yes.any():
            words = listed(sorted(values[~blank].astype(str).unique()), 5)
            raise CounterweightError(
                f"None of the {len(yes)} answers in {column!r} is {positive!r}; they are {words}: "
                "name the one that accepts."
            )
        what = f"answer {column!r}"
        answers = told_apart(low, _lower(positive), **said, text=text, what=what, key="answer")
    return answers if blank.any() else answers.astype(np.int8)


def _lower(said):
    """What a config says, in small letters."""
    if isinstance(said, list):
        return [_lower(one) for one in said]
    return said.strip().lower() if isinstance(said, str) else said


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
            f"row {rows[wrong][0]}) where 0 or 1, no or yes is expected: say which one accepts by "
            "answer.positive, or which are unknown by answer.missing, or choose another column."
        )
    return answers


def _numeric(values):
    return pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
