"""Selection models: p(s = 1 | x). The one by mixtures stands in `mixture_selector`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from counterweight.fragments import Integer
from counterweight.numerics.boosted_trees import TREES, fit_trees
from counterweight.numerics.checks import two_class_rows
from counterweight.numerics.estimator import TwoClasses
from counterweight.numerics.linear import RIDGE, fit_logistic, logistic_probability

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

    def settled(self, X, y, rng):
        """Whether boosting is taken, by all rows: what all folds share."""
        X, y, _ = two_class_rows(X, y)
        asked = np.sort(rng.permutation(len(y))[:ASKED_ROWS]) if len(y) > ASKED_ROWS else ...
        X, y = X[asked], y[asked]
        tried = rng.random(len(y)) < TRIED
        if min(np.bincount(y[~tried], minlength=2).min(), tried.sum()) < 20:
            return False
        losses = []
        for model in _both(len(y)):
            p = model.fit(X[~tried], y[~tried]).predict_proba(X[tried])[:, 1]
            p = np.clip(p, 1e-6, 1 - 1e-6)
            losses.append(-np.where(y[tried] == 1, np.log(p), np.log1p(-p)))
        gain = losses[0] - losses[1]
        return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))

    def fit(self, X, y, *, rng=None, shared=None):
        """Fit on rows (n, d) and whether each is labeled (n,), 1 or 0; `shared` is of `settled`."""
        X, y, _ = two_class_rows(X, y)
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
