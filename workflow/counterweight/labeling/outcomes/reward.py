"""Outcome as a reward: a number within declared bounds, mostly 0."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Number, Text
from counterweight.labeling.columns import floats, refuse_outside

OPTIONS = {
    "column": Text(..., "Column of the prepared table."),
    "low": Number(0.0, "Least reward that can occur."),
    "high": Number(1.0, "Largest reward that can occur."),
}  # fmt: skip


def reward(frame, population, *, column, low=0.0, high=1.0):
    """The rewards of a column, checked against their bounds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows, with ``row``; of a log in batches, one batch.
    population : numpy.ndarray of bool
        Not used: the reward is the same in every population.
    column : str
    low, high : float
        Bounds, themselves included. An interval of a value may use them.

    Returns
    -------
    numpy.ndarray of float64

    Raises
    ------
    CounterweightError
        When the column is missing or is not numeric, a reward is missing or outside the
        bounds, or the bounds are in the wrong order.
    """
    if not low < high:
        raise CounterweightError(
            f"The bounds of the reward are {low:g} and {high:g}: low must be below high."
        )
    values = floats(frame, column, "outcome rule reward")
    refuse_outside(
        values, low, high, rows=np.asarray(frame["row"]), name=f"reward {column!r}", where="outcome"
    )
    return values
