"""Labels drawn with the known probability of a generated data set."""

from counterweight.errors import CounterweightError

OPTIONS = {}


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
    return rng.random(len(frame)) < truth["p_selected"].to_numpy()
