"""Chances of an outcome among rows without a label, by a shift of the log odds."""

import numpy as np


def tilted(p, delta):
    """Chances whose log odds are those of p plus delta.

    Parameters
    ----------
    p : array
        Chances from 0 to 1; 0 and 1 stay what they are.
    delta : float or array
        Shift of the log odds, finite; broadcast against `p`.

    Returns
    -------
    numpy.ndarray

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14, equation 2.4, with the
    difference of the log odds of both priors as delta.
    """
    p, delta = np.asarray(p, float), np.asarray(delta, float)
    # Of the two forms the one whose power is at most 1: nothing overflows, 0 and 1 stay.
    small = np.exp(-np.abs(delta))
    up = p / (p + (1 - p) * small)
    down = p * small / (p * small + (1 - p))
    return np.where(delta >= 0, up, down)
