"""One convex step (Problem 3 of Goh et al. 2016) and its solvers.

Solved whole, constraints included, by Newton steps on smooth problems, or by a primal-dual interior
point where these take long; or by Algorithm 2, cuts over the multipliers whose inner problem is a
weighted support vector machine.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.newton import LineSums, Smooth, newton, solver

#: Constraint values up to this, of costs that sum to one, are rounding.
ROUNDING = 1e-10
#: After their patience Newton's steps go on where the gap is at most so many times what is asked,
#: up to so many times as long.
HOPELESS, NEARLY = 5.0, 4
#: Steeper smoothing than this makes the normal matrix too ill-conditioned for its factor.
SHARPEST, STIFFEST = 1e4, 1e5


def ramp(z):
    """sigma(z) = max(0, min(1, 1/2 + z)), equation (2)."""
    return np.clip(0.5 + z, 0.0, 1.0)


def upper_ramp(z, tangent):
    """Convex bound on sigma(z), tight at the current scores `tangent` (section 2.1).

    The bound on sigma(-z) is ``upper_ramp(-z, -tangent)``.
    """
    return np.where(np.asarray(tangent) <= 0.5, np.maximum(0.0, 0.5 + np.asarray(z)), 1.0)


@dataclass
class ConvexStep:
    """Problem 3: weighted hinges, a quadratic penalty, and m bounds on weighted hinges.

    minimise  sum_i P_0i h(f_i) + N_0i h(-f_i) + c_0 + sum_k a_k w_k^2 / 2
    subject to  sum_i P_ji h(f_i) + N_ji h(-f_i) + c_j <= 0,  h(z) = max(0, 1/2 + z).

    `rows` are `DistinctRows`; `positive` P and `negative` N (1 + m, n) are >= 0, row 0 the
    objective; `constant` c (1 + m,) has the bounds taken off; `regularisation` a (d,) is above 0.
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
        if not v.any():
            return self.positive[0], self.negative[0]
        return self.positive[0] + v @ self.positive[1:], self.negative[0] + v @ self.negative[1:]

    def at(self, v):
        """The Lagrangian at fixed multipliers (m,): a step without constraints.

        Each row has a hinge of label -1 with cost P_0 + v'P and one of label +1 with cost N_0 +
        v'N (section 2.2); in the usual scaling u = 2w this is a weighted SVM.
        """
        p, q = self.costs(v)
        constant = self.constant[:1] + v @ self.constant[1:]
        return replace(self, positive=p[None], negative=q[None], constant=constant)

    def lower_bound(self, above, below, v, kept=None):
        """Dual value at hinge slopes in [0, 1] and multipliers v >= 0: a certified lower bound."""
        p, q = self.costs(v)
        up, down = p * above, q * below
        if kept is None or self.rows.by_row is None:
            slope = self.rows.combine(up - down)
        else:
            slope = np.append(1.0, v) @ kept.at(self.positive * above - self.negative * below)
        quadratic = 0.5 * np.sum(slope * slope / self.regularisation)
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
    first: float = np.inf

    @property
    def gap(self):
        """Certified distance to the optimum of the convex step."""
        return self.upper - self.lower

    @property
    def gain(self):
        """What the step has gained over its start; 0 where that had no value."""
        return self.first - self.upper if np.isfinite(self.first) else 0.0


def start_state(step, w, multipliers=None):
    """State at w, with hinge slopes of the sides on which its scores lie."""
    f = step.rows.scores(w)
    v = np.zeros(len(step.constant) - 1) if multipliers is None else np.array(multipliers, float)
    return ConvexState(np.array(w, float), (f > -0.5) * 1.0, (f < 0.5) * 1.0, v)


def pull_back(step, inside, outside, slack=0.0):
    """How far, in [0, 1], one may go from the feasible `inside` to `outside`, pairs (w, f).

    At the last point, all constraint values are at most `slack`. Constraints are convex along the
    segment, so halving finds the end of the feasible part that holds 0, or a point inside it.
    """
    (_, f0), (_, f1) = inside, outside
    last = step.rates(f1)[1:]
    if last.max(initial=-np.inf) <= slack:
        return 1.0
    # What no hinge changes its piece in is linear along the way.
    turn = ((f0 > -0.5) != (f1 > -0.5)) | ((f0 < 0.5) != (f1 < 0.5))
    up, down, start, move = (
        *(a[1:, turn] for a in (step.positive, step.negative)),
        f0[turn],
        f1 - f0,
    )
    move = move[turn]

    def bent(share):
        f = start + share * move
        return up @ np.maximum(0.0, 0.5 + f) + down @ np.maximum(0.0, 0.5 - f)

    first, last = step.rates(f0)[1:] - bent(0.0), last - bent(1.0)
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        kept = (first + middle * (last - first) + bent(middle)).max() <= slack
        low, high = (middle, high) if kept else (low, middle)
        if low > 0 and high - low <= 1e-6 * low:
            break
    return low


def reached(step, w, f, anchor, limit):
    """Value of a point, and the point: pulled back to an anchor, or its violations at a price."""
    value, g = step.value(f, w)
    if anchor is not None:
        share = pull_back(step, anchor, (w, f), ROUNDING)
        if share < 1:
            w = anchor[0] + share * (w - anchor[0])
            value = step.value(anchor[1] + share * (f - anchor[1]), w)[0]
    elif (over := np.maximum(g, 0.0)).any():
        value += np.sum(np.where(over > 0, limit, 0.0) * over)
    return value, w


def solve_whole(
    step,
    state,
    *,
    tol,
    margin,
    limit=np.inf,
    anchor=None,
    relative=None,
    gained=0.0,
    most=60,
    patience=np.inf,
):
    """Solve a convex step with its constraints, by proximal multipliers and Newton steps.

    Costs of the objective, and of each constraint, sum to about 1. `state` is the start. Ends at
    the certified gap `tol` (upper minus lower bound), which must not exceed the share `relative` of
    the objective, its constant left out, either; or at the share `gained` of what the step has
    gained, if that is more; or after `patience` Newton steps. `margin` is how much inside the
    bounds to aim, so that rounding does not end outside. Multipliers are at most `limit`: finite
    for elastic constraints, whose price it is. `anchor` (w, f) is a point that is feasible in this
    step: the result is pulled back to it where needed, and no worse. Without one, violations are
    priced at `limit`.
    """
    m = len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, float), (m,))
    w, kept = state.w, LineSums(step.rows)
    known = anchor is not None and np.array_equal(w, anchor[0])
    f = anchor[1] if known else step.rows.scores(w)
    best = ConvexState(state.w, state.above, state.below, state.multipliers)
    if anchor is not None:
        best.w, best.upper = anchor[0], step.value(anchor[1], anchor[0])[0]
    elif m == 0 or np.isfinite(limit).all():
        value, g = step.value(f, w)
        best.upper = value + limit @ np.maximum(g, 0.0) if m else value
    best.first = best.upper
    gap, sharp, stiff = np.inf, 2.0, np.full(m, 12.0)
    asked, newtons, strict = tol, 0, 0.02
    for _ in range(most):
        slopes = state.above, state.below, state.multipliers
        smooth = Smooth(step, *slopes, sharp, stiff, margin, limit)
        if relative is not None and np.isfinite(best.upper):
            asked = min(tol, max(relative * (best.upper - step.constant[0]), 1e-12))
        accuracy = max(min(1e-4, strict * gap), strict * asked)
        w, f, above, below, v, count, solved = newton(smooth, w, f, accuracy, 50, kept)
        newtons += count
        state = ConvexState(w, above, below, v)
        lower = step.lower_bound(above, below, v, kept)
        if lower > best.lower:
            best.lower = lower
        value, point = reached(step, w, f, anchor, limit)
        if value < best.upper:
            best.upper, best.w = value, point
        best.above, best.below, best.multipliers, best.evaluations = above, below, v, newtons
        # A gap that hardly falls asks for more exact minimisers.
        if best.gap > 0.5 * gap:
            strict = max(0.3 * strict, 1e-5)
        gap = best.gap
        enough = max(asked, gained * best.gain)
        # Few steps are left where the gap is no longer far from what is asked.
        if gap <= enough or newtons >= patience * (1 if gap > HOPELESS * enough else NEARLY):
            break
        # A problem that was too stiff for Newton's steps is taken up again softer.
        factor = 2.0 if solved else 0.25
        sharp = min(max(sharp * factor, 1.0), SHARPEST)
        stiff = np.clip(stiff * factor, 1.0, STIFFEST)
    return best


#: Rows of less weight than this share of the largest are left out of an interior point's matrix.
SLIGHT = 1e-7


class _Hinges(NamedTuple):
    """Hinges as rows: place, sign and costs (1 + m, k) of each, and what they are hinges of."""

    row: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    rows: object
    l2: np.ndarray
    priced: np.ndarray

    def spread(self, values):
        """Sums over the hinges of each row."""
        return np.bincount(self.row, self.sign * values, self.rows.shape[0])


class _Point(NamedTuple):
    """Unknowns, or a direction of them; see `solve_interior`."""

    w: np.ndarray
    f: np.ndarray
    xi: np.ndarray
    t: np.ndarray
    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    s: np.ndarray
    u: np.ndarray
    free: np.ndarray

    def after(self, move, share):
        """The point after a share of a direction."""
        return _Point(*(now + share * change for now, change in zip(self, move, strict=True)))


class _System:
    """Newton's equations at a point, everything but w and v eliminated."""

    def __init__(self, hinges, point, fixed):
        self.hinges, self.point = hinges, point
        rows, cost = hinges.rows, hinges.cost
        w, f, xi, t, a, b, v, s, u, free = point
        self.rest_w = hinges.l2 * w + rows.combine(hinges.spread(a))
        self.rest_xi = cost[0] + v @ cost[1:] - a - b
        self.rest_t = xi - 0.5 - hinges.sign * f[hinges.row] - t
        self.rest_s = cost[1:] @ xi + fixed + s - u
        self.of_t, self.of_xi = t / a, xi / b
        self.bend = 1.0 / (self.of_t + self.of_xi)
        weight = np.bincount(hinges.row, self.bend, rows.shape[0])
        weight[weight < SLIGHT * weight.max()] = 0.0
        matrix = rows.gram(weight)
        matrix[np.diag_indices_from(matrix)] += hinges.l2 + 1e-14 * matrix.trace() / len(matrix)
        self.solve = solver(matrix)
        # Of each constraint: how xi falls with v at fixed w, and along w.
        spent = cost[1:] * self.of_xi
        across = [rows.combine(hinges.spread(own * self.bend)) for own in spent]
        across = np.array(across).reshape(len(v), len(w))
        self.solved = self.solve(across.T) if len(v) else np.zeros((len(w), 0))
        diagonal = s / v + np.where(hinges.priced, u / free, 0.0)
        damped = spent * self.bend * self.of_t
        self.schur = damped @ cost[1:].T + across @ self.solved + np.diag(diagonal)

    def direction(self, centre, of_a=0.0, of_b=0.0, of_v=0.0, of_u=0.0):
        """Newton's direction to the products `centre`, less second-order terms of each pair."""
        hinges, rows, cost = self.hinges, self.hinges.rows, self.hinges.cost[1:]
        _, _, xi, t, a, b, v, s, u, free = self.point
        for_t, for_xi = (centre - of_a) / a - t, (centre - of_b) / b - xi
        for_s = (centre - of_v) / v - s
        for_u = np.where(hinges.priced, (centre - of_u) / free - u, 0.0)
        base = for_xi - self.of_xi * self.rest_xi
        lead = self.bend * (for_t - base - self.rest_t)
        plain = self.solve(-(self.rest_w + rows.combine(hinges.spread(lead))))
        dz = hinges.sign * rows.scores(plain)[hinges.row]
        inner = base + self.of_xi * (lead + self.bend * dz)
        dv = np.zeros(0)
        if len(v):
            dv = np.linalg.solve(self.schur, self.rest_s + cost @ inner + for_s - for_u)
        dw = plain - self.solved @ dv
        df = rows.scores(dw)
        asked = dv @ cost if len(v) else 0.0
        da = lead + self.bend * (self.of_xi * asked + hinges.sign * df[hinges.row])
        db = self.rest_xi + asked - da
        dxi, dt, ds = for_xi - self.of_xi * db, for_t - self.of_t * da, for_s - (s / v) * dv
        du = np.where(hinges.priced, for_u + (u / free) * dv, 0.0)
        return _Point(dw, df, dxi, dt, da, db, dv, ds, du, np.where(hinges.priced, -dv, 0.0))

    def longest(self, move):
        """How far along a direction everything stays above 0, and a little less."""
        share = 1.0
        for values, change in zip(self.point[2:], move[2:], strict=True):
            # Where a value falls to 0 first; of those that are as near but for rounding the first.
            falling = change / values
            most = np.fmin.reduce(falling, initial=0.0)
            if most < 0:
                first = falling <= most * (1 - 1e-12)
                share = min(share, 0.995 * np.min(-values[first] / change[first]))
        return share

    def mean(self, move, share):
        """Mean product of the pairs after a share of a direction."""
        after = (now + share * by for now, by in zip(self.point[2:], move[2:], strict=True))
        xi, t, a, b, v, s, u, free = after if share else self.point[2:]
        priced = self.hinges.priced
        total = a @ t + b @ xi + v @ s + u[priced] @ free[priced]
        return total / max(2 * len(a) + len(v) + priced.sum(), 1)

    def step(self):
        """Mehrotra's predictor and corrector: a direction and how far to go along it."""
        first = self.direction(0.0)
        now = self.mean(first, 0.0)
        share = max(self.mean(first, self.longest(first)) / now, 0.0)
        centre = now * min(1.0, share) ** 3
        ends = first.t * first.a, first.xi * first.b, first.s * first.v, first.u * first.free
        move = self.direction(centre, *ends)
        return move, self.longest(move)


def solve_interior(step, state, *, tol, margin, limit=np.inf, anchor=None, gained=0.0, most=60):
    """Solve a convex step with its constraints on the normal matrix of all its hinges.

    Hinge k has a slack xi_k >= 0 with t_k = xi_k - 1/2 - z_k >= 0; constraint j, on sums of the
    slacks, has s_j >= 0. Their multipliers b, a and v follow a central path; with a finite `limit`
    a constraint may be broken at that price. The number of iterations, `most` at most, hardly
    depends on the data, but each works on all rows. Arguments are those of `solve_whole`;
    `evaluations` counts iterations.
    """
    from scipy.linalg import LinAlgError

    rows, n, m = step.rows, step.rows.shape[0], len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, float), (m,))
    up = np.flatnonzero(step.positive.any(axis=0))
    down = np.flatnonzero(step.negative.any(axis=0))
    row = np.concatenate([up, down])
    sign = np.repeat([1.0, -1.0], [len(up), len(down)])
    cost = np.concatenate([step.positive[:, up], step.negative[:, down]], axis=1)
    fixed = step.constant[1:] + margin
    priced = np.isfinite(limit)
    hinges = _Hinges(row, sign, cost, rows, step.regularisation, priced)
    best = ConvexState(state.w, np.zeros(n), np.zeros(n), np.zeros(m))
    w = np.array(state.w, float)
    if anchor is not None:
        best.w, best.upper = anchor[0], step.value(anchor[1], anchor[0])[0]
        w = np.array(anchor[0], float)
    best.first = best.upper
    f = rows.scores(w)
    xi = np.maximum(0.5 + sign * f[row], 0.0) + 0.1
    v = np.minimum(np.full(m, 0.1), 0.5 * limit)
    a = 0.5 * np.maximum(cost[0] + v @ cost[1:], 1e-300)
    s = np.maximum(-(cost[1:] @ xi + fixed), 0.05)
    # Violation at a price: u >= 0 with multiplier free = limit - v.
    u, free = np.where(priced, 0.05, 0.0), np.where(priced, limit - v, 1.0)
    point = _Point(w, f, xi, xi - 0.5 - sign * f[row], a, a.copy(), v, s, u, free)
    for count in range(most):
        best.evaluations = count
        total = cost[0] + point.v @ cost[1:]
        above, below = np.zeros(n), np.zeros(n)
        share = np.clip(point.a / np.maximum(total, 1e-300), 0.0, 1.0)
        above[up], below[down] = np.split(share, [len(up)])
        lower = step.lower_bound(above, below, point.v)
        if lower > best.lower:
            best.lower, best.above, best.below, best.multipliers = lower, above, below, point.v
        upper, reaches = reached(step, point.w, point.f, anchor, limit)
        if upper < best.upper:
            best.upper, best.w = upper, reaches
        if best.gap <= max(tol, gained * best.gain):
            break
        try:
            with np.errstate(all="ignore"):
                move, reach = _System(hinges, point, fixed).step()
        except (LinAlgError, ValueError):
            break
        if not (reach >= 1e-6 and np.isfinite(move.w).all()):
            break
        point = point.after(move, reach)
    return best


#: Multipliers, of costs that sum to one, beyond which a box is not widened.
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

    def maximum(self):
        """Where h is largest in the box, its value, and the cuts' weights there.

        The weights make a mixture of the cuts' points that keeps the constraints on average (linear
        programming duality), and so a feasible point by convexity.
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
        """Where to look next: with one constraint the centre of mass of floor <= z <= h(v).

        With more that centre is hard to compute (Rademacher 2007), and the maximiser is taken; so
        it is where the region has no inside.
        """
        top, value, _ = self.maximum()
        if value - floor <= 1e-12 or len(top) > 1:
            return top
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


def cutting_plane(step, state, *, tol, margin, limit=np.inf, anchor=None, most=300):
    """Solve a convex step by cuts over the multipliers, each from one weighted SVM (Algorithm 2).

    Cuts are shallow: while the bounds are far apart, SVMs are solved to half their distance.
    Arguments are those of `solve_whole`, `most` the largest number of SVMs, which `evaluations`
    counts. The result is the best of all points and of the mixture of points that the model's
    linear programme gives, pulled back to feasibility.
    """
    m = len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, dtype=float), (m,))
    model = CutModel(np.minimum(limit, np.maximum(1.0, 2 * state.multipliers)))
    best = ConvexState(state.w, state.above, state.below, state.multipliers)
    points = []

    def look(w):
        """Add the cut of a point and keep it if it is the best feasible one."""
        f = step.rows.scores(w)
        value, g = step.value(f, w)
        points.append(w)
        model.add(value, g + margin)
        keep(w, f)

    def keep(w, f):
        value, w = reached(step, w, f, anchor, limit)
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
        if best.gap <= tol:
            break
        # A box that holds the model's maximum back is widened, once a cut.
        wide = (top >= model.width * (1 - 1e-9)) & (model.width < np.minimum(limit, WIDEST))
        if count >= 2 and wide.any():
            model.width = np.where(wide, np.minimum(4 * model.width, limit), model.width)
        v = first if count == 0 else model.centre(best.lower)
        accuracy = max(0.2 * tol, 0.25 * max(high - best.lower, 0.0)) if count > 1 else 1e-3
        accuracy = max(min(accuracy, 1e-3), 0.2 * tol)
        begun = ConvexState(svm.w, svm.above, svm.below, v[:0])
        svm = solve_whole(step.at(v), begun, tol=accuracy, margin=np.zeros(0))
        if svm.lower > best.lower:
            best.lower, best.multipliers = svm.lower, v
            best.above, best.below = svm.above, svm.below
        look(svm.w)
    return best


#: Newton steps after which an interior point takes over: few problems need as many. The gap that
#: then does where others follow and constraints are several. It works on all rows each time: dense
#: ones of more products than the last are left to Newton.
PATIENCE, ENOUGH, MOST_PRODUCTS = 100, 6e-3, 5e8


def solve_step(step, state, anchor, limit, method, tol, relative=None, rough=False, gained=0.0):
    """One convex step by the chosen method; a rough one with a gap of `ENOUGH` if that is hard.

    `gained` is that of `solve_whole`.
    """
    margin = np.full(len(step.constant) - 1, 0.1 * tol)
    shared = {"tol": tol, "margin": margin, "limit": limit, "anchor": anchor}
    if method != "newton" and len(step.constant) > 1:
        return cutting_plane(step, state, **shared)
    n, d = step.rows.shape
    patience = PATIENCE if step.rows.is_sparse or n * d * d <= MOST_PRODUCTS else np.inf
    shared["gained"] = gained
    state = solve_whole(step, state, **shared, relative=relative, patience=patience)
    if rough and len(step.constant) > 2 and state.gap <= ENOUGH:
        return state
    asked = tol
    if relative is not None:
        asked = min(tol, max(relative * (state.upper - step.constant[0]), 1e-12))
    if state.gap <= max(asked, gained * state.gain) or patience == np.inf:
        return state
    state = _better(state, solve_interior(step, state, **shared | {"tol": asked}))
    if state.gap <= max(asked, gained * state.gain):
        return state
    return _better(state, solve_whole(step, state, **shared, relative=relative))


def _better(state, other):
    """Two states of one step as one, with the better of both bounds."""
    if other.upper < state.upper:
        state.upper, state.w = other.upper, other.w
    if other.lower > state.lower:
        state.lower, state.multipliers = other.lower, other.multipliers
        state.above, state.below = other.above, other.below
    state.evaluations += other.evaluations
    return state
