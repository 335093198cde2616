"""Models of an outcome on typed columns: linear, boosted trees, and classifiers of plain features.

Each has ``explained(rows) -> raw, base, parts``, which says how its raw score (log odds of a
class, or the expected number) comes about: ``base`` is its mean over the labeled rows, ``parts
(n, k)`` what each column of `column_names` adds to it, and ``base + parts.sum(axis=1)`` is the
raw score. Linear models give ``coef (x - mean)``, summed over the features that a column became;
boosted trees give the changes on the way from root to leaf (see
`counterweight.numerics.boosted_trees.raw_and_parts`).
"""

import numpy as np
from scipy.special import expit, logit

from counterweight.errors import CounterweightError
from counterweight.fragments import Number, Text
from counterweight.models.classifier import class_within, positive, stored_within
from counterweight.numerics.boosted_trees import (
    TREES,
    fit_trees,
    raw_and_parts,
    raw_predict,
    trees_to_arrays,
)
from counterweight.numerics.checks import checked_weights
from counterweight.numerics.linear import fit_logistic
from counterweight.plan.components import load, task_of

TASK_BY_NAME = {
    "linear": "missing_outcomes",
    "boosting": "missing_outcomes",
    "given_predictions": "prediction_logs",
}
OPTIONS_BY_NAME = {
    "linear": {
        "penalty": Number(1.0, "Penalty on the coefficients of standardised features, in all.", above=0),
    },
    "boosting": TREES,
    "given_predictions": {
        "column": Text(..., "Column of the log that holds the predictions."),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "linear": "Linear model",
    "boosting": "Gradient boosting",
    "given_predictions": "{column}",
}
#: How many columns are named beside a score, and what the columns of names are called.
NAMED = 3
MOVED = tuple(f"moved_{k + 1}" for k in range(NAMED))
#: Begins the names of the arrays of the classifier.
WITHIN = "model_"
#: Chances are kept this far from 0 and 1, so that their log odds are numbers.
EDGE = 1e-12


def score_model(name, options, target):
    """A model of outcomes with blanks by its name, not fitted; a classifier is made one.

    Parameters
    ----------
    name : str
        In the registry of models.
    options : dict
    target : {"general", "unlabeled"}
        Whom answers are for; only classifiers that know two populations ask.
    """
    if task_of("model", name) == "missing_outcomes":
        return load("model", name)(**options)
    return ClassifierScore(name, options, target)


def stored_score(name, options, target, arrays):
    """The same, fitted, from its arrays."""
    if task_of("model", name) == "missing_outcomes":
        return load("model", name).from_arrays(arrays)
    return ClassifierScore(name, options, target).with_arrays(arrays)


class LinearScore:
    """Logistic regression of a class, ridge regression of a number, weighted.

    Minimises the weighted loss of n rows plus ``penalty / 2 |coef|^2`` on standardised features
    (one column a level of a category): a normal prior of variance 1 / penalty, whatever n is.

    Parameters
    ----------
    penalty : float

    Attributes
    ----------
    coef_ : numpy.ndarray (d,)
        In units of 1/feature (of the outcome per feature, where that is a number).
    intercept_ : float
    centre_ : numpy.ndarray (d,)
        Means of the features over the rows of the fit.
    binary_, converged_ : bool
    """

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, rows, y, weight=None, *, binary, rng=None):
        """Fit.

        Parameters
        ----------
        rows : counterweight.labeling.encoding.Encoded
            n rows.
        y : array (n,)
            0 and 1 where `binary`, else numbers.
        weight : array (n,), optional
        binary : bool
        rng
            Not needed: the optimum is unique.

        Raises
        ------
        CounterweightError
            When rows, outcomes or weights cannot be used.
        """
        X = rows.dense()
        self.binary_, self.converged_ = bool(binary), True
        self.centre_ = X.mean(axis=0)
        if binary:
            self.coef_, self.intercept_, _, self.converged_ = fit_logistic(
                X, y, weight, self.penalty / len(X)
            )
        else:
            self.coef_, self.intercept_ = _ridge(X, y, weight, self.penalty)
        return self

    def predict(self, rows):
        """Chance of 1, or the expected number, (n,)."""
        return self.answers(rows.dense() @ self.coef_ + self.intercept_)

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        return expit(raw) if self.binary_ else raw

    def explained(self, rows):
        """Raw score, its mean, contributions; see the module."""
        X = rows.dense()
        base = float(self.intercept_ + self.centre_ @ self.coef_)
        raw = X @ self.coef_ + self.intercept_
        return raw, base, linear_parts(rows, X, self.coef_, self.centre_)

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "centre": self.centre_,
            "intercept": self.intercept_,
            "binary": float(self.binary_),
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.coef_ = np.asarray(arrays["coef"], dtype=float)
        model.centre_ = np.asarray(arrays["centre"], dtype=float)
        model.intercept_ = float(arrays["intercept"])
        model.binary_ = bool(arrays["binary"])
        model.converged_ = bool(arrays["converged"])
        return model


def _ridge(X, y, weight, penalty):
    """Coefficients and intercept of weighted ridge regression on standardised features."""
    weight = checked_weights(weight, len(X))
    if not np.isfinite(y).all():
        raise CounterweightError("Outcomes must be finite numbers in the rows of a fit.")
    weight = weight / weight.mean()
    share = weight / weight.sum()
    centre, middle = share @ X, share @ y
    scale = np.sqrt(share @ (X - centre) ** 2)
    scale[scale == 0] = 1.0
    standard = (X - centre) / scale
    gram = (standard * weight[:, None]).T @ standard + penalty * np.eye(X.shape[1])
    coef = np.linalg.solve(gram, standard.T @ (weight * (y - middle))) / scale
    return coef, float(middle - coef @ centre)


class BoostedScore:
    """Histogram gradient boosting (scikit-learn) of a class or a number, weighted.

    Missing numbers go to the side that fits better; levels of a category are split by sets.

    Parameters
    ----------
    max_iter, max_leaf_nodes, min_samples_leaf : int
    learning_rate : float

    Attributes
    ----------
    arrays_ : dict of str to array
        The trees as numbers; see `counterweight.numerics.boosted_trees`.
    binary_ : bool
    """

    converged_ = True

    def __init__(self, max_iter=100, learning_rate=0.1, max_leaf_nodes=15, min_samples_leaf=20):
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf

    def fit(self, rows, y, weight=None, *, binary, rng=None):
        """Fit; parameters as `LinearScore.fit`."""
        model = fit_trees(
            rows.typed(), y, weight, options=vars(self), binary=binary, categorical=rows.is_category
        )
        self.binary_, self.arrays_ = bool(binary), trees_to_arrays(model)
        return self

    def predict(self, rows):
        """Chance of 1, or the expected number, (n,)."""
        return self.answers(raw_predict(self.arrays_, rows.typed()))

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        return expit(raw) if self.binary_ else raw

    def explained(self, rows):
        """Raw score, its mean, contributions; see the module."""
        return raw_and_parts(self.arrays_, rows.typed())

    def to_arrays(self):
        """Fitted numbers by name."""
        return dict(self.arrays_) | {"binary": float(self.binary_)}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.binary_ = bool(arrays["binary"])
        model.arrays_ = {
            name: np.asarray(values) for name, values in arrays.items() if name != "binary"
        }
        return model


class ClassifierScore:
    """A classifier of the registry on the columns for linear models: one a level of a category.

    Parameters
    ----------
    name, options, target
        See `score_model`.

    Attributes
    ----------
    model_
        The classifier.
    centre_ : numpy.ndarray (d,)
        Means of the features over the rows of the fit.
    converged_ : bool
    """

    #: It is given the rows without outcome.
    UNLABELED = True
    binary_ = True

    def __init__(self, name, options, target):
        self.name = name
        self.options = options
        self.target = target

    def fit(self, rows, y, weight=None, *, binary, rng=None, unlabeled):
        """Fit; `unlabeled` are the encoded rows without outcome, for classifiers that ask.

        Other parameters as `LinearScore.fit`.

        Raises
        ------
        CounterweightError
            When the outcome is a number, the model asks for more than rows, or it tells rows with
            and without outcome apart and the target is both.
        """
        if not binary:
            raise CounterweightError(
                f"The model {self.name} is for outcomes of two classes, and this outcome is a "
                "number: choose linear or boosting."
            )
        component = class_within(
            self.name, "used for a table with blanks", refused=("SAMPLED", "KEYED")
        )
        if getattr(component, "MOVES", False) and self.target != "unlabeled":
            raise CounterweightError(
                f"The model {self.name} answers otherwise for rows with an outcome than for rows "
                "without: set target: unlabeled, or choose another model."
            )
        told, X = {}, rows.dense()
        if getattr(component, "UNLABELED", False):
            told["X_unlabeled"] = unlabeled.dense()
        if getattr(component, "NAMED", False):
            told["names"] = rows.dense_names
        self.model_ = component(**self.options).fit(X, y.astype(int), weight, rng=rng, **told)
        self.centre_ = X.mean(axis=0)
        self.converged_ = bool(np.min(getattr(self.model_, "converged_", 1.0)))
        return self

    def _raw(self, X, target=None):
        """Log odds (n,)."""
        p = positive(self.model_, X, target or self.target)
        return logit(np.clip(p, EDGE, 1 - EDGE))

    def predict(self, rows):
        """Chance of 1, (n,)."""
        return self.answers(self._raw(rows.dense()))

    def predict_labeled(self, rows):
        """Chance of 1 of rows with an outcome, (n,), which models are tried on.

        It differs from `predict` for models that assume that p(y | x) does.
        """
        moves = getattr(self.model_, "MOVES", False)
        return self.answers(self._raw(rows.dense(), "labeled" if moves else None))

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        return expit(raw)

    def explained(self, rows):
        """Raw score, that of the means of all columns, and contributions (n, k).

        Columns are set from their means to a row's values, one after the other; what each step
        changes is put down to its column. Of two columns that matter only together, the first
        one in order would get nothing: steps are taken in both orders, and averaged. They add
        up, and of a linear score each order gives ``coef (x - mean)``.
        """
        X, features = rows.dense(), rows.encoder.features_
        names = column_names(rows.encoder)
        place = np.array([names.index(feature.column) for feature in features])
        base, raw = float(self._raw(self.centre_[None])[0]), self._raw(X)
        parts = np.zeros((len(X), len(names)))
        for order in (range(len(names)), range(len(names) - 1, -1, -1)):
            moved, before = np.tile(self.centre_, (len(X), 1)), base
            for column in order:
                own = np.flatnonzero(place == column)
                if len(own):
                    moved[:, own] = X[:, own]
                    after = self._raw(moved)
                    parts[:, column] += (after - before) / 2
                    before = after
        return raw, base, parts

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {f"{WITHIN}{name}": values for name, values in self.model_.to_arrays().items()}
        return own | {"centre": self.centre_, "converged": float(self.converged_)}

    def with_arrays(self, arrays):
        """Fitted from what `to_arrays` gave."""
        own = {
            name.removeprefix(WITHIN): values
            for name, values in arrays.items()
            if name.startswith(WITHIN)
        }
        self.model_ = stored_within(self.name, self.options, own)
        self.centre_ = np.asarray(arrays["centre"], dtype=float)
        self.converged_ = bool(arrays["converged"])
        return self


class GivenPredictions:
    """Predictions by a column of the log; nothing is learned.

    Parameters
    ----------
    column : str
    """

    def __init__(self, column):
        self.column = column


def column_names(encoder):
    """Columns of the table that contributions are of: numbers, then categories."""
    return list(encoder.names)


def linear_parts(rows, X, coef, centre):
    """Contributions of columns to a linear score, (n, k).

    Parameters
    ----------
    rows : counterweight.labeling.encoding.Encoded
    X : array (n, d)
        ``rows.dense()``.
    coef, centre : array (d,)
        Coefficients, and means over the labeled rows.
    """
    names = column_names(rows.encoder)
    place = [names.index(feature.column) for feature in rows.encoder.features_]
    spread = np.zeros((len(coef), len(names)))
    spread[np.arange(len(coef)), place] = coef
    return X @ spread - centre @ spread


def digits_for(values):
    """Digits behind the point for contributions to a number: a hundredth of its spread shows."""
    spread = float(np.std(values))
    return int(np.clip(2 - np.floor(np.log10(spread)), 0, 12)) if spread > 0 else 2


def most_moved(parts, names, digits=2):
    """The columns that contribute most, in words such as ``late payments +0.83``.

    Parameters
    ----------
    parts : array (n, k)
    names : sequence of str
        Of the k columns.
    digits : int
        Behind the point; what rounds to 0 is not named.

    Returns
    -------
    dict of str to array of str (n,)
        `MOVED`, the largest in absolute size first; "" where fewer columns contribute. Of equals
        the first column comes first.
    """
    import pandas as pd

    # Rounded beforehand, so that a last bit decides neither order nor figures.
    ticks = np.rint(np.round(parts * 10.0**digits, 5)).T
    sizes = np.abs(ticks)
    made, every = {}, np.arange(ticks.shape[1])
    for title in MOVED[: len(names)]:
        which = sizes.argmax(axis=0)
        tick = np.where(sizes[which, every] > 0, ticks[which, every], 0.0)
        sizes[which, every] = -1.0
        code, known = pd.factorize(tick * len(names) + np.where(tick == 0, 0, which))
        column = np.mod(known, len(names)).astype(int)
        value = (known - column) / len(names) / 10.0**digits
        words = [
            f"{names[at]} {size:+.{digits}f}" if size else ""
            for at, size in zip(column.tolist(), value.tolist(), strict=True)
        ]
        made[title] = np.array(words, object)[code]
    return made | {title: np.full(len(every), "", object) for title in MOVED[len(names) :]}
