"""scikit-learn estimators: train on subsampled rows without weights, then calibrate.

The procedure of Mineiro (2010), regression section: where zeros are rejected at a known
rate l, a model of the kept rows is biased; a spline whose control points count each kept
zero 1 / l times corrects it, and does so at rates where importance weights in training
fail.

Of logs that are read once batches come and none is kept (`OnePassClassifier`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, has_fit_parameter, validate_data

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Integer
from counterweight.models.classifier import BinaryClassifier
from counterweight.models.score_models import EncodedModel
from counterweight.models.subsampling.calibration import LogOddsCalibrator, SplineCalibrator
from counterweight.models.subsampling.learners import log_odds_of
from counterweight.numerics.checks import check_options, checked_weights, mean_one_weights
from counterweight.numerics.estimator import Estimator, NamedColumns
from counterweight.numerics.zero_rejection import (
    checked_rates,
    drawing_order,
    keep_weights,
    kept_rows,
    key_order,
)

#: What `check_options` asks of the options that all share.
CHECKED = {
    "keep_rate": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
    "calibration_share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "calibration": {"enum": ["log_odds", "paper"]},
}
#: Arrays go to the estimator as they are; only sparse ones in a form that has rows.
PASSED_ON = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}


@dataclass(eq=False, repr=False)
class _CalibratedSubsample(NamedColumns, MetaEstimatorMixin, BaseEstimator):
    estimator: BaseEstimator = None
    keep_rate: float | None = 1.0
    bins: int = 20
    calibration_share: float = 0.5
    random_state: object = None

    def _receive(self, given, known, learning, first):
        """Rows and labels go on as they are: what they may be is for the estimator to say."""

    def _inner(self):
        """The estimator, or the plain one."""
        return self._plain() if self.estimator is None else self.estimator

    def _checked(self, X, y, **checks):
        """X and y of a fit; what X may hold is for the estimator to say."""
        if not hasattr(X, "columns") or y is None:
            checks |= PASSED_ON
            return validate_data(self, X, y, ensure_min_samples=2, **checks)
        y = validate_data(self, y=y, **checks)
        check_consistent_length(X, y)
        return X, y

    def _checked_new(self, X):
        return X if hasattr(X, "columns") else check_array(X, estimator=self, **PASSED_ON)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner()).input_tags
        for name in ("allow_nan", "categorical", "sparse", "string"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def _fit(self, X, y, reward, keys, row_keep_rate, sample_weight):
        """Reject, train and calibrate; `y` is for the estimator, `reward` for the spline."""
        rows = len(reward)
        check_options(vars(self), {key: CHECKED[key] for key in CHECKED.keys() & vars(self)})
        if sample_weight is not None and not has_fit_parameter(self._inner(), "sample_weight"):
            raise CounterweightError(
                f"{type(self._inner()).__name__} takes no sample_weight: wrap another estimator "
                "or leave the weights out."
            )
        if sample_weight is not None and not np.asarray(sample_weight, dtype=float).any():
            raise CounterweightError("All sample weights are zero, so nothing can be learned.")
        weight, _ = mean_one_weights(sample_weight, rows)
        keys = np.arange(rows) if keys is None else np.asarray(keys)
        order = key_order(keys, rows)
        y, reward, keys, weight = (part[order] for part in (y, reward, keys, weight))
        random = check_random_state(self.random_state)
        rejection, held_out = (int(seed) for seed in random.randint(2**31, size=2))
        if np.ndim(row_keep_rate) and len(row_keep_rate) == rows:
            row_keep_rate = np.asarray(row_keep_rate)[order]
        rate = self._rate(reward, row_keep_rate)
        kept = weight > 0
        if self.keep_rate is not None:
            kept &= kept_rows(reward, keys, rate, rejection)
        aside = _held_out(reward != 0, kept, keys, self.calibration_share, held_out)
        train = kept & ~aside
        if not train.any() or not aside.any():
            raise CounterweightError(
                f"Of {rows} rows {int(kept.sum())} were kept: too few to train and to calibrate. "
                "Raise keep_rate."
            )
        self._check_parts(y, train, aside)
        weighted = {} if sample_weight is None else {"sample_weight": weight[train]}
        self.estimator_ = clone(self._inner()).fit(
            _safe_indexing(X, order[train]), y[train], **weighted
        )
        self.calibrator_ = self._calibrator().fit(
            self._raw(_safe_indexing(X, order[aside])), reward[aside], rate[aside], weight[aside]
        )
        self.n_rows_kept_ = int(kept.sum())
        self.n_rows_trained_ = int(train.sum())
        self.n_rows_calibrated_ = int(aside.sum())
        return self

    def _rate(self, reward, row_keep_rate):
        """The rate at which each row was kept, or is to be kept, where its reward is 0."""
        if self.keep_rate is None and row_keep_rate is None:
            raise CounterweightError(
                "keep_rate is None, which means rows that are already subsampled: give fit their "
                "rates as row_keep_rate."
            )
        if self.keep_rate is not None and row_keep_rate is not None:
            raise CounterweightError(
                "Give keep_rate (rows are rejected here) or row_keep_rate (rows were rejected "
                "before), not both: for the second, set keep_rate to None."
            )
        given = row_keep_rate if self.keep_rate is None else self.keep_rate
        return np.broadcast_to(checked_rates(reward, given), len(reward))

    def _calibrator(self):
        return SplineCalibrator(self.bins, self._bounds())

    def _check_parts(self, y, train, aside):
        """Nothing more to ask of the rows."""


@dataclass(eq=False, repr=False)
class CalibratedSubsampleClassifier(_CalibratedSubsample, BinaryClassifier):
    """Binary classifier trained on subsampled rows and calibrated for all.

    Rows of the class that is not `positive` are the zeros: they are kept with probability
    `keep_rate`, rows of the other class always. Without `positive` they are those of the first
    class (0 or False). Of words, the first in the alphabet says nothing ("click" comes before
    "none"), so where zeros are rejected words need `positive`. A share of the kept rows
    is held out, the estimator learns from the rest without weights for the rejection, and
    the held-out rows turn its score into p(y = 1 | x) of all rows: by a rising function of
    its log-odds with the offset of the rate, or by the spline of the paper.

    It assumes that the rate is known and does not depend on the features beyond what
    `row_keep_rate` says; a wrong rate gives probabilities whose odds are wrong by it.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        With ``predict_proba`` or ``decision_function``; logistic regression if None.
    keep_rate : float or None
        Rate in (0, 1] at which rows of class 0 are kept. None: the rows given to `fit`
        are already subsampled, at the rates `row_keep_rate`.
    bins : int
        Bins of the paper's spline, see `SplineCalibrator`.
    calibration_share : float
        Share of the kept rows of each class that is held out.
    random_state : int, RandomState or None
    calibration : {"log_odds", "paper"}
        log_odds: see `LogOddsCalibrator`; paper: the linear spline with the end points (0, 0) and
        (1, 1), by which the highest scores are predicted too high where no row is sure to be of
        the second class.
    positive : label, optional
        The class that is always kept.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (2,)
        Sorted; with `positive` the other class first.
    estimator_ : the fitted estimator
    calibrator_ : LogOddsCalibrator or SplineCalibrator
    n_rows_kept_, n_rows_trained_, n_rows_calibrated_, n_features_in_ : int

    References
    ----------
    Mineiro (2010), regression section.
    """

    calibration: str = "log_odds"
    positive: object = None
    _plain = LogisticRegression

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keys: ArrayLike | None = None,
        row_keep_rate: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Reject zeros, train, calibrate.

        Parameters
        ----------
        X : array, sparse matrix or table (n, d)
            What the estimator takes; missing values, categories and text reach it as they are.
        y : array (n,)
            Two classes.
        keys : array (n,) of integers, optional
            Row ids. With them the same rows are kept, held out and trained on whatever
            the order of the rows; without them a row goes by its place.
        row_keep_rate : float or array (n,), optional
            Only with ``keep_rate=None``: the rates at which the zeros were kept.
        sample_weight : array (n,), optional
            Weights for another reason; estimator and spline both honour them.

        Raises
        ------
        CounterweightError
            For bad rates or weights, and where rejection leaves too few rows of a class.
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        kind = type_of_target(y)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        self.classes_, code = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise CounterweightError(
                f"Classifier can't train when only one class is present: all {len(y)} rows are "
                f"{self.classes_[0]!r}."
            )
        zero, one = map(str, self.classes_)
        if self.positive is not None:
            found = np.flatnonzero(self.classes_ == self.positive)
            if not len(found):
                raise CounterweightError(
                    f"positive is {self.positive!r}, but the labels are {zero!r} and {one!r}: name "
                    "one of them."
                )
            if found[0] == 0:
                self.classes_, code = self.classes_[::-1], 1 - code
        elif self.classes_.dtype.kind not in "biuf" and self.keep_rate != 1:
            raise CounterweightError(
                f"The labels are words, {zero!r} and {one!r}, and nothing says of which rows a "
                "part is kept: name the class that is always kept as positive."
            )
        return self._fit(X, code, code.astype(float), keys, row_keep_rate, sample_weight)

    def _check_parts(self, y, train, aside):
        for part, what in ((train, "train on"), (aside, "calibrate on")):
            if len(np.unique(y[part])) < 2:
                raise CounterweightError(
                    f"The {int(part.sum())} kept rows to {what} are of one class only: raise "
                    "keep_rate or give more rows."
                )

    def _bounds(self):
        proba = hasattr(self.estimator_, "predict_proba")
        return ((0.0, 1.0) if proba else None, (0.0, 1.0))

    def _calibrator(self):
        if self.calibration == "log_odds":
            return LogOddsCalibrator()
        return super()._calibrator()

    def _raw(self, X):
        by_margin = self.calibration == "log_odds" and hasattr(self.estimator_, "decision_function")
        if hasattr(self.estimator_, "predict_proba") and not by_margin:
            chance = self.estimator_.predict_proba(X)[:, 1]
            return log_odds_of(chance) if self.calibration == "log_odds" else chance
        if not hasattr(self.estimator_, "decision_function"):
            raise CounterweightError(
                f"{type(self._inner()).__name__} has neither predict_proba nor decision_function: "
                "wrap a classifier, or use CalibratedSubsampleRegressor."
            )
        return self.estimator_.decision_function(X)

    def _positive(self, X):
        return self.calibrator_.predict(self._raw(self._checked_new(X)))


@dataclass(eq=False, repr=False)
class CalibratedSubsampleRegressor(RegressorMixin, _CalibratedSubsample):
    """Regressor trained on rows whose zero rewards were subsampled, calibrated for all.

    As `CalibratedSubsampleClassifier`, for a reward that is a number: rows of y == 0 are
    kept with probability `keep_rate`, all others always. Beyond the outer control points
    the spline is constant, unless `reward_bounds` says where it ends.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        Linear regression if None.
    keep_rate, bins, calibration_share, random_state
        As of `CalibratedSubsampleClassifier`.
    reward_bounds : (float, float), optional
        Least and greatest possible reward. The spline then ends there at the least and
        greatest score of the held-out rows, as in the paper; without it a range as wide as
        the largest reward would bend the spline at its ends.

    Attributes
    ----------
    estimator_, calibrator_, n_rows_kept_, n_rows_trained_, n_rows_calibrated_, n_features_in_
        As of `CalibratedSubsampleClassifier`, with the reference.
    """

    reward_bounds: tuple | None = None
    _plain = LinearRegression

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        keys: ArrayLike | None = None,
        row_keep_rate: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Reject zeros, train, calibrate; see `CalibratedSubsampleClassifier.fit`."""
        X, y = self._checked(X, y, y_numeric=True)
        y = np.asarray(y, dtype=float)
        return self._fit(X, y, y, keys, row_keep_rate, sample_weight)

    def _bounds(self):
        return (None, "flat" if self.reward_bounds is None else self.reward_bounds)

    def _raw(self, X):
        return np.asarray(self.estimator_.predict(X), dtype=float)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Expected reward in the population before rejection, (n,)."""
        return self.calibrator_.predict(self._raw(self._checked_new(X)))


def _held_out(nonzero, kept, keys, share, seed):
    """Kept rows to calibrate on: of each kind the given share, at least one of two."""
    aside = np.zeros(len(kept), bool)
    for kind in (kept & nonzero, kept & ~nonzero):
        rows = np.flatnonzero(kind)
        rows = rows[drawing_order(keys[rows], seed)]
        count = int(np.clip(np.floor(share * len(rows) + 0.5), min(1, len(rows) - 1), None))
        aside[rows[: min(count, max(len(rows) - 1, 0))]] = True
    return aside


TASK = "missing_outcomes"
OPTIONS = {
    "learner": Choice("boosting", ["linear", "boosting"], "What learns from the rows as they are, without weights."),
    "bins": Integer(20, "Bins of equal count of the calibration.", minimum=1),
}  # fmt: skip
LABEL = "{learner}, calibrated"
VALUE_LABELS = {"learner": {"linear": "Linear model", "boosting": "Gradient boosting"}}
#: Parts of the rows, each scored by a learner of the others.
FOLDS = 5


class CalibratedNumbers:
    """Expected reward by a learner of the rows as they are, then by weighted means of its score.

    Rows that stand for more than themselves, as zeros that were kept at a rate do, count once in
    learning and by their weight in the calibration, which is by mean: in bins of the score of rows
    that were left out of learning, the mean score is told to be the weighted mean reward, and
    between bins the line between them; falling bins are pooled. A rare rate then does not make a
    few zeros carry the fit. It assumes that the expected reward rises with what is expected among
    the rows as they are, as it does where zeros were dropped at one rate (Mineiro 2010, regression
    section).
    """

    #: It takes encoded rows, and is for numbers alone.
    ENCODED = converged_ = True
    #: Raw scores are other than what is expected; see `EncodedModel.score`.
    link_ = "calibrated"

    def __init__(self, learner="boosting", bins=20):
        self.learner, self.bins = learner, bins

    def fit(self, rows, y, weight=None, *, rng):
        """Fit to n encoded rows; `rng` draws the parts that are left out in turn."""
        order = rng.permutation(len(y))
        fold, score = np.empty(len(y), int), np.empty(len(y))
        fold[order[np.argsort(y[order] != 0, kind="stable")]] = np.arange(len(y)) % FOLDS
        for part in range(FOLDS):
            own = fold == part
            model = EncodedModel.learned(self.learner, rows.take(~own), y[~own], binary=False)
            score[own] = model.predict(rows.take(own))
        self.model_ = EncodedModel.learned(self.learner, rows, y, binary=False)
        bounds = (None, "flat")
        spline = SplineCalibrator(self.bins, bounds, monotone=True).fit(score, y, None, weight)
        self.knots_, self.means_ = spline.control_scores_, spline.control_rewards_
        return self

    def predict(self, rows):
        """Expected reward of all rows that there were, (n,)."""
        return self.answers(self.raw(rows))

    def raw(self, rows):
        """What the learner expects, before the calibration, (n,)."""
        return self.model_.predict(rows)

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        return np.interp(raw, self.knots_, self.means_)

    def contributions(self, rows):
        """Those of the learner; see `EncodedModel.explained`."""
        return self.model_.explained(rows)

    def get_params(self, deep=True):
        """Options by name."""
        return {"learner": self.learner, "bins": self.bins}

    def set_params(self, **options):
        """Set options."""
        vars(self).update(options)
        return self

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {f"learner_{name}": values for name, values in self.model_.to_arrays().items()}
        known = {"boosting": float(self.learner == "boosting"), "converged": 1.0}
        return own | known | {"knots": self.knots_, "means": self.means_}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        made = cls("boosting" if float(arrays["boosting"]) else "linear")
        begin = "learner_"
        own = {
            name.removeprefix(begin): values
            for name, values in arrays.items()
            if name.startswith(begin)
        }
        made.model_ = EncodedModel.of_learner(made.learner, own)
        made.knots_, made.means_ = np.ravel(arrays["knots"]), np.ravel(arrays["means"])
        return made


#: What learns a number, as of any model: itself.
CalibratedNumbers.NUMBERS = CalibratedNumbers


ONE_PASS = {
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
        check_options({name: getattr(self, name) for name in ONE_PASS}, ONE_PASS)
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
