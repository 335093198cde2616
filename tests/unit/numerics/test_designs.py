"""Chances sum to their budget, draws have exactly these chances, variances those of all draws."""

import itertools

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import collected_mean
from counterweight.numerics.coins import canonical_ids, person_uniforms
from counterweight.numerics.designs import (
    budget_for,
    draw,
    expected_half_width,
    fixed_parts,
    half_widths,
    inclusion_chances,
    information,
    keyed_uniforms,
    stopped_chances,
    systematic,
)
from counterweight.numerics.linear import expit
from scipy.optimize import brentq


def spreads(n=500, seed=3):
    return np.random.default_rng(seed).gamma(0.7, size=n)


@pytest.mark.parametrize("budget", [0.5, 3, 77.3, 480, 499.9])
@pytest.mark.parametrize("floor", [0.02, 0.5, 1.0])
def test_the_expected_cost_is_the_budget_and_no_row_is_below_the_floor(budget, floor):
    cost = np.random.default_rng(1).uniform(0.5, 4, size=500)
    for costs in (None, cost):
        paid = np.ones(500) if costs is None else costs
        spent = budget * paid.sum() / 500
        chances = inclusion_chances(spreads(), spent, cost=costs, floor=floor)
        assert chances @ paid == pytest.approx(spent, rel=1e-12)
        assert chances.max() <= 1
        assert chances.min() >= min(floor * spent / paid.sum(), 1) * (1 - 1e-12)


def test_uncapped_chances_are_the_mixture_written_out():
    spread, cost = spreads(), np.random.default_rng(2).uniform(1, 2, size=500)
    chances = inclusion_chances(spread, 20.0, cost=cost, floor=0.3)
    best = spread / np.sqrt(cost)
    told = 0.3 * 20 / cost.sum() + 0.7 * 20 * best / (cost @ best)
    assert told.max() < 1
    np.testing.assert_allclose(chances, told, rtol=1e-12)


def test_capped_chances_are_proportional_where_they_are_not_one():
    shape = inclusion_chances(spreads(), 1.0, floor=0.2)
    chances = inclusion_chances(spreads(), 300, floor=0.2)
    below = chances < 1
    assert 0 < below.sum() < 500
    ratio = chances[below] / shape[below]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert (ratio[0] * shape[~below] >= 1 - 1e-12).all()


def test_no_other_chances_of_the_same_cost_have_a_smaller_variance():
    spread, generator = spreads(60), np.random.default_rng(5)
    best = inclusion_chances(spread, 25, floor=0.0)
    least = (1 / best - 1) @ spread**2
    for _ in range(200):
        other = best * np.exp(generator.normal(0, 0.2, 60))
        other = inclusion_chances(other, 25, floor=0.0)
        assert (1 / other - 1) @ spread**2 >= least - 1e-9


def test_without_a_floor_worthless_spreads_cost_little_and_good_ones_keep_what_they_can():
    for spread in (spreads(), spreads() + 5, np.ones(500), spreads() ** 4):
        chances = inclusion_chances(spread, 1.0)
        # The design effect of outcomes that go with nothing (Kish).
        effect = np.mean(1 / chances) * chances.mean()
        assert effect <= 1.03 + 1e-12
    flat = inclusion_chances(spreads() + 5, 1.0)
    np.testing.assert_allclose(flat, inclusion_chances(spreads() + 5, 1.0, floor=1 / 1024))
    low, high = (inclusion_chances(spreads(), 1.0, floor=floor) for floor in (0.0, 1.0))
    chances = inclusion_chances(spreads(), 1.0)
    square = spreads() ** 2
    assert (1 / low) @ square < (1 / chances) @ square < (1 / high) @ square
    # The shape is the same at any budget, so that plans go on.
    np.testing.assert_allclose(inclusion_chances(spreads(), 7.0), 7 * chances, rtol=1e-12)


def test_importance_that_is_known_is_no_part_of_the_insurance():
    share = np.where(np.arange(500) < 50, 1 / 50, 1 / 450)
    chances = inclusion_chances(np.ones(500), 20, importance=share)
    assert chances[:50].sum() == pytest.approx(10) and chances[50:].sum() == pytest.approx(10)
    chances = inclusion_chances(spreads(), 1.0, importance=share)
    loss = share**2 @ (1 / chances)
    assert loss <= 1.03 * share**2 @ (share.sum() / share) + 1e-9


def test_strata_have_the_allocation_of_neyman_whatever_they_are_called():
    stratum = np.repeat([0, 1, 2], [100, 200, 700])
    spread = np.array([3.0, 1.0, 0.5])[stratum]
    chances = inclusion_chances(spread, 50, floor=0.0, stratum=stratum)
    allocated = np.bincount(stratum, chances)
    np.testing.assert_allclose(allocated, 50 * np.array([300, 200, 350]) / 850)
    named = np.array(["z", "b", "a"])[stratum]
    assert (inclusion_chances(spread, 50, floor=0.0, stratum=named) == chances).all()


def test_mistakes_are_refused():
    for told in (
        {"spread": [-1.0, 1.0]},
        {"cost": [0.0, 1.0]},
        {"budget": 0},
        {"floor": 2},
        {"spread": [0.0, 1.0], "floor": 0},
        {"spread": [np.nan, 1.0]},
    ):
        asked = {"spread": [1.0, 1.0], "budget": 1} | told
        with pytest.raises(CounterweightError):
            inclusion_chances(**{name: np.asarray(value) for name, value in asked.items()})
    with pytest.raises(CounterweightError, match="never known"):
        draw([0.0, 0.5], [0.1, 0.2])
    with pytest.raises(CounterweightError, match="no design"):
        draw([0.5, 0.5], [0.1, 0.2], design="lottery")


def test_budgets_that_pay_for_all_give_each_row_the_chance_one():
    assert (inclusion_chances(spreads(5), 5) == 1).all()
    assert (inclusion_chances(spreads(5), 9) == 1).all()
    assert (inclusion_chances(np.zeros(4), 2) == 0.5).all()


def test_a_fixed_design_of_equal_chances_has_the_variance_of_a_simple_sample():
    values = np.random.default_rng(4).normal(size=12)
    mask = np.zeros(12, bool)
    mask[[1, 4, 5, 9]] = True

    def variance(chance, place):
        """Of the mean over the twelve rows."""
        return fixed_parts(values[mask] / chance, np.full(4, chance), place).sum() / 144

    found = variance(4 / 12, np.zeros(4, int))
    assert found == pytest.approx((1 - 4 / 12) * values[mask].var(ddof=1) / 4, rel=1e-12)
    # By strata: each its own.
    found = variance(1 / 3, np.array([0, 0, 0, 1]))
    parts = [values[[1, 4, 5]], values[[9]]]
    first = (1 - 1 / 3) * 9 * 3 * parts[0].var(ddof=1)
    second = (1 - 1 / 3) * 9 * parts[1][0] ** 2
    assert found == pytest.approx((first + second) / 144, rel=1e-12)


def test_a_fixed_draw_has_exactly_the_chances_asked_over_all_orders_and_starts():
    chances = np.array([0.7, 0.25, 0.55, 0.1, 0.4])
    hit, orders = np.zeros(5), 0
    for order in itertools.permutations(range(5)):
        ends = np.cumsum(chances[list(order)])
        cuts = np.unique(np.concatenate([[0, 1], ends % 1]))
        for low, high in itertools.pairwise(cuts):
            if high - low < 1e-12:
                continue
            mask = systematic(chances, np.array(order), (low + high) / 2)
            assert mask.sum() == 2
            hit += (high - low) * mask
        orders += 1
    np.testing.assert_allclose(hit / orders, chances, atol=1e-12)


@pytest.mark.parametrize("design", ["poisson", "fixed"])
def test_draws_by_coins_have_the_chances_asked(design):
    generator, chances = np.random.default_rng(8), inclusion_chances(spreads(40), 12)
    runs = 20_000
    hit = np.zeros(40)
    for _ in range(runs):
        found = draw(chances, None, design=design, generator=generator)
        hit += found.mask
        if design == "fixed":
            assert found.mask.sum() == 12
    z = (hit / runs - chances) / np.sqrt(np.maximum(chances * (1 - chances), 1e-9) / runs)
    assert np.abs(z[chances < 1]).max() < 4.2


def test_a_fixed_draw_takes_its_number_of_each_stratum_whatever_it_is_called():
    generator = np.random.default_rng(9)
    stratum = np.repeat([0, 1, 2], [30, 50, 20])
    chances = np.array([0.2, 0.1, 0.5])[stratum]
    named = np.array(["z", "m", "a"])[stratum]
    for _ in range(50):
        coins = generator.random(100)
        mask = draw(chances, coins, design="fixed", stratum=stratum).mask
        assert np.bincount(stratum, mask).tolist() == [6, 5, 10]
        assert (draw(chances, coins, design="fixed", stratum=named).mask == mask).all()


def test_a_larger_plan_goes_on_where_a_smaller_one_ends():
    coins, spread = np.random.default_rng(1).random(500), spreads()
    small, large = (draw(inclusion_chances(spread, b), coins) for b in (40, 160))
    assert not (small.mask & ~large.mask).any()
    for plan in (small, large):
        assert (plan.order[plan.mask].max() + 1 == plan.mask.sum()) and sorted(plan.order) == list(
            range(500)
        )
    assert set(large.order[small.mask]) == set(range(small.mask.sum()))
    fixed = draw(inclusion_chances(spread, 40), coins, design="fixed")
    assert set(fixed.order[fixed.mask]) == set(range(40))


def test_a_plan_that_stops_early_has_chances_by_which_totals_are_right():
    # Given the first row that is not bought, exactly (Duffield et al. 2007), so on average.
    generator, chances = np.random.default_rng(6), inclusion_chances(spreads(30), 12)
    values = np.random.default_rng(7).normal(2, 1, size=30)
    made = []
    for _ in range(20_000):
        coins = generator.random(30)
        found = draw(chances, coins)
        stopped = stopped_chances(chances, coins, 8)
        made.append((values / stopped)[found.order < 8].sum() / 30)
    error = np.std(made) / np.sqrt(len(made))
    assert abs(np.mean(made) - values.mean()) < 4 * error
    assert (stopped_chances(chances, coins, 30) == 1).all()


def test_coins_are_those_of_the_ids():
    found = keyed_uniforms([7, "b"], b"0123456789abcdef", "collect")
    told = person_uniforms(b"0123456789abcdef", canonical_ids(["7", "b"]), "collect")[0]
    assert (found == told).all()
    with pytest.raises(CounterweightError, match="stood before"):
        keyed_uniforms([7, "7"], b"0123456789abcdef", "collect")


def test_the_information_of_chances_is_one_over_the_variance_they_leave():
    # Of two rows with spreads 2 and 3, at chances 1/2 and 1/4: 2^2 (2 - 1) + 3^2 (4 - 1).
    assert information([0.5, 0.25], [2.0, 3.0]) == pytest.approx(1 / 31)
    assert information([1.0, 1.0], [2.0, 3.0]) == np.inf


def test_the_expected_width_is_that_of_a_simple_sample_where_chances_are_alike():
    from scipy.stats import t

    n, rows = 400, 10_000
    found = expected_half_width(
        np.full(rows, n / rows), np.full(rows, 1.5), parameters=1, binary=False
    )
    told = 1.5 * np.sqrt((1 - n / rows) / (n - 1))
    # Degrees of freedom of normal residuals: their kurtosis is 3.
    assert found == pytest.approx(t.ppf(0.975, n - 1) * told, rel=1e-6)
    half = expected_half_width(np.full(rows, n / rows), np.full(rows, 1.5), 2 * rows, binary=False)
    assert half == pytest.approx(
        expected_half_width(np.full(rows, n / rows), np.full(rows, 1.5), binary=False) / 2
    )
    assert expected_half_width(np.ones(5), np.ones(5)) == 0


def test_a_surprise_that_hardly_ever_comes_does_not_widen_what_is_expected():
    """Of rows that move what is asked a lot, one in 10,000 has a 1: mostly no label shows it."""
    from scipy.stats import t

    chances, spread = np.full(4000, 0.1), np.full(4000, 0.4)
    plain = expected_half_width(chances, spread, beyond=True)
    rare, moves = np.arange(4000) < 100, np.ones(4000)
    spread[rare], moves[rare] = np.sqrt(1e-4 * (1 - 1e-4)), 400.0
    found = expected_half_width(chances, spread, moves=moves, beyond=True)
    error = np.sqrt((spread**2 * moves**2).sum() / 0.1 * 400 / 398) / 4000
    assert found == pytest.approx(t.ppf(0.975, 399) * error, rel=0.01) and found > 1.5 * plain
    # What mostly comes is in it: here two such rows.
    spread[rare] = np.sqrt(0.2 * 0.8)
    error = np.sqrt((spread**2 * moves**2).sum() / 0.1 * 400 / 398) / 4000
    assert expected_half_width(chances, spread, moves=moves, beyond=True) > 2.1 * error


def test_the_budget_for_a_width_is_the_least_that_keeps_it():
    spread = np.sqrt(np.random.default_rng(0).uniform(0.01, 0.25, size=3000))
    curve = half_widths(spread, [50, 100, 200, 400, 3000])
    assert (np.diff(curve) < 0).all() and curve[-1] == 0
    budget = budget_for(0.05, spread)
    assert half_widths(spread, [budget])[0] <= 0.05 < half_widths(spread, [budget - 1])[0]
    cost = np.full(3000, 2.0)
    paid = budget_for(0.05, spread, cost=cost)
    assert paid == pytest.approx(2 * budget, rel=0.02)
    # A spread that is wrong costs width, and the curve says it.
    flat = np.full(3000, np.sqrt(np.mean(spread**2)))
    assert half_widths(spread, [200], truth=flat)[0] > half_widths(flat, [200])[0]


def rare_rows(rate, steep, rows=900):
    """Chances of 1 with a mean, which log odds of the given spread are spread about."""
    odds = steep * np.random.default_rng(0).normal(size=rows)
    shift = brentq(lambda one: expit(odds + one).mean() - rate, -40, 40)
    return expit(odds + shift)


@pytest.mark.parametrize("rate, steep", [(0.005, 1.0), (0.03, 0.4), (0.055, 1.5), (0.5, 12.0)])
@pytest.mark.parametrize("budget", [12, 25, 50, 150])
def test_what_is_expected_of_a_rare_share_is_near_what_labels_reach(rate, steep, budget):
    """A simple sample of 19 at 5 % was told 61 points (counts give 13), one of 25 at 3 % 43."""
    f, generator, reached = rare_rows(rate, steep), np.random.default_rng(budget), []
    chances = inclusion_chances(np.sqrt(f * (1 - f)), budget)
    for _ in range(60):
        y, mask = (generator.random(len(f)) < f) * 1.0, generator.random(len(f)) < chances
        found = collected_mean(y, chances, mask, f, binary=True)
        reached.append((found.high - found.low) / 2)
    assert 0.75 < expected_half_width(chances, np.sqrt(f * (1 - f))) / np.mean(reached) < 1.25


@pytest.mark.parametrize("rate, steep", [(0.005, 1.0), (0.03, 0.4), (0.055, 5.0), (0.5, 1.5)])
def test_more_labels_of_a_share_are_never_expected_to_tell_less(rate, steep):
    f = rare_rows(rate, steep)
    spread, budgets = np.sqrt(f * (1 - f)), range(4, 300)
    plain = np.full(len(f), np.sqrt(rate * (1 - rate)))
    for truth, floor, parameters in ((spread, None, 2), (plain, None, 2), (plain, 1.0, 0)):
        told = {"truth": truth, "floor": floor, "parameters": parameters}
        curve = half_widths(spread, budgets, **told)
        assert curve.max() < 0.5 and (np.diff(curve) <= 1e-9).all()


def test_no_more_of_a_share_is_open_than_its_other_rows():
    """With 93 % of the labels a share is open by the rest; that of later rows is so altogether."""
    chances, spread = np.full(40, 0.95), np.full(40, 0.5)
    chances[0] = 1e-3
    assert expected_half_width(chances, spread) == pytest.approx((1 - chances.mean()) / 2)
    assert expected_half_width(chances, spread, beyond=True) == 0.5
