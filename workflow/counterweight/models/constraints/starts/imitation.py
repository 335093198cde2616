"""Imitating a deployed model."""

import numpy as np

from counterweight.errors import CounterweightError


def imitation_costs(data):
    """Costs (2, n) of a positive and a negative prediction: errors against the deployed model.

    Raises
    ------
    CounterweightError
        When there is no deployed model, or it has no score for any row.
    """
    if data.deployed is None:
        raise CounterweightError(
            "start: deployed needs the scores of a deployed model, and none is given."
        )
    known = ~np.isnan(data.deployed)
    if not known.any():
        raise CounterweightError("The deployed model has no score for any row.")
    positive = known & (data.deployed > 0)
    return np.array([known & ~positive, positive]) / known.sum()
