"""No outcome: for tables that only say who the people are."""

import pandas as pd

KIND = "filter"
OPTIONS = {}


def no_outcome(frame, population):
    """All missing: nobody's outcome is known or needed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    population : numpy.ndarray of bool
        Not used.

    Returns
    -------
    pandas.array of Int8
        One missing value for each row.
    """
    return pd.array([pd.NA] * len(frame), dtype="Int8")
