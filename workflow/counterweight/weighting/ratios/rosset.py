"""Weights 1 / p(s=1|x,y) from moments of the features alone: Rosset, Zhu, Zou & Hastie (2005)."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import checked_rows
from counterweight.numerics.tilt import label_scores
from counterweight.weighting.rows import TARGET_LABELS, TARGET_OPTION, from_odds

SEES = "rows"
NEEDS_P = False
#: Selection goes by the label: its weights are no ratio of densities of x.
RATIO = "outcome"
LABEL_BY_NAME = {
    "rosset": "Rosset et al. to {target}",
    "rosset_label_only": "Rosset et al., label only, to {target}",
}
VALUE_LABELS = TARGET_LABELS
OPTIONS_BY_NAME = {
    "rosset_label_only": TARGET_OPTION,
    "rosset": TARGET_OPTION
    | {
        "features": {
            "type": "array",
            "items": {"type": "string"},
            "uniqueItems": True,
            "default": [],
            "description": "Features that selection may go by beside the label.",
        },
        "moments": {
            "enum": ["means", "squares"],
            "default": "means",
            "description": "What must be alike after weighting: means of all features, or of "
            "their squares, too.",
        },
    },
}
#: Least share of a class that label-only moments may give it.
LEAST = 0.5


def label_only_weights(rows, *, target="general"):
    """Weights by the label alone, p(s=1|y) = sigma(a + b y).

    Right where features given the label are distributed alike in labeled and unlabeled rows (label
    shift); nothing else identifies b. One equation a feature, ``x0 = rate m1 + (1 - rate) m0``, by
    least squares in standard deviations of the unlabeled rows. A rate beyond 0 or 1, where label
    shift cannot hold, is put to half a row from the end.

    Parameters
    ----------
    rows : counterweight.weighting.rows.Rows
    target : {"general", "unlabeled"}

    Returns
    -------
    numpy.ndarray, shape (M,)

    Raises
    ------
    CounterweightError
        For labels other than 0 and 1, and where features have the same means for both.

    References
    ----------
    Rosset, Zhu, Zou & Hastie (2005), section 3.
    """
    y = np.asarray(rows.y_labeled)
    _, score = label_scores(rows.X_labeled, y, rows.X_unlabeled)
    end, prior = LEAST / len(score), y.mean()
    rate = float(np.clip(score.mean(), end, 1 - end))
    weight = np.where(y == 1, rate / prior, (1 - rate) / (1 - prior))
    rows.facts["label_effect"] = float(np.log(prior / rate * (1 - rate) / (1 - prior)))
    return from_odds(weight * (1 - rows.share) / rows.share, rows.share, target)


def moment_weights(rows, *, target="general", features=(), moments="means"):
    """Weights of p(s=1|x,y) = sigma(a + b y + c'x), x the chosen features, by moments.

    Sums of 1, of every feature (and of its square) over all rows must be those over labeled rows
    weighted by 1/p. With ``1/p = 1 + exp(-theta'u)`` that is, with g the standardised moments,

        sum over s=1 of g_i exp(-theta'u_i) = sum over s=0 of g_i,

    solved by least squares. It needs no label of an unlabeled row, and features that tell y and
    that selection does not go by: the chosen ones must leave enough moments. Where the form of p
    is wrong, or nothing but the chosen features tells y, the weights are wrong, and no check shows
    it; ``moments_left`` is what least squares could not meet.

    Parameters
    ----------
    rows : counterweight.weighting.rows.Rows
    target : {"general", "unlabeled"}
    features : sequence of str
    moments : {"means", "squares"}

    Returns
    -------
    numpy.ndarray, shape (M,)
        ``label_effect`` among the facts is b, of one unit of y, with its standard error.

    Raises
    ------
    CounterweightError
        For a feature that is not there, too few moments, and where there is no solution.

    References
    ----------
    Rosset, Zhu, Zou & Hastie (2005), equation 3.
    """
    X, X0 = checked_rows(rows.X_labeled), checked_rows(rows.X_unlabeled)
    y = np.asarray(rows.y_labeled, float)
    strange = [name for name in features if name not in rows.names]
    if strange:
        raise CounterweightError(
            f"The weighting rosset goes by {listed(strange)}, which is no feature; features are "
            f"{listed(list(rows.names), 30)}."
        )
    both = np.concatenate([X, X0])
    center, scale = both.mean(axis=0), both.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(center))
    X, X0 = ((table[:, varies] - center[varies]) / scale[varies] for table in (X, X0))
    chosen = [rows.names[k] in features for k in np.flatnonzero(varies)]
    spread = y.std()
    if not spread > 0:
        raise CounterweightError("Rosset's moments need labels that differ; all are alike.")
    U = np.column_stack([np.ones(len(X)), (y - y.mean()) / spread, X[:, chosen]])
    g, g0 = (_moments(table, both=moments == "squares") for table in (X, X0))
    g, g0 = _distinct(g, g0)
    if g.shape[1] < U.shape[1]:
        raise CounterweightError(
            f"Rosset's moments are {g.shape[1]} equations for {U.shape[1]} unknowns: choose fewer "
            "features for selection, or moments: squares."
        )
    theta = _solution(U, g, g0)
    odds = np.exp(-U @ theta)
    n = len(X) + len(X0)
    # Sandwich over all rows, for the moments as they were weighted: alike.
    gap = (odds @ g - g0.sum(axis=0)) / n
    slope = -(g * odds[:, None]).T @ U / n
    noise = ((g * odds[:, None]).T @ (g * odds[:, None]) + g0.T @ g0) / n - np.outer(gap, gap)
    pseudo = np.linalg.pinv(slope)
    error = np.sqrt(np.diag(pseudo @ noise @ pseudo.T) / n)
    rows.facts["label_effect"] = (theta[1] / spread, error[1] / spread)
    rows.facts["moments_left"] = float(np.sqrt(gap @ gap))
    return from_odds(odds, rows.share, target)


def _moments(X, both):
    """1, the features, and their squares if asked for, by column."""
    squares = [X**2 - 1] if both else []
    return np.hstack([np.ones((len(X), 1)), X, *squares])


def _distinct(g, g0):
    """Without moments that follow from others, as the square of a yes or no does."""
    from scipy.linalg import qr

    _, R, order = qr(np.concatenate([g, g0]), mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: int((size > 1e-8 * size[0]).sum())])
    return g[:, kept], g0[:, kept]


def _solution(U, g, g0):
    """Least squares of the moments: the best of searches from several effects of the label."""
    from scipy.optimize import least_squares

    n, aim = len(g) + len(g0), g0.sum(axis=0)

    def gap(theta):
        with np.errstate(over="ignore"):
            return np.clip((np.exp(-np.clip(U @ theta, -50, 50)) @ g - aim) / n, -1e9, 1e9)

    def slope(theta):
        odds = np.exp(-np.clip(U @ theta, -50, 50))
        return -(g * odds[:, None]).T @ U / n

    best = None
    for effect in (0.0, -1.0, 1.0):
        start = np.zeros(U.shape[1])
        start[1] = effect
        start[0] = np.log(np.exp(-effect * U[:, 1]).sum() / len(g0))
        found = least_squares(gap, start, slope, method="trf", x_scale=1.0, xtol=1e-12, ftol=1e-12)
        if best is None or found.cost < best.cost * (1 - 1e-9):
            best = found
    if not (best.success and np.isfinite(best.x).all()):
        raise CounterweightError(
            "Rosset's moments have no solution for these rows: choose fewer features for "
            "selection, or the weighting rosset_label_only."
        )
    return best.x
