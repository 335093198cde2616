"""Costing: any classifier honours weights, by rejection sampling and averaging."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.fragments import Integer, Option
from counterweight.models.classifier import BinaryClassifier, class_within, stored_within
from counterweight.numerics.checks import check_options, checked_new_rows, two_class_rows

#: Default of the option that is a mapping.
CLASSIFIER = {"model": "logistic"}
OPTIONS = {
    "classifier": Option({"model": "logistic"},
        "Classifier of the accepted rows: model, and its options.", type="object", **{"x-component-with-options": ["model", "model"]}),
    "models": Integer(100, "Samples that are drawn, each with a classifier of its own.", minimum=1),
    "draw": Integer(0, "Number of the set of samples: another number, another set.", minimum=0),
}  # fmt: skip
LABEL = "Costing, {classifier}"
VALUE_LABELS = {
    "classifier": {
        "logistic": "logistic regression",
        "generative": "class mixtures",
        "gradient_boosting": "boosting",
    }
}


class CostingClassifier(BinaryClassifier):
    """The average of classifiers, each fitted without weights to rows accepted by their weight.

    A row of weight w is accepted with chance w / max w, each time anew. The accepted rows are a
    sample of the weighted population, in which rows count alike: over the draws, their loss is
    the weighted loss of all rows, divided by max w. So a classifier that knows nothing of weights
    learns for the target, and no row is seen twice, as it is when rows are drawn with
    replacement. It assumes what the weights assume; one very large weight leaves few rows
    (sum w / max w) in each sample, and then each classifier knows little: cap the weights, or
    average more. A sample in which one class is left says that class.

    Parameters
    ----------
    classifier : dict, optional
        ``model``, a name of the registry, with its options; logistic regression if None.
    models : int
    draw : int
        Does nothing here: the caller seeds `rng` by it.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    models_ : list
        Fitted classifiers, of samples with both classes.
    constant_ : numpy.ndarray
        The class of each other sample.
    rows_trained_ : float
        Mean number of accepted rows.
    converged_ : bool

    References
    ----------
    Zadrozny, Langford & Abe (2003), "Cost-sensitive learning by cost-proportionate example
    weighting", section 3: 10 to 200 samples there.
    """

    def __init__(
        self, classifier: object = None, models: int = 100, draw: int = 0, random_state: int = 0
    ) -> None:
        self.classifier = classifier
        self.models = models
        self.draw = draw
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Draw the samples and fit a classifier to each.

        Without weights, or with equal ones, every sample is all rows: one is drawn.

        Raises
        ------
        CounterweightError
            For rows, labels or weights that cannot be used, one class only, or a classifier that
            cannot be used here.
        """
        check_options(vars(self), {name: OPTIONS[name] for name in ("models", "draw")})
        name, options = self._within()
        component = class_within(name, "used in costing")
        X, y, weights = two_class_rows(X, y, sample_weight, "Costing")
        chance = acceptance(weights)
        self.models_, constant, rows = [], [], []
        for _ in range(1 if (chance == 1).all() else self.models):
            seen = rng.random(len(y)) < chance
            rows.append(seen.sum())
            ones = y[seen].mean()
            if ones in (0, 1):
                constant.append(ones)
            else:
                self.models_.append(component(**options).fit(X[seen], y[seen], rng=rng))
        self.constant_, self.rows_trained_ = np.array(constant, float), float(np.mean(rows))
        fits = [np.min(getattr(model, "converged_", 1.0)) for model in self.models_]
        self.converged_ = bool(np.min(fits, initial=1.0))
        self.features_ = X.shape[1]
        return self

    def _positive(self, X):
        X = checked_new_rows(X, self.features_)
        total, models = np.full(len(X), self.constant_.sum()), self._fitted()
        for model in models:
            total += model.predict_proba(X)[:, 1]
        return total / (len(models) + len(self.constant_))

    def _fitted(self):
        """The classifiers, brought back from numbers when they are first needed."""
        if not hasattr(self, "models_"):
            name, options = self._within()
            self.models_ = [stored_within(name, options, own) for own in unpacked(self._packed)]
        return self.models_

    def _within(self):
        """Name and options of the classifier."""
        options = dict(CLASSIFIER if self.classifier is None else self.classifier)
        return options.pop("model", None), options

    def to_arrays(self):
        """Fitted numbers by name."""
        return packed([model.to_arrays() for model in self._fitted()]) | {
            "constant": self.constant_,
            "features": float(self.features_),
            "rows_trained": self.rows_trained_,
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """What predicts, from `to_arrays`, once the option `classifier` is as it was."""
        model = cls()
        model._packed = dict(arrays)
        model.constant_ = np.ravel(arrays.get("constant", ())).astype(float)
        model.features_ = int(arrays["features"])
        model.rows_trained_ = float(arrays["rows_trained"])
        model.converged_ = bool(arrays["converged"])
        return model


def acceptance(weights):
    """Chance of each row to be accepted, (n,), from weights from 0 up: the largest has 1."""
    return weights / weights.max()


#: Begins the names of arrays of several models on end, and of how long each part is.
PART, LONG = "part_", "long_"


def packed(models):
    """Arrays of several models of one class as arrays: each name's on end, and their lengths.

    `models` list of dict of str to array: with the same names. Returns dict of str to array: for
    `unpacked`. A length of -1 is that of a single number.
    """
    arrays = {}
    for name in models[0] if models else ():
        parts = [np.asarray(model[name], dtype=float) for model in models]
        arrays[f"{PART}{name}"] = np.concatenate([np.atleast_1d(part) for part in parts])
        arrays[f"{LONG}{name}"] = np.array([len(part) if part.ndim else -1 for part in parts])
    return arrays


def unpacked(arrays):
    """The arrays of each model, from `packed`; other names are passed over."""
    count = max(
        (len(np.ravel(arrays[name])) for name in arrays if name.startswith(LONG)), default=0
    )
    models = [{} for _ in range(count)]
    for name in arrays:
        if not name.startswith(LONG):
            continue
        own, lengths = name.removeprefix(LONG), np.ravel(arrays[name]).astype(int)
        whole = np.asarray(arrays.get(f"{PART}{own}", np.empty(0)), dtype=float)
        ends = np.cumsum(np.abs(lengths))
        for model, end, length in zip(models, ends, lengths, strict=True):
            model[own] = whole[end - length : end] if length >= 0 else float(whole[end - 1])
    return models
