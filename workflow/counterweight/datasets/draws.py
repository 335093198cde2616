"""Categories drawn by their shares: what twins and simulated data sets share."""

import numpy as np


def drawn(shares, group, rng):
    """Category numbers; row g of `shares` holds the shares in group g.

    Parameters
    ----------
    shares : array (G, K)
        Each row is divided by its sum.
    group : array (n,) of int
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of int, shape (n,)
    """
    cumulated = np.cumsum(shares, axis=1)
    cumulated /= cumulated[:, -1:]
    return (rng.random(len(group))[:, None] >= cumulated[group]).sum(axis=1)


def chosen(cumulated, rng):
    """One category for each row, from the sums of its shares up to each category.

    Parameters
    ----------
    cumulated : array (n, K)
        The last column is the sum of all shares, whatever it is.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of int, shape (n,)
    """
    draws = rng.random(len(cumulated)) * cumulated[:, -1]
    return (draws[:, None] >= cumulated).sum(axis=1)
