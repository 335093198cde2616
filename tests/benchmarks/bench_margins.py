"""How often constraints with margins for new rows are broken: fits to generated rows, judged on
10^6 fresh ones.

    PYTHONPATH=workflow python tests/benchmarks/bench_margins.py [fits]

For each way (cross-fitting, held-out rows, and without a margin for comparison) the share of fits
that break any constraint on the fresh rows, by chances and by decisions. At 95 % it should be at
most 5 % and two standard errors (.072 of 400 fits).
"""

import sys
import time
import warnings

import numpy as np
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.promises import promise_values

ROWS, FRESH = 1200, 1_000_000
#: Constraints by name.
ASKED = {
    "one": ["coverage(men) <= coverage(women) / 0.6"],
    "two": ["recall(women) >= 0.7", "false_positive_rate(men) <= 0.35"],
}
WAYS = {
    "no margin": {},
    "cross-fitted": {"confidence": 0.95},
    "held-out": {"confidence": 0.95, "held_out": 0.4},
}


def world(rows, rng):
    """Two groups with different shares of positives, four features."""
    men = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 4)) + np.outer(men, [0.8, 0.3, 0.0, 0.0])
    y = (X @ [1.0, 0.7, -0.5, 0.0] + rng.logistic(size=rows) * 0.7 > 0.7).astype(int)
    return X, y, {"men": men, "women": ~men}


def broken(asked, way, fits, rows=ROWS, fresh=FRESH, seed=0, **options):
    """Shares of fits that break a constraint on fresh rows, by rule; and of certified ones.

    Returns
    -------
    by_rule : ndarray (2,)
        Deterministic, randomised.
    error : float
        Mean error of the decisions on the fresh rows.
    certified : list of bool
    """
    rng = np.random.default_rng(seed)
    X_new, y_new, members = world(fresh, rng)
    new = DataSets(None, y_new, None, members)
    found, errors, certified = [], [], []
    for _ in range(fits):
        X, y, own = world(rows, rng)
        model = ConstrainedClassifier(
            constraints=asked, start="zero", steps=4, on_infeasible="keep", **way, **options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, datasets=own)
        p, decided = model.answers(X_new, new)
        found.append((promise_values(p, decided, new, asked)[:, :, 2] > 0).any(axis=0))
        errors.append(np.mean(decided != y_new))
        certified.append(model.certified_)
    return np.mean(found, axis=0), float(np.mean(errors)), certified


if __name__ == "__main__":
    fits = int(sys.argv[1]) if sys.argv[1:] else 400
    for name, asked in ASKED.items():
        for way, options in WAYS.items():
            begun = time.process_time()
            (signs, coins), error, certified = broken(asked, options, fits)
            print(
                f"{name}, {way}, {fits} fits: broken by decisions {signs:.4f}, by chances "
                f"{coins:.4f}; "
                f"error {error:.4f}; certified {np.mean(certified):.3f}; "
                f"{(time.process_time() - begun) / fits:.2f} CPU s a fit",
                flush=True,
            )
