"""Additive logistic regression of answers: its columns, its variances, its posterior."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.models.choice.additive import (
    CELL,
    FARTHEST,
    LEAST,
    LOOSE,
    START,
    AdditiveDesign,
    OfferAdditive,
    _evidence,
    _mode,
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


def blocks(rows=900):
    """Three blocks of standard columns: one that tells much, one little, a product of nothing."""
    rng = np.random.default_rng(9)
    Z = rng.normal(size=(rows, 6))
    y = (rng.random(rows) < expit(Z[:, 0] - Z[:, 1] + 0.3 * Z[:, 2] - 0.5)).astype(float)
    block, product = np.array([0, 0, 1, 1, 2, -1]), np.arange(6) == 4
    return Z, y, block, product, np.where(block < 0, LOOSE, START)


def test_precisions_are_the_fixed_point_of_the_evidence():
    Z, y, block, product, start = blocks()
    beta, ridge, rounds, settled = _evidence(Z, y, block, product, start)
    assert settled and rounds < 60 and ridge[5] == LOOSE
    used = np.append(np.isfinite(ridge), True)
    rows = np.column_stack([Z, np.ones(len(Z))])[:, used]
    p = expit(rows @ beta[used])
    prior = np.append(ridge[used[:-1]], 0.0)
    inverse = np.linalg.inv((rows * (p * (1 - p))[:, None]).T @ rows + np.diag(prior))
    spread = np.zeros(7)
    spread[used] = np.diag(inverse)
    for one in (0, 1):
        own = np.flatnonzero(block == one)
        size = beta[own] @ beta[own]
        fixed = (len(own) - ridge[own[0]] * spread[own].sum()) / size
        most = Z[:, own].var(axis=0).sum() / LEAST
        assert ridge[own[0]] == ridge[own[1]] == pytest.approx(min(fixed, most), rel=0.02)
    assert ridge[0] < ridge[2] and ridge[4] > 10 * ridge[0]
    # The label turned round turns the coefficients.
    other, same, *_ = _evidence(Z, 1 - y, block, product, start)
    np.testing.assert_allclose(other, -beta, atol=1e-6)
    np.testing.assert_allclose(same[:4], ridge[:4], rtol=1e-6)


def test_the_mode_solves_the_penalised_score_equations():
    Z, y, _, _, _ = blocks()
    ridge = np.array([2.0, 0.0, 50.0, 1.0, np.inf, 1e-3])
    for begun in (np.zeros(7), np.full(7, 3.0)):
        begun[4] = 0.0
        beta, steps, converged = _mode(Z, y, ridge, begun)
        assert converged and steps > 2 and beta[4] == 0
        left = y - expit(Z @ beta[:-1] + beta[-1])
        free = np.isfinite(ridge)
        pull = np.where(free, ridge, 0.0) * beta[:-1]
        np.testing.assert_allclose((Z.T @ left)[free], pull[free], atol=1e-3)
        assert left.sum() == pytest.approx(0, abs=1e-3)


def test_columns_are_standardised_and_their_products_and_slopes_written_out():
    rng = np.random.default_rng(10)
    X, t, _, _ = drawn(400, rng)
    X[0, 1] = X[:, 1].mean() + 9 * X[:, 1].std()
    design = AdditiveDesign().fit(X, LAYOUT, knots=5)
    found = design.columns(X, t)
    values = (X[:, [0, 1, 5]] - X[:, [0, 1, 5]].mean(axis=0)) / X[:, [0, 1, 5]].std(axis=0)
    np.testing.assert_allclose(found[:, :3], values, atol=1e-12)
    assert (found[:, 12:15] == X[:, 2:5]).all()
    both = np.column_stack([np.clip(values, -FARTHEST, FARTHEST), X[:, 2:5]])
    products = both[:, design.products_[:, 0]] * both[:, design.products_[:, 1]]
    np.testing.assert_allclose(found[:, 15 : 15 + products.shape[1]], products, atol=1e-12)
    np.testing.assert_allclose(found[:, -7:-1], both * (t - 0.5)[:, None], atol=1e-12)
    np.testing.assert_allclose(found[:, -1], t - 0.5)
    assert len(design.block_) == found.shape[1] == len(design.product_)
    assert design.product_.sum() == len(design.products_)
    # Knots lie half by where people are and half evenly between the same ends.
    shares = np.quantile(values[:, 0], np.linspace(0.01, 0.99, 5))
    even = np.linspace(shares[0], shares[-1], 5)
    np.testing.assert_allclose(design.knots_[0], (shares + even) / 2)
    # Where numbers are many each has fewer, down to four.
    many = AdditiveDesign().fit(rng.normal(size=(300, 30)), None, pairs=False)
    assert many.knots_.shape == (30, 150 // 30 + 2)


def test_a_column_of_two_values_is_a_category_of_its_own():
    rng = np.random.default_rng(11)
    X = np.column_stack([rng.normal(size=90), np.arange(90) % 2, np.arange(90) % 3, np.ones(90)])
    told = AdditiveDesign().fit(X[:, :3])
    assert told.numbers_.tolist() == [0, 2] and told.levels_.tolist() == [1]
    # Beside declared categories each has a number that none of them has.
    more = np.column_stack([X[:, :3], np.eye(3)[np.arange(90) % 3], np.arange(90) % 7 == 1])
    groups = AdditiveDesign().fit(more, Layout.of(7, [[3, 4, 5]])).groups_
    assert len(groups) == 5 and len(np.unique(groups)) == 3 and len(np.unique(groups[1:4])) == 1


def test_a_number_that_is_nearly_always_the_same_bends_over_its_range():
    x = np.zeros(600)
    x[:3] = 1.0, 2.0, 5.0
    X = np.column_stack([x, np.random.default_rng(12).normal(size=600)])
    design = AdditiveDesign().fit(X, pairs=False)
    assert (np.diff(design.knots_, axis=1) > 0).all()
    assert np.isfinite(design.columns(X, np.full(600, 0.5))).all()


def test_answers_that_are_all_alike_give_one_chance():
    X, t, _, _ = drawn(40, np.random.default_rng(13))
    model = OfferAdditive().fit(X, np.ones(40), t, categories=LAYOUT)
    np.testing.assert_allclose(model.predict_acceptance(X, t), 40.5 / 41)
    assert np.isinf(model.precision()).all()
