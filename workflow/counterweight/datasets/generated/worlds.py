"""Simulated data sets that consist of independent worlds of one size."""

from counterweight.errors import CounterweightError


def worlds_in(rows, size, what):
    """Number of whole worlds of `size` rows in `rows`.

    Parameters
    ----------
    rows, size : int
    what : str
        The data set, for the message, e.g. ``"simulated segments"``.

    Raises
    ------
    CounterweightError
        When `rows` is no whole number of worlds, or none.
    """
    worlds, rest = divmod(rows, size)
    if rest or worlds < 1:
        raise CounterweightError(
            f"One world of {what} has {size} rows, so {rows} rows are not a number of whole "
            f"worlds: choose a multiple of {size}."
        )
    return worlds


def joined(parts):
    """One frame from the columns of all worlds for each table, rows numbered through.

    Parameters
    ----------
    parts : sequence of sequences of dict of str to array
        The tables of each world, the same ones in the same order.

    Returns
    -------
    tuple of pandas.DataFrame
        With ``row`` (int32 from 0) first.
    """
    import numpy as np
    import pandas as pd

    tables = []
    for pieces in zip(*parts, strict=True):
        columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
        row = np.arange(len(next(iter(columns.values()))), dtype=np.int32)
        tables.append(pd.DataFrame({"row": row} | columns))
    return tuple(tables)
