"""Rows of two groups, and SVMs on them by linear programs."""

import numpy as np
from counterweight.numerics.rates import DataSets


def world(rows=400, seed=0, neither=False, hidden=0.0, decimals=1):
    """Data sets of two groups whose outcome differs; few decimals make ties."""
    rng = np.random.default_rng(seed)
    male = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 3)).round(decimals)
    X[:, 0] += 0.8 * male
    y = (X @ [1.0, 0.7, 0.0] + 0.5 * male + 0.8 * rng.normal(size=rows) > 1).astype(np.int8)
    members = {"male": male, "female": ~male}
    if neither:
        out = rng.random(rows) < 0.2
        members = {name: mask & ~out for name, mask in members.items()}
    y[rng.random(rows) < hidden] = -1
    return DataSets(X, y, None, members, deployed=X[:, 1])


def loss(data, f, weight=None):
    seen = data.y >= 0
    sign = np.where(data.y[seen] == 1, 1.0, -1.0)
    return np.average(np.maximum(0, 0.5 - sign * f[seen]), weights=weight)


def proba(model, data):
    grouped = {"samples": data} if getattr(model, "GROUPED", False) else {}
    return model.predict_proba(data.X, **grouped)[:, 1]
