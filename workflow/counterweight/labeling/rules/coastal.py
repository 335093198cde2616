"""Labeled is the northern coast, as in the California experiment of Smith & Elkan (2007)."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer, Number
from counterweight.labeling.columns import numbers

OPTIONS = {
    "strata": Integer(50, "Number of latitude strata of equal count; 50 in print.", minimum=1),
    "strata_among": Choice("all", ["all", "north"], "Rows that form the strata: all, or those north of minimum_latitude."),
    "degrees": Number(0.4, "How far from the westernmost house of its stratum, in degrees.", above=0),
    "minimum_latitude": Number(36.0, "Houses up to this latitude are never labeled."),
}  # fmt: skip
LABEL = "only houses near the northern coast are labeled"


def coastal(
    frame, truth, rng, *, strata=50, strata_among="all", degrees=0.4, minimum_latitude=36.0
):
    """Rows near the westernmost house of their latitude stratum, in the north.

    The printed rule (50 strata over all rows) does not give the printed sizes; 100
    strata among the northern rows come close. Both are readings of one sentence, so
    both can be asked for.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows with ``longitude`` and ``latitude`` in degrees.
    truth, rng
        Not used: the rule is deterministic.
    strata : int
        Strata of equal count; rows of equal latitude are taken in file order.
    strata_among : {"all", "north"}
    degrees, minimum_latitude : float

    Returns
    -------
    numpy.ndarray of bool
    """
    if strata < 1 or strata_among not in ("all", "north"):
        raise CounterweightError(
            f"The labeling rule coastal needs 1 stratum or more, among all or north; got {strata} "
            f"among {strata_among!r}."
        )
    longitude = numbers(frame, "longitude", "labeling rule coastal")
    latitude = numbers(frame, "latitude", "labeling rule coastal")
    north = latitude > minimum_latitude
    rows = np.flatnonzero(north) if strata_among == "north" else np.arange(len(frame))
    ordered = rows[np.argsort(latitude[rows], kind="stable")]
    stratum = np.arange(len(ordered)) * strata // max(len(ordered), 1)
    coast = np.full(strata, np.inf)
    np.minimum.at(coast, stratum, longitude[ordered])
    selected = np.zeros(len(frame), dtype=bool)
    selected[ordered] = longitude[ordered] <= coast[stratum] + degrees
    return selected & north
