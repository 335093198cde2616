"""Membership by gates: known gates are recovered, and what must hold of any."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice import covariates
from counterweight.models.choice.covariates import (
    as_choices,
    discriminant,
    fit_gates,
    gate_design,
    gate_parameters,
    memberships,
)
from counterweight.models.choice.offer_model import acceptance
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.pricing import pricer
from counterweight.models.choice.segment_model import segment_shares
from counterweight.models.choice.steps import ChoiceRows, fit_curves
from counterweight.numerics.emissions import Emission
from scipy.special import softmax

ETA, K = np.array([0.3, 0.7]), np.array([12.0, 9.0])
#: Log-odds of the second segment: one crowd of features, which segments do not divide.
GATE = np.array([0.3, 3.0, 0.0, 0.0])


def people(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 3)), rng.random(n)
    chance = 1 / (1 + np.exp(-GATE[0] - X @ GATE[1:]))
    own = (rng.random(n) < chance).astype(int)
    y = (rng.random(n) < acceptance(t, ETA[own], K[own])).astype(float)
    p = (1 - chance) * acceptance(t, ETA[0], K[0]) + chance * acceptance(t, ETA[1], K[1])
    return X, t, y, p


def fit(X, t, y, seed=1, **options):
    asked = {"most_components": 3, "n_init": 3, "membership": "gates"} | options
    return PredictiveChoiceModel(**asked).fit(X, y, t, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def known():
    X, t, y, p = people()
    return X, t, y, p, fit(X, t, y)


def test_gates_and_curves_of_generated_people_are_recovered(known):
    X, t, y, p, model = known
    assert model.n_components_ == 2
    order = np.argsort(model.eta_)
    np.testing.assert_allclose(model.eta_[order], ETA, atol=0.04)
    np.testing.assert_allclose(model.k_[order], K, rtol=0.25)
    gap = model.gates_[order[1]] - model.gates_[order[0]]
    np.testing.assert_allclose(gap[1:] / model.scale_, GATE[1:], atol=0.5)
    off = np.sqrt(np.mean((model.predict_acceptance(X, t) - p) ** 2))
    plain = fit(X, t, y, membership="features")
    assert off < 0.025 < np.sqrt(np.mean((plain.predict_acceptance(X, t) - p) ** 2))


def test_description_length_counts_gates_and_curves(known):
    X, t, y, _, model = known
    # Two segments: a gate of four coefficients, two curves.
    assert gate_parameters(2, model._choice_rows(X, t, y, np.ones(len(X)))) == 4 + 4
    lengths = -model.log_likelihoods_ + np.log(len(X)) / 2 * np.array([2, 8, 14])
    np.testing.assert_allclose(model.mdl_, lengths)
    p = model.predict_acceptance(X, t, "soft")
    loss = np.log(np.where(y == 1, p, 1 - p)).sum()
    assert model.log_likelihood_ == pytest.approx(loss, rel=1e-9)
    # One segment is a logistic regression on the offer.
    (a, k), sign = fit_curves(t, y, np.ones(len(y)))[0], 2 * y - 1
    alone = -np.logaddexp(0, -sign * (a + k * (t - 0.5))).sum()
    assert model.log_likelihoods_[0] == pytest.approx(alone, rel=1e-6)


def test_gates_without_features_are_a_plain_mixture():
    rng = np.random.default_rng(3)
    t = rng.random(800)
    y = (rng.random(800) < 0.2 + 0.7 * (t > 0.5)).astype(float)
    data = ChoiceRows(np.empty((800, 0)), t, y)
    start = np.array([[0.2], [-0.2]]), np.array([[1.0, 8.0], [-1.0, 3.0]])
    found = fit_gates(data, *start)
    weights = softmax(found.gates[:, 0])
    eta, k = 0.5 - found.curves[:, 0] / found.curves[:, 1], found.curves[:, 1]

    def value(weights):
        p = weights @ acceptance(t, eta[:, None], k[:, None])
        return np.log(np.where(y == 1, p, 1 - p)).sum()

    assert found.log_likelihood == pytest.approx(value(weights), rel=1e-10)
    assert all(value(weights + np.array([d, -d])) <= value(weights) + 1e-3 for d in (-0.02, 0.02))


def test_gates_are_written_as_segments_with_the_same_shares():
    rng = np.random.default_rng(4)
    codes = rng.integers(-1, 3, size=(50, 1)).astype(np.int32)
    emission = Emission(2, (3,), "tied")
    data = ChoiceRows(rng.normal(size=(50, 2)), codes=codes, emission=emission)
    gates = rng.normal(size=(3, 6))
    shares = segment_shares(data, as_choices(gates, rng.normal(size=(3, 2)) + 5, 2))
    np.testing.assert_allclose(shares, softmax(gate_design(data) @ gates.T, axis=1), rtol=1e-9)
    # Levels of any size leave finite shares.
    steep = gates * np.array([1.0, 1.0, 1.0, 300.0, 300.0, 300.0])
    shares = as_choices(steep, rng.normal(size=(3, 2)) + 5, 2).shares
    assert shares.max() == 1.0 and (shares >= 0).all()


def test_a_stored_model_prices_the_same_and_draws_spread(known):
    X, t, y, _, model = known
    again = PredictiveChoiceModel.from_arrays(model.to_arrays())
    for how in ("hard", "soft"):
        np.testing.assert_array_equal(
            again.optimal_offers(X[:50], how).offer, model.optimal_offers(X[:50], how).offer
        )
    prior = memberships(model._choice_rows(X, t, y, np.ones(len(X))), _told(model))[0]
    np.testing.assert_allclose(model.predict_segments(X).T, prior, rtol=1e-8)
    assert pricer(again, "soft").kinds is None
    batch, moves = model.refitted(X, y, t, rng=np.random.default_rng(0), draws=8)
    assert moves is None and batch.weights.shape == (2, 8)
    eta = 0.5 - batch.curves[..., 0] / batch.curves[..., 1]
    spread = eta.std(axis=1)
    # Of some 2,000 people in a segment a threshold is known to about .01.
    assert ((spread > 0.001) & (spread < 0.04)).all()


def _told(model):
    from counterweight.models.choice.covariates import Gated

    curves = np.stack([model.k_ * (0.5 - model.eta_), model.k_], axis=-1)
    return Gated(model.gates_, curves, 0.0, 0.0, 0, True)


def test_missing_values_count_as_the_mean(known):
    X, t, y, _, model = known
    gap, filled = X[:20].copy(), X[:20].copy()
    gap[:, 0], filled[:, 0] = np.nan, model.centre_[0]
    np.testing.assert_allclose(model.predict_segments(gap), model.predict_segments(filled))


def test_what_does_not_go_together_is_refused():
    X, t, y, _ = people(60)
    with pytest.raises(CounterweightError, match="cannot be additive where membership is by gates"):
        fit(X, t, y, thresholds="additive")


def test_gated_offers_are_given_away(known):
    import pandas as pd
    from counterweight.delivery.saved_offers import SavedOffers
    from counterweight.labeling.encoding import fitted_encoder

    X, t, y, _, _ = known
    frame = pd.DataFrame(X[:1500], columns=["a", "b", "c"])
    encoder = fitted_encoder(frame)
    offer = {"low": 0, "high": 1, "direction": "up", "revenue": None, "column": "aid"}
    options = {"components": 2, "n_init": 2, "membership": "gates"}
    saved = SavedOffers.fitted(
        encoder.transform(frame),
        t[:1500],
        y[:1500],
        encoder,
        method={"model": "predictive_choice", "options": options},
        setting="soft",
        offer=offer,
        rng=np.random.default_rng(0),
    )
    new = pd.concat([frame[:50], pd.DataFrame({"a": [60.0], "b": [0.0], "c": [0.0]})])
    told = SavedOffers.from_saved(_stored(saved)).optimal_offers(new)
    assert (told["low"] <= told["best_offer"]).all() and (told["best_offer"] <= told["high"]).all()
    assert told["supported"][:50].mean() > 0.95 and not told["supported"].iloc[-1]


def _stored(saved):
    from types import SimpleNamespace

    _, facts, arrays = saved.to_saved()
    return SimpleNamespace(facts=facts, arrays=arrays)


def test_gates_of_known_members_are_those_of_linear_discriminant_analysis():
    rng = np.random.default_rng(6)
    own = np.arange(90) % 3
    rows = np.column_stack([np.ones(90), rng.normal(size=(90, 2)) + 2.0 * own[:, None]])
    gates = discriminant(rows, np.eye(3)[own].T)
    means = np.array([rows[own == j, 1:].mean(axis=0) for j in range(3)])
    left = rows[:, 1:] - means[own]
    within = left.T @ left / 90 + 1e-2 * np.eye(2)
    slopes = np.linalg.solve(within, means.T).T
    # Gates are told apart by their differences alone.
    np.testing.assert_allclose(gates[:, 1:] - gates[0, 1:], slopes - slopes[0], atol=1e-10)
    heights = np.log(1 / 3) - 0.5 * (slopes * means).sum(axis=1)
    np.testing.assert_allclose(gates[:, 0] - gates[0, 0], heights - heights[0], atol=1e-10)


def test_a_segment_is_divided_along_what_goes_with_the_answers(monkeypatch):
    rng = np.random.default_rng(5)
    data = ChoiceRows(rng.normal(size=(200, 2)), rng.random(200), rng.integers(2, size=200) * 1.0)
    rows, begun = (
        gate_design(data),
        SimpleNamespace(
            gates=np.array([[0.3, 0.1, 0.0], [-0.2, 0.0, 0.5]]),
            curves=np.array([[0.5, 3.0], [1.0, 9.0]]),
        ),
    )
    monkeypatch.setattr(
        covariates, "fit_gates", lambda data, gates, curves, *_, **how: (gates, curves)
    )
    gates, curves = covariates._split_gates(data, begun, None, rows)
    largest = int(softmax(rows @ begun.gates.T, axis=1).sum(axis=0).argmax())
    assert gates.shape == (3, 3) and (gates[1 - largest] == begun.gates[1 - largest]).all()
    # Both halves together have the weight of the whole, and lie on either side of it.
    both = gates[[largest, 2]]
    assert np.exp(both[:, 0]).sum() == pytest.approx(np.exp(begun.gates[largest, 0]))
    np.testing.assert_allclose(both.mean(axis=0)[1:], begun.gates[largest, 1:])
    lean = np.cov(rows[:, 1:].T, data.y, bias=True)[:2, 2]
    np.testing.assert_allclose(both[0, 1:] - both[1, 1:], lean, atol=1e-12)
    moved = curves[[largest, 2]] - begun.curves[largest]
    np.testing.assert_allclose(moved, [[1.0, 0.0], [-1.0, 0.0]])
