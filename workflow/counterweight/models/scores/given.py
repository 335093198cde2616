"""Predictions that a log itself holds: a column."""

from counterweight.fragments import Text

KIND = "scores"
OPTIONS = {
    "column": Text(..., "Column of the log that holds the predictions."),
}  # fmt: skip
LABEL = "{column}"


class GivenPredictions:
    """Predictions by a column of the log; nothing is learned.

    Parameters
    ----------
    column : str
    """

    def __init__(self, column):
        self.column = column
