"""Poisson regression of amounts: score equations, units, rows left out."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.linear import FARTHEST, fit_poisson, left_out_amounts, standard_rows
from sklearn.linear_model import PoissonRegressor


def expenses(rows, seed=0):
    """Many zeros, a heavy tail, and features that multiply; with what is expected."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    chance, size = 1 / (1 + np.exp(-0.3 - X[:, 0])), np.exp(3 + 0.6 * X[:, 0] - 0.4 * X[:, 1])
    y = np.where(rng.random(rows) < chance, rng.gamma(1.5, size / 1.5), 0.0)
    return X, y, chance * size


def test_the_score_equations_hold_and_the_fit_is_that_of_scikit_learn():
    X, y, _ = expenses(500)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 500)
    rows, penalised, centre, scale = standard_rows(X, weight)
    ridge = 7.0 * penalised
    found, inverse, _, sound = fit_poisson(rows, y / y.mean(), weight, ridge)
    residual = weight * (np.exp(rows @ found) - y / y.mean())
    np.testing.assert_allclose(rows.T @ residual, -ridge * found, atol=1e-5)
    assert sound and abs(residual.sum()) < 1e-5
    hessian = (rows * (weight * np.exp(rows @ found))[:, None]).T @ rows + np.diag(ridge)
    np.testing.assert_allclose(inverse @ hessian, np.eye(4), atol=1e-8)
    other = PoissonRegressor(alpha=7.0 / weight.sum(), tol=1e-10, max_iter=1000)
    other.fit(rows[:, :-1], y / y.mean(), sample_weight=weight)
    np.testing.assert_allclose(other.coef_, found[:-1], atol=1e-5)


def test_what_is_expected_of_a_row_left_out_is_near_that_of_a_fit_without_it():
    X, y, _ = expenses(150)
    for penalty, near in ((30.0, 0.02), (1.0, 0.03)):
        left = []
        for row in range(len(y)):
            others = np.arange(len(y)) != row
            rows, penalised, centre, scale = standard_rows(X, np.ones(len(y)))
            middle = y.mean()
            told = rows[others], y[others] / middle, np.ones(len(y) - 1), penalty * penalised
            score = rows[row] @ fit_poisson(*told)[0]
            answer = middle * np.exp(min(score, np.log(FARTHEST * y.max() / middle)))
            left.append((answer - y[row]) ** 2)
        found = left_out_amounts(X, y, np.ones(len(y)), [penalty])[0]
        assert found == pytest.approx(np.mean(left), rel=near)


def test_no_unit_counts():
    X, y, _ = expenses(300)
    weight = np.ones(300)
    plain = left_out_amounts(X, y, weight, [100.0, 1.0])
    other = left_out_amounts(X * [10, 0.1, 1], 100 * y, 5 * weight, [100.0, 1.0])
    np.testing.assert_allclose(other, 1e4 * plain, rtol=1e-7)


def test_a_feature_with_one_value_has_the_coefficient_0():
    X, y, _ = expenses(100)
    X[:, 1] = 3.0
    rows, penalised, *_ = standard_rows(X, np.ones(100))
    assert not rows[:, 1].any()
    assert fit_poisson(rows, y, np.ones(100), penalised)[0][1] == pytest.approx(0, abs=1e-15)


def test_amounts_below_0_or_all_0_are_refused():
    rows, one = np.ones((3, 1)), np.ones(3)
    for y in ([0.0, 0.0, 0.0], [1.0, -1.0, 2.0]):
        with pytest.raises(CounterweightError, match="from 0 up that are not all 0"):
            fit_poisson(rows, np.array(y), one, np.zeros(1))
