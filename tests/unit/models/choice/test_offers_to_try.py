"""Offers to try: each with the chance that is told, near the best ones; what they teach."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.policy_value import ips, snips
from counterweight.models.choice.offer_limits import choices, levels_of
from counterweight.models.choice.offers_to_try import (
    Tried,
    as_asked,
    coins_of_offers,
    experiment,
    offers_to_try,
)
from counterweight.numerics.coins import own_key
from test_offer_limits_asked import saved_of, shop, truth


@pytest.fixture(scope="module")
def saved():
    return saved_of(shop())


def test_an_offer_is_drawn_where_its_share_of_the_unit_interval_lies():
    nothing = np.zeros((3, 3))
    chances = np.array([[0.2, 0.3, 0.5]] * 2 + [[0.0, 1.0, 0.0]])
    tried = Tried(np.arange(3.0), chances, nothing, nothing, np.zeros(3, int))
    for uniform, places in ((0.0, [0, 0, 1]), (0.2, [1, 1, 1]), (0.49, [1, 1, 1])):
        assert tried.drawn([uniform] * 3).tolist() == places
    assert tried.drawn([0.19, 0.51, 0.99]).tolist() == [0, 2, 1]


def test_chances_around_the_best_offer_fall_as_a_normal_density_above_the_least(saved):
    X, least = saved.encoded(shop(50, 4)), 0.03
    made = offers_to_try(saved, X, how="around", levels=6, spread=0.2, least=least)
    fits = made.earned > -np.inf
    assert fits.sum(axis=1).min() >= 3 and (~fits).any() and (made.chances[~fits] == 0).all()
    away = made.offers - made.offers[made.best][:, None]
    density = np.where(fits, np.exp(-0.5 * (away / (0.2 * 60)) ** 2), 0.0)
    shares = density / density.sum(axis=1, keepdims=True)
    told = np.where(fits, least + (1 - least * fits.sum(axis=1, keepdims=True)) * shares, 0.0)
    np.testing.assert_allclose(made.chances, told, atol=1e-12)
    np.testing.assert_allclose(made.chances.sum(axis=1), 1.0)


def test_chances_of_an_experiment_are_those_with_which_offers_are_drawn(saved):
    people = pd.concat([shop(1, 3)] * 4000, ignore_index=True)
    for how in ("around", "thompson"):
        made = saved.experiment(people, np.random.default_rng(0), how=how, levels=5, least=0.05)
        known = made.groupby("tried_offer")["propensity"].agg(["first", "size"])
        assert known["first"].sum() == pytest.approx(1.0) and known["first"].min() >= 0.05
        error = np.sqrt(known["first"] * (1 - known["first"]) / 4000)
        assert (np.abs(known["size"] / 4000 - known["first"]) < 4.5 * error).all()
        best = known["first"].idxmax()
        assert best == made["best_level"].iloc[0]
        assert made["tried_revenue"].iloc[0] <= made["level_revenue"].iloc[0]
    with pytest.raises(CounterweightError, match="cannot give each a chance"):
        saved.experiment(people, np.random.default_rng(0), least=0.4)
    with pytest.raises(CounterweightError, match="no bootstrap draws"):
        boosted = saved_of(shop(300), "logistic_tree")
        boosted.experiment(people, np.random.default_rng(0), how="thompson")


def test_thompson_counts_the_draws_of_segments_as_of_lines():
    frame = shop(600)
    saved = saved_of(frame, "predictive_choice", "soft")
    X = saved.encoded(frame)
    coins = np.random.default_rng(0).random(len(X))
    made = experiment(saved, X, coins, how="thompson", levels=6, least=0.02)
    assert (made["propensity"] >= 0.02 - 1e-12).all() and (made["propensity"] <= 1).all()
    offers = levels_of(saved, 6)
    p, fits = choices(saved, X, offers)
    assert fits.any(axis=1).all() and np.isin(made["tried_offer"], offers).all()
    near = np.abs(made["tried_offer"] - made["best_level"]) <= np.diff(offers)[0] + 1e-9
    assert near.mean() > 0.8


@pytest.mark.filterwarnings("ignore:The policy never takes")
def test_the_loop_closes_intervals_of_what_was_tried_cover_the_truth(saved):
    """A rule that nobody followed is valued by the answers to an experiment, as it truly is."""
    people = shop(1500, 8)
    rule = np.where(people["town"] == "north", 2, 1)
    covered, rounds = {"ips": 0, "snips": 0}, 120
    offers = levels_of(saved, 6)
    target = offers[rule + 1]
    earns = float((truth(people, target) * target).mean())
    for seed in range(rounds):
        rng = np.random.default_rng(seed)
        made = saved.experiment(people, rng, levels=6, spread=0.25, least=0.05)
        tried = made["tried_offer"].to_numpy()
        taken = rng.random(len(people)) < truth(people, tried)
        chosen = (tried == target).astype(float)
        for name, estimate in (("ips", ips), ("snips", snips)):
            value = estimate(np.where(taken, tried, 0.0), made["propensity"].to_numpy(), chosen)
            covered[name] += value.low <= earns <= value.high
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / rounds)
    assert min(covered.values()) / rounds >= least


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"how": "far"}, "'far' is not known: choose around or thompson"),
        ({"levels": 1}, "two levels at least"),
        ({"spread": 0.0}, "a spread above 0"),
        ({"spread": np.inf}, "a spread above 0"),
        ({"least": 0.0}, "a least chance between 0 and 1"),
        ({"least": 1.0}, "a least chance between 0 and 1"),
    ],
)
def test_an_experiment_that_leaves_nothing_to_chance_is_refused(saved, asked, told):
    with pytest.raises(CounterweightError, match=told):
        offers_to_try(saved, saved.encoded(shop(20, 4)), **asked)


def test_least_chances_may_be_all_but_one(saved):
    X = saved.encoded(shop(20, 4))
    count = (offers_to_try(saved, X, levels=5).earned > -np.inf).sum(axis=1)
    with pytest.raises(CounterweightError, match="5 offers cannot give each a chance of"):
        offers_to_try(saved, X, levels=5, least=1 / count.max())
    made = offers_to_try(saved, X, levels=5, least=0.99 / count.max())
    np.testing.assert_allclose(made.chances.sum(axis=1), 1.0)


def test_coins_of_a_key_hang_on_the_person_alone(tmp_path):
    told = SimpleNamespace(facts={"id": "who"})
    people = pd.DataFrame({"who": [f"P{i}" for i in range(400)]})
    drawn = {"key": own_key(tmp_path / "k"), "rng": np.random.default_rng(0)}
    coins = coins_of_offers(told, people, drawn)
    assert ((coins >= 0) & (coins < 1)).all() and abs(coins.mean() - 0.5) < 5 / np.sqrt(12 * 400)
    order = np.random.default_rng(1).permutation(400)[:50]
    again = coins_of_offers(told, people.iloc[order], drawn)
    np.testing.assert_array_equal(again, coins[order])
    other = coins_of_offers(told, people, drawn | {"key": own_key(tmp_path / "other")})
    assert abs(np.corrcoef(coins, other)[0, 1]) < 0.2
    # Without a key, an id, or where ids are blank or met twice, a generator draws.
    twice = people.assign(who=people["who"].where(people.index > 0, "P1"))
    blank = people.assign(who=people["who"].where(people.index > 0))
    for facts, frame, key in (
        ({"id": "who"}, people, None),
        ({"id": None}, people, own_key(tmp_path / "k")),
        ({"id": "who"}, twice, own_key(tmp_path / "k")),
        ({"id": "who"}, blank, own_key(tmp_path / "k")),
    ):
        how = {"key": key, "rng": np.random.default_rng(7)}
        coins = coins_of_offers(SimpleNamespace(facts=facts), frame, how)
        np.testing.assert_array_equal(coins, np.random.default_rng(7).random(400))


def test_what_a_config_asks_is_told_of_all_people_together(saved):
    people = shop(40, 6)
    X, coins = saved.encoded(people), np.random.default_rng(2).random(40)
    limits = {
        "capacity": 6,
        "confidence": 0.9,
        "spent": 4.0,
        "quality": {"column": "grade", "least": 3.1},
        "share": {"column": "town", "value": "north", "least": 0.5},
    }
    tried = {"levels": 5, "least": 0.03}
    columns, records = as_asked(
        saved, X, people, limits, tried, coins, lambda asked, found: (7.0, 6.0, np.nan)
    )
    facts = {(one["metric"], one.get("part")): one["value"] for one in records}
    assert {one["rows"] for one in records} == {40}
    table, found = saved.allot(people, **limits)
    offer, p = columns["allotted_offer"], columns["allotted_p"]
    np.testing.assert_array_equal(offer, table["offer"])
    np.testing.assert_array_equal(columns["allotted_revenue"], table["revenue"])
    assert facts["allotted_none", None] == np.isnan(offer).sum() > 0
    assert facts["allotted_revenue", None] == pytest.approx(columns["allotted_revenue"].sum())
    assert facts["allotted_bound", None] == found.dual >= facts["allotted_revenue", None] - 1e-9
    assert facts["allotted_free", None] == found.free >= found.dual - 1e-9
    low, high = facts["allotted_revenue_low", None], facts["allotted_revenue_high", None]
    assert low <= facts["allotted_revenue", None] <= high
    assert facts["allotted_drawn", None] == 7.0 and facts["allotted_drawn_low", None] == 6.0
    assert ("allotted_drawn_high", None) not in facts
    # Means are over those who are expected to accept, and the capacity is their number.
    assert facts["limit_used", "capacity"] == pytest.approx(p.sum())
    assert facts["limit_used", "quality"] == pytest.approx(np.average(people["grade"], weights=p))
    north = people["town"] == "north"
    assert facts["limit_used", "share"] == pytest.approx(np.average(north, weights=p))
    bounds = {"capacity": 6, "quality": 3.1, "share": 0.5}
    assert {part: facts["limit_bound", part] for part in bounds} == bounds
    assert facts["limit_confidence", "capacity"] == 0.9
    assert facts["limit_confidence_fit", "capacity"] == saved.has_draws
    prices = {part: facts["limit_price", part] for part in bounds}
    assert prices == pytest.approx(found.multipliers) and prices["capacity"] > 0
    made = experiment(saved, X, coins, **tried)
    assert facts["tried_revenue", None] == pytest.approx(made["tried_revenue"].sum())
    assert facts["level_revenue", None] == pytest.approx(made["level_revenue"].sum())
    assert facts["tried_least_p", None] == made["propensity"].min() >= 0.03
    np.testing.assert_array_equal(columns["tried_offer"], made["tried_offer"])
    assert as_asked(saved, X, people) == ({}, [])
