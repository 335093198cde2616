"""Classifiers of plain features as models of a table with blanks."""

import numpy as np
from scipy.special import expit, logit

from counterweight.errors import CounterweightError
from counterweight.models.classifier import positive
from counterweight.models.scores.contributions import column_names
from counterweight.models.within import class_within, stored_within
from counterweight.plan.components import declared, load

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
    if declared("model", name, "KIND", "classification") == "blanks":
        return load("model", name)(**options)
    return ClassifierScore(name, options, target)


def stored_score(name, options, target, arrays):
    """The same, fitted, from its arrays."""
    if declared("model", name, "KIND", "classification") == "blanks":
        return load("model", name).from_arrays(arrays)
    return ClassifierScore(name, options, target).with_arrays(arrays)


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

        Other parameters as `counterweight.models.scores.linear.LinearScore.fit`.

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
