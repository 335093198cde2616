"""Training on rows whose zeros were rejected at a known rate.

Log-odds of a mean of margins are found from a calibration of the mean of fewer. A row that
calibrates has margins only by the learners that have not seen it, one a round of folds. A new row
has those of all learners, whose mean is less noisy, so more is to be made of it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.fragments import Choice, Integer, Number, Option
from counterweight.models.subsampling.calibration import (
    LogOddsCalibrator,
    SplineCalibrator,
    prior_correction,
)
from counterweight.models.subsampling.learners import (
    LEAF,
    LEARNER_NAMES,
    Averaged,
    ConstantModel,
    KeyedClassifier,
)
from counterweight.numerics.checks import check_options, checked_new_rows
from counterweight.numerics.zero_rejection import (
    checked_rates,
    drawing_order,
    keep_weights,
    kept_rows,
    key_order,
    rate_for_share,
    row_uniforms,
)


class MarginNoise:
    """How a margin that is a mean of few is told from one that is a mean of many.

    The margin of a row by a learner is taken to be the row's own part, normal about the mean of its
    class with variance S, and noise of the learner. A mean of R margins has noise of variance v /
    R. Log-odds of the class are then linear in it about the midpoint c of the two means, and their
    slope goes by 1 / (S + v / R). So of a mean M of n margins they are what a curve that was fitted
    to means of R says of ``c + (M - c) (S + v / R) / (S + v / n)``. The noise may grow with the
    distance from c: ``v = a + b (M - c)^2``, by least squares on how the R margins of a row differ.
    Where margins are not normal this is right to the first order in v / S (Carroll, Ruppert,
    Stefanski & Crainiceanu 2006, *Measurement error in nonlinear models*, 2nd ed., sections 3.2 and
    4.8). ``center``, ``signal``, ``constant``, ``growth`` and ``rounds`` are c, S, a, b and R.
    """

    def __init__(self, center, signal, constant, growth, rounds):
        self.center, self.signal = float(center), float(signal)
        self.constant, self.growth, self.rounds = float(constant), float(growth), int(rounds)

    @classmethod
    def of(cls, margins, y, weight):
        """From margins (R, n) by learners that have not seen the rows, y (n,) of both classes and
        weights; None for one round, which does not tell the noise.
        """
        rounds = len(margins)
        if rounds < 2:
            return None
        mean, noise = margins.mean(axis=0), margins.var(axis=0, ddof=1)
        places = [np.average(mean[y == k], weights=weight[y == k]) for k in (0, 1)]
        center, typical = sum(places) / 2, np.average(noise, weights=weight)
        within = np.average((mean - np.where(y == 1, places[1], places[0])) ** 2, weights=weight)
        signal = max(within - typical / rounds, typical / rounds)
        square = (mean - center) ** 2
        spread = square - np.average(square, weights=weight)
        bend = np.average(spread**2, weights=weight)
        growth = np.average(spread * noise, weights=weight) / bend if bend > 0 else 0.0
        growth = max(growth, 0.0)
        constant = max(typical - growth * np.average(square, weights=weight), 0.0)
        return cls(center, signal, constant, growth, rounds)

    def steepened(self, margin, count):
        """Means of `rounds` margins that tell what means of `count` do, (n,)."""
        away = margin - self.center
        noise = self.constant + self.growth * away * away
        total = self.signal + noise / count
        # Without signal and noise there is nothing to tell apart.
        more = np.divide(
            self.signal + noise / self.rounds, total, out=np.ones_like(total), where=total > 0
        )
        return self.center + more * away

    def to_array(self):
        return np.array([self.center, self.signal, self.constant, self.growth, self.rounds])


log = logging.getLogger("counterweight")

TASK = "classification"
OPTIONS = {
    "learner": Choice("logistic", LEARNER_NAMES, "What learns from the kept rows."),
    "keep_rate": Option(0.1,
        "Rate at which rows of class 0 are kept; balanced: as many as of class 1.", type=["number", "string"], above=0, maximum=1, pattern="^balanced$"),
    "correction": Choice("log_odds", ["none", "weights", "spline", "prior", "log_odds"],
        "none: no weights, no correction; weights: a kept row of class 0 weighs 1/keep_rate in training; prior: no "
        "weights, then the odds times keep_rate; log_odds: no weights, then log-odds calibrated with the offset of "
        "keep_rate; spline: no weights, then the paper's calibration spline with corrected control points, whose end "
        "points are 0 and 1, so that the highest scores are predicted too high."),
    "bins": Integer(20, "Bins of equal count of the calibration spline.", minimum=1),
    "calibration_share": Number(0.5, "Share of the kept rows held out to calibrate; correction spline only.", above=0, below=1),
    "folds": Integer(5, "Folds in which kept rows are left out of learning, to calibrate log-odds on them; correction log_odds only.", minimum=2),
    "rounds": Integer(2,
        "How many times rows are put into folds. Learners of all folds and rounds are averaged; two rounds tell how "
        "noisy they are. Correction log_odds only.", minimum=1),
    **LEAF,
}  # fmt: skip
LABEL = "{learner}, {correction}"
VALUE_LABELS = {
    "learner": {
        "sgd": "SGD regression",
        "logistic": "Logistic regression",
        "boosting": "Gradient boosting",
        "tree": "Tree",
    },
    "correction": {
        "weights": "weighted",
        "spline": "spline calibration",
        "prior": "prior correction",
        "none": "uncorrected",
        "log_odds": "calibrated log-odds",
    },
    "keep_rate": {"balanced": "balanced"},
}
#: Corrections whose fits are those without one, at all keep rates or at 1: see `derived`.
DERIVED = {"correction": {"prior": "none", "weights": "none"}}
#: Bounds of scores and of rewards that are probabilities.
UNIT = ((0.0, 1.0), (0.0, 1.0))


@dataclass(eq=False, repr=False)
class SubsampledClassifier(KeyedClassifier):
    """p(y = 1 | x) learned from all rows of class 1 and a part of those of class 0.

    It sees all training rows, but learns from those kept at rate l only. A row's fate is
    a hash of its key: the rows of a lower rate are among those of a higher one, and the
    order of the rows does not matter. Five ways to make up for the rejection: see the
    option ``correction``. With ``spline`` the rows of a share ``calibration_share`` of the keys
    are held out from learning, and the kept ones among them calibrate. The paper's spline ends
    at (1, 1), so the highest scores are predicted too high where no row is sure to be of class 1.

    Log-odds have no such end, and are calibrated on all kept rows, cross-fitted: the rows are put
    into `folds` as many times as there are `rounds`, and each fold is scored by a learner of the
    others. A curve is fitted to a row's mean margin over the rounds. A new row gets the mean margin
    of all learners, which is less noisy, so that the same margin says more (`MarginNoise`).

    Where the kept rows to learn from, or those to calibrate on, are of one class, nothing
    can be learned: the model is then a constant (`ConstantModel`), with a warning,
    ``constant_`` True and ``converged`` 0.

    Parameters
    ----------
    learner, keep_rate, correction, bins, calibration_share, folds, rounds, min_samples_leaf
        See `OPTIONS`.
    random_state : int, Generator or None
        Where `fit` is given no `rng`.

    Attributes
    ----------
    keep_rate_ : float
        l as used.
    rows_trained_ : int
        Kept rows that the learner saw.
    rows_calibrated_ : int
        Kept rows that calibrate; 0 without calibration.
    calibrator_ : SplineCalibrator, LogOddsCalibrator or None
    noise_ : MarginNoise or None
    spline_gap_ : float or None
        Mean |psi_l - psi_1| over all rows set aside for calibration, psi_1 being the
        spline of the same scores from all these rows. A diagnostic: it uses the rejected
        rows, which a log that lost them cannot.
    predictions_out_of_range_ : float
        Share of the rows given (kept or not) whose raw prediction is outside [0, 1].
    constant_, converged_ : bool

    References
    ----------
    Mineiro (2010), regression section.
    """

    learner: str = "logistic"
    keep_rate: float | str = 0.1
    correction: str = "log_odds"
    bins: int = 20
    calibration_share: float = 0.5
    folds: int = 5
    rounds: int = 2
    min_samples_leaf: int = 2
    random_state: object = 0

    SWEPT = (
        "rows_trained",
        "spline_gap",
        "predictions_out_of_range",
        "converged",
        "constant_model",
    )

    #: It learns from rows that were kept before, too.
    RATED = True

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        keys: ArrayLike | None = None,
        rates: ArrayLike | None = None,
    ) -> Self:
        """Reject, learn and correct.

        X (n, d), y (n,) of 0 and 1. `sample_weight` (n,) are weights for another reason, e.g.
        selection: learner and spline honour them under every correction, times those of the
        rejection. `rng` gives the seeds of the rejection, the hold-out and the learner, whatever
        the options: two models with equal generators keep the same rows. `keys` (n,) are row ids,
        their place in the table if None. `rates` (n,) are those at which rows of class 0 were kept
        before they came here; `keep_rate` then rejects some more, and the chances are those of all
        rows that there were. One class only, bad options, rows, weights, keys or rates are refused.
        """
        check_options(vars(self), OPTIONS)
        before, relative = self._before(y, keys, rates)
        X, y, outer, keys = self._by_key(X, y, sample_weight, keys)
        outer = outer * relative
        ones = int(y.sum())
        rejection, held_out, learning = (int(seed) for seed in rng.integers(2**62, size=3))
        self.keep_rate_ = (
            rate_for_share(0.5, ones, len(y) - ones)
            if self.keep_rate == "balanced"
            else float(self.keep_rate)
        )
        kept = kept_rows(y, keys, self.keep_rate_, rejection) & (outer > 0)
        aside = np.zeros(len(y), bool)
        if self.correction == "spline":
            aside = row_uniforms(keys, held_out) < self.calibration_share
        train, calibrate = kept & ~aside, kept & aside
        before *= self.keep_rate_
        known = outer * keep_weights(y, before)

        self.rows_trained_, self.rows_calibrated_ = int(train.sum()), int(calibrate.sum())
        self.calibrator_ = self.noise_ = self.spline_gap_ = None
        parts = [train, calibrate] if self.correction == "spline" else [train]
        least = min(np.bincount(y[part], minlength=2).min() for part in parts)
        if least < (2 if self.correction == "log_odds" else 1):
            log.warning(
                "Of %d training rows %d were kept, and those to learn from or to calibrate on are "
                "of one class%s: the model is a constant. Raise keep_rate.",
                len(y),
                int(kept.sum()),
                " but for one" if least else "",
            )
            learner = ConstantModel(y[kept], known[kept])
        else:
            weight = (known if self.correction == "weights" else outer)[train]
            if self.correction == "log_odds":
                folds = [
                    _folds(y[train], keys[train], min(self.folds, least), held_out + k)
                    for k in range(self.rounds)
                ]
                learner, margins = self._cross_fitted(X[train], y[train], weight, folds, learning)
            else:
                learner = self._learned(X[train], y[train], weight, learning)
        self._use(learner, X)
        if self.constant_:
            return self
        if self.correction == "spline":
            self._calibrate(X[aside], y[aside], outer[aside], kept[aside], before)
        elif self.correction == "log_odds":
            margin = margins.mean(axis=0)
            self.calibrator_ = LogOddsCalibrator().fit(margin, y[train], before, weight)
            self.noise_ = MarginNoise.of(margins, y[train], weight)
            self.rows_calibrated_ = self.rows_trained_
        elif self.correction == "prior":
            self.keep_rate_ = before
        return self

    def _before(self, y, keys, rates):
        """One rate at which rows were kept before, and weights (n,) that make it one, by key.

        Where rates differ, zeros weigh l / l_i, with l so that they weigh one on average: then they
        are as if all had been kept at l.
        """
        y = np.asarray(y)
        if rates is None:
            return 1.0, np.ones(len(y))
        zero = y == 0
        rates = np.broadcast_to(checked_rates(y, rates), len(y))
        one = float(zero.sum() / (1 / rates[zero]).sum()) if zero.any() else 1.0
        if (rates[zero] == rates[zero][:1]).all():
            one = float(rates[zero][0]) if zero.any() else 1.0
        keys = np.arange(len(y)) if keys is None else np.asarray(keys)
        return one, np.where(zero, one / rates, 1.0)[key_order(keys, len(y))]

    def _cross_fitted(self, X, y, weight, folds, seed):
        """Learners that each leave one fold out, and margins (rounds, n) of rows left out."""
        margins, members = np.empty((len(folds), len(y))), []
        for k, fold in enumerate(folds):
            for part in range(fold.max() + 1):
                out = fold == part
                members.append(self._learned(X[~out], y[~out], weight[~out], seed + k))
                margins[k, out] = members[-1].margin(X[out])
        return Averaged(members), margins

    def _calibrate(self, X, y, outer, kept, rate):
        score = self.learner_.score(X)
        self.calibrator_ = SplineCalibrator(self.bins, UNIT).fit(
            score[kept], y[kept], rate, outer[kept]
        )
        if rate != self.keep_rate_:
            return  # rows that were dropped before cannot be looked at
        whole = SplineCalibrator(self.bins, UNIT).fit(score, y, None, outer)
        gap = np.abs(self.calibrator_.predict(score) - whole.predict(score))
        self.spline_gap_ = float(np.average(gap, weights=outer))

    def _positive(self, X):
        X = checked_new_rows(X, self.n_features_in_)
        if isinstance(self.calibrator_, LogOddsCalibrator):
            margin = self.learner_.margin(X)
            if self.noise_ is not None:
                margin = self.noise_.steepened(margin, len(self.learner_.members))
            return self.calibrator_.predict(margin)
        positive = self.learner_.score(X)
        if self.calibrator_ is not None:
            return self.calibrator_.predict(positive)
        if self.correction == "prior" and not self.constant_:
            return prior_correction(positive, self.keep_rate_)
        return positive

    @staticmethod
    def derived(options: dict, p: np.ndarray, numbers: dict) -> np.ndarray | None:
        """Answers made of those p of the fit without a correction, whose `numbers` are known.

        None where these options have a fit of their own.
        """
        rate = options["keep_rate"]
        if options["correction"] == "prior" and not isinstance(rate, str):
            return p if numbers["constant_model"].any() else prior_correction(p, float(rate))
        return p if rate == 1 else None

    def to_arrays(self):
        """What can be told in numbers of at most three dimensions.

        ``learner`` and ``correction`` are places in the lists of `OPTIONS`; numbers that a
        correction does not have are empty.
        """
        return self._arrays(
            learner=OPTIONS["learner"]["enum"].index(self.learner),
            correction=OPTIONS["correction"]["enum"].index(self.correction),
            features=self.n_features_in_,
            control_scores=getattr(self.calibrator_, "control_scores_", None),
            control_rewards=getattr(self.calibrator_, "control_rewards_", None),
            calibration_coef=getattr(self.calibrator_, "coef_", None),
            calibration_knots=getattr(self.calibrator_, "knots_", None),
            calibration_center=getattr(self.calibrator_, "center_", None),
            margin_noise=None if self.noise_ is None else self.noise_.to_array(),
            keep_rate=self.keep_rate_,
            rows_trained=self.rows_trained_,
            rows_calibrated=self.rows_calibrated_,
            spline_gap=self.spline_gap_,
        )

    @classmethod
    def from_arrays(cls, arrays):
        """A model from what `to_arrays` gave; it can predict."""
        arrays = {name: values for name, values in arrays.items() if np.size(values)}
        model = cls._stored(arrays, OPTIONS)
        model.keep_rate = model.keep_rate_ = float(np.ravel(arrays["keep_rate"])[0])
        model.calibrator_ = model.noise_ = None
        if "margin_noise" in arrays:
            model.noise_ = MarginNoise(*np.ravel(arrays["margin_noise"]))
        if "calibration_coef" in arrays:
            model.calibrator_ = LogOddsCalibrator().use(
                np.ravel(arrays["calibration_coef"]),
                np.ravel(arrays.get("calibration_knots", ())),
                float(np.ravel(arrays["calibration_center"])[0]),
            )
        if "control_scores" in arrays:
            model.calibrator_ = SplineCalibrator(bounds=UNIT)
            model.calibrator_.control_scores_ = np.ravel(arrays["control_scores"])
            model.calibrator_.control_rewards_ = np.ravel(arrays["control_rewards"])
        return model


def _folds(y, keys, folds, seed):
    """Fold of each row, by class in an order that hangs on its key, (n,)."""
    fold = np.empty(len(y), int)
    for kind in (0, 1):
        rows = np.flatnonzero(y == kind)
        fold[rows[drawing_order(keys[rows], seed)]] = np.arange(len(rows)) % folds
    return fold
