"""A log of one's own that lost a part of its zeros, whose other rewards are numbers."""

from counterweight.labeling.rules.kept_log import OPTIONS as KEPT
from counterweight.labeling.rules.kept_log import kept_log

#: Studies with this labeling rule learn numbers, and answer for every row.
KIND = "blanks"
OPTIONS = {**KEPT}
LABEL = "a log that kept a part of its rows of reward 0"


def kept_numbers(frame, types, outcome, *, keep_rate, rows_before=0):
    """All rows, each with how many it stands for.

    Zeros are taken to have been dropped by that rate alone, whatever the features.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    types
        Not used.
    outcome : array (n,)
    keep_rate : float or str
        A rate, or the column of rates.
    rows_before : int

    Returns
    -------
    dict
        ``labeled`` (all), and ``weight`` (n,): 1 / rate where the outcome is 0, else 1.

    Raises
    ------
    CounterweightError
        When an outcome is missing, or a rate is missing or no rate, or contradicts the number of
        rows before.
    """
    rates = {"keep_rate": keep_rate, "rows_before": rows_before}
    made = kept_log(frame, None, None, features=None, outcome=outcome, **rates)
    return {"labeled": made["selected"], "weight": 1 / made["keep_rate"]}
