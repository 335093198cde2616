"""Which method of offers is given away: losses on answers that it has not seen."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery.final_offers import (
    _gains,
    _held_out_losses,
    _levels,
    _rests_on,
    _shown,
    chosen_method,
    drawn_offers,
    drawn_within,
)
from counterweight.evaluation.offer_value import (
    best_single,
    drawn_density,
    drawn_value,
    single_choices,
)
from counterweight.labeling.offered import OfferScale
from counterweight.models.choice.offer_limits import Asked, Limit, allot
from counterweight.models.choice.offer_training import Compared
from counterweight.tables.parquet import read_table, write_table
from delivering import Own
from priced_survey import saved_of, survey
from scipy.special import expit


def test_losses_are_those_of_the_test_rows_of_every_world(tmp_path):
    """Each repeat of a study of drawn worlds has rows of its own."""
    rows, answers = np.array([7, 3, 11, 5]), np.array([1, 0, 1, 0], "int8")
    predictions = {
        "role": np.array(["train", "test", "test", "test"]),
        "setting": np.array(["", "", "", ""]),
        "row": np.array([3, 5, 7, 11]),
        "p": np.array([0.9, 0.2, 0.6, 0.5]),
    }
    write_table(tmp_path / "p.parquet", predictions)
    job = SimpleNamespace(
        input=SimpleNamespace(predictions=[str(tmp_path / "p.parquet")]),
        given={"methods": ["one"], "candidates": [{"method": "one", "setting": ""}]},
    )
    found = _held_out_losses(job, {"role": np.array(["train", "test"])}, rows, answers)
    assert found == [pytest.approx(-np.log([0.8, 0.6, 0.5]).mean())]
    assert _held_out_losses(job, {"role": np.array(["train"])}, rows, answers) is None


@pytest.mark.parametrize(
    ("losses", "place"),
    [([0.3494808, 0.3494807, 0.5], 0), ([0.36, 0.34, 0.35], 1), ([0.4, np.inf, 0.39], 2)],
)
def test_the_least_loss_is_taken_and_the_first_of_those_that_are_the_same(losses, place):
    names = [{"method": name, "setting": ""} for name in "abc"]
    job = SimpleNamespace(
        given={"candidates": names, "everybody": False},
        log=SimpleNamespace(info=lambda *told: None),
    )
    chosen, told, compared = chosen_method(job, None, None, None, None, losses)
    assert chosen == names[place] | {"place": place} and told[place] == losses[place]
    assert compared is None


@pytest.mark.parametrize(
    ("past", "grid", "told"),
    [
        ([5, 7.5, 10, 5, 60], None, [5, 7.5, 10, 60]),
        (np.arange(1, 20.5, 0.5), None, [1, 4, 7.5, 10.5, 13.5, 17, 20]),
        ([5, 10], [6, 4], [4, 6]),
        (np.arange(1, 31.0), None, np.arange(1, 31.0)),
    ],
)
def test_one_offer_for_all_is_told_at_offers_that_were_made(past, grid, told):
    saved = SimpleNamespace(
        facts={"offer": {"grid": grid}},
        accepted=lambda X, offers: np.full(len(X), 0.5),
        scale=OfferScale(0.0, 60.0, "down"),
    )
    records = _levels(saved, np.zeros((4, 1)), np.array(past, float))
    earned = [one for one in records if one["metric"] == "uniform_revenue"]
    assert [float(one["part"]) for one in earned] == pytest.approx(told)
    assert [one["value"] for one in earned] == pytest.approx([level / 2 for level in told])


def test_the_best_offer_for_all_may_lie_between_those_that_were_made():
    """Accepted by 1 - d / 20 of the people, an offer d earns most at 10, where none was made."""
    saved = SimpleNamespace(
        facts={"offer": {"grid": None}},
        accepted=lambda X, offers: 1 - offers / 20,
        scale=OfferScale(0.0, 20.0, "down"),
    )
    records = _levels(saved, np.zeros((4, 1)), np.array([2.0, 8, 12, 18]))
    earned = {one["part"]: one["value"] for one in records if one["metric"] == "uniform_revenue"}
    assert [*earned] == ["2", "8", "10", "12", "18"]
    assert max(earned, key=earned.get) == "10" and earned["10"] == pytest.approx(5)


def test_of_one_method_no_choice_is_told():
    one = {"method": "one", "setting": "", "place": 0}
    for candidates, told in (
        ([one], "The method is the one that was asked for."),
        ([one, one], "Of 2 methods one is the one to go by: log loss 0.500."),
    ):
        assert _rests_on(one, {0: 0.5, 1: 0.6}, candidates, None)[1] == told


def compared_with(policy, rows, each=None, slope=10):
    """Methods of two folds whose best offers are told, and whose curve is alike for everybody."""

    def best(*_):
        return np.broadcast_to(policy, (rows,)), lambda offers: expit(slope * (offers - 0.5))

    kind = type("Given", (Compared,), {"policy": best})
    fold = np.arange(rows) % 2
    losses = [own.mean() for own in (each or {0: np.zeros(rows)}).values()]
    return kind(losses, {}, each or {}, np.arange(rows), fold, {})


ROWS = 3000
T = np.random.default_rng(0).random(ROWS)
X = np.random.default_rng(2).normal(size=(ROWS, 3))
ETA = np.where(X[:, 0] > 0, 0.2, 0.8)
Y = (np.random.default_rng(1).random(ROWS) < expit(20 * (T - ETA))).astype(float)
SCALING = OfferScale(10.0, 20.0, "down"), None


def test_offers_that_earn_less_than_one_for_all_are_not_given_away():
    """At t = .05 hardly anybody buys; half of the people do from .2 on, the others from .8 on."""
    place = {"place": 0, "setting": "", "method": "one"}
    for policy, instead in ((0.05, True), (ETA + 0.12, False)):
        found = drawn_offers(compared_with(policy, ROWS), place, X, T, Y, SCALING)
        assert found.random and found.p > 0.05 and found.instead == instead
        price = 20 - 10 * np.linspace(0, 1, 1001)
        odds = 20 * (np.linspace(0, 1, 1001)[:, None] - [0.2, 0.8])
        earned = expit(odds).mean(axis=1) * price
        assert np.interp(found.single, price[::-1], earned[::-1]) > 0.97 * earned.max()
        assert found.past.value == pytest.approx(np.mean(Y * (20 - 10 * T)), rel=1e-12)
        names = {one["metric"] for one in found.records()}
        given = found.one if instead else found.best
        earned = Y * (20 - 10 * T)
        assert found.over_past.value == pytest.approx(given.influence.mean() - earned.mean())
        assert found.over_past.low > 0
        assert {
            "drawn_over_past_low",
            "drawn_snips_low",
            "drawn_gain",
            "single_drawn",
            "offers_random_p",
        } <= names
    dependent = drawn_offers(compared_with(0.65, ROWS), place, np.c_[T + X[:, 0], X], T, Y, SCALING)
    assert not dependent.random and dependent.p < 1e-6 and not dependent.instead
    told = drawn_offers(compared_with(0.05, ROWS), place, np.c_[T, X], T, Y, SCALING, True)
    assert told.random and told.instead
    assert not drawn_offers(compared_with(0.05, ROWS), place, X, T, Y, SCALING, False).random


def test_one_offer_for_all_is_that_of_the_curves_unless_answers_say_otherwise():
    """Answers near one offer are few: by them alone it is off more than by a right curve."""
    place, scale = {"place": 0, "setting": "", "method": "one"}, SCALING[0]
    grid = np.linspace(0, 1, 1001)
    lost = {"curves": [], "answers": []}
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])
        t, noise = rng.random(400), rng.normal(size=(400, 2))
        y = (rng.random(400) < expit(4 * (t - 0.5))).astype(float)
        found = drawn_offers(compared_with(0.6, 400, slope=4), place, noise, t, y, SCALING, True)
        earned = expit(4 * (grid - 0.5)) * (20 - 10 * grid)
        alone = best_single(t, y, scale.scaled_revenue(), single_choices(t))
        for name, offer in (("curves", (20 - found.single) / 10), ("answers", alone)):
            lost[name].append(earned.max() - np.interp(offer, grid, earned))
    assert np.mean(lost["curves"]) < 0.5 * np.mean(lost["answers"])


def test_one_offer_for_all_is_that_of_the_curves_of_each_fold():
    """Three folds of other slopes: each gets what the curves of its own people say."""
    place, fold = {"place": 0, "setting": "", "method": "one"}, np.arange(ROWS) % 3
    slopes = np.array([30.0, 3.0, 8.0])[fold]

    def best(*_):
        return np.full(ROWS, 0.5), lambda offers: expit(slopes * (offers - 0.5))

    kind = type("Given", (Compared,), {"policy": best})
    thirds = kind([0.0], {}, {0: np.zeros(ROWS)}, np.arange(ROWS), fold, {})
    grid = np.linspace(*np.quantile(T, [0.01, 0.99]), 65)
    claimed = 0.0
    for slope in (30.0, 3.0, 8.0):
        claimed += (expit(slope * (grid - 0.5)) * (20 - 10 * grid)).max() / 3
    y = (np.random.default_rng(3).random(ROWS) < expit(slopes * (T - 0.5))).astype(float)
    found = drawn_offers(thirds, place, X, T, y, SCALING, True)
    assert found.one.claimed == pytest.approx(claimed, rel=1e-12)


@pytest.mark.parametrize("capacity", [300.0, ROWS])
def test_offers_within_limits_are_put_right_by_answers_to_drawn_offers(capacity):
    """The curve of the model claims too much; of the people some have no answer."""
    place, scale, held = {"place": 0, "setting": "", "method": "one"}, SCALING[0], 0
    offers = np.linspace(10.0, 20.0, 21)
    t = scale.scaled(offers)

    def claimed(made, shift):
        return expit(20 * (made - ETA[:, None]) + shift)

    asked = Asked(
        claimed(t, 1.0),
        np.broadcast_to(offers, (ROWS, 21)),
        [Limit("capacity", 1.0, 1.0, capacity)],
        np.zeros(21),
        True,
        np.ones((ROWS, 21), dtype=bool),
        offers,
    )
    found = allot(*asked[:2], asked.limits, allowed=asked.allowed)
    got, own = found.choice >= 0, np.maximum(found.choice, 0)
    truth = claimed(t, 0.0)[np.arange(ROWS), own] @ np.where(got, offers[own], 0.0)
    assert found.value > 1.04 * truth
    answered = np.flatnonzero(X[:, 1] > -0.5)  # others than those without an answer

    def accepted(self, place, setting, features, made, levels):
        return claimed(made[:, None], 1.0)[answered, 0], claimed(levels, 1.0)[answered]

    kind = type("Given", (Compared,), {"accepted": accepted})
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        made = rng.random(ROWS)
        y = (rng.random(ROWS) < claimed(made[:, None], 0.0)[:, 0]).astype(float)
        compared = kind([0.0], {}, {}, answered, None, {})
        told = compared, place, X, made, y, scale, np.arange(ROWS)
        value, low, high = drawn_within(*told, asked, found)
        held += low <= truth <= high
        assert low < value < high < found.value
    assert held >= 17
    if capacity < ROWS:
        return
    # Where limits change nothing they bring what the best offers do.
    made, y, policy = made[answered], y[answered], t[own][answered]
    at_policy, at_made = (expit(20 * (one - ETA[answered]) + 1.0) for one in (policy, made))
    density, revenue = drawn_density(made), scale.scaled_revenue()
    right = drawn_value(made, y, policy, at_policy, at_made, density, revenue)
    off = right.doubly_robust.value - right.claimed
    assert value == pytest.approx(found.value + ROWS * off)


def test_neither_names_nor_the_order_of_rows_and_columns_decide_who_gets_which_offer(tmp_path):
    frame = survey(240)
    frame["price"] = np.random.default_rng(5).choice([10.0, 20, 30, 40], len(frame))
    # Of people who are copies of each other either may be among the test rows.
    frame["income"] = np.random.default_rng(6).lognormal(3, 0.4, len(frame)).round(2)
    order = np.random.default_rng(4).permutation(len(frame))
    turned, called = frame.iloc[order, ::-1], {"age": "zz", "price": "Angebot", "bought": "a"}
    study = {"models": [{"model": "offer_logistic"}, {"model": "offer_boosting"}], "repeats": 2}
    asked = {"study": study, "id": "customer", "experiment": {}, "limits": {"capacity": 40}}
    told = []
    for name, names in (("first", {}), ("second", called)):
        (tmp_path / name).mkdir()
        entry = {"offer": names.get("price", "price"), "answer": names.get("bought", "bought")}
        one = turned.rename(columns=names) if names else frame
        made, measured = Own(tmp_path / name, one, asked | entry), []
        made.run("label")
        for method in made.study["methods"]:
            made.run("train", method)
            measured.append(pd.DataFrame(made.run("evaluate", method)))
        files = made.run("deliver")
        offers = pd.read_parquet(files["offers"])
        assert offers["customer"].to_list() == one["customer"].to_list()
        labels = pd.read_parquet(made.at.labels).set_index(["repeat", "row"])["role"].unstack(0)
        measured.append(pd.read_parquet(files["metrics"]))
        offers = offers.set_index("customer")
        offers["reason"] = offers["reason"].str.replace("Angebot", "price").str.replace("zz", "age")
        told.append((offers.join(labels.set_axis(one["customer"])), *measured))
    for ours, theirs in zip(*told, strict=True):
        pd.testing.assert_frame_equal(ours, theirs.loc[ours.index], check_exact=True)


@pytest.mark.parametrize(("model", "off"), [("offer_logistic", 0.25), ("offer_additive", 0.0)])
@pytest.mark.parametrize("added", [0.1, 1000.0, -0.1])
def test_what_best_offers_bring_more_by_the_model_is_of_the_same_people_and_draws(
    model, off, added, monkeypatch
):
    saved, frame = saved_of(model, ""), survey(150, seed=5)
    X = saved.encoded(frame)
    priced, past = saved.priced(X), np.where(np.arange(150) < 100, 12.0, np.nan)
    saved.facts["optimism"] = off
    monkeypatch.setattr(saved, "by_choosing", lambda X: added)
    levels = [{"metric": "uniform_revenue", "part": "9", "value": 1.0}]
    levels += [{"metric": "uniform_revenue", "part": "14", "value": 2.0}]
    told = _gains(saved, X, priced, levels, past)
    told = {(one["metric"], one["part"]): (one["value"], one["rows"]) for one in told}
    best, draws = priced["best_offer"], saved.part("draw")
    for part, rows, other in (("past", np.arange(100), 12.0), ("single", np.arange(150), 14.0)):
        mean, p = priced["best_revenue"][rows].mean(), []
        for offers in (best[rows], np.full(len(rows), other)):
            t = saved.scale.scaled(offers)
            about = saved._pricer.about(X[rows])
            p.append(saved._pricer.accept_drawn(about, t, draws) @ saved.scale.revenue(offers))
        worth = saved.accepted(X[rows], np.full(len(rows), other)) * saved.scale.revenue(other)
        value, many = told["expected_over", part]
        claim, most = mean - worth.mean(), off
        if part == "single":  # no more is taken off than choosing is claimed to bring
            most = np.clip(added, 0, claim)
        taken = most if off else most / 2
        assert many == len(rows) and value == pytest.approx(claim - taken)
        gaps = (p[0] - p[1]) / len(rows)
        reach = np.array([most, 0.0 if part == "single" else most])
        ends = claim - reach - gaps.mean() + np.quantile(gaps, [0.025, 0.975])
        found = [told[f"expected_over_{end}", part][0] for end in ("low", "high")]
        assert found == pytest.approx(ends) and found[0] < value < found[1]
    # Offers that are alike for everybody are one for all themselves.
    alike = priced | {"best_offer": np.full(150, 14.0)}
    assert {one["part"] for one in _gains(saved, X, alike, levels, past)} == {"past"}


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_direction_that_answers_contradict_is_told_by_log_model_and_measurements(
    tmp_path, direction
):
    frame = survey(300)
    entry = {"id": "customer", "offer": {"column": "price", "direction": direction}}
    study = {"models": [{"model": "offer_logistic"}]}
    own = Own(tmp_path, frame, entry | {"answer": "bought", "study": study})
    own.run("label")
    own.run("train", "offer_logistic")
    made = own.run("deliver")
    saved, known = load(made["model"]), pd.read_parquet(made["metrics"])
    known = known[known["metric"] == "offers_against"].set_index("part")["value"]
    if direction == "down":
        assert "doubt" not in saved.shown() and known.empty
        return
    price, yes = frame["price"].to_numpy(), (frame["bought"] == "yes").to_numpy()
    above = price > price.mean()
    told = {"mean": price.mean(), "above": yes[above].mean(), "others": yes[~above].mean()}
    assert known[[*told]].to_dict() == pytest.approx(told)
    assert saved.shown()["doubt"].startswith("Past answers contradict offer.direction: up: of the")


def test_a_table_gets_offers_with_what_they_earn(tmp_path):
    frame = survey(400)
    frame["price"] = np.random.default_rng(5).uniform(5, 55, len(frame)).round(2)
    study = {"models": [{"model": "offer_logistic"}, {"model": "offer_boosting"}]}
    entry = {"id": "customer", "offer": {"column": "price", "random": True}, "answer": "bought"}
    own = Own(tmp_path, frame, entry | {"study": study})
    own.run("label")
    for method in own.study["methods"]:
        own.run("train", method)
    made = own.run("deliver")
    told = pd.read_csv(made["csv"])
    inside = told["p"].notna()
    earned = told["p"] * told["offer"]
    assert inside.all() and told["revenue"].to_numpy() == pytest.approx(earned, rel=1e-6)
    saved = load(made["model"])
    assert {feature.column for feature in saved.encoder.features_} == {"age", "town"}
    p = saved.acceptance(frame, frame["price"].to_numpy())
    assert told["p"].to_numpy() == pytest.approx(p, rel=1e-6)
    measured = read_table(made["metrics"]).set_index(["metric", "part"])["value"]
    # Whether a gain is shown is told by answers, since they check it; a notebook says so.
    assert "expected_over" not in measured.index
    over = {"past offers": "drawn_over_past", "the best one for all": "drawn_gain"}
    lows = {
        name: measured.get((f"{metric}_low", ""), measured[metric, ""])
        for name, metric in over.items()
    }
    unshown = [name for name, low in lows.items() if not low > 0]
    assert saved.facts["no_gain"] == unshown
    assert ("no gain is shown over" in saved._repr_html_()) == bool(unshown)
    assert "more a person than past offers" in saved._repr_html_()
    assert measured["drawn_snips", "past"] == pytest.approx(
        np.mean((frame["bought"] == "yes") * frame["price"]), rel=1e-9
    )
    levels = [part for metric, part in measured.index if metric == "uniform_revenue"]
    assert len(levels) == 7
    for level in levels:
        everybody = saved.acceptance(frame, np.full(len(frame), float(level)))
        assert measured["uniform_revenue", level] == pytest.approx(
            float(level) * everybody.mean(), rel=1e-4
        )


@pytest.mark.parametrize("instead", [0.0, 1.0])
def test_a_notebook_begins_with_the_number_that_leads_the_page(instead):
    made = {("expected_revenue", None): 7.3, ("single_instead", None): instead}
    for part, right in (("best", 7.8), ("single", 7.6)):
        made |= {("drawn_doubly_robust", part): right, ("drawn_snips", part): right - 0.1}
    records = [
        {"metric": f"{name}{end}", "part": part, "value": value + step}
        for (name, part), value in made.items()
        for end, step in (("", 0.0), ("_low", -1.0), ("_high", 1.0))
    ]
    told = _shown(records, {})
    first, *rest = told.items()
    right = 7.6 if instead else 7.8
    assert first[0].endswith("put right by answers") and first[1] == [
        False,
        right,
        right - 1.0,
        right + 1.0,
    ]
    assert [one[1] for _, one in rest] == [7.3, right - 0.1]
    assert len(_shown(records[:6], {})) == 1, "without answers at random the model's claim alone"
