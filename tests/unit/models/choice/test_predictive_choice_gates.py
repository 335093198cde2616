"""Segments by gates: what the model keeps is what its gates and the answers say."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from scipy.special import expit

ASKED = {"membership": "gates", "most_components": 2, "n_init": 1, "moves": False}


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(500, 2)) + [3.0, 0.0], rng.random(500)
    own = (rng.random(500) < expit(3 * (X[:, 0] - 3.3))).astype(int)
    y = (rng.random(500) < expit(12 * (t - np.array([0.3, 0.7])[own]))).astype(int)
    X[:25, 1] = np.nan
    weight = rng.integers(0, 3, 500).astype(float)
    model = PredictiveChoiceModel(**ASKED, components=2)
    return X, t, y, weight, model.fit(X, y, t, sample_weight=weight, rng=np.random.default_rng(1))


def test_moments_are_those_of_the_members_given_their_answers(fitted):
    X, t, y, weight, model = fitted
    shares = model.predict_segments(X)
    curves = expit(model.k_ * (t[:, None] - model.eta_))
    answered = shares * np.where(y[:, None] == 1, curves, 1 - curves)
    total = answered.sum(axis=1)
    assert model.log_likelihood_ == pytest.approx(weight @ np.log(total))
    np.testing.assert_allclose(model.weights_, weight @ shares / weight.sum())
    assert model.weights_[0] >= model.weights_[1]
    member = answered / total[:, None] * weight[:, None]
    # Missing numbers count as the mean of the feature.
    mean = np.nansum(weight[:, None] * X, axis=0) / (weight @ ~np.isnan(X))
    whole = np.where(np.isnan(X), mean, X)
    floor = np.diag(model.reg_covar * model.scale_**2)
    for j in range(2):
        own = np.average(whole, axis=0, weights=member[:, j])
        np.testing.assert_allclose(model.means_[j], own, rtol=1e-6, atol=1e-6)
        spread = np.cov(whole.T, aweights=member[:, j], ddof=0)
        np.testing.assert_allclose(model.covariances_[j], spread + floor, rtol=1e-6)
        offered = np.average(t, weights=member[:, j])
        deviation = np.sqrt(np.average((t - offered) ** 2, weights=member[:, j]))
        assert model.offer_deviation_[j] == pytest.approx(deviation)


def test_rows_of_weight_nought_are_no_rows_and_lengths_count_gates_and_curves(fitted):
    X, t, y, weight, model = fitted
    rows = weight.sum()
    # A gate of three coefficients for each segment but one, two numbers a curve.
    counts = 3 * (model.sizes_ - 1) + 2 * model.sizes_
    lengths = np.log(rows) / 2 * counts - model.log_likelihoods_
    np.testing.assert_allclose(model.mdl_, lengths)
    used = weight > 0
    again = PredictiveChoiceModel(**ASKED, components=2).fit(
        X[used], y[used], t[used], sample_weight=weight[used], rng=np.random.default_rng(1)
    )
    np.testing.assert_array_equal(again.predict_segments(X), model.predict_segments(X))


def test_thresholds_that_add_up_go_with_segments_of_features_alone():
    with pytest.raises(CounterweightError, match="cannot be additive where membership is by gates"):
        PredictiveChoiceModel(**ASKED, thresholds="additive").fit(
            np.eye(4), [0, 1, 0, 1], np.ones(4)
        )
