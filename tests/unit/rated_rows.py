"""Rows in named data sets, with chances."""

import numpy as np
from counterweight.numerics.rates import DataSets


def world(n=400, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    y = rng.choice([0, 1, -1], n, p=[0.5, 0.3, 0.2]).astype(np.int8)
    members = {"a": rng.random(n) < 0.6, "b": rng.random(n) < 0.3, "d3": rng.random(n) < 0.5}
    weight = rng.uniform(0.2, 3, n) if weighted else None
    data = DataSets(rng.normal(size=(n, 3)), y, weight, members, rng.normal(size=n))
    return data, rng.random(n), rng
