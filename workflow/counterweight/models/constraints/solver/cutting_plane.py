"""Algorithm 2 of Goh et al. (2016), and the choice of a method for a convex step.

A cutting plane over the multipliers has weighted support vector machines as its inner problem: by
Newton steps, or by LIBLINEAR as in the paper's experiments. `solve_step` takes the method that is
asked for: this one, or one of those that solve a step whole.
"""

import warnings

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.convex_step import (
    ROUNDING,
    ConvexState,
    ConvexStep,
    pull_back,
    solve_interior,
    solve_whole,
    start_state,
)

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


def with_multipliers(step, v):
    """The Lagrangian of a convex step at fixed multipliers: a step without constraints.

    Each row has a hinge of label -1 with cost P_0 + v'P and one of label +1 with cost
    N_0 + v'N (section 2.2); in the usual scaling u = 2w this is a weighted SVM.
    """
    p, q = step.costs(v)
    constant = step.constant[:1] + v @ step.constant[1:]
    return ConvexStep(step.rows, p[None], q[None], constant, step.regularisation)


def newton_svm(step, state, tolerance):
    """Weighted SVM by proximal Newton steps, warm-started."""
    return solve_whole(step, state, tolerance=tolerance, margin=np.zeros(0))


def interior_point_svm(step, state, tolerance, most=80):
    """Weighted SVM by a primal-dual interior-point method on the d x d normal matrix.

    Hinges are written with slacks xi >= 0 and t = xi - 1/2 - z >= 0, whose multipliers b and a
    sum to the hinge's cost. Independent of `newton_svm`: it starts from w = 0, whatever the
    state, and shares only the products with X and the certificate.

    Parameters
    ----------
    step : ConvexStep
        Without constraints.
    state : ConvexState
        Not used, but for the shape of its multipliers.
    tolerance : float
        Certified gap at which to stop.

    Returns
    -------
    ConvexState
    """
    from scipy.linalg import cho_factor, cho_solve

    rows, ridge = step.rows, step.regularisation
    n = rows.shape[0]
    p, q = step.positive[0], step.negative[0]
    up, down = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    row = np.concatenate([up, down])
    sign = np.repeat([1.0, -1.0], [len(up), len(down)])
    cost = np.concatenate([p[up], q[down]])
    mean = cost.mean() if len(cost) else 1.0

    def spread(values):
        return np.bincount(row, sign * values, n)

    w = np.zeros(rows.shape[1])
    f = np.zeros(n)
    xi, a = np.ones(len(row)), cost / 2
    best = ConvexState(w, np.zeros(n), np.zeros(n), np.zeros(0))
    for count in range(most):
        z = sign * f[row]
        t, b = xi - 0.5 - z, cost - a
        above, below = np.zeros(n), np.zeros(n)
        above[up], below[down] = np.split(a / cost, [len(up)])
        lower, upper = step.lower_bound(above, below, np.zeros(0)), step.value(f, w)[0]
        if upper < best.upper:
            best.upper, best.w = upper, w
        if lower > best.lower:
            best.lower, best.above, best.below = lower, above, below
        best.evaluations = count
        if best.gap <= tolerance or not len(row):
            break
        centre = 0.1 * (a @ t + b @ xi) / (2 * len(row))
        width = t + a * xi / b
        bend = a / width
        rest = (centre - a * t - a * (centre - b * xi) / b) / width
        matrix = rows.gram(np.bincount(row, bend, n))
        matrix[np.diag_indices_from(matrix)] += ridge + 1e-13 * mean
        residual = ridge * w + rows.combine(spread(a + rest))
        move = -cho_solve(cho_factor(matrix, lower=True), residual)
        df = rows.scores(move)
        dz = sign * df[row]
        da = bend * dz + rest
        dxi = (centre - b * xi + xi * da) / b
        share = 1.0
        for value, change in ((t, dxi - dz), (xi, dxi), (a, da), (b, -da)):
            falls = change < 0
            if falls.any():
                share = min(share, 0.99 * np.min(-value[falls] / change[falls]))
        w, f = w + share * move, f + share * df
        xi, a = xi + share * dxi, a + share * da
    return best


SOLVERS = {"newton": newton_svm, "interior_point": interior_point_svm, "liblinear": liblinear_svm}


CHOOSERS = ("maximum", "centre")
# Multipliers, of costs that sum to one, beyond which a box is not widened.
WIDEST = 1e6


class CutModel:
    """h(v): the least of the cuts o_s + g_s'v, an upper bound on the concave dual function."""

    def __init__(self, width):
        self.width = np.array(width, dtype=float)
        self.offsets, self.slopes = [], []

    def add(self, offset, slope):
        """Add the cut of a point with this objective and these constraint values."""
        self.offsets.append(float(offset))
        self.slopes.append(np.array(slope, dtype=float))

    def at(self, v):
        """h(v)."""
        return float(np.min(np.array(self.offsets) + np.array(self.slopes) @ v))

    def maximum(self):
        """Where h is largest in the box, its value, and the cuts' weights there.

        The weights make a mixture of the cuts' points that keeps the constraints on average
        (linear programming duality), and so a feasible point by convexity.
        """
        from scipy.optimize import linprog

        slopes, offsets = np.array(self.slopes), np.array(self.offsets)
        m = slopes.shape[1]
        highest = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=np.column_stack([-slopes, np.ones(len(offsets))]),
            b_ub=offsets,
            bounds=[(0, high) for high in self.width] + [(None, None)],
            method="highs-ds",
        )
        if not highest.success:
            raise CounterweightError(
                f"The cuts' linear programme was not solved: {highest.message}"
            )
        weights = np.maximum(-highest.ineqlin.marginals, 0.0)
        v = np.clip(highest.x[:m], 0.0, self.width)
        return v, -float(highest.fun), weights / weights.sum()

    def centre(self, floor):
        """Centre of mass of {(v, z): floor <= z <= h(v)}, its v part.

        With one constraint the region is a polygon and the centre exact. With more it is the
        mean of a hit-and-run walk of 64 chains with fixed random numbers (the exact centre is
        hard to compute, Rademacher 2007). A region without inside gives the maximiser.
        """
        top, value, _ = self.maximum()
        if value - floor <= 1e-12:
            return top
        return self._polygon(floor, top) if len(top) == 1 else self._walk(floor, top, value)

    def _polygon(self, floor, top):
        offsets = np.append(np.array(self.offsets), floor)
        slopes = np.append(np.array(self.slopes)[:, 0], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (offsets[:, None] - offsets) / (slopes - slopes[:, None])
        inside = crossing[(crossing > 0) & (crossing < self.width[0])]
        knots = np.unique(np.concatenate([[0.0, self.width[0]], top, inside]))
        height = np.min(offsets[:-1] + knots[:, None] * slopes[:-1], axis=1) - floor
        height = np.maximum(height, 0.0)
        length, left, right = np.diff(knots), height[:-1], height[1:]
        area = length * (left + right) / 2
        # First moment of a trapezium about its left end.
        moment = area * knots[:-1] + length**2 * (left + 2 * right) / 6
        return np.array([moment.sum() / area.sum()]) if area.sum() > 0 else top

    def _walk(self, floor, top, value):
        m = len(top)
        # All of the region is {y: A y <= b} with y = (v, z).
        slopes = np.array(self.slopes)
        A = np.vstack(
            [
                np.column_stack([-slopes, np.ones(len(slopes))]),
                np.column_stack([np.eye(m), np.zeros(m)]),
                np.column_stack([-np.eye(m), np.zeros(m)]),
                np.append(np.zeros(m), -1.0),
            ]
        )
        b = np.concatenate([self.offsets, self.width, np.zeros(m), [-floor]])
        start = self._inside(A, b)
        if start is None:
            return top
        rng = np.random.default_rng(2016)
        y = np.repeat(start[None], 64, axis=0)
        # Directions in the shape of the points so far, so that narrow regions are crossed.
        spread = np.eye(m + 1) * np.append(self.width, value - floor)
        total, count = np.zeros(m + 1), 0
        for turn in range(60 + 40 * m):
            move = rng.standard_normal(y.shape) @ spread
            ahead, room = move @ A.T, b - y @ A.T
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = room / ahead
            high = np.min(np.where(ahead > 0, reach, np.inf), axis=1)
            low = np.max(np.where(ahead < 0, reach, -np.inf), axis=1)
            y = y + (low + (high - low) * rng.random(len(y)))[:, None] * move
            if turn >= 20:
                total, count = total + y.mean(axis=0), count + 1
            if turn == 10 or turn == 20:
                spread = np.linalg.cholesky(np.cov(y.T) + 1e-18 * np.eye(m + 1)).T
        return np.clip(total[:m] / count, 0.0, self.width)

    @staticmethod
    def _inside(A, b):
        """Centre of the largest ball in {y: A y <= b}, or None if it has no inside."""
        from scipy.optimize import linprog

        norms = np.linalg.norm(A, axis=1)
        ball = linprog(
            np.append(np.zeros(A.shape[1]), -1.0),
            A_ub=np.column_stack([A, norms]),
            b_ub=b,
            bounds=[(None, None)] * A.shape[1] + [(0, None)],
        )
        return ball.x[:-1] if ball.success and ball.x[-1] > 1e-13 else None


class _Bisection:
    """Halving the interval of one multiplier by the sign of its subgradient."""

    def __init__(self):
        self.low, self.high = 0.0, None

    def next(self, model, first):
        if first is not None:
            return first
        if self.high is None:
            return np.minimum(np.maximum(4 * self.low, 0.01), model.width)
        return np.array([0.5 * (self.low + self.high)])

    def saw(self, v, g):
        if g[0] > 0:
            self.low = max(self.low, float(v[0]))
        else:
            self.high = float(v[0]) if self.high is None else min(self.high, float(v[0]))


def cutting_plane(
    step,
    state,
    *,
    tolerance,
    margin,
    limit=np.inf,
    anchor=None,
    chooser="centre",
    inner="newton",
    most=300,
):
    """Solve a convex step by cuts over the multipliers, each from one weighted SVM.

    Cuts are shallow: while the bounds are far apart, SVMs are solved to half their distance.

    Parameters
    ----------
    step : ConvexStep
    state : ConvexState
        Start; its multipliers are tried first.
    tolerance : float
        Certified gap at which to stop.
    margin, limit, anchor
        As for `convex.solve_whole`.
    chooser : {"maximum", "centre", "bisection"}
        Next multipliers: where the cuts' model is highest; the centre of mass of what lies
        between the lower bound and the model; with one constraint, halving.
    inner : {"newton", "interior_point", "liblinear"}
        Solver of the weighted SVMs.
    most : int
        Largest number of SVMs.

    Returns
    -------
    ConvexState
        `evaluations` counts SVMs. Its w is the best of all points and of the mixture of points
        that the model's linear programme gives, pulled back to feasibility.
    """
    if chooser not in (*CHOOSERS, "bisection"):
        raise CounterweightError(
            f"Unknown chooser {chooser!r}: choose one of {', '.join(CHOOSERS)}."
        )
    if inner not in SOLVERS:
        raise CounterweightError(
            f"Unknown inner solver {inner!r}: choose one of {', '.join(SOLVERS)}."
        )
    m = len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, dtype=float), (m,))
    model = CutModel(np.minimum(limit, np.maximum(1.0, 2 * state.multipliers)))
    halving = _Bisection() if chooser == "bisection" else None
    best = ConvexState(state.w, state.above, state.below, state.multipliers)
    points = []

    def look(w):
        """Add the cut of a point and keep it if it is the best feasible one."""
        f = step.rows.scores(w)
        value, g = step.value(f, w)
        points.append(w)
        model.add(value, g + margin)
        keep(w, f)
        return g + margin

    def keep(w, f):
        if anchor is not None:
            share = pull_back(step, anchor, (w, f), ROUNDING)
            if share < 1:
                w = anchor[0] + share * (w - anchor[0])
                f = anchor[1] + share * (f - anchor[1])
        value, g = step.value(f, w)
        over = np.maximum(g, 0.0)
        if anchor is None and over.any():
            value += np.where(over > 0, limit, 0.0) @ over
        if value < best.upper:
            best.upper, best.w = value, w

    look(anchor[0] if anchor is not None else state.w)
    svm = start_state(step, state.w) if state.above is None else state
    first = np.clip(state.multipliers, 0.0, model.width)
    for count in range(most):
        top, high, weights = model.maximum()
        if count:
            mixed = weights @ np.array(points)
            keep(mixed, step.rows.scores(mixed))
        best.evaluations = count
        if best.gap <= tolerance:
            break
        # A box that holds the model's maximum back is widened, once a cut.
        wide = (top >= model.width * (1 - 1e-9)) & (model.width < np.minimum(limit, WIDEST))
        if count >= 2 and wide.any():
            model.width = np.where(wide, np.minimum(4 * model.width, limit), model.width)
        start, first = (first, None) if count == 0 else (None, None)
        if halving is not None:
            v = halving.next(model, start)
        elif start is not None:
            v = start
        elif chooser == "maximum":
            v = top
        else:
            v = model.centre(best.lower)
        accuracy = max(0.2 * tolerance, 0.25 * max(high - best.lower, 0.0)) if count > 1 else 1e-3
        accuracy = max(min(accuracy, 1e-3), 0.2 * tolerance)
        if halving is not None:
            accuracy = 0.05 * tolerance
        svm = SOLVERS[inner](
            with_multipliers(step, v), ConvexState(svm.w, svm.above, svm.below, v[:0]), accuracy
        )
        if svm.lower > best.lower:
            best.lower, best.multipliers = svm.lower, v
            best.above, best.below = svm.above, svm.below
        g = look(svm.w)
        if halving is not None:
            halving.saw(v, g)
    return best


# Newton steps after which an interior point takes over: few problems need as many.
PATIENCE = 400
# Gap that then does where others follow: the step keeps the constraints, and is no worse. With one
# constraint the interior point brings it down soon.
ENOUGH = 6e-3
# It works on all rows each time: dense ones of more products than this are left to Newton.
MOST_PRODUCTS = 5e8


def solve_step(
    step, state, anchor, limit, method, chooser, inner, tolerance, relative=None, rough=False
):
    """One convex step by the chosen method; a rough one with a gap of `ENOUGH` if that is hard."""
    margin = np.full(len(step.constant) - 1, 0.1 * tolerance)
    shared = {"tolerance": tolerance, "margin": margin, "limit": limit, "anchor": anchor}
    if len(step.constant) == 1 and inner != "newton":
        return SOLVERS[inner](step, state, tolerance)
    if method == "newton" or len(step.constant) == 1:
        n, d = step.rows.shape
        patience = PATIENCE if step.rows.is_sparse or n * d * d <= MOST_PRODUCTS else np.inf
        state = solve_whole(step, state, **shared, relative=relative, patience=patience)
        if rough and len(step.constant) > 2 and state.gap <= ENOUGH:
            return state
        asked = tolerance
        if relative is not None:
            asked = min(tolerance, max(relative * (state.upper - step.constant[0]), 1e-12))
        if state.gap <= asked or patience == np.inf:
            return state
        state = _better(state, solve_interior(step, state, **shared | {"tolerance": asked}))
        if state.gap <= asked:
            return state
        return _better(state, solve_whole(step, state, **shared, relative=relative))
    chooser = "bisection" if method == "bisection" else chooser
    return cutting_plane(step, state, **shared, chooser=chooser, inner=inner)


def _better(state, other):
    """Two states of one step as one, with the better of both bounds."""
    if other.upper < state.upper:
        state.upper, state.w = other.upper, other.w
    if other.lower > state.lower:
        state.lower, state.multipliers = other.lower, other.multipliers
        state.above, state.below = other.above, other.below
    state.evaluations += other.evaluations
    return state
