"""Speed of the rate solver against fairlearn's exponentiated gradient, on a9a or its like.

Both train for a bound on the ratio of positive rates of men and women, in one run on one
thread. fairlearn bounds each group against the overall rate, so its fits come first, and ours
are asked for the ratios that these reached on the training rows: times are compared at equal
ratio of the randomised classifiers, and errors on test rows are shown. Ours are settings of one
sweep, whatever they share (merging equal rows, the SVM without constraints, several starts of the
first setting) included, and a mean for each setting is told. Where fairlearn is not installed,
ratios of 1.1, 1.25 and 1.6 are asked for. Then the solver runs on more and more generated rows:
its CPU time and memory for each row should not grow. Exits with status 1 when a setting takes more
than .6 CPU s or 1.5 times fairlearn's, or a bound on the groups' mean scores 3 times as long as the
plain SVM.

The real a9a is read where COUNTERWEIGHT_MIRROR names a folder that has it; else rows of the
same shape are generated.

Call: python tests/benchmarks/bench_constraints.py [largest rows]
"""

import importlib.util
import os
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.models.constraints.constrained import ConstrainedClassifier  # noqa: E402
from counterweight.models.constraints.linear_svm import HingeRows  # noqa: E402
from counterweight.models.constraints.solver.convex import ramp  # noqa: E402
from counterweight.models.constraints.solver.rows import DistinctRows  # noqa: E402
from counterweight.models.constraints.solver.solver import minimise_rates  # noqa: E402
from counterweight.numerics.rates.datasets import DataSets  # noqa: E402

MALE = 72
# Sizes of 14 one-hot blocks, as a9a has them; the first block of two is sex.
BLOCKS = (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41)
RATIO_BOUNDS = (0.9, 0.8, 0.6)


def generated(rows, rng):
    """Rows of a9a's shape: 14 ones in 123 columns, and labels that depend on sex."""
    # One latent number drives the blocks, so that rows repeat as they do in a9a.
    wealth = rng.normal(size=rows)
    columns, first = np.empty((rows, len(BLOCKS)), dtype=np.int32), 0
    for block, size in enumerate(BLOCKS):
        share = rng.dirichlet(np.full(size, 0.3))
        place = np.searchsorted(np.cumsum(share)[:-1], rng.random(rows))
        if size == 2:
            place = (rng.random(rows) < 0.67).astype(int)
        elif block < 9:
            place = np.clip(place + (wealth > 1), 0, size - 1)
        columns[:, block] = first + place
        first += size
    sex = BLOCKS.index(2)
    male = columns[:, sex] == sum(BLOCKS[:sex]) + 1
    X = sparse.csr_matrix(
        (np.ones(columns.size), columns.ravel(), np.arange(rows + 1) * len(BLOCKS)),
        shape=(rows, first),
    )
    f = X @ rng.normal(size=first) + 1.5 * wealth + 1.5 * male
    y = f + rng.logistic(size=rows) > np.quantile(f, 0.76)
    return X, y, male


def read_or_make(rng):
    """Name, and (X, y, male) of training and of test rows."""
    folder = Path(os.environ.get("COUNTERWEIGHT_MIRROR", ""), "a9a")
    if os.environ.get("COUNTERWEIGHT_MIRROR") and (folder / "a9a").is_file():
        from sklearn.datasets import load_svmlight_file

        parts = []
        for name in ("a9a", "a9a.t"):
            X, y = load_svmlight_file(str(folder / name), n_features=123)
            parts.append((X.tocsr(), y > 0, X[:, MALE].toarray().ravel() > 0))
        return "a9a", *parts
    X, y, male = generated(32561 + 16281, rng)
    train, test = slice(0, 32561), slice(32561, None)
    return "generated rows", *((X[part], y[part], male[part]) for part in (train, test))


def costs(y, male, kappa):
    """Problem 2's coefficients: error, and coverage(male) <= coverage(female) / kappa."""
    n = len(y)
    positive = np.array([~y / n, male / male.sum()])
    negative = np.array([y / n, ~male / (~male).sum() / kappa])
    return positive, negative, [1 / kappa]


def judged(p, y, male):
    """Error and ratio of a randomised classifier."""
    return np.mean(np.where(y, 1 - p, p)), p[male].mean() / p[~male].mean()


def fairlearn_fit(train, test, bound):
    """CPU seconds, training ratio, test error and ratio of exponentiated gradient."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient
    from sklearn.linear_model import LogisticRegression

    X, y, male = train
    model = ExponentiatedGradient(
        LogisticRegression(max_iter=300),
        DemographicParity(ratio_bound=bound, ratio_bound_slack=0.005),
    )
    used = time.process_time()
    model.fit(X, y.astype(int), sensitive_features=male)
    used = time.process_time() - used
    ratio = judged(model._pmf_predict(X)[:, 1], y, male)[1]
    return used, ratio, *judged(model._pmf_predict(test[0])[:, 1], *test[1:])


def sweep_fit(train, kappas):
    """CPU seconds of each setting of a sweep, and its models in the order of `kappas`."""
    X, y, male = train
    samples = DataSets(
        X=X, y=y.astype("int8"), weight=np.ones(len(y)), members={"male": male, "female": ~male}
    )
    options = {"constraints": ["coverage(male) <= coverage(female) / kappa"], "repair": "none"}
    used = time.process_time()
    models = ConstrainedClassifier.fit_sweep(
        [options | {"kappa": kappa} for kappa in kappas], samples, np.random.default_rng(0)
    )
    return (time.process_time() - used) / len(kappas), models


def against_fairlearn(rng):
    """Print times of both at equal training ratios; whether ours are short enough."""
    name, train, test = read_or_make(rng)
    X, y, male = train
    print(f"{name}: {X.shape[0]} rows, penalty 2/n")
    dense = (X.toarray(), y, male), (test[0].toarray(), *test[1:])
    if importlib.util.find_spec("fairlearn"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peers = [fairlearn_fit(*dense, bound) for bound in RATIO_BOUNDS]
    else:
        print("fairlearn is not installed: nothing to compare with")
        peers = [(np.inf, ratio, np.nan, np.nan) for ratio in (1.1, 1.25, 1.6)]
    # Settings between them, too, as in a sweep of a study.
    kappas = [1 / ratio for _, ratio, _, _ in peers]
    more = np.linspace(min(kappas), max(kappas), 11)
    used, models = sweep_fit(train, kappas + [kappa for kappa in more if kappa not in kappas])
    print(f"{used:.2f} CPU s for each of {len(models)} settings")
    print(
        f"{'kappa':>6}   {'error':>6} ratio {'error':>6} ratio   "
        f"{'CPU s':>6} {'error':>6} ratio   (ours randomised, ours thresholded; fairlearn)"
    )
    good = used <= 0.6
    for model, kappa, (theirs, _, error, reached) in zip(models, kappas, peers, strict=False):
        f = model.decision_function(test[0])
        own = *judged(ramp(f), *test[1:]), *judged(1.0 * (f > 0), *test[1:])
        fast = used <= 1.5 * theirs and model.feasible_
        good &= fast
        print(
            f"{kappa:6.3f}   {own[0]:6.4f} {own[1]:5.2f} {own[2]:6.4f} {own[3]:5.2f}   "
            f"{theirs:6.2f} {error:6.4f} {reached:5.2f}" + ("" if fast else "   SLOW"),
            flush=True,
        )
    return good


def bound_on_means(rng):
    """Print CPU time of the SVM whose groups' mean scores are bound; whether it is short enough."""
    _, (X, y, male), _ = read_or_make(rng)
    hinges = HingeRows(X, y.astype(int), np.ones(len(y)))
    used = [time.process_time()]
    free = hinges.solve()
    used.append(time.process_time())
    line = np.ravel(X[male].mean(axis=0) - X[~male].mean(axis=0))
    hinges.solve(line, np.copysign(0.1, line @ free.coefficient), start=free)
    used.append(time.process_time())
    plain, bound = np.diff(used)
    print(f"\nBound on the mean scores: {bound:.2f} CPU s, {bound / plain:.1f} times the plain SVM")
    return bound <= 3 * plain


def growth(largest, rng):
    """Print CPU time and memory of two steps on 10^4 to `largest` generated rows."""
    print("\nTwo steps without merged rows, kappa .8: CPU microseconds and bytes for each row")
    rows = 10_000
    while rows <= largest:
        X, y, male = generated(rows, rng)
        positive, negative, bounds = costs(y, male, 0.8)
        held = DistinctRows(X, merge=False)
        tracemalloc.start()
        used = time.process_time()
        fit = minimise_rates(held, positive, negative, bounds, penalty=2e-5, steps=2)
        used = time.process_time() - used
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{rows:8d} rows  {used:6.2f} s  {1e6 * used / rows:6.1f}  {memory / rows:6.0f}  "
            f"Newton steps {fit.evaluations.sum()}",
            flush=True,
        )
        rows *= 10


def main(largest):
    """Run both parts and return the exit status."""
    rng = np.random.default_rng(0)
    good = against_fairlearn(rng)
    good &= bound_on_means(rng)
    growth(largest, rng)
    return 0 if good else 1


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        status = main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
    sys.exit(status)
