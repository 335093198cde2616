"""Models of fairlearn: the same predictions from numbers, their bounds."""

import numpy as np
import pytest
from counterweight.models.constraints.fairlearn_models import (
    ExponentiatedGradientModel,
    ThresholdOptimizerModel,
)
from counterweight.numerics.rates import DataSets, measure
from scipy import sparse
from svm_rows import proba, world


@pytest.mark.parametrize("rate", ["demographic_parity", "equal_opportunity", "equalised_odds"])
def test_mixture_probabilities_are_those_of_fairlearn(rate):
    data, new = world(400, neither=True, hidden=0.1), world(200, seed=8)
    model = ExponentiatedGradientModel(rate=rate, ratio=0.9, max_iter=15)
    model.fit(samples=data)
    expected = model.fairlearn_._pmf_predict(new.X)
    np.testing.assert_allclose(model.predict_proba(new.X), expected, atol=1e-12)
    arrays = model.to_arrays()
    assert arrays["weights"].sum() == pytest.approx(1)
    positive = (new.X @ arrays["coefficients"].T + arrays["intercepts"] > 0) @ arrays["weights"]
    np.testing.assert_allclose(positive, expected[:, 1], atol=1e-12)


def test_mixture_keeps_its_bound_on_the_labeled_rows():
    """Each group's rate against the rate of all rows, within eps and the duality gap."""
    data = world(2000, hidden=0.3)
    model = ExponentiatedGradientModel(ratio=0.9).fit(samples=data)
    p, seen = proba(model, data), data.y >= 0
    overall = p[seen].mean()
    for mask in data.members.values():
        rate = p[mask & seen].mean()
        assert min(rate / overall, overall / rate) > 0.9 - 0.06
    free = ExponentiatedGradientModel(ratio=0.01).fit(samples=data)
    q = proba(free, data)
    male, female = data.members["male"], data.members["female"]
    assert p[male].mean() / p[female].mean() < 0.8 * q[male].mean() / q[female].mean()


def test_a_constant_classifier_in_the_mixture_is_a_number():
    data = DataSets(np.ones((60, 1)), np.arange(60) < 2, None, world(60).members)
    model = ExponentiatedGradientModel(ratio=1.0, max_iter=5).fit(samples=data)
    np.testing.assert_allclose(
        model.predict_proba(data.X), model.fairlearn_._pmf_predict(data.X), atol=1e-12
    )


@pytest.mark.parametrize("rate", ["demographic_parity", "equal_opportunity", "equalised_odds"])
def test_threshold_optimiser_is_that_of_fairlearn(rate):
    data = world(500, neither=True, hidden=0.1)
    model = ThresholdOptimizerModel(rate=rate).fit(samples=data)
    groups = np.select([data.members["male"], data.members["female"]], [0, 1], -1)
    scores = model.decision_function(data.X)[:, None]
    expected = model.fairlearn_._pmf_predict(scores, sensitive_features=groups)
    np.testing.assert_allclose(proba(model, data), expected[:, 1], atol=1e-12)
    name = {"demographic_parity": "coverage"}.get(rate, "recall")
    texts = {g: f"{name}({g} & labeled)" for g in data.members}
    found = measure(proba(model, data), data, texts)
    assert found["male"][1] == pytest.approx(found["female"][1], abs=0.01)


def test_mixture_of_standardised_features_predicts_in_the_features_own_units():
    data = world(300, decimals=6)
    moved = DataSets(data.X * [10, 0.1, 3] + 5, data.y, None, data.members)
    first, second = (
        ExponentiatedGradientModel(standardise=True, max_iter=10).fit(samples=d)
        for d in (data, moved)
    )
    np.testing.assert_allclose(proba(first, data), proba(second, moved), atol=1e-6)


def test_mostly_empty_features_have_no_unit():
    data, keep = world(160), np.random.default_rng(0).random((160, 3)) < 0.2
    chances = []
    for unit in (1.0, np.array([100.0, 0.01, 7.0])):
        rows = sparse.csr_matrix(data.X * keep * unit)
        told = DataSets(rows, data.y, None, data.members)
        model = ExponentiatedGradientModel(standardise=True, max_iter=3).fit(samples=told)
        chances.append(proba(model, told))
    np.testing.assert_allclose(*chances, atol=1e-6)
    assert np.ptp(chances[0]) > 0.1
