"""Labels drawn with the known probability of a generated data set."""

from counterweight.errors import CounterweightError
from counterweight.labeling.columns import numbers

OPTIONS = {}
LABEL = "rows are labeled with a known chance"
#: Real data have no known p(s=1|x).
NEEDS_TRUTH = True


def known_propensity(frame, truth, rng):
    """Draw s with the true p(s = 1 | x): labels missing at random by construction.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth : pandas.DataFrame or None
        Has ``p_selected`` for the same rows.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of bool

    Raises
    ------
    CounterweightError
        When the data set has no known selection probability.
    """
    if truth is None or "p_selected" not in truth:
        raise CounterweightError(
            "The labeling rule known_propensity needs a generated data set that knows "
            "p(s = 1 | x); for real data choose another rule."
        )
    p = numbers(truth, "p_selected", "labeling rule known_propensity")
    if ((p < 0) | (p > 1)).any():
        raise CounterweightError(
            f"The labeling rule known_propensity needs probabilities; p_selected runs from "
            f"{p.min()} to {p.max()}: correct the generated data."
        )
    return rng.random(len(frame)) < p
