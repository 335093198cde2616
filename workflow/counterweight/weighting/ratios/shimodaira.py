"""The ratio to a power between 0 and 1, by an information criterion: Shimodaira (2000)."""

import numpy as np
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Number
from counterweight.numerics.checks import checked_rows
from counterweight.numerics.linear import fit_logistic
from counterweight.weighting.rows import TARGET_LABELS, TARGET_OPTION, from_odds

SEES = "rows"
LABEL = "Shimodaira, to {target}"
VALUE_LABELS = TARGET_LABELS | {"exponent": {}}
OPTIONS = {
    **TARGET_OPTION,
    "exponent": Number(None,
        "Power of the ratio: 0 for equal weights, 1 for those of a lemma. Chosen by the information criterion unless "
        "given.", minimum=0, maximum=1, null=True),
}  # fmt: skip
#: Exponents that the criterion is asked about.
GRID = tuple(k / 10 for k in range(11))
#: Largest ratio, in mean ratios, that the criterion looks at: its sums are of squares.
MOST = 50.0


def tempered_weights(rows, *, target="general", exponent=None):
    """Weights r^lambda, r the ratio of target to labeled rows by the lemma of the target.

    A small lambda has less variance and more bias. The criterion is that of a linear or logistic
    regression fitted with these weights, an estimate of its expected loss over the target:
    ``-2 sum r_i log p(y_i|x_i) + 2 tr(J H^-1)``, J the sum of ``r r^lambda g g'`` over gradients g
    of the rows and H the curvature of the weighted loss. It takes the ratio as known and assumes
    labels missing at random; another model may like another exponent.

    Parameters
    ----------
    rows : counterweight.weighting.rows.Rows
        With p.
    target : {"general", "unlabeled"}
    exponent : float, optional

    Returns
    -------
    numpy.ndarray, shape (M,)
        Of mean 1. ``exponent`` among the facts.

    References
    ----------
    Shimodaira (2000), equations 4.1 and 4.4.
    """
    with np.errstate(divide="ignore"):
        ratio = from_odds(1 / np.asarray(rows.p, float) - 1, rows.share, target)
    if not (np.isfinite(ratio).all() and ratio.any()):
        raise CounterweightError(
            "A labeled row has selection probability 0, or all have 1, so there is no ratio: "
            "calibrate the selection model, or choose another selector."
        )
    if exponent is None:
        X, y = checked_rows(rows.X_labeled), np.asarray(rows.y_labeled, float)
        known = np.minimum(ratio, MOST * ratio.mean())
        values = [information_criterion(X, y, known, power) for power in GRID]
        exponent = GRID[int(np.argmin(values))]
    rows.facts["exponent"] = exponent
    weights = ratio**exponent
    return weights / weights.mean()


def information_criterion(X, y, ratio, power):
    """Shimodaira's criterion of a regression fitted with weights ratio^power.

    Logistic where y is 0 and 1, else linear with the noise of the unweighted fit.

    Parameters
    ----------
    X : array (M, d)
    y, ratio : array (M,)
    power : float

    Returns
    -------
    float
        Twice an estimate of the target's expected loss times the rows, up to a constant.
    """
    ratio = ratio / ratio.mean()
    weights = ratio**power
    scale = X.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(X.mean(axis=0)))
    Z = np.column_stack([np.ones(len(X)), (X[:, varies] - X[:, varies].mean(0)) / scale[varies]])
    if np.isin(y, (0.0, 1.0)).all():
        coef, constant, *_ = fit_logistic(Z[:, 1:], y.astype(int), weights)
        eta = Z[:, 1:] @ coef + constant
        mean = expit(eta)
        loss, residual, bend = np.logaddexp(0, eta) - y * eta, y - mean, mean * (1 - mean)
    else:
        free = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
        noise = max(float(free @ free) / len(y), 1e-300)
        root = np.sqrt(weights)
        residual = y - Z @ np.linalg.lstsq(Z * root[:, None], y * root, rcond=None)[0]
        loss, residual, bend = residual**2 / (2 * noise), residual / noise, 1 / noise
    J = (Z * (ratio * weights * residual**2)[:, None]).T @ Z
    H = (Z * (weights * bend)[:, None]).T @ Z
    return float(2 * ratio @ loss + 2 * np.trace(np.linalg.pinv(H, hermitian=True) @ J))
