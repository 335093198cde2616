"""Weighted support vector machines by LIBLINEAR, as in the experiments of Goh et al. (2016)."""

import warnings

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.convex import solve_whole, start_state

#: Passes over the rows that LIBLINEAR makes at most, and the accuracy at which it may stop.
PASSES, ACCURACY = 2000, 1e-3


def liblinear_svm(step, state, tolerance):
    """Weighted SVM by LIBLINEAR's dual coordinate descent (scikit-learn's ``LinearSVC``, hinge).

    With u = 2w a row's hinge of label -1 costs 2 P / lambda and that of label +1 costs
    2 N / lambda at C = 1. LIBLINEAR gives no bound: Newton's steps, begun at its solution, give
    the certificate, and go on where its solution is further than `tolerance` from the optimum.

    Parameters
    ----------
    step : ConvexStep
        Without constraints.
    state : ConvexState
        Not used, but for the shape of its multipliers: LIBLINEAR begins at 0.
    tolerance : float
        Certified gap at which to stop.

    Returns
    -------
    ConvexState

    Raises
    ------
    CounterweightError
        For a bias that is not penalised, which LIBLINEAR does not have.
    """
    penalty = float(step.regularisation[0])
    if not (step.regularisation == penalty).all():
        raise CounterweightError(
            "LIBLINEAR penalises the bias like the other coefficients: set bias to regularised or "
            "none, or inner to newton."
        )
    w = _fitted(step, penalty)
    if w is None:
        return solve_whole(step, state, tolerance=tolerance, margin=np.zeros(0))
    upper = step.value(step.rows.scores(w), w)[0]
    checked = solve_whole(step, start_state(step, w), tolerance=tolerance, margin=np.zeros(0))
    if upper - checked.lower <= tolerance:
        checked.w, checked.upper = w, upper
    return checked


def _fitted(step, penalty):
    """LIBLINEAR's coefficients, or None where there is no hinge of one of both labels."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    down, up = (np.flatnonzero(costs[0] > 0) for costs in (step.positive, step.negative))
    if not len(down) or not len(up):
        return None
    rows, places = step.rows, np.concatenate([down, up])
    X = rows.matrix[places]
    if rows.centre is not None:
        X = (X.toarray() if rows.is_sparse else X) - rows.centre
    cost = np.concatenate([step.positive[0, down], step.negative[0, up]])
    svm = LinearSVC(
        loss="hinge", dual=True, fit_intercept=False, tol=ACCURACY, max_iter=PASSES, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(X, np.repeat([0, 1], [len(down), len(up)]), sample_weight=2 * cost / penalty)
    return svm.coef_[0] / 2
