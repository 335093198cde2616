"""Labeled are the rows whose outcome is there: a table with blanks, as people have them."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Option
from counterweight.labeling.own.words import holds
from counterweight.labeling.samples import condition_mask

#: Studies with this labeling rule are about outcomes of which some are blank.
KIND = "blanks"
OPTIONS = {
    "where": Option({}, "Columns with the value that labeled rows have; {} for every row whose outcome is there.", type="object"),
}  # fmt: skip
LABEL = "the outcome is seen where it is not blank"


def present(frame, types, outcome, *, where=()):
    """Rows whose outcome is there, and for which the conditions hold.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    types : mapping of str to str
        Type of each column.
    outcome : array (n,)
        NaN where it is blank.
    where : mapping of str to value
        A value may be bounds, too, as ``{"at_least": 60}``; see `counterweight.labeling.samples`.

    Returns
    -------
    numpy.ndarray of bool
    """
    conditions = [
        _within(frame, column, value)
        if isinstance(value, dict)
        else holds(frame, types, column, value)
        for column, value in dict(where).items()
    ]
    return np.logical_and.reduce([~np.isnan(outcome), *conditions])


def _within(frame, column, bounds):
    """Rows whose column lies in bounds."""
    found = condition_mask(frame, {"column": column} | bounds, f"labeled.where.{column}")
    if not found.any():
        raise CounterweightError(
            f"No row has {bounds!r} in the column {column!r}: correct the bounds in the config."
        )
    return found
