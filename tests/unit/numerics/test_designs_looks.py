"""Looks at labels that come in: known quantiles, all intervals at once, by simulation."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.designs import (
    anytime_interval,
    draw,
    inclusion_chances,
    information,
    look_levels,
    look_quantiles,
)
from scipy.special import ndtri


def test_quantiles_of_five_looks_are_those_of_the_books():
    # Lan-DeMets spending of O'Brien-Fleming's kind, two sides, 5 %, as in tables of the field.
    told = [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]
    np.testing.assert_allclose(look_quantiles(np.arange(1, 6)), told, atol=2e-4)
    told = [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]
    np.testing.assert_allclose(look_quantiles(np.arange(1, 6), spending="pocock"), told, atol=3e-3)


def test_one_look_has_the_level_asked_for():
    assert look_levels([7.0])[0] == pytest.approx(0.95, abs=1e-9)
    assert look_quantiles([7.0], 0.9)[0] == pytest.approx(ndtri(0.95), abs=1e-7)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_sums_stay_within_all_bounds_as_often_as_asked(spending):
    at = np.array([50.0, 120, 200, 500])
    steps = np.random.default_rng(3).normal(size=(200_000, 4)) * np.sqrt(np.diff(at, prepend=0))
    z = np.abs(steps.cumsum(axis=1)) / np.sqrt(at)
    held = (z <= look_quantiles(at, spending=spending)).all(axis=1).mean()
    # Four standard errors of a share of 200,000.
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 200_000)


def test_information_of_equal_chances_is_that_of_simple_samples():
    few, many = (information(np.full(1000, n / 1000), np.full(1000, 2.0)) for n in (100, 400))
    assert many / few == pytest.approx((1 / 100 - 1 / 1000) / (1 / 400 - 1 / 1000))


def test_mistakes_are_refused():
    with pytest.raises(CounterweightError, match="ascending"):
        look_levels([3, 2])
    with pytest.raises(CounterweightError, match="no spending"):
        look_levels([1, 2], spending="all")
    with pytest.raises(CounterweightError, match="need bounds"):
        anytime_interval([0.0, 1], [0.5, 0.5], [0.1, 0.2], 2, bounds=(0, np.inf))
    with pytest.raises(CounterweightError, match="not within"):
        anytime_interval([0.0, 2], [0.5, 0.5], [0.1, 0.2], 2)


def test_steps_of_a_growing_plan_have_the_mean_as_their_mean():
    # By the very order of draws: the mean of the first step over all coins is the mean outcome, and
    # with all labels bought nothing is left to say.
    generator = np.random.default_rng(2)
    y, pi = generator.random(12), generator.uniform(0.2, 0.9, 12)
    low, high = anytime_interval(y, pi, generator.random(12), 12)
    assert low == pytest.approx(y.mean()) and high == pytest.approx(y.mean())


def test_an_anytime_interval_holds_the_mean_at_all_times_and_becomes_narrow():
    generator = np.random.default_rng(5)
    p = generator.beta(0.6, 1.5, 1500)
    y = (generator.random(1500) < p).astype(float)
    chances = inclusion_chances(np.sqrt(p * (1 - p)), 400)
    missed, widths = 0, []
    for turn in range(100):
        coins = np.random.default_rng([5, turn]).random(1500)
        order = draw(chances, coins).order
        seen = np.where(order < 400, y, np.nan)
        low, high = anytime_interval(seen, chances, coins, 400, p)
        # The interval is the cut of all before, so it misses where any of them does.
        missed += not low <= y.mean() <= high
        widths.append((high - low) / 2)
    assert missed <= 5
    assert 0.03 < np.mean(widths) < 0.12


@pytest.mark.parametrize("count", [3, 11, 12])
def test_intervals_at_any_time_move_with_the_unit_of_the_outcome(count):
    generator = np.random.default_rng(8)
    y, pi = (generator.random(12) < 0.8) * 1.0, generator.uniform(0.2, 0.9, 12)
    coins = generator.random(12)
    plain = np.array(anytime_interval(y, pi, coins, count))
    moved = anytime_interval(3 + 10 * y, pi, coins, count, bounds=(3, 13))
    assert moved == pytest.approx(3 + 10 * plain, rel=1e-9)
    # What is left is known to lie within the bounds.
    seen = y[np.argsort(coins / pi)[:count]].sum()
    assert plain[0] >= seen / 12 - 1e-12 and plain[1] <= (seen + 12 - count) / 12 + 1e-12


@pytest.mark.parametrize("count", [200, 1000])
def test_intervals_at_any_time_of_a_fair_coin_are_as_wide_as_their_bets_give(count):
    coins, y = np.random.default_rng(0).random(20_000), np.zeros(20_000)
    y[np.argsort(coins)[::2]] = 1.0
    low, high = anytime_interval(y, np.full(20_000, 0.3), coins, count)
    # Bets of sqrt(2 t / (v k log k)) sum to sqrt(8 t n / (v log n)), and pay t (1 + log log n).
    wide = np.sqrt(np.log(40) * 0.25 * np.log(count) / (8 * count)) * (1 + np.log(np.log(count)))
    assert 0.75 * wide < (high - low) / 2 < wide


def test_an_anytime_interval_holds_the_mean_where_chances_go_by_the_outcome():
    """A row counts by one over its chance among those left, or yes would be taken for common."""
    y = np.arange(600) % 2 * 1.0
    chances = np.where(y == 1, 0.8, 0.1)
    for turn in range(5):
        coins = np.random.default_rng(turn).random(600)
        low, high = anytime_interval(y, chances, coins, 250)
        assert low <= 0.5 <= high


@pytest.mark.parametrize("count", [150, 300])
def test_intervals_at_any_time_turn_round_with_the_outcome(count):
    generator = np.random.default_rng(9)
    p, coins = generator.beta(1, 6, 900), generator.random(900)
    pi, y = generator.uniform(0.3, 0.6, 900), (generator.random(900) < p) * 1.0
    low, high = anytime_interval(y, pi, coins, count, p)
    known = y[np.argsort(coins / pi)[:count]].sum()
    assert known / 900 + 0.01 < low < high < 0.9 - count / 900
    turned = anytime_interval(1 - y, pi, coins, count, 1 - p)
    assert turned == pytest.approx((1 - high, 1 - low), rel=1e-9)
