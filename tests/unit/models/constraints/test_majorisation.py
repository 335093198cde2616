"""Solver of rate constraints: identities, known optima and certified bounds."""

import os
from pathlib import Path

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.convex_step import (
    ConvexStep,
    CutModel,
    ramp,
    solve_interior,
    solve_whole,
    start_state,
    upper_ramp,
)
from counterweight.models.constraints.majorisation import minimise_rates, prove_infeasible
from counterweight.models.constraints.newton import DistinctRows
from scipy import sparse

PENALTY = 0.02


def problem(seed, m, n=80, d=4, repeats=False):
    """Error of noisy labels, with m coverage ratios that the unconstrained fit breaks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if repeats:
        X = X[rng.integers(0, n // 2, n)]
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0
    positive, negative = np.zeros((1 + m, n)), np.zeros((1 + m, n))
    positive[0], negative[0] = ~y / n, y / n
    bounds = np.empty(m)
    for j in range(m):
        group = X[:, j % d] + 0.3 * rng.normal(size=n) > 0
        kappa = rng.uniform(0.5, 0.8)
        positive[1 + j] = group / group.sum()
        negative[1 + j] = ~group / (~group).sum() / kappa
        bounds[j] = 1 / kappa
    return X, positive, negative, bounds


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


@pytest.mark.parametrize("bias", ["regularised", "free", "none"])
@pytest.mark.parametrize("m", [0, 1, 2, 3, 4])
def test_every_iterate_is_feasible_and_the_objective_never_rises(m, bias):
    for seed in range(3):
        X, positive, negative, bounds = problem(seed, m)
        fit = minimise_rates(X, positive, negative, bounds, penalty=PENALTY, bias=bias)
        assert fit.feasible and fit.status == "feasible"
        assert fit.violations.max(initial=-1) <= 1e-9
        assert np.diff(fit.objective).max() <= 1e-9
        assert fit.objective[-1] < fit.objective[0] - 0.03
        assert fit.gap.max() <= 1e-5 * (positive[0].sum() + negative[0].sum())
        f = X @ fit.coefficient + fit.intercept
        excess = positive[1:] @ ramp(f) + negative[1:] @ ramp(-f) - bounds
        np.testing.assert_allclose(excess, fit.violations[-1], atol=1e-12)
        b = fit.intercept if bias == "regularised" else 0
        norm = fit.coefficient @ fit.coefficient + b * b
        value = positive[0] @ ramp(f) + negative[0] @ ramp(-f) + PENALTY / 2 * norm
        assert value == pytest.approx(fit.objective[-1], abs=1e-12)


def test_dense_and_sparse_agree():
    X, positive, negative, bounds = problem(3, 2)
    X[np.abs(X) < 0.7] = 0
    fits = [
        minimise_rates(A, positive, negative, bounds, penalty=PENALTY)
        for A in (X, sparse.csr_matrix(X), sparse.csc_matrix(X))
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coefficient, fits[0].coefficient, atol=1e-9)
        np.testing.assert_allclose(fit.objective, fits[0].objective, atol=1e-9)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_merged_rows_give_what_all_rows_give(kind):
    X, positive, negative, bounds = problem(4, 2, repeats=True)
    X = np.round(X)
    merged, kept = DistinctRows(kind(X)), DistinctRows(kind(X), merge=False)
    assert merged.shape[0] == len(np.unique(X, axis=0)) < kept.shape[0]
    dense = merged.matrix if isinstance(merged.matrix, np.ndarray) else merged.matrix.toarray()
    np.testing.assert_array_equal(dense[merged.group][:, :-1], X)
    one, two = (
        minimise_rates(rows, positive, negative, bounds, penalty=PENALTY) for rows in (merged, kept)
    )
    np.testing.assert_allclose(one.objective, two.objective, atol=1e-9)
    np.testing.assert_allclose(one.coefficient, two.coefficient, atol=1e-7)


def test_weights_equal_repeated_rows():
    X, positive, negative, bounds = problem(5, 1)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = minimise_rates(X, positive * times, negative * times, bounds * 2.5, penalty=PENALTY)
    repeated = minimise_rates(
        *(np.repeat(A, times, axis=axis) for A, axis in ((X, 0), (positive, 1), (negative, 1))),
        bounds * 2.5,
        penalty=PENALTY,
    )
    np.testing.assert_allclose(weighted.objective, repeated.objective, atol=1e-9)
    np.testing.assert_allclose(weighted.coefficient, repeated.coefficient, atol=1e-8)


def test_regularised_bias_is_a_constant_feature_and_a_free_one_costs_nothing():
    X, positive, negative, bounds = problem(6, 1)
    own = minimise_rates(X, positive, negative, bounds, penalty=PENALTY)
    given = minimise_rates(
        np.column_stack([X, np.ones(len(X))]),
        positive,
        negative,
        bounds,
        penalty=PENALTY,
        bias="none",
    )
    np.testing.assert_allclose(np.append(own.coefficient, own.intercept), given.coefficient)
    # Far from the origin only an unregularised bias is unharmed.
    far = X + 30
    near = minimise_rates(X, positive, negative, bounds, penalty=PENALTY, bias="free", steps=1)
    moved = minimise_rates(far, positive, negative, bounds, penalty=PENALTY, bias="free", steps=1)
    assert moved.objective[-1] == pytest.approx(near.objective[-1], abs=1e-3)
    # The free bias' optimum balances the slopes, so its lower bound is finite and tight.
    assert near.gap.max() <= 1e-5 and moved.gap.max() <= 1e-5


def first_step(X, positive, negative, bounds, **options):
    """Fit of one convex step, through the origin."""
    options |= {"penalty": PENALTY, "bias": "none", "steps": 1}
    return minimise_rates(X, positive, negative, bounds, **options)


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_certified_interval_holds_the_optimum(m):
    X, positive, negative, bounds = problem(10 + m, m, n=25, d=3)
    true = reference(X, positive, negative, bounds, PENALTY)
    for method in ("newton", "cutting_plane"):
        fit = first_step(X, positive, negative, bounds, method=method, tol=1e-6)
        state = fit.states[0]
        assert state.lower - 1e-7 <= true <= state.upper + 1e-7
        assert state.upper == pytest.approx(true, abs=1e-5)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_steps_equal_a_qp_library(m):
    clarabel = pytest.importorskip("clarabel")
    X, positive, negative, bounds = problem(20 + m, m, n=60, d=4)
    n, d = X.shape
    Z, costs = np.vstack([X, -X]), np.hstack([positive, negative])
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
        np.testing.assert_allclose(fit.coefficient, solved.x[:d], atol=5e-3)


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


def test_printed_values_of_a9a():
    folder = Path(os.environ.get("COUNTERWEIGHT_MIRROR", ""), "a9a")
    if not os.environ.get("COUNTERWEIGHT_MIRROR") or not (folder / "a9a").is_file():
        pytest.skip("needs the real file: COUNTERWEIGHT_MIRROR names no folder that has it")
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder / "a9a"), n_features=123)
    n, male = len(y), X[:, 72].toarray().ravel() > 0
    rows = DistinctRows(X)
    error = np.array([(y < 0) / n]), np.array([(y > 0) / n])
    plain = minimise_rates(rows, *error, [], penalty=2 / n, steps=1)
    assert plain.states[0].upper == pytest.approx(0.175574, abs=2e-5)
    values = {0.4: 0.1967, 0.5: 0.1988, 0.8: 0.2045, 1.0: 0.2080}
    multipliers = {0.5: 0.048, 1.0: 0.109}
    for kappa, value in values.items():
        costs = (
            np.vstack([error[0], male / male.sum()]),
            np.vstack([error[1], ~male / (~male).sum() / kappa]),
        )
        first = minimise_rates(rows, *costs, [1 / kappa], penalty=2 / n, steps=1)
        assert first.objective[1] == pytest.approx(value, abs=2e-4)
        if kappa in multipliers:
            assert first.multipliers[0, 0] == pytest.approx(multipliers[kappa], abs=1e-3)
            cut = minimise_rates(
                rows, *costs, [1 / kappa], penalty=2 / n, steps=1, method="cutting_plane"
            )
            assert cut.states[0].upper == pytest.approx(first.states[0].upper, abs=2e-5)
            assert cut.objective[1] == pytest.approx(first.objective[1], abs=2e-4)
    fit = minimise_rates(rows, *costs, [1.0], penalty=2 / n)
    p = ramp(X @ fit.coefficient + fit.intercept)
    assert 0.98 <= p[male].mean() / p[~male].mean() <= 1


def test_warm_start_of_another_bound_ends_at_the_same_optimum():
    X, positive, negative, bounds = problem(50, 1)
    options = {"penalty": PENALTY, "steps": 1, "tol": 1e-8}
    near = minimise_rates(X, positive, negative, bounds * 1.02, **options)
    cold = minimise_rates(X, positive, negative, bounds, **options)
    warm = minimise_rates(X, positive, negative, bounds, warm=near, **options)
    assert warm.states[0].upper == pytest.approx(cold.states[0].upper, abs=1e-8)
    np.testing.assert_allclose(warm.coefficient, cold.coefficient, atol=2e-3)


def test_hinge_rates_that_keep_a_bound_keep_it_as_ramps():
    X, positive, negative, bounds = problem(51, 2)
    fit = minimise_rates(X, positive, negative, bounds, penalty=PENALTY, loss="hinge")
    assert fit.feasible and len(fit.gap) == 1
    first = minimise_rates(X, positive, negative, bounds, penalty=PENALTY, steps=1)
    np.testing.assert_allclose(fit.coefficient, first.coefficient)


def test_negative_of_a_constant_moves_into_the_bound():
    X, positive, negative, bounds = problem(52, 1)
    plain = minimise_rates(X, positive, negative, bounds, penalty=PENALTY)
    moved = minimise_rates(
        X, positive, negative, bounds + 0.25, constants=[0.5, 0.25], penalty=PENALTY
    )
    np.testing.assert_allclose(moved.coefficient, plain.coefficient, atol=1e-9)
    np.testing.assert_allclose(moved.objective, plain.objective + 0.5, atol=1e-9)


def recall_and_coverage(share=0.5, recall=0.95, coverage=0.2, n=200):
    """Error, recall at least, coverage at most, with one distinct row each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.arange(n) < share * n
    X[:, 0] += 2 * y
    positive = np.array([~y / n, np.zeros(n), np.full(n, 1 / n)])
    negative = np.array([y / n, y / y.sum(), np.zeros(n)])
    return X, positive, negative, [1 - recall, coverage]


def test_contradicting_rates_are_proved_infeasible_with_the_exact_least_violation():
    # Recall .95 of half the rows asks for a coverage of .475: .275 too much.
    fit = minimise_rates(*recall_and_coverage(), penalty=PENALTY)
    assert not fit.feasible and fit.status == "proved_infeasible"
    assert fit.least_violation == pytest.approx(0.275, abs=1e-9)
    assert (fit.proof > 0).all()
    assert np.maximum(fit.violations, 0).sum(axis=1).min() >= 0.275 - 1e-9
    assert "0, 1 contradict" in fit.messages[0] and "least violation" in fit.messages[-1]


def test_infeasible_start_reaches_a_feasible_classifier():
    fit = minimise_rates(*recall_and_coverage(recall=0.8, coverage=0.48), penalty=PENALTY)
    assert fit.violations[0].max() > 0.25
    assert fit.feasible and fit.violations[-1].max() <= 1e-9
    kept = np.flatnonzero((fit.violations <= 1e-9).all(axis=1))
    assert np.diff(fit.objective[kept]).max() <= 1e-9


def test_what_no_line_can_do_is_not_called_impossible():
    X = np.array([[-1.0], [0.0], [1.0]])
    positive = np.array([[0, 0, 0], [0, 1.0, 0]])
    negative = np.array([[0.1, 0.1, 0.1], [1.0, 0, 1.0]])
    fit = minimise_rates(X, positive, negative, [0.2], penalty=1e-3)
    assert fit.status == "not_reached" and fit.least_violation == 0
    assert "0: " in fit.messages[-1]


def test_least_violation_of_equal_rows_counts_them_as_one():
    # Two equal rows cannot get different probabilities.
    positive, negative = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    bounds = np.array([0.1, 0.1])
    apart = prove_infeasible(positive, negative, -bounds)
    same = prove_infeasible(
        positive.sum(axis=1, keepdims=True), negative.sum(axis=1, keepdims=True), -bounds
    )
    assert apart.least_violation == 0
    assert same.least_violation == pytest.approx(0.8, abs=1e-9)


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"penalty": 0}, "penalty"),
        ({"penalty": PENALTY, "loss": "square"}, "Unknown loss"),
        ({"penalty": PENALTY, "method": "guess"}, "Unknown method"),
        ({"penalty": PENALTY, "bias": "large"}, "Unknown bias"),
        ({"penalty": PENALTY, "start": (np.zeros(2), 0.0)}, "4 finite coefficients"),
        ({"penalty": PENALTY, "constants": [0.0]}, "constants"),
    ],
)
def test_wrong_options_are_told(change, text):
    X, positive, negative, bounds = problem(0, 2)
    with pytest.raises(CounterweightError, match=text):
        minimise_rates(X, positive, negative, bounds, **change)


def test_wrong_numbers_are_told():
    X, positive, negative, bounds = problem(0, 1)
    with pytest.raises(CounterweightError, match="negative or not finite in 1 rows"):
        wrong = positive.copy()
        wrong[1, 7] = -1
        minimise_rates(X, wrong, negative, bounds, penalty=PENALTY)
    with pytest.raises(CounterweightError, match="shapes"):
        minimise_rates(X, positive[:, 1:], negative, bounds, penalty=PENALTY)
    with pytest.raises(CounterweightError, match="finite numbers"):
        minimise_rates(X, positive, negative, [np.nan], penalty=PENALTY)
    for kind in (np.array, sparse.csr_matrix):
        wrong = X.copy()
        wrong[5, 1] = np.inf
        with pytest.raises(
            CounterweightError, match="infinite values in 1 rows of the features .first: row 5"
        ):
            minimise_rates(kind(wrong), positive, negative, bounds, penalty=PENALTY)
