"""Outcome 1 where a column has a value."""

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Option, Text
from counterweight.labeling.columns import require

OPTIONS = {
    "column": Text(..., "Column of the prepared table."),
    "value": Option(..., "Value that counts as the positive outcome.", type=["string", "number", "boolean"]),
}  # fmt: skip


def equals(frame, population, *, column, value):
    """1 where `column` equals `value`, in every population.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    population : numpy.ndarray of bool
        Rows of the target population; not used, since the rule is the same in all.
    column : str
    value : str, number or bool

    Returns
    -------
    numpy.ndarray of int8

    Raises
    ------
    CounterweightError
        When the column is missing, has missing values, or never has the value.
    """
    require(frame, [column], "outcome rule equals")
    values = frame[column]
    if values.isna().any():
        raise CounterweightError(
            f"Outcome column {column!r} is missing in {int(values.isna().sum())} rows: every row "
            "needs its outcome here, also the ones whose label is to be hidden."
        )
    outcome = (values == value).to_numpy()
    if not outcome.any():
        seen = listed(sorted(values.astype(str).unique()))
        raise CounterweightError(
            f"Outcome column {column!r} never equals {value!r}; its values are {seen}: correct "
            "outcome.value."
        )
    return outcome.astype("int8")
