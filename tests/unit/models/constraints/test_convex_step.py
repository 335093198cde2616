"""Convex steps: bounds, certified intervals, and solvers that agree."""

import numpy as np
import pytest
from counterweight.models.constraints.convex_step import (
    ConvexStep,
    CutModel,
    _Hinges,
    _Point,
    _System,
    pull_back,
    ramp,
    reached,
    solve_interior,
    solve_whole,
    start_state,
    upper_ramp,
)
from counterweight.models.constraints.majorisation import minimise_rates
from counterweight.models.constraints.newton import DistinctRows
from rate_problems import PENALTY, problem
from scipy import sparse


def reference(X, positive, negative, bounds, penalty):
    """Optimum of the first convex step from w = 0, by a general solver on the slack form."""
    from scipy.optimize import minimize

    n, d = X.shape
    Z = np.vstack([X, -X])
    costs = np.hstack([positive, negative])

    def value(x):
        return costs[0] @ x[d:] + penalty / 2 * x[:d] @ x[:d]

    def slope(x):
        return np.concatenate([penalty * x[:d], costs[0]])

    A = np.vstack(
        [np.hstack([-Z, np.eye(2 * n)]), np.hstack([np.zeros((len(bounds), d)), -costs[1:]])]
    )
    b = np.concatenate([np.full(2 * n, 0.5), -bounds])
    found = minimize(
        value,
        np.append(np.zeros(d), np.full(2 * n, 0.5)),
        jac=slope,
        method="SLSQP",
        bounds=[(None, None)] * d + [(0, None)] * (2 * n),
        constraints={"type": "ineq", "fun": lambda x: A @ x - b, "jac": lambda x: A},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert found.success
    return found.fun


def test_bounds_are_above_the_ramp_and_tight_at_the_tangent():
    z, tangent = np.meshgrid(np.linspace(-3, 3, 121), np.linspace(-3, 3, 121))
    assert (upper_ramp(z, tangent) >= ramp(z)).all()
    assert (upper_ramp(-z, -tangent) >= 1 - ramp(z) - 1e-15).all()
    at = np.linspace(-3, 3, 121)
    np.testing.assert_allclose(upper_ramp(at, at), ramp(at), atol=1e-15)
    np.testing.assert_allclose(upper_ramp(-at, -at), ramp(-at), atol=1e-15)


def test_convex_step_is_above_problem_2_and_equals_it_at_the_tangent():
    X, positive, negative, bounds = problem(1, 2)
    rows = DistinctRows(X)
    rng = np.random.default_rng(0)
    w0 = rng.normal(size=5)
    constant = -np.append(0, bounds)
    step = ConvexStep.of_ramps(
        rows, positive, negative, constant, rows.regularisation(1.0), rows.scores(w0)
    )
    for scale in (0, 0.3, 2):
        f = rows.scores(w0 + scale * rng.normal(size=5))
        exact = positive @ ramp(f) + negative @ ramp(-f) + constant
        assert (step.rates(f) >= exact - 1e-14).all()
        if scale == 0:
            np.testing.assert_allclose(step.rates(f), exact, atol=1e-14)


def first_step(X, positive, negative, bounds, **options):
    """Fit of one convex step."""
    options |= {"penalty": PENALTY, "steps": 1}
    return minimise_rates(X, positive, negative, bounds, **options)


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_certified_interval_holds_the_optimum(m):
    X, positive, negative, bounds = problem(10 + m, m, n=25, d=3)
    wide = np.column_stack([X, np.ones(len(X))])  # the bias is penalised as the others
    true = reference(wide, positive, negative, bounds, PENALTY)
    for method in ("newton", "cutting_plane"):
        fit = first_step(X, positive, negative, bounds, method=method, tol=1e-6)
        state = fit.states[0]
        assert state.lower - 1e-7 <= true <= state.upper + 1e-7
        assert state.upper == pytest.approx(true, abs=1e-5)


def test_a_step_may_end_at_a_share_of_what_it_gained():
    X, positive, negative, bounds = problem(3, 2, n=400)
    rows = DistinctRows(X)
    constant, zero = -np.append(0, bounds), np.zeros(rows.shape[0])
    merged = rows.merge(positive), rows.merge(negative)
    step = ConvexStep.of_ramps(rows, *merged, constant, rows.regularisation(PENALTY), zero)
    w = np.zeros(rows.shape[1])
    options = {"tol": 1e-8, "margin": np.zeros(2), "anchor": (w, zero)}
    for solve in (solve_whole, solve_interior):
        rough = solve(step, start_state(step, w), **options, gained=0.1)
        whole = solve(step, start_state(step, w), **options)
        assert rough.first == pytest.approx(step.value(zero, w)[0])
        assert 1e-8 < rough.gap <= 0.1 * rough.gain
        assert rough.evaluations < whole.evaluations and whole.gap <= 1e-8
        assert rough.lower <= whole.upper + 1e-9 and whole.lower <= rough.upper + 1e-9


def test_a_point_is_pulled_back_to_where_its_constraints_are_kept():
    X, positive, negative, bounds = problem(5, 3, n=60)
    rows, rng = DistinctRows(X), np.random.default_rng(1)
    merged = rows.merge(positive), rows.merge(negative)
    constant, zero = -np.append(0, bounds), np.zeros(rows.shape[0])
    step = ConvexStep.of_ramps(rows, *merged, constant, rows.regularisation(PENALTY), zero)
    pulled = []
    for _ in range(20):
        f = 3 * rng.normal(size=rows.shape[0])
        share = pull_back(step, (None, zero), (None, f), 1e-10)
        pulled.append(share)
        assert step.rates(share * f)[1:].max() <= 1e-10 + 1e-14
        if share < 1:
            assert step.rates(share * (1 + 1e-5) * f)[1:].max() > 1e-10
    assert 0 < min(pulled) < 1


@pytest.mark.parametrize("m", [1, 2, 4])
def test_steps_equal_a_qp_library(m):
    clarabel = pytest.importorskip("clarabel")
    X, positive, negative, bounds = problem(20 + m, m, n=60, d=4)
    wide = np.column_stack([X, np.ones(len(X))])
    n, d = wide.shape
    Z, costs = np.vstack([wide, -wide]), np.hstack([positive, negative])
    P = sparse.block_diag([PENALTY * sparse.eye(d), sparse.csc_matrix((2 * n, 2 * n))])
    A = sparse.vstack(
        [
            sparse.hstack([Z, -sparse.eye(2 * n)]),
            sparse.hstack([sparse.csc_matrix((2 * n, d)), -sparse.eye(2 * n)]),
            sparse.hstack([sparse.csc_matrix((m, d)), costs[1:]]),
        ]
    )
    b = np.concatenate([np.full(2 * n, -0.5), np.zeros(2 * n), bounds])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    q = np.append(np.zeros(d), costs[0])
    cones = [clarabel.NonnegativeConeT(len(b))]
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(P), q, sparse.csc_matrix(A), b, cones, settings
    ).solve()
    for method in ("newton", "cutting_plane"):
        fit = first_step(X, positive, negative, bounds, tol=1e-7, method=method)
        assert fit.states[0].upper == pytest.approx(solved.obj_val, abs=1e-6)
        found = np.append(fit.coefficient, fit.intercept)
        np.testing.assert_allclose(found, solved.x[:d], atol=5e-3)


@pytest.mark.parametrize("m", [0, 1, 2, 4])
@pytest.mark.parametrize("feasible", [True, False])
def test_interior_point_and_newton_agree_on_whole_steps(m, feasible):
    X, positive, negative, bounds = problem(60 + m, m, n=200)
    rows = DistinctRows(X)
    bounds = np.asarray(bounds) if feasible else -1.0 + 0.0 * np.asarray(bounds)
    step = ConvexStep(
        rows,
        rows.merge(positive),
        rows.merge(negative),
        np.append(0.0, -bounds),
        rows.regularisation(PENALTY),
    )
    zero = np.zeros(rows.shape[1])
    options = {"tol": 1e-7, "margin": np.zeros(m)}
    # Without a point that keeps the bounds they may be broken at a price.
    options |= {"anchor": (zero, rows.scores(zero))} if feasible and m else {"limit": 2.0}
    begun = start_state(step, zero)
    newton = solve_whole(step, begun, **options)
    inside = solve_interior(step, begun, **options)
    early = solve_whole(step, begun, patience=1, **options)
    assert early.evaluations < newton.evaluations
    for state in (inside, solve_interior(step, early, **options)):
        assert state.gap <= 1e-7
        assert state.upper == pytest.approx(newton.upper, abs=2e-7)
        assert state.lower <= newton.upper + 1e-12
    assert inside.evaluations < 40


def test_unconstrained_step_equals_liblinear():
    from sklearn.svm import LinearSVC

    X, positive, negative, _ = problem(30, 0, n=600, d=8)
    n = len(X)
    y = np.where(negative[0] > 0, 1, -1)
    for C in (0.1, 1.0):
        penalty = 2 / (n * C)
        fit = minimise_rates(X, positive, negative, [], penalty=penalty, steps=1, tol=1e-7)
        svm = LinearSVC(loss="hinge", C=C, tol=1e-7, max_iter=10**6, random_state=0).fit(X, y)
        values = []
        for u in (
            2 * np.append(fit.coefficient, fit.intercept),
            np.append(svm.coef_, svm.intercept_),
        ):
            f = X @ u[:-1] + u[-1]
            values.append(0.5 * u @ u + C * np.maximum(0, 1 - y * f).sum())
        assert values[0] == pytest.approx(values[1], rel=1e-4)
        assert fit.states[0].upper == pytest.approx(values[0] / (2 * n * C), rel=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_cutting_plane_and_newton_agree(m):
    X, positive, negative, bounds = problem(40 + m, m, n=300)
    # One step: later ones depend on the side of rows that lie on a bound's kink.
    options = {"penalty": PENALTY, "tol": 1e-7, "steps": 1}
    whole = minimise_rates(X, positive, negative, bounds, **options)
    cut = minimise_rates(X, positive, negative, bounds, method="cutting_plane", **options)
    np.testing.assert_allclose(cut.objective, whole.objective, atol=2e-4)
    assert cut.violations.max() <= 1e-9 and cut.gap.max() <= 1e-7


def test_centre_of_cuts_is_the_centre_of_mass():
    # The triangle under z = 1 - v has its centre at v = 1/3.
    model = CutModel([4.0])
    model.add(1.0, [-1.0])
    assert model.centre(0.0) == pytest.approx([1 / 3], abs=1e-12)
    # Of the pyramid under z = 1 - v_1 - v_2 the highest point is taken.
    model = CutModel([4.0, 4.0])
    model.add(1.0, [-1.0, -1.0])
    assert model.centre(0.0) == pytest.approx([0, 0])
    v, value, weights = model.maximum()
    assert (
        value == pytest.approx(1) and v == pytest.approx([0, 0]) and weights == pytest.approx([1])
    )


def test_directions_of_the_interior_point_solve_the_linearised_conditions():
    rng, n, m, centre = np.random.default_rng(3), 7, 2, 0.1
    rows = DistinctRows(rng.normal(size=(n, 3)))  # and a column of ones
    cost, row = rng.exponential(size=(1 + m, 2 * n)), np.tile(np.arange(n), 2)
    sign, priced = np.repeat([1.0, -1.0], n), np.array([True, False])
    w, (xi, t, a, b), (v, s, u, free) = (
        rng.normal(size=4),
        rng.exponential(size=(4, 2 * n)) + 0.1,
        rng.exponential(size=(4, m)) + 0.1,
    )
    u, free, fixed = np.where(priced, u, 0.0), np.where(priced, free, 1.0), rng.normal(size=m)
    l2 = np.array([0.5, 0.5, 0.5, 0.1])
    point = _Point(w, rows.scores(w), xi, t, a, b, v, s, u, free)
    hinges = _Hinges(row, sign, cost, rows, l2, priced)
    system = _System(hinges, point, fixed)
    move = system.direction(centre)
    after = point.after(move, 1.0)
    near = {"rel": 1e-7, "abs": 1e-9}
    # Of the Lagrangian in w and the slacks, and of what defines t and s.
    assert l2 * after.w == pytest.approx(-rows.combine(hinges.spread(after.a)), **near)
    assert after.a + after.b == pytest.approx(cost[0] + after.v @ cost[1:], **near)
    assert after.t == pytest.approx(after.xi - 0.5 - sign * after.f[row], **near)
    assert cost[1:] @ after.xi + fixed == pytest.approx(after.u - after.s, **near)
    assert move.f == pytest.approx(rows.scores(move.w), **near)
    # Of each pair the product is the centre, to the first order.
    for one, other in (("t", "a"), ("xi", "b"), ("s", "v"), ("u", "free")):
        x, y, dx, dy = (getattr(part, name) for part in (point, move) for name in (one, other))
        left = (x * y + x * dy + y * dx)[priced if one == "u" else slice(None)]
        assert left == pytest.approx(np.full(len(left), centre), **near)
    # A step ends a little before one of them would fall to 0, be it a slack that has a price.
    with np.errstate(invalid="ignore"):
        for change in (move, move._replace(u=-20 * u)):
            values, by = np.concatenate(point[2:]), np.concatenate(change[2:])
            ends = -values[by < 0] / by[by < 0]
            assert system.longest(change) == min(1.0, 0.995 * ends.min())
        assert system.longest(move._replace(u=-200 * u)) == pytest.approx(0.995 / 200)


def test_what_is_kept_costs_nothing_at_any_price():
    X, positive, negative, bounds = problem(7, 2, n=60)
    rows = DistinctRows(X)
    merged, zero = (rows.merge(positive), rows.merge(negative)), np.zeros(rows.shape[1])
    step = ConvexStep(rows, *merged, np.zeros(3), rows.regularisation(PENALTY))
    value, g = step.value(rows.scores(zero), zero)
    # One constraint is met to the digit, the other broken by 1/4.
    step = ConvexStep(rows, *merged, -np.array([0.0, g[0], g[1] - 0.25]), step.regularisation)
    told, w = reached(step, zero, rows.scores(zero), None, np.array([np.inf, 3.0]))
    assert told == pytest.approx(value + 0.75) and w is zero
