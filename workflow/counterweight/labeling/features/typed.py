"""Columns as they are typed: numbers stay numbers, categories stay categories."""

KIND = "blanks"
OPTIONS = {
    "max_levels": {
        "type": "integer",
        "minimum": 1,
        "default": 50,
        "description": "Levels of a category that count by themselves; rarer ones share one.",
    }
}


def typed(frame, rng, *, max_levels=50):
    """The feature columns of a table; see `counterweight.labeling.own.blanks`.

    Parameters
    ----------
    frame : pandas.DataFrame
    rng
        Not used.
    max_levels : int
        Used where the columns are encoded.
    """
    return frame
