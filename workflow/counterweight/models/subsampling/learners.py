"""Learners of p(y = 1 | x) by name, and classifiers that learn by them from rows drawn by key.

Each has ``fit(X, y, weight, rng)``, ``score(X)`` in [0, 1], ``converged_`` and
``numbers()``, what can be stored of it as arrays. The caller has checked its input.
"""

import functools
import sys

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.boosted_trees import end_nodes, raw_predict, trees_to_arrays
from counterweight.numerics.checks import checked_labels, checked_rows, mean_one_weights
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.numerics.zero_rejection import key_order

LEARNER_NAMES = ["sgd", "logistic", "boosting", "tree"]
#: Option of the models that may learn by a tree.
LEAF = {
    "min_samples_leaf": Integer(2, "Least rows in a leaf; learner tree only.", minimum=1),
}  # fmt: skip
#: Passes of stochastic gradient descent over the rows.
PASSES = 10
#: A feature's spread is taken to be at least this, so that an indicator of few rows is
#: not blown up.
LEAST_SPREAD = 0.05
#: Chances are kept so far from 0 and 1 where log-odds of them are taken.
LEAST_CHANCE = 1e-9


def new_learner(name, min_samples_leaf=2):
    """A new learner; `min_samples_leaf` are least rows in a leaf of the tree."""
    return Tree(min_samples_leaf) if name == "tree" else LEARNERS[name]()


def stored_learner(name, arrays):
    """A learner from its `numbers`; it can predict."""
    if "members" in arrays:
        members = [
            {key[: -len(end)]: values for key, values in arrays.items() if key.endswith(end)}
            for end in (f".{k}" for k in range(int(np.ravel(arrays["members"])[0])))
        ]
        return Averaged([stored_learner(name, member) for member in members])
    if "constant" in arrays:
        model = ConstantModel(np.zeros(1), np.zeros(1))
        model.constant_ = float(np.ravel(arrays["constant"])[0])
        return model
    return new_learner(name).use(arrays)


def log_odds_of(chance):
    """Log-odds of chances, which are kept `LEAST_CHANCE` from 0 and 1."""
    from scipy.special import logit

    return logit(np.clip(chance, LEAST_CHANCE, 1.0 - LEAST_CHANCE))


class _Learner:
    """What is true of most learners."""

    converged_ = True
    #: Fitted numbers that say all of the learner.
    STORED = ()

    def margin(self, X):
        """A score on a scale of its own on which nothing ends, for calibration: log-odds here."""
        return log_odds_of(self.score(X))

    def out_of_range(self, X):
        """Share of the rows whose raw prediction is outside [0, 1]."""
        return 0.0

    def numbers(self):
        """What is stored of the fit, by name."""
        return {name: getattr(self, f"{name}_") for name in self.STORED}

    def use(self, arrays):
        """Take the numbers of a fit, as `numbers` gave them."""
        for name in self.STORED:
            values = np.asarray(arrays[name], dtype=float)
            setattr(self, f"{name}_", float(values.ravel()[0]) if name == "intercept" else values)
        return self


class StochasticGradient(_Learner):
    """Linear regression by stochastic gradient descent on the squared loss.

    A row of weight w moves the coefficients w times as far. The step is 1 / the largest squared
    norm of a row, so no row of weight 1 overshoots, and it falls as the fourth root of the number
    of rows seen. With weights of 1 / l much above 1 it does overshoot: that is the weakness of
    importance weights in online learning (Mineiro 2010, regression section). It is not hidden:
    predictions outside [0, 1] are counted in `out_of_range` before they are limited. Where the
    descent overflowed it has not converged, and the coefficients are those of the last pass that
    stayed finite.
    """

    STORED = ("coef", "intercept")

    def fit(self, X, y, weight, rng):
        from sklearn.linear_model import SGDRegressor

        center = X.mean(axis=0)
        scale = np.sqrt(X.var(axis=0) + LEAST_SPREAD**2 * (np.ptp(X, axis=0) ** 2))
        scale[scale == 0] = 1.0
        standard = (X - center) / scale
        model = SGDRegressor(
            loss="squared_error",
            penalty=None,
            learning_rate="invscaling",
            power_t=0.25,
            eta0=1.0 / (1.0 + (standard**2).sum(axis=1).max()),
            random_state=int(rng.integers(2**31)),
        )
        coef, intercept = np.zeros(X.shape[1]), 0.0
        self.converged_ = True
        for _ in range(PASSES):
            try:
                with np.errstate(all="ignore"):
                    model.partial_fit(standard, y, sample_weight=weight)
            except ValueError as error:
                if "overflow" not in str(error):
                    raise
                self.converged_ = False
                break
            coef, intercept = model.coef_.copy(), float(model.intercept_[0])
        self.coef_ = coef / scale
        self.intercept_ = float(intercept - self.coef_ @ center)
        return self

    def raw(self, X):
        """Predictions as they are, also outside [0, 1]."""
        with _one_thread():
            return X @ self.coef_ + self.intercept_

    def score(self, X):
        return np.clip(self.raw(X), 0.0, 1.0)

    def margin(self, X):
        return self.raw(X)

    def out_of_range(self, X):
        raw = self.raw(X)
        return float(((raw < 0) | (raw > 1)).mean())


class Logistic(_Learner):
    """Batch logistic regression (`counterweight.numerics.linear.fit_logistic`), on one thread.

    The products of several threads are added in another order.
    """

    STORED = ("coef", "intercept")

    def fit(self, X, y, weight, rng):
        with _one_thread():
            self.coef_, self.intercept_, _, self.converged_ = fit_logistic(X, y, weight)
        return self

    def score(self, X):
        with _one_thread():
            return logistic_probability(X, self.coef_, self.intercept_)


class Boosting(_Learner):
    """Histogram gradient boosting: 100 trees of 31 leaves, step 0.1, no early stopping.

    On one thread, since the sums of several threads are added in another order. Features
    are binned by their quantiles here, weights or not: weighted and unweighted fits then
    have the same bins, and scikit-learn is spared weighted quantiles, which take longer
    than the fit.
    """

    def fit(self, X, y, weight, rng):
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.cuts_ = [_cuts(column) for column in X.T]
        X = self._binned(X)
        with _one_thread():
            model = HistGradientBoostingClassifier(
                max_iter=100,
                learning_rate=0.1,
                max_leaf_nodes=31,
                early_stopping=False,
                random_state=int(rng.integers(2**31)),
            ).fit(X, y, sample_weight=weight)
        self.trees_ = trees_to_arrays(model)
        return self

    def score(self, X):
        from scipy.special import expit

        return expit(raw_predict(self.trees_, self._binned(X)))

    def numbers(self):
        """The trees, and the cuts of each feature, NaN beyond them."""
        cuts = np.full((len(self.cuts_), max(map(len, self.cuts_))), np.nan)
        for own, line in zip(self.cuts_, cuts, strict=True):
            line[: len(own)] = own
        return self.trees_ | {"cuts": cuts, "bins": np.array([len(own) for own in self.cuts_])}

    def use(self, arrays):
        counts = np.ravel(arrays["bins"]).astype(int)
        # Where no feature has a cut, nothing of them is kept.
        cuts = np.asarray(arrays.get("cuts", np.empty((len(counts), 0))), dtype=float)
        self.cuts_ = [line[:count] for line, count in zip(cuts, counts, strict=True)]
        self.trees_ = {name: values for name, values in arrays.items() if name[:5] == "tree_"}
        return self

    def _binned(self, X):
        codes = [
            np.searchsorted(cuts, column) for cuts, column in zip(self.cuts_, X.T, strict=True)
        ]
        return np.column_stack(codes).astype(float)


class Tree(_Learner):
    """An unpruned decision tree (entropy) with Laplace-smoothed leaves.

    A leaf of (weighted) n1 rows of class 1 and n0 of class 0 estimates
    (n1 + 1) / (n1 + n0 + 2), as Weiss & Provost (2003) used with unpruned C4.5. Where class
    1 was over-sampled by the factor o, their corrected estimate is
    (n1 + 1) / (n1 + o n0 + 2). Weights count as numbers of rows.
    """

    STORED = ("ones", "zeros", "feature", "threshold", "left", "right")

    def __init__(self, min_samples_leaf=2):
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X, y, weight, rng):
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=self.min_samples_leaf,
            random_state=int(rng.integers(2**31)),
        ).fit(X, y, sample_weight=weight)
        tree, classes = tree.tree_, tree.classes_
        mass = tree.weighted_n_node_samples
        ones = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
        self.ones_ = ones[:, 1] * mass if len(classes) == 2 else mass * classes[0]
        self.zeros_ = mass - self.ones_
        self.feature_, self.threshold_ = tree.feature, tree.threshold
        self.left_, self.right_ = tree.children_left, tree.children_right
        return self

    def use(self, arrays):
        super().use(arrays)
        for name in ("feature", "left", "right"):
            setattr(self, f"{name}_", getattr(self, f"{name}_").astype(int))
        return self

    def score(self, X, over_sampling=1.0):
        """Smoothed estimates, rows of class 0 counting `over_sampling` times."""
        leaf = (self.ones_ + 1.0) / (self.ones_ + over_sampling * self.zeros_ + 2.0)
        told = self.feature_, self.threshold_, self.left_, self.right_
        return leaf[end_nodes(np.asarray(X, dtype=np.float32), *told)]


class ConstantModel(_Learner):
    """What is left where the rows kept are of one class: their smoothed share of ones.

    (w1 + 1) / (w1 + w0 + 2), with the weights that make up for the rejected rows.
    """

    converged_ = False
    STORED = ("constant",)

    def __init__(self, y, weight):
        self.constant_ = float((weight @ y + 1.0) / (weight.sum() + 2.0))

    def score(self, X):
        return np.full(len(X), self.constant_)


class Averaged(_Learner):
    """Learners of one kind, each fitted to other rows; their predictions are averaged."""

    def __init__(self, members):
        self.members = members

    @property
    def converged_(self):
        """Whether all did."""
        return all(one.converged_ for one in self.members)

    def margin(self, X):
        return np.mean([one.margin(X) for one in self.members], axis=0)

    def score(self, X):
        return np.mean([one.score(X) for one in self.members], axis=0)

    def out_of_range(self, X):
        return float(np.mean([one.out_of_range(X) for one in self.members]))

    def numbers(self):
        """The numbers of all, each under its name and its member's place."""
        told = {"members": len(self.members)}
        for place, one in enumerate(self.members):
            told |= {f"{name}.{place}": values for name, values in one.numbers().items()}
        return told


LEARNERS = {"sgd": StochasticGradient, "logistic": Logistic, "boosting": Boosting}


def _cuts(column, bins=255):
    """Thresholds between bins of about equal count, at most one for each distinct value."""
    values = np.unique(column)
    if len(values) > bins:
        return np.unique(np.quantile(column, np.arange(1, bins) / bins))
    return (values[1:] + values[:-1]) / 2


@functools.lru_cache(1)
def _pools(modules):
    """Threads of the libraries that are loaded; to find them takes longer than a short fit.

    A library comes with a module, so they are found anew where there are more `modules`.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _one_thread():
    return _pools(len(sys.modules)).limit(limits=1)


class KeyedClassifier(BinaryClassifier):
    """A learner of `learners` on some of the rows, its estimates corrected for all of them.

    Fitted: ``learner_`` (or a `ConstantModel`, ``constant_``), ``converged_``,
    ``predictions_out_of_range_``.
    """

    #: The trainer passes row ids.
    KEYED = True

    def _by_key(self, X, y, sample_weight, keys):
        """Checked rows, labels, weights and keys, in the order of the keys."""
        X = checked_rows(X)
        y = checked_labels(y, len(X))
        weight, _ = mean_one_weights(sample_weight, len(X))
        keys = np.arange(len(X)) if keys is None else np.asarray(keys)
        order = key_order(keys, len(X))
        if y.min() == y.max():
            raise CounterweightError(
                f"All {len(y)} training rows are of one class, {y[0]}: a classifier needs both "
                "classes."
            )
        self.n_features_in_ = X.shape[1]
        return X[order], y[order], weight[order], keys[order]

    def _learned(self, X, y, weight, seed):
        """The learner, fitted; a constant where the rows are of one class."""
        if len(np.unique(y)) < 2:
            return ConstantModel(y, weight)
        # Learners are faster without weights, and the fit is the same.
        weight = None if (weight == 1).all() else weight
        learner = new_learner(self.learner, self.min_samples_leaf)
        return learner.fit(X, y, weight, np.random.default_rng(seed))

    def _use(self, learner, X):
        """Take a fitted learner, and note how it does on rows X."""
        self.learner_ = learner
        self.constant_ = isinstance(learner, ConstantModel)
        self.converged_ = bool(learner.converged_)
        self.predictions_out_of_range_ = learner.out_of_range(X)

    @classmethod
    def _stored(cls, arrays, options):
        """A model with the learner of `_arrays`, and the options that are places in lists."""
        told = {
            name: options[name]["enum"][int(np.ravel(arrays[name])[0])]
            for name in ("learner", "correction")
        }
        model = cls(**told)
        model.n_features_in_ = int(np.ravel(arrays["features"])[0])
        model.constant_ = "constant" in arrays
        model.learner_ = stored_learner(model.learner, arrays)
        return model

    def _arrays(self, **numbers):
        """Fitted numbers by name; one that is None is empty."""
        return (
            self.learner_.numbers()
            | {name: np.empty(0) if value is None else value for name, value in numbers.items()}
            | {
                "predictions_out_of_range": self.predictions_out_of_range_,
                "constant_model": float(self.constant_),
                "converged": float(self.converged_),
            }
        )
