"""The weighted AUC with its interval against scikit-learn's AUC, which has none.

Arrays of 10^7 scores. Unweighted, with one weight a class (rejected zeros) and with a weight for
each row; scores of 8 and 4 bytes; classes of 5 % and 50 % positives. The values must agree to
1e-12, and ours must be no slower anywhere.
"""

from functools import partial

import numpy as np
from counterweight.numerics.ranking import auc_estimate
from sklearn.metrics import roc_auc_score
from table import Case, require

ROWS = 10**7
WEIGHTS = ("no weights", "weights by class", "weights by row")


def same(ours, theirs):
    require(abs(ours - theirs) <= 1e-12, f"{ours!r} and {theirs!r}")
    return f"AUC {ours:.6f}, {abs(ours - theirs):.0e} apart"


def ours(y, score, weight):
    return auc_estimate(y, score, weight).value


def theirs(y, score, weight):
    return roc_auc_score(y, score, sample_weight=weight)


def cases():
    rng = np.random.default_rng(0)
    # First calls are not timed.
    auc_estimate([0, 1], [0.0, 1.0])
    roc_auc_score([0, 1], [0.0, 1.0])
    for share in (0.05, 0.5):
        y = (rng.random(ROWS) < share).astype(int)
        weights = (None, np.where(y == 1, 1.0, 10.0), rng.random(ROWS) + 0.5)
        for dtype in (np.float64, np.float32):
            score = (rng.normal(size=ROWS) + y).astype(dtype)
            for name, weight in zip(WEIGHTS, weights, strict=True):
                yield Case(
                    stage="evaluation",
                    what=f"AUC, 10^7 {np.dtype(dtype).name}, {share:.0%} positives, {name}",
                    ours=partial(ours, y, score, weight),
                    peer="sklearn.roc_auc_score, no interval",
                    theirs=partial(theirs, y, score, weight),
                    quality=same,
                    at_most=1,
                )
