"""Small parts of the choice model: what it offers, shares of segments, mixed curves."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from counterweight.models.choice.offers import acceptance


class Offers(NamedTuple):
    """Best offer, its probability of acceptance and its expected revenue, (n,) each."""

    offer: np.ndarray
    acceptance: np.ndarray
    revenue: np.ndarray


def segment_shares(joint):
    """Shares p(j | x) of the segments from log densities ``joint``, shape (n, J)."""
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def mixed_acceptance(shares, t, eta, k):
    """Acceptance of offers ``t`` (n,), mixed over segments with `shares` (n, J)."""
    return (shares * acceptance(t[:, None], eta, k)).sum(axis=1)


#: What a stored model consists of.
WHOLE = (
    "n_components",
    "n_features_in",
    "n_iter",
    "features_used",
    "sizes",
    "slopes_at_bound",
    "monotone_active",
    "one_answer_segments",
    "covariances_at_floor",
    "updates_held",
    "rows_missing",
    "components_capped",
)
LISTS = ("constant_features", "duplicated_features")
STORED = (
    "weights",
    "means",
    "covariances",
    "eta",
    "k",
    "centre",
    "scale",
    "log_likelihood",
    "mdl",
    "log_likelihoods",
    "history",
    "offer_deviation",
    "converged",
    *WHOLE,
    *LISTS,
)


def stored(model):
    """Fitted numbers of a choice model, by name."""
    return {name: np.asarray(getattr(model, name + "_")) for name in STORED}


def restored(model, arrays):
    """Give `model` the fitted numbers that `stored` took from another."""
    for name in STORED:
        value = np.asarray(arrays[name])
        if name in WHOLE or name in LISTS:
            value = value.astype(int)
        elif name != "converged":
            value = value.astype(float)
        if name in LISTS:
            value = value.reshape(-1).tolist()
        elif value.ndim == 0:
            value = value.item()
        setattr(model, name + "_", value)
    model.converged_ = bool(model.converged_)
    return model
