"""Thresholds that part scores."""

import numpy as np


def cuts(scores):
    """Thresholds between different scores, and how many of the scores are above each.

    Scores that differ by rounding only count as equal, so that no threshold parts them.

    Parameters
    ----------
    scores : array, shape (n,)

    Returns
    -------
    order : int array, shape (n,)
        The scores from high to low.
    above : int array, shape (k + 1,)
        0 = above[0] < above[1] < ... < above[k] = n.
    edges : float array, shape (k + 1, 2)
        A threshold between the two edges (the second is the higher one) leaves `above` scores
        above it; infinite at both ends.
    """
    order = np.argsort(-scores, kind="stable")
    high = scores[order]
    same = 1e-9 * (1 + np.abs(high).max(initial=0.0))
    ends = np.flatnonzero(high[:-1] - high[1:] > same) + 1
    above = np.concatenate([[0], ends, [len(high)]])
    upper = np.concatenate([[np.inf], high[ends - 1], high[-1:]])
    lower = np.concatenate([high[:1], high[ends], [-np.inf]])
    return order, above, np.column_stack([lower, upper])


def threshold_within(edges):
    """The threshold of an interval between two scores: 0 if it is inside, else the middle."""
    low, high = edges
    if low <= 0 < high:
        return 0.0
    apart = 1e-6 * (1 + min(abs(low), abs(high)))
    if np.isinf(high):
        return float(low + apart)
    if np.isinf(low):
        return float(high - apart)
    return float(0.5 * (low + high))


def shift_of(edges):
    """How far each interval of thresholds is from 0, shape (k,); 0 where it holds 0."""
    low, high = edges[:, 0], edges[:, 1]
    return np.where((low <= 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def interval_minima(values, low, high):
    """Least of values[low:high] of each (nonempty) interval, and the first place of it.

    Minima over all runs of 2^k values are held; two runs, which may overlap, make up any
    interval.
    """
    places = [np.arange(len(values))]
    while 2 ** len(places) <= len(values):
        before, half = places[-1], 2 ** (len(places) - 1)
        left, right = before[:-half], before[half:]
        places.append(np.where(values[right] < values[left], right, left))
    level = np.frexp((high - low).astype(float))[1] - 1
    at = np.empty(len(low), dtype=np.int64)
    for k, place in enumerate(places):
        rows = level == k
        left, right = place[low[rows]], place[high[rows] - 2**k]
        at[rows] = np.where(values[right] < values[left], right, left)
    return values[at], at
