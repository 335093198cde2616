"""Calibration in log-odds on rows whose zeros were kept at a known rate."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.options import check_options
from counterweight.numerics.zero_rejection import checked_rates, keep_weights

#: Ways to bend a margin.
FORMS = ("platt", "spline")
OPTIONS = {"form": {"enum": list(FORMS), "default": "spline"}}
#: What a piece of the spline must rest on, as the sum of q (1 - q) over its rows; most pieces.
ENOUGH, MOST = 30, 8
#: Strength of the pull of each piece's slope to the line through its neighbours', in rows.
PULL = 300.0


class LogOddsCalibrator(BaseEstimator):
    """log-odds of a reward of 1 as a rising function of a margin, with the offset of the rate.

    Zeros that were kept at the rate l make the odds among the kept rows 1 / l times those of
    all rows: logit q = logit p - log l. So logit q = f(margin) - log l is fitted to the kept
    rows, without weights for the rejection, and p = 1 / (1 + exp(-f)) is given. The offset
    takes the place of weights 1 / l, and nothing pulls the ends of f to 0 or 1. Forms of f:

    - platt: a + b margin (Platt 1999), b >= 0;
    - spline: continuous, linear in pieces and rising; the pieces rest on equal information,
      the sum of q (1 - q). Slopes may change from piece to piece, and are pulled to do so
      evenly: a pull to one slope for all, or a straight line, tells the highest probabilities
      too low wherever the truth bends up, as it does for a linear model that is not quite
      right. Where there is too little information for two pieces, it is platt.

    It assumes that the rows were not used to learn the margin, and that zeros were rejected by
    a known rate: with a wrong rate all odds are wrong by its factor.

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

    def __init__(self, form="spline"):
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
            all rows if None. That of rows of reward 1 is not used and may be missing (NaN). Where
            rates differ, kept rows of reward 0 weigh 1 / l in place of the offset (never both): a
            margin that was learned from such rows knows of the rates, and new rows have none.
        sample_weight : array (n,), optional
            Weights for another reason.
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
