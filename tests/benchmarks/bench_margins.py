"""How often constraints with a confidence are broken on new rows, and what that costs: fits to
generated rows, judged on fresh ones.

    PYTHONPATH=workflow python tests/benchmarks/bench_margins.py [fits] [part of a line's name]
        [rows of a fit] [fresh rows]

For the constrained SVM, thresholds of given scores and mixtures of reductions, and for each way
(without a margin, with one from cross-fitting alone as before version 1.1, certified by
cross-fitting, certified by held-out rows) the share of all fits that are certified and break any
constraint on the fresh rows, by decisions and by chances. A certificate at 95 % may do so in 5 %
of the fits. Error is the mean over all fits, whatever is shown of them. Two further tables:

- credit: 12,000 rows, a quarter positive, parity .95 and a recall of .45, eight draws;
- small: parity .8 of two groups of 197 and 111 among 1,989 people, 25 draws;
- few: logistic regression with one threshold for everybody (the model `chosen`, of own tables),
  four fifths for 250 among 2,500 people, whom no column tells, 400 draws.

There, what is certified is what the model says: the constraints as asked, or looser ones.
"""

import itertools
import logging
import sys
import time
import warnings

import numpy as np
from counterweight.models.constraints.chosen import ChosenClassifier
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.reductions import ReductionsClassifier
from counterweight.models.constraints.thresholds import GivenScores
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.values import constraint_values
from scipy.special import ndtri

ROWS, FRESH = 1200, 100_000
#: Constraints by name.
ASKED = {
    "one": ["coverage(men) <= coverage(women) / 0.6"],
    "two": ["recall(women) >= 0.6", "false_positive_rate(men) <= 0.45"],
    "looser two": ["recall(women) >= 0.5", "false_positive_rate(men) <= 0.55"],
}
QUICK = {"start": "zero", "steps": 4, "on_infeasible": "keep"}
WHO = {
    "SVM": (ConstrainedClassifier, QUICK),
    "given scores": (GivenScores, {"above": 0.6}),
    "reductions": (ReductionsClassifier, {"fits": 12, "on_infeasible": "keep"}),
}
WAYS = {
    "no margin": {},
    "margin alone": {"confidence": 0.95},
    "cross-fitted": {"confidence": 0.95},
    "held-out": {"confidence": 0.95, "held_out": 0.4},
}
CREDIT = ["parity(a, b, 0.95)", "recall(labeled) >= 0.45"]
SVM = ConstrainedClassifier, QUICK | {"standardise": True}
#: Of each table: rows, constraints, shares of the groups, who is fitted.
TABLES = {
    "credit": (12_000, CREDIT, (0.4, 0.6), SVM),
    "small": (1989, ["parity(a, b, 0.8)"], (197 / 1989, 111 / 1989), SVM),
    "few": (2500, ["coverage(b) >= 0.8 * coverage(a)"], (0.9, 0.1), (ChosenClassifier, {})),
}


class MarginAlone:
    """A margin of z standard errors and what fits flatter, shared among the constraints."""

    def _crossed(self, samples, rng, plains):
        fold = samples.folds(5, np.random.default_rng(0))
        z = float(ndtri(1 - (1 - self.confidence) / len(plains)))
        self._clear_thresholds()
        self._fit_with(samples, rng, np.zeros(len(plains)))
        units, first = self._units(plains, samples), z * self._values(samples)[1]
        (judged,) = self._folds(samples, fold, rng, first, units, plains, first[:1])
        values = self._values_of(samples, *judged.answers)
        flattered = np.maximum(values[0] - judged.seen, 0.0)
        self._fit_to(samples, rng, flattered + z * values[1], units, plains)
        return judged


def world(rows, rng):
    """Two groups with different shares of positives, four features."""
    men = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 4)) + np.outer(men, [0.8, 0.3, 0.0, 0.0])
    y = (X @ [1.0, 0.7, -0.5, 0.0] + rng.logistic(size=rows) * 0.7 > 0.7).astype(int)
    return X, y, {"men": men, "women": ~men}


def lender(rows, rng, groups=(0.4, 0.6)):
    """A quarter positive; groups `a` and `b` of these shares (a count: of so many rows exactly)."""
    drawn = rng.permutation(rows) / rows
    a, b = drawn < groups[0], (drawn >= groups[0]) & (drawn < sum(groups))
    X = rng.normal(size=(rows, 8)) + np.outer(a, [0.5, -0.3, *np.zeros(6)])
    lean = X[:, :5] @ [1.0, 0.8, -0.6, 0.4, 0.3] - 1.55
    y = (lean + rng.logistic(size=rows) * 0.8 > 0).astype(int)
    return X, y, {"a": a, "b": b}


def fitted(component, options, asked, X, y, own, way):
    """A model, with a margin alone where that is the way's name."""
    name, told = way
    if name == "margin alone":
        component = type("Margin", (MarginAlone, component), {})
    model = component(constraints=asked, **told, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, datasets=own)


def excesses(model, X, new, asked):
    """Largest excess by decisions and by chances, and the error of decisions, on new rows."""
    p, decided = model.answers(X, new)
    values = constraint_values(p, decided, new, asked)[:, :, 2]
    return *values.max(axis=0), float(np.mean(decided != new.y))


def broken(asked, way, fits, who="SVM", rows=ROWS, fresh=FRESH, seed=0):
    """What becomes of fits of one kind: a dict of shares of all fits, and of their mean error."""
    rng, (component, options) = np.random.default_rng(seed), WHO[who]
    # The first feature is the score of somebody else.
    seen = slice(1) if component is GivenScores else slice(None)
    X_new, y_new, members = world(fresh, rng)
    new, found = DataSets(None, y_new, None, members), []
    for _ in range(fits):
        X, y, own = world(rows, rng)
        model = fitted(component, options, asked, X[:, seen], y, own, way)
        signs, coins, error = excesses(model, X_new[:, seen], new, asked)
        given = model.certified_ or not way[1] or way[0] == "margin alone"
        found.append((given, given and signs > 0, given and coins > 0, error))
    given, signs, coins, error = np.mean(found, axis=0)
    return {"given": given, "decisions": signs, "chances": coins, "error": error}


def tables(kind, draws):
    """A line for each way of a table: draws that keep on fresh rows what is said."""
    rows, asked, sizes, (component, options) = TABLES[kind]
    rng = np.random.default_rng(1)
    X_new, y_new, members = lender(FRESH, rng, sizes)
    new = DataSets(None, y_new, None, members)
    for name, way in WAYS.items():
        if kind == "small" and name == "held-out":
            way = way | {"held_out": 0.3}
        found, begun = [], time.process_time()
        for seed in range(draws):
            X, y, own = lender(rows, np.random.default_rng([2, seed]), sizes)
            model = fitted(component, options, asked, X, y, own, (name, way))
            signs, _, error = excesses(model, X_new, new, asked)
            shown = model.shown_ if "fitted" in name or name == "held-out" else None
            loose = shown and shown.share is not None and shown.texts
            kept = not loose or excesses(model, X_new, new, list(loose))[0] <= 0
            share = np.nan if not loose else shown.share
            yes = float(np.mean(model.answers(X_new, new)[1]))
            said = model.certified_, bool(loose), kept, share, bool(model.trivial_told_)
            found.append((signs <= 0, error, yes, *said))
        told = np.array(found, dtype=float)
        kept, error, yes, certified, some, words, _, trivial = told.mean(axis=0)
        loose = told[:, 6][told[:, 4] > 0]
        print(
            f"{kind}, {name}, {draws} draws: as asked kept {kept:.3f}; error {error:.4f}, positive "
            f"{yes:.3f}; certified as asked {certified:.3f}, at all {some:.3f} (looser by "
            f"{np.mean(loose) if len(loose) else np.nan:.3f}), of all what is said kept "
            f"{words:.3f}; told as behind a trivial rule {trivial:.3f}; "
            f"{(time.process_time() - begun) / draws:.2f} CPU s a fit",
            flush=True,
        )


if __name__ == "__main__":
    fits = int(sys.argv[1]) if sys.argv[1:] else 400
    wanted = sys.argv[2] if sys.argv[2:] else ""
    sizes = [int(size) for size in sys.argv[3:5]]
    logging.disable(logging.WARNING)
    for who, (name, asked), way in itertools.product(WHO, ASKED.items(), WAYS.items()):
        line = f"{who}, {name}, {way[0]}"
        if wanted not in line:
            continue
        begun = time.process_time()
        found = broken(asked, way, fits, who, *sizes)
        print(
            f"{line}, {fits} fits: given as kept {found['given']:.3f}; of all, given and broken by "
            f"decisions {found['decisions']:.4f}, by chances {found['chances']:.4f}; error "
            f"{found['error']:.4f}; {(time.process_time() - begun) / fits:.2f} CPU s a fit",
            flush=True,
        )
    for kind, draws in (("credit", 8), ("small", 25), ("few", 400)):
        if wanted in kind:
            tables(kind, min(draws, fits))
