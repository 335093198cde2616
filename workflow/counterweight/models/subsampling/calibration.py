"""Calibration of scores on subsampled rows: a linear spline, the prior correction, log-odds."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, check_options, checked_weights
from counterweight.numerics.zero_rejection import checked_rates, keep_weights


def shifted_odds(probability, ratio):
    """Probability whose odds are `ratio` times those of `probability`; 0 and 1 stay as they are."""
    probability = np.asarray(probability, dtype=float)
    up = ratio * probability
    return up / (up + (1.0 - probability))


def prior_correction(q, keep_rate):
    """p(y = 1 | x) of all rows from that of rows whose zeros were kept at a known rate.

    p = l q / (l q + 1 - q). Exact where `q` is the true probability among the kept rows and zeros
    were rejected without a look at x; what is wrong with `q` stays wrong.
    """
    rates = checked_rates(np.zeros(np.shape(keep_rate)), keep_rate)
    return shifted_odds(_probabilities(q), rates)


class SplineCalibrator(BaseEstimator):
    """Linear spline from a raw score to the expected reward (Mineiro 2010).

    The rows are cut by score into `bins` of equal count; rows of one score are never parted. Each
    bin gives a control point: the weighted means of score and reward. With the two ends, least and
    greatest, these define the spline. A row of reward 0 weighs 1 / l, so the points are those of
    all rows up to chance, also when the score was learned without weights. It assumes that the rows
    were not used to learn the score, and that zeros were rejected by a known rate: with a wrong
    rate the spline is biased by its odds.

    Parameters
    ----------
    bins : int
    bounds : ((float, float), (float, float)), optional
        Least and greatest possible score and reward, for a classifier ``((0, 1), (0, 1))``; None
        means the range seen. Rewards may say ``"flat"``: no end points, constant beyond the outer
        ones.
    monotone : bool
        Whether control points that fall are pooled until they rise. The paper does not.

    Attributes
    ----------
    control_scores_, control_rewards_ : ndarrays (k,)
        Knots, ends included. An end at which rows stand is their mean, not the bound.
    n_bins_ : int
        Bins that hold rows.
    """

    def __init__(self, bins=20, bounds=None, monotone=False):
        self.bins = bins
        self.bounds = bounds
        self.monotone = monotone

    def fit(self, score, reward, keep_rate=None, sample_weight=None):
        """Find the control points of scores and rewards (n,).

        `keep_rate` (one or (n,), in (0, 1]) is that at which a row of reward 0 was kept, all if
        None; weights for another reason multiply those of the rates.
        """
        if not isinstance(self.bins, (int, np.integer)) or self.bins is True or self.bins < 1:
            raise CounterweightError(f"bins is {self.bins!r}; it must be a whole number from 1 up.")
        score, reward = _numbers(score, "scores"), _numbers(reward, "rewards")
        if len(score) != len(reward):
            raise CounterweightError(
                f"There are {len(score)} scores but {len(reward)} rewards: give one for each row."
            )
        if not len(score):
            raise CounterweightError("There is no row to calibrate on.")
        weight = checked_weights(sample_weight, len(score))
        if keep_rate is not None:
            weight = weight * keep_weights(reward, keep_rate)
        used = weight > 0
        score, reward, weight = score[used], reward[used], weight[used]
        order = np.lexsort((weight, reward, score))
        score, reward, weight = score[order], reward[order], weight[order]
        given = (None, None) if self.bounds is None else self.bounds
        flat = isinstance(given[1], str) and given[1] == "flat"
        low, high = _end_points(score, given[0], "scores")
        least, most = _end_points(reward, None if flat else given[1], "rewards")

        rows = len(score)
        first = (np.arange(1, self.bins) * rows) // self.bins
        cuts = _distinct_cuts(score, score[first[first > 0]])
        member = np.searchsorted(cuts, score, side="right")
        mass, x, r = (
            np.bincount(member, weights=values, minlength=len(cuts) + 1)
            for values in (weight, weight * score, weight * reward)
        )
        edges = np.r_[0, np.searchsorted(member, np.arange(1, len(cuts) + 1)), rows]
        filled = edges[1:] > edges[:-1]
        start, stop = edges[:-1][filled], edges[1:][filled]
        mass, x, r = mass[filled], x[filled] / mass[filled], r[filled] / mass[filled]
        self.n_bins_ = len(mass)
        # Rounding may put the mean of equal values beside them.
        x, r = np.clip(x, score[start], score[stop - 1]), np.clip(r, least, most)
        if flat:
            least, most = r[0], r[-1]
        self.control_scores_, self.control_rewards_ = _merged(
            np.r_[low, x, high], np.r_[least, r, most], np.r_[0.0, mass, 0.0], self.monotone
        )
        return self

    def predict(self, score):
        """Expected reward at each score, shape (n,); constant beyond the ends."""
        check_is_fitted(self)
        score = _numbers(score, "scores")
        if self.bounds is not None and self.bounds[0] is not None:
            _inside(score, self.bounds[0], "scores")
        return np.interp(score, self.control_scores_, self.control_rewards_)


def _distinct_cuts(score, cuts):
    """Lower bounds of the bins after the first, ascending, none of which is empty.

    Where ties make a bound equal to the one before, the next greater score takes its place:
    else one frequent score would swallow all above it.
    """
    again = cuts[np.diff(cuts, prepend=score[0]) == 0]
    after = np.searchsorted(score, np.unique(again), side="right")
    return np.unique(np.r_[cuts[cuts > score[0]], score[after[after < len(score)]]])


def _end_points(values, pair, what):
    if pair is None:
        return values.min(), values.max()
    if np.shape(pair) != (2,) or not (np.isfinite(pair).all() and pair[0] < pair[1]):
        raise CounterweightError(
            f"The bounds of the {what} are {pair!r}; give the least and the greatest."
        )
    _inside(values, pair, what)
    return pair


def _merged(x, r, mass, monotone):
    """Knots with strictly ascending x: points of one x become their mean by `mass`.

    Ends have no mass: they count only where no row stands at their x.
    """
    places, member = np.unique(x, return_inverse=True)
    total = np.bincount(member, weights=mass)
    count = np.bincount(member)
    weighted = np.bincount(member, weights=mass * r)
    plain = np.bincount(member, weights=r) / count
    rewards = np.where(total > 0, weighted / np.where(total > 0, total, 1.0), plain)
    if monotone:
        from sklearn.isotonic import IsotonicRegression

        tiny = total.sum() * 1e-12
        weight = np.maximum(total, tiny)
        rewards = IsotonicRegression().fit(places, rewards, sample_weight=weight).predict(places)
    return places, rewards


def _numbers(values, what):
    values = as_numbers(values, what)
    if values.ndim != 1:
        raise CounterweightError(f"The {what} must be one number a row, got {values.shape}.")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise CounterweightError(
            f"{len(bad)} of {len(values)} {what} are missing or infinite (first: row {bad[0]}): "
            "the model failed, or rows must be dropped first."
        )
    return values


def _inside(values, pair, what):
    bad = np.flatnonzero((values < pair[0]) | (values > pair[1]))
    if len(bad):
        raise CounterweightError(
            f"{len(bad)} of {len(values)} {what} lie outside of the bounds {pair[0]} to {pair[1]} "
            f"(first: row {bad[0]}, {values[bad[0]]:g}): correct the bounds or the {what}."
        )


def _probabilities(values):
    values = np.asarray(values, dtype=float)
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {values.size} probabilities are not between 0 and 1: "
            "the prior correction needs p(y = 1 | x)."
        )
    return values


#: Ways to bend a margin.
FORMS = ("platt", "spline")
OPTIONS = {"form": {"enum": list(FORMS), "default": "spline"}}
#: What a piece of the spline must rest on, as the sum of q (1 - q) over its rows; most pieces.
ENOUGH, MOST = 30, 8
#: Strength of the pull of each piece's slope to the line through its neighbours', in rows.
PULL = 300.0


class LogOddsCalibrator(BaseEstimator):
    """log-odds of a reward of 1 as a rising function of a margin, with the offset of the rate.

    Zeros that were kept at the rate l make the odds among the kept rows 1 / l times those of all
    rows. So logit q = f(margin) - log l is fitted to the kept rows, without weights for the
    rejection, and p = 1 / (1 + exp(-f)) is given; nothing pulls the ends of f to 0 or 1. Forms of
    f:

    - platt: a + b margin (Platt 1999), b >= 0;
    - spline: continuous, linear in pieces and rising; the pieces rest on equal information, the sum
      of q (1 - q), and slopes are pulled to change evenly. A pull to one slope for all tells the
      highest probabilities too low wherever the truth bends up. With too little information for two
      pieces it is platt.

    It assumes that the rows were not used to learn the margin, and that zeros were rejected by a
    known rate: with a wrong rate all odds are wrong by its factor.

    Attributes
    ----------
    form_ : str
    knots_, coef_ : ndarrays (k,), (k + 2,)
        Margins at which pieces meet; the constant, and the slope of each piece.
    center_ : float
        Margin at which f is the constant.
    converged_ : bool

    References
    ----------
    Mineiro (2010) for the rejection; King & Zeng (2001) for the offset.
    """

    def __init__(self, form="spline"):
        self.form = form

    def fit(self, margin, reward, keep_rate=None, sample_weight=None):
        """Fit to rows that were kept: margins (n,), about linear in log-odds, and rewards of 0 and
        1.

        `keep_rate` (one or (n,)) is that at which a row was kept, or would have been, where its
        reward is 0; all rows if None. That of rows of reward 1 is not used and may be missing
        (NaN). Where rates differ, kept rows of reward 0 weigh 1 / l in place of the offset (never
        both): a margin that was learned from such rows knows of the rates, and new rows have none.
        """
        from scipy.special import expit

        check_options(self.get_params(), OPTIONS)
        margin, y = as_numbers(margin, "margins"), as_numbers(reward, "rewards")
        weight = checked_weights(sample_weight, len(y))
        used = weight > 0
        if not np.isin(y, (0, 1)).all() or len(np.unique(y[used])) < 2:
            raise CounterweightError(
                "Calibration in log-odds needs rewards 0 and 1, and rows of both: calibrate "
                "rewards that are numbers by the spline of the paper."
            )
        if not np.isfinite(margin).all():
            raise CounterweightError(
                f"{int((~np.isfinite(margin)).sum())} margins are missing or infinite: the model "
                "failed, or rows must be dropped first."
            )
        rate = 1.0 if keep_rate is None else keep_rate
        rate = np.broadcast_to(checked_rates(y if np.ndim(rate) else 0.0, rate), len(y))
        of_zeros = np.unique(rate[used & (y == 0)])
        if len(of_zeros) > 1:
            weight, rate = weight * keep_weights(y, rate), np.ones(len(y))
        else:
            rate = np.full(len(y), of_zeros[0])
        order = np.lexsort((weight, y, margin))
        order = order[used[order]]
        z, y, weight, offset = margin[order], y[order], weight[order], -np.log(rate[order])
        weight = weight / weight.mean()
        self.center_ = float(np.average(z, weights=weight))
        knots = z[:0]
        if self.form != "platt":
            coef, _ = _fitted(z, y, offset, weight, knots, self.center_)
            q = expit(_basis(z, knots, self.center_) @ coef + offset)
            known = np.cumsum(weight * q * (1 - q))
            pieces = int(np.clip(known[-1] // ENOUGH, 1, MOST))
            inner = z[np.searchsorted(known, np.arange(1, pieces) / pieces * known[-1])]
            knots = np.unique(inner[(inner > z[0]) & (inner < z[-1])])
        self.form_ = "spline" if len(knots) else "platt"
        self.knots_ = knots
        self.coef_, self.converged_ = _fitted(z, y, offset, weight, self.knots_, self.center_)
        return self

    def use(self, coef, knots, center):
        """Take the numbers of a fit; it can predict."""
        self.coef_, self.knots_, self.center_ = coef, knots, center
        self.form_ = "spline" if len(knots) else "platt"
        return self

    def predict(self, margin):
        """p of all rows at each margin, (n,)."""
        from scipy.special import expit

        check_is_fitted(self)
        margin = as_numbers(margin, "margins")
        return expit(_basis(margin, self.knots_, self.center_) @ self.coef_)


def _basis(z, knots, center):
    """The constant, and of each piece how far z is along it from the centre, (n, k + 2)."""
    ends = zip(np.r_[-np.inf, knots], np.r_[knots, np.inf], strict=True)
    parts = [np.clip(z, low, high) - np.clip(center, low, high) for low, high in ends]
    return np.column_stack([np.ones(len(z)), *parts])


def _fitted(z, y, offset, weight, knots, center):
    """Coefficients of `_basis` by penalised maximum likelihood, slopes not below 0."""
    from scipy.optimize import minimize
    from scipy.special import expit

    pieces = len(knots) + 1
    start = np.zeros(2)
    if len(knots):
        start, _ = _fitted(z, y, offset, weight, knots[:0], center)
    spread = max(float(np.sqrt(np.average((z - center) ** 2, weights=weight))), 1e-12)
    sign = np.where(y > 0, 1.0, -1.0)
    # On the scale of one spread of the margin the pull is in rows, and steps are even.
    scale = np.r_[1.0, np.full(pieces, 1.0 / spread)]
    basis = _basis(z, knots, center) * scale
    bends = np.diff(np.eye(pieces), 2 if pieces > 2 else 1, axis=0)
    bends = np.column_stack([np.zeros(len(bends)), bends])
    pull = PULL * bends.T @ bends

    def loss(v):
        margin = sign * (basis @ v + offset)
        value = weight @ np.logaddexp(0, -margin) + 0.5 * v @ pull @ v
        return value, basis.T @ (-weight * sign * expit(-margin)) + pull @ v

    found = minimize(
        loss,
        np.r_[start[0], np.full(pieces, start[1])] / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(0.0, None)] * pieces,
        options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7 * len(y), "maxcor": 20},
    )
    return found.x * scale, bool(found.success)
