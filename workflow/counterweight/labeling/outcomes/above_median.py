"""Outcome 1 above the median of the target population."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Text
from counterweight.labeling.columns import numbers

OPTIONS = {
    "column": Text(..., "Numeric column of the prepared table."),
}  # fmt: skip


def above_median(frame, population, *, column):
    """1 where `column` lies above its median over the target population.

    The threshold differs by target (Smith & Elkan 2007, section 8: the median of
    California for the general task, of the rest of California for the unlabeled one).

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    population : numpy.ndarray of bool, shape (n,)
        Rows of the target population.
    column : str

    Returns
    -------
    numpy.ndarray of int8
    """
    values = numbers(frame, column, "outcome rule above_median")
    if not np.any(population):
        raise CounterweightError(
            "The outcome rule above_median has no row to take the median of: the target "
            "population is empty; loosen the labeling rule."
        )
    return (values > np.median(values[population])).astype("int8")


#: The median is that of all rows, so rows cannot be labeled batch by batch.
above_median.whole_table = True
