"""Importance weights of Smith & Elkan (2007): Lemma 1 and Lemma 2."""

import numpy as np

from counterweight.errors import CounterweightError

#: The population that each weighting makes the labeled rows stand for.
TARGET_BY_NAME = {"lemma1": "general", "lemma2": "unlabeled"}
LABEL_BY_NAME = {"lemma1": "Lemma 1", "lemma2": "Lemma 2"}


def general_weights(p, share):
    """Lemma 1: labeled rows weighted to stand for the general population.

    Under labels missing at random, p(x, y) = p(s=1) / p(s=1 | x) p(x, y | s=1), so
    w = share / p. When the labels are not missing at random the weighted sample has
    the right p(x) and still the wrong p(y | x).

    Parameters
    ----------
    p : array, shape (M,)
        Calibrated p(s = 1 | x) of the labeled rows, in (0, 1].
    share : float
        p(s = 1) = M / (M + N), in (0, 1).

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped; the mean is 1 in expectation.

    Raises
    ------
    CounterweightError
        When a p is not in (0, 1] or the share not in (0, 1).

    References
    ----------
    Smith & Elkan (2007), Lemma 1.
    """
    p = _checked(p, share)
    return share / p


def unlabeled_weights(p, share):
    """Lemma 2: labeled rows weighted to stand for the unlabeled population.

    Under labels missing at random, p(x, y | s=0) = share / (1 - share) (1 - p) / p
    p(x, y | s=1), so w = share / (1 - share) (1/p - 1).

    Parameters
    ----------
    p : array, shape (M,)
    share : float
        As in `general_weights`.

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped; 0 where p is 1, since such rows have no unlabeled counterpart.

    Raises
    ------
    CounterweightError
        When a p is not in (0, 1], all are 1, or the share is not in (0, 1).

    References
    ----------
    Smith & Elkan (2007), Lemma 2.
    """
    p = _checked(p, share)
    if (p == 1).all():
        raise CounterweightError(
            f"All {p.size} labeled rows have selection probability 1, so none looks like an "
            "unlabeled row and Lemma 2 has no weights: drop the feature that decides the labeling."
        )
    return share / (1 - share) * (1 / p - 1)


def _checked(p, share):
    p = np.asarray(p, dtype=float)
    if not 0 < share < 1:
        raise CounterweightError(
            f"The labeled share is {share}; it must lie between 0 and 1: both labeled and "
            "unlabeled rows are needed."
        )
    if p.size == 0:
        raise CounterweightError("There are no labeled rows to weight: check the labeling rule.")
    if p.ndim != 1:
        raise CounterweightError(
            f"Selection probabilities come as one column, one for each labeled row, not {p.shape}."
        )
    with np.errstate(divide="ignore", over="ignore"):
        bad = ~((p > 0) & (p <= 1) & np.isfinite(1 / p))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise CounterweightError(
            f"{int(bad.sum())} of {p.size} labeled rows have a selection probability outside "
            f"(0, 1] (first: row {first}, p = {float(p[first])!r}): a labeled row cannot have "
            "probability 0; calibrate the selection model, or choose another selector."
        )
    return p
