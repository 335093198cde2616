"""Offers to make next: the plan, and what their answers say whatever the model is worth."""

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery import offer_plans
from counterweight.delivery.label_plans import DEFAULTS
from counterweight.delivery.offer_plans import OfferPlan, PlannedOffers, TriedAnswers
from counterweight.delivery.saved_offers import SavedOffers
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import fitted_encoder
from counterweight.models.choice.offers_to_try import Tried
from counterweight.numerics.estimate import Estimate
from counterweight.numerics.linear import expit

PRICE = {"low": 0.0, "high": 60.0, "direction": "down", "revenue": None, "column": "price"}
_ANSWERS = "offer_answers"
BUDGET, KEY = 500, 3


def truth(frame, price):
    worth = 18 + 14 * (frame["town"] == "north") + 0.1 * frame["age"]
    return expit((worth.to_numpy() - price) / 4)


def shop(rows, seed, first=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 12, rows).round(1)})
    frame["town"] = np.where(rng.random(rows) < 0.4, "north", "south")
    frame["price"] = rng.uniform(5, 55, rows).round(2)
    frame["bought"] = rng.random(rows) < truth(frame, frame["price"])
    return frame.assign(who=[f"C{first + at}" for at in range(rows)])


@pytest.fixture(scope="module")
def saved():
    frame = shop(900, 0)
    encoder = fitted_encoder(frame, drop=("price", "bought", "who"))
    return SavedOffers.fitted(
        encoder.transform(frame),
        frame["price"].to_numpy(),
        frame["bought"].to_numpy(float),
        encoder,
        method={"model": "offer_logistic", "options": {}},
        setting="",
        offer=PRICE,
        rng=np.random.default_rng(1),
        facts={"id": "who"},
    )


@pytest.fixture(scope="module")
def people():
    return shop(2000, 8, 5000).drop(columns=["price", "bought"])


def answered(plan, people, seed=0):
    """The frame of a plan with the answers that people give."""
    own = people.set_index("who").loc[plan.frame["who"]]
    coins = np.random.default_rng(seed).random(len(own))
    yes = coins < truth(own, plan.frame["price"].to_numpy())
    return plan.frame.assign(answer=yes.astype(int))


def small():
    """Three people, two offers of which each may get either, and what they would answer."""
    chances = np.array([[0.3, 0.7], [0.5, 0.5], [0.8, 0.2]])
    offers, p = np.array([1.0, 2.0]), np.full((3, 2), 0.4)
    made = Tried(offers, chances, p, p * offers, np.array([1, 1, 0]))
    return made, np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def by_difference(outcome, chances, bought, predicted, **options):
    """The difference estimator as it is written, of any number of labels."""
    left = ((outcome - predicted)[bought] / chances[bought]).sum()
    return Estimate(predicted.mean() + left / len(outcome), 0.0, 0.0, 0.0, 1, 1.0, 1.0, 0.95)


def test_what_a_rule_earns_is_unbiased_over_all_plans(monkeypatch):
    """Each person asked or not, with either offer: the mean over all, by their chances."""
    monkeypatch.setattr(offer_plans, "LEAST", 0)
    monkeypatch.setattr(offer_plans, "collected_mean", by_difference)
    monkeypatch.setattr(offer_plans, "_share", lambda *told: by_difference(*told[:4]))
    made, would = small()
    asked, rows, mean = np.array([0.5, 0.9, 0.6]), np.arange(3), {}
    for drawn in np.ndindex(2, 2, 2):
        for mask in np.ndindex(2, 2, 2):
            own, mask = made.chances[rows, drawn], np.array(mask) == 1
            answer = np.where(mask, would[rows, drawn], np.nan)
            told = made, lambda offers: offers, made.offers[np.array(drawn)], answer, mask
            found = TriedAnswers(*told, asked * own, 0, 0.95, own)
            chance = float(np.prod(own * np.where(mask, asked, 1 - asked)))
            every = {f"{name} over": one for name, one in found.over_best.items()} | found.revenue
            for name, one in every.items():
                mean[name] = mean.get(name, 0.0) + chance * one.value
    best = (would * made.offers)[rows, made.best].mean()
    expected = {"best": best, "1": would[:, 0].mean(), "2": 2 * would[:, 1].mean()}
    expected |= {f"{name} over": expected[name] - best for name in ("1", "2")}
    assert mean == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("wrong", [False, True])
def test_intervals_hold_over_draws_also_where_the_model_is_worth_nothing(saved, people, wrong):
    rows = OfferPlan(saved, people, key=KEY, budget=BUDGET)._rows
    made = rows.made
    if wrong:  # what is foretold of people, shuffled
        order = np.random.default_rng(2).permutation(len(people))
        p = made.p[order]
        fits = made.earned > -np.inf
        made = made._replace(p=p, earned=np.where(fits, p * made.offers, -np.inf))
    at, rng = np.arange(len(people)), np.random.default_rng(4)
    best = made.offers[made.best]
    earns = float((truth(people, best) * best).mean())
    found = []
    for _ in range(150):
        own = PlannedOffers(made, made.drawn(rng.random(len(at))), DEFAULTS | {"budget": BUDGET})
        chance = own.chances(BUDGET)
        drawn, offer = rng.random(len(at)) < chance, made.offers[own.drawn]
        yes = (rng.random(len(at)) < truth(people, offer)).astype(float)
        told = made, saved.scale.revenue, offer, np.where(drawn, yes, np.nan), drawn
        one = TriedAnswers(*told, chance * own.own, 0, 0.95).revenue["best"]
        found.append([one.value, one.low, one.high])
    value, low, high = np.array(found).T
    # Answers could have come out otherwise, which the truth here leaves out: both are allowed for.
    assert abs(value.mean() - earns) < 4 * value.std() / np.sqrt(len(value)) + 0.01 * earns
    assert np.mean((low <= earns) & (earns <= high)) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)
    if not wrong:
        assert rows.half(rows.chances(BUDGET)) == pytest.approx(np.mean(high - low) / 2, rel=0.15)


def test_a_larger_plan_goes_on_and_the_curve_falls(saved, people):
    plan = OfferPlan(saved, people, key=KEY, budget=120)
    more = OfferPlan(saved, people, key=KEY, budget=200)
    columns = ["who", "order", "price"]
    pd.testing.assert_frame_equal(more.frame[columns][:120], plan.frame[columns])
    assert list(plan.frame) == ["who", "order", "price", "answer", "chance", "reason", "plan"]
    assert plan.frame["chance"].between(0, 1, inclusive="right").all()
    curve = plan.expected()
    assert curve["plan"].is_monotonic_decreasing and (curve["plan"] < curve["plain"]).all()
    wanted = OfferPlan(saved, people, key=KEY, half_width=float(curve["plan"].iloc[5]))
    assert wanted.budget == pytest.approx(curve["budget"].iloc[5], abs=1)
    other = OfferPlan(saved, people, key=KEY, budget=120, experiment={"least": 0.05})
    assert other.frame["plan"].iloc[0] != plan.frame["plan"].iloc[0]


def test_the_order_of_rows_and_columns_decides_nothing(saved, people):
    plan = OfferPlan(saved, people, key=KEY, budget=BUDGET)
    again = OfferPlan(saved, people.iloc[::-1, ::-1], key=KEY, budget=BUDGET)
    pd.testing.assert_frame_equal(again.frame, plan.frame)
    labels = answered(plan, people)
    turned = again.with_labels(labels.iloc[::-1, ::-1])
    best = plan.with_labels(labels).revenue["best"]
    assert turned.revenue["best"].low == pytest.approx(best.low, rel=1e-9)


def test_answers_stand_for_everybody_and_buying_may_stop(saved, people):
    plan = OfferPlan(saved, people, key=KEY, budget=BUDGET)
    labels = answered(plan, people)
    made = plan.with_labels(labels)
    assert (made.answers, made.refused, made.waiting) == (BUDGET, 0, 0)
    best = made.revenue["best"]
    offers = plan._rows.made.offers[plan._rows.made.best]
    earns = (truth(people, offers) * offers).mean()
    assert abs(best.value - earns) < 4 * best.standard_error and best.low < best.value < best.high
    assert {*made.revenue} <= {"best", *(f"{one:g}" for one in plan._rows.made.offers)}
    labels["answer"] = np.where(labels["answer"] == 1, "yes", "no")
    labels.loc[300:, "answer"] = None
    labels.loc[[2, 5], "answer"] = ""
    made = plan.with_labels(labels)
    assert (made.answers, made.refused, made.waiting) == (298, 2, BUDGET - 300)
    told = f"answers 298, of rows {len(people)}, no answer 2, still to ask {BUDGET - 300})"
    assert repr(made).startswith("TriedAnswers(revenue of the best offers ")
    assert repr(made).endswith(told)


def test_offers_of_which_nothing_is_told_are_named_with_the_reason():
    made, rng = prices_near_the_best(), np.random.default_rng(4)
    never = made.chances.copy()
    never[np.flatnonzero(made.best != 2)[:9], 2] = 0.0
    found = one_price(rng, made.p, made._replace(chances=never), 60)
    counts = {one["part"]: one["value"] for one in found.records() if one["metric"] == _ANSWERS}
    assert counts == found.counts and counts.keys() == {"best", *(f"{o:g}" for o in made.offers)}
    assert sum(found.counts.values()) - found.counts["best"] == found.answers
    assert found.left_out.keys() | found.revenue.keys() == counts.keys()
    assert not found.left_out.keys() & found.revenue.keys()
    assert found.left_out["8"] == "no chance of it for 1.0 % of the people"
    few = {name: count for name, count in counts.items() if count < 10 and name != "8"}
    assert few and found.left_out == {"8": found.left_out["8"]} | {
        name: f"{count:.0f} answers, and 10 are needed" for name, count in few.items()
    }
    unmade = [one for one in found.records() if one["metric"] == "offer_unmade"]
    assert unmade == [{"metric": "offer_unmade", "part": "8", "value": 0.01}]


def test_what_cannot_be_is_told_in_a_sentence(saved, people):
    with pytest.raises(CounterweightError, match="collect of offers has no 'by'"):
        OfferPlan(saved, people, key=KEY, budget=9, by="town")
    with pytest.raises(CounterweightError, match="give one of the two"):
        OfferPlan(saved, people, key=KEY)
    for budget in (0, -1, "many"):
        with pytest.raises(CounterweightError, match="budget is"):
            OfferPlan(saved, people, key=KEY, budget=budget)
    with pytest.raises(CounterweightError, match="'who'"):
        OfferPlan(saved, people.drop(columns="who"), key=KEY, budget=9)
    with pytest.raises(CounterweightError, match="'banana' is not known"):
        OfferPlan(saved, people, key=KEY, budget=9, experiment={"how": "banana"})
    plan = OfferPlan(saved, people, key=KEY, budget=BUDGET)
    labels = answered(plan, people)
    with pytest.raises(CounterweightError, match="1 offers that are not those of the plan"):
        plan.with_labels(labels.assign(price=[1.5, *labels["price"][1:]]))
    with pytest.raises(CounterweightError, match="order or chance is not that of their plan"):
        plan.with_labels(labels.assign(chance=labels["chance"] / 2))
    with pytest.raises(CounterweightError, match="10 answers are needed at least; filled in: 3"):
        plan.with_labels(labels.assign(answer=labels["answer"].where(labels.index < 3)))
    with pytest.raises(CounterweightError, match="No answer is filled in under 'answer'"):
        plan.with_labels(labels.rename(columns={"answer": "took"}).assign(answer=None))
    with pytest.raises(CounterweightError, match="is 'booked': write yes or 1 under 'answer'"):
        plan.with_labels(labels.assign(answer="booked"))
    strange = plan.people.loc[~plan.people["drawn"], "id"].iloc[0]
    with pytest.raises(CounterweightError, match="1 people that the plan does not have"):
        plan.with_labels(labels.assign(who=[strange, *labels["who"][1:]]))


def one_price(rng, price, made, budget):
    """`TriedAnswers` of people who accept an offer of place k with the chance price (n, m)."""
    rows = PlannedOffers(made, made.drawn(rng.random(len(price))), DEFAULTS | {"budget": budget})
    chance, at = rows.chances(budget), np.arange(len(price))
    drawn = rng.random(len(at)) < chance
    yes = np.where(drawn, rng.random(len(at)) < price[at, rows.drawn], np.nan)
    offer = made.offers[rows.drawn]
    told = made, lambda offers: offers, offer, yes, drawn, chance * rows.own, 0, 0.95, rows.own
    return TriedAnswers(*told)


def prices_near_the_best(people=900, offers=7, seed=0):
    """People who like some price best, the model's p, and chances of .02 for most other prices."""
    rng = np.random.default_rng(seed)
    prices = np.linspace(4, 16, offers)
    worth = rng.normal(10, 4, people)[:, None]
    p = expit((worth - prices) / 2)
    earned = p * prices
    best = earned.argmax(axis=1)
    away = (prices - prices[best][:, None]) / 1.5
    chances = np.exp(-0.5 * away**2)
    chances = 0.02 + (1 - 0.02 * offers) * chances / chances.sum(axis=1, keepdims=True)
    return Tried(prices, chances, p, earned, best)


def test_one_offer_for_all_holds_where_few_heavy_answers_tell_it():
    made, rng, held = prices_near_the_best(), np.random.default_rng(1), []
    earns = dict(zip((f"{one:g}" for one in made.offers), made.earned.mean(axis=0), strict=True))
    most = dict(zip(earns, made.offers, strict=True))
    above = short = 0
    for _ in range(100):
        found = one_price(rng, made.p, made, 400)
        for name, one in found.revenue.items():
            if name != "best":
                assert 0 <= one.low <= one.value <= one.high <= most[name]
                held.append(one.low <= earns[name] <= one.high)
                short += name in ("14", "16") and not held[-1]
        best = made.earned.max(axis=1).mean()
        over = found.over_best.items()
        above += any(not one.low <= earns[name] - best <= one.high for name, one in over)
        # The best offer for each earns more than any one for all.
        assert not any(one.low > 0 for one in found.over_best.values())
    assert np.mean(held) >= 0.95 and short <= 10 and above <= 5


def test_one_offer_for_all_is_better_where_the_model_is_wrong_of_it():
    made, rng = prices_near_the_best(), np.random.default_rng(2)
    truth_of = made.p.copy()
    truth_of[:, 4] = 0.95
    chosen = 0
    for _ in range(20):
        over = one_price(rng, truth_of, made, 800).over_best
        better = [name for name, one in over.items() if one.low > 0]
        assert set(better) <= {"12"}
        chosen += bool(better)
    assert chosen >= 10


def test_answers_of_nearly_everybody_could_have_come_out_otherwise():
    made, rng = prices_near_the_best(400), np.random.default_rng(3)
    best = made.earned.max(axis=1).mean()
    held, half = [], []
    for _ in range(150):
        one = one_price(rng, made.p, made, 380).revenue["best"]
        held.append(one.low <= best <= one.high)
        half.append((one.high - one.low) / 2)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)
    rows = PlannedOffers(made, made.best, DEFAULTS | {"budget": 380})
    assert rows.half(rows.chances(380)) == pytest.approx(np.mean(half), rel=0.1)
