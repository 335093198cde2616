"""Selection models: p(s = 1 | x), their calibration out of fold, what they write of a study.

The one by mixtures stands in `mixture_selector`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer
from counterweight.numerics.boosted_trees import TREES, fit_trees
from counterweight.numerics.checks import (
    check_same_columns,
    checked_labels,
    checked_rows,
    features_named,
    labels_of,
    two_class_rows,
)
from counterweight.numerics.estimator import TwoClasses
from counterweight.numerics.linear import (
    RIDGE,
    fit_logistic,
    folds,
    logistic_probability,
    row_blocks,
)
from counterweight.numerics.ranking import auc_estimate
from counterweight.plan.components import load
from counterweight.tables import parquet
from counterweight.tables.jobs import over_repeats
from counterweight.tables.study_data import generator, taken

#: Reads the truth, so everything that builds on it is marked as an oracle.
ORACLE_BY_NAME = {"known": True}
OPTIONS_BY_NAME = {
    "logistic": RIDGE,
    "gradient_boosting": {
        **TREES,
        "max_leaf_nodes": Integer(31, "Largest number of leaves.", minimum=2),
    },
    "better_of_two": {},
    "known": {},
}  # fmt: skip
LABEL_BY_NAME = {
    "logistic": "logistic regression",
    "gradient_boosting": "gradient boosting",
    "better_of_two": "logistic regression or boosting",
    "known": "known",
}
#: How scores of fits become probabilities.
CALIBRATIONS = ("isotonic", "isotonic_only", "none")


class Selector(TwoClasses, ClassifierMixin, BaseEstimator):
    """A classifier of who is labeled (s = 1); its probabilities are not calibrated."""


@dataclass(eq=False, repr=False)
class LogisticSelector(Selector):
    """p(s = 1 | x) by logistic regression.

    Parameters
    ----------
    l2 : float or None
        Penalty on the coefficients of standardised features, for each row; None: that with the
        least log loss of rows left out, in each fold again.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (d,)
        In units of 1/feature.
    intercept_ : float
    converged_ : bool
    """

    l2: float = 1e-6

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        shared: object = None,
    ) -> Self:
        """Fit on rows (n, d) and whether each is labeled (n,), 1 or 0; nothing is drawn."""
        self.coef_, self.intercept_, self.n_iter_, self.converged_ = fit_logistic(X, y, l2=self.l2)
        return self

    def _positive(self, X):
        return logistic_probability(X, self.coef_, self.intercept_)


@dataclass(eq=False, repr=False)
class GradientBoostingSelector(Selector):
    """p(s = 1 | x) by histogram gradient boosting (scikit-learn).

    Parameters
    ----------
    max_iter : int
    learning_rate : float
    max_leaf_nodes, min_samples_leaf : int
    """

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rng: np.random.Generator | None = None,
        shared: object = None,
    ) -> Self:
        """Fit on rows (n, d) and whether each is labeled (n,), 1 or 0; nothing is drawn."""
        X, y, _ = two_class_rows(X, y)
        self.model_, self.converged_ = fit_trees(X, y, options=self.get_params()), True
        self.n_iter_ = self.model_.n_iter_
        return self

    def _positive(self, X):
        return self.model_.predict_proba(X)[:, 1]


#: Share of the rows that the two are tried on, and how many rows are asked at most.
TRIED, ASKED_ROWS = 0.3, 100_000
#: Most rows of a fit that stands for more.
FITTED_ROWS = 200_000


def _both(rows):
    """Logistic regression, with a penalty that is that of one row, and boosting."""
    return LogisticSelector(l2=1.0 / rows), GradientBoostingSelector()


def _drawn(y, most, rng):
    """At most so many rows, in order, both classes alike as far as they reach; their keep rates.

    A class of fewer rows is kept whole. The odds of 1 among the rows drawn are those of all rows,
    times the rate of 1 over the rate of 0.
    """
    if len(y) <= most:
        return np.arange(len(y)), np.ones(2)
    count = np.bincount(y, minlength=2)
    kept = np.minimum(count, np.maximum(most // 2, most - count[::-1]))
    rows = [rng.permutation(np.flatnonzero(y == k))[: kept[k]] for k in (0, 1)]
    return np.sort(np.concatenate(rows)), kept / count


def _as_they_are(X, y):
    """Rows and labels that are checked; of rows made on demand those that are looked at are."""
    if hasattr(X, "encoded"):
        return X, checked_labels(y, len(X))
    return two_class_rows(X, y)[:2]


class BetterOfTwoSelector(Selector):
    """p(s = 1 | x) by logistic regression, unless boosting has a clearly smaller log loss.

    Both are fitted on seven rows in ten and tried on the rest, of at most `ASKED_ROWS` that are
    drawn. Boosting is taken where its log loss is smaller by more than a standard error of the
    paired difference: on small tables the simpler model has the steadier weights. Of more than
    `FITTED_ROWS` either learns from so many, drawn alike from both classes as far as they
    reach, and its odds are put right by the rates of the draw (Fithian & Hastie 2014).

    Attributes
    ----------
    model_ : LogisticSelector or GradientBoostingSelector
        Fitted on all rows, or on those drawn.
    odds_ : float
        Factor of the odds of `model_`: 1, or the rate at which unlabeled rows were drawn over that
        of labeled ones.
    """

    def settled(self, X, y, rng, group=None):
        """Whether boosting is taken, by all rows: what all folds share.

        Rows of a `group` (n,) are all learned from or all tried, and the error is that of groups.
        """
        X, y = _as_they_are(X, y)
        asked = np.sort(rng.permutation(len(y))[:ASKED_ROWS]) if len(y) > ASKED_ROWS else ...
        X, y = X[asked], y[asked]
        own = None if group is None else np.unique(group[asked], return_inverse=True)[1]
        tried = rng.random(len(y)) < TRIED
        tried = tried if own is None else tried[: own.max() + 1][own]
        if min(np.bincount(y[~tried], minlength=2).min(), tried.sum()) < 20:
            return False
        losses = []
        for model in _both(len(y)):
            p = model.fit(X[~tried], y[~tried]).predict_proba(X[tried])[:, 1]
            p = np.clip(p, 1e-6, 1 - 1e-6)
            losses.append(-np.where(y[tried] == 1, np.log(p), np.log1p(-p)))
        gain = losses[0] - losses[1]
        if own is not None:
            gain = np.bincount(own[tried], gain)[np.unique(own[tried])]
        return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))

    def fit(self, X, y, *, rng=None, shared=None):
        """Fit on rows (n, d) and whether each is labeled (n,), 1 or 0; `shared` is of `settled`."""
        X, y = _as_they_are(X, y)
        boosting = self.settled(X, y, rng) if shared is None else shared
        rows, rate = _drawn(y, FITTED_ROWS, rng)
        self.model_, self.odds_ = _both(len(rows))[int(boosting)], float(rate[0] / rate[1])
        self.model_.fit(X[rows], y[rows])
        self.converged_ = self.model_.converged_
        return self

    def _positive(self, X):
        p = self.model_.predict_proba(X)[:, 1]
        if self.odds_ == 1:
            return p
        return p * self.odds_ / (p * self.odds_ + (1 - p))


class KnownSelector:
    """p(s = 1 | x) as the generator of the data knows it; nothing is fitted."""


# Calibrated probabilities, out of fold.


def selection_probabilities(
    selector: object,
    X: ArrayLike,
    s: ArrayLike,
    X_new: ArrayLike,
    rng: np.random.Generator,
    calibration: str = "isotonic",
    n_folds: int = 5,
    group: ArrayLike | None = None,
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """p(s = 1 | x) on the training rows (cross-fitted) and on new rows.

    Training rows get the score of a model that has not seen them. Isotonic regression
    of s on those scores maps them to probabilities; the same map is applied to the
    scores of the model fitted on all rows, for new rows.

    The isotonic map is a staircase, and its steps add noise where the scores were
    probabilities already: with a well-specified model, weights from the plain map
    correlate with the true ratio at about 0.97, from the scores at 0.999. So
    ``"isotonic"`` mixes map and score, with the least share of the map whose
    cross-validated log loss is within a standard error of the best: near 1 where the
    scores are off, near 0 where they are right.

    Parameters
    ----------
    selector : object
        With ``fit(X, s, rng=, shared=)`` and ``predict_proba(X)`` (n, 2), or ``predict(X)`` of
        probabilities (n,); and maybe ``prepare(X, rng)``, what all folds share, or where it goes by
        who is labeled, too, ``settled(X, s, rng)``.
    X : array, shape (n, d)
    s : array of 0/1, shape (n,)
    X_new : array, shape (m, d)
    rng : numpy.random.Generator
    calibration : {"isotonic", "isotonic_only", "none"}
        ``"isotonic_only"`` is the plain map of the cited work.
    n_folds : int
    group : array, shape (n,), optional
        Rows of a group may depend on each other: no model that scores one has seen another.

    Returns
    -------
    p, p_new : numpy.ndarray, shape (n,) and (m,)
    isotonic_share : float
        Share of the isotonic map in the probabilities, from 0 to 1.
    converged : bool
        Whether every fit behind them converged.

    References
    ----------
    Zadrozny & Elkan (2002) for the calibration; Smith & Elkan (2007), section 3.
    """
    if calibration not in CALIBRATIONS:
        raise CounterweightError(
            f"calibration is {calibration!r}; choose one of {', '.join(CALIBRATIONS)}."
        )
    if n_folds != int(n_folds) or n_folds < 2:
        raise CounterweightError(f"n_folds is {n_folds}; cross-fitting needs 2 folds or more.")
    check_same_columns(labels_of(X), labels_of(X_new), "X_new", warn=False)
    if not hasattr(X, "encoded"):
        X, X_new = checked_rows(X), checked_rows(X_new, empty=True)
    s = checked_labels(s, len(X), "labeled or not (s)")
    smallest = int(np.bincount(s, minlength=2).min())
    if smallest < n_folds:
        raise CounterweightError(
            f"Only {smallest} rows are {'labeled' if s.sum() == smallest else 'unlabeled'}, too "
            f"few for {n_folds} folds of the selection model: loosen the labeling rule or use "
            "fewer folds."
        )
    shared = None
    if hasattr(selector, "prepare"):
        shared = selector.prepare(X, rng)
    elif hasattr(selector, "settled"):
        shared = selector.settled(X, s, rng, *([] if group is None else [group]))
    fold = folds(s, n_folds, rng, group)
    score = np.empty(len(s))
    converged = True
    for k in range(n_folds):
        held = fold == k
        fitted = selector.fit(taken(X, ~held), s[~held], rng=rng, shared=shared)
        score[held] = _probability(fitted, taken(X, held))
        converged &= fitted.converged_
    new = np.empty(0)
    if len(X_new):
        fitted = selector.fit(X, s, rng=rng, shared=shared)
        converged &= fitted.converged_
        new = _probability(fitted, X_new)
    if calibration == "none":
        return score, new, 0.0, converged
    isotonic = _isotonic(score, s)
    share = 1.0
    if calibration == "isotonic":
        share = _isotonic_share(score, s, folds(s, n_folds, rng, group))
    p = (1 - share) * score + share * isotonic.predict(score)
    p_new = (1 - share) * new + share * isotonic.predict(new) if len(new) else new
    return p, p_new, share, converged


def _probability(selector, X):
    """p(s = 1 | x) (n,), not calibrated."""
    if hasattr(selector, "predict_proba"):
        parts = [selector.predict_proba(X[part])[:, 1] for part in row_blocks(len(X))]
    else:
        parts = [selector.predict(X[part]) for part in row_blocks(len(X))]
    return np.concatenate(parts)


def _isotonic(score, s):
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(score, s)


def _isotonic_share(score, s, fold):
    """Least share of the isotonic map whose cross-validated log loss is as good as any.

    As good: within one standard error, over the rows, of the best share's.
    """
    mapped = np.empty(len(s))
    for k in range(fold.max() + 1):
        held = fold == k
        mapped[held] = _isotonic(score[~held], s[~held]).predict(score[held])
    shares = np.linspace(0, 1, 21)

    def loss(share):
        p = np.clip((1 - share) * score + share * mapped, 1e-6, 1 - 1e-6)
        return -np.log(np.where(s == 1, p, 1 - p))

    best = loss(shares[np.argmin([loss(share).mean() for share in shares])])
    for share in shares:
        excess = loss(share) - best
        if excess.mean() <= excess.std() / np.sqrt(len(s)):
            return float(share)
    return 1.0


def describe_selection(p, s, weight=None):
    """How well p predicts s, and where the two groups overlap, as metric records.

    `p` (n,) are probabilities of rows that the model has not seen, `s` is 0 or 1, and `weight` how
    many rows each stands for, where rows were rejected: 1 / keep rate. AUC of s; predicted and
    observed share in ten bins of equal count; histogram of p by s in twenty bins of equal width;
    share of rows with p below 0.01.
    """
    p, s = np.asarray(p, dtype=float), np.asarray(s, dtype=float)
    ranked = auc_estimate(s, p, weight)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)

    def record(metric, value, rows, part=None, **error):
        place = {"metric": metric} | ({} if part is None else {"part": str(part)})
        return place | {"value": value} | error | {"rows": rows}

    extreme = float(np.average(p < 0.01, weights=weight))
    records = [
        record("auc", ranked.value, len(p), standard_error=ranked.standard_error),
        record("share_extreme", extreme, len(p)),
    ]
    order = np.argsort(p, kind="stable")
    for k, part in enumerate(np.array_split(order, 10)):
        if len(part) == 0:
            continue
        own = weight[part]
        observed = np.average(s[part], weights=own)
        error = np.sqrt(((own * (s[part] - observed)) ** 2).sum()) / own.sum()
        predicted = np.average(p[part], weights=own)
        records += [
            record("calibration_predicted", predicted, len(part), k),
            record("calibration_observed", observed, len(part), k, standard_error=error),
        ]
    for group, name in ((s == 1, "overlap_labeled"), (s == 0, "overlap_unlabeled")):
        counts = np.histogram(p[group], bins=20, range=(0, 1), weights=weight[group])[0]
        counts = counts / max(weight[group].sum(), 1.0)
        records += [record(name, share, int(group.sum()), k) for k, share in enumerate(counts)]
    return records


def _groups(labels, rows):
    """Groups of rows that may depend on each other; None without."""
    group = labels["group"][rows] if "group" in labels else np.array([-1])
    return group if (group >= 0).all() else None


def selected(job, data, least=0):
    """Write the chances to be labeled of a job of the stage select, by repeat.

    Fitted to the training rows and told of the test rows; where there are none, of all. With fewer
    unlabeled rows than `least` all have the same chance.
    """
    given, spec = job.given, job.given["selector"]

    def one(repeat):
        labels = data.labels[repeat]
        test = data.role(repeat, "test")
        shown = test if test.any() else ~test
        p, fit, records = np.full(len(test), labels["selected"].mean()), {"converged": 1.0}, []
        hidden = int((labels["selected"] == 0).sum())
        if hidden < least:
            job.log.info(
                "%d rows without an outcome are too few to tell how they differ: nothing is "
                "weighted",
                hidden,
            )
        else:
            if spec["oracle"]:
                p[:] = data.truth[repeat]["p_selected"]
                fit |= {"isotonic_share": 0.0}
            else:
                where = data.positions(repeat, ~test)
                ordered = data.in_order(where)
                X = data.taken(where[ordered])
                found, of_test, share, converged = selection_probabilities(
                    load("selector", spec["selector"])(**spec["options"]),
                    X,
                    labels["selected"][~test][ordered],
                    data.taken(data.positions(repeat, test)),
                    generator(given["seed"], given["stream"], repeat, "selection"),
                    calibration=spec["calibration"],
                    n_folds=spec["folds"],
                    group=_groups(labels, np.flatnonzero(~test)[ordered]),
                )
                p[np.flatnonzero(~test)[ordered]] = found
                p[test] = of_test
                fit = {"converged": float(converged), "isotonic_share": share}
            weight = 1.0 / labels["keep_rate"][shown]
            records = describe_selection(p[shown], labels["selected"][shown], weight)
            job.log.info("repeat %d: AUC of s %.3f", repeat, records[0]["value"])
            records += [{"metric": metric, "value": value} for metric, value in fit.items()]
        table = {name: labels[name] for name in ("repeat", "row", "role")} | {"p": p}
        model = parquet.model_table(fit, repeat, "")
        return table, model, [record | {"repeat": repeat} for record in records]

    with features_named(data.names):
        made = over_repeats(one, data.labels, job.threads)
    columns, models, records = zip(*made, strict=True)
    parquet.write_table(job.output.table, parquet.joined(columns))
    parquet.write_table(job.output.model, parquet.stacked(models), parquet.MODEL)
    return [record for part in records for record in part]
