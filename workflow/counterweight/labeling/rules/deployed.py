"""Data sets around a deployed model, as in the churn experiment of Goh et al. (2016)."""

import logging

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer, Number
from counterweight.numerics.checks import checked_labels, checked_rows
from counterweight.numerics.linear import fit_logistic

log = logging.getLogger("counterweight")

FEATURES = True
#: Names of the data sets that the rule makes.
SAMPLES = ["d1", "d2", "d3"]
OPTIONS = {
    "deployed_rows": Integer(1000, "Rows that the deployed model learns from; they are used for nothing else.", minimum=2),
    "d1_rows": Integer(16000, "Rows of d1, labeled, sampled near the deployed model's boundary.", minimum=1),
    "d2_rows": Integer(9000, "Rows of d2, labeled, a random sample.", minimum=1),
    "d3_rows": Integer(14000, "Rows of d3, not labeled, a random sample.", minimum=1),
    "sharpness": Number(1.0, "Power of 4 p (1 - p) that d1 is sampled by; 0 for a random sample.", minimum=0),
    "ridge": Number(0.001, "Penalty of the deployed model on standardised coefficients, for each row.", minimum=0),
}  # fmt: skip
LABEL = "some rows near the boundary of a deployed model are labeled"
#: Rows that d1 is chosen from, for each row of it: with 1 there would be nothing to choose.
CANDIDATES = 1.5


def deployed(
    frame,
    truth,
    rng,
    *,
    features,
    outcome,
    deployed_rows=1000,
    d1_rows=16000,
    d2_rows=9000,
    d3_rows=14000,
    sharpness=1.0,
    ridge=0.001,
):
    """A deployed model, and the three data sets of the churn experiment.

    A public stand-in for data that are not public (section 4.2 of the paper has 131,840,
    53,877 and 68,892 rows). One random order of the rows gives, in turn, the rows of the
    deployed model, d2 and d3, which are therefore random samples of the table, and the
    candidates of d1. The deployed model is a logistic regression on standardised features.
    d1 is actively sampled from the candidates, one row after the other without replacement,
    each time with a probability proportional to (4 p (1 - p))^sharpness, where p is the
    deployed model's probability: highest, 1, at its boundary and falling with the absolute
    score. No row is in two of the sets. Where the table has too few rows, all four sizes are
    scaled down by one factor, which is logged.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth
        Not used.
    rng : numpy.random.Generator
    features : array, shape (n, d)
    outcome : array of 0 and 1, shape (n,)
    deployed_rows, d1_rows, d2_rows, d3_rows : int
    sharpness, ridge : float

    Returns
    -------
    dict
        ``selected`` (d1 or d2: the labeled rows), ``left_out`` (rows in none of d1, d2, d3:
        those that the deployed model learned from, and what remains of the candidates),
        ``samples`` (masks ``d1``, ``d2``, ``d3``) and ``deployed``, the deployed model's score
        (log odds; a positive prediction where it is above 0) of every row.

    Raises
    ------
    CounterweightError
        When the rows do not suffice for one row in each set, when the rows of the deployed
        model have one outcome only, and for features or outcomes that are missing.
    """
    n = len(frame)
    X = checked_rows(features)
    y = checked_labels(outcome, n, "outcome")
    if len(X) != n:
        raise CounterweightError(f"There are {n} rows but features of {len(X)}.")
    if not (np.isfinite(sharpness) and sharpness >= 0):
        raise CounterweightError(f"labeling.sharpness is {sharpness}; it must be from 0 up.")
    sizes = {"deployed": deployed_rows, "d2": d2_rows, "d3": d3_rows, "d1": d1_rows}
    needed = sum(sizes.values()) + (CANDIDATES - 1) * d1_rows
    if n < needed:
        sizes = {name: int(size * n / needed) for name, size in sizes.items()}
        log.warning(
            "labeling rule deployed: %d rows are fewer than the %d that the sizes asked for need; "
            "scaled down to %s",
            n,
            int(np.ceil(needed)),
            ", ".join(f"{size} rows ({name})" for name, size in sizes.items()),
        )
    if min(sizes.values()) < 1 or sizes["deployed"] < 2:
        raise CounterweightError(
            f"The labeling rule deployed needs {int(np.ceil(needed))} rows, or in proportion; the "
            f"{n} rows of this table leave a data set empty: use more rows, or sizes nearer to "
            "each other."
        )
    order = rng.permutation(n)
    ends = np.cumsum([sizes["deployed"], sizes["d2"], sizes["d3"]])
    learned, second, third, candidates = np.split(order, ends)
    score = _deployed_score(X, y, learned, ridge)
    # Exponential draws over weights, smallest first: sampling one by one without replacement.
    # log(4 p (1 - p)) = 2 log 2 - |s| - 2 log(1 + exp(-|s|)), in logarithms lest it underflows.
    away = np.abs(score[candidates])
    uncertain = 2 * np.log(2.0) - away - 2 * np.log1p(np.exp(-away))
    draws = np.log(rng.standard_exponential(len(candidates))) - sharpness * uncertain
    first = candidates[np.argsort(draws, kind="stable")[: sizes["d1"]]]
    masks = {}
    for name, rows in (("d1", first), ("d2", second), ("d3", third)):
        masks[name] = np.zeros(n, dtype=bool)
        masks[name][rows] = True
    return {
        "selected": masks["d1"] | masks["d2"],
        "left_out": ~(masks["d1"] | masks["d2"] | masks["d3"]),
        "samples": masks,
        "deployed": score,
    }


def _deployed_score(X, y, learned, ridge):
    """Log odds of every row by a logistic regression on the rows `learned`."""
    if len(np.unique(y[learned])) < 2:
        raise CounterweightError(
            f"The {len(learned)} rows of the deployed model all have the outcome "
            f"{y[learned][0]}, so it cannot be learned: raise labeling.deployed_rows."
        )
    varied = np.ptp(X[learned], axis=0) > 0
    if not varied.any():
        raise CounterweightError(
            f"No feature varies in the {len(learned)} rows of the deployed model: raise "
            "labeling.deployed_rows."
        )
    log.info("deployed model: %d rows, %d features", len(learned), int(varied.sum()))
    coef, intercept, _, converged = fit_logistic(
        X[np.ix_(learned, varied)], y[learned], ridge=ridge
    )
    if not converged:
        log.warning("the deployed model did not converge")
    return X[:, varied] @ coef + intercept
