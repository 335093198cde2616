"""One convex step by the method that is asked for."""

import numpy as np

from counterweight.models.constraints.solver.convex import solve_whole
from counterweight.models.constraints.solver.interior import solve_interior

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
        from counterweight.models.constraints.solver.svm import SOLVERS

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
    from counterweight.models.constraints.solver.cutting import cutting_plane

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
