"""Weighted logistic regression: weights are honoured, units do not matter."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.logistic import LogisticModel
from counterweight.numerics import linear
from counterweight.numerics.checks import features_named
from counterweight.numerics.linear import (
    expit,
    fit_logistic,
    left_out_losses,
    left_out_squares,
    logistic_probability,
    logit,
)
from counterweight.tables.parquet import model_arrays, model_table
from scipy import special
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 100, 0.01] + [0, 1000, 5]
    logit = X[:, 0] + (X[:, 1] - 1000) / 100 - 0.4
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


def test_integer_weights_equal_repeated_rows():
    X, y = sample()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    one = fit_logistic(X, y, weights, l2=0)
    other = fit_logistic(np.repeat(X, weights, axis=0), np.repeat(y, weights), l2=0)
    np.testing.assert_allclose(one[0], other[0], rtol=1e-6)
    assert one[1] == pytest.approx(other[1], rel=1e-6)


def test_the_scale_of_the_weights_does_not_matter():
    X, y = sample()
    weights = np.random.default_rng(1).random(len(y))
    np.testing.assert_allclose(
        fit_logistic(X, y, weights)[0], fit_logistic(X, y, 1000 * weights)[0], rtol=1e-8
    )


def test_score_equations_hold_at_the_optimum():
    X, y = sample()
    weights = np.random.default_rng(2).random(len(y))
    coef, intercept, _, converged = fit_logistic(X, y, weights, l2=0)
    residual = weights * (y - logistic_probability(X, coef, intercept))
    standard = (X - X.mean(0)) / X.std(0)
    assert converged
    assert np.abs(residual @ standard).max() < 1e-5
    assert abs(residual.sum()) < 1e-5


@pytest.mark.parametrize("l2", [0, 1e-6, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_scikit_learn_after_as_many_steps(seed, l2):
    X, y = sample(seed=seed)
    X = (X - X.mean(0)) / X.std(0)
    weights = np.random.default_rng(seed).exponential(size=len(y))
    peer = LogisticRegression(
        C=1 / (l2 * len(y)) if l2 else np.inf, solver="newton-cholesky", tol=1e-8
    )
    center = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weights))
    peer.fit((X - center) / scale, y, sample_weight=weights / weights.mean())
    coef, intercept, steps, converged = fit_logistic(X, y, weights, l2)
    assert converged and steps == peer.n_iter_[0]
    np.testing.assert_allclose(coef, peer.coef_[0] / scale, rtol=1e-9)
    assert intercept == pytest.approx(peer.intercept_[0] - coef @ center, abs=1e-9)


def test_classes_that_can_be_told_apart_end_at_the_penalty():
    X = np.r_[-np.ones(50), np.ones(50)][:, None]
    y = (X[:, 0] > 0).astype(int)
    coef, intercept, _, converged = fit_logistic(X, y, l2=1e-6)
    # The slope of the mean log loss, with the sign of each row at z = coef, is that of the penalty.
    assert converged and intercept == pytest.approx(0, abs=1e-6)
    assert 1 / (1 + np.exp(coef[0])) == pytest.approx(1e-6 * coef[0], rel=1e-2)


def test_log_odds_and_probabilities_are_scipys():
    odds = np.r_[-800, np.linspace(-40, 40, 201), 800]
    np.testing.assert_allclose(expit(odds), special.expit(odds), rtol=1e-14)
    p = np.r_[0, 1e-300, np.linspace(0, 1, 101), 1]
    np.testing.assert_allclose(logit(p), special.logit(p), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(400), "negative or not finite"),
        (np.full(400, np.nan), "negative or not finite"),
        (np.zeros(400), "All 400 weights are 0"),
        (np.ones(3), "3 weights for 400 rows"),
    ],
)
def test_impossible_weights_are_refused(weights, message):
    X, y = sample()
    with pytest.raises(CounterweightError, match=message):
        fit_logistic(X, y, weights)


def test_one_class_is_refused_also_when_weights_make_it_so():
    X, y = sample()
    with pytest.raises(CounterweightError, match="of one class, 1"):
        fit_logistic(X, np.ones(400, int))
    with pytest.raises(CounterweightError, match="of one class, 0"):
        fit_logistic(X, y, (y == 0).astype(float))


def test_a_model_survives_its_parquet_table():
    X, y = sample()
    model = LogisticModel().fit(X, y)
    again = LogisticModel.from_arrays(
        model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    )
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("value", [0.1, 0.0, 37.85, 1e6])
def test_a_feature_that_is_constant_in_the_fit_says_nothing(value):
    X, y = sample()
    with_constant = np.column_stack([X, np.full(len(X), value)])
    coef, intercept, _, _ = fit_logistic(with_constant, y)
    alone = fit_logistic(X, y)
    assert coef[3] == 0
    np.testing.assert_allclose(coef[:3], alone[0], rtol=1e-6)


def test_rows_of_weight_zero_change_nothing():
    X, y = sample()
    weights = np.r_[np.ones(200), np.zeros(200)]
    far = X.copy()
    far[200:] *= 1e6
    np.testing.assert_allclose(
        fit_logistic(far, y, weights)[0], fit_logistic(X[:200], y[:200])[0], rtol=1e-10
    )


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "Missing or infinite values in 4 rows"),
        (np.ones(4), [0, 1, 0, 1], "table of rows by features"),
        ([["a"], ["b"]], [0, 1], "must be numbers"),
        (np.eye(3), [0, 1, 2], "must be 0 or 1; found 0, 1, 2"),
        (np.eye(3), [0, 1], "3 rows but a label of shape"),
        (np.eye(3), ["yes", "no", "no"], "must be 0 or 1; found no, yes"),
    ],
)
def test_unusable_rows_and_labels_are_told(X, y, message):
    with pytest.raises(CounterweightError, match=message):
        fit_logistic(X, y)


def test_squares_of_rows_left_out_are_those_of_fits_without_them():
    rng = np.random.default_rng(3)
    X, y, weight = rng.normal(size=(30, 4)), rng.normal(size=30), rng.random(30) + 0.5
    centre = weight @ X / weight.sum()
    scale = np.sqrt(weight @ (X - centre) ** 2 / weight.sum())
    rows = np.column_stack([(X - centre) / scale, np.ones(30)])
    penalties = (30.0, 1.0)
    for penalty, found in zip(penalties, left_out_squares(X, y, weight, penalties), strict=True):
        left = np.empty(30)
        for out in range(30):
            kept = np.arange(30) != out
            gram = (rows[kept].T * weight[kept]) @ rows[kept] + np.diag([penalty] * 4 + [0.0])
            left[out] = y[out] - rows[out] @ np.linalg.solve(
                gram, rows[kept].T @ (weight[kept] * y[kept])
            )
        assert found == pytest.approx(weight @ left**2 / weight.sum())


def test_log_losses_of_rows_left_out_are_near_those_of_fits_without_them():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    y = (rng.random(80) < expit(X[:, 0] - 0.5)).astype(int)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    rows = (X - centre) / scale
    penalties = (100.0, 10.0, 1.0)
    for penalty, found in zip(penalties, left_out_losses(X, y, None, penalties), strict=True):
        losses = []
        for out in range(80):
            kept = np.arange(80) != out

            def loss(beta, kept=kept, penalty=penalty):
                score = rows[kept] @ beta[:3] + beta[3]
                return (
                    np.logaddexp(0, -(2 * y[kept] - 1) * score).sum()
                    + penalty / 2 * beta[:3] @ beta[:3]
                )

            beta = minimize(loss, np.zeros(4), options={"gtol": 1e-8}).x
            losses.append(np.logaddexp(0, -(2 * y[out] - 1) * (rows[out] @ beta[:3] + beta[3])))
        assert found == pytest.approx(np.mean(losses), abs=2e-3)


def test_a_feature_with_one_value_is_called_by_its_name_and_once(caplog):
    caplog.set_level("INFO", "counterweight")
    X, y = sample()
    X[:, 1] = 7.0
    with features_named(["income", "age", "debt"]):
        for _ in range(3):
            assert fit_logistic(X, y)[0][1] == 0
            # Behind the features is what is made of them: nobody knows it by a number.
            fit_logistic(np.hstack([X, X * 2]), y)
        # Of rows with other features the names are not known.
        fit_logistic(X[:, :2], y)
    fit_logistic(X, y)
    told = [record.getMessage() for record in caplog.records]
    assert {record.levelname for record in caplog.records} == {"INFO"}
    number = "Feature number 1 has one value in the 400 rows of a fit: it gets the coefficient 0."
    assert told == [number.replace("number 1", "age"), number, number]


def test_blocks_of_rows_have_the_optimum_and_the_means_of_all(monkeypatch):
    X, y = sample()
    X[:, 2] = X[:, 2] * 1e3 + 5e4
    weight = np.random.default_rng(3).exponential(size=len(X))
    whole, means = fit_logistic(X, y, weight, 1e-4), linear.averaged(X, weight)
    monkeypatch.setattr(linear, "HELD_ROWS", 64)
    monkeypatch.setattr(linear, "FIRST_ROWS", 100)
    parts = fit_logistic(X, y, weight, 1e-4)
    assert whole[3] and parts[3] and parts[2] <= whole[2]
    scale = X.std(axis=0)
    np.testing.assert_allclose(parts[0] * scale, whole[0] * scale, atol=1e-7)
    at = X.mean(axis=0)
    assert parts[1] + at @ parts[0] == pytest.approx(whole[1] + at @ whole[0], abs=1e-7)
    np.testing.assert_allclose(linear.averaged(X, weight), means, rtol=1e-13)
    np.testing.assert_allclose(linear.averaged(X), X.mean(axis=0), rtol=1e-13)
