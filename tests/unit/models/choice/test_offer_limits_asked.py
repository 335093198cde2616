"""Offers within limits and the next experiment: by config, in files and on the page."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.final_offers import UNASKED
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import fitted_encoder
from counterweight.models.choice.pricing import NONE
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.offers_page import in_total, next_steps, no_gain, within_limits
from counterweight.reporting.study_page import told_new
from counterweight.reporting.wording import amount, total
from delivering import Own
from scipy.special import expit

PRICE = {"low": 0.0, "high": 60.0, "direction": "down", "revenue": None, "column": "price"}


def shop(rows=900, seed=0):
    """Prices and answers; who is in the north pays more."""
    rng = np.random.default_rng(seed)
    age, north = rng.normal(50, 12, rows).round(1), rng.random(rows) < 0.4
    price = rng.uniform(5, 55, rows).round(2)
    frame = pd.DataFrame({"age": age, "town": np.where(north, "north", "south"), "price": price})
    bought = np.where(rng.random(rows) < truth(frame, price), "yes", "no")
    return frame.assign(bought=bought, grade=rng.normal(3, 1, rows).round(2))


def truth(frame, price):
    worth = 18 + 14 * (frame["town"] == "north") + 0.1 * frame["age"]
    return expit((worth.to_numpy() - price) / 4)


def saved_of(frame, model="offer_logistic", setting="", **more):
    encoder = fitted_encoder(frame, drop=("price", "bought", "grade"))
    options = {"components": 2, "n_init": 2} if model == "predictive_choice" else {}
    return SavedOffers.fitted(
        encoder.transform(frame),
        frame["price"].to_numpy(),
        (frame["bought"] == "yes").to_numpy(float),
        encoder,
        method={"model": model, "options": options},
        setting=setting,
        offer=PRICE | more,
        rng=np.random.default_rng(1),
    )


def delivered(tmp_path, frame, offer, **more):
    """The study of a table of one's own with one model, and the files that it delivers."""
    entry = {
        "id": "who",
        "offer": {"column": "price", "low": 0, "high": 60} | offer,
        "answer": {"column": "bought", "positive": "yes"},
        "study": {"models": [{"model": "offer_logistic"}], "bootstrap": 0, "figures": []},
    }
    own = Own(tmp_path, frame, entry | more)
    for stage, item in (("label", ""), ("train", "offer_logistic")):
        own.run(stage, item)
    return own, own.run("deliver")


def shown(made):
    """Offers and records of what was delivered, and the numbers that its page goes by."""
    records = pd.read_parquet(made["metrics"]).fillna({"part": ""})
    known = SimpleNamespace(
        folder=made["offers"].parent,
        delivered=(True,),
        plan={"offer": {"direction": "down"}},
        get=lambda *names, **place: Estimate(),
        measured=lambda name: False,
        places=lambda column, source, metric, *of: [*records[records["metric"] == metric]["part"]],
        rows=lambda source, metric: records[records["metric"] == metric],
    )
    return pd.read_parquet(made["offers"]), records, known


@pytest.fixture(scope="module")
def saved():
    return saved_of(shop())


def test_nobody_gets_what_was_never_made_to_such_people():
    frame = shop()
    frame = frame[~((frame["age"] < 50) & (frame["price"] > 30))]
    saved = saved_of(frame)
    people = frame.drop(columns="price")
    table, _ = saved.allot(people, capacity=1e9)
    best = saved.optimal_offers(people)
    room = 1e-6
    some = table["offer"].notna().to_numpy()
    assert some.all()
    assert (table["offer"] >= best["offered_min"] - room).all()
    assert (table["offer"] <= best["offered_max"] + room).all()
    assert best["offered_max"].nunique() > 1
    drawn = saved.experiment(people, np.random.default_rng(0))
    assert (drawn["tried_offer"] <= best["offered_max"] + room).all()


def test_revenue_by_points_and_costs_are_what_they_say(saved):
    people = shop(300, 5)
    line = [[0, 0.0], [60, 60.0]]
    same, one = saved.allot(people, revenue=line)
    other, two = saved.allot(people, revenue=lambda offers: offers)
    pd.testing.assert_frame_equal(same, other)
    assert one.value == pytest.approx(two.value) and one.multipliers == {}
    assert one.value == pytest.approx(one.free) == pytest.approx(one.dual)
    dear, _ = saved.allot(people, spent=1e6)
    assert dear["offer"].isna().all()
    with pytest.raises(CounterweightError, match="give points over all"):
        saved.allot(people, revenue=[[10, 1], [20, 2]])
    with pytest.raises(CounterweightError, match="holds text"):
        saved.allot(people, quality=("town", 3))
    with pytest.raises(CounterweightError, match="is blank or infinite for 1 people"):
        blank = people.assign(grade=people["grade"].where(people.index > 0))
        saved.allot(blank, quality={"column": "grade", "least": 3})
    with pytest.raises(CounterweightError, match="Nobody has the value 'east'"):
        saved.allot(people, share=("town", "east", 0.2))
    for wrong in (1.5, 0, "x"):
        with pytest.raises(CounterweightError, match="share.least is .* at most 1, such as 0.4"):
            saved.allot(people, share={"column": "town", "value": "north", "least": wrong})
    with pytest.raises(CounterweightError, match="quality.least is 'x': give a number"):
        saved.allot(people, quality=("grade", "x"))
    with pytest.raises(CounterweightError, match="The capacity is 'x': give a number above 0"):
        saved.allot(people, capacity="x")
    with pytest.raises(CounterweightError, match="The confidence is 'x', and it is a chance"):
        saved.allot(people, capacity=9, confidence="x")
    with pytest.raises(CounterweightError, match=f"nobody has more than {people['grade'].max():g}"):
        saved.allot(people, quality=("grade", people["grade"].max() + 1))


def test_a_table_of_ones_own_has_limits_and_an_experiment_by_config(tmp_path):
    frame = shop(400).assign(who=[f"C{i}" for i in range(400)])
    new = frame.iloc[:60].drop(columns=["price", "bought"])
    new.to_csv(tmp_path / "new.csv", index=False)
    entry = {
        "id": "who",
        "offer": {"column": "price", "low": 0, "high": 60},
        "answer": {"column": "bought", "positive": "yes"},
        "score": str(tmp_path / "new.csv"),
        "limits": {
            "capacity": 60,
            "confidence": 0.9,
            "quality": {"column": "grade", "least": 3.1},
            "share": {"column": "town", "value": "north", "least": 0.5},
            "spent": 0.1,
        },
        "experiment": {"how": "thompson", "levels": 5},
        "study": {"models": [{"model": "offer_logistic"}], "bootstrap": 0, "figures": []},
    }
    own = Own(tmp_path, frame, entry)
    for stage, item in (("label", ""), ("train", "offer_logistic")):
        own.run(stage, item)
    made = own.run("deliver")
    table = pd.read_parquet(made["offers"])
    assert {"allotted_offer", "allotted_p", "allotted_revenue"} <= {*table}
    assert {"tried_offer", "propensity", "best_level"} <= {*table}
    assert table["allotted_p"].sum() < 60
    graded = frame.set_index("who")["grade"].reindex(table["who"]).to_numpy()
    assert np.average(graded, weights=table["allotted_p"]) >= 3.1 - 1e-9
    north = frame.set_index("who")["town"].reindex(table["who"]).eq("north").to_numpy()
    assert np.average(north, weights=table["allotted_p"]) >= 0.5 - 1e-9
    records = pd.read_parquet(made["metrics"]).fillna({"part": ""})
    told = records.set_index(["metric", "part"])["value"]
    assert told["limit_used", "capacity"] == pytest.approx(table["allotted_p"].sum())
    assert told["limit_used", "quality"] == pytest.approx(
        np.average(graded, weights=table["allotted_p"])
    )
    assert told["allotted_revenue", ""] <= told["allotted_bound", ""] * (1 + 1e-9)
    assert told["allotted_revenue", ""] < told["allotted_free", ""]

    class Numbers:
        def rows(self, source, metric):
            return records[records["metric"] == metric]

    said = " ".join(within_limits(Numbers()))
    assert "Expected who accept" in said and "kept with confidence 90 % over answers and" in said
    assert "The next experiment" in said
    people = own.run("apply")
    offers = pd.read_parquet(people["table"])
    assert len(offers) == 60 and offers["allotted_p"].sum() <= 60
    assert offers["propensity"].between(0.02, 1).all()


def test_new_people_keep_limits_without_an_experiment_and_drawn_offers_tell_what_these_bring(
    tmp_path,
):
    frame = shop(400).assign(who=[f"C{i}" for i in range(400)])
    frame.iloc[:60].drop(columns=["price", "bought"]).to_csv(tmp_path / "new.csv", index=False)
    more = {"score": str(tmp_path / "new.csv"), "limits": {"capacity": 20}}
    own, made = delivered(tmp_path, frame, {"random": True}, **more)
    records = pd.read_parquet(made["metrics"]).set_index("metric")["value"]
    low, value, high = (records[f"allotted_drawn{end}"] for end in ("_low", "", "_high"))
    assert low < value < high and low < records["allotted_revenue"] < high
    offers = pd.read_parquet(own.run("apply")["table"])
    assert len(offers) == 60 and offers["allotted_p"].sum() == pytest.approx(20, abs=1)
    assert "tried_offer" not in offers


@pytest.mark.parametrize(
    ("limits", "differ"),
    [
        ({"revenue": "days"}, True),
        ({"revenue": [[0, -10], [60, 50]], "spent": 1}, True),
        ({"revenue": [[0, -25], [60, 35]]}, False),
    ],
)
def test_amounts_beside_offers_within_limits_go_by_the_revenue_that_limits_say(
    tmp_path, limits, differ
):
    """Past offers and those without limits beside them: by offer.revenue limits seemed to earn."""
    frame = shop(300).assign(who=range(300), days=np.tile([1.0, 5.0, 30.0], 100))
    offer = {"random": False, "revenue": {"intercept": -25, "slope": 1}}
    _, made = delivered(tmp_path, frame, offer, limits={"capacity": 30} | limits)
    table, records, known = shown(made)
    told = records.set_index("metric")["value"]
    assert ("allotted_past" in told) == ("allotted_single" in told) == differ
    first, cards = in_total(known)
    said = " ".join(within_limits(known))
    assert ("go by revenue and spent under limits" in said) == differ
    if not differ:
        return
    earns = table["offer"] - 10
    if limits["revenue"] == "days":
        days = frame.set_index("who")["days"].reindex(table["who"]).to_numpy()
        earns = table["offer"] + days
        got = (table["allotted_p"] * (table["allotted_offer"] + days)).fillna(0.0)
        np.testing.assert_allclose(table["allotted_revenue"], got)
    past = (table["p"] * earns - limits.get("spent", 0)).sum()
    assert told["allotted_past"] == pytest.approx(past)
    free = told["allotted_free"]
    assert free >= told["allotted_bound"] - 1e-6 >= told["allotted_revenue"] - 2e-6
    assert free >= told["allotted_single"] and free >= past
    assert f"without limits it would be {total(free)}; with past offers" in first
    assert f"and {total(past)} in all." in first
    labels = [card.label for card in cards]
    assert labels[1:] == [
        "With past offers, without the limits",
        "One offer for all, by the model, without the limits",
    ]
    assert cards[2].note.startswith(f"{total(told['allotted_single'])} in all")


def test_nobody_is_made_an_offer_that_loses_and_all_other_offers_stay():
    """Costs of 35 a sale: of the young, who were made 30 at most, none is better; of 70, of all."""
    frame = shop()
    frame = frame[~((frame["age"] < 50) & (frame["price"] > 30))]
    people = frame.drop(columns=["price", "bought"])
    by_cost = {
        cost: saved_of(frame, revenue={"intercept": -cost, "slope": 1}) for cost in (0, 35, 70)
    }
    table = by_cost[35].optimal_offers(people)
    none = table["best_offer"].isna()
    reach = by_cost[0].optimal_offers(people)["offered_max"]
    assert 0.2 < none.mean() < 0.8 and (none == (reach < 35)).all()
    assert (table.loc[none, ["best_p", "best_revenue"]] == 0).all(axis=None)
    assert table.loc[none, ["low", "high"]].isna().all(axis=None)
    assert (table.loc[none & table["supported"], "reason"] == NONE).all()
    assert (table.loc[~none, "best_revenue"] >= 0).all() and (
        table.loc[~none, "reason"] != NONE
    ).all()
    # Everybody gets one where limits say so: the rest is as it was.
    forced = by_cost[35]
    forced.facts["none"] = False
    old = forced.optimal_offers(people)
    pd.testing.assert_frame_equal(old[~none], table[~none])
    assert old["best_offer"].notna().all() and (old.loc[none, "best_revenue"] < 0).all()
    dear = by_cost[70].expected(people)
    assert by_cost[70].optimal_offers(people)["best_offer"].isna().all()
    assert (dear.value, dear.low, dear.high, dear.optimism) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(("cost", "random"), [(0, False), (35, False), (70, False), (70, True)])
def test_who_is_better_off_without_an_offer_and_to_whom_one_for_all_was_never_made(
    tmp_path, cost, random
):
    frame = shop(500)
    frame = frame[~((frame["age"] < 50) & (frame["price"] > 30))]
    age = frame["age"] - 60 * (frame["age"] < 50)  # kinds that are apart
    frame = frame.assign(who=range(len(frame)), age=age)
    frame.drop(columns=["price", "bought"]).to_csv(tmp_path / "new.csv", index=False)
    offer = {"random": random, "revenue": {"intercept": -cost, "slope": 1}}
    own, made = delivered(tmp_path, frame, offer, score=str(tmp_path / "new.csv"))
    table, records, known = shown(made)
    first, cards = in_total(known)
    todo = " ".join(next_steps(known))
    none = table["best_offer"].isna()
    share = records.set_index("metric")["value"].get("offers_none", 0.0)
    assert share == pytest.approx(none.mean())
    assert none.sum() == {0: 0, 35: (table["offered_max"] < 35).sum(), 70: len(table)}[cost]
    new = pd.read_parquet(own.run("apply")["table"])
    assert new["best_offer"].isna().sum() == none.sum()
    (summed,) = [one for one in told_new({"new_offers": new}, {}) if "new people" in one]
    assert ("to make none" in summed) == (cost > 0)
    if cost == 0:
        assert "To make no offer" not in first and "blank" not in todo
    elif cost == 35:
        size = f"{none.sum()} of {len(table)} people"
        assert first.startswith(f"To make no offer is better for {size}: each that may be made")
        assert "With the best offer for each person" in first and "best_offer is blank" in todo
    else:
        past = table["revenue"].mean()
        assert first.startswith("To make no offer is better for everybody: each that")
        assert f"With past offers it is {amount(past)} a person" in first and past < 0
        assert cards[0].value == "0" and todo.startswith("Make nobody one of these offers")
        assert no_gain(known) is None
        return
    rates = records[records["metric"] == "uniform_revenue"]
    price = float(rates["part"].iloc[rates["value"].argmax()])
    outside = (price < table["offered_min"]) | (price > table["offered_max"])
    never = records.set_index("metric")["value"].get("single_unasked", 0.0)
    unlike = (outside | ~table["supported"]).mean()
    assert never == pytest.approx(unlike if unlike >= UNASKED else 0.0)
    noted = [card.note for card in cards if card.label.startswith("One offer for all")]
    assert ("never made to people like" in noted[0]) == (never > 0)
    assert never > 0.2 or cost == 0


def test_mistakes_in_limits_are_told_in_a_sentence(tmp_path):
    entry = {"offer": "price", "answer": {"column": "bought", "positive": "yes"}}
    frame = shop(200)
    with pytest.raises(CounterweightError, match="capacity"):
        Own(tmp_path, frame, entry | {"limits": {"confidence": 0.9}})
    with pytest.raises(CounterweightError, match="capacty"):
        Own(tmp_path, frame, entry | {"limits": {"capacty": 10}})
    with pytest.raises(CounterweightError, match="limits has no meaning"):
        given = {"outcome": "bought", "study": {"limits": {"capacity": 3}}}
        Own(
            tmp_path, frame.assign(bought=(frame["bought"] == "yes").where(frame.index > 50)), given
        )
    own = Own(
        tmp_path,
        frame,
        entry
        | {
            "limits": {"quality": {"column": "grad", "least": 3}},
            "study": {"models": [{"model": "offer_logistic"}], "bootstrap": 0, "figures": []},
        },
    )
    own.run("label")
    with pytest.raises(CounterweightError, match="limits name 'grad'"):
        own.run("deliver")


def test_true_revenue_with_leaks_in_the_table_is_that_of_the_clean_one(tmp_path):
    """Nine columns of what came after: all are left out, and nobody asks for them of new people."""
    clean, rng = shop(), np.random.default_rng(5)
    yes, price = (clean["bought"] == "yes").to_numpy(), clean["price"]
    gap = rng.exponential(4, len(clean)) + 0.1
    leaks = {
        "status": np.where(yes, "enrolled", "declined"),
        "stage": np.where(yes, rng.choice(["paid", "sent"], len(yes)), "closed"),
        "quantity": yes * (1 + rng.poisson(1, len(yes))),
        "paid": price * yes,
        "would pay": (price + np.where(yes, gap, -gap)).round(2),
        "days to delivery": np.where(yes, rng.integers(1, 9, len(yes)), np.nan),
        "list price": (1.19 * price).round(2),
        "price in whole": price.round(),
        "rebate": 60 - price,
    }
    study = {"models": [{"model": "offer_logistic"}], "bootstrap": 0, "figures": []}
    entry = {"offer": {"column": "price"}, "answer": "bought", "study": study}
    clean.drop(columns=["price", "bought"]).to_csv(tmp_path / "new.csv", index=False)

    def earned(name, frame, **more):
        (tmp_path / name).mkdir()
        own = Own(tmp_path / name, frame, entry | {"score": str(tmp_path / "new.csv")} | more)
        own.run("label")
        best = pd.read_parquet(own.run("deliver")["offers"])["best_offer"].to_numpy()
        return own, best, (best * truth(clean, best)).mean()

    _, best, revenue = earned("clean", clean)
    own, same, _ = earned("leaky", clean.assign(**leaks))
    np.testing.assert_array_equal(same, best)
    new = pd.read_parquet(own.run("apply")["table"])["best_offer"].to_numpy()
    np.testing.assert_allclose(new, best)
    told = pd.read_csv(own.plan["results"] + "/tables/mine.columns.csv").set_index("column")
    assert set(told.index[told["use"] == "left out"]) == {*leaks}
    named = study | {"features": {"recipe": "as_is", "columns": ["age", "list price"]}}
    told = r"features.columns names 'list price', .*\(a copy of the offer\)"
    with pytest.raises(CounterweightError, match=told):
        earned("named", clean.assign(**leaks), study=named)
    # Who insists is believed, and pays for it.
    _, _, kept = earned("kept", clean.assign(**leaks), columns={"keep": ["status"]})
    assert kept < 0.9 * revenue
