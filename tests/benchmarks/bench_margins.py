"""How often constraints with margins for new rows are broken: fits to generated rows, judged on
fresh ones.

    PYTHONPATH=workflow python tests/benchmarks/bench_margins.py [fits] [part of a line's name]
        [rows of a fit] [fresh rows]

For the constrained SVM, thresholds of given scores and mixtures of reductions, and for each way
(cross-fitting, held-out rows, and without a margin for comparison) the share of fits that break any
constraint on the fresh rows without a word, by chances and by decisions. At 95 % it should be at
most 5 % and two standard errors (.072 of 400 fits). Fits that say themselves that no classifier, or
no threshold, keeps the constraints with their margins break none; their share is told.
"""

import itertools
import logging
import sys
import time
import warnings

import numpy as np
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.decisions import GivenScores
from counterweight.models.constraints.reductions import ReductionsClassifier
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.values import constraint_values

ROWS, FRESH = 1200, 1_000_000
#: Constraints by name.
ASKED = {
    "one": ["coverage(men) <= coverage(women) / 0.6"],
    "two": ["recall(women) >= 0.6", "false_positive_rate(men) <= 0.45"],
    "looser two": ["recall(women) >= 0.5", "false_positive_rate(men) <= 0.55"],
}
WHO = {
    "SVM": (ConstrainedClassifier, {"start": "zero", "steps": 4, "on_infeasible": "keep"}),
    "given scores": (GivenScores, {"above": 0.6}),
    "reductions": (ReductionsClassifier, {"fits": 12, "on_infeasible": "keep"}),
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


def broken(asked, way, fits, who="SVM", rows=ROWS, fresh=FRESH, seed=0):
    """Shares of fits that break a constraint on fresh rows, by rule; and of certified ones.

    Returns
    -------
    by_rule : ndarray (2,)
        Deterministic, randomised.
    error : float
        Mean error of the decisions on the fresh rows.
    certified : list of bool
        Of the fits that did not say so.
    failed : int
        Certified fits that break a constraint.
    told : float
        Share of fits that said that they cannot keep the constraints.
    """
    rng, (component, options) = np.random.default_rng(seed), WHO[who]
    # The first feature is the score of somebody else.
    seen = slice(1) if component is GivenScores else slice(None)
    X_new, y_new, members = world(fresh, rng)
    new = DataSets(None, y_new, None, members)
    found, errors, certified, told = [], [], [], 0
    for _ in range(fits):
        X, y, own = world(rows, rng)
        model = component(constraints=asked, **way, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[:, seen], y, datasets=own)
        unsure = way.get("confidence") and not model.certified_
        if unsure or not getattr(model, "feasible_", True) or model.repair_["missed"]:
            told += 1
            continue
        p, decided = model.answers(X_new[:, seen], new)
        found.append((constraint_values(p, decided, new, asked)[:, :, 2] > 0).any(axis=0))
        errors.append(np.mean(decided != y_new))
        certified.append(model.certified_)
    broken_ones = np.sum(found, axis=0) if found else np.zeros(2)
    failed = sum(map(np.any, itertools.compress(found, certified)))
    return broken_ones / fits, float(np.mean(errors or np.nan)), certified, failed, told / fits


if __name__ == "__main__":
    fits = int(sys.argv[1]) if sys.argv[1:] else 400
    wanted = sys.argv[2] if sys.argv[2:] else ""
    sizes = [int(size) for size in sys.argv[3:5]]
    logging.disable(logging.WARNING)
    for who, (name, asked), (way, options) in itertools.product(WHO, ASKED.items(), WAYS.items()):
        line = f"{who}, {name}, {way}"
        if wanted not in line:
            continue
        begun = time.process_time()
        (signs, coins), error, certified, failed, told = broken(asked, options, fits, who, *sizes)
        print(
            f"{line}, {fits} fits: broken by decisions {signs:.4f}, by chances {coins:.4f}; "
            f"error {error:.4f}; certified {np.sum(certified)}, of these broken {failed}; "
            f"told as not kept {told:.3f}; "
            f"{(time.process_time() - begun) / fits:.2f} CPU s a fit",
            flush=True,
        )
