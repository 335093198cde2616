"""How far the answer for one row can be trusted, as a function of its score."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights

KINDS = ("binary", "number", "amount")

#: Points of the grid on which a band is kept.
POINTS = 201

#: Smallest and largest share of the weight in the window around a score.
LEAST_SHARE, LARGEST_SHARE = 0.05, 0.5

#: Below this share of the mean amount, differences count more than ratios.
SMALL = 0.1

#: Effective rows that a window should have at least, if there are so many.
WINDOW_ROWS = 60


class CalibrationBand:
    """An interval for each row's answer, from the outcomes of labeled rows with like scores.

    ``binary``: of the true rate among rows with such a score. In a window of scores the weighted
    rate has Wilson's interval for the window's effective rows; it is moved from the window's middle
    to each score along a recalibrated curve, so that windows may be wide. Isotonic regression then
    makes estimate and ends rise with the score. ``number``: of a new row's
    outcome, by conformal prediction: quantiles of the labeled rows' residuals, in units of
    their size at such predictions, each tail by itself. It covers at least `level` of new rows,
    averaged over rows, if labeled rows and new ones are exchangeable after weighting.
    ``amount``: the same of numbers from 0 up, by residuals of log(1 + amount / unit), the unit
    a tenth of the mean: on the scale of ratios, where zeros are allowed and no end is below 0.
    Sizes are of each side by itself, since amounts lie further above what is expected than
    below.

    Attributes
    ----------
    score_, low_, middle_, high_ : arrays (P,)
        Grid of scores, ascending; ends and estimate there, of numbers relative to the prediction.
    unit_ : float
        Of amounts; 0 of others.
    enough_ : bool
        Whether there are rows enough for the level (numbers: else the largest residuals stand).

    References
    ----------
    Wilson (1927); Tibshirani, Foygel Barber, Candes & Ramdas (2019), *NeurIPS* 32; Lei et al.
    (2018), *JASA* 113, section 5.2.
    """

    def __init__(self, kind="binary", level=0.95):
        if kind not in KINDS:
            raise CounterweightError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}.")
        if not 0 < level < 1:
            raise CounterweightError(f"level is {level}; it must lie between 0 and 1.")
        self.kind = kind
        self.level = level

    def fit(self, y, prediction, weight=None):
        """Fit on out-of-fold predictions of the labeled rows.

        Parameters
        ----------
        y, prediction, weight : array (M,)
            As in `counterweight.evaluation.cross_validation.quality`.
        """
        prediction = as_numbers(prediction, "predictions")
        if prediction.ndim != 1 or not len(prediction) or not np.isfinite(prediction).all():
            raise CounterweightError("A band needs one finite prediction for each labeled row.")
        weight = checked_weights(weight, len(prediction))
        if self.kind == "binary":
            y = checked_labels(y, len(prediction), "outcome").astype(float)
            if prediction.min() < 0 or prediction.max() > 1:
                raise CounterweightError("Predictions of a band of rates lie between 0 and 1.")
        else:
            y = as_numbers(y, "outcomes")
            if y.shape != prediction.shape or not np.isfinite(y).all():
                raise CounterweightError("A band needs one finite outcome for each prediction.")
            if self.kind == "amount" and min(y.min(), prediction.min()) < 0:
                raise CounterweightError("Outcomes and predictions of amounts are from 0 up.")
        used = weight > 0
        order = np.flatnonzero(used)[np.argsort(prediction[used], kind="stable")]
        y, prediction, weight = y[order], prediction[order], weight[order]
        windows = _Windows(prediction, weight)
        self.score_ = windows.score
        self.unit_ = SMALL * float(np.average(y, weights=weight)) if self.kind == "amount" else 0.0
        if self.kind == "binary":
            self._fit_rates(y, prediction, weight, windows)
        else:
            self._fit_numbers(y, prediction, weight, windows)
        return self

    def _fit_rates(self, y, p, weight, windows):
        from scipy.optimize import isotonic_regression
        from scipy.special import expit, ndtri

        recalibrated = _Recalibration(y, p, weight)
        curve = expit(recalibrated(p))
        rate, expected = windows.mean(y), windows.mean(curve)
        n, z = windows.effective, ndtri(0.5 + self.level / 2)
        middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
        # From the window's mean to the score, along the curve, whose own error comes to it.
        move = recalibrated(windows.score) - _logit(expected)
        basis = np.column_stack([windows.mean(column) for column in recalibrated.basis(p).T])
        blur = z * recalibrated.error(recalibrated.basis(windows.score) - basis)
        centre, ends = _logit(middle), [_logit(middle - half), _logit(middle + half)]
        low, high = (
            expit(centre + sign * np.hypot(end - centre, blur) + move)
            for sign, end in zip((-1, 1), ends, strict=True)
        )
        low, high = np.where(rate > 0, low, 0.0), np.where(rate < 1, high, 1.0)
        moved = expit(_logit(rate) + move)
        # Monotone by averages, not by running extremes, which would pick lucky windows.
        self.low_, self.middle_, self.high_ = (
            isotonic_regression(ends, weights=n).x for ends in (low, moved, high)
        )
        self.middle_ = np.clip(self.middle_, self.low_, self.high_)
        self.enough_ = True

    def _fit_numbers(self, y, prediction, weight, windows):
        residual = self._scaled(y) - self._scaled(prediction)
        own = weight @ weight / weight.sum()
        # A new row of the target has weight sum w^2 / sum w on the average.
        tail = (1 - self.level) / 2 * (weight.sum() + own)
        self.enough_, ends = bool(tail >= own), []
        for sign in (-1, 1):
            part = np.maximum(sign * residual, 0) if self.unit_ else np.abs(residual)
            size, overall = windows.mean(part), np.average(part, weights=weight)
            # Towards the overall size, so that a window of good luck does not promise too much.
            n = windows.effective
            size = (n * size + 10 * overall) / (n + 10)
            size = np.maximum(size, 1e-3 * overall) if overall > 0 else np.ones(len(size))
            scaled = sign * residual / np.interp(prediction, windows.score, size)
            end = _upper_end(scaled, weight, tail - own if self.enough_ else 0.0)
            ends.append(sign * max(end, 0.0) * size)
        self.low_, self.high_ = ends
        self.middle_ = np.zeros(len(size))

    def _scaled(self, values):
        """Amounts on the scale of ratios; other numbers as they are."""
        return np.log1p(np.maximum(values, 0) / self.unit_) if self.unit_ else values

    def interval(self, prediction, contain=True):
        """Ends (m,) of the interval of each row's answer; NaN where the prediction is.

        `contain` widens intervals of rates to hold the prediction itself, where a model is so badly
        calibrated that they do not.
        """
        prediction = as_numbers(prediction, "predictions")
        low = np.interp(prediction, self.score_, self.low_)
        high = np.interp(prediction, self.score_, self.high_)
        if self.unit_:
            middle = self._scaled(prediction)
            return tuple(self.unit_ * np.expm1(np.maximum(middle + end, 0)) for end in (low, high))
        if self.kind != "binary":
            return prediction + low, prediction + high
        if contain:
            low, high = np.minimum(low, prediction), np.maximum(high, prediction)
        return low, high

    def estimate(self, prediction):
        """Recalibrated rate of rows with such scores; numbers are returned as they are."""
        prediction = as_numbers(prediction, "predictions")
        if self.kind != "binary":
            return prediction
        return np.interp(prediction, self.score_, self.middle_)

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "kind": float(KINDS.index(self.kind)),
            "level": self.level,
            "score": self.score_,
            "low": self.low_,
            "middle": self.middle_,
            "high": self.high_,
            "enough": float(self.enough_),
            "unit": self.unit_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted band from `to_arrays`."""
        band = cls(KINDS[int(arrays["kind"])], float(arrays["level"]))
        for name in ("score", "low", "middle", "high"):
            setattr(band, f"{name}_", np.asarray(arrays[name], dtype=float))
        band.enough_ = bool(arrays["enough"])
        band.unit_ = float(arrays.get("unit", 0.0))  # none in files of 1.0.0
        return band


def _upper_end(values, weight, spared):
    """The largest value but of rows that weigh `spared` at most, those at or above it."""
    order = np.argsort(values, kind="stable")
    above = np.cumsum(weight[order][::-1])[::-1]
    at = np.searchsorted(-above, -spared) - 1 if spared > 0 else len(order) - 1
    return float(values[order[min(max(at, 0), len(order) - 1)]])


class _Windows:
    """Windows of equal weight around grid points ``score`` (P,), distinct and ascending, in sorted
    scores; ``effective`` (P,) are Kish's effective rows of each.
    """

    def __init__(self, score, weight):
        self.weight, self.running = weight, np.concatenate([[0.0], np.cumsum(weight)])
        total = self.running[-1]
        effective = total**2 / (weight @ weight)
        share = max(WINDOW_ROWS / effective, effective**-0.2 / 2)
        half = total * min(max(share, LEAST_SHARE), LARGEST_SHARE) / 2
        place = self.running[:-1] + weight / 2
        grid = np.interp(np.linspace(0, total, POINTS), place, score)
        self.score = np.unique(grid)
        at = np.interp(self.score, *_first_of_each(score, place))
        at = np.clip(at, half, total - half)
        self.start = np.searchsorted(place, at - half, side="left")
        self.stop = np.searchsorted(place, at + half, side="right")
        # Rows with the same score stand or fall together.
        last = len(score) - 1
        start, stop = np.minimum(self.start, last), np.clip(self.stop - 1, 0, last)
        self.start = np.searchsorted(score, score[start], side="left")
        self.stop = np.searchsorted(score, score[stop], side="right")
        squares = np.concatenate([[0.0], np.cumsum(weight * weight)])
        self.total = self.running[self.stop] - self.running[self.start]
        self.effective = self.total**2 / (squares[self.stop] - squares[self.start])

    def mean(self, values):
        """Weighted mean of values (M,) in each window."""
        sums = np.concatenate([[0.0], np.cumsum(self.weight * values)])
        found = (sums[self.stop] - sums[self.start]) / self.total
        return np.clip(found, values.min(), values.max())


def _first_of_each(score, place):
    """Distinct scores and the middle of the places of their rows."""
    distinct, first, count = np.unique(score, return_index=True, return_counts=True)
    return distinct, (place[first] + place[first + count - 1]) / 2


def _logit(p):
    from scipy.special import logit

    return logit(np.clip(p, 1e-6, 1 - 1e-6))


class _Recalibration:
    """Logit of the rate as a broken line of the logit of the score, by logistic regression."""

    def __init__(self, y, p, weight):
        from scipy.special import expit

        from counterweight.numerics.linear import fit_logistic

        # Sums in bins of like scores are as good as rows, and few.
        bins = np.arange(len(p)) * min(1000, len(p)) // len(p)
        total = np.bincount(bins, weight)
        score = np.bincount(bins, weight * p) / np.maximum(total, 1e-300)
        ones = np.bincount(bins, weight * y)
        at = _logit(score)
        effective = weight.sum() ** 2 / (weight @ weight)
        parts = [0.2, 0.5, 0.8] if effective >= 500 else [0.5] if effective >= 200 else []
        self.knots = np.unique(np.quantile(at, parts))
        rate = (ones.sum() + 0.5) / (total.sum() + 1)
        self.coef, self.shift = np.zeros(1 + len(self.knots)), float(_logit(rate))
        self.covariance = np.zeros((len(self.coef),) * 2)
        if not 0 < ones.sum() < total.sum() * (1 - 1e-12) or np.ptp(at) < 1e-6:
            return
        X = self.basis(score)
        varies = np.ptp(X, axis=0) > 1e-9
        label = np.repeat([1, 0], len(at))
        both = np.concatenate([ones, np.maximum(total - ones, 0)])
        found = fit_logistic(np.tile(X[:, varies], (2, 1)), label, both, 1e-3)
        self.coef[varies], self.shift = found[:2]
        rates = expit(self(score))
        worth = total * rates * (1 - rates) * effective / total.sum()
        centred = X - worth @ X / worth.sum()
        self.covariance = np.linalg.pinv(
            (centred.T * worth) @ centred + 1e-3 * effective * np.diag(X.var(axis=0))
        )

    def basis(self, p):
        """Columns of the broken line: the logit, and how far it is beyond each knot."""
        at = _logit(p)
        return np.column_stack([at, *(np.maximum(at - knot, 0) for knot in self.knots)])

    def error(self, step):
        """Standard error of the line's change over steps (m, columns)."""
        return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", step, self.covariance, step), 0))

    def __call__(self, p):
        """Logit of the rate."""
        return np.clip(self.basis(p) @ self.coef + self.shift, -14, 14)
