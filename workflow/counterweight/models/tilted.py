"""A classifier of labeled rows whose log odds are moved by delta for unlabeled ones.

It may be any classifier of 0 and 1, calibrated on rows that it has not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Flag, Integer, Number, Option
from counterweight.models.classifier import BinaryClassifier, class_within, stored_within
from counterweight.numerics.checks import (
    check_options,
    checked_labels,
    checked_new_rows,
    checked_rows,
)
from counterweight.numerics.emissions import Layout
from counterweight.numerics.linear import folds
from counterweight.numerics.tilt import (
    ESTIMATED,
    GIVEN,
    Calibration,
    Delta,
    estimate_delta,
    gap_left,
    tilted,
)


class Calibrated:
    """A classifier fitted to all rows, with a calibration found on rows that it has not seen.

    The rows are split into folds; each fold gets the probabilities of a classifier that was
    fitted to the others. Slope and constant of the log odds are fitted to these, and serve for the
    classifier of all rows: it is assumed to be as well calibrated as those of most rows.

    Parameters
    ----------
    classifier : dict or estimator
        ``model``, a name of the registry, with its options; or an estimator with ``fit(X, y,
        sample_weight)`` and ``predict_proba``, of which copies are fitted.

    Attributes
    ----------
    model_
        Fitted to all rows.
    calibration_ : Calibration
    held_ : array (M,)
        Calibrated probability of each row by a classifier that has not seen it.
    fold_ : array (M,)
    parts_ : list
        The classifiers of all but a fold. `held_`, `fold_` and `parts_` are not stored.
    converged_ : bool
    """

    def __init__(self, classifier):
        self.classifier = CLASSIFIER if classifier is None else classifier

    def fit(self, X, y, sample_weight=None, *, rng, count=10, categories=None):
        """Fit to rows (M, d), labels (M,) and weights (M,), in `count` folds.

        `categories`, a layout of the features, goes to a classifier that asks for it.

        The calibration takes all rows alike: p(y|x) of the rows as they are.
        """
        X = checked_rows(X)
        y = checked_labels(y, len(X))
        least = np.bincount(y, minlength=2).min()
        if least < count:
            raise CounterweightError(
                f"The calibration needs a row of each class in each of its {count} folds, and "
                f"one class has {least}: set fewer folds, or collect more labels."
            )
        self.fold_ = folds(y, count, rng)
        held, self.parts_ = np.empty(len(y)), []
        for fold in range(count):
            rest = self.fold_ != fold
            weight = None if sample_weight is None else sample_weight[rest]
            part = self._fitted(X[rest], y[rest], weight, rng, categories)
            held[~rest] = part.predict_proba(X[~rest])[:, 1]
            self.parts_.append(part)
        self.calibration_ = Calibration.fitted(held, y)
        self.held_ = self.calibration_(held)
        self.model_ = self._fitted(X, y, sample_weight, rng, categories)
        fits = [np.min(getattr(model, "converged_", 1.0)) for model in (*self.parts_, self.model_)]
        self.converged_ = bool(min(fits))
        return self

    def positive(self, X, fold=None):
        """Calibrated p(y = 1 | x), (n,); of the classifier of all but a fold where one is named."""
        model = self.model_ if fold is None else self.parts_[fold]
        return self.calibration_(model.predict_proba(X)[:, 1])

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {f"model_{name}": values for name, values in self.model_.to_arrays().items()}
        return own | {"calibration": np.array(self.calibration_)}

    @classmethod
    def from_arrays(cls, classifier, arrays):
        """What predicts, from `to_arrays` and the name and options of the classifier."""
        made, prefix = cls(classifier), "model_"
        own = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        options = dict(made.classifier)
        made.model_ = stored_within(options.pop("model"), options, own)
        made.calibration_ = Calibration(*np.ravel(arrays["calibration"]).astype(float))
        return made

    def _fitted(self, X, y, weight, rng, categories):
        if not isinstance(self.classifier, dict):
            from sklearn.base import clone

            told = {} if weight is None else {"sample_weight": weight}
            return clone(self.classifier).fit(X, y, **told)
        component = class_within(self.classifier.get("model"), "tilted")
        options = {key: value for key, value in self.classifier.items() if key != "model"}
        told = {"rng": rng}
        if categories is not None and getattr(component, "CATEGORIES", False):
            told["categories"] = categories
        return component(**options).fit(X, y, weight, **told)


log = logging.getLogger(__name__)

#: Defaults of the options that are mappings.
CLASSIFIER = {"model": "logistic"}
DELTA = {"by": "label_only"}

OPTIONS = {
    "classifier": Option({"model": "logistic"},
        "Classifier of the labeled rows: model, and its options.", type="object", **{"x-component-with-options": ["model", "model"]}),
    "selection": Option({"model": "logistic"},
        "Classifier of labeled or not, for answers on the general population.", type="object", **{"x-component-with-options": ["model", "model"]}),
    "delta": Option({"by": "label_only"},
        "How delta is come by, and what is given.",
        type="object", required=["by"], additionalProperties=False, properties={
            "by": Choice(..., ["label_only", "em", "moments", "rate", "times", "fixed"],
                "How delta is come by. Estimated, where the features given the label are alike in both populations, by label_only "
                "(means of features), em (likelihood of the prior) or moments (shares of predictions); rate: so that the unlabeled rows "
                "have this rate; times: odds of unlabeled rows over those of labeled ones at equal features; fixed: value."),
            "rate": Number(..., "Rate of the unlabeled rows; an oracle takes the hidden one.", above=0, below=1),
            "times": Number(..., "How many times as large the odds of unlabeled rows are.", above=0),
            "value": Number(..., "Delta itself, in log odds."),
            "hard": Flag(..., "Of moments: whether predictions are yes or no (BBSE), or p."),
            "at_end": Choice(..., ["none", "keep"],
                "Where an estimated rate ends at 0 or 1, which says that features given the label are not alike: none makes no tilt, "
                "keep goes to that end."),
            "slopes": Option(..., "Added to delta for each unit of a feature, by its name; where delta is given.",
                type="object", additionalProperties={"type": "number"}),
        }, allOf=[
            {"if": {"properties": {"by": {"const": "times"}}}, "then": {"required": ["times"]}},
            {"if": {"properties": {"by": {"const": "fixed"}}}, "then": {"required": ["value"]}},
        ]),
    "folds": Integer(10, "Parts of the rows that calibration and standard errors go by.", minimum=2),
}  # fmt: skip
ASSUMES = (
    "If the odds of rows without an outcome are those of like rows that have one times one factor",
    "Labels are taken to be missing not at random: at the same features, the odds of the outcome "
    "among rows without one are those of rows that have it times one factor, the same at all "
    "features. Where the factor is estimated, features are besides taken to be distributed alike "
    "with and without a label among rows of the same outcome (label shift). Nothing in the table "
    "can show that it is so.",
)
LABEL = "Tilted {classifier} by {delta}"
VALUE_LABELS = {
    "classifier": {
        "logistic": "logistic regression",
        "generative": "class mixtures",
        "gradient_boosting": "boosting",
    },
    "delta": {
        "em": "EM",
        "moments": "BBSE",
        "label_only": "label-only moments",
        "rate": "a given rate",
        "times": "given odds",
        "fixed": "a given delta",
    },
}


@dataclass(eq=False, repr=False)
class TiltedClassifier(BinaryClassifier):
    """Outcome-dependent selection by one number: p of unlabeled rows is p of labeled ones, tilted.

    With p1(x) = p(y=1|x, s=1) of a calibrated classifier of the labeled rows,

        logit p(y=1|x, s=0) = logit p1(x) + delta (+ slopes'x),

    which holds where selection depends on y through a factor of its odds that is the same at
    every x. That is an assumption, and so is, wherever delta is estimated, that features given
    the label are distributed alike in labeled and unlabeled rows: no data tell delta without it.
    Labels missing at random have delta = 0, and an estimate that takes the difference of features
    for one of labels is then wrong. `gap_left_` shows what contradicts the second assumption; the
    first one cannot be checked.

    The default goes by label-only moments: they solve, as well as least squares can, the very
    equations whose remainder is `gap_left_`, and need no classifier to be right.

    Parameters
    ----------
    classifier, selection : dict or estimator, optional
        Of y on labeled rows, and of s on all, logistic regression if None; see
        `Calibrated`.
    delta : dict, optional
        ``by`` and what goes with it, label-only moments if None; see `OPTIONS` and
        `counterweight.numerics.tilt`.
    folds : int
    random_state : int, Generator or None
        Draws the folds where `fit` is given no `rng`.

    Attributes
    ----------
    delta_ : Delta
        As applied, with standard error, estimated rate of the unlabeled rows, and what went
        wrong: an estimate whose rate ends at 0 or 1 is not applied unless `delta` says ``at_end:
        keep``, and its value is then 0. The
        error from the labels is the larger of that which takes the classifier as given, and of
        the jackknife over the folds, which fits it anew (Quenouille; delete-a-group).
    gap_left_ : float
        Gap of the feature means that remains after weighting labeled rows, by label, to the
        estimated rate, as a share of that without weights.
    slopes_ : array (d,) or None
    base_, chooser_ : Calibrated
        Of y and of s.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002); Rosset, Zhu, Zou & Hastie (2005); Lipton, Wang & Smola
    (2018); Alexandari, Kundaje & Shrikumar (2020).
    """

    UNLABELED = TARGETED = NAMED = MOVES = True
    CATEGORIES = Layout
    #: Kept of each setting of a sweep.
    SWEPT = ("delta", "rate_unlabeled", "gap_left")

    classifier: object = None
    selection: object = None
    delta: float | None = None
    folds: int = 10
    random_state: int = 0

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_unlabeled: ArrayLike | None = None,
        y_unlabeled: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
        names: Sequence[str] | None = None,
        categories: dict | None = None,
    ) -> Self:
        """Fit classifier, calibration, delta and selection.

        Parameters
        ----------
        X : array (M, d)
            Labeled rows.
        y : array (M,) of 0 and 1
        sample_weight : array (M,), optional
            For the classifier only.
        X_unlabeled : array (N, d)
        y_unlabeled : array (N,), optional
            Hidden labels, of which an oracle takes the rate.
        rng : numpy.random.Generator, optional
        names : sequence of str, optional
            Of the features, for slopes; else the columns of a frame, or "0", "1" ...
        categories : Layout, optional
            Features that are categories, for classifiers that take them as such.
        """
        check_options({"folds": self.folds}, {"folds": OPTIONS["folds"]})
        X, U = checked_new_rows(X, np.shape(X)[-1]), np.asarray(X_unlabeled, dtype=float)
        if not len(U):
            raise CounterweightError(
                "The tilt moves a classifier to unlabeled rows, and there are none: use the "
                "classifier itself."
            )
        U, y = checked_new_rows(U, X.shape[1]), checked_labels(y, len(X))
        asked = self._asked(y_unlabeled)
        names = [str(one) for one in (range(X.shape[1]) if names is None else names)]
        self.slopes_ = _slopes(asked.pop("slopes", None), names)
        told = {"rng": rng, "count": self.folds, "categories": categories}
        self.base_ = Calibrated(self.classifier).fit(X, y, sample_weight, **told)
        self.delta_ = self._delta(X, y, U, asked)
        for sentence in self.delta_.told:
            log.warning("%s", sentence)
        self.gap_left_ = gap_left(X, y, U, self.delta_.rate)[0]
        both, s = np.vstack([X, U]), np.repeat([1, 0], [len(X), len(U)])
        self.chooser_ = Calibrated(self.selection).fit(both, s, **told)
        self.converged_ = self.base_.converged_ and self.chooser_.converged_
        return self

    def predict_proba(self, X: ArrayLike, target: str = "general") -> np.ndarray:
        """Class probabilities, (n, 2).

        Parameters
        ----------
        X : array (n, d)
        target : {"general", "unlabeled", "labeled"}
            unlabeled: p0(x), tilted. labeled: p1(x). general: p(s=1|x) p1(x) + p(s=0|x) p0(x).
        """
        if target not in ("general", "unlabeled", "labeled"):
            raise CounterweightError(
                f"target must be general, unlabeled or labeled, not {target!r}."
            )
        X = checked_rows(X, empty=True)
        positive = self.base_.positive(X)
        if target != "labeled":
            moved = tilted(positive, self.delta_.value + self._more(X))
            if target == "unlabeled":
                positive = moved
            else:
                seen = self.chooser_.positive(X)
                positive = seen * positive + (1 - seen) * moved
        return np.column_stack([1 - positive, positive])

    def to_arrays(self):
        """Fitted numbers by name."""
        found = self.delta_
        arrays = {f"base_{name}": values for name, values in self.base_.to_arrays().items()}
        arrays |= {f"chooser_{name}": part for name, part in self.chooser_.to_arrays().items()}
        arrays |= {"slopes": self.slopes_} if self.slopes_ is not None else {}
        return arrays | {
            "delta": found.value,
            "delta_errors": np.array([found.error_labeled, found.error_target]),
            "delta_standard_error": found.standard_error,
            "rate_unlabeled": found.rate,
            "rate_at_end": float(bool(found.end)),
            "end": float(found.end or "nan"),
            "label_weights": np.array(found.weights),
            "gap_left": self.gap_left_,
            "label_shift_assumed": float(found.by in ESTIMATED),
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """What `to_arrays` told; `set_params` with the options then loads the classifiers."""
        model = cls()
        numbers = {name: np.ravel(values).astype(float) for name, values in arrays.items()}
        model.slopes_ = numbers.get("slopes")
        rate = float(numbers["rate_unlabeled"][0])
        model.delta_ = Delta(
            float(numbers["delta"][0]),
            "",
            rate,
            *(float(error) for error in numbers["delta_errors"]),
            end="" if np.isnan(numbers["end"][0]) else f"{numbers['end'][0]:g}",
            weights=tuple(float(weight) for weight in numbers["label_weights"]),
        )
        model.gap_left_ = float(numbers["gap_left"][0])
        model.converged_ = bool(numbers["converged"][0])
        model._arrays = dict(arrays)
        return model

    def set_params(self, **params):
        """Set options; of a stored model also load the classifiers that they name."""
        super().set_params(**params)
        if hasattr(self, "_arrays"):
            self.delta_ = replace(self.delta_, by=(self.delta or DELTA)["by"])
            for attribute, spec in (("base_", self.classifier), ("chooser_", self.selection)):
                own = {
                    name.removeprefix(attribute): values
                    for name, values in self._arrays.items()
                    if name.startswith(attribute)
                }
                setattr(self, attribute, Calibrated.from_arrays(spec, own))
        return self

    def _asked(self, y_unlabeled):
        """What is asked of delta, the hidden rate of an oracle filled in."""
        asked = dict(self.delta or DELTA)
        if y_unlabeled is not None:
            if asked["by"] != "rate" or asked.get("rate") is not None:
                raise CounterweightError(
                    "An oracle of the tilt sees the hidden rate: set delta to {by: rate} without "
                    "a rate, or leave out oracle."
                )
            asked["rate"] = float(np.mean(y_unlabeled))
        return asked

    def _delta(self, X, y, U, asked):
        """Delta, its error from the labels by whichever of two ways gives the larger one."""
        by, at_end = asked["by"], asked.pop("at_end", "none")
        if self.slopes_ is not None and by not in GIVEN:
            raise CounterweightError(
                f"Slopes go with a delta that is given, and delta by {by} is estimated: set by to "
                "rate, times or fixed."
            )
        more = self._more(U)

        def found(rows, fold=None):
            p_target = tilted(self.base_.positive(U, fold), more)
            told = {"X": X[rows], "X_target": U} if by == "label_only" else {}
            return estimate_delta(
                self.base_.held_[rows], y[rows], p_target, fitted=fold is None, **asked, **told
            )

        whole = found(slice(None))
        if whole.end and at_end == "none":
            rate = float(tilted(self.base_.positive(U), 0.0).mean())
            told = (*whole.told, "No tilt is made; at_end: keep would go to that end.")
            return replace(whole, value=0.0, rate=rate, told=told)
        if by not in ("em", "rate") or not np.isfinite(whole.value):
            return whole
        parts = np.array([found(self.base_.fold_ != k, k).value for k in range(self.folds)])
        if not np.isfinite(parts).all():
            return whole
        error = np.sqrt((self.folds - 1) / self.folds * ((parts - parts.mean()) ** 2).sum())
        return replace(whole, error_labeled=float(max(error, whole.error_labeled)))

    def _more(self, X):
        return 0.0 if self.slopes_ is None else np.asarray(X, dtype=float) @ self.slopes_


def _slopes(given, names):
    """Slopes by feature, (d,), or None."""
    if not given:
        return None
    given = {str(name): slope for name, slope in given.items()}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise CounterweightError(
            f"delta.slopes names {listed(unknown)}, which is no feature; features: {listed(names)}."
        )
    return np.array([float(given.get(name, 0.0)) for name in names])
