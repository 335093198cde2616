"""Labeled are the rows that came first: old rows with labels, new ones without."""

import numpy as np

from counterweight.fragments import Number, Text
from counterweight.labeling.columns import numbers

OPTIONS = {
    "share": Number(0.5, "Share of the rows that count as old.", above=0, below=1),
    "column": Text("", "Column of numbers that rows are ordered by, the oldest first; by default the order of the file."),
}  # fmt: skip
LABEL = "the older rows are labeled"


def earlier(frame, truth, rng, *, share=0.5, column=""):
    """Whether a row is among the first `share` of all: drift (Smith & Elkan 2007, section 1).

    What is old is decided by time alone. Where p(y | x) stays as it is and only p(x) drifts,
    labels are missing at random and Lemma 2 weights are right, as far as old rows like the new
    ones exist; where p(y | x) drifts, too, no weights of old rows can be.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth, rng
        Not used: nothing is drawn.
    share : float
    column : str
        Rows of one value stand in the order of the file.

    Returns
    -------
    numpy.ndarray of bool

    Raises
    ------
    CounterweightError
        When the column is missing, or no number in some row.
    """
    time = numbers(frame, column, "labeling rule earlier") if column else frame["row"].to_numpy()
    old = np.zeros(len(frame), bool)
    old[np.argsort(time, kind="stable")[: int(share * len(frame))]] = True
    return old
