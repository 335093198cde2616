"""No features: for questions that need none, such as the value of policies in a log."""

OPTIONS = {}


def no_features(frame, rng, *, outcome=None):
    """The row ids alone.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows, with ``row``.
    rng, outcome
        Not used.

    Returns
    -------
    pandas.DataFrame
    """
    return frame[["row"]].reset_index(drop=True)


#: Columns of the table that it reads, so that others need not be read.
no_features.needs = ()
