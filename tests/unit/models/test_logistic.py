"""MAP adaptation lies between the background and the weighted fit, as the penalty says."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.logistic import (
    PENALTIES,
    AdaptedLogistic,
    AmountModel,
    LogisticModel,
    RidgeModel,
    adapted,
)
from scipy.optimize import minimize


def sample(n=600, seed=0):
    """A curve that no line follows, and weights that ask for its right end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1, 50] + [0, 300]
    y = (rng.random(n) < 1 / (1 + np.exp(1 - X[:, 0] ** 2 - (X[:, 1] - 300) / 50))).astype(int)
    return X, y, np.exp(X[:, 0])


def test_without_a_penalty_it_is_the_weighted_fit():
    X, y, weights = sample()
    found = AdaptedLogistic(l2=0, penalty=0).fit(X, y, weights)
    expected = LogisticModel(l2=0).fit(X, y, weights)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6)
    assert found.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)
    assert found.converged_


def test_with_a_large_penalty_it_is_the_background():
    X, y, weights = sample()
    found = AdaptedLogistic(penalty=1e6).fit(X, y, weights)
    expected = LogisticModel().fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-4)
    np.testing.assert_array_equal(found.background_[0], expected.coef_)


def test_equal_weights_change_nothing_at_any_penalty():
    X, y, _ = sample()
    expected = LogisticModel(l2=0).fit(X, y)
    for penalty in (1e-4, 1.0):
        found = AdaptedLogistic(l2=0, penalty=penalty).fit(X, y, np.full(600, 3.0))
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5)


def test_the_optimum_is_that_of_a_general_search():
    X, y, weights = sample()
    Z = np.column_stack([np.ones(600), (X - X.mean(axis=0)) / X.std(axis=0)])
    weights, prior, penalty = weights / weights.mean(), np.array([0.3, -0.2, 1.0]), 0.05

    def loss(beta):
        told = weights @ np.logaddexp(0, -(2 * y - 1) * (Z @ beta)) / 600
        return told + penalty / 2 * np.sum((beta - prior) ** 2)

    beta, _, converged = adapted(Z, y, weights, prior, penalty)
    assert converged
    np.testing.assert_allclose(beta, minimize(loss, prior, tol=1e-12).x, atol=1e-5)


def test_units_and_the_scale_of_weights_do_not_matter():
    X, y, weights = sample()
    one = AdaptedLogistic(penalty=0.01).fit(X, y, weights)
    other = AdaptedLogistic(penalty=0.01).fit(X * [10, 0.1] + 4, y, weights * 300)
    np.testing.assert_allclose(other.coef_ * [10, 0.1], one.coef_, rtol=1e-5)


def test_the_penalty_is_chosen_by_held_out_rows():
    X, y, weights = sample(4000)
    rng = np.random.default_rng
    useful = AdaptedLogistic().fit(X, y, weights, rng=rng(1))
    assert len(useful.losses_) == len(PENALTIES)
    assert useful.penalty_ == PENALTIES[np.argmin(useful.losses_)]
    # A few rows with all the weight say nothing that is worth leaving the background for.
    useless = np.where(np.arange(4000) % 400 == 0, 1e4, 1.0)
    kept = AdaptedLogistic().fit(X, y, useless, rng=rng(1))
    assert useful.penalty_ < 1e-2 < kept.penalty_


def test_a_background_without_a_penalty_of_its_own_has_that_of_logistic_regression():
    X, y, weights = sample(90)
    found = AdaptedLogistic(l2=None, penalty=0.1).fit(X, y, weights)
    background = LogisticModel(l2=None).fit(X, y)
    np.testing.assert_array_equal(found.background_[0], background.coef_)
    assert np.linalg.norm(background.coef_) < 0.9 * np.linalg.norm(LogisticModel().fit(X, y).coef_)


def test_any_classifier_with_coefficients_may_be_the_background():
    X, y, weights = sample()
    other = LogisticModel().fit(X[:200], y[:200])
    found = AdaptedLogistic(penalty=1e6).fit(X, y, weights, background=other)
    np.testing.assert_allclose(found.coef_, other.coef_, rtol=1e-4)


def test_separable_labels_are_no_trouble_with_a_penalty():
    X = np.linspace(-1, 1, 50)[:, None]
    y = (X[:, 0] > 0).astype(int)
    found = AdaptedLogistic(l2=1e-2, penalty=0.1).fit(X, y, np.linspace(1, 2, 50))
    assert found.converged_ and np.isfinite(found.coef_).all()


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({"penalty": -1.0}, None, "penalty must be"),
        ({}, np.zeros(600), "All 600 weights are 0"),
        ({}, (sample()[1] == 1) * 1.0, "The adaptation needs both classes"),
    ],
)
def test_what_cannot_be_fitted_is_told(options, weights, message):
    X, y, _ = sample()
    with pytest.raises(CounterweightError, match=message):
        AdaptedLogistic(**options).fit(X, y, weights)


def amounts(rows, factors, seed=0):
    """Amounts with zeros that features multiply, or add to, and what is expected of them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows, 2))
    score = X @ [1.5, -1.0]
    expected = np.exp(score) if factors else 3 + score
    return X, expected * rng.gamma(2, 1, rows) * (rng.random(rows) < 0.5), expected


@pytest.mark.parametrize("factors", [True, False], ids=["multiply", "add"])
def test_amounts_have_a_log_link_where_features_multiply_and_none_where_they_add(factors):
    X, y, expected = amounts(2000, factors)
    found = AmountModel(l2=None).fit(X, y)
    assert found.link_ == ("log" if factors else "identity")
    other = AmountModel(l2=None, link="identity" if factors else "log").fit(X, y)
    errors = [np.mean((model.predict(X) - expected) ** 2) for model in (found, other)]
    assert errors[0] < errors[1]
    # At one's own penalty the link is chosen, too.
    assert AmountModel(l2=1e-3).fit(X, y).link_ == found.link_


@pytest.mark.parametrize("link", ["log", "identity"])
def test_amounts_are_from_0_up_with_the_weighted_mean_of_the_outcomes(link):
    X, y, _ = amounts(300, link == "log")
    weight = np.random.default_rng(2).uniform(0.1, 3, 300)
    found = AmountModel(l2=None, link=link).fit(X, y, weight)
    raw = found.raw(X)
    mean = np.exp(raw) if link == "log" else raw
    assert weight @ mean == pytest.approx(weight @ y, rel=1e-6)
    assert found.predict(np.array([[-60.0, 60.0], [60.0, -60.0]])).min() >= 0
    if link == "log":
        assert found.predict(np.array([[60.0, -60.0]]))[0] == pytest.approx(2 * y.max())
        scaled = AmountModel(l2=None, link=link).fit(1000 * X, 0.01 * y, weight)
        np.testing.assert_allclose(scaled.predict(1000 * X), 0.01 * found.predict(X), rtol=1e-6)
    else:
        told = found.settled(X, y, weight)
        plain = RidgeModel(told["l2"], told["per_row"]).fit(X, y, weight)
        np.testing.assert_array_equal(found.coef_, plain.coef_)
    again = AmountModel.from_arrays(found.to_arrays())
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_fits_to_several_outcomes_are_those_to_each():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 5)) * [1, 10, 0.1, 1, 1]
    X[:, 3] = 2.0
    outcomes = np.array([X[:, 0] + rng.normal(size=200), 1 + 0.01 * rng.normal(size=200)])
    several = RidgeModel.of_several(X, outcomes)
    assert several[0].l2 < several[1].l2
    for found, y in zip(several, outcomes, strict=True):
        one = RidgeModel(l2=None).fit(X, y)
        np.testing.assert_allclose(found.coef_, one.coef_, rtol=1e-12)
        assert found.intercept_ == pytest.approx(one.intercept_, rel=1e-12)


def test_amounts_that_are_all_0_in_a_fit_have_no_log_link():
    X, y, _ = amounts(60, True)
    found = AmountModel(l2=1e-3).fit(X, np.zeros(60))
    assert found.link_ == "identity" and not found.predict(X).any()


def test_the_scale_of_the_weights_does_not_matter_to_an_adapted_fit():
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(300, 2)), rng.uniform(0.5, 3, 300)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    one, other = (AdaptedLogistic(penalty=0.1).fit(X, y, scale * w) for scale in (1.0, 7.0))
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-6)
    assert other.intercept_ == pytest.approx(one.intercept_, rel=1e-6)


def test_an_offset_of_a_number_moves_the_intercept_alone():
    rng = np.random.default_rng(6)
    X, y, weight = rng.normal(size=(300, 2)), rng.integers(9, size=300), rng.random(300)
    plain, moved = (RidgeModel().fit(X, 1.0 * y + add, weight) for add in (0, 2**40))
    assert moved.coef_ == pytest.approx(plain.coef_, rel=1e-6)
    assert moved.intercept_ - 2**40 == pytest.approx(plain.intercept_, abs=1e-2)


def test_what_is_stored_of_an_adapted_fit_answers_alike():
    X, y, weights = sample(200)
    model = AdaptedLogistic(penalty=0.05).fit(X, y, weights)
    again = AdaptedLogistic.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for one, other in zip(again.background_, model.background_, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.penalty_ == 0.05 and again.converged_ and again.n_iter_ == model.n_iter_


def test_an_adapted_fit_solves_its_equations_from_anywhere():
    """Whole steps of Newton's method go too far where a row has much to say of few others."""
    Z = np.column_stack([np.ones(62), np.repeat([1.0, -1.0, 40.0, -40.0], [30, 30, 1, 1])])
    y, weights = np.repeat([0.0, 1, 1, 0], [30, 30, 1, 1]), np.linspace(0.5, 1.5, 62)
    prior = np.array([0.2, 0.5])
    found = []
    for start in (None, np.zeros(2), np.array([3.0, -2.0])):
        beta, _, converged = adapted(Z, y, weights, prior, 0.01, start)
        assert converged
        p = 1 / (1 + np.exp(-Z @ beta))
        pull = 0.01 * (beta - prior)
        np.testing.assert_allclose((weights * (p - y)) @ Z / 62 + pull, 0.0, atol=1e-6)
        found.append(beta)
    np.testing.assert_allclose(found, [found[0]] * 3, atol=1e-4)
    assert adapted(Z, y, weights, prior, 0.01, found[0])[1] <= 1
