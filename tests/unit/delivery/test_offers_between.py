"""Where few offers were made: none is proposed between them, or any curve there is allowed for."""

import json

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.final_offers import drawn_offers, tried_alone
from counterweight.evaluation.offer_value import drawn_density, offer_value
from counterweight.labeling.offered import hole_ends, holes
from counterweight.models.choice.offer_limits import levels_of
from counterweight.models.choice.offer_model import scale_of
from counterweight.models.choice.offer_training import compared
from priced_survey import features_of, saved_of

TWO = {"column": "price", "low": 20.0, "high": 40.0, "direction": "down", "revenue": None}
ONE = {"method": "one", "model": "offer_logistic", "options": {"l2": 1e-3}, "setting": ""}


def cliff(seed, rows=500):
    """Prices of 20 or 40 at random; 0.75 say yes up to 21, 0.35 above."""
    rng = np.random.default_rng([seed, 20])
    frame = pd.DataFrame({"customer": [f"C{at}" for at in range(rows)]})
    frame["age"], frame["town"] = rng.normal(50, 12, rows), rng.choice(["n", "s"], rows)
    frame["price"] = rng.choice([20.0, 40.0], rows)
    yes = rng.random(rows) < np.where(frame["price"] <= 21, 0.75, 0.35)
    return frame.assign(bought=np.where(yes, "yes", "no"))


def brings(offers):
    return float((np.where(offers <= 21, 0.75, 0.35) * offers).mean())


def offered_between(frame, between="any", **more):
    """A saved fit as a table of one's own has it."""
    offer = TWO | {"between": between, "holes": holes(frame["price"])} | more
    grid = scale_of(offer, frame["price"])[1]
    offer["only_made"] = grid is not None and "grid" not in more
    if offer["only_made"]:
        offer["grid"] = np.unique(frame["price"]).tolist()
    return saved_of("offer_logistic", "", frame, offer, l2=1e-3)


def test_holes_are_the_wide_gaps_between_few_offers():
    rng = np.random.default_rng(0)
    assert holes(rng.choice([20.0, 40.0], 50)).tolist() == [[20, 40]]
    assert holes(rng.permutation(np.tile([1.0, 2, 3, 9], 20))).tolist() == [[3, 9]]
    assert holes(np.tile([1.0, 2, 3, 5, 9], 20)).tolist() == [[3, 5], [5, 9]]
    # Nine even levels leave none, nor do many offers; eight do.
    for count, left in ((9, 0), (31, 0), (8, 7), (2, 1), (1, 0)):
        assert len(holes(np.tile(np.linspace(0.1, 0.7, count), 30))) == left
    assert not len(holes(np.append(rng.uniform(0, 1, 200), 3.0)))
    # A stray one does not widen the range that gaps are measured by.
    assert holes(np.append(np.tile([1.0, 2.0], 200), 90.0)).tolist() == [[1, 2], [2, 90]]
    ends = hole_ends([20.0, 25, 40, 45, np.nan], [[20, 40]])
    assert np.array_equal(ends[0], [20, 20, 40, 45, np.nan], equal_nan=True)
    assert np.array_equal(ends[1], [20, 40, 40, 45, np.nan], equal_nan=True)
    assert tried_alone([20.0, 25, 40], [[20, 40]]).tolist() == [20, 40]
    assert tried_alone([25.0, 30], [[20, 40]]).tolist() == [25, 30]


def test_few_offers_are_the_only_ones_unless_others_are_asked_for():
    frame = cliff(0)
    frame["bought"] = np.where(frame["price"] < 30, "yes", frame["bought"])
    frame.loc[:40, "bought"] = "no"
    only, free = offered_between(frame, "made"), offered_between(frame)
    assert set(only.optimal_offers(frame)["best_offer"]) <= {20.0, 40.0}
    assert "price of 20.0, 40.0" in only.shown()["offers"]
    priced = free.optimal_offers(frame)
    inside = (priced["best_offer"] > 20) & (priced["best_offer"] < 40)
    assert inside.mean() > 0
    assert (~priced["supported"] == inside).all()
    assert (priced.loc[inside, "reason"] == "no price near the best one was ever made").all()
    grid = offered_between(frame, "made", grid=[20.0, 30.0, 40.0])
    assert set(grid.optimal_offers(frame)["best_offer"]) <= {20.0, 30.0, 40.0}
    # An experiment is what tells of offers between; limits keep to those that were made.
    assert levels_of(only, 5).tolist() == [20, 40]
    assert levels_of(only, 5, between=True).tolist() == [20, 25, 30, 35, 40]
    assert levels_of(grid, 5, between=True).tolist() == [20, 30, 40]
    allotted, _ = only.allot(frame, capacity=100)
    assert set(allotted["offer"].dropna()) <= {20.0, 40.0}


@pytest.mark.parametrize("between", ["any", "made"])
def test_intervals_hold_what_offers_bring_by_a_price_that_breaks_between(between, tmp_path):
    """A charm price: by smooth curves offers between bring much that they do not bring."""
    kept, plain, by_answers, gains, over = np.zeros(5)
    for seed in range(100, 124):
        frame = cliff(seed)
        saved = offered_between(frame, between)
        offers, found = saved.optimal_offers(frame)["best_offer"], saved.expected(frame)
        kept += found.low <= brings(offers) <= found.high
        # The same fit, to which a gap is none.
        whole = type(saved)(saved.facts | {"offer": TWO | {"grid": None}}, saved.arrays)
        told = whole.expected(frame)
        plain += told.low <= brings(whole.optimal_offers(frame)["best_offer"]) <= told.high

        _, X = features_of(frame)
        scaling = scale_of(TWO | {"between": between}, frame["price"])
        t, y = scaling[0].scaled(frame["price"]), (frame["bought"] == "yes").to_numpy(float)
        judged = compared(X, t, y, [ONE], np.random.default_rng(seed))
        asked = judged, ONE | {"place": 0}, X, t, y, scaling, True, holes(t)
        drawn = drawn_offers(*asked)
        made = judged.policy(0, "", X, t, scaling[0].scaled_revenue(), scaling[1])[0]
        truth, right = brings(scaling[0].offers(made)), drawn.best.doubly_robust
        by_answers += right.low <= truth <= right.high
        assert drawn.single in (20, 40)
        more = truth - brings(np.array([drawn.single]))
        # Where both are the same, nothing is off.
        gains += more == 0 or drawn.gain.low <= more <= drawn.gain.high
        past = (0.75 * 20 + 0.35 * 40) / 2
        over += drawn.over_past.low <= truth - past <= drawn.over_past.high
    assert min(kept, by_answers, gains, over) >= 21
    assert plain <= 3
    path = tmp_path / "model.parquet"
    saved.save(path)
    assert json.dumps(type(saved).read(path).facts["offer"]) == json.dumps(saved.facts["offer"])


def test_levels_beside_a_hole_are_levels_however_close_others_lie():
    """A window over many close prices would count answers to 20 for an offer of 30."""
    rng = np.random.default_rng(3)
    t = rng.choice([*np.linspace(0, 0.2, 11), 1.0], 600)
    y, density = (rng.random(600) < np.where(t < 0.9, 0.2, 0.9)).astype(float), drawn_density(t)
    assert density.levels is not None and not density.windows
    found = offer_value(t, y, np.full(600, 0.6), revenue=(1.0, 0.0)).snips
    assert found.low < 0.2 and found.high > 0.9
