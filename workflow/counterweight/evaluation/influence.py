"""What a metric is: a value, and how far every row moves it.

From the influence of its rows follows the rest, for whatever is registered: standard errors and
intervals over rows, over groups of rows (users, sessions, days) that are the independent draws, of
differences of two models on the same rows, with weights. Most metrics are means over rows
(`row_mean`) or ratios of such means (`Ratio`).

Of a plain function of somebody's own no influence is known: its errors come by leaving out one of
`PARTS` sets of draws after the other (delete-a-group jackknife).
"""

import functools
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights
from counterweight.numerics.estimate import Estimate, mean_interval, ratio_mean, shape_of

#: Sets of draws, at most, that are left out one after the other where no influence is known.
PARTS = 200


class Influence(NamedTuple):
    """A metric and how far each row moves it.

    The sum of `rows` (n,) is 0, and the metric is off by about their sum over the rows drawn;
    `share` (n,) is each row's part of the weight that its sum is divided by. `alike` says whether
    the rows show no variance at all.
    """

    value: float
    rows: np.ndarray
    share: np.ndarray
    alike: bool = False


class Metric:
    """A metric of predictions; as a function it gives value and standard error over the rows.

    Subclasses have ``influence(y, p, weight=None)``, an `Influence`, and may have a better
    ``estimate`` for rows that are independent. `bounds` are the least and largest possible value.
    """

    #: Whether it compares the classes, so that rows of one class have no value.
    classes = False
    #: Whether a chance error of its one denominator moves its variance (see `Shape.pull`).
    pulled = True

    def __init__(self, name, bounds=(0.0, 1.0)):
        self.__name__, self.bounds = name, bounds

    def __call__(self, y, p, weight=None):
        found = self.estimate(y, p, weight)
        return found.value, found.standard_error

    def estimate(self, y, p, weight=None, level=0.95):
        """The metric with its interval over independent rows, an `Estimate`."""
        found = self.influence(y, p, weight)
        return self._told(found, found.value, None, weight, level, self.bounds)

    def grouped(self, y, p, groups, weight=None, level=0.95):
        """See `grouped_estimate`."""
        value = self.estimate(y, p, weight, level).value
        return self._told(self.influence(y, p, weight), value, groups, weight, level, self.bounds)

    def compared(self, y, p, other, weight=None, groups=None, level=0.95):
        """See `compare_metrics`."""
        mine, theirs = self.influence(y, p, weight), self.influence(y, other, weight)
        gap = mine._replace(rows=mine.rows - theirs.rows)
        return self._told(gap, mine.value - theirs.value, groups, weight, level, None)

    def _told(self, found, value, groups, weight, level, bounds):
        mass = found.share if self.pulled else np.zeros(len(found.rows))
        sums, masses = _by_group(groups, found.rows, mass)
        low, high, error = self.interval(value, sums, masses, level, bounds)
        return _of_rows(value, error, low, high, len(found.rows), weight, level)

    def interval(self, value, sums, mass, level, bounds):
        """Low, high and standard error from the influences of G independent draws.

        `sums` (G,) are the influences, `mass` (G,) each draw's part of the denominator (0 for
        metrics of two classes); `bounds` are None of a difference.
        """
        shape, error = shape_of_draws(sums, mass)
        ends = mean_interval(
            value,
            error,
            shape.skewness,
            len(sums),
            level,
            bounds,
            pull=shape.pull,
            kurtosis=shape.kurtosis,
            scale="plain",
        )
        return *ends, error


class RowMean(Metric):
    """A metric that is a weighted mean of one number a row.

    ``function(y, p, weight)`` gives the numbers (n,); `bounds` are those of a number, so of the
    mean, and `most` is the largest that a row can have where they leave it open. With `numbers`
    outcomes are any numbers; else they are 0 and 1 (told as True where 1), and predictions
    probabilities.
    """

    def __init__(self, function, bounds=(0.0, 1.0), numbers=False, most=None):
        super().__init__(function.__name__.lstrip("_"), bounds)
        functools.update_wrapper(self, function)
        self.real, self.most = numbers, most

    def values(self, y, p, weight=None):
        """What it averages, (n,)."""
        rows = (numbers(y, p) if self.real else probabilities(y, p)) + (
            given_weights(weight, len(p)),
        )
        return self.__wrapped__(*rows)

    def influence(self, y, p, weight=None):
        values = self.values(y, p, weight)
        weights = np.ones(len(values)) if weight is None else checked_weights(weight, len(values))
        share = weights / weights.sum()
        value = float(share @ values)
        return Influence(value, share * (values - value), share, bool(np.ptp(values) == 0))

    def estimate(self, y, p, weight=None, level=0.95):
        bounds = self.bounds if self.most is None else (self.bounds[0], self.most)
        return ratio_mean(
            self.values(y, p, weight), weight, level=level, bounds=bounds, scale="plain"
        )


def row_mean(bounds=(0.0, 1.0), **options):
    """Make a `RowMean` of a function: ``@row_mean(bounds=(0.0, None))``."""
    return lambda function: RowMean(function, bounds, **options)


class Ratio(Metric):
    """A ratio of two weighted means of numbers (n,) from 0 up, such as ``above(y, p, weight)``."""

    def __init__(self, name, above, below):
        super().__init__(name, (0.0, None))
        self.above, self.below = above, below

    def influence(self, y, p, weight=None):
        """As of every metric; None where the mean below is 0."""
        y, p = numbers(y, p)
        weights = np.ones(len(p)) if weight is None else checked_weights(weight, len(p))
        above, below = self.above(y, p, weights), self.below(y, p, weights)
        bottom = float(weights @ below)
        if not bottom > 1e-300:
            return None
        value = float(weights @ above) / bottom
        rows = weights * (above - value * below) / bottom
        return Influence(value, rows, weights * below / bottom, not value > 0)


class LeftOut(Metric):
    """A function of somebody's own, ``metric(y, p, weight)``, which gives its value first.

    Its errors over groups, and of differences, come by leaving out parts of the draws.
    """

    def __init__(self, function):
        super().__init__(getattr(function, "__name__", "metric"), (None, None))
        self.function = function

    def __call__(self, y, p, weight=None):
        return self.function(y, p, weight)

    def influence(self, y, p, weight=None):
        """None: it is not known."""
        return None

    def grouped(self, y, p, groups, weight=None, level=0.95):
        y, p = np.asarray(y), np.asarray(p)

        def value(w, rows):
            return self.function(y[rows], p[rows], w)[0]

        return _left_out(value, y, weight, groups, level)

    def compared(self, y, p, other, weight=None, groups=None, level=0.95):
        y, p, other = np.asarray(y), np.asarray(p), np.asarray(other)

        def gap(w, rows):
            mine, theirs = (self.function(y[rows], q[rows], w)[0] for q in (p, other))
            return mine - theirs

        return _left_out(gap, y, weight, groups, level)


def shape_of_draws(sums, mass):
    draws, squares = len(sums), sums * sums
    second = float(squares.sum())
    error = float(np.sqrt(second * draws / (draws - 1))) if draws > 1 else float("nan")
    moments = float(squares @ sums), float(squares @ squares), float(mass @ sums)
    return shape_of(draws, 1.0, second, *moments), error


def _of_rows(value, error, low, high, rows, weight, level):
    """An `Estimate` of rows that may be weighted."""
    effective, largest = float(rows), 1.0
    if weight is not None:
        weight = checked_weights(weight, rows)
        rows, largest = int(np.count_nonzero(weight)), float(weight.max())
        effective = float(weight.sum() ** 2 / (weight @ weight))
    return Estimate(value, error, low, high, rows, effective, largest, level)


def _left_out(value_of, y, weight, groups, level):
    """Estimate of ``value_of(weights, rows)`` by what leaving out parts of the draws does to it.

    The parts are of equal numbers of draws (users, else rows), in the order of their names.
    """
    n = len(y)
    weights = given_weights(weight, n)
    codes = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    draws = int(codes.max()) + 1
    if draws < 2:
        raise CounterweightError(_ONE_GROUP)
    parts = min(draws, PARTS)
    part = codes % parts

    def of(rows):
        return float(value_of(None if weights is None else weights[rows], rows))

    value = of(np.ones(n, bool))
    others = np.array([of(part != k) for k in range(parts)])
    error = float(np.sqrt((parts - 1) / parts * ((others - others.mean()) ** 2).sum()))
    from scipy.special import stdtrit

    half = float(stdtrit(parts - 1, 0.5 + level / 2)) * error
    return replace(_of_rows(value, error, value - half, value + half, n, weight, level), rows=n)


_ONE_GROUP = (
    "All rows are of one group, so nothing is known of how groups differ: give rows of several."
)


def _by_group(groups, influence, mass):
    """Sums of influence and mass over the rows of each group."""
    if groups is None:
        return influence, mass
    groups = np.asarray(groups)
    if groups.shape != influence.shape:
        raise CounterweightError(
            f"There are {len(influence)} rows but groups of shape {groups.shape}: give the group "
            "of each row."
        )
    import pandas as pd

    codes, names = pd.factorize(groups)
    if (codes < 0).any():
        raise CounterweightError(
            f"The group is missing in {int((codes < 0).sum())} of {len(codes)} rows (first: row "
            f"{int(np.argmax(codes < 0))}): fill it in or leave these rows out."
        )
    if len(names) < 2:
        raise CounterweightError(_ONE_GROUP)
    return (np.bincount(codes, part, len(names)) for part in (influence, mass))


def probabilities(y, p):
    """``(y == 1, p)``; refuse what is no label or no probability."""
    p = as_numbers(p, "predictions")
    if p.ndim != 1 or not len(p):
        raise CounterweightError(f"There is nothing to evaluate: predictions of shape {p.shape}.")
    positive = checked_labels(y, len(p), "true label") == 1
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        first = float(p[np.argmax(bad)])
        raise CounterweightError(
            f"{int(bad.sum())} of {len(p)} predictions are not between 0 and 1 (first: "
            f"{first!r}): the model failed, or these are no probabilities."
        )
    return positive, p


def numbers(y, p):
    """``(y, p)`` as finite numbers, one of each for a row."""
    p = _finite(p, "prediction")
    return _finite(y, "reward", p.shape), p


def _finite(values, what, shape=None):
    values = as_numbers(values, f"{what}s")
    if values.ndim != 1 or not len(values) or (shape is not None and values.shape != shape):
        raise CounterweightError(
            f"There must be one {what} for each row, got the shape {values.shape}"
            + (f" for {shape[0]} rows." if shape else ".")
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {len(values)} {what}s are not finite (first: row "
            f"{int(np.flatnonzero(bad)[0])}): fill or drop them first."
        )
    return values


def given_weights(weight, rows):
    return None if weight is None else checked_weights(weight, rows)
