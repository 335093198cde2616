"""Predictions that a log itself holds: a column."""

KIND = "scores"
OPTIONS = {
    "column": {"type": "string", "description": "Column of the log that holds the predictions."}
}
LABEL = "{column}"


class GivenPredictions:
    """Predictions by a column of the log; nothing is learned.

    Parameters
    ----------
    column : str
    """

    def __init__(self, column):
        self.column = column
