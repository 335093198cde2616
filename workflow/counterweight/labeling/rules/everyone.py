"""Every row is labeled: studies of training and evaluation, not of selection."""

import numpy as np

OPTIONS = {}
LABEL = "every row is labeled"
#: The rule may label all rows; elsewhere that is a mistake, since nothing is to correct.
COMPLETE = True


def everyone(frame, truth, rng):
    """All rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth, rng
        Not used: the rule is deterministic.

    Returns
    -------
    numpy.ndarray of bool
        All True.
    """
    return np.ones(len(frame), dtype=bool)
