"""LogitBoost with simple linear regressions."""

import numpy as np
import pytest
from counterweight.models.choice.logitboost import (
    Boost,
    LogitBoost,
    boosted,
    cross_validated_iterations,
    fold_numbers,
)
from counterweight.numerics.linear import fit_logistic
from scipy.special import expit


def drawn(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 3)) * [1.0, 5.0, 0.1] + [0.0, 10.0, -2.0]
    y = (rng.random(rows) < expit(1.5 * Z[:, 0] - 0.4 * (Z[:, 1] - 10))).astype(int)
    return Z, y


def test_enough_steps_reach_maximum_likelihood():
    Z, y = drawn()
    coef, intercept, log_odds, _ = boosted(Z, y, 5000)
    exact, constant, _, _ = fit_logistic(Z, y, l2=0)
    # Many |z| are cut here: a cut that changed w z would end elsewhere.
    assert (np.abs(1 / (y - 1 + expit(log_odds))) > 3).any()
    assert np.allclose(coef, exact, rtol=1e-3, atol=2e-4)
    assert abs(intercept - constant) < 5e-3


def test_the_loss_falls_at_every_step():
    Z, y = drawn(300)
    boost = Boost(Z, y)
    losses = [boost.loss]
    for _ in range(100):
        boost.step()
        losses.append(boost.loss)
    assert (np.diff(losses) <= 0).all()
    assert np.allclose(boost.log_odds, Z @ boost.coef + boost.intercept)


def test_the_first_step_is_the_regression_of_the_best_column():
    Z, y = drawn(200)
    column, slope, level = Boost(Z, y).step()
    # At p = 1/2 all weights are alike and z = 4 (y - 1/2), within the limit.
    fits = [np.polyfit(z, 4 * (y - 0.5), 1) for z in Z.T]
    errors = [
        np.sum((4 * (y - 0.5) - np.polyval(fit, z)) ** 2) for fit, z in zip(fits, Z.T, strict=True)
    ]
    assert column == np.argmin(errors)
    assert np.allclose([slope, level], fits[column])


def test_separated_rows_stay_finite():
    Z = np.linspace(-1, 1, 40)[:, None]
    coef, intercept, log_odds, _ = boosted(Z, (Z[:, 0] > 0).astype(int), 500)
    assert np.isfinite([coef[0], intercept]).all() and np.isfinite(log_odds).all()


def test_units_of_the_features_do_not_matter():
    Z, y = drawn(400)
    X, t = Z[:, :2], expit(Z[:, 2])
    first = LogitBoost().fit(X, y, t, rng=np.random.default_rng(2))
    moved = X * [1000.0, -0.01] + [5.0, 7.0]
    second = LogitBoost().fit(moved, y, t, rng=np.random.default_rng(2))
    assert np.allclose(
        first.predict_acceptance(X, t), second.predict_acceptance(moved, t), atol=1e-6
    )


def test_constant_features_change_nothing():
    Z, y = drawn(300)
    plain = boosted(Z, y, 20)
    wider = boosted(np.column_stack([np.full(300, 3.3), Z]), y, 20)
    assert wider[0][0] == 0 and np.allclose(wider[0][1:], plain[0])


def test_the_same_generator_gives_the_same_model():
    Z, y = drawn(500)
    fits = [
        LogitBoost().fit(Z[:, :2], y, expit(Z[:, 2]), rng=np.random.default_rng(4)).to_arrays()
        for _ in range(2)
    ]
    assert all(np.array_equal(fits[0][name], fits[1][name]) for name in fits[0])


def test_folds_share_out_both_classes():
    y = np.r_[np.ones(10, int), np.zeros(90, int)]
    number = fold_numbers(y, 5, np.random.default_rng(0))
    assert (np.bincount(number) == 20).all() and (np.bincount(number[y == 1]) == 2).all()


def test_cross_validation_stops_early_on_noise():
    rng = np.random.default_rng(5)
    Z, y = rng.normal(size=(200, 30)), rng.integers(2, size=200)
    steps, losses = cross_validated_iterations(Z, y, rng, patience=20)
    assert steps <= 3 and losses[steps] == losses.min() and len(losses) <= steps + 21


def test_the_log_loss_takes_steps_where_nobody_is_likely_to_accept():
    rng = np.random.default_rng(6)
    t, X = rng.random(500), rng.normal(size=(500, 1))
    p = 0.2 * t
    y = (rng.random(500) < p).astype(int)
    by_loss = LogitBoost().fit(X, y, t, rng=rng)
    assert np.sqrt(np.mean((by_loss.predict_acceptance(X, t) - p) ** 2)) < 0.05


@pytest.mark.parametrize("iterations", [1, 7])
def test_a_fixed_number_of_steps_is_kept(iterations):
    Z, y = drawn(300)
    model = LogitBoost(iterations=iterations).fit(Z[:, :2], y, expit(Z[:, 2]))
    assert model.models_[0]["iterations"] == iterations


def test_a_line_that_goes_too_far_is_halved_until_the_loss_falls():
    """Rows near 0 ask for a slope by which those far away, sure of their answer, become wrong."""
    Z = np.repeat([1.0, -1.0, 10.0, -10.0], [10, 10, 1, 1])[:, None]
    y = np.repeat([0, 1, 1, 0], [10, 10, 1, 1])
    boost = Boost(Z, y, coef=[0.6])
    before, p = boost.loss, expit(0.6 * Z[:, 0])
    # Newton's step of a line without a level, as classes mirror each other.
    newton = ((y - p) * Z[:, 0]).sum() / (p * (1 - p) * Z[:, 0] ** 2).sum()
    assert log_loss(0.6 + newton, Z, y) > before
    column, slope, level = boost.step()
    halvings = np.log2(newton / slope)
    assert column == 0 and halvings == pytest.approx(round(halvings), abs=1e-6) and halvings > 0.5
    assert level == pytest.approx(0, abs=1e-9) and boost.loss < before
    assert boost.loss == pytest.approx(log_loss(0.6 + slope, Z, y))
    assert log_loss(0.6 + 2 * slope, Z, y) > before


def log_loss(coef, Z, y):
    return np.logaddexp(0.0, -(2 * y - 1) * coef * Z[:, 0]).mean()


@pytest.mark.parametrize("most", [1, 3])
def test_as_many_steps_are_tried_as_are_allowed(most):
    Z, y = drawn(200)
    steps, losses = cross_validated_iterations(Z, y, np.random.default_rng(0), most=most)
    assert len(losses) == most + 1 and steps == most
