"""Weights for a target, on arrays: closed forms, identities and invariances."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting import targets
from counterweight.weighting.targets import (
    blocks,
    design_effect,
    fit_balance,
    fit_odds,
    gram,
    moments,
    post_stratify,
    rake,
    require_means,
    solved,
    trim_weights,
)


def weighed(X, T, d, v):
    """Weights of both tables, those that are not given equal."""
    return [np.ones(len(Z)) if w is None else np.asarray(w, float) for Z, w in ((X, d), (T, v))]


def odds_weights(X, T, d=None, v=None, *, l2=1e-4):
    """Odds of being in the target, of its total weight."""
    return fit_odds(X, T, *weighed(X, T, d, v), l2).weights


def cbps_weights(X, T, d=None, v=None, *, l2=1e-4, most_effect=None):
    """Weights whose means are the target's, of its total weight."""
    d, v = weighed(X, T, d, v)
    mean, variance = moments(T, v)
    fit = fit_balance(X, mean, d, l2, variance, most_effect)
    require_means(fit, l2)
    return fit.weights * v.sum()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def tables(rng):
    X = rng.normal(size=(600, 3))
    return X, rng.normal(size=(900, 3)) * 0.8 + np.array([0.4, -0.2, 0.1])


def odds_ratio(codes, w):
    a = np.zeros((2, 2))
    np.add.at(a, tuple(codes.T), w)
    return a[0, 0] * a[1, 1] / (a[0, 1] * a[1, 0])


def test_raking_reaches_its_margins_and_keeps_ratios_of_odds(rng):
    codes = rng.integers(2, size=(400, 2))
    base = rng.random(400) + 0.5
    margins = [np.array([0.3, 0.7]), np.array([0.55, 0.45])]
    w = rake(codes, margins, base)
    for k, margin in enumerate(margins):
        np.testing.assert_allclose(np.bincount(codes[:, k], w) / w.sum(), margin, atol=1e-9)
    assert np.isclose(odds_ratio(codes, w), odds_ratio(codes, base), rtol=1e-8)
    # Shares leave the sample's total; totals are reached themselves.
    assert np.isclose(w.sum(), base.sum())
    totals = rake(codes, [1000 * margin for margin in margins], base)
    np.testing.assert_allclose(totals, w * 1000 / base.sum(), rtol=1e-9)


def test_one_margin_raked_is_post_stratification(rng):
    cells = rng.integers(4, size=200)
    totals = np.array([10.0, 200.0, 30.0, 60.0])
    w = post_stratify(cells, totals)
    np.testing.assert_allclose(w, (totals / np.bincount(cells))[cells], rtol=1e-12)
    np.testing.assert_allclose(w, rake([cells], [totals]), rtol=1e-9)


def test_raking_equals_exact_tilting_on_the_levels(rng):
    codes = np.column_stack([rng.integers(3, size=500), rng.integers(2, size=500)])
    base = rng.random(500) + 0.2
    target = np.column_stack([rng.choice(3, 700, p=[0.5, 0.3, 0.2]), rng.choice(2, 700)])
    margins = [np.bincount(target[:, k]) for k in range(2)]
    one_hot, other = (
        np.hstack([np.eye(3)[table[:, 0]], np.eye(2)[table[:, 1]]]) for table in (codes, target)
    )
    tilted = cbps_weights(one_hot, other, base, l2=0)
    np.testing.assert_allclose(tilted, rake(codes, margins, base), rtol=1e-7)


def test_means_are_met_exactly_where_they_can_be(tables):
    X, T = tables
    w = cbps_weights(X, T, l2=0)
    np.testing.assert_allclose(w @ X / w.sum(), T.mean(axis=0), atol=1e-8)
    assert np.isclose(w.sum(), len(T))
    # The first-order condition: log weights are linear in the features.
    A = np.column_stack([np.ones(len(X)), X])
    fit = A @ np.linalg.lstsq(A, np.log(w), rcond=None)[0]
    np.testing.assert_allclose(fit, np.log(w), atol=1e-8)
    # A ridge allows for a difference, and costs less.
    loose = cbps_weights(X, T, l2=0.1)
    assert design_effect(loose) < design_effect(w)
    capped = cbps_weights(X, T, most_effect=1.1)
    assert 1.09 < design_effect(capped) <= 1.1
    np.testing.assert_allclose(cbps_weights(X, T, most_effect=1), 1.5, rtol=1e-6)


def test_odds_are_the_density_ratio_of_shifted_normals(rng):
    X, T = rng.normal(size=(60_000, 1)), rng.normal(size=(60_000, 1)) + 0.5
    w = odds_weights(X, T, l2=1e-8)
    truth = np.exp(0.5 * X[:, 0] - 0.125)
    assert np.abs(w / w.mean() / truth - 1).max() < 0.1
    tilted = cbps_weights(X, T, l2=0)
    assert np.abs(tilted / tilted.mean() / truth - 1).max() < 0.1


@pytest.mark.parametrize("make", [odds_weights, cbps_weights])
def test_scale_of_design_weights_repeats_and_units_change_nothing(make, tables, rng):
    X, T = tables
    d, v = rng.integers(1, 4, size=len(X)), rng.integers(1, 3, size=len(T))
    w = make(X, T, d, v)
    assert np.isclose(w.sum(), v.sum())
    np.testing.assert_allclose(make(X, T, 7.5 * d, v), w, rtol=1e-7)
    np.testing.assert_allclose(make(X, T, d, 3.0 * v), 3 * w, rtol=1e-7)
    np.testing.assert_allclose(make(X * [1, 1e3, 1e-3] + 5, T * [1, 1e3, 1e-3] + 5, d, v), w, 1e-6)
    repeated = make(np.repeat(X, d, axis=0), np.repeat(T, v, axis=0))
    np.testing.assert_allclose(np.add.reduceat(repeated, np.r_[0, np.cumsum(d)[:-1]]), w, rtol=1e-6)


@pytest.mark.parametrize("make", [odds_weights, cbps_weights])
def test_a_sample_stands_for_itself_by_its_design_weights(make, tables, rng):
    X, _ = tables
    np.testing.assert_allclose(make(X, X), 1, rtol=1e-7)
    d = rng.random(len(X)) + 0.1
    np.testing.assert_allclose(make(X, X, d, d), d, rtol=1e-6)


def test_blocks_of_rows_give_what_the_whole_gives(tables, monkeypatch):
    from counterweight.weighting import targets as tilting

    X, T = tables
    whole = [make(X, T) for make in (odds_weights, cbps_weights)]
    monkeypatch.setattr(tilting, "DENSE", 0)
    monkeypatch.setattr(tilting, "BLOCK", 900)
    for make, w in zip((odds_weights, cbps_weights), whole, strict=True):
        np.testing.assert_allclose(make(X, T), w, rtol=1e-8)


def test_more_features_than_rows_and_no_overlap_still_have_weights(rng):
    X, T = rng.normal(size=(50, 200)), rng.normal(size=(80, 200)) + 3
    for make in (odds_weights, cbps_weights):
        w = make(X, T)
        assert np.isfinite(w).all() and (w >= 0).all() and np.isclose(w.sum(), 80)


def test_trimmed_weights_keep_their_sum_and_stay_below_the_cap(rng):
    w = rng.exponential(size=500) ** 2
    cut = trim_weights(w, mean_ratio=3)
    assert np.isclose(cut.sum(), w.sum())
    assert np.isclose(cut.max(), 3 * w.mean())
    below = cut < cut.max() * (1 - 1e-9)
    assert np.ptp(cut[below] / w[below]) < 1e-9
    assert np.isclose(trim_weights(w, quantile=0.9).max(), np.quantile(w, 0.9))
    np.testing.assert_array_equal(trim_weights(w, mean_ratio=1e6), w)
    np.testing.assert_allclose(trim_weights(w, mean_ratio=1), w.mean())
    np.testing.assert_allclose(trim_weights([0, 0, 0, 8.0], mean_ratio=2), [0, 0, 0, 8])


def test_design_effect_is_one_plus_the_squared_coefficient_of_variation(rng):
    w = rng.random(100)
    assert np.isclose(design_effect(w), 1 + w.var() / w.mean() ** 2)
    assert design_effect(np.full(7, 3.0)) == 1


def test_what_cannot_be_met_is_one_sentence(rng):
    codes = np.column_stack([[0, 0, 1, 1], [0, 0, 1, 1]])
    with pytest.raises(CounterweightError, match="cannot be met together.*margin sex"):
        rake(codes, [[0.5, 0.5], [0.2, 0.8]], names=["sex", "age"])
    with pytest.raises(CounterweightError, match="sex asks for 0.2 .* level 2"):
        rake(codes, [[0.4, 0.4, 0.2], [0.2, 0.8]], names=["sex", "age"])
    with pytest.raises(CounterweightError, match="sex sums to 10 and margin age to 12"):
        rake(codes, [[5, 5], [6, 6]], names=["sex", "age"])
    with pytest.raises(CounterweightError, match="from 0 up"):
        rake(codes, [[-1, 2], [0.5, 0.5]])
    with pytest.raises(CounterweightError, match="whole numbers from 0 to 1"):
        post_stratify([0, 2], [1, 1])
    with pytest.raises(CounterweightError, match="no row in 1 of 3 cells"):
        post_stratify([0, 1], [5, 5, 10])
    np.testing.assert_allclose(post_stratify([0, 1], [5, 5, 10], strict=False), 10)
    with pytest.raises(CounterweightError, match="feature number 1 stays"):
        cbps_weights(np.column_stack([rng.random(9), np.zeros(9)]), np.ones((5, 2)) / 2, l2=0)
    with pytest.raises(CounterweightError, match="number 0 stays"):
        cbps_weights(rng.random((9, 1)), np.full((5, 1), 4.0), l2=0)
    with pytest.raises(CounterweightError, match="design weights alone"):
        cbps_weights(rng.random((9, 1)), rng.random((9, 1)), np.r_[50, np.ones(8)], most_effect=1.2)


def test_a_column_that_never_varies_has_no_say(tables):
    X, T = tables
    for constant in (0.0, 3.0, -1e6):
        wide, asked = (np.column_stack([table, np.full(len(table), constant)]) for table in (X, T))
        np.testing.assert_allclose(odds_weights(wide, asked, l2=0.1), odds_weights(X, T, l2=0.1))


def test_equations_are_solved_whatever_their_rank(rng):
    root = rng.normal(size=(5, 3))
    for A in (root.T @ root, root @ root.T, np.zeros((3, 3))):
        b = A @ rng.normal(size=len(A))
        np.testing.assert_allclose(A @ solved(A, b), b, atol=1e-5 * max(np.abs(b).max(), 1e-9))


def test_sums_over_blocks_are_those_of_all_rows(rng, monkeypatch):
    monkeypatch.setattr(targets, "BLOCK", 600)
    Z, w = rng.normal(size=(1000, 2)), rng.uniform(size=1000)
    assert [(part.start, part.stop) for part in blocks(Z)] == [
        *((0, 300), (300, 600), (600, 900), (900, 1000))
    ]
    assert blocks(np.zeros((10, 0)))[0] == slice(0, 10) and len(blocks(np.zeros((600, 99)))) == 3
    G, g = gram(Z, w)
    np.testing.assert_allclose(G, (Z * w[:, None]).T @ Z)
    np.testing.assert_allclose(g, w @ Z)


@pytest.mark.parametrize("l2", [0.0, -1.0, np.inf, np.nan])
def test_a_penalty_of_odds_is_a_number_above_0(tables, l2):
    X, T = tables
    with pytest.raises(CounterweightError, match="it must be a number above 0"):
        targets.fit_odds(X, T, np.ones(len(X)), np.ones(len(T)), l2)


def test_the_curvature_of_a_tilt_is_the_covariance_under_its_weights():
    rng, none = np.random.default_rng(2), np.zeros(3)
    Z, d = rng.normal(size=(60, 3)) + [0.0, 0.5, -1.0], rng.exponential(size=60)
    found = targets._tilted(Z, d, 0.1, none, 1e-12, none)
    # Begun where it ends, so that it is the curvature there.
    again = targets._tilted(Z, d, 0.1, found.coef, 1e-9, none)
    expected = np.cov(Z.T, aweights=found.weights, ddof=0) + 0.1 * np.eye(3)
    assert again.curvature == pytest.approx(expected, rel=1e-9)
