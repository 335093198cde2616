"""Labeled are the married, as in the Adult experiment of Smith & Elkan (2007)."""

from counterweight.fragments import Flag
from counterweight.labeling.columns import require

OPTIONS = {
    "spouse_absent": Flag(False, "Whether people whose spouse is absent count as married."),
}  # fmt: skip
LABEL = "only married people are labeled"


def married(frame, truth, rng, *, spouse_absent=False):
    """Rows whose marital status is married.

    The paper does not list the statuses: by default civil and armed-forces spouses
    count, which comes within 1.2 % of its sizes; `spouse_absent` adds the third one.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared Adult rows.
    truth, rng
        Not used: the rule is deterministic.
    spouse_absent : bool

    Returns
    -------
    numpy.ndarray of bool
    """
    require(frame, ["marital-status"], "labeling rule married")
    statuses = ["Married-civ-spouse", "Married-AF-spouse"]
    if spouse_absent:
        statuses.append("Married-spouse-absent")
    return frame["marital-status"].isin(statuses).to_numpy()
