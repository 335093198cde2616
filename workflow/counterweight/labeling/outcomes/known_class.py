"""Outcome of two classes, blank for rows whose outcome nobody knows."""

from counterweight.labeling.outcomes.given import given
from counterweight.labeling.own.words import MISSING, NEGATIVE, kinds_of

OPTIONS = {
    "column": {"type": "string", "description": "Column of the table."},
    "value": {
        "type": ["string", "number", "boolean", "null"],
        "default": None,
        "description": "Value that counts as 1; null for the larger of two numbers.",
    },
    "negative": NEGATIVE,
    "missing": MISSING,
}


def known_class(frame, population, *, column, value=None, negative=None, missing=None):
    """1 where `column` has the value, 0 where it has another.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    population : numpy.ndarray of bool
        Not used: the rule is the same in every population.
    column : str
    value : str, number or bool, optional
    negative, missing : value or list of values, optional
        See `counterweight.labeling.own.words.told_apart`.

    Returns
    -------
    numpy.ndarray of float
        NaN where the column is blank.

    Raises
    ------
    CounterweightError
        When the column is missing, has one class only, or more than two and no `value`.
    """
    said = {"positive": value, "negative": negative, "missing": missing}
    values, _, _ = given(frame, kinds_of(frame), column=column, kind="class", **said)
    return values
