"""Linear classifiers under rate constraints, by majorisation-minimisation.

Problem 2 of Goh, Cotter, Gupta and Friedlander (2016), "Satisfying real-world goals with dataset
constraints": rates of a randomised linear classifier, positive with probability sigma(f), are
minimised subject to bounds on other rates. Algorithm 1 replaces the ramps by convex bounds that are
tight at the current solution and solves the convex step again and again. Where no classifier at all
keeps the constraints, `prove_infeasible` proves it.
"""

import copy
from dataclasses import dataclass, field, replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.convex_step import (
    ROUNDING,
    ConvexState,
    ConvexStep,
    ramp,
    solve_step,
    solve_whole,
    start_state,
)
from counterweight.models.constraints.newton import DistinctRows


@dataclass
class InfeasibilityProof:
    """Lower bound on the sum of violations of any classifier, and the multipliers that show it.

    Above 0 it proves that the constraints contradict each other: their sum with these factors (m,),
    in [0, 1], is the contradiction.
    """

    least_violation: float
    multipliers: np.ndarray


def prove_infeasible(positive, negative, constant, most=200):
    """Least sum of violations over all functions of the row, by cuts over the multipliers.

    A classifier, whatever its form, is positive with some probability s_i on each distinct row.
    With P `positive`, N `negative` (m, n) and c `constant` (m,), constraint j is P_j s + N_j (1 -
    s) + c_j <= 0. So for any v in [0, 1]^m violations sum at least to q(v) = sum_i min(v'P_i,
    v'N_i) + v'c, and the largest q(v) is the least sum of any such function (linear programming
    duality). q is concave and piecewise linear. The bound holds for its own multipliers, however
    well they were found.
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
        box = [(0, 1)] * m + [(None, None)]
        highest = linprog(np.append(np.zeros(m), -1.0), cuts, np.zeros(len(slopes)), bounds=box)
        if not highest.success or -highest.fun - best.least_violation <= 1e-9:
            break
        v = np.clip(highest.x[:m], 0.0, 1.0)
    return best


#: Share of its objective to which a plain SVM (no constraints, first step) is solved at least:
#: where classes are easy to separate, the tolerance, a share of all costs, says too little of it.
SVM_GAP = 5e-5
#: Steps before the last end at a gap of this share of what they have gained.
GAINED = 0.1
#: The same of steps whose bounds are elastic, at a price.
ELASTIC = 0.01
#: How far beyond the end of such a step its direction is followed, in lengths of the step.
LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
#: A step that gains no more than so many tolerances has one more after it, which is exact.
STALLED = 3
#: A least sum of violations above this is no rounding.
PROVED = 1e-9


@dataclass
class RateFit:
    """A classifier f = X @ coefficient + intercept under rate constraints, and how it was found.

    By step, the start among those of T + 1: `objective` (T + 1,), the value of Problem 2 (rates of
    the loss, ramp or hinge, and penalty); `violations` (T + 1, m), rates less their bounds;
    `multipliers` (T, m); `gap` (T,), the certified distance to the convex problem's optimum;
    `evaluations` (T,), Newton steps or weighted SVMs; `states`, for `warm`. `accepted` steps led to
    the classifier; 0: it is the start, which `begun` names if anybody did. `feasible` if it keeps
    all bounds in the rates of the loss.
    `status` is "feasible", "not_reached" (no feasible classifier found, none excluded) or
    "proved_infeasible" (no classifier of any form keeps all bounds), with `least_violation` and
    `proof`, its multipliers.
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
    begun: str = ""


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

    def ramp_values(self, f, w):
        """Scaled value of Problem 2 and of its constraints."""
        s = ramp(f)
        rates = self.positive @ s + self.negative @ (1.0 - s) + self.constant
        return rates[0] + 0.5 * self.regularisation @ (w * w), rates[1:]

    def step(self, tangent):
        """Problem 3 at scores, equations (4) and (5)."""
        costs = self.positive, self.negative, self.constant, self.regularisation
        return ConvexStep.of_ramps(self.rows, *costs, tangent)

    def proof(self):
        """Least sum of violations of any classifier, in the constraints' own units."""
        raw = self.scale[1:, None]
        costs = self.positive[1:] * raw, self.negative[1:] * raw
        return prove_infeasible(*costs, self.constant[1:] * self.scale[1:])


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
    return np.append(coefficient, float(intercept))


def _search(problem, w, steps, tol):
    """A point with smaller violations: elastic steps without the objective."""
    quiet = copy.copy(problem)
    quiet.positive, quiet.negative = problem.positive.copy(), problem.negative.copy()
    quiet.positive[0] = quiet.negative[0] = 0.0
    quiet.regularisation = problem.regularisation * 1e-2
    f = problem.rows.scores(w)
    least = np.maximum(problem.ramp_values(f, w)[1], 0.0).sum()
    for _ in range(steps):
        step = quiet.step(f)
        margin = np.full(len(step.constant) - 1, tol)
        solved = solve_whole(step, start_state(step, w), tol=0.1 * tol, margin=margin, limit=1.0)
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
    method="newton",
    tol=1e-5,
    warm=None,
    svm_gap=SVM_GAP,
    early=1.0,
    goes_on=False,
    further=True,
):
    """Minimise a rate objective subject to bounds on rates (Algorithm 1): a `RateFit`.

    Problem 2 in coefficients, P `positive` and N `negative` (1 + m, n), all >= 0, row 0 the
    objective, g `bounds` (m,) and c `constants` (1 + m,): sum_i P_0i sigma(f_i) + N_0i sigma(-f_i)
    + c_0 + penalty/2 |w|^2 subject to sum_i P_ji sigma(f_i) + N_ji sigma(-f_i) + c_j <= g_j. From a
    feasible start every iterate is feasible and the objective never rises. From an infeasible start
    the bounds are elastic, at a price that grows, until a feasible point is met.

    `X` are rows (n, d) or `DistinctRows`; `start` is (coefficient,
    intercept), a `RateFit`, or None for w = 0. The `loss` "hinge" keeps all hinges and judges by
    them: one convex problem, solved once, or at three prices of its bounds where no point is known
    that keeps them. A convex step is solved by `method`, to the certified gap `tol`, a share of the
    objective's total cost; those before the last one in units of `early`. Where that is above 1
    these may leave a larger gap with several constraints, if less takes long; so may the last, if
    another run `goes_on`. If `further`, too, all these end at a share of what they have gained, and
    the way to a step's end is gone on where that lowers the objective. Each step starts its search
    at that of `warm`, a fit of a nearby problem on the same rows, which only saves time. `svm_gap`
    is the share of its objective that the gap of a first step without constraints, a plain SVM, may
    have; None: `tol` says it alone.
    """
    if not (np.isfinite(penalty) and penalty > 0):
        raise CounterweightError(f"The penalty must be a number above 0, not {penalty}.")
    bounds = np.asarray(bounds, dtype=float)
    constants = np.zeros(len(positive)) if constants is None else np.asarray(constants, dtype=float)
    rows = X if isinstance(X, DistinctRows) else DistinctRows(X)
    constant = constants - np.append(0.0, bounds)
    problem = _Problem(rows, rows.merge(positive), rows.merge(negative), constant, penalty)
    path = _Path(problem, loss, _first_w(rows, start))
    shared = {"method": method, "tol": tol}
    begun = {"warm": warm, "svm_gap": svm_gap}
    path.descend(steps, **shared, **begun, early=early, goes_on=goes_on, further=further)
    fit, w, over = path.fit()
    if not fit.feasible and loss == "ramp":
        w = _search(problem, w, 5, tol)
        left = problem.ramp_values(rows.scores(w), w)[1]
        if left.max() <= ROUNDING:
            first = w[: rows.features], w[rows.features :].sum()
            shared |= {"constants": constants, "penalty": penalty, "start": first, "steps": steps}
            again = minimise_rates(rows, positive, negative, bounds, **shared)
            told = (
                "The elastic steps met no feasible classifier: a search for the least violation "
                "gave a feasible start."
            )
            return replace(again, messages=[told, *again.messages])
        over = left
    if not fit.feasible:
        _explain(fit, path.proof or problem.proof(), over * problem.scale[1:])
    if len(bounds) and not fit.accepted:
        fit.messages.append("No step was accepted: the classifier is the start.")
    fit.coefficient, fit.intercept = w[: rows.features], float(w[rows.features :].sum())
    return fit


class _Path:
    """Convex steps from a start, and what each came to."""

    def __init__(self, problem, loss, w):
        self.problem, self.loss, self.proof = problem, loss, None
        self.iterates, self.values, self.excess = [], [], []
        self.multipliers, self.gaps, self.evaluations, self.states = [], [], [], []
        self._reach(w)

    def _reach(self, w, f=None):
        self.w, self.f = w, self.problem.rows.scores(w) if f is None else f
        if self.loss == "ramp":
            value, excess = self.problem.ramp_values(self.f, w)
        else:  # by the convex bounds at w = 0
            value, excess = self.problem.step(np.zeros_like(self.f)).value(self.f, w)
        self.iterates.append(w)
        self.values.append(value)
        self.excess.append(excess)

    @property
    def broken(self):
        """Whether the last point breaks a constraint."""
        return self.excess[-1].max(initial=0.0) > ROUNDING

    def descend(self, steps, *, method, tol, warm, svm_gap, early, goes_on, further):
        """Take the steps; arguments are those of `minimise_rates`."""
        problem, by_ramp = self.problem, self.loss == "ramp"
        settled, stalled, follows = False, False, further and early > 1 and by_ramp
        unit = problem.scale[0] / problem.scale[1:]
        price = np.full(len(unit), 10.0)
        highest = 100.0 * price
        if not by_ramp:
            steps = 3 if self.broken else 1
        for t in range(steps):
            if settled:
                for told in (self.multipliers, self.gaps, self.values, self.excess):
                    told.append(told[-1])
                self.evaluations.append(0)
                continue
            step = problem.step(self.f if by_ramp else np.zeros_like(self.f))
            within = step.rates(self.f)[1:].max(initial=-np.inf) <= ROUNDING
            rough = early > 1 and (goes_on or t < steps - 1) and not stalled
            exact = tol * (early if rough and (further or t < steps - 1) else 1.0)
            limit = np.full(len(unit), np.inf) if within else price
            state = solve_step(
                step,
                self._begun(step, within, warm.states[t : t + 1] if warm is not None else ()),
                (self.w, self.f) if within else None,
                limit,
                method,
                exact if within else exact * max(1.0, price.max()),
                svm_gap if not len(unit) and t == 0 else None,
                rough and within,
                (GAINED if within else ELASTIC) if rough and further else 0.0,
            )
            same = within and np.array_equal(state.w, self.w)
            settled = stalled or (same and not (rough and further))
            self._reach(*(self._further(state.w) if follows and within else (state.w,)))
            stalled = (
                rough and further and within and self.values[-2] - self.values[-1] <= STALLED * tol
            )
            self.states.append(state)
            self.multipliers.append(state.multipliers * unit)
            self.gaps.append(max(state.gap, 0.0) * problem.scale[0])
            self.evaluations.append(state.evaluations)
            if not by_ramp and not self.broken:
                break
            if not within and self.broken:
                price = np.minimum(price * 10.0, highest)
                self.proof = self.proof or problem.proof()
                # What no classifier can do is not tried at higher prices.
                settled = self.proof.least_violation > PROVED and t >= 1

    def _further(self, w):
        """A point beyond the end of a step, as far as that lowers the objective, and feasible.

        With its scores, where it is the end itself.
        """
        move, f = w - self.w, self.problem.rows.scores(w)
        df, best = f - self.f, self.problem.ramp_values(f, w)[0]
        share = 0.0
        for length in LENGTHS:
            value, excess = self.problem.ramp_values(f + length * df, w + length * move)
            if not (value < best and excess.max(initial=0.0) <= ROUNDING):
                break
            best, share = value, length
        return (w + share * move,) if share else (w, f)

    def _begun(self, step, within, near):
        """Where the solver of a step begins: at a nearby fit's state, or at its own last one."""
        if near:
            return replace(near[0], upper=np.inf, lower=-np.inf, evaluations=0)
        if not self.states:
            return start_state(step, self.w)
        last = self.states[-1]
        # Multipliers of elastic bounds may stand at their price.
        v = np.minimum(last.multipliers, 1.0) if within else last.multipliers
        return ConvexState(self.w, last.above, last.below, v)

    def fit(self):
        """The best feasible point, else that of least violation: the fit, its w and violations."""
        m, count = len(self.excess[0]), len(self.iterates)
        objective = np.array(self.values) * self.problem.scale[0]
        over = np.array(self.excess).reshape(len(self.values), m)
        worst = over.max(axis=1, initial=-np.inf)[:count]
        feasible = bool((worst <= ROUNDING).any())
        judged = np.maximum(over[:count], 0.0).sum(axis=1)
        if feasible:
            judged = np.where(worst <= ROUNDING, objective[:count], np.inf)
        accepted = int(np.argmin(judged))
        fit = RateFit(
            coefficient=None,
            intercept=0.0,
            multipliers=np.array(self.multipliers).reshape(len(self.gaps), m),
            objective=objective,
            violations=over * self.problem.scale[1:],
            gap=np.array(self.gaps),
            evaluations=np.array(self.evaluations),
            feasible=feasible,
            status="feasible",
            messages=[],
            proof=np.zeros(m),
            states=self.states,
            accepted=accepted,
        )
        return fit, self.iterates[accepted], over[accepted]


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
