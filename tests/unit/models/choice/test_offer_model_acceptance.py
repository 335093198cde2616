"""Optimal offers: closed form, soft search, bounds, directions of revenue."""

import warnings

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_model import (
    acceptance,
    expected_revenue,
    mixed_acceptance,
    optimal_offer,
    soft_optimal_offer,
)


@pytest.mark.parametrize(
    ("eta", "k", "expected"), [(0.5, 5, 0.547008), (0.15, 8, 0.33330), (0.9, 15, 0.88225)]
)
def test_offers_of_the_paper(eta, k, expected):
    assert optimal_offer(eta, k) == pytest.approx(expected, abs=1e-5)


def random_curves(n=10_000):
    rng = np.random.default_rng(0)
    return rng.uniform(-0.5, 1.5, n), np.exp(rng.uniform(np.log(1e-3), np.log(1e4), n))


@pytest.mark.parametrize(
    "revenue", [(1.0, -1.0), (3.0, -2.0), (0.5, -1.0), (0.2, 0.7), (-0.4, 1.0)]
)
def test_closed_form_equals_grid_search_without_overflow(revenue):
    eta, k = random_curves()
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        offers = optimal_offer(eta, k, revenue=revenue)
    assert ((offers >= 0) & (offers <= 1)).all()
    value = expected_revenue(offers, eta, k, revenue)
    grid = np.linspace(0, 1, 2001)
    for part in np.array_split(np.arange(len(eta)), 20):
        found = expected_revenue(grid[:, None], eta[part], k[part], revenue)
        assert (value[part] >= found.max(axis=0) - 1e-15).all()
        # Where revenue is not flat, the offer itself is that of the grid.
        second = np.sort(found, axis=0)[-3]
        clear = found.max(axis=0) - second > 1e-9
        at = grid[found.argmax(axis=0)]
        assert np.abs(offers[part] - at)[clear].max() <= 1 / 2000 + 1e-9


def test_bounds_and_grid_are_kept():
    assert optimal_offer(0.5, 5, low=0.6, high=0.9) == 0.6
    assert optimal_offer(0.5, 5, low=0.1, high=0.3) == 0.3
    # What is earned does not go by the offer: as many accept as can.
    assert optimal_offer(0.5, 5, low=0.1, high=0.9, revenue=(1.0, 0.0)) == 0.9
    assert optimal_offer(0.5, 5, grid=[0.0, 0.5, 0.6, 1.0]) == 0.5
    assert optimal_offer([0.5, 0.9], [5, 15], grid=[0.2, 0.85, 0.95], high=0.9).tolist() == [
        0.2,
        0.85,
    ]
    # Above the offer that earns nothing, less is better.
    assert optimal_offer(0.5, 5, low=0.7, high=1.0, revenue=(0.5, -1.0)) == 0.7
    assert optimal_offer(0.5, 0.0) == 0.0
    with pytest.raises(CounterweightError, match="No feasible offer"):
        optimal_offer(0.5, 5, grid=[2.0])
    with pytest.raises(CounterweightError, match="bounds in order"):
        optimal_offer(0.5, 5, low=1.0, high=0.0)
    with pytest.raises(CounterweightError, match="finite curves"):
        optimal_offer(np.nan, 5)
    with pytest.raises(CounterweightError, match="two numbers"):
        optimal_offer(0.5, 5, revenue=(1,))


def test_soft_search_equals_a_fine_grid_with_several_maxima():
    rng = np.random.default_rng(1)
    eta = np.array([0.1, 0.5, 0.9, 0.3])
    k = np.array([30.0, 25.0, 30.0, 2.0])
    weights = rng.dirichlet(np.full(4, 0.5), 500)
    offers = soft_optimal_offer(weights, eta, k)
    grid = np.linspace(0, 1, 20_001)
    found = weights @ expected_revenue(grid, eta[:, None], k[:, None])
    value = mixed_acceptance(weights, offers, eta, k) * (1 - offers)
    assert (value >= found.max(axis=1) - 1e-12).all()
    assert np.abs(offers - grid[found.argmax(axis=1)]).max() < 1e-4
    # Two maxima as high as each other within a thousandth exist in such mixtures.
    inner = (found[:, 1:-1] > found[:, :-2]) & (found[:, 1:-1] > found[:, 2:])
    assert (inner.sum(axis=1) > 1).any()


def test_soft_search_of_one_segment_is_the_closed_form():
    eta, k = np.array([0.5, 0.15, 0.9]), np.array([5.0, 8.0, 15.0])
    soft = soft_optimal_offer(np.eye(3), eta, k)
    np.testing.assert_allclose(soft, optimal_offer(eta, k), atol=1e-10)
    soft = soft_optimal_offer(np.eye(3), eta, k, low=0.4, high=0.8)
    np.testing.assert_allclose(soft, optimal_offer(eta, k, 0.4, 0.8), atol=1e-10)
    assert (soft_optimal_offer(np.eye(3), eta, k, grid=[0.3, 0.9]) == [0.3, 0.3, 0.9]).all()
    assert (soft_optimal_offer(np.eye(3), eta, k, low=0.4, high=0.4) == 0.4).all()


def test_acceptance_is_one_half_at_eta():
    assert acceptance(0.3, 0.3, 12) == 0.5
    assert acceptance(0.5, 0.5 - np.log(3) / 6, 6) == pytest.approx(0.75)


def test_the_lowest_of_three_maxima_is_refined_too():
    """Three modes as high as the grid tells them, the best of them between its points."""
    eta, k = np.array([0.05, 0.3, 0.62]), np.array([120.0, 120.0, 120.0])
    rng = np.random.default_rng(4)
    weights = rng.dirichlet(np.full(3, 6.0), 300)
    offers = soft_optimal_offer(weights, eta, k, points=33)
    grid = np.linspace(0, 1, 200_001)
    for part in np.array_split(np.arange(300), 30):
        earned = weights[part] @ expected_revenue(grid, eta[:, None], k[:, None])
        value = mixed_acceptance(weights[part], offers[part], eta, k) * (1 - offers[part])
        assert (value >= earned.max(axis=1) - 1e-9).all()


def test_where_acceptance_does_not_move_with_the_offer_the_cheapest_is_best():
    for eta in (0.0, 0.4, 0.9):
        for revenue in ((1.0, -1.0), (1.0, -0.1)):
            assert optimal_offer(eta, 0.0, low=0.1, high=0.9, revenue=revenue) == 0.1
        # Where an accepted offer earns more the larger it is, the largest.
        assert optimal_offer(eta, 0.0, low=0.1, high=0.9, revenue=(0.0, 1.0)) == 0.9
