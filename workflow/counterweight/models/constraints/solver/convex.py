"""One convex step (Problem 3 of Goh et al. 2016) solved whole, constraints included."""

from dataclasses import dataclass, field

import numpy as np

from counterweight.models.constraints.solver.rows import balanced
from counterweight.models.constraints.solver.smooth import Smooth, newton

# Constraint values up to this, of costs that sum to one, are rounding.
ROUNDING = 1e-10
# Steeper smoothing than this makes the normal matrix too ill-conditioned for its factor.
SHARPEST, STIFFEST = 1e4, 1e5


def ramp(z):
    """sigma(z) = max(0, min(1, 1/2 + z)), equation (2)."""
    return np.clip(0.5 + z, 0.0, 1.0)


def upper_ramp(z, tangent):
    """Convex bound on sigma(z), tight at z = tangent (section 2.1).

    Parameters
    ----------
    z, tangent : array
        Scores, and the scores at the current solution. The bound on sigma(-z) is
        ``upper_ramp(-z, -tangent)``.
    """
    return np.where(np.asarray(tangent) <= 0.5, np.maximum(0.0, 0.5 + np.asarray(z)), 1.0)


@dataclass
class ConvexStep:
    """Problem 3: weighted hinges, a quadratic penalty, and m bounds on weighted hinges.

    minimise  sum_i P_0i h(f_i) + N_0i h(-f_i) + c_0 + sum_k a_k w_k^2 / 2
    subject to  sum_i P_ji h(f_i) + N_ji h(-f_i) + c_j <= 0,  h(z) = max(0, 1/2 + z).

    Attributes
    ----------
    rows : DistinctRows
    positive, negative : array of shape (1 + m, n)
        P and N, all >= 0; row 0 is the objective.
    constant : array of shape (1 + m,)
        c; the bounds are already taken off.
    regularisation : array of shape (d,)
        a; zero for an unregularised bias.
    """

    rows: object
    positive: np.ndarray
    negative: np.ndarray
    constant: np.ndarray
    regularisation: np.ndarray

    @classmethod
    def of_ramps(cls, rows, positive, negative, constant, regularisation, tangent):
        """Problem 3 at the scores `tangent` of the current solution, equations (4) and (5)."""
        hinge_p, hinge_n = tangent <= 0.5, tangent >= -0.5
        flat = positive[:, ~hinge_p].sum(axis=1) + negative[:, ~hinge_n].sum(axis=1)
        return cls(rows, positive * hinge_p, negative * hinge_n, constant + flat, regularisation)

    def rates(self, f):
        """Hinge sums with their constants: objective without the penalty, then constraints."""
        above, below = np.maximum(0.0, 0.5 + f), np.maximum(0.0, 0.5 - f)
        return self.positive @ above + self.negative @ below + self.constant

    def value(self, f, w):
        """Objective and constraints (<= 0 is kept) at w with scores f."""
        rates = self.rates(f)
        return rates[0] + 0.5 * self.regularisation @ (w * w), rates[1:]

    def costs(self, v):
        """Costs of both hinges of each row in the Lagrangian."""
        if len(v) == 0:
            return self.positive[0], self.negative[0]
        return self.positive[0] + v @ self.positive[1:], self.negative[0] + v @ self.negative[1:]

    def lower_bound(self, above, below, v):
        """Dual value at hinge slopes in [0, 1] and multipliers v >= 0: a certified lower bound.

        With an unregularised bias the slopes of one side are scaled down until they balance,
        because the bound is finite only then.
        """
        p, q = self.costs(v)
        up, down = p * above, q * below
        free = self.regularisation <= 0
        if free.any():
            up, down = balanced(up, down)
        slope = self.rows.combine(up - down)[~free]
        quadratic = 0.5 * np.sum(slope * slope / self.regularisation[~free])
        return 0.5 * (up.sum() + down.sum()) - quadratic + self.constant[0] + v @ self.constant[1:]


@dataclass
class ConvexState:
    """Where the solver of a convex step stands; also its warm start."""

    w: np.ndarray
    above: np.ndarray
    below: np.ndarray
    multipliers: np.ndarray
    upper: float = np.inf
    lower: float = -np.inf
    evaluations: int = 0
    sharpness: float = field(default=None)

    @property
    def gap(self):
        """Certified distance to the optimum of the convex step."""
        return self.upper - self.lower


def start_state(step, w, multipliers=None):
    """State at w, with hinge slopes of the sides on which its scores lie."""
    f = step.rows.scores(w)
    v = np.zeros(len(step.constant) - 1) if multipliers is None else np.array(multipliers, float)
    return ConvexState(np.array(w, float), (f > -0.5) * 1.0, (f < 0.5) * 1.0, v)


def pull_back(step, inside, outside, slack=0.0):
    """Last point on the segment from a feasible point that keeps every constraint.

    Parameters
    ----------
    step : ConvexStep
    inside, outside : pair (w, f)
        A point that is feasible in this convex step, and one that may not be.
    slack : float
        Largest constraint value that counts as kept.

    Returns
    -------
    share : float
        In [0, 1]; 0 gives the feasible point back. Constraints are convex along the segment,
        so halving finds the end of the feasible part that holds 0, or a point inside it.
    """
    (_, f0), (_, f1) = inside, outside

    def worst(share):
        values = step.rates(f0 + share * (f1 - f0))[1:]
        return values.max(initial=-np.inf)

    if worst(1.0) <= slack:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        if worst(middle) <= slack:
            low = middle
        else:
            high = middle
        if low > 0 and high - low <= 1e-6 * low:
            break
    return low


def solve_whole(
    step,
    state,
    *,
    tolerance,
    margin,
    limit=np.inf,
    anchor=None,
    relative=None,
    most=60,
    growth=2.0,
    sharpness=2.0,
    stiffness=12.0,
    patience=np.inf,
):
    """Solve a convex step with its constraints, by proximal multipliers and Newton steps.

    Stops without the gap that is asked for after `patience` Newton steps.

    Parameters
    ----------
    step : ConvexStep
        Scaled so that costs of the objective sum to about 1, those of each constraint too.
    state : ConvexState
        Start: w, hinge slopes and multipliers.
    tolerance : float
        Certified gap (upper minus lower bound) at which to stop.
    margin : float or array of shape (m,)
        How much inside the bounds to aim, so that rounding does not end outside.
    limit : float or array of shape (m,)
        Largest multiplier: finite for elastic constraints, whose price it is.
    anchor : pair (w, f) or None
        A point that is feasible in this step; the result is pulled back to it where needed.
        Without one, violations are priced at `limit`.
    relative : float or None
        Share of the objective, its constant left out, that the gap must not exceed either.

    Returns
    -------
    ConvexState
        Its w is feasible if there is an anchor, and no worse than it.
    """
    m = len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, float), (m,))
    w, f = state.w, step.rows.scores(state.w)
    best = ConvexState(state.w, state.above, state.below, state.multipliers)
    if anchor is not None:
        best.w, best.upper = anchor[0], step.value(anchor[1], anchor[0])[0]
    elif m == 0 or np.isfinite(limit).all():
        value, g = step.value(f, w)
        best.upper = value + limit @ np.maximum(g, 0.0) if m else value
    gap, sharp, stiff = np.inf, sharpness, np.full(m, stiffness)
    asked = tolerance
    newtons, strict = 0, 0.02
    for _ in range(most):
        smooth = Smooth.of(step, state, sharp, stiff, margin, limit)
        if relative is not None and np.isfinite(best.upper):
            asked = min(tolerance, max(relative * (best.upper - step.constant[0]), 1e-12))
        accuracy = max(min(1e-4, strict * gap), strict * asked)
        w, f, above, below, v, count, solved = newton(smooth, w, f, accuracy, 50)
        newtons += count
        state = ConvexState(w, above, below, v)
        lower = step.lower_bound(above, below, v)
        if lower > best.lower:
            best.lower = lower
        value, g = step.value(f, w)
        point = w
        if anchor is not None:
            share = pull_back(step, anchor, (w, f), ROUNDING)
            if share < 1:
                point = anchor[0] + share * (w - anchor[0])
                value = step.value(anchor[1] + share * (f - anchor[1]), point)[0]
        elif m:
            over = np.maximum(g, 0.0)
            value += np.sum(np.where(over > 0, limit, 0.0) * over) if over.any() else 0.0
        if value < best.upper:
            best.upper, best.w = value, point
        best.above, best.below, best.multipliers = above, below, v
        # A gap that hardly falls asks for more exact minimisers.
        if best.gap > 0.5 * gap:
            strict = max(0.3 * strict, 1e-5)
        gap = best.gap
        best.sharpness = sharp
        if gap <= asked:
            break
        if newtons >= patience:
            break
        # A problem that was too stiff for Newton's steps is taken up again softer.
        factor = growth if solved else 0.25
        sharp = min(max(sharp * factor, 1.0), SHARPEST)
        stiff = np.clip(stiff * factor, 1.0, STIFFEST)
    best.evaluations = newtons
    return best
