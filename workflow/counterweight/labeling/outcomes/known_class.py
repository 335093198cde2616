"""Outcome of two classes, blank for rows whose outcome nobody knows."""

from counterweight.labeling.outcomes.given import given
from counterweight.labeling.own.words import kinds_of

OPTIONS = {
    "column": {"type": "string", "description": "Column of the table."},
    "value": {
        "type": ["string", "number", "boolean", "null"],
        "default": None,
        "description": "Value that counts as 1; null for the larger of two numbers.",
    },
}


def known_class(frame, population, *, column, value=None):
    """1 where `column` has the value, 0 where it has another.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    population : numpy.ndarray of bool
        Not used: the rule is the same in every population.
    column : str
    value : str, number or bool, optional

    Returns
    -------
    numpy.ndarray of float
        NaN where the column is blank.

    Raises
    ------
    CounterweightError
        When the column is missing, has one class only, or more than two and no `value`.
    """
    values, _, _ = given(frame, kinds_of(frame), column=column, positive=value, kind="class")
    return values
