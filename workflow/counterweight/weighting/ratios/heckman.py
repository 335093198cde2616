"""Weights of a Heckman-type selection model: one column moves selection and not the outcome."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr, owens_t

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Text
from counterweight.numerics.checks import checked_rows
from counterweight.weighting.rows import TARGET_LABELS, TARGET_OPTION, from_odds

SEES = "rows"
NEEDS_P = False
#: Selection goes by what is not in x: its weights are no ratio of densities of x.
RATIO = "outcome"
LABEL = "Heckman selection to {target}"
VALUE_LABELS = TARGET_LABELS
OPTIONS = {
    **TARGET_OPTION,
    "exclusion": Text(..., "Feature that tells who is labeled and, given the others, has nothing to do with the outcome."),
}  # fmt: skip
#: Largest correlation that is looked for, and least probability.
NEAR_ONE, TINY = 0.99, 1e-10


def heckman_weights(rows, *, exclusion, target="general"):
    """Weights 1 / p(s=1|x,z,y) where selection and outcome share an unseen normal cause.

    Two steps. A probit of s on x and the exclusion column z gives an index; then, among labeled
    rows, the outcome is regressed on x and on what selection says of the unseen: a number by least
    squares on x and the inverse Mills ratio, 0 and 1 by ``P(y=1|x,z,s=1) = Phi2(x b, index; rho) /
    Phi(index)``. The correlation rho of the two unseen parts then gives p(s=1|x,z,y).

    It rests on three things that no data tell: z has no part in the outcome given x, both unseen
    parts are jointly normal, and the indices are linear. Without z only the normal curve would
    identify rho, so z must be named. Fails of any of them give wrong weights without a sign, but
    that rho near 1 or -1 (``selection_correlation`` among the facts) is one.

    Parameters
    ----------
    rows : counterweight.weighting.rows.Rows
    exclusion : str
        A feature.
    target : {"general", "unlabeled"}

    Returns
    -------
    numpy.ndarray, shape (M,)

    Raises
    ------
    CounterweightError
        For an exclusion column that is no feature, does not vary, or says nothing of selection.

    References
    ----------
    Heckman (1979); Van de Ven & Van Praag (1981) for an outcome of 0 and 1.
    """
    if exclusion not in rows.names:
        raise CounterweightError(
            f"The exclusion column {exclusion!r} of the weighting heckman is no feature; features "
            f"are {listed(list(rows.names), 30)}."
        )
    at = rows.names.index(exclusion)
    X, X0 = checked_rows(rows.X_labeled), checked_rows(rows.X_unlabeled)
    both = np.concatenate([X, X0])
    center, scale = both.mean(axis=0), both.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(center))
    if not varies[at]:
        raise CounterweightError(
            f"The exclusion column {exclusion!r} has one value only, so it tells nothing of who "
            "is labeled: name another."
        )
    scale = np.where(varies, scale, np.inf)
    design = np.column_stack([np.ones(len(both)), (both - center) / scale])
    design = design[:, np.r_[True, varies]]
    s = np.arange(len(both)) < len(X)
    gamma, curvature = probit(design, s)
    place = 1 + int(varies[:at].sum())
    strength = gamma[place] / np.sqrt(np.linalg.pinv(curvature, hermitian=True)[place, place])
    rows.facts["exclusion_strength"] = abs(strength)
    if abs(strength) < 3:
        raise CounterweightError(
            f"The exclusion column {exclusion!r} says too little of who is labeled ({strength:.2g} "
            "standard errors, 3 are needed): name another, or leave the weighting heckman out."
        )
    index = (design @ gamma)[s]
    own, y = np.delete(design[s], place, axis=1), np.asarray(rows.y_labeled, float)
    binary = np.isin(y, (0.0, 1.0)).all()
    rho, p = (_of_classes if binary else _of_numbers)(own, y, index)
    rows.facts["selection_correlation"] = rho
    return from_odds(1 / np.clip(p, TINY, 1) - 1, rows.share, target)


def probit(X, s):
    """Coefficients of a probit of s on X, by maximum likelihood, and the curvature there."""
    sign = np.where(s, 1.0, -1.0)

    def value(b):
        q = sign * (X @ b)
        low = log_ndtr(q)
        mills = np.exp(-(q**2) / 2 - low) / np.sqrt(2 * np.pi)
        return -low.mean(), -(sign * mills) @ X / len(X)

    found = minimize(value, np.zeros(X.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-7})
    q = sign * (X @ found.x)
    mills = np.exp(-(q**2) / 2 - log_ndtr(q)) / np.sqrt(2 * np.pi)
    return found.x, (X * (mills * (mills + q))[:, None]).T @ X


def bivariate_normal(a, b, rho):
    """P(A < a, B < b) of two standard normals with correlation rho, (n,); Owen (1956)."""
    root = np.sqrt(1 - rho**2)
    a, b = (np.where(np.abs(v) < 1e-12, 1e-12, v) for v in (a, b))
    cross = np.where(a * b < 0, 0.5, 0.0)
    first, second = owens_t(a, (b / a - rho) / root), owens_t(b, (a / b - rho) / root)
    return np.clip((ndtr(a) + ndtr(b)) / 2 - first - second - cross, TINY, 1)


def _of_classes(X, y, index):
    """Correlation, and p(s=1|x,z,y), of labeled rows with y 0 and 1."""
    rows, selected = len(X), np.maximum(ndtr(index), TINY)

    def value(theta):
        b, rho = theta[:-1], NEAR_ONE * np.tanh(theta[-1])
        a, root = X @ b, np.sqrt(1 - rho**2)
        one = bivariate_normal(a, index, rho)
        one = np.minimum(one, selected - TINY)
        chance = np.where(y == 1, one, selected - one)
        sign = np.where(y == 1, 1.0, -1.0) / chance
        by_a = np.exp(-(a**2) / 2) / np.sqrt(2 * np.pi) * ndtr((index - rho * a) / root)
        power = (a**2 - 2 * rho * a * index + index**2) / (2 * root**2)
        by_rho = np.exp(-power) / (2 * np.pi * root)
        slope = by_rho * NEAR_ONE * (1 - np.tanh(theta[-1]) ** 2)
        gradient = np.r_[(sign * by_a) @ X, sign @ slope]
        return -np.log(chance / selected).mean(), -gradient / rows

    first, _ = probit(X, y == 1)
    found = minimize(value, np.r_[first, 0.0], jac=True, method="BFGS", options={"gtol": 1e-6})
    rho = float(NEAR_ONE * np.tanh(found.x[-1]))
    a = X @ found.x[:-1]
    one = bivariate_normal(a, index, rho)
    chance = np.clip(ndtr(a), TINY, 1 - TINY)
    return rho, np.where(y == 1, one / chance, (selected - one) / (1 - chance))


def _of_numbers(X, y, index):
    """The same where y is a number: least squares with the inverse Mills ratio (Heckman 1979)."""
    mills = np.exp(-(index**2) / 2 - log_ndtr(index)) / np.sqrt(2 * np.pi)
    control = np.column_stack([X, mills])
    coef = np.linalg.lstsq(control, y, rcond=None)[0]
    left, shift = y - control @ coef, coef[-1]
    sigma = np.sqrt(np.mean(left**2) + shift**2 * np.mean(mills * (mills + index)))
    rho = float(np.clip(shift / sigma, -NEAR_ONE, NEAR_ONE))
    unseen = (y - X @ coef[:-1]) / sigma
    return rho, ndtr((index + rho * unseen) / np.sqrt(1 - rho**2))
