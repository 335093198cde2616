"""Calibration in log-odds on rows whose zeros were kept at a known rate."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.options import check_options
from counterweight.numerics.zero_rejection import checked_rates

#: Ways to bend a margin.
FORMS = ("platt", "spline", "auto")
OPTIONS = {"form": {"enum": list(FORMS), "default": "auto"}}
#: What a piece of the spline must rest on, as the sum of q (1 - q) over its rows; most pieces.
ENOUGH, MOST = 40, 6
#: Share of that sum below the last piece, in which the highest probabilities are.
TOP = 0.95
#: Strength of the pull of each piece's slope to that of the straight line, in rows.
PULL = 1.0
#: Folds of the choice between forms; most steps of a fit.
FOLDS, STEPS = 5, 100


class LogOddsCalibrator(BaseEstimator):
    """log-odds of a reward of 1 as a rising function of a margin, with the offset of the rate.

    Zeros that were kept at the rate l make the odds among the kept rows 1 / l times those of
    all rows: logit q = logit p - log l. So logit q = f(margin) - log l is fitted to the kept
    rows, without weights for the rejection, and p = 1 / (1 + exp(-f)) is given. The offset
    takes the place of weights 1 / l, and nothing pulls the ends of f to 0 or 1. Forms of f:

    - platt: a + b margin (Platt 1999), b >= 0;
    - spline: continuous, linear in pieces and rising; the pieces rest on equal information,
      the sum of q (1 - q), and a last short one on what is left at the top;
    - auto: platt, unless the spline has a cross-validated log loss on the kept rows that is
      less by more than a standard error.

    It assumes that the rows were not used to learn the margin, and that zeros were rejected by
    a known rate: with a wrong rate all odds are wrong by its factor.

    Parameters
    ----------
    form : str

    Attributes
    ----------
    form_ : str
        As chosen.
    knots_ : numpy.ndarray, shape (k,)
        Margins at which pieces meet; none for platt.
    coef_ : numpy.ndarray, shape (k + 2,)
        The constant, and the slope of each piece.
    center_ : float
        Margin at which f is the constant.
    converged_ : bool

    References
    ----------
    Mineiro (2010) for the rejection; King & Zeng (2001) for the offset.
    """

    def __init__(self, form="auto"):
        self.form = form

    def fit(self, margin, reward, keep_rate=None, sample_weight=None):
        """Fit to rows that were kept.

        Parameters
        ----------
        margin : array (n,)
            Score on the scale of log-odds, or any other on which it is about linear in them.
        reward : array (n,) of 0 and 1
        keep_rate : float or array (n,), optional
            Rate in (0, 1] at which a row was kept, or would have been, where its reward is 0;
            all rows if None.
        sample_weight : array (n,), optional
            Weights for another reason.

        Raises
        ------
        CounterweightError
            For rewards other than 0 and 1 or of one kind, margins that are not finite, rates
            outside (0, 1] or unusable weights.
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
        rate = np.broadcast_to(checked_rates(np.zeros(np.shape(rate)), rate), len(y))
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
            shares = [*(np.arange(1, pieces) / pieces), TOP] if pieces > 1 else []
            inner = z[np.searchsorted(known, np.array(shares) * known[-1])] if shares else knots
            knots = np.unique(inner[(inner > z[0]) & (inner < z[-1])])
        self.form_ = self.form
        if self.form == "auto":
            better = len(knots) and _better(z, y, offset, weight, knots, self.center_)
            self.form_ = "spline" if better else "platt"
        self.knots_ = knots if self.form_ == "spline" else knots[:0]
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
    """Coefficients of `_basis`; slopes of pieces are pulled to that of the straight line."""
    pull = slope = 0.0
    if len(knots):
        (_, slope), _ = _fitted(z, y, offset, weight, knots[:0], center)
        pull = PULL
    basis = _basis(z, knots, center)
    spread = max(float(np.sqrt(np.average((z - center) ** 2, weights=weight))), 1e-12)
    prior = np.r_[0.0, np.full(len(knots) + 1, slope)]
    return _regressed(basis, y, offset, weight, prior, pull, spread)


def _regressed(basis, y, offset, weight, prior, pull, spread):
    """Logistic regression with an offset, slopes not below 0, and a pull to a prior."""
    from scipy.optimize import minimize
    from scipy.special import expit

    sign = np.where(y > 0, 1.0, -1.0)
    # On the scale of one spread of the margin the pull is in rows, and steps are even.
    scale = np.r_[1.0, np.full(basis.shape[1] - 1, 1.0 / spread)]
    basis, prior = basis * scale, prior / scale
    strength = np.r_[0.0, np.full(basis.shape[1] - 1, pull)]

    def loss(v):
        margin = sign * (basis @ v + offset)
        gap = v - prior
        value = weight @ np.logaddexp(0, -margin) + 0.5 * strength @ gap**2
        return value, basis.T @ (-weight * sign * expit(-margin)) + strength * gap

    found = minimize(
        loss,
        prior,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(0.0, None)] * (basis.shape[1] - 1),
        options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7 * len(y), "maxcor": 20},
    )
    return found.x * scale, bool(found.success)


def _better(z, y, offset, weight, knots, center):
    """Whether the spline has the smaller held-out log loss, by more than a standard error."""
    fold = np.empty(len(y), int)
    for kind in (0, 1):  # rows are in order, so folds are alike
        own = np.flatnonzero(y == kind)
        fold[own] = np.arange(len(own)) % FOLDS
    if min(np.bincount(y.astype(int))) < 2 * FOLDS:
        return False
    sign, gain = np.where(y > 0, 1.0, -1.0), np.zeros(len(y))
    for k in range(FOLDS):
        out = fold == k
        for way, some in ((1, knots[:0]), (-1, knots)):
            coef, _ = _fitted(z[~out], y[~out], offset[~out], weight[~out], some, center)
            held = sign[out] * (_basis(z[out], some, center) @ coef + offset[out])
            gain[out] += way * np.logaddexp(0, -held)
    gain = gain * weight
    return gain.mean() > gain.std() / np.sqrt(len(gain))
