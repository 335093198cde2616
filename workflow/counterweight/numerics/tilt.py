"""Tilts of probabilities by a number in the log odds, and estimates of that number.

With p1(x) = p(y=1|x, s=1) of labeled rows, the tilt assumes that other rows have

    logit p(y=1|x, s=0) = logit p1(x) + delta:

selection may depend on x as it will, and on y by one factor of its odds. No data tell delta
without more. EM, moments and label-only moments find it where, beyond that, the features given the
label are distributed alike in both (label shift); otherwise they give a number all the same, and
it is not delta. A known rate, or known odds, need no such assumption.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    as_numbers,
    check_same_columns,
    checked_labels,
    checked_rows,
    labels_of,
)
from counterweight.numerics.linear import (
    calibrated_classes,
    class_calibration,
    class_calibration_influence,
    expit,
    fit_logistic,
    logit,
    mixture_shares,
    normalised,
)

#: Ways to come by delta; those of `ESTIMATED` assume label shift.
ESTIMATED = ("em", "moments", "label_only")
GIVEN = ("rate", "times", "fixed")
#: Log odds are kept between minus and plus this much where a slope is fitted to them.
LARGEST = 30.0
#: Shares from which on a class is taken to be there.
INSIDE = 1e-9
#: Class means that differ by less than this, in standard errors, say nothing of delta.
WEAK = 3.0


class Calibration(NamedTuple):
    """Calibrated log odds: ``slope * logit p + constant``.

    For two classes this is temperature scaling with a bias for each class (Alexandari, Kundaje &
    Shrikumar 2020, "Maximum likelihood with bias-corrected calibration is hard-to-beat at label
    shift adaptation"): the slope is one over the temperature.
    """

    slope: float = 1.0
    constant: float = 0.0

    @classmethod
    def fitted(cls, p, y):
        """From probabilities of rows that their model has not seen.

        `p` array (M,); `y` array (M,) of 0 and 1. Returns Calibration: a slope below 0 is taken for
        0: scores that point the wrong way say nothing.
        """
        odds = _odds(p)
        y = checked_labels(y, len(odds))
        if not np.ptp(odds):
            return cls(0.0, float(logit(y.mean())))
        coef, constant, _, _ = fit_logistic(odds[:, None], y)
        if coef[0] < 0:
            return cls(0.0, float(logit(y.mean())))
        return cls(float(coef[0]), constant)

    def __call__(self, p):
        """Calibrated probabilities."""
        return expit(self.slope * _odds(p) + self.constant)


@dataclass(frozen=True)
class Delta:
    """How much the log odds of the target rows differ from those of labeled ones.

    Attributes
    ----------
    value : float
        Minus or plus infinity at an end of `rate`.
    by : str
    rate : float
        Estimated rate of y = 1 among the target rows; under label shift their prior.
    error_labeled, error_target : float
        Standard errors from the labels and from the target rows; NaN where delta is given, and at
        an end.
    end : str
        "0" or "1" where the rate came out as that; else "".
    weights : (float, float)
        Of labels 0 and 1: the priors of the target over those of the labeled rows. One below 0 is
        what moments may give where label shift does not hold.
    told : tuple of str
        Sentences on what went wrong.
    rate_error : float
        Of `rate` as an estimate of the share of 1 among these very target rows, under label shift;
        of em alone, else NaN.
    """

    value: float
    by: str
    rate: float
    error_labeled: float = np.nan
    error_target: float = np.nan
    end: str = ""
    weights: tuple = (np.nan, np.nan)
    told: tuple = ()
    rate_error: float = np.nan

    @property
    def standard_error(self):
        """Of `value`, from both samples."""
        return float(np.hypot(self.error_labeled, self.error_target))


def tilted(p: ArrayLike, delta: float) -> np.ndarray:
    """Probabilities whose log odds are moved by delta.

    Parameters
    ----------
    p : array
        A probability of 0 or 1 stays what it is.
    delta : float or array
        May be infinite; broadcast against `p`.

    References
    ----------
    Saerens, Latinne & Decaestecker (2002), *Neural Computation* 14, equation 2.4, with the
    difference of the log odds of both priors as delta.
    """
    return moved_chances(np.asarray(p, float), *odds_factors(np.asarray(delta, float)))


def odds_factors(delta):
    """Factors of p and of 1 - p that move log odds by delta; the larger is 1, so none overflows."""
    small, up = np.exp(-np.abs(delta)), delta >= 0
    return np.where(up, 1.0, small), np.where(up, small, 1.0)


def moved_chances(p, of_one, of_zero):
    """Chances of p and 1 - p times their factors; 0 and 1 stay."""
    one = p * of_one
    both = one + (1 - p) * of_zero
    with np.errstate(invalid="ignore"):
        return np.where(both > 0, one / both, p)


def estimate_delta(
    p: ArrayLike,
    y: ArrayLike,
    p_target: ArrayLike,
    *,
    by: str = "em",
    rate: float | None = None,
    times: float | None = None,
    value: float | None = None,
    X: ArrayLike | None = None,
    X_target: ArrayLike | None = None,
    hard: bool = True,
    fitted: bool = True,
    group: ArrayLike | None = None,
) -> Delta:
    """Delta by one of the ways, as a `Delta`.

    Parameters
    ----------
    p, p_target : array (M,), (N,)
        Calibrated p1 of the labeled rows, each by a model that has not seen its label, and of the
        target rows.
    y : array (M,) of 0 and 1
    by : {"em", "moments", "label_only", "rate", "times", "fixed"}
        em: the prior of the target with the largest likelihood (Saerens, Latinne & Decaestecker
        2002), found directly, since it is concave. moments: predicted shares (BBSE: Lipton, Wang &
        Smola 2018), of p >= 1/2 if `hard`, else means of p. label_only: means of the features
        `X`, `X_target` (Rosset, Zhu, Zou & Hastie 2005: p(s=1|y) = sigma(a + b y), delta = -b).
        rate: the mean of the tilted p is `rate`. times: at equal features the odds of the target
        are `times` as large. fixed: delta is `value`.
    fitted : bool
        Whether p was calibrated to these labels: the noise of that is then part of
        `Delta.error_labeled`. That of the model itself never is.
    group : int array (M + N,) from 0, optional: of labeled, then target rows, for errors of em

    Raises
    ------
    CounterweightError
        For what is missing or out of range, and where features do not tell the labels apart.
    """
    p, p_target = _probabilities(p, "labeled"), _probabilities(p_target, "target")
    y = checked_labels(y, len(p))
    if not len(p_target) or y.min(initial=1) == y.max(initial=0):
        raise CounterweightError(
            f"The tilt needs labels of both kinds and target rows; there are {len(y)} labels, of "
            f"which {int(y.sum())} are 1, and {len(p_target)} target rows."
        )
    if by == "em":
        return _by_likelihood(p, y, p_target, fitted, group)
    if by == "moments":
        scores = [(v >= 0.5).astype(float) if hard else v for v in (p, p_target)]
        return _by_means(scores[0], y, scores[1], p_target, by)
    if by == "label_only":
        if X is None or X_target is None:
            raise CounterweightError("Label-only moments need the features: give X and X_target.")
        check_same_columns(labels_of(X), labels_of(X_target), "X_target", warn=False)
        scores = label_scores(X, y, X_target)
        return _by_means(scores[0], y, scores[1], p_target, by)
    needed = {"rate": rate, "times": times, "fixed": value}
    if by not in needed:
        raise CounterweightError(
            f"Delta by {by!r} is not known; choose one of {', '.join(ESTIMATED + GIVEN)}."
        )
    number = np.nan if needed[by] is None else float(needed[by])
    if by == "rate":
        if not 0 < number < 1:
            raise CounterweightError(
                f"The rate of the target rows is {needed[by]}; it must lie between 0 and 1."
            )
        return _by_rate(p, y, p_target, number, fitted)
    if by == "times" and not 0 < number < np.inf:
        raise CounterweightError(
            f"The odds of the target rows are {needed[by]} times those of labeled rows; give a "
            "number above 0."
        )
    if by == "fixed" and not np.isfinite(number):
        raise CounterweightError(f"The given delta is {needed[by]}; give a number.")
    number = float(np.log(number)) if by == "times" else number
    return Delta(number, by, float(tilted(p_target, number).mean()))


def label_scores(X, y, X_target):
    """The one feature that label-only moments go by: linear, 0 and 1 at the means of the labels.

    Rosset's moments ask that the mean of each feature over the target rows is the mixture of its
    means over labels 1 and 0, ``x0 = rate m1 + (1 - rate) m0``: d equations for one number, solved
    by least squares in units of the target's standard deviations. That is the mean over the target
    of ``(x - m0)'W(m1 - m0) / (m1 - m0)'W(m1 - m0)``.

    Returns `labeled`, `target` array (M,), (N,).
    """
    X, X_target = checked_rows(X), checked_rows(X_target)
    y = checked_labels(y, len(X))
    spread = X_target.std(axis=0)
    used = (spread > 1e-12 * (1 + np.abs(X_target.mean(axis=0)))) & (np.ptp(X, axis=0) > 0)
    zero = X[y == 0].mean(axis=0)
    way = np.where(used, X[y == 1].mean(axis=0) - zero, 0.0)
    by = way / np.where(used, spread, 1.0) ** 2
    length = way @ by
    if not length > 0:
        raise CounterweightError(
            "The features have the same means for both labels, so label-only moments say nothing: "
            "choose by: em, or give the rate."
        )
    return (X - zero) @ by / length, (X_target - zero) @ by / length


def gap_left(X, y, X_target, rate):
    """Gap of feature means that remains once labeled rows are weighted, by label, to a rate.

    Under label shift and at the right rate it is 0 but for noise. It is told as a share of the
    gap without weights.

    `X` array (M, d); `y` array (M,); `X_target` array (N, d). Returns `share` float: mean over
    features of the standardised gap, after over before; NaN where there was none; `before`, `after`
    array (d,): labeled less target, in standard deviations of the target rows (0 where they have
    none).
    """
    spread = X_target.std(axis=0)
    spread = np.where(spread > 0, spread, np.inf)
    aim, prior = X_target.mean(axis=0), y.mean()
    weight = np.where(y == 1, rate / prior, (1 - rate) / (1 - prior))
    before = (X.mean(axis=0) - aim) / spread
    after = (weight @ X / len(X) - aim) / spread
    whole = np.abs(before).mean()
    share = float(np.abs(after).mean() / whole) if whole > 0 else np.nan
    return share, before, after


def gap_beyond_chance(X, y, X_target, rate):
    """Whether what `gap_left` finds is more than chance: a p-value under label shift.

    Of the feature whose gap after weighting is the most standard errors, times the number of
    features (Bonferroni), at most 1. Features of one class vary at least as much as in the target,
    so that a level that no row of the class happens to have is no surprise; that the rate was
    estimated makes gaps smaller. Both err to the side of label shift. Means alone are compared.

    Shapes as `gap_left`. NaN where no feature varies.
    """
    from scipy.special import ndtr

    spread = X_target.std(axis=0)
    used = spread > 1e-12 * (1 + np.abs(X_target.mean(axis=0)))
    if not used.any():
        return np.nan
    _, _, after = gap_left(X, y, X_target, rate)
    variance = np.full(used.sum(), 1 / len(X_target))
    for share, part in ((rate, X[y == 1]), (1 - rate, X[y == 0])):
        own = np.square(part[:, used].std(axis=0) / spread[used])
        variance += share**2 * np.maximum(own, 1.0) / len(part)
    farthest = np.max(np.abs(after[used]) / np.sqrt(variance))
    return float(min(2 * ndtr(-farthest) * used.sum(), 1.0))


def _by_likelihood(p, y, p_target, fitted, group):
    """EM prior shift. The score of delta is mean q - prior tilted by delta, q the tilted p.

    The rate follows from delta and the prior of the labeled rows, and has the errors of both. Of
    the target rows, the share of 1 itself varies with the same rows, so that of the variance of
    the estimate, ``V^2 / S`` a row for V = rate (1 - rate) and S the variance of q, V less is left.
    """
    prior = y.mean()
    # Likelihoods of the two labels, and slopes of the log likelihood at both ends of the rate.
    one, zero = p_target / prior, (1 - p_target) / (1 - prior)
    with np.errstate(divide="ignore"):
        if np.mean(one / zero) <= 1:
            return _at_end("em", 0.0)
        if np.mean(zero / one) <= 1:
            return _at_end("em", 1.0)

    def slope(rate):
        return np.mean((one - zero) / (rate * one + (1 - rate) * zero))

    low, high = 0.5, 0.5
    while slope(low) < 0 and low > 1e-300:
        low /= 8
    while slope(high) > 0 and 1 - high > 1e-15:
        high = 1 - (1 - high) / 8
    from scipy.optimize import brentq

    rate = brentq(slope, low, high, xtol=1e-300, rtol=1e-14) if low < high else low
    delta = float(logit(rate) - logit(prior))
    q = tilted(p_target, delta)
    spread = np.mean((q - rate) ** 2)
    bend = -rate * (1 - rate) / (prior * (1 - prior)) * (y - prior) / len(y)
    if fitted:
        bend = bend + _calibration_noise(p, y, p_target, q)
    whole = rate * (1 - rate)
    of_rate = whole * (bend / spread + (y - prior) / len(y) / (prior * (1 - prior)))
    left, design = max(whole - spread, 0.0) * whole / spread / len(q), 1.0
    if group is not None:
        bend, of_rate = (np.bincount(group[: len(y)], part) for part in (bend, of_rate))
        of_group = np.bincount(group[len(y) :], q - rate)
        design = of_group @ of_group / (len(q) * spread)
    return Delta(
        delta,
        "em",
        float(rate),
        float(np.sqrt(bend @ bend) / spread),
        float(np.sqrt(design) / np.sqrt(len(q) * spread)),
        "",
        (float((1 - rate) / (1 - prior)), float(rate / prior)),
        rate_error=float(np.sqrt(of_rate @ of_rate + design * left)),
    )


def _by_means(z, y, z_target, p_target, by):
    """Rate at which the mean of a score over the target is the mixture of its class means."""
    prior, one, zero = y.mean(), z[y == 1].mean(), z[y == 0].mean()
    way = one - zero
    noise = np.sqrt(z[y == 1].var() / y.sum() + z[y == 0].var() / (len(y) - y.sum()))
    if abs(way) <= WEAK * noise:
        raise CounterweightError(
            f"Delta by {by} needs scores that tell the labels apart, and theirs differ by "
            f"{way:.3g} with a standard error of {noise:.2g}: choose by: em, or give the rate."
        )
    rate = float((z_target.mean() - zero) / way)
    weights = (float((1 - rate) / (1 - prior)), float(rate / prior))
    if not 0 < rate < 1:
        told = ""
        if not 0 <= rate <= 1:
            beyond = min(rate, 1 - rate)
            of_target = z_target.std() / np.sqrt(len(z_target))
            error = np.hypot(of_target, (1 + abs(beyond)) * noise) / abs(way)
            told = (
                f"The weight of label {int(rate < 0)} comes out as {min(weights):.3g}, below 0: "
                + _below_0(beyond, error, "label")
            )
        return _at_end(by, float(rate > 0), weights, told)
    spread = rate * (1 - rate)
    parts = np.where(
        y == 1, -rate * (z - one) / y.sum(), -(1 - rate) * (z - zero) / (len(y) - y.sum())
    )
    parts = parts / way / spread - (y - prior) / len(y) / (prior * (1 - prior))
    error = z_target.std() / np.sqrt(len(z_target)) / abs(way) / spread
    delta = float(logit(rate) - logit(prior))
    return Delta(delta, by, rate, float(np.sqrt(parts @ parts)), float(error), "", weights)


def _by_rate(p, y, p_target, rate, fitted):
    """Delta at which the mean of the tilted p is the given rate."""
    inner = (p_target > 0) & (p_target < 1)
    least, most = np.mean(p_target >= 1), np.mean(p_target > 0)
    if not least < rate < most:
        raise CounterweightError(
            f"No tilt gives the rate {rate:g}: by probabilities of 0 and 1 it stays between "
            f"{least:g} and {most:g}."
        )
    odds = logit(p_target[inner])
    aim = (rate - least) * len(p_target) / len(odds)
    low, high = logit(aim) - odds.max() - 1e-9, logit(aim) - odds.min() + 1e-9
    from scipy.optimize import brentq

    delta = float(brentq(lambda d: expit(odds + d).mean() - aim, low, high, xtol=1e-14, rtol=1e-15))
    q = tilted(p_target, delta)
    slope = np.mean(q * (1 - q))
    labeled = _calibration_noise(p, y, p_target, q) if fitted else np.zeros(len(y))
    return Delta(
        delta,
        "rate",
        float(q.mean()),
        float(np.sqrt(labeled @ labeled) / slope),
        float(q.std() / np.sqrt(len(q)) / slope),
    )


def _below_0(share, error, what):
    """Why a share comes out below 0: label shift does not hold, or it is chance."""
    if share < -2 * error:
        return f"the features given the {what} are not alike in both populations."
    return f"chance does that, at a standard error of {error:.2g} of a share of {share:.2g}."


def _at_end(by, rate, weights=None, told=""):
    sentence = f"Delta by {by} ends at a rate of {rate:g} among the target rows."
    return Delta(
        *(float(np.inf if rate else -np.inf), by, rate),
        end=f"{rate:g}",
        weights=weights or (np.nan, np.nan),
        told=tuple(filter(None, (told, sentence))),
    )


def _calibration_noise(p, y, p_target, q):
    """What the labels' noise, by slope and constant of the calibration, adds to mean q, (M,)."""
    design = np.column_stack([_odds(p), np.ones(len(p))])
    curvature = (design * (p * (1 - p))[:, None]).T @ design
    moved = q * (1 - q)
    way = np.array([moved @ _odds(p_target), moved.sum()]) / len(q)
    return design @ (np.linalg.pinv(curvature, hermitian=True) @ way) * (y - p)


def _odds(p):
    with np.errstate(divide="ignore"):
        return np.clip(logit(np.asarray(p, dtype=float)), -LARGEST, LARGEST)


def _probabilities(p, which):
    p = as_numbers(p, f"probabilities of {which} rows")
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise CounterweightError(
            f"The probabilities of {which} rows must be one number from 0 to 1 a row; found the "
            f"shape {p.shape}, {int((~((p >= 0) & (p <= 1))).sum())} of them outside."
        )
    return p


@dataclass(frozen=True)
class ClassShares:
    """Shares of K classes among target rows, by label shift; see `class_shares`.

    Attributes
    ----------
    by : str
        ``em`` or ``moments``.
    shares, standard_error, low, high : ndarrays (K,)
        In the target; the error has chance in labeled and target rows in it.
    labeled : ndarray (K,)
        Shares among the labeled rows.
    influence : tuple of ndarrays (M, K), (N, K)
        How far each labeled row, and each target row, moves the shares.
    slope : float
        Of the calibration; see `Calibration`. 1 where none was fitted.
    constants : ndarray (K,)
        Of the calibration, of the last class 0.
    told : tuple of str
        Sentences on what does not fit label shift.
    """

    by: str
    shares: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    labeled: np.ndarray
    influence: tuple
    slope: float = 1.0
    constants: np.ndarray | float = 0.0
    told: tuple = ()

    def probabilities(self, p):
        """Probabilities (n, K) of target rows: those of the labeled, times shares over shares."""
        return normalised(
            calibrated_classes(p, self.slope, self.constants) * self.shares / self.labeled
        )


def class_shares(
    p: ArrayLike,
    y: ArrayLike,
    p_target: ArrayLike,
    *,
    by: str = "em",
    calibrate: bool = True,
    level: float = 0.95,
) -> ClassShares:
    """Shares of K classes among rows without a label, where features given the class are alike.

    - em: the maximum of the likelihood of the target rows (Saerens, Latinne & Decaestecker 2002),
      of probabilities with one slope and a constant for each class, fitted to the labeled rows
      (Alexandari, Kundaje & Shrikumar 2020).
    - moments: ``C w = mu``, C the joint shares of foretold and true class among the labeled, mu the
      shares of foretold classes in the target (Lipton, Wang & Smola 2018); calibration does
      nothing. A negative share is told, and given as it comes out.

    Intervals lie within [0, 1]. Of em they hold the shares that a score test at `level` does not
    refute, its error at that share, of labeled and target rows, as Wilson's interval does; of
    moments, value and error, at least one error wide where the value is beyond 0 or 1.

    Both assume label shift, which nothing here can prove; where they differ by more than chance it
    does not hold (`shares_differ`).

    Parameters
    ----------
    p, p_target : arrays (M, K), (N, K)
        Probabilities of the classes. Those of labeled rows come from models that did not learn from
        the row: else the errors are too small.
    y : array (M,) of the numbers 0 to K - 1; each class has rows.
    """
    from scipy.special import ndtri

    p, p_target, y = _class_rows(p, y, p_target)
    labeled = np.bincount(y, minlength=p.shape[1]) / len(y)
    if by == "moments":
        found, parts, told = _shares_by_moments(p, y, p_target, labeled)
        slope, constants, ends = 1.0, np.zeros(p.shape[1]), None
    elif by == "em":
        slope, constants = class_calibration(p, y) if calibrate else (1.0, np.zeros(p.shape[1]))
        found, parts, told, ends = _shares_by_em(p, y, p_target, slope, constants, calibrate, level)
    else:
        raise CounterweightError(f"by is {by!r}: choose em or moments.")
    error = np.sqrt(sum((part**2).sum(axis=0) for part in parts))
    if ends is None:
        # Never narrower than a standard error, within [0, 1].
        half = float(ndtri(0.5 + level / 2)) * error
        low = np.clip(np.minimum(found - half, 1 - error), 0, 1)
        ends = low, np.clip(np.maximum(found + half, error), 0, 1)
    low, high = ends
    return ClassShares(by, found, error, low, high, labeled, parts, slope, constants, told)


def shares_differ(one, other):
    """Chance that two estimates from the same rows differ so much where label shift holds."""
    from scipy.special import chdtrc

    gap = (one.shares - other.shares)[:-1]
    parts = [(a - b)[:, :-1] for a, b in zip(one.influence, other.influence, strict=True)]
    spread = sum(part.T @ part for part in parts)
    return float(chdtrc(len(gap), gap @ np.linalg.pinv(spread, hermitian=True) @ gap))


def _class_rows(p, y, p_target):
    p, p_target = (as_numbers(rows, "probabilities of classes") for rows in (p, p_target))
    y = np.asarray(y)
    for rows in (p, p_target):
        if rows.ndim != 2 or rows.shape[1] < 2 or not len(rows) or rows.shape[1] != p.shape[1]:
            raise CounterweightError(
                "Probabilities of classes are a column for each class, of labeled and of target "
                f"rows alike; found the shapes {p.shape} and {p_target.shape}."
            )
        bad = ~((rows >= 0) & (rows <= 1)).all(axis=1) | (np.abs(rows.sum(axis=1) - 1) > 0.01)
        if bad.any():
            raise CounterweightError(
                f"The probabilities of {int(bad.sum())} of {len(rows)} rows do not lie between 0 "
                f"and 1 with a sum of 1 (first: row {int(np.argmax(bad))}): correct them."
            )
    if y.shape != (len(p),) or not np.isin(y, np.arange(p.shape[1])).all():
        raise CounterweightError(
            f"Labels are the numbers 0 to {p.shape[1] - 1}, one for each of {len(p)} labeled rows."
        )
    missing = np.setdiff1d(np.arange(p.shape[1]), y)
    if len(missing):
        raise CounterweightError(
            f"No labeled row is of class {int(missing[0])}, so nothing tells how its rows look: "
            "leave the class out, or label some."
        )
    return normalised(p), normalised(p_target), y.astype(int)


def _shares_by_em(p, y, p_target, slope, constants, fitted, level):
    """Shares; influences of labeled and of target rows on them, (M, K) and (N, K); what is told;
    and the ends of their intervals, shares that a score test does not refute.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    K, labeled = p.shape[1], np.bincount(y, minlength=p.shape[1]) / len(y)
    ratios = calibrated_classes(p_target, slope, constants) / labeled
    shares, z = mixture_shares(ratios), float(ndtri(0.5 + level / 2))
    told = tuple(
        f"EM ends at a share of 0 of class {k}: its standard error is not known, its interval is."
        for k in np.flatnonzero(shares < INSIDE)
    )
    moves = class_calibration_influence(p, y, slope, constants) if fitted else None

    def parts(shares, inner):
        """A Newton step of the shares from there, and influences of both kinds of rows."""

        def score(theta, mean=True):
            """Slopes of the likelihood by shares of the classes inside, the last one the rest."""
            own, given, base = theta[: K + 1], theta[K + 1 : 2 * K + 1], theta[2 * K + 1 :]
            ratio = calibrated_classes(p_target, own[0], own[1:]) / base
            one = (ratio[:, inner[:-1]] - ratio[:, inner[-1:]]) / (ratio @ given)[:, None]
            return one.mean(axis=0) if mean else one

        theta = np.r_[slope, constants, shares, labeled]
        by_row = score(theta, mean=False)
        basis = np.zeros((K, len(inner) - 1))
        basis[inner[:-1]], basis[inner[-1]] = np.eye(len(inner) - 1), -1.0
        bend = by_row.T @ by_row / len(p_target)  # minus the second derivative
        back = basis @ np.linalg.pinv(bend, hermitian=True)
        step = by_row.mean(axis=0)
        # Slopes of the score by what labeled rows say: the calibration, and their shares.
        by = np.eye(len(theta))[np.r_[: K * fitted, 2 * K + 1 : len(theta)]] * 1e-5
        slopes = np.column_stack([(score(theta + d) - score(theta - d)) / 2e-5 for d in by])
        of_labeled = (np.eye(K)[y] - labeled) / len(y) @ slopes[:, -K:].T
        if fitted:
            of_labeled = of_labeled + moves @ slopes[:, :K].T
        return back @ step, (of_labeled @ back.T, (by_row - step) @ back.T / len(p_target))

    def end(k, side):
        def test(share):
            others = mixture_shares(ratios, k, share, 1e-6)
            step, rows = parts(others, np.flatnonzero((others >= INSIDE) | (np.arange(K) == k)))
            error = np.sqrt(sum(part[:, k] @ part[:, k] for part in rows))
            return step[k] + side * z * error, error

        inner, at = shares[k], shares[k]
        gap, error = test(at)
        if side * gap <= 0:  # refuted at 0 itself
            return min(max(at + side * error, 0.0), 1.0)
        wide = z * error
        while True:
            outer = at + side * wide
            if not 0 < outer < 1:
                outer = min(max(outer, 0.0), 1 - 1e-4)
                if side * test(outer)[0] >= 0:
                    return float(side > 0)
                break
            if side * test(outer)[0] < 0:
                break
            inner, wide = outer, 2 * wide
        return brentq(lambda share: test(share)[0], inner, outer, xtol=1e-4)

    ends = tuple(np.array([end(k, side) for k in range(K)]) for side in (-1, 1))
    return shares, parts(shares, np.flatnonzero(shares >= INSIDE))[1], told, ends


def _shares_by_moments(p, y, p_target, labeled):
    K = p.shape[1]
    told_as, told_of = p.argmax(axis=1), p_target.argmax(axis=1)
    joint = np.zeros((K, K))
    np.add.at(joint, (told_as, y), 1 / len(y))
    target = np.bincount(told_of, minlength=K) / len(told_of)
    if np.linalg.cond(joint) > 1e6:
        raise CounterweightError(
            "Moments need foretold classes that tell the true ones apart, and theirs do not: "
            "choose by: em."
        )
    back = np.linalg.inv(joint)
    weight = back @ target
    shares = weight * labeled
    own = np.eye(K)
    of_target = (own[told_of] - target) @ (back * labeled[:, None]).T / len(told_of)
    of_joint = (own[told_as] * weight[y][:, None] - joint @ weight) / len(y)
    of_labeled = weight * (own[y] - labeled) / len(y) - of_joint @ (back * labeled[:, None]).T
    error = np.sqrt(np.square(of_labeled).sum(axis=0) + np.square(of_target).sum(axis=0))
    told = tuple(
        f"The share of class {k} comes out as {shares[k]:.3g}, below 0: "
        + _below_0(shares[k], error[k], "class")
        for k in np.flatnonzero(shares < 0)
    )
    return shares, (of_labeled, of_target), told
