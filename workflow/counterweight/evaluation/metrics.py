"""Metrics of predicted probabilities, each with its standard error over the rows."""

import numpy as np

from counterweight.checks import checked_labels
from counterweight.errors import CounterweightError

#: Probabilities nearer to 0 or 1 than this are moved there for the log loss, and counted.
CLIP = 1e-12


def accuracy(y, p):
    """Share of rows where p >= 1/2 agrees with y, and its standard error."""
    positive, p = _checked(y, p)
    return _mean((p >= 0.5) == positive)


def balanced_accuracy(y, p):
    """Mean of the two classes' recalls at the threshold 1/2, and its standard error."""
    positive, p = _checked(y, p)
    _both_classes(positive)
    hit = (p >= 0.5) == positive
    value = (hit[positive].mean() + hit[~positive].mean()) / 2
    variance = sum(
        part.mean() * (1 - part.mean()) / len(part) for part in (hit[positive], hit[~positive])
    )
    return float(value), float(np.sqrt(variance) / 2)


def auc(y, p):
    """Area under the ROC curve, ties counted half, with DeLong's standard error.

    Parameters
    ----------
    y : array of 0/1, shape (n,)
    p : array, shape (n,)
        Scores; only their order counts.

    Returns
    -------
    value, standard_error : float

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988); by mid-ranks as Sun & Xu (2014).
    """
    positive, p = _checked(y, p, scores=True)
    _both_classes(positive)
    m, n = int(positive.sum()), int((~positive).sum())
    overall = midranks(p)
    above = (overall[positive] - midranks(p[positive])) / n
    below = 1 - (overall[~positive] - midranks(p[~positive])) / m
    variance = (above.var(ddof=1) / m if m > 1 else 0.0) + (below.var(ddof=1) / n if n > 1 else 0.0)
    return float(above.mean()), float(np.sqrt(variance))


def log_loss(y, p):
    """Mean of -log p(y), in nats, and its standard error."""
    positive, p = _checked(y, p)
    p = np.clip(p, CLIP, 1 - CLIP)
    return _mean(-np.where(positive, np.log(p), np.log1p(-p)))


def brier(y, p):
    """Mean of (p - y)^2 and its standard error."""
    positive, p = _checked(y, p)
    return _mean((p - positive) ** 2)


def midranks(values):
    """Ranks from 1, ties sharing their mean rank."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    last = np.r_[first[1:], len(values)]
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((first + last + 1) / 2, last - first)
    return ranks


def _checked(y, p, scores=False):
    """``(y == 1, p)``; refuse what is no label, no number or (unless `scores`) no probability."""
    p = np.asarray(p, dtype=float)
    if p.ndim != 1 or not len(p):
        raise CounterweightError(f"There is nothing to evaluate: predictions of shape {p.shape}.")
    positive = checked_labels(y, len(p), "true label") == 1
    bad = ~np.isfinite(p) if scores else ~((p >= 0) & (p <= 1))
    if bad.any():
        what = "not finite" if scores else "not between 0 and 1"
        raise CounterweightError(
            f"{int(bad.sum())} of {len(p)} predictions are {what} (first: "
            f"{p[np.flatnonzero(bad)[0]]!r}): the model failed, or these are no probabilities."
        )
    return positive, p


def _mean(values):
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)


def _both_classes(positive):
    if positive.all() or not positive.any():
        raise CounterweightError(
            f"All {len(positive)} rows to evaluate are of class {int(positive.all())}, so a metric "
            "that compares the classes has no value: use another test share or labeling rule."
        )
