"""Kernel mean matching: CPU seconds and memory at 12,800 x 14,300 rows, and what is left unmatched.

Two normal populations of 12 features, one shifted. Ours must take at most a minute and 2 GiB on one
core. The peers skada and adapt solve the same program with matrices of rows by rows, so they are
given fewer rows (``pip install skada``, ``pip install adapt``). Squared moment distances are
computed here, by blocks, with one kernel for all.
"""

from functools import partial

import numpy as np
from counterweight.weighting.density_ratios import matching_weights, median_distance
from counterweight.weighting.importance_weights import Rows
from table import Absent, Case, require

SIZES = (12_800, 14_300)
#: Rows of each population where a peer is timed.
SMALL = 2_000


def tables(m, n, seed):
    rng = np.random.default_rng(seed)
    shift = np.r_[0.8, -0.5, np.zeros(10)]
    X, goal = rng.normal(size=(m, 12)), rng.normal(size=(n, 12)) + shift
    both = np.concatenate([X, goal])
    return ((part - both.mean(axis=0)) / both.std(axis=0) for part in (X, goal))


def kernel(A, B, width):
    squared = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(squared, 0) / (2 * width**2))


def distance(X, goal, b, width):
    """Squared moment distance, less what no weight changes and plus it."""
    parts = [slice(at, at + 500) for at in range(0, max(len(X), len(goal)), 500)]
    own = sum(b[p] @ (kernel(X[p], X, width) @ b) for p in parts) / len(X) ** 2
    cross = sum(b[p] @ kernel(X[p], goal, width).sum(axis=1) for p in parts)
    same = sum(kernel(goal[p], goal, width).sum() for p in parts) / len(goal) ** 2
    return own - 2 * cross / len(X) / len(goal) + same


def ours(X, goal, width):
    rows = Rows(X, None, goal, np.random.default_rng(0))
    return matching_weights(rows, target="unlabeled")


def skada(X, goal, width):
    try:
        from skada import KMMReweightAdapter
    except ImportError as reason:
        raise Absent(f"skada is not installed ({reason})") from None

    adapter = KMMReweightAdapter(kernel="rbf", gamma=1 / (2 * width**2))
    both, domain = np.concatenate([X, goal]), np.r_[np.ones(len(X)), -2 * np.ones(len(goal))]
    adapter.fit(both, sample_domain=domain.astype(int))
    return np.asarray(adapter.compute_weights(both, sample_domain=domain.astype(int)))[: len(X)]


def adapt(X, goal, width):
    try:
        from adapt.instance_based import KMM
    except ImportError as reason:
        raise Absent(f"adapt is not installed ({reason})") from None

    model = KMM(Xt=goal, kernel="rbf", gamma=1 / (2 * width**2), verbose=0, random_state=0)
    return np.asarray(model.fit_weights(X, goal))


def closer(X, goal, width, before):
    """Check that weights leave no larger a distance than the peer's."""

    def quality(mine, theirs):
        left = distance(X, goal, mine, width)
        require(left < before, f"squared distance {before:.3g} to {left:.3g}")
        text = f"squared distance {before:.3g} to {left:.3g}"
        if theirs is not None:
            other = distance(X, goal, theirs, width)
            require(left <= other + 1e-3 * before, f"{text}, the peer's {other:.3g}")
            text += f", the peer's {other:.3g}"
        return text

    return quality


def cases():
    for sizes, peer, limits in (
        (SIZES, None, {"seconds": 60, "mib": 2048}),
        ((SMALL, SMALL), skada, {"at_most": 1}),
        ((SMALL, SMALL), adapt, {"at_most": 1}),
    ):
        X, goal = tables(*sizes, seed=0)
        width = median_distance(np.concatenate([X, goal]), np.random.default_rng(0))
        before = distance(X, goal, np.ones(len(X)), width)
        yield Case(
            stage="weighting",
            what=f"Kernel mean matching, {sizes[0]:,} x {sizes[1]:,} rows",
            ours=partial(ours, X, goal, width),
            peer=peer.__name__ if peer else "",
            theirs=peer and partial(peer, X, goal, width),
            quality=closer(X, goal, width, before),
            rounds=1 if peer is None else 3,
            **limits,
        )
