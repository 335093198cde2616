"""Weights 1 / p(s=1|x,y) from moments of the features alone: Rosset, Zhu, Zou & Hastie (2005)."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice
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
    "rosset": {
        **TARGET_OPTION,
        "features": Array([], "Features that selection may go by beside the label.", items={"type": "string"}, uniqueItems=True),
        "moments": Choice("means", ["means", "squares"],
            "What must be alike after weighting: means of all features, or of their squares, too."),
    },
}  # fmt: skip
#: Least rows of a class that label-only moments may give the unlabeled, and the largest effect of
#: a standard deviation that is looked for, in log odds.
LEAST, LARGEST = 0.5, 10.0


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
    weighted by 1/p. With ``1/p = 1 + exp(-a - b y - c'x)`` that is

        sum over s=1 of g_i w_i / sum of w_i = mean over s=0 of g_i,   w = exp(-b y - c'x),

    solved by least squares in standard deviations of the unlabeled rows, and ``exp(a)`` is the sum
    of w over the number of unlabeled rows. It needs features that tell y and that selection does
    not go by: the chosen ones must leave enough moments. Where the form of p is wrong, or nothing
    but the chosen features tells y, the weights are wrong; ``moments_left`` is what least squares
    could not meet, and shows that where moments are many.

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
    if not y.std() > 0:
        raise CounterweightError("Rosset's moments need labels that differ; all are alike.")
    center, scale = X0.mean(axis=0), X0.std(axis=0)
    varies = scale > 1e-12 * (1 + np.abs(center))
    X, X0 = ((table[:, varies] - center[varies]) / scale[varies] for table in (X, X0))
    chosen = [rows.names[k] in features for k in np.flatnonzero(varies)]
    U = np.column_stack([(y - y.mean()) / y.std(), X[:, chosen]])
    g, g0 = _distinct(*(_moments(table, moments == "squares") for table in (X, X0)))
    if g.shape[1] < U.shape[1]:
        raise CounterweightError(
            f"Rosset's moments are {g.shape[1]} equations for {U.shape[1]} unknowns: choose fewer "
            "features for selection, or moments: squares."
        )
    g, g0 = g - g0.mean(axis=0), g0 - g0.mean(axis=0)
    theta = _solution(U, g)
    share, gap, slope = _weighted(theta, U, g)
    noise = (g - gap).T @ ((g - gap) * share[:, None] ** 2) + g0.T @ g0 / len(g0) ** 2
    way = np.linalg.pinv(slope)
    error = np.sqrt((way @ noise @ way.T)[0, 0])
    rows.facts["label_effect"] = (theta[0] / y.std(), error / y.std())
    rows.facts["moments_left"] = float(np.sqrt(gap @ gap))
    return from_odds(share * len(g0), rows.share, target)


def _moments(X, squared):
    """The features, and their squares if asked for, by column."""
    return np.hstack([X, X**2]) if squared else X


def _distinct(g, g0):
    """Without moments that follow from others, as the square of a yes or no does."""
    from scipy.linalg import qr

    table = np.concatenate([g, g0])
    table = np.column_stack([np.ones(len(table)), table])
    _, R, order = qr(table, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: int((size > 1e-8 * size[0]).sum())])
    return (part[:, kept[kept > 0] - 1] for part in (g, g0))


def _weighted(theta, U, g):
    """Weights of sum 1, what is left of the moments, and its slope in theta."""
    power = -U @ theta
    share = np.exp(power - power.max())
    share /= share.sum()
    gap = share @ g
    slope = -((g - gap) * share[:, None]).T @ U
    return share, gap, slope


def _solution(U, g):
    """Least squares of the moments: the best of searches from three effects of the label."""
    from scipy.optimize import least_squares

    best = None
    for effect in (0.0, -1.0, 1.0):
        found = least_squares(
            lambda theta: _weighted(theta, U, g)[1],
            np.r_[effect, np.zeros(U.shape[1] - 1)],
            lambda theta: _weighted(theta, U, g)[2],
            bounds=(-LARGEST, LARGEST),
            xtol=1e-12,
            ftol=1e-12,
        )
        if best is None or found.cost < best.cost * (1 - 1e-9):
            best = found
    if not best.success:
        raise CounterweightError(
            "Rosset's moments have no solution for these rows: choose fewer features for "
            "selection, or the weighting rosset_label_only."
        )
    return best.x
