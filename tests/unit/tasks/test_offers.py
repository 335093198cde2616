"""Plans of studies of offers: what is delivered, and what a config may not ask for."""

import types

import pytest
from counterweight.errors import CounterweightError
from counterweight.tasks import offers as kind


def test_the_plan_of_ones_own_table():
    study = {
        "id": "mine",
        "title": "Mine",
        "source": "own",
        "dataset": "mine",
        "stream": "mine",
        "score": "new.csv",
        "deliver": None,
        "limits": None,
        "experiment": None,
        "features": {"recipe": "one_hot", "options": {}},
        "outcome": {"rule": "accepts", "options": {"column": "answer"}},
        "labeling": {"rule": "offered", "options": {"offer": "price"}},
        "methods": {"offer_logistic": {"model": "offer_logistic", "options": {}, "oracle": False}},
    }
    at = types.SimpleNamespace(
        folder="results/mine",
        table="t",
        columns="c",
        labels="l",
        model=lambda method: method,
        predictions=lambda method: f"{method}'s",
        metrics=lambda source: source,
    )
    plan = {"seed": 1, "datasets": {"mine": {"roles": {"id": "customer"}}}}
    job = kind.plan_deliver(plan, study, at)
    assert [one["method"] for one in job.given["candidates"]] == ["offer_logistic"]
    assert job.given["id"] == "customer" and job.given["everybody"]
    assert set(job.outputs) == {"model", "offers", "csv", "metrics"}
    assert kind.plan_apply(plan, study, at).inputs["score"] == "new.csv"
    assert kind.plan_apply(plan, study | {"score": None}, at) is None
    pcm = {"model": "predictive_choice", "options": {}, "oracle": False}
    study["methods"]["predictive_choice"] = pcm
    assert kind.delivered(study) == {"method": None, "setting": ""}
    job = kind.plan_deliver(plan, study, at)
    named = [(one["method"], one["setting"]) for one in job.given["candidates"]]
    assert named == [
        ("offer_logistic", ""),
        ("predictive_choice", "soft"),
        ("predictive_choice", "hard"),
    ]
    assert ("model", "predictive_choice") in kind.plan_apply(plan, study, at).uses
    other = study | {"source": "download"}
    assert kind.delivered(other) == {"method": None, "setting": ""}
    inputs = kind.plan_deliver(plan, other, at).inputs
    assert inputs["model"] == ["offer_logistic", "predictive_choice"]
    assert inputs["predictions"] == ["offer_logistic's", "predictive_choice's"]
    asked = study | {"deliver": {"method": "offer_logistic", "setting": ""}}
    assert kind.delivered(asked) == {"method": "offer_logistic", "setting": ""}
    named = other | {"deliver": {"method": "predictive_choice"}}
    assert kind.delivered(named) == {"method": "predictive_choice", "setting": "soft"}
    job = kind.plan_deliver(plan, named, at)
    assert job.inputs["model"] == ["predictive_choice"] and "metrics" not in job.outputs


def study(labeling=None, **more):
    return {"labeling": {"options": labeling or {}}, "repeats": 2, "dataset": "admissions"} | more


@pytest.mark.parametrize(
    ("labeling", "more", "told"),
    [
        ({"grid": [1, 1]}, {}, "name each once"),
        ({"grid": [2, 1]}, {}, "name each once"),
        ({"grid": [1, 3], "low": 1, "high": 2}, {}, "the offer 3, which is not between"),
        ({"revenue": {"intercept": 0, "slope": 0}}, {}, "0 for every offer"),
        ({}, {"limits": {"spent": [[1, 0], [1, 2]]}}, "limits.spent has the offers 1, 1"),
        ({}, {"experiment": {"least": 0.26, "levels": 4}}, "chances sum to 1"),
        ({"direction": "up"}, {"limits": {"revenue": "fee"}}, "no slope is said of offers of"),
    ],
)
def test_offers_that_cannot_be_are_refused(labeling, more, told):
    with pytest.raises(CounterweightError, match=told):
        kind._check_points("mine", study(labeling, **more))


def test_offers_at_the_ends_and_chances_that_just_fit_are_taken():
    ends = {"grid": [1, 2], "low": 1, "high": 2, "revenue": {"intercept": 0, "slope": 1}}
    kind._check_points("mine", study(ends, experiment={"least": 0.25, "levels": 4}))
    kind._check_points("mine", study({"grid": [1, 3], "low": None, "high": 2}))
    by_person = {"revenue": "fee"}
    for said in ({"direction": "down"}, {"direction": "up", "revenue": ends["revenue"]}):
        kind._check_points("mine", study(said, limits=by_person))


@pytest.mark.parametrize(
    ("rows", "repeats", "told"),
    [
        (3655, 2, "set repeats to at most 1, or"),
        (3656, 1, "choose a multiple of 3655, such as 3655"),
        (7310, 2, None),
        (None, 8, None),
        (None, 9, "repeats is 9"),
    ],
)
def test_each_repeat_has_a_world(rows, repeats, told):
    asked = study(repeats=repeats), {"admissions": {"rows": rows}}
    if told is None:
        return kind._check_worlds("mine", *asked)
    with pytest.raises(CounterweightError, match=told):
        kind._check_worlds("mine", *asked)


def test_a_range_of_ones_own_is_in_order():
    entry = {"offer": {"column": "price", "low": 2, "high": 1}, "answer": "bought"}
    with pytest.raises(CounterweightError, match="low must be below high"):
        kind.own_study(entry)
    with pytest.raises(CounterweightError, match="are numbers"):
        kind.own_study(entry | {"offer": {"column": "price", "low": "two"}})
    made = kind.own_study(entry | {"offer": {"column": "price", "low": 1, "high": 2}})
    assert made["labeling"]["low"] == 1 and made["labeling"]["offer"] == "price"
    with pytest.raises(CounterweightError, match="low must be below high"):
        kind.own_study(entry | {"offer": {"column": "price", "low": 2, "high": 2}})
