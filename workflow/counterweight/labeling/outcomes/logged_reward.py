"""Outcome as the reward of a logged action, in a log of one's own."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Number, Option, Text
from counterweight.labeling.columns import floats, refuse_outside
from counterweight.labeling.conditions import NEGATIVE, as_number, told_apart
from counterweight.labeling.logs import lone_word, present

KIND = "log"
OPTIONS = {
    "column": Text(..., "Column of the log."),
    "positive": Option(None,
        "Value of the column that is a reward of 1; null where the column holds numbers.", type=["string", "number", "boolean"], null=True),
    "negative": NEGATIVE,
    "low": Number(None, "Least reward that can occur; null for 0, or the least one if that is less.", null=True),
    "high": Number(None, "Largest reward that can occur; null for the largest one in the log.", null=True),
}  # fmt: skip


def logged_reward(frame, population, *, column, positive=None, negative=None, low=None, high=None):
    """The rewards of a column of some rows of a log, checked; float64.

    `positive` is compared as numbers where the column holds numbers, else as text; `negative`, a
    value or a list of values, is a reward of 0, needed where a batch has several values beside
    `positive`. `low` and `high` are bounds, themselves included.

    Raises
    ------
    CounterweightError
        When the column is missing, is text without `positive`, a reward is missing or infinite
        or outside the bounds, or the bounds are in the wrong order.
    """
    bottom = -np.inf if low is None else low
    top = np.inf if high is None else high
    if not bottom < top:
        raise CounterweightError(
            f"The bounds of the reward are {bottom:g} and {top:g}: low must be below high."
        )
    present(frame.columns, column, "reward")
    if positive is not None:
        return _is(frame, column, positive, negative)
    if frame[column].dtype.kind not in "biuf":
        if found := lone_word(frame[column]):
            place, word = found
            row = np.asarray(frame["row"])[place]
            raise CounterweightError(
                f"The reward {column!r} is {word!r} in row {row}, where most rows have numbers: "
                "correct it, or leave such rows out."
            )
        words = sorted({str(word) for word in frame[column].dropna().unique()[:20]})
        raise CounterweightError(
            f"The reward {column!r} holds text ({listed(words[:3])}), not numbers: say which value "
            f"is a reward of 1, as in reward: {{column: {column}, positive: {words[0]}}}."
            if words
            else f"The reward {column!r} is missing in every row looked at: fill it in."
        )
    values = floats(frame, column, "outcome rule logged_reward")
    refuse_outside(
        values,
        bottom,
        top,
        rows=np.asarray(frame["row"]),
        name=f"reward {column!r}",
        where="reward",
    )
    return values


def _is(frame, column, positive, negative):
    values = frame[column]
    missing = values.isna().to_numpy()
    if missing.any():
        raise CounterweightError(
            f"The reward {column!r} is missing in {int(missing.sum())} of {len(values)} rows "
            f"looked at (first: row {frame['row'].to_numpy()[missing][0]}): fill in or leave out "
            "those rows."
        )
    number = values.dtype.kind in "biuf"
    if number and np.isnan(as_number(positive)):
        raise CounterweightError(
            f"The reward {column!r} holds numbers, so none of its values is {positive!r}: give "
            "the number that counts as a reward of 1."
        )
    said = {"what": f"reward {column!r}", "key": "reward", "blanks": False}
    return told_apart(values, positive, negative, text=not number, **said)
