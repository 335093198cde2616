"""Features of a predictive choice model: which are used, and how they are scaled."""

import logging

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import named

log = logging.getLogger("counterweight")


def used_features(X, row_weights, floor, feature_names=None):
    """Which features are used, and their centre and scale.

    Constant features and linear functions of one other are left out. The scale is the
    standard deviation. That of a feature with few values is stretched, so that the floor is
    its `least_variance`; without this, segments shrink to single values.

    Parameters
    ----------
    X : ndarray (n, features)
        NaN where missing.
    row_weights : ndarray (n,)
    floor : float
        Least variance of a scaled feature in a segment.
    feature_names : sequence of str, optional

    Returns
    -------
    used : ndarray of int
    centre, scale : ndarray
        Of the used features.
    constant, duplicated : list of int

    Raises
    ------
    CounterweightError
        When no feature varies or squares of values overflow.
    """
    seen = ~np.isnan(X)
    mass = np.maximum(row_weights @ seen, 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = row_weights @ np.where(seen, X, 0.0) / mass
        rest = np.where(seen, X - centre, 0.0)
        deviation = np.sqrt(row_weights @ np.square(rest) / mass)
    if not np.isfinite(deviation).all():
        raise CounterweightError("Values of the features are too large to square: rescale them.")
    spread = np.where(seen, X, -np.inf).max(axis=0) > np.where(seen, X, np.inf).min(axis=0)
    varies = spread & (deviation > 1e-12 * np.abs(centre))
    constant = np.flatnonzero(~varies).tolist()
    used = np.flatnonzero(varies)
    if not len(used):
        raise CounterweightError(
            f"All {X.shape[1]} features are constant over the {len(X)} rows given, so there "
            "are no segments to tell apart: add features that vary."
        )
    standard = rest[:, used] / deviation[used]
    likeness = np.abs((standard * row_weights[:, None]).T @ standard)
    same = np.triu(likeness > (1 - 1e-10) * np.sqrt(np.outer(mass[used], mass[used])), 1)
    present = seen[:, used].sum(axis=0)
    same &= present[:, None] == present
    twice = same.any(axis=0)
    duplicated = used[twice].tolist()
    used = used[~twice]
    for left_out, what in ((constant, "constant"), (duplicated, "duplicated")):
        if left_out:
            names = listed(named(left_out, feature_names))
            log.warning("Left out as %s: feature %s.", what, names)
    scale = deviation[used]
    for place, feature in enumerate(used):
        _, values = np.unique(X[seen[:, feature], feature], return_inverse=True)
        shares = np.bincount(values, row_weights[seen[:, feature]])
        scale[place] *= np.sqrt(max(least_variance(shares) / floor, 1.0))
    return used, centre[used], scale, constant, duplicated


def least_variance(shares):
    """Variance, in units of the whole one, below which segments would shrink to single values.

    Of a feature with two values, p of the rarer, it is the least variance at which no mixture is
    likelier than one Gaussian, so that a category alone makes no segments. One Gaussian of
    variance v is the best mixture with this variance exactly if E exp(s x) is at most
    exp(s^2 v / 2) for all s, and the least such v of a Bernoulli variable is
    (1 - 2p) / (2 log((1 - p)/p)) (Kearns & Saul 1998); that is the variance itself if p = 1/2.

    With more values of entropy H it is exp(1 - 2H), or 1/(2H) if H is below 1/2: there, one
    narrow Gaussian for each value is no likelier than one for all. It is near 0 for many
    different values.

    Parameters
    ----------
    shares : array
        Rows, by weight, of each value.

    Returns
    -------
    float
    """
    shares = shares[shares > 0] / shares.sum()
    if len(shares) == 2:
        p = shares.min()
        if p > 0.5 - 1e-6:
            return 1.0
        return float((1 - 2 * p) / (2 * np.log((1 - p) / p)) / (p * (1 - p)))
    entropy = -(shares * np.log(shares)).sum()
    return float(np.exp(1 - 2 * entropy) if entropy >= 0.5 else 0.5 / max(entropy, 1e-12))
