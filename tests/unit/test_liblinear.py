"""LIBLINEAR as the inner solver: the own solver's optimum, certified, and what it cannot solve."""

import numpy as np
import pytest
from counterweight import ConstrainedClassifier
from counterweight.errors import CounterweightError
from counterweight.models.constraints.linear_svm import HingeRows, best_penalty
from counterweight.models.constraints.solver.majorisation import minimise_rates
from sklearn.svm import LinearSVC


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.standard_normal((600, 5)), rng.random(600) < 0.4])
    y = (X @ [1.0, -1.0, 0.5, 0, 0, 1.5] + rng.standard_normal(600) > 0.6).astype(int)
    return X, y


def costs(y):
    return (y == 0)[None] / len(y), (y == 1)[None] / len(y)


@pytest.mark.parametrize("bias", ["regularised", "none"])
def test_without_constraints_it_is_the_optimum_of_the_own_solver(world, bias):
    X, y = world
    shared = {"penalty": 2 / len(y), "loss": "hinge", "steps": 1, "bias": bias, "tolerance": 1e-5}
    own = minimise_rates(X, *costs(y), [], **shared)
    other = minimise_rates(X, *costs(y), [], inner="liblinear", **shared)
    assert other.gap[-1] <= 1e-5
    assert other.objective[-1] == pytest.approx(own.objective[-1], abs=2e-5)
    np.testing.assert_allclose(other.coefficient, own.coefficient, atol=0.02)


def test_the_scaling_is_that_of_liblinear_at_c_1(world):
    """u = 2w and lambda = 2/n: the coefficients are half those of scikit-learn's own classifier."""
    X, y = world
    fit = minimise_rates(
        X, *costs(y), [], penalty=2 / len(y), loss="hinge", steps=1, bias="none", inner="liblinear"
    )
    plain = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-6, max_iter=100_000, random_state=0)
    np.testing.assert_allclose(2 * fit.coefficient, plain.fit(X, y).coef_[0], atol=0.02)


def test_the_cutting_plane_comes_to_the_same_first_step_by_it(world):
    X, y = world
    group = X[:, 5] == 1
    shares = np.array([group / group.sum(), ~group / (~group).sum()])
    positive = np.vstack([costs(y)[0], shares[0]])
    negative = np.vstack([costs(y)[1], shares[1]])
    shared = {"penalty": 2 / len(y), "steps": 1, "method": "cutting_plane", "tolerance": 1e-4}
    # coverage(group) <= coverage(others), as coverage(group) + (1 - coverage(others)) <= 1.
    own, other = (
        minimise_rates(X, positive, negative, [1.0], inner=inner, **shared)
        for inner in ("newton", "liblinear")
    )
    assert own.feasible and other.feasible and other.gap[0] <= 1e-4
    assert other.objective[1] == pytest.approx(own.objective[1], abs=2e-4)


def test_the_classifier_takes_it_as_an_option(world):
    X, y = world
    options = {
        "constraints": ["coverage(group) <= coverage(rest) / kappa"],
        "kappa": 0.9,
        "method": "cutting_plane",
        "start": "zero",
        "steps": 2,
        "tolerance": 1e-4,
    }
    sets = {"group": X[:, 5] == 1, "rest": X[:, 5] == 0}
    own = ConstrainedClassifier(**options).fit(X, y, datasets=sets)
    other = ConstrainedClassifier(**options, inner="liblinear").fit(X, y, datasets=sets)
    assert other.feasible_ and (other.excess_ <= 1e-9).all()
    assert other.objective_[1] == pytest.approx(own.objective_[1], abs=2e-4)


def test_what_it_cannot_solve_is_told(world):
    X, y = world
    with pytest.raises(CounterweightError, match="set bias to regularised or none"):
        ConstrainedClassifier(inner="liblinear", bias="free", steps=1, loss="hinge").fit(X, y)
    with pytest.raises(CounterweightError, match="set method to cutting_plane or bisection"):
        ConstrainedClassifier(inner="liblinear", constraints=["coverage(everyone) <= 0.2"]).fit(
            X, y
        )


def test_a_penalty_is_chosen_on_held_out_rows(world):
    """Noise beside one feature that matters: the largest penalty of those that err least."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((150, 60))
    y = (X[:, 0] + 0.3 * rng.standard_normal(150) > 0).astype(int)
    grid = (1e-6, 1e-2, 1e4)
    chosen = best_penalty(X, y, np.ones(150), None, grid, "regularised", np.random.default_rng(1))
    assert chosen == 1e-2
    errors = {}
    order = np.random.default_rng(1).permutation(150)
    for penalty in grid:
        svm = HingeRows(X[order[30:]], y[order[30:]], np.ones(120), penalty).solve()
        held = X[order[:30]] @ svm.coefficient + svm.intercept > 0
        errors[penalty] = np.mean(held != (y[order[:30]] == 1))
    assert errors[chosen] == min(errors.values())
    model = ConstrainedClassifier(penalties=grid, standardise=True).fit(X, y)
    assert any(model.penalty_ == pytest.approx(penalty) for penalty in grid)
    with pytest.raises(CounterweightError, match="both given"):
        ConstrainedClassifier(penalties=grid, penalty=0.1).fit(X, y)
