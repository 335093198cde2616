"""Rows and costs of problems under rate constraints."""

import numpy as np

PENALTY = 0.02


def problem(seed, m, n=80, d=4, repeats=False):
    """Error of noisy labels, with m coverage ratios that the unconstrained fit breaks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if repeats:
        X = X[rng.integers(0, n // 2, n)]
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0
    positive, negative = np.zeros((1 + m, n)), np.zeros((1 + m, n))
    positive[0], negative[0] = ~y / n, y / n
    bounds = np.empty(m)
    for j in range(m):
        group = X[:, j % d] + 0.3 * rng.normal(size=n) > 0
        kappa = rng.uniform(0.5, 0.8)
        positive[1 + j] = group / group.sum()
        negative[1 + j] = ~group / (~group).sum() / kappa
        bounds[j] = 1 / kappa
    return X, positive, negative, bounds
