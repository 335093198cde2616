"""Algorithm 2 of Goh et al. (2016): a cutting plane over the multipliers."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.convex import (
    ROUNDING,
    ConvexState,
    pull_back,
    start_state,
)
from counterweight.models.constraints.solver.svm import SOLVERS, with_multipliers

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
