"""The cap on weights, and how good a set of weights is."""

import numpy as np

from counterweight.errors import CounterweightError


def cap_weights(weights, max_weight):
    """Weights not above `max_weight`, and how many were.

    Parameters
    ----------
    weights : array, shape (M,)
    max_weight : float or None
        None for no cap.

    Returns
    -------
    numpy.ndarray, shape (M,)
    int
        Rows whose weight was cut.
    """
    weights = np.asarray(weights, dtype=float)
    if not np.isfinite(weights).all():
        raise CounterweightError(
            f"{int((~np.isfinite(weights)).sum())} of {weights.size} weights are not finite: check "
            "the selection probabilities."
        )
    if max_weight is None:
        return weights, 0
    if not max_weight > 0:
        raise CounterweightError(f"max_weight is {max_weight}; a cap is a number above 0.")
    return np.minimum(weights, max_weight), int((weights > max_weight).sum())


def effective_sample_size(weights):
    """(sum w)^2 / sum w^2: how many unweighted rows would be as informative."""
    weights = np.asarray(weights, dtype=float)
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_mean(values, weights):
    """Self-normalised weighted mean and its standard error, by column.

    The error is that of a ratio estimator, sqrt(sum w^2 (v - m)^2) / sum w; it takes
    the weights as given.

    Parameters
    ----------
    values : array, shape (M, d)
    weights : array, shape (M,)
    """
    total = weights.sum()
    mean = weights @ values / total
    error = np.sqrt(weights**2 @ (values - mean) ** 2) / total
    return mean, error


def describe_weights(raw, weights, X, X_target, names, capped):
    """Quality of weights, as metric records.

    Parameters
    ----------
    raw, weights : array, shape (M,)
        Before and after the cap.
    X : array, shape (M, d)
        Features of the labeled rows.
    X_target : array, shape (T, d)
        Training rows of the target population.
    names : sequence of str
        Feature names.
    capped : int
        Rows at the cap.

    Returns
    -------
    list of dict
        Balance is (mean of the labeled rows - mean of the target) / target standard
        deviation, before and after weighting; ``balance_z`` the weighted difference over
        its standard error.
    """
    rows, records = len(weights), describe_sizes(raw, weights, capped)
    center = X_target.mean(axis=0)
    scale = X_target.std(axis=0)
    after, error = weighted_mean(X, weights)
    noise = np.sqrt(error**2 + scale**2 / len(X_target))
    scale = np.where(scale > 0, scale, 1.0)
    for k, name in enumerate(names):
        for metric, value in (
            ("balance_before", (X[:, k].mean() - center[k]) / scale[k]),
            ("balance_after", (after[k] - center[k]) / scale[k]),
            ("balance_z", (after[k] - center[k]) / noise[k]),
        ):
            records.append({"metric": metric, "part": name, "value": value, "rows": rows})
    return records


def describe_sizes(raw, weights, capped):
    """How unequal weights are, as metric records; parameters as `describe_weights`."""
    rows = len(weights)
    size = effective_sample_size(weights)
    return [
        {"metric": name, "value": value, "rows": rows}
        for name, value in (
            ("effective_sample_size", size),
            ("effective_share", size / rows),
            ("largest_weight", weights.max()),
            ("largest_uncapped", raw.max()),
            ("rows_capped", capped),
            ("rows_zero", int((weights == 0).sum())),
            ("mean_weight", weights.mean()),
        )
    ]
