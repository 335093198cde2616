"""A model of rare rewards for logs that are read once: batches come, none is kept."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from counterweight.errors import CounterweightError
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import check_options, checked_weights
from counterweight.numerics.estimator import Estimator
from counterweight.numerics.zero_rejection import checked_rates, keep_weights

OPTIONS = {
    "keep_rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "penalty": {"type": "number", "minimum": 0},
}
#: Newton steps of a batch, at most; a feature's least spread, as a share of its range.
STEPS, LEAST_SPREAD = 25, 0.01
#: Shares of the information below the bends of the calibration; what it is worth to leave constant,
#: slope and bends as they are, in units of information, of which a row has a quarter at most.
BENDS, PRIOR = (0.4, 0.8), (20.0, 20.0, 60.0, 60.0)


class _OnePass(Estimator):
    """What both models share.

    The coefficients of a batch are the most likely ones under a normal prior, which is what all
    batches before have left: their most likely coefficients and the curvature there. So one pass
    comes close to a fit of all rows, in memory of a square of the features. Before a batch is
    learned from it is predicted, and these margins, of rows that nobody had seen, calibrate: a
    line in log-odds with two bends, later batches counting more, since the model grows better.
    """

    def __init__(self, keep_rate: ArrayLike = 1.0, penalty: float = 1.0) -> None:
        self.keep_rate, self.penalty = keep_rate, penalty

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keep_rate: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Forget everything and learn from one batch; see ``partial_fit``."""
        for name in [name for name in vars(self) if name in ("coef_", "knots_", "batches_seen_")]:
            delattr(self, name)
        return self.partial_fit(X, y, keep_rate, sample_weight)

    def _update(self, X, y, rate, weight):
        """Learn from a batch: rewards in [0, 1], offsets and weights that make up for zeros."""
        from scipy.special import expit

        if not hasattr(self, "coef_"):
            self.center_ = X.mean(axis=0)
            self.scale_ = np.maximum(X.std(axis=0), LEAST_SPREAD * np.ptp(X, axis=0))
            self.scale_[self.scale_ == 0] = 1.0
            self.coef_ = np.zeros(X.shape[1] + 1)
            # The constant is free; the others are drawn to 0 as by so many rows.
            self._curvature = np.diag([1e-6, *np.full(X.shape[1], self.penalty)])
            self.calibration_ = np.array([0.0, 1.0, 0.0, 0.0])
            self._calibrated = np.diag(PRIOR)
            self.rows_seen_ = self.batches_seen_ = 0
        basis, offset = self._basis(X), -np.log(rate)
        if self.batches_seen_:
            margin = basis @ self.coef_
            if self.batches_seen_ == 1:
                q = expit(margin + offset)
                order = np.argsort(margin)
                known = np.cumsum((weight * q * (1 - q))[order])
                self.knots_ = margin[order][np.searchsorted(known, np.array(BENDS) * known[-1])]
            # A batch counts as much more than the first as there were batches before it.
            share = self.batches_seen_ / (self.batches_seen_ + 1)
            self.calibration_, self._calibrated = _stepped(
                self.calibration_, share * self._calibrated, self._bent(margin), y, offset, weight
            )
        self.coef_, self._curvature = _stepped(
            self.coef_, self._curvature, basis, y, offset, weight
        )
        self.rows_seen_ += len(y)
        self.batches_seen_ += 1
        return self

    def _bent(self, margin):
        """The constant, the margin, and how far it is beyond each knot."""
        beyond = [np.maximum(margin - knot, 0.0) for knot in self.knots_]
        return np.column_stack([np.ones(len(margin)), margin, *beyond])

    def _basis(self, X):
        return np.column_stack([np.ones(len(X)), (X - self.center_) / self.scale_])

    def _chance(self, X):
        from scipy.special import expit

        margin = self._basis(X) @ self.coef_
        if self.batches_seen_ < 2:
            return expit(margin)
        # No piece falls: more on the margin is never less in the chance.
        constant, *bends = self.calibration_
        slopes = np.diff(np.maximum(np.cumsum(bends), 0.0), prepend=0.0)
        return expit(self._bent(margin) @ np.array([constant, *slopes]))

    def _batch(self, X, y, keep_rate, sample_weight):
        check_options({name: getattr(self, name) for name in OPTIONS}, OPTIONS)
        y = np.asarray(y, dtype=float)
        rate = checked_rates(y, self.keep_rate if keep_rate is None else keep_rate)
        weight = checked_weights(sample_weight, len(y))
        used = weight > 0
        rate = np.broadcast_to(rate, len(y))
        return X[used], y[used], rate[used], weight[used]


class OnePassClassifier(_OnePass, BinaryClassifier):
    """Chances of a reward of 1, from batches of a log whose zeros were kept at known rates.

    Learned in log-odds with the offset of the rate, without weights; where a row of reward 1 does
    not tell at which rate it would have been kept, kept zeros weigh 1 / l in place of the offset.

    Parameters
    ----------
    keep_rate : float
        Rate at which rows of reward 0 were kept, where `partial_fit` is told none.
    penalty : float
        Pull of the coefficients (of features of spread 1) to 0, in rows.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (d + 1,)
        The constant, and the coefficients of features of mean 0 and spread 1.
    calibration_, knots_ : numpy.ndarray, shape (4,), (2,)
        Constant and slope of the calibrated margin, and what the slope changes by at the knots,
        which are those of the second batch.
    rows_seen_, batches_seen_ : int

    References
    ----------
    Mineiro (2010) for the rejection; Spiegelhalter & Lauritzen (1990) for sequential updating of
    logistic regression by its curvature.
    """

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keep_rate: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Learn from one batch of kept rows X (n, d), y (n,); batches are best in the order of
        time.

        `keep_rate` (one or (n,)) is that of this batch, NaN where the reward is 1 and its rate is
        not known. y has two classes, those of the first batch unless `classes` tells both; the
        second in order is the reward. Refused are more than two classes, rates outside (0, 1],
        features that are not finite.
        """
        X, y, rate, weight = self._batch(X, y, keep_rate, sample_weight)
        if np.isnan(rate).any():
            weight, rate = weight * keep_weights(y, rate), np.ones(len(y))
        return self._update(X, y, rate, weight)

    def _positive(self, X):
        """Chance of the second class among all rows, those that were dropped too, (n,)."""
        return self._chance(X)


class OnePassRegressor(_OnePass, RegressorMixin, BaseEstimator):
    """Mean reward, a number in a known range, from batches of a log that lost rows of reward 0.

    A logistic curve between the ends of the range, by quasi-likelihood: it needs the mean to be
    right, not the distribution. Kept rows of reward 0 weigh 1 / l.

    Parameters
    ----------
    low, high : float
        Least and largest reward.
    keep_rate, penalty
        As of `OnePassClassifier`.

    Attributes
    ----------
    coef_, calibration_, rows_seen_, batches_seen_
        As of `OnePassClassifier`.

    References
    ----------
    Papke & Wooldridge (1996). Econometric methods for fractional response variables. Journal of
    Applied Econometrics 11.
    """

    LABELS = "numbers"

    def __init__(
        self, low: float = 0.0, high: float = 1.0, keep_rate: ArrayLike = 1.0, penalty: float = 1.0
    ) -> None:
        super().__init__(keep_rate, penalty)
        self.low, self.high = low, high

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keep_rate: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one batch of kept rows; see `OnePassClassifier.partial_fit`."""
        X, y, rate, weight = self._batch(X, y, keep_rate, sample_weight)
        if not self.low < self.high:
            raise CounterweightError(
                f"The range of rewards is {self.low} to {self.high}: give the least one first."
            )
        outside = ~((y >= self.low) & (y <= self.high))
        if outside.any():
            raise CounterweightError(
                f"{int(outside.sum())} of {len(y)} rewards are not from {self.low:g} to "
                f"{self.high:g} (first: {y[outside][0]:g}): correct them, or the range."
            )
        scaled = (y - self.low) / (self.high - self.low)
        return self._update(X, scaled, np.ones(len(y)), weight * keep_weights(y, rate))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Mean reward among all rows, those that were dropped too, (n,)."""
        return self.low + (self.high - self.low) * self._chance(X)


def _stepped(start, curvature, basis, y, offset, weight):
    """Most likely coefficients under a normal prior, and the curvature there."""
    from scipy.special import expit

    def objective(v):
        margin = basis @ v + offset
        gap = v - start
        return weight @ (np.logaddexp(0, margin) - y * margin) + 0.5 * gap @ curvature @ gap

    v = start.copy()
    value = objective(v)
    for _ in range(STEPS):
        q = expit(basis @ v + offset)
        slope = basis.T @ (weight * (q - y)) + curvature @ (v - start)
        bend = curvature + basis.T @ (basis * (weight * q * (1 - q))[:, None])
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while (new := objective(v - size * step)) > value and size > 1e-6:
            size /= 2
        if new > value:
            break
        v, gain, value = v - size * step, value - new, new
        if gain <= 1e-10 * (1 + abs(value)):
            break
    q = expit(basis @ v + offset)
    return v, curvature + basis.T @ (basis * (weight * q * (1 - q))[:, None])
