"""Whether results under constraints are behind rules that need no training under constraints.

On real tables with several groupings, and on generated ones, each constrained fit is compared with
the best rule that sees the same columns and meets the same constraints on the training rows: the
unconstrained score (hinge loss, and logistic) as it is, with the best threshold for everybody,
and, where the columns tell the groups, with the best threshold for each.

    PYTHONPATH=workflow python tests/benchmarks/bench_behind.py [part of a case's name]
    PYTHONPATH=workflow python tests/benchmarks/bench_behind.py new [rows] [splits] [part of a name]
        [seed of the splits: another number than 7 makes fresh ones]

With ``new``, what a table of one's own gives away is judged on new rows instead: splits into rows
of a fit and test rows, and beside it logistic regression and an SVM with the thresholds of least
cost by which the promises hold on the rows of the fit, or on these by cross-validation. Of each:
mean error on test rows, by how much the promise that is missed most is missed there, and how often
all are kept. Who misses a promise has fewer errors for it; so what is compared is the error at the
thresholds by which the promises hold on the test rows (an oracle), the last number of each.

A promise about two groups that all have one threshold asks for another order of people. Beside it
stand logistic regressions and SVMs of which a yes costs more in one group and less in the other
(the reduction of Agarwal et al. 2018 with a grid of multipliers), with the multiplier and threshold
of least cost by which the promise holds by cross-validation. There the last number is the error and
what is missed of the promise, at what keeping it costs on the test rows.

Real tables are read where COUNTERWEIGHT_MIRROR names a folder that has them. A line a case and
setting: errors on the training rows by decisions, by chances, of the best rule and by how much the
result is behind. Exits with status 1 where it is behind by more than .001, breaks a constraint, or
answers the same to all without a warning.
"""

import logging
import os
import sys
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from counterweight.models.constraints.constrained import ConstrainedClassifier  # noqa: E402
from counterweight.models.constraints.cuts import repaired  # noqa: E402
from counterweight.numerics.rates import DataSets  # noqa: E402
from counterweight.numerics.rates import compile as compile_rates  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

MOST = 1e-3
RATIO = ["coverage(a) <= coverage(b) / kappa"]
BOTH = [*RATIO, "coverage(b) <= coverage(a) / kappa"]
RECALL = ["recall(a) >= kappa * recall(b)", "recall(b) >= kappa * recall(a)"]
FLOOR = ["recall(a) >= kappa", "recall(b) >= kappa"]
KAPPAS = (0.5, 0.8, 1.0)


def mirror(*names):
    """A file of the mirror, or None."""
    path = Path(os.environ.get("COUNTERWEIGHT_MIRROR", "none"), *names)
    return path if path.is_file() else None


def columns(frame, scaled=True):
    """Numbers with their medians for what is missing, and categories one-hot; float (n, d)."""
    numbers = frame.select_dtypes("number")
    X = numbers.fillna(numbers.median()).astype(float)
    if scaled:
        X = (X - X.mean()) / X.std().clip(lower=1e-12)
    rest = frame.drop(columns=numbers.columns).astype(str)
    return np.hstack([X.to_numpy(), pd.get_dummies(rest).to_numpy(float)])


def adult():
    names = "age work weight education years marital job relation race sex gain loss hours country"
    path = mirror("adult", "adult.data")
    if path is None:
        return
    table = pd.read_csv(path, names=[*names.split(), "income"], skipinitialspace=True)
    y, X = (table.pop("income") == ">50K").to_numpy(int), columns(table)
    school = table.education.isin(["HS-grad", "11th", "10th", "9th", "Some-college"])
    men, old = table.sex == "Male", table.age >= 40
    yield "adult sex", X, y, men, BOTH
    yield "adult sex", X, y, men, RECALL
    yield "adult age", X, y, old, BOTH
    yield "adult race", X, y, table.race == "White", RATIO
    yield "adult union of races", X, y, table.race.isin(["White", "Asian-Pac-Islander"]), BOTH
    yield "adult schools", X, y, ~school, BOTH
    yield "adult men from 40", X, y, men & old, BOTH
    yield "adult hours 35 to 45", X, y, table.hours.between(35, 45), BOTH
    yield "adult young or old", X, y, (table.age < 25) | (table.age > 60), BOTH
    yield "adult sex, unscaled", columns(table, scaled=False), y, men, BOTH
    hidden = columns(table.drop(columns=["sex"]))
    yield "adult sex, hidden", hidden, y, men, BOTH


def bank():
    path = mirror("bank_marketing", "bank-full.csv")
    if path is None:
        return
    table = pd.read_csv(path, sep=";")
    y, X = (table.pop("y") == "yes").to_numpy(int), columns(table)
    yield "bank housing", X, y, table.housing == "no", BOTH
    yield "bank age", X, y, table.age >= 60, BOTH
    yield "bank age", X, y, table.age >= 40, RECALL
    yield "bank marital", X, y, table.marital == "married", FLOOR
    yield "bank jobs", X, y, table.job.isin(["student", "retired", "unemployed"]), BOTH
    yield "bank default", X, y, table.default == "no", BOTH
    yield "bank unscaled", columns(table, scaled=False), y, table.housing == "no", BOTH


def hmeq():
    path = mirror("practice", "hmeq.csv")
    if path is None:
        return
    table = pd.read_csv(path)
    y, X = table.pop("BAD").to_numpy(int), columns(table)
    yield "hmeq reason", X, y, table.REASON == "HomeImp", BOTH
    yield "hmeq jobs", X, y, table.JOB.isin(["Self", "Sales"]), BOTH
    yield "hmeq years", X, y, table.YOJ.fillna(7) < 3, BOTH
    yield "hmeq loan", X, y, table.LOAN >= 20000, RECALL
    yield "hmeq late", X, y, table.DELINQ.fillna(0) > 0, BOTH
    yield "hmeq late", X, y, table.DELINQ.fillna(0) > 0, FLOOR


def a9a():
    path = mirror("a9a", "a9a")
    if path is None:
        return
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path), n_features=123)
    X, y = X.tocsr(), (y > 0).astype(int)
    men = X[:, 72].toarray().ravel() > 0
    old = X[:, 3:5].toarray().any(axis=1)
    yield "a9a sex", X, y, men, RATIO
    yield "a9a oldest fifths", X, y, old, BOTH
    yield "a9a men of these", X, y, men & old, BOTH


def kakadu():
    path = mirror("kakadu", "Kakadu.csv")
    if path is None:
        return
    table = pd.read_csv(path).iloc[:, 1:]
    answer = table.pop("answer")
    y = (answer == answer.unique()[0]).to_numpy(int)
    table = table.drop(columns=["lower", "upper"])
    X = columns(table)
    yield "kakadu sex", X, y, table.sex == "male", BOTH
    yield "kakadu age", X, y, table.age >= 40, BOTH
    yield "kakadu income", X, y, table.income >= 30, RECALL


def generated():
    for seed, (n, share, positives, unscaled, linked) in enumerate(
        [
            (400, 0.3, 0.4, False, 0.5),
            (400, 0.02, 0.4, False, 0.5),
            (400, 0.1, 0.9, True, 1.0),
            (3000, 0.02, 0.2, False, 1.0),
            (3000, 0.5, 0.9, False, 1.0),
            (3000, 0.5, 0.05, True, 2.0),
            (3000, 0.3, 0.4, True, 3.0),
        ]
    ):
        rng = np.random.default_rng(seed)
        a = rng.random(n) < share
        F = rng.normal(size=(n, 6)) + np.outer(a, [linked, 0.5 * linked, 0, 0, 0, 0])
        kind = rng.integers(0, 7, n)
        score = F @ [1, -0.5, 0.5, 0.3, 0, 0] + 0.6 * linked * a + 0.3 * kind + rng.logistic(size=n)
        y = (score > np.quantile(score, 1 - positives)).astype(int)
        if unscaled:
            F = F * [1, 1e3, 1e-2, 50, 1e4, 1] + [0, 5e3, 1, 0, 0, 10]
        X = np.column_stack([F, a, np.eye(7)[kind]])
        told = f"generated {n}, group {share:.0%}, positives {positives:.0%}"
        told += ", unscaled" if unscaled else ""
        for name, group, texts in (
            ("group", a, BOTH),
            ("group", a, FLOOR),
            ("kinds", np.isin(kind, (1, 4, 6)), BOTH),
            ("range", F[:, 2] > np.quantile(F[:, 2], 1 - max(share, 8 / n)), BOTH),
            ("no column", rng.random(n) < 0.3, BOTH),
        ):
            yield f"{told}: {name}", X, y, group, texts
        three = {"a": kind < 2, "b": (kind >= 2) & (kind < 5), "c": kind >= 5}
        yield f"{told}: three", X, y, three, ["parity(a, b, c, kappa)"]


def skewed():
    """Other shapes: skewed and heavy-tailed features, rare categories, weights, four groups."""
    for n, positives, seed in ((1500, 0.12, 40), (4000, 0.6, 41)):
        rng = np.random.default_rng(seed)
        region = rng.choice(4, n, p=[0.55, 0.25, 0.15, 0.05])
        trade = rng.choice(12, n, p=np.arange(12, 0, -1) / 78)
        F = np.column_stack(
            [rng.exponential(size=(n, 3)), rng.standard_t(3, size=(n, 3)), rng.poisson(2, n)]
        )
        F[:, 0] *= 1 + 0.5 * region
        score = np.log1p(F[:, 0]) - 0.4 * F[:, 3] + 0.5 * F[:, 4] * (region == 1) + 0.1 * trade
        score = score + 0.3 * region + rng.logistic(size=n)
        y = (score > np.quantile(score, 1 - positives)).astype(int)
        X = np.column_stack([F, np.eye(4)[region], np.eye(12)[trade]])
        weight = np.round(rng.exponential(size=n) + 0.2, 1)
        four = {name: region == k for k, name in enumerate("abcd")}
        name = f"skewed {n}, positives {positives:.0%}"
        yield f"{name}: four", X, y, four, ["parity(a, b, c, d, kappa)"]
        yield f"{name}: rest", X, y, region > 0, BOTH
        yield f"{name}: rest, weighted", X, y, region > 0, BOTH, weight
        yield f"{name}: trades, weighted", X, y, trade % 3 == 1, RECALL, weight
        yield f"{name}: counts", X, y, F[:, 6] >= 3, BOTH


def large():
    """As many rows as new ones need: two groups that three features hint at, two kinds of rows."""
    rng, n = np.random.default_rng(60), 40_000
    a, kind = rng.random(n) < 0.4, rng.integers(0, 5, n)
    F = rng.normal(size=(n, 6)) + np.outer(a, [0.8, 0.5, 0, -0.4, 0, 0])
    score = F[:, :3] @ [1.1, 0.7, 0.5] + np.maximum(F[:, 3], 0) - 0.8 + 0.3 * kind
    y = (score + rng.logistic(size=n) > 1.2).astype(int)
    yield "large: group", np.column_stack([F, np.eye(5)[kind]]), y, a, BOTH


def told(X, mask):
    """Whether columns tell a group: a tree of few leaves does, without an error."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=5, random_state=0)
    return (tree.fit(X, mask).predict(X) == mask).all()


def scores_of(X, y, weight):
    """Scores without constraints."""
    size = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel()) if sparse.issparse(X) else 1.0
    if not sparse.issparse(X):
        size, X = X.std(axis=0), X - X.mean(axis=0)
    size = np.where(size > 0, size, 1.0)
    X = X.multiply(1 / size).tocsr() if sparse.issparse(X) else X / size
    for model in (LinearSVC(C=1.0, dual=False, max_iter=3000), LogisticRegression(max_iter=1000)):
        yield model.fit(X, y, sample_weight=weight).decision_function(X)


def best_rule(scores, samples, texts, numbers, parts):
    """Name and error of the best rule that meets the constraints, or none and infinity."""
    problem = compile_rates("error(labeled)", texts, samples, numbers)

    def judged(decided):
        values = problem.positive @ decided + problem.negative @ (1 - decided) + problem.constants
        return values[0] if (values[1:] <= problem.bounds + 1e-9).all() else np.inf

    found = [("none", np.inf)]
    for f in scores:
        found.append(("as it is", judged(f > 0.0)))
        order = np.argsort(f)
        change = (problem.positive - problem.negative)[:, order]
        sums = np.cumsum(change[:, ::-1], axis=1)[:, ::-1]
        fixed = (problem.negative.sum(axis=1) + problem.constants)[:, None]
        values = np.hstack([sums, np.zeros_like(fixed)]) + fixed
        first = np.concatenate([[True], np.diff(f[order]) > 0, [True]])
        kept = first & (values[1:] <= problem.bounds[:, None] + 1e-9).all(axis=0)
        found.append(("shifted", values[0, kept].min(initial=np.inf)))
        if parts is not None:
            thresholds = repaired(f, problem, parts).thresholds
            found.append(("by group", judged(f > thresholds[parts])))
    return min(found, key=lambda one: one[1])


def compared(name, X, y, group, texts, weight=None, **options):
    """A line for each setting; the number of settings that are behind."""
    groups = group if isinstance(group, dict) else {"a": group, "b": ~np.asarray(group)}
    groups = {key: np.asarray(mask) for key, mask in groups.items()}
    samples, bad = DataSets(X, y, weight, groups), 0
    known = all(told(X, mask) for mask in groups.values())
    parts = np.argmax(np.column_stack(list(groups.values())), axis=1) if known else None
    scores = list(scores_of(X, y, weight))
    settings = [
        {"constraints": texts, "kappa": kappa, "standardise": True, "on_infeasible": "keep"}
        | options
        for kappa in KAPPAS
    ]
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = ConstrainedClassifier.fit_sweep(settings, samples, np.random.default_rng(0))
    used = (time.process_time() - begun) / len(settings)
    for model in models:
        rule, least = best_rule(scores, samples, texts, {"kappa": model.kappa}, parts)
        p, decided = model.answers(samples.X, samples)
        coins = np.average(np.where(y == 1, 1 - p, p), weights=weight)
        signs = np.average(decided != y, weights=weight)
        broken = [one for one in model.constraint_checks_ if one.verdict == "broken"]
        wrong = max(coins, signs) - least > MOST + 1e-12 or (bool(broken) and least < np.inf)
        wrong |= not 0 < decided.mean() < 1 and not model.warnings_
        bad += wrong
        print(
            f"{name} {texts[0]} {model.kappa:g}: decisions {signs:.4f}, chances {coins:.4f}, best "
            f"rule {least:.4f} ({rule}), behind {signs - least:.4f}, {coins - least:.4f}; "
            f"{len(broken)} broken; {used:.1f} CPU s{'  <-- BEHIND' if wrong else ''}",
            flush=True,
        )
    return bad


#: Promises that are judged on new rows: what is asked, and who has thresholds of their own.
ON_NEW = {
    "four fifths by group": (["coverage(b) >= 0.8 * coverage(a)"], "by_group"),
    "recall": (["recall(labeled) >= 0.6"], "everyone"),
    "four fifths, one threshold": (["coverage(b) >= 0.8 * coverage(a)"], "everyone"),
}
#: What is missed of a promise about groups, by one threshold, has the price of so much of it.
PRICED = 0.02
#: Multipliers of the grid, as parts of the smaller group's share.
MULTIPLIERS = np.array([0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8])
#: Cases that give the tables.
TABLES = (
    *("adult sex, hidden", "bank default", "hmeq reason", "a9a sex", "kakadu"),
    *(
        "generated 3000, group 30%, positives 40%, unscaled: group",
        "skewed 4000, positives 60%: rest",
        "large",
    ),
)
#: Tables have at least so many rows for each one of a fit.
LEFT = 1.25
#: A split counts as worse beyond this.
WORSE = 2e-3


def thresholded(model, fit, texts, parts, crossed):
    """Decisions of other data sets by a classifier with the thresholds of least cost."""
    from sklearn.model_selection import cross_val_predict

    f = model.fit(fit.X, fit.y).decision_function(fit.X)
    if crossed:
        f = cross_val_predict(model, fit.X, fit.y, cv=5, method="decision_function")
    problem = compile_rates("error(labeled)", texts, fit, {})
    found = repaired(f, problem, None if parts is None else fit.members[parts].astype(int))
    of = found.thresholds

    def decide(test):
        rows, f = 0 if parts is None else test.members[parts].astype(int), model.decision_function
        return f(test.X), f(test.X) > of[rows]

    return decide


def reduced(model, fit, texts):
    """The same of the best of a grid: a yes costs more in a group, by a multiplier, or less."""
    problem = compile_rates("error(labeled)", texts, fit, {})
    change = problem.positive - problem.negative
    least = min(mask.mean() for mask in fit.members.values())
    fold = np.random.default_rng(0).permutation(len(fit.y)) % 3
    best = (np.inf, np.inf), None

    def learned(cost, rows):
        yes, weight = (cost < 0)[rows], np.abs(cost[rows]) * len(cost)
        return fitted_with(model, fit.X[rows], yes, weight)

    for multiplier in MULTIPLIERS * least:
        cost, f = change[0] + multiplier * change[1], np.zeros(len(fit.y))
        if len(np.unique(cost < 0)) < 2:
            continue
        for k in range(3):
            f[fold == k] = learned(cost, fold != k).decision_function(fit.X[fold == k])
        found = repaired(f, problem)
        key = np.maximum(found.excess, 0).sum(), found.cost
        if key < best[0]:
            best = key, (cost, found.thresholds[0])
    cost, threshold = best[1]
    f = learned(cost, slice(None)).decision_function
    return lambda test: (f(test.X), f(test.X) > threshold)


def fitted_with(model, X, y, weight):
    """A copy of a model, or of a pipeline that ends in it, fitted to weighted rows."""
    from sklearn.base import clone

    own = clone(model)
    told = f"{own.steps[-1][0]}__sample_weight" if hasattr(own, "steps") else "sample_weight"
    return own.fit(X, y, **{told: weight})


def priced(fit, test, texts):
    """What an excess of the promise costs on test rows, by one threshold for everybody."""
    f, g = (LogisticRegression(max_iter=2000).fit(fit.X, of) for of in (fit.y, fit.members["a"]))
    f, g = f.decision_function(test.X), g.decision_function(test.X)
    tilted = [f - tilt * g * np.std(f) / np.std(g) for tilt in np.linspace(-2, 2, 41)]

    def least(text):
        problem = compile_rates("error(labeled)", [text], test, {})
        told = [repaired(one, problem) for one in tilted]
        return min(one.cost for one in told if not len(one.missed))

    return (least(texts[0]) - least(f"{texts[0]} - {PRICED}")) / PRICED


def peers(fit, texts, parts, tilts):
    """Name of each rule that ours stands beside, and how it decides."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for kind, model in (
        ("logistic", LogisticRegression(max_iter=2000)),
        ("SVM", make_pipeline(StandardScaler(), LinearSVC(C=0.01, max_iter=5000))),
    ):
        if not tilts:
            yield kind, thresholded(model, fit, texts, parts, False)
        yield f"{kind}, crossed", thresholded(model, fit, texts, parts, True)
        if tilts:
            yield f"{kind}, reduced", reduced(model, fit, texts)


def on_new(name, X, y, group, asked, rows, splits, seed):
    """A line of a table and a promise; whether it is behind in the mean, and splits not worse."""
    from counterweight.models.constraints.chosen import ChosenClassifier
    from counterweight.numerics.rates.values import constraint_values
    from counterweight.tasks.own_studies import UNDER_PROMISES

    texts, repair = ON_NEW[asked]
    parts, told, used = "a" if repair == "by_group" else None, {}, 0.0
    tilts = parts is None and "(b)" in texts[0]
    X = X.toarray() if sparse.issparse(X) else X

    def sets(of):
        return DataSets(X[of], y[of], None, {"a": group[of], "b": ~group[of]})

    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(len(y))
        fit, test = sets(order[:rows]), sets(order[rows : rows + 20_000])
        begun = time.process_time()
        rule = ChosenClassifier(
            candidates=UNDER_PROMISES, constraints=texts, repair=repair, on_infeasible="keep"
        ).fit(samples=fit, rng=np.random.default_rng(split))
        used += time.process_time() - begun
        decided = {"chosen": (rule.decision_function(test.X), rule.answers(test.X, test)[1])}
        decided |= {who: decide(test) for who, decide in peers(fit, texts, parts, tilts)}
        price = priced(fit, test, texts) if tilts else None
        problem = compile_rates("error(labeled)", texts, test, {})
        own = None if parts is None else test.members[parts].astype(int)
        for who, (f, yes) in decided.items():
            excess = constraint_values(yes.astype(float), yes, test, texts, {})[:, 0, 2].max()
            if tilts:
                equal = np.mean(yes != test.y) + price * max(excess, 0.0)
            else:
                equal = repaired(f, problem, own).cost
            told.setdefault(who, []).append((np.mean(yes != test.y), excess, equal))
    told = {who: np.array(values) for who, values in told.items()}
    mean = {who: (*values.mean(axis=0), np.mean(values[:, 1] <= 0)) for who, values in told.items()}
    own = told.pop("chosen")
    raw, apart = ({who: own[:, k] - values[:, k] for who, values in told.items()} for k in (0, 2))
    words = "; ".join(
        f"{who} {error:.4f} ({over:+.3f}, {kept:.0%}) {equal:.4f}"
        for who, (error, over, equal, kept) in mean.items()
    )
    fine = np.max(list(apart.values()), axis=0) <= WORSE
    behind, as_is = (max(gap.mean() for gap in gaps.values()) for gaps in (apart, raw))
    print(
        f"{name}, {asked}, {rows} rows: {words}; beside the best {behind:+.4f} (as they decide "
        f"{as_is:+.4f}); {fine.sum()} of {splits} not worse; {used / splits:.1f} CPU s",
        flush=True,
    )
    return behind, int(fine.sum())


def judged_on_new(rows=1000, splits=8, wanted="", seed=7):
    """All tables with more rows, and promises; the number of means that are behind by .001."""
    found = []
    for table in (adult, bank, hmeq, a9a, kakadu, generated, skewed, large):
        case = next((one for one in table() if one[0].startswith(TABLES)), None)
        enough = case and len(case[2]) >= LEFT * rows
        for asked in ON_NEW if enough else ():
            if wanted in f"{case[0]}, {asked}":
                found.append(on_new(*case[:3], np.asarray(case[3]), asked, rows, splits, seed))
    fine = sum(one for _, one in found)
    print(f"{fine} of {splits * len(found)} splits not worse by more than {WORSE:g}")
    return sum(behind > MOST for behind, _ in found)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    if sys.argv[1:2] == ["new"]:
        warnings.simplefilter("ignore")
        sizes = [int(one) for one in sys.argv[2:4]]
        sys.exit(judged_on_new(*sizes, *sys.argv[4:5], *map(int, sys.argv[5:6])) > 0)
    wanted = sys.argv[1] if sys.argv[1:] else ""
    behind = 0
    for table in (generated, skewed, kakadu, hmeq, a9a, bank, adult):
        for case in table():
            if wanted in case[0]:
                behind += compared(*case)
    print(f"{behind} settings behind")
    sys.exit(behind > 0)
