"""Additive logistic regression of answers: its columns, its variances, its posterior."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.models.choice.additive import (
    CELL,
    AdditiveDesign,
    OfferAdditive,
    _natural,
    _whitened,
)
from counterweight.models.choice.pricing import Lines
from counterweight.numerics.emissions import Layout
from scipy.special import expit

LAYOUT = Layout.of(6, [[2, 3, 4]])


def drawn(rows, rng, bend=1.0, level=1.0):
    """Two numbers, a category of three levels, a column that tells nothing; who accepts."""
    code = rng.integers(3, size=rows)
    X = np.column_stack([rng.normal(size=(rows, 2)), np.eye(3)[code], rng.normal(size=rows)])
    t = rng.random(rows)
    odds = 6 * (t - 0.5) + bend * np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + level * (code == 1)
    return X, t, (rng.random(rows) < expit(odds)).astype(float), odds


def test_splines_are_lines_beyond_their_knots_and_their_penalty_is_the_bend():
    knots = np.array([-1.0, -0.2, 0.1, 0.7, 1.5])
    x = np.linspace(2.0, 4.0, 9)
    assert np.abs(np.diff(_natural(x, knots), 2, axis=0)).max() < 1e-9
    assert np.abs(_natural(-x, knots)).max() == 0.0
    fine = np.linspace(-1.0, 1.5, 20_001)
    made = _natural(fine, knots) @ _whitened(knots)
    second = np.diff(made, 2, axis=0) / (fine[1] - fine[0]) ** 2
    assert second.T @ second * (fine[1] - fine[0]) == pytest.approx(np.eye(3), abs=2e-2)


def test_effects_are_found_and_what_tells_nothing_is_left_out():
    X, t, y, odds = drawn(6000, np.random.default_rng(1))
    model = OfferAdditive().fit(X, y, t, categories=LAYOUT)
    p = model.predict_acceptance(X, t)
    # A logistic regression of lines is off by .1 and more here.
    assert np.sqrt(np.mean((p - expit(odds)) ** 2)) < 0.04
    ridge, block = model.precision(), model.design_.block_
    numbers = len(model.design_.numbers_)
    product = model.design_.product_
    assert np.isfinite(ridge[~product]).all() and ridge[product].min() > 500
    # Of what bends, the first number does and the last one does not.
    bends = numbers + np.array([0, 2]) * model.design_.smooth_.shape[1]
    assert ridge[bends[0]] < ridge[bends[1]] / 10 and block[bends[0]] != block[bends[1]]
    assert model.models_[0]["converged"] == 1.0


def test_neither_the_order_nor_the_units_of_columns_count():
    X, t, y, _ = drawn(800, np.random.default_rng(2))
    told = {"categories": LAYOUT}
    p = OfferAdditive().fit(X, y, t, **told).predict_acceptance(X, t)
    order = [5, 1, 4, 2, 3, 0]
    other, layout = X[:, order] * [3.0, 7.0, 1, 1, 1, 1.0], Layout.of(6, [[3, 4, 2]])
    again = OfferAdditive().fit(other, y, t, categories=layout).predict_acceptance(other, t)
    np.testing.assert_allclose(again, p, atol=2e-4)


def test_what_is_stored_predicts_alike():
    X, t, y, _ = drawn(500, np.random.default_rng(3))
    X[:20, 0] = np.nan
    model = OfferAdditive().fit(X, y, t, categories=LAYOUT)
    loaded = OfferAdditive.from_arrays(model.to_arrays())
    assert np.array_equal(loaded.predict_acceptance(X, t), model.predict_acceptance(X, t))


def test_products_stand_where_there_are_rows_for_them():
    X, t, y, _ = drawn(500, np.random.default_rng(4))
    assert len(AdditiveDesign().fit(X, LAYOUT, most=0).products_) == 0
    assert len(AdditiveDesign().fit(X, LAYOUT).products_) == 3 + 3 * 3
    assert len(AdditiveDesign().fit(X[:30], LAYOUT).products_) == 6


def test_draws_have_the_covariance_of_the_posterior():
    X, t, y, _ = drawn(1500, np.random.default_rng(5))
    model = OfferAdditive(pairs=False).fit(X, y, t, categories=LAYOUT)
    found = Lines(model).drawn(X, t, y, np.random.default_rng(6), 60)
    own, used = model.models_[0], np.isfinite(model.precision())
    Z = np.column_stack([model.design_.columns(X, t)[:, used], np.ones(len(X))])
    p = expit(Z @ np.append(own["coef"][used], own["intercept"]))
    hessian = (Z * (p * (1 - p))[:, None]).T @ Z + np.diag(np.append(own["ridge"][used], 0.0))
    score = np.column_stack([found["coef"][:, used], found["intercept"]]) @ Z.T
    spread = np.sqrt(np.einsum("ij,jk,ik->i", Z, np.linalg.inv(hessian), Z))
    assert not found["coef"][:, ~used].any()
    assert np.median(score.std(axis=0) / spread) == pytest.approx(1.0, abs=0.1)


def test_intervals_of_the_log_odds_hold_the_truth():
    held = []
    for seed in range(20):
        X, t, y, odds = drawn(400, np.random.default_rng([7, seed]))
        model = OfferAdditive().fit(X, y, t, categories=LAYOUT)
        draws = Lines(model).drawn(X, t, y, np.random.default_rng(seed), 60)
        Z = model.design_.columns(X, t)
        score = draws["coef"] @ Z.T + draws["intercept"][:, None]
        low, high = np.quantile(score, [0.025, 0.975], axis=0)
        held.append(((low <= odds) & (odds <= high)).mean())
    assert 0.89 <= np.mean(held) <= 0.99


def test_a_product_of_levels_needs_so_many_rows_of_both():
    # Two categories of two levels each, crossed: so many rows of each pair.
    rows = {(0, 2): CELL, (0, 3): CELL - 1, (1, 2): CELL + 1, (1, 3): 40}
    features = np.repeat([np.isin(np.arange(4), pair) for pair in rows], [*rows.values()], axis=0)
    design = SimpleNamespace(numbers_=[], groups_=np.array([0, 0, 1, 1]), levels_=np.arange(4))
    found = AdditiveDesign._products(design, features.astype(float), 10)
    assert {*map(tuple, found.tolist())} == {(0, 2), (1, 2), (1, 3)}
