"""Solver of rate constraints: identities, known optima and certified bounds."""

import os
from pathlib import Path

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.convex_step import ramp
from counterweight.models.constraints.majorisation import minimise_rates, prove_infeasible
from counterweight.models.constraints.newton import DistinctRows
from rate_problems import PENALTY, problem
from scipy import sparse


@pytest.mark.parametrize("m", [0, 1, 2, 3, 4])
def test_every_iterate_is_feasible_and_the_objective_never_rises(m):
    for seed in range(3):
        X, positive, negative, bounds = problem(seed, m)
        fit = minimise_rates(X, positive, negative, bounds, penalty=PENALTY)
        assert fit.feasible and fit.status == "feasible"
        assert fit.violations.max(initial=-1) <= 1e-9
        assert np.diff(fit.objective).max() <= 1e-9
        assert fit.objective[-1] < fit.objective[0] - 0.03
        assert fit.gap.max() <= 1e-5 * (positive[0].sum() + negative[0].sum())
        f = X @ fit.coefficient + fit.intercept
        excess = positive[1:] @ ramp(f) + negative[1:] @ ramp(-f) - bounds
        np.testing.assert_allclose(excess, fit.violations[-1], atol=1e-12)
        norm = fit.coefficient @ fit.coefficient + fit.intercept**2
        value = positive[0] @ ramp(f) + negative[0] @ ramp(-f) + PENALTY / 2 * norm
        assert value == pytest.approx(fit.objective[-1], abs=1e-12)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_rough_steps_that_are_followed_further_stay_feasible_and_end_exactly(m):
    X, positive, negative, bounds = problem(m, m, n=400, d=6)
    exact = minimise_rates(X, positive, negative, bounds, penalty=PENALTY)
    rough = minimise_rates(X, positive, negative, bounds, penalty=PENALTY, early=10.0)
    total = positive[0].sum() + negative[0].sum()
    assert rough.feasible and rough.violations.max(initial=-1) <= 1e-9
    assert np.diff(rough.objective).max() <= 1e-9
    assert rough.gap[-1] <= 1e-5 * total < rough.gap[0]
    assert rough.objective[-1] <= exact.objective[-1] + 0.02 * total
    # Beyond the minimum of the convex bound Problem 2 may be lower still; not in the first case.
    first = rough.states[0].w
    f = X @ first[:-1] + first[-1]
    value = positive[0] @ ramp(f) + negative[0] @ ramp(-f) + PENALTY / 2 * first @ first
    assert rough.objective[1] <= value + 1e-12
    assert m == 0 or rough.objective[1] < value - 1e-6


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"penalty": 0}, "penalty"),
        ({"penalty": PENALTY, "start": (np.zeros(2), 0.0)}, "4 finite coefficients"),
    ],
)
def test_wrong_options_are_told(change, text):
    X, positive, negative, bounds = problem(0, 2)
    with pytest.raises(CounterweightError, match=text):
        minimise_rates(X, positive, negative, bounds, **change)


def test_wrong_numbers_are_told():
    X, positive, negative, bounds = problem(0, 1)
    for kind in (np.array, sparse.csr_matrix):
        wrong = X.copy()
        wrong[5, 1] = np.inf
        with pytest.raises(
            CounterweightError, match="infinite values in 1 rows of the features .first: row 5"
        ):
            minimise_rates(kind(wrong), positive, negative, bounds, penalty=PENALTY)


def test_multipliers_are_in_the_units_of_objective_and_constraint():
    X, positive, negative, bounds = problem(2, 1)
    plain = minimise_rates(X, positive, negative, bounds, penalty=PENALTY)
    assert plain.multipliers.max() > 0.01
    by = np.array([[5.0], [10.0]])
    scaled = minimise_rates(X, by * positive, by * negative, 10 * bounds, penalty=5 * PENALTY)
    np.testing.assert_allclose(scaled.multipliers, plain.multipliers / 2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled.objective, 5 * plain.objective, rtol=1e-9)
    np.testing.assert_allclose(scaled.violations, 10 * plain.violations, atol=1e-9)
    np.testing.assert_allclose(scaled.gap, 5 * plain.gap, rtol=1e-3, atol=1e-9)
