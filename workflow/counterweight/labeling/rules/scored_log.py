"""A log of one's own whose rewards were predicted: keep rates, weights and users of its rows."""

from counterweight.labeling.own_log import ROWS, own_log

#: Studies with this labeling rule are about predictions that a log holds.
KIND = "scores"
OPTIONS = {**ROWS}
LABEL = "rewards are seen beside predictions of them"


def scored_log(frame, *, keep_rate=1.0, rows_before=0, user="", weight=""):
    """Keep rates, weights and clusters of some rows; see `own_log`, which has propensities, too."""
    return own_log(
        frame, propensity="", keep_rate=keep_rate, rows_before=rows_before, user=user, weight=weight
    )
