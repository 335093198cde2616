"""One convex step by a primal-dual interior point: where Newton's smooth problems take long."""

from typing import NamedTuple

import numpy as np

from counterweight.models.constraints.solver.convex import ROUNDING, ConvexState, pull_back


class _Hinges(NamedTuple):
    """Hinges as rows: place, sign and costs (1 + m, k) of each, and what they are hinges of."""

    row: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    rows: object
    ridge: np.ndarray
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


class _System:
    """Newton's equations at a point, everything but w and v eliminated."""

    def __init__(self, hinges, point, fixed):
        from scipy.linalg import cho_factor, cho_solve

        self.hinges, self.point = hinges, point
        rows, cost, priced = hinges.rows, hinges.cost, hinges.priced
        w, f, xi, t, a, b, v, s, u, free = point
        z = hinges.sign * f[hinges.row]
        self.rest_w = hinges.ridge * w + rows.combine(hinges.spread(a))
        self.rest_xi = cost[0] + v @ cost[1:] - a - b
        self.rest_t = xi - 0.5 - z - t
        self.rest_s = cost[1:] @ xi + fixed + s - u
        self.bend = 1.0 / (t / a + xi / b)
        matrix = rows.gram(np.bincount(hinges.row, self.bend, rows.shape[0]))
        matrix[np.diag_indices_from(matrix)] += hinges.ridge + 1e-14 * matrix.trace() / len(matrix)
        self.factor = cho_factor(matrix, lower=True)
        # Of each constraint: how xi falls with v at fixed w, and along w.
        spent = cost[1:] * (xi / b)
        across = [rows.combine(hinges.spread(own * self.bend)) for own in spent]
        across = np.array(across).reshape(len(v), len(w))
        self.solved = cho_solve(self.factor, across.T) if len(v) else np.zeros((len(w), 0))
        diagonal = s / v + np.where(priced, u / free, 0.0)
        damped = spent * self.bend * (t / a)
        self.schur = damped @ cost[1:].T + across @ self.solved + np.diag(diagonal)

    def direction(self, centre, of_a, of_b, of_v, of_u):
        """Newton's direction to the products `centre`, less second-order terms of each pair."""
        from scipy.linalg import cho_solve

        hinges, rows, cost = self.hinges, self.hinges.rows, self.hinges.cost[1:]
        _, _, xi, t, a, b, v, s, u, free = self.point
        for_t, for_xi = (centre - of_a) / a - t, (centre - of_b) / b - xi
        for_s = (centre - of_v) / v - s
        for_u = np.where(hinges.priced, (centre - of_u) / free - u, 0.0)
        base = for_xi - (xi / b) * self.rest_xi
        lead = self.bend * (for_t - base - self.rest_t)
        plain = cho_solve(self.factor, -(self.rest_w + rows.combine(hinges.spread(lead))))
        dz = hinges.sign * rows.scores(plain)[hinges.row]
        inner = base + (xi / b) * (lead + self.bend * dz)
        dv = np.zeros(0)
        if len(v):
            dv = np.linalg.solve(self.schur, self.rest_s + cost @ inner + for_s - for_u)
        dw = plain - self.solved @ dv
        df = rows.scores(dw)
        asked = dv @ cost if len(v) else 0.0
        da = lead + self.bend * ((xi / b) * asked + hinges.sign * df[hinges.row])
        db = self.rest_xi + asked - da
        return _Point(
            dw,
            df,
            for_xi - (xi / b) * db,
            for_t - (t / a) * da,
            da,
            db,
            dv,
            for_s - (s / v) * dv,
            np.where(hinges.priced, for_u + (u / free) * dv, 0.0),
            np.where(hinges.priced, -dv, 0.0),
        )

    def longest(self, move):
        """How far along a direction everything stays above 0, and a little less."""
        share = 1.0
        for values, change in zip(self.point[2:], move[2:], strict=True):
            falls = change < 0
            if falls.any():
                share = min(share, 0.995 * np.min(-values[falls] / change[falls]))
        return share

    def mean(self, move, share):
        """Mean product of the pairs after a share of a direction."""
        _, _, xi, t, a, b, v, s, u, free = (
            now + share * change for now, change in zip(self.point, move, strict=True)
        )
        priced = self.hinges.priced
        total = a @ t + b @ xi + v @ s + u[priced] @ free[priced]
        return total / max(2 * len(a) + len(v) + priced.sum(), 1)


def solve_interior(step, state, *, tolerance, margin, limit=np.inf, anchor=None, most=60):
    """Solve a convex step with its constraints on the normal matrix of all its hinges.

    Hinge k has a slack xi_k >= 0 with t_k = xi_k - 1/2 - z_k >= 0; constraint j, on sums of the
    slacks, has s_j >= 0. Their multipliers b, a and v follow a central path by Mehrotra's
    predictor and corrector; with a finite `limit` a constraint may be broken at that price.
    The number of iterations hardly depends on the data, but each works on all rows.

    Parameters
    ----------
    step, state, tolerance, margin, limit, anchor
        As for `convex.solve_whole`.
    most : int
        Largest number of iterations.

    Returns
    -------
    ConvexState
        `evaluations` counts iterations.
    """
    from scipy.linalg import LinAlgError

    rows, ridge, n, m = step.rows, step.regularisation, step.rows.shape[0], len(step.constant) - 1
    limit = np.broadcast_to(np.asarray(limit, float), (m,))
    up = np.flatnonzero(step.positive.any(axis=0))
    down = np.flatnonzero(step.negative.any(axis=0))
    row = np.concatenate([up, down])
    sign = np.repeat([1.0, -1.0], [len(up), len(down)])
    cost = np.concatenate([step.positive[:, up], step.negative[:, down]], axis=1)
    fixed = step.constant[1:] + margin
    priced = np.isfinite(limit)
    hinges = _Hinges(row, sign, cost, rows, ridge, priced)
    best = ConvexState(state.w, np.zeros(n), np.zeros(n), np.zeros(m))
    if anchor is not None:
        best.w, best.upper = anchor[0], step.value(anchor[1], anchor[0])[0]
    w = np.array(state.w, float) if anchor is None else np.array(anchor[0], float)
    f = rows.scores(w)

    z = sign * f[row]
    xi = np.maximum(0.5 + z, 0.0) + 0.1
    t = xi - 0.5 - z
    v = np.minimum(np.full(m, 0.1), 0.5 * limit)
    total = cost[0] + v @ cost[1:]
    a = 0.5 * np.maximum(total, 1e-300)
    b = a.copy()
    s = np.maximum(-(cost[1:] @ xi + fixed), 0.05)
    # Violation at a price: u >= 0 with multiplier free = limit - v.
    u, free = np.where(priced, 0.05, 0.0), np.where(priced, limit - v, 1.0)
    for count in range(most):
        best.evaluations = count
        z = sign * f[row]
        total = cost[0] + v @ cost[1:]
        above, below = np.zeros(n), np.zeros(n)
        share = np.clip(a / np.maximum(total, 1e-300), 0.0, 1.0)
        above[up], below[down] = np.split(share, [len(up)])
        lower = step.lower_bound(above, below, v)
        if lower > best.lower:
            best.lower, best.above, best.below, best.multipliers = lower, above, below, v.copy()
        reached, value = w, step.value(f, w)
        if anchor is not None:
            back = pull_back(step, anchor, (w, f), ROUNDING)
            if back < 1:
                reached = anchor[0] + back * (w - anchor[0])
                value = step.value(anchor[1] + back * (f - anchor[1]), reached)
            upper = value[0]
        else:
            over = np.maximum(value[1], 0.0)
            upper = value[0] + (np.where(over > 0, limit, 0.0) @ over if over.any() else 0.0)
        if upper < best.upper:
            best.upper, best.w = upper, reached
        if best.gap <= tolerance:
            break
        point = _Point(w, f, xi, t, a, b, v, s, u, free)
        try:
            with np.errstate(all="ignore"):
                system = _System(hinges, point, fixed)
                none = 0.0
                first = system.direction(none, none, none, none, none)
                reach, now = system.longest(first), system.mean(first, 0.0)
                share = max(system.mean(first, reach) / now, 0.0)
                centre = now * min(1.0, share) ** 3
                move = system.direction(
                    centre,
                    first.t * first.a,
                    first.xi * first.b,
                    first.s * first.v,
                    first.u * first.free,
                )
                reach = system.longest(move)
        except (LinAlgError, ValueError):
            break
        if not (reach >= 1e-6 and np.isfinite(move.w).all()):
            break
        w, f, xi, t, a, b, v, s, u, free = (
            now + reach * change for now, change in zip(point, move, strict=True)
        )
    return best
