"""Columns as they are typed: numbers stay numbers, categories stay categories."""

from counterweight.fragments import Integer

KIND = "blanks"
OPTIONS = {
    "max_levels": Integer(50, "Levels of a category that count by themselves; rarer ones share one.", minimum=1),
}  # fmt: skip


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
