"""What the baselines of p(accept | x, offer) share: options, design, oracles, storage."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from counterweight.errors import CounterweightError
from counterweight.fragments import Flag
from counterweight.models.choice.offers import (
    checked_new_rows_with_gaps,
    checked_offers,
    checked_rows_with_gaps,
)
from counterweight.numerics.checks import checked_labels
from counterweight.numerics.estimator import NamedColumns

log = logging.getLogger("counterweight")

ORACLE_OPTIONS = {
    "per_component": Flag(False, "One model for each true component (an oracle: it must be told the component of the rows that it predicts)."),
}  # fmt: skip
BASELINE_OPTIONS = {
    "interactions": Flag(False, "Whether the products of each feature with the offer are features too."),
    **ORACLE_OPTIONS,
}  # fmt: skip


class OfferDesign:
    """Columns that the baselines see: features, offer, perhaps their products.

    A missing value becomes the mean of the training rows, and each feature with a missing
    value in training gets a column that is 1 where it is missing. A feature without any
    value in training is 0 throughout.

    Parameters
    ----------
    interactions : bool
        Whether to add x_m * t for each feature m (and each mark of a missing value).

    Attributes
    ----------
    fill_ : ndarray (d,)
    marked_ : ndarray of int
        Features with a mark.
    cells_filled_ : int
        Missing values among the training rows, which were filled.
    """

    def __init__(self, interactions=False):
        self.interactions = interactions

    def fit(self, X):
        """Learn the means that stand for missing values."""
        X = checked_rows_with_gaps(X, featureless=True)
        missing = np.isnan(X)
        self.cells_filled_ = int(missing.sum())
        known = np.maximum((~missing).sum(axis=0), 1)
        self.fill_ = np.where(missing, 0.0, X).sum(axis=0) / known
        self.marked_ = np.flatnonzero(missing.any(axis=0))
        return self

    def columns(self, X, t):
        """Design matrix (n, p): features, marks, offer, products."""
        X = checked_new_rows_with_gaps(X, len(self.fill_))
        missing = np.isnan(X)
        parts = [np.where(missing, self.fill_, X), missing[:, self.marked_].astype(float)]
        t = checked_offers(t, len(X))
        features = np.hstack(parts)
        products = features * t[:, None] if self.interactions else np.empty((len(X), 0))
        return np.column_stack([features, t, products])


@dataclass(eq=False, repr=False)
class OfferBaseline(NamedColumns, BaseEstimator):
    """What the baselines share: the design, one model or one for each component, storage.

    A subclass gives ``_fit(Z, y, rng)``, the arrays of one model, and their names, ``STORED``.
    Where the log-odds are not linear, it also gives ``_constant(log_odds, p)``, the arrays of a
    model with one probability, and ``_probability(arrays, Z)``.

    Where all answers of a model's rows are alike there is nothing to learn from; it then
    gives (accepted + 1/2) / (rows + 1) to everyone, and is counted in
    `one_answer_models_`.
    """

    interactions: bool = False
    per_component: bool = False

    def fit(self, X, t, y, *, rng=None, component=None):
        """Fit.

        Parameters
        ----------
        X : array (n, d)
            NaN for missing values.
        t : array (n,)
            Scaled offers in [0, 1].
        y : array (n,) of 0/1
        rng : numpy.random.Generator, optional
            For cross-validation folds, where the model has some; seed 0 without it.
        component : array (n,) of int, optional
            True component; needed by, and only by, an oracle (`per_component`).

        Returns
        -------
        self

        Raises
        ------
        CounterweightError
            For rows, offers or answers that cannot be used, or a missing component.
        """
        self.design_ = OfferDesign(self.interactions).fit(X)
        Z = self.design_.columns(X, t)
        y = checked_labels(y, len(Z), "answer")
        rng = np.random.default_rng(0) if rng is None else rng
        self.share_accepted_ = (y.sum() + 0.5) / (len(y) + 1)
        groups = self._groups(component, len(Z))
        self.components_ = np.unique(groups)
        self.models_, self.one_answer_models_ = [], 0
        for group in self.components_:
            rows = groups == group
            accepted, count = int(y[rows].sum()), int(rows.sum())
            if accepted in (0, count):
                self.one_answer_models_ += 1
                p = (accepted + 0.5) / (count + 1)
                self.models_.append(self._constant(np.log(p) - np.log1p(-p), Z.shape[1]))
            else:
                self.models_.append(self._fit(Z[rows], y[rows], rng))
        if self.one_answer_models_:
            log.warning(
                "%d of %d models saw one kind of answer only: each gives one probability to all.",
                self.one_answer_models_,
                len(self.models_),
            )
        return self

    def predict_acceptance(self, X, t, component=None):
        """p(accept | x, offer), shape (n,).

        Parameters
        ----------
        X : array (n, d)
        t : array (n,)
        component : array (n,), optional
            True component of these rows, for an oracle. Rows of a component that had no
            training row get the overall share of accepted offers; their number is in
            `rows_unseen_component_`.
        """
        Z = self.design_.columns(X, t)
        groups = self._groups(component, len(Z))
        p = np.full(len(Z), self.share_accepted_)
        unseen = np.ones(len(Z), bool)
        for group, arrays in zip(self.components_, self.models_, strict=True):
            rows = groups == group
            unseen &= ~rows
            if rows.any():
                p[rows] = self._probability(arrays, Z if rows.all() else Z[rows])
        self.rows_unseen_component_ = int(unseen.sum())
        return p

    def _groups(self, component, rows):
        if not self.per_component:
            return np.full(rows, -1)
        if component is None:
            raise CounterweightError(
                "per_component trains one model for each true component, which this data set does "
                "not know: set it to false, or use a simulated data set."
            )
        component = np.asarray(component)
        if component.shape != (rows,):
            raise CounterweightError(
                f"There are {rows} rows but components of shape {component.shape}."
            )
        return component.astype(int)

    def _constant(self, log_odds, p):
        return {"coef": np.zeros(p), "intercept": log_odds, "iterations": 0}

    def _probability(self, arrays, Z):
        return expit(Z @ arrays["coef"] + arrays["intercept"])

    def to_arrays(self):
        """Fitted numbers by name: those of the models stacked, and of the design."""
        return {
            **self._stacked(self.models_),
            "components": self.components_,
            "fill": self.design_.fill_,
            "marked": np.append(self.design_.marked_, -1),
            "interactions": float(self.design_.interactions),
            "share_accepted": self.share_accepted_,
            "cells_filled": self.design_.cells_filled_,
            "one_answer_models": self.one_answer_models_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls(interactions=bool(arrays["interactions"]))
        model.components_ = np.atleast_1d(arrays["components"]).astype(int)
        model.per_component = bool((model.components_ >= 0).any())
        design = model.design_ = OfferDesign(model.interactions)
        design.fill_ = np.atleast_1d(np.asarray(arrays["fill"], dtype=float))
        design.marked_ = np.asarray(arrays["marked"])[:-1].astype(int)
        design.cells_filled_ = int(arrays["cells_filled"])
        model.share_accepted_ = float(arrays["share_accepted"])
        model.one_answer_models_ = int(arrays["one_answer_models"])
        model.models_ = model._unstacked(arrays, len(model.components_))
        return model

    def _stacked(self, models):
        return {name: np.array([arrays[name] for arrays in models]) for name in models[0]}

    def _unstacked(self, arrays, count):
        names = [name for name in self.STORED if name in arrays]
        return [{name: arrays[name][m] for name in names} for m in range(count)]
