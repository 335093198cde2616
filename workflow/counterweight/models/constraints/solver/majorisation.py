"""Linear classifiers under rate constraints, by majorisation-minimisation.

Problem 2 of Goh, Cotter, Gupta and Friedlander (2016): rates of a randomised linear
classifier, positive with probability sigma(f), are minimised subject to bounds on other
rates. Algorithm 1 replaces the ramps by convex bounds that are tight at the current solution
and solves the convex step again and again. Where no classifier at all keeps the constraints,
`prove_infeasible` proves it.
"""

import copy
from dataclasses import dataclass, field

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.convex_step import (
    ROUNDING,
    ConvexState,
    ConvexStep,
    ramp,
    solve_whole,
    start_state,
)
from counterweight.models.constraints.solver.cutting_plane import solve_step
from counterweight.models.constraints.solver.smooth import DistinctRows


@dataclass
class InfeasibilityProof:
    """What the bounds of a set of rate constraints ask at least.

    Attributes
    ----------
    least_violation : float
        Lower bound on the sum of violations of any classifier; above 0 proves that the
        constraints contradict each other.
    multipliers : array of shape (m,)
        In [0, 1]: the sum of constraints with these factors is the contradiction.
    """

    least_violation: float
    multipliers: np.ndarray


def prove_infeasible(positive, negative, constant, most=200):
    """Least sum of violations over all functions of the row, by cuts over the multipliers.

    A classifier, whatever its form, is positive with some probability s_i on each distinct
    row and negative with 1 - s_i. So for any v in [0, 1]^m its violations sum at least to
    q(v) = sum_i min(v'P_i, v'N_i) + v'c, and the largest q(v) is the least sum of violations
    that any such function has (linear programming duality). q is concave and piecewise linear.

    Parameters
    ----------
    positive, negative : array of shape (m, n)
        Costs of the constraints on distinct rows.
    constant : array of shape (m,)
        Constants less bounds: constraint j is P_j s + N_j (1 - s) + constant_j <= 0.

    Returns
    -------
    InfeasibilityProof
        Its bound holds for its own multipliers, however well they were found.
    """
    from scipy.optimize import linprog

    m = len(constant)
    best = InfeasibilityProof(0.0, np.zeros(m))
    slopes, v = [], np.ones(m)
    for _ in range(most):
        p, q = v @ positive, v @ negative
        low = p < q
        slope = positive @ low + negative @ ~low + constant
        value = float(v @ slope)
        if value > best.least_violation:
            best = InfeasibilityProof(value, v)
        slopes.append(slope)
        # q is homogeneous, so each cut goes through the origin: q(v) <= slope'v.
        cuts = np.column_stack([-np.array(slopes), np.ones(len(slopes))])
        highest = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=cuts,
            b_ub=np.zeros(len(slopes)),
            bounds=[(0, 1)] * m + [(None, None)],
        )
        if not highest.success or -highest.fun - best.least_violation <= 1e-9:
            break
        v = np.clip(highest.x[:m], 0.0, 1.0)
    return best


METHODS = ("newton", "cutting_plane", "bisection")
LOSSES = ("ramp", "hinge")
# Share of its objective to which a plain SVM (no constraints, first step) is solved at least: where
# classes are easy to separate, the tolerance, a share of all costs, says too little of it.
SVM_GAP = 5e-5
# A least sum of violations above this is no rounding.
PROVED = 1e-9


@dataclass
class RateFit:
    """A classifier under rate constraints, and how it was found.

    Attributes
    ----------
    coefficient : array of shape (d,)
    intercept : float
        f = X @ coefficient + intercept; positive with probability sigma(f).
    multipliers : array of shape (T, m)
        Lagrange multipliers of each convex step.
    objective : array of shape (T + 1,)
        Value of Problem 2 (rates of the loss, ramp or hinge, and penalty) at the start and after
        each step.
    violations : array of shape (T + 1, m)
        Rates of the loss less their bounds; negative where a constraint has room.
    gap : array of shape (T,)
        Certified distance of each step's solution to that convex problem's optimum.
    evaluations : int array of shape (T,)
        Newton steps, or weighted SVMs solved, in each step.
    feasible : bool
        Whether the returned classifier keeps all bounds in the rates of the loss: its randomised
        rates (ramp), or their convex bounds (hinge).
    status : str
        "feasible", "not_reached" (no feasible classifier found, none excluded) or
        "proved_infeasible" (no classifier of any form keeps all bounds).
    messages : list of str
    least_violation : float
        Lower bound on the sum of violations of any classifier; 0 unless proved infeasible.
    proof : array of shape (m,)
        Factors with which the constraints add up to a contradiction; else zeros.
    states : list of ConvexState
        Solutions of the steps, for `warm`.
    accepted : int
        Steps that led to the returned classifier; 0: it is the start.
    """

    coefficient: np.ndarray
    intercept: float
    multipliers: np.ndarray
    objective: np.ndarray
    violations: np.ndarray
    gap: np.ndarray
    evaluations: np.ndarray
    feasible: bool
    status: str
    messages: list
    least_violation: float = 0.0
    proof: np.ndarray = None
    states: list = field(default_factory=list, repr=False)
    accepted: int = 0


class _Problem:
    """Problem 2 on distinct rows, with costs scaled so that solvers see sums of one."""

    def __init__(self, rows, positive, negative, constant, penalty):
        total = (positive + negative).sum(axis=1)
        self.scale = np.where(total > 0, total, 1.0)
        self.rows = rows
        self.positive = positive / self.scale[:, None]
        self.negative = negative / self.scale[:, None]
        self.constant = constant / self.scale
        self.regularisation = rows.regularisation(penalty / self.scale[0])

    def hinge_values(self, f, w):
        """The same of all hinges, the convex bounds at w = 0."""
        return self.step(np.zeros_like(f)).value(f, w)

    def ramp_values(self, f, w):
        """Scaled value of Problem 2 and of its constraints."""
        s = ramp(f)
        rates = self.positive @ s + self.negative @ (1.0 - s) + self.constant
        return rates[0] + 0.5 * self.regularisation @ (w * w), rates[1:]

    def step(self, tangent):
        return ConvexStep.of_ramps(
            self.rows, self.positive, self.negative, self.constant, self.regularisation, tangent
        )


def _checked(X, positive, negative, bounds, constants, penalty):
    """Arguments as arrays, or an error that says what is wrong with them."""
    n = X.group.shape[0] if isinstance(X, DistinctRows) else X.shape[0]
    positive = np.atleast_2d(np.asarray(positive, dtype=float))
    negative = np.atleast_2d(np.asarray(negative, dtype=float))
    bounds = np.asarray(bounds, dtype=float).reshape(-1)
    if positive.shape != negative.shape or positive.shape != (1 + len(bounds), n):
        raise CounterweightError(
            f"Costs must have one line for the objective and one for each of {len(bounds)} bounds, "
            f"and {n} columns; they have shapes {positive.shape} and {negative.shape}."
        )
    constants = np.zeros(len(positive)) if constants is None else np.asarray(constants, dtype=float)
    if constants.shape != (len(positive),):
        raise CounterweightError(f"{len(positive)} constants are needed, not {constants.shape}.")
    for name, costs in (("positive", positive), ("negative", negative)):
        bad = ~(np.isfinite(costs) & (costs >= 0)).all(axis=0)
        if bad.any():
            raise CounterweightError(
                f"Costs of {name} predictions are negative or not finite in {bad.sum()} rows "
                f"(first: row {np.flatnonzero(bad)[0]}): write them as costs of the other side."
            )
    if not (np.isfinite(bounds).all() and np.isfinite(constants).all()):
        raise CounterweightError("Bounds and constants of constraints must be finite numbers.")
    if not (np.isfinite(penalty) and penalty > 0):
        raise CounterweightError(f"The penalty must be a number above 0, not {penalty}.")
    return positive, negative, bounds, constants


def _first_w(rows, start):
    """The start as a vector of all coordinates, bias included."""
    if start is None:
        return np.zeros(rows.shape[1])
    coefficient, intercept = (
        (start.coefficient, start.intercept) if isinstance(start, RateFit) else start
    )
    coefficient = np.asarray(coefficient, dtype=float).reshape(-1)
    if len(coefficient) != rows.features or not np.isfinite(coefficient).all():
        raise CounterweightError(
            f"The start must have {rows.features} finite coefficients, not {len(coefficient)}."
        )
    if rows.bias == "none":
        if intercept:
            raise CounterweightError("The start has an intercept, but bias is none.")
        return coefficient
    return np.append(coefficient, float(intercept))


def _search(problem, w, steps, tolerance):
    """A point with smaller violations: elastic steps without the objective."""
    quiet = copy.copy(problem)
    quiet.positive, quiet.negative = problem.positive.copy(), problem.negative.copy()
    quiet.positive[0] = quiet.negative[0] = 0.0
    quiet.regularisation = problem.regularisation * 1e-2
    f = problem.rows.scores(w)
    least = np.maximum(problem.ramp_values(f, w)[1], 0.0).sum()
    for _ in range(steps):
        step = quiet.step(f)
        solved = solve_whole(
            step,
            start_state(step, w),
            tolerance=0.1 * tolerance,
            margin=np.full(len(step.constant) - 1, tolerance),
            limit=1.0,
        )
        f_new = problem.rows.scores(solved.w)
        over = np.maximum(problem.ramp_values(f_new, solved.w)[1], 0.0).sum()
        if over >= least - 1e-9:
            break
        w, f, least = solved.w, f_new, over
        if over == 0:
            break
    return w


def minimise_rates(
    X,
    positive,
    negative,
    bounds,
    *,
    constants=None,
    penalty,
    start=None,
    steps=8,
    loss="ramp",
    bias="regularised",
    method="newton",
    chooser="centre",
    inner="newton",
    tolerance=1e-5,
    elastic=None,
    multiplier_limit=np.inf,
    warm=None,
    svm_gap=SVM_GAP,
    early=1.0,
    goes_on=False,
):
    """Minimise a rate objective subject to bounds on rates (Algorithm 1).

    Problem 2 in coefficients: sum_i P_0i sigma(f_i) + N_0i sigma(-f_i) + c_0 + penalty/2 |w|^2
    subject to sum_i P_ji sigma(f_i) + N_ji sigma(-f_i) + c_j <= g_j. From a feasible start
    every iterate is feasible and the objective never rises. From an infeasible start the
    bounds are elastic, at a price that grows, until a feasible point is met.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or DistinctRows
        Prepared rows save the search for equal rows when several problems share X; they
        bring their own bias.
    positive, negative : array of shape (1 + m, n)
        P and N, all >= 0: cost of a positive and of a negative prediction. Row 0: objective.
    bounds : array of shape (m,)
    constants : array of shape (1 + m,), optional
    penalty : float
        Above 0.
    start : (coefficient, intercept), RateFit or None
        None is w = 0.
    steps : int
        Convex steps T.
    loss : {"ramp", "hinge"}
        "hinge" keeps all hinges and judges by them: one convex problem, solved once, or at
        three prices of its bounds where no point is known that keeps them.
    bias : {"regularised", "free", "none"}
    method : {"newton", "cutting_plane", "bisection"}
        How a convex step is solved: whole; by cuts over the multipliers (Algorithm 2); or,
        with one constraint, by halving on the sign of the subgradient.
    chooser : {"maximum", "centre"}
        Next multipliers of the cutting plane.
    inner : {"newton", "interior_point", "liblinear"}
        Solver of the cutting plane's weighted SVMs, and of steps without constraints.
    tolerance : float
        Certified gap of each convex step, as a share of the objective's total cost.
    elastic : float, optional
        First price of a unit of violation, in units of the objective. By default ten times
        the objective's total cost for a constraint's total cost. It grows tenfold at most twice.
    multiplier_limit : float
        Largest multiplier, in units of the objective; infinite: none.
    warm : RateFit, optional
        A fit of a nearby problem on the same rows (another bound). Only saves time: each
        step starts its search there, and ends within the same certified gap.
    svm_gap : float or None
        Share of its objective that the gap of a first step without constraints, a plain SVM,
        may have; None: `tolerance` says it alone.
    early : float
        Tolerance of the steps before the last one, in units of `tolerance`. Where it is above 1
        these may leave a larger gap with several constraints, if less takes long.
    goes_on : bool
        Other steps follow the last one, in another run: it may do so, too.

    Returns
    -------
    RateFit

    Raises
    ------
    CounterweightError
        For arguments that are not usable.

    References
    ----------
    Goh, Cotter, Gupta, Friedlander (2016), Satisfying real-world goals with dataset constraints.
    """
    for name, value, allowed in (("loss", loss, LOSSES), ("method", method, METHODS)):
        if value not in allowed:
            raise CounterweightError(f"Unknown {name} {value!r}: choose {', '.join(allowed)}.")
    positive, negative, bounds, constants = _checked(
        X, positive, negative, bounds, constants, penalty
    )
    m = len(bounds)
    if method == "bisection" and m > 1:
        raise CounterweightError(f"Bisection is for one constraint, not {m}: use cutting_plane.")
    if steps < 1 or not tolerance > 0:
        raise CounterweightError("Steps and tolerance must be above 0.")
    rows = X if isinstance(X, DistinctRows) else DistinctRows(X, bias)
    constant = constants - np.append(0.0, bounds)
    problem = _Problem(rows, rows.merge(positive), rows.merge(negative), constant, penalty)
    unit = problem.scale[0] / problem.scale[1:]
    limit = np.broadcast_to(multiplier_limit / unit, (m,))
    price = np.full(m, 10.0) if elastic is None else elastic / unit
    highest = 100.0 * price

    w = _first_w(rows, start)
    f = rows.scores(w)
    judged = problem.ramp_values if loss == "ramp" else problem.hinge_values
    values, excess = judged(f, w)
    path, gone = [values], [excess]
    multipliers, gaps, evaluations, states = [], [], [], []
    iterates = [w]
    state, settled, proof = None, False, None
    if loss == "hinge":
        steps = 1 if excess.max(initial=0.0) <= ROUNDING else 3
    for t in range(steps):
        if settled:
            multipliers.append(multipliers[-1])
            gaps.append(gaps[-1])
            evaluations.append(0)
            path.append(path[-1])
            gone.append(gone[-1])
            continue
        step = problem.step(f if loss == "ramp" else np.zeros_like(f))
        within = step.rates(f)[1:].max(initial=-np.inf) <= ROUNDING
        if warm is not None and t < len(warm.states):
            near = warm.states[t]
            state = ConvexState(near.w, near.above, near.below, near.multipliers)
        elif state is None:
            state = start_state(step, w)
        else:
            # Multipliers of elastic bounds may stand at their price.
            near = np.minimum(state.multipliers, 1.0) if within else state.multipliers
            state = ConvexState(w, state.above, state.below, near)
        exact = tolerance * (early if t < steps - 1 else 1.0)
        state = solve_step(
            step,
            state,
            (w, f) if within else None,
            limit if within else np.minimum(limit, price),
            method,
            chooser,
            inner,
            exact if within else exact * max(1.0, price.max()),
            svm_gap if m == 0 and t == 0 else None,
            within and early > 1 and (goes_on or t < steps - 1),
        )
        settled = within and np.array_equal(state.w, w)
        w = state.w
        f = rows.scores(w)
        values, excess = judged(f, w)
        states.append(state)
        iterates.append(w)
        multipliers.append(state.multipliers * unit)
        gaps.append(max(state.gap, 0.0) * problem.scale[0])
        evaluations.append(state.evaluations)
        path.append(values)
        gone.append(excess)
        if loss == "hinge" and excess.max(initial=0.0) <= ROUNDING:
            break
        if not within and excess.max(initial=0.0) > ROUNDING:
            price = np.minimum(price * 10.0, highest)
            if proof is None:
                proof = _proof(problem)
            # What no classifier can do is not tried at higher prices.
            settled = proof.least_violation > PROVED and t >= 1

    objective = np.array(path) * problem.scale[0]
    over = np.array(gone).reshape(len(path), m)
    worst = over.max(axis=1, initial=-np.inf)[: len(iterates)]
    fit = RateFit(
        coefficient=None,
        intercept=0.0,
        multipliers=np.array(multipliers).reshape(len(gaps), m),
        objective=objective,
        violations=over * problem.scale[1:],
        gap=np.array(gaps),
        evaluations=np.array(evaluations),
        feasible=bool((worst <= ROUNDING).any()),
        status="feasible",
        messages=[],
        proof=np.zeros(m),
        states=states,
    )
    if fit.feasible:
        fit.accepted = int(
            np.argmin(np.where(worst <= ROUNDING, objective[: len(iterates)], np.inf))
        )
        w = iterates[fit.accepted]
    else:
        total = np.maximum(over[: len(iterates)], 0.0).sum(axis=1)
        fit.accepted = int(np.argmin(total))
        w = iterates[fit.accepted]
        if loss == "hinge":
            proof = proof or _proof(problem)
            _explain(fit, proof, over[fit.accepted] * problem.scale[1:])
    if not fit.feasible and loss == "ramp":
        searched = _search(problem, w, 5, tolerance)
        left = problem.ramp_values(rows.scores(searched), searched)[1]
        if left.max() <= ROUNDING:
            again = minimise_rates(
                rows,
                positive,
                negative,
                bounds,
                constants=constants,
                penalty=penalty,
                start=(searched[: rows.features], searched[rows.features :].sum()),
                steps=steps,
                loss=loss,
                method=method,
                chooser=chooser,
                inner=inner,
                tolerance=tolerance,
                elastic=elastic,
                multiplier_limit=multiplier_limit,
            )
            again.messages.insert(
                0,
                "The elastic steps met no feasible classifier: a search for the least "
                "violation gave a feasible start.",
            )
            return again
        w = searched
        _explain(fit, proof or _proof(problem), left * problem.scale[1:])
    if m and not fit.accepted:
        fit.messages.append("No step was accepted: the classifier is the start.")
    fit.coefficient = w[: rows.features]
    fit.intercept = float(w[rows.features :].sum())
    return fit


def _proof(problem):
    """Least sum of violations of any classifier, in the constraints' own units."""
    raw = problem.scale[1:]
    return prove_infeasible(
        problem.positive[1:] * raw[:, None],
        problem.negative[1:] * raw[:, None],
        problem.constant[1:] * raw,
    )


def _explain(fit, proof, left):
    """Fill in status and messages of a fit that keeps not all bounds."""
    over = np.maximum(left, 0.0)
    reached = ", ".join(f"{j}: {over[j]:.4g}" for j in np.flatnonzero(over > 0))
    fit.status = "not_reached"
    if proof.least_violation > PROVED:
        fit.status = "proved_infeasible"
        fit.least_violation, fit.proof = proof.least_violation, proof.multipliers
        named = ", ".join(str(j) for j in np.flatnonzero(proof.multipliers > 0))
        clash = "contradict each other" if "," in named else "alone cannot be met"
        fit.messages.append(
            f"Constraints {named} {clash}: the violations of any classifier, of "
            f"whatever form, sum to at least {proof.least_violation:.4g}."
        )
    fit.messages.append(
        f"No feasible classifier was found; the least violation that was reached, by the "
        f"constraint's number from 0: {reached}."
    )
