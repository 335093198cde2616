"""Draws of a model of segments, and least variances of features: by closed forms."""

import numpy as np
import pytest
from counterweight.models.choice.covariates import (
    GATE_DRAWN_STEPS,
    as_choices,
    few_steps_apart,
    fit_gates,
)
from counterweight.models.choice.offer_model import acceptance, optimal_offer
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.segment_model import STEPS, least_variance, used_features
from counterweight.models.choice.steps import few_steps
from counterweight.numerics.emissions import Layout

REVENUE = (2.0, -1.5)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(2)
    own = rng.integers(2, size=800)
    X, t = rng.normal(size=(800, 2)) + 2.0 * own[:, None], rng.random(800)
    y = (rng.random(800) < acceptance(t, np.array([0.3, 0.7])[own], 9.0)).astype(int)
    model = PredictiveChoiceModel(components=2, n_init=2)
    return X, y, t, model.fit(X, y, t, rng=rng)


@pytest.mark.parametrize("how", ["hard", "soft"])
def test_a_draw_that_is_the_fit_has_its_totals_and_no_excess(fitted, how):
    X, y, t, model = fitted
    asked = {"rng": None, "draws": 1, "revenue": REVENUE, "assignment": how}
    asked["refits"] = [(0, model._parameters(), None)]
    totals = model.bootstrap_totals(X, y, t, X[:90], t[:90], **asked)
    p = model.predict_acceptance(X[:90], t[:90], how)
    np.testing.assert_allclose(np.ravel(totals), [p.sum(), p @ (2.0 - 1.5 * t[:90])])
    enrolment, revenue, single = model.bootstrap_claims(X, y, t, X[:90], **asked)
    np.testing.assert_allclose([enrolment[0], revenue[0]], 0.0, atol=1e-9)
    own, tried = model.predict_segments(X[:90]).argmax(axis=1), np.linspace(0, 1, 1001)
    earned = acceptance(tried[:, None], model.eta_[own], model.k_[own]).sum(axis=1)
    assert single[0] == tried[(earned * (2.0 - 1.5 * tried)).argmax()]
    grid = np.array([0.2, 0.6])
    assert model.bootstrap_claims(X, y, t, X[:90], **asked, grid=grid)[2][0] in grid


def test_a_draw_of_another_curve_claims_what_the_fit_does_not_expect(fitted):
    X, y, t, model = fitted
    other = model._parameters()
    other = other._replace(curves=other.curves + np.array([1.0, 0.0]))
    asked = {"rng": None, "draws": 1, "assignment": "hard", "refits": [(0, other, None)]}
    eta, own = model.eta_ - 1.0 / model.k_, model.predict_segments(X).argmax(axis=1)
    offers = optimal_offer(eta, model.k_)[own]
    gap = acceptance(offers, eta[own], model.k_[own])
    gap = gap - acceptance(offers, model.eta_[own], model.k_[own])
    enrolment, revenue, _ = model.bootstrap_claims(X, y, t, X, **asked)
    np.testing.assert_allclose([enrolment[0], revenue[0]], [gap.sum(), gap @ (1 - offers)])
    assert enrolment[0] > 10


def test_draws_come_in_batches_and_are_numbered(fitted, monkeypatch):
    from counterweight.models.choice import segment_model

    X, y, t, model = fitted
    whole = model.refitted(X, y, t, rng=np.random.default_rng(0), draws=5)[0]
    monkeypatch.setattr(segment_model, "DRAWN", 2 * len(X))
    parts = model.refits(X, y, t, rng=np.random.default_rng(0), draws=5)
    assert [(first, batch.weights.shape[1]) for first, batch, _ in parts] == [
        (0, 2),
        (2, 2),
        (4, 1),
    ]
    again = model.refitted(X, y, t, rng=np.random.default_rng(0), draws=5)[0]
    for one, other in zip(whole, again, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_least_variances_are_those_of_the_definition():
    # Two values: (1 - 2p) / (2 log((1 - p) / p)), in units of p (1 - p).
    p = 0.2
    known = (1 - 2 * p) / (2 * np.log((1 - p) / p)) / (p * (1 - p))
    assert least_variance(np.array([8.0, 0.0, 2.0])) == pytest.approx(known)
    assert least_variance(np.array([5.0, 5.0])) == 1.0
    # Uniform over m values: entropy log m.
    assert least_variance(np.ones(4)) == pytest.approx(np.e / 16)
    shares = np.array([0.97, 0.02, 0.01])
    entropy = -(shares * np.log(shares)).sum()
    assert entropy < 0.5 and least_variance(shares) == pytest.approx(0.5 / entropy)


def test_features_are_scaled_by_weight_and_those_that_tell_nothing_new_are_left_out():
    rng = np.random.default_rng(0)
    a, b = rng.normal(3, 2, 400), rng.normal(size=400)
    X = np.column_stack([a, np.full(400, 7.0), 5 - 2 * a, b])
    weights = rng.integers(1, 3, 400).astype(float)
    used, centre, scale, constant, duplicated = used_features(X, weights, 1e-3)
    assert used.tolist() == [0, 3] and list(constant) == [1] and list(duplicated) == [2]
    mean = np.average(a, weights=weights)
    assert centre[0] == pytest.approx(mean)
    assert scale[0] == pytest.approx(np.sqrt(np.average((a - mean) ** 2, weights=weights)))
    # Five values: the floor is the least variance of such a feature.
    few = np.repeat(np.arange(5.0), 80)[:, None]
    scale = used_features(few, np.ones(400), 1e-3)[2]
    assert scale[0] == pytest.approx(few.std() * np.sqrt(np.e / 25 / 1e-3))
    # A value less in one of two that are otherwise alike keeps both.
    both = np.column_stack([a, 2 * a])
    both[0, 1] = np.nan
    assert used_features(both, np.ones(400), 1e-3)[0].tolist() == [0, 1]


@pytest.mark.parametrize("form", ["segments", "moved", "gates"])
def test_a_draw_is_the_fit_gone_on_from_with_rows_taken_so_often(form):
    """Weights count rows: a few steps on the rows of a draw, each as often as it was taken."""
    rng = np.random.default_rng(5)
    kind, t = rng.integers(3, size=240), rng.random(240)
    X = np.column_stack([rng.normal(size=240), np.eye(3)[kind]])
    moved = np.array([-0.2, 0.0, 0.2])[kind]
    y = (rng.random(240) < acceptance(t - moved, 0.5, 9.0)).astype(int)
    asked = {"components": 2, "n_init": 1, "moves": False, "covariance": "full"}
    asked |= {"gates": {"membership": "gates"}, "moved": {"thresholds": "additive"}}.get(form, {})
    asked |= {"thresholds": "segments"} if form == "segments" else {}
    layout = Layout.of(4, [(1, 2, 3)])
    model = PredictiveChoiceModel(**asked).fit(X, y, t, rng=rng, categories=layout)
    assert (model._thresholds is not None) == (form == "moved")
    found, coefficients = model.refitted(X, y, t, rng=np.random.default_rng(6), draws=2)
    taken, start = np.random.default_rng(6), model._parameters()
    for number in range(2):
        rows = taken.integers(240, size=240)
        data = model._choice_rows(X[rows], t[rows], y[rows], np.ones(240))
        if form == "segments":
            other = few_steps(data, start, STEPS, **model._rule(data))
        elif form == "moved":
            used = model._thresholds.coefficients != 0
            apart, now = model._thresholds.rows(X[rows])[:, used], model._thresholds.coefficients
            rule = model._rule(data.moved(apart @ now[used]))
            other, moves = few_steps_apart(data, apart, start, now[used], STEPS, **rule)
            np.testing.assert_allclose(coefficients[number, used], moves, atol=1e-6)
            assert not coefficients[number, ~used].any()
        else:
            begun = model.gates_, start.curves[:, 0]
            gated = fit_gates(data, *begun, model._rule(data)["prior"], steps=GATE_DRAWN_STEPS)
            other = as_choices(gated.gates, gated.curves, len(model.centre_))
        np.testing.assert_allclose(found.curves[:, number], other.curves[:, 0], atol=1e-5)
        np.testing.assert_allclose(found.shares[:, number], other.shares[:, 0], atol=1e-5)
        np.testing.assert_allclose(found.weights[:, number], other.weights[:, 0], atol=1e-5)


def test_where_thresholds_move_a_draw_that_is_the_fit_has_no_excess():
    rng = np.random.default_rng(7)
    kind, t = rng.integers(3, size=300), rng.random(300)
    X = np.column_stack([rng.normal(size=300), np.eye(3)[kind]])
    y = (rng.random(300) < acceptance(t - np.array([-0.2, 0.0, 0.2])[kind], 0.5, 9.0)).astype(int)
    asked = {"components": 1, "n_init": 1, "thresholds": "additive"}
    layout = Layout.of(4, [(1, 2, 3)])
    model = PredictiveChoiceModel(**asked).fit(X, y, t, rng=rng, categories=layout)
    assert np.ptp(model.threshold_moves(X)) > 0.2
    told = [(0, model._parameters(), model._thresholds.coefficients[None])]
    asked = {"rng": None, "draws": 1, "refits": told, "revenue": REVENUE}
    new = X[:40]
    enrolment, revenue, single = model.bootstrap_claims(X, y, t, new, **asked)
    np.testing.assert_allclose([enrolment[0], revenue[0]], 0.0, atol=1e-9)
    p, offers = model.predict_acceptance(X, t), np.linspace(0, 1, 1001)
    totals = model.bootstrap_totals(X, y, t, X, t, **asked)
    np.testing.assert_allclose(np.ravel(totals), [p.sum(), p @ (2.0 - 1.5 * t)])
    each = model.predict_acceptance(np.tile(new, (1001, 1)), np.repeat(offers, 40))
    earned = each.reshape(1001, 40).sum(axis=1) * (2 - 1.5 * offers)
    assert single[0] == offers[np.argmax(earned)]
