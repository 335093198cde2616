"""Outcome of two classes, blank for rows whose outcome nobody knows."""

from counterweight.fragments import Option, Text
from counterweight.labeling.outcomes.given import given
from counterweight.labeling.own.words import MISSING, NEGATIVE, kinds_of

OPTIONS = {
    "column": Text(..., "Column of the table."),
    "value": Option(None, "Value that counts as 1; null for the larger of two numbers.", type=["string", "number", "boolean"], null=True),
    "negative": NEGATIVE,
    "missing": MISSING,
}  # fmt: skip


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
