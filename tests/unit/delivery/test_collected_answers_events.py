"""Labels bought for predictions of a log: which events; measures that are right over draws."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.bought_file import Events, highest, rewards_read, write_events
from counterweight.delivery.collected_answers import (
    EventAnswers,
    PlannedEvents,
    event_measures,
    planned_events,
)
from counterweight.delivery.label_plans import SMALL, chances_by_place
from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import collected_metric
from counterweight.evaluation.metrics import auc, brier
from counterweight.evaluation.scored_log import ScoredLog
from counterweight.numerics.estimate import share_interval
from counterweight.numerics.linear import expit
from counterweight.tasks.beside_answers import EVENTS

OUTCOME = {"column": "fraud"}
PREDICTIONS = {"now": "now", "new": "new"}
ROWS = 1200


def a_log(rng, rows=ROWS):
    """Events, chances of fraud that one of two predictions knows, and the fraud that came."""
    z = rng.normal(size=rows)
    p = expit(1.4 * z - 1)
    frame = pd.DataFrame({"event": [f"e{k}" for k in range(rows)], "fraud": ""})
    frame["now"] = expit(z + rng.normal(size=rows))
    return frame.assign(new=p), p


def job(folder, frame, collect=None, labels=None):
    """The job of a plan, or of measures, of a log in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / "log.csv", index=False)
    given = {"id": "event", "outcome": OUTCOME, "predictions": PREDICTIONS, "keys": {}}
    given |= {"reading": {}, "top": [0.1], "ids": {"now": "now", "new": "new"}}
    given |= {"key": str(folder / "key"), "collect": collect and EVENTS | collect}
    write_events(folder / "sums.parquet", folder / "log.csv", given)
    paths = {"sums": str(folder / "sums.parquet"), "collected": [], "plan": []}
    if labels is not None:
        labels.to_csv(folder / "labels.csv", index=False)
        paths["collected"] = str(folder / "labels.csv")
    log = SimpleNamespace(info=lambda *told: None)
    return SimpleNamespace(input=SimpleNamespace(**paths), given=given, log=log)


def drawn(events, rows, budget, turn):
    """Chances and mask of a plan by the coins of a turn."""
    size = rows.chances(SMALL * len(events.ids))
    place = np.random.default_rng([5, turn]).random(len(size)) / size
    bought = np.zeros(len(size), bool)
    bought[np.argsort(place)[:budget]] = True
    return chances_by_place(place, size, budget), bought


def answers(events, chances, bought, y):
    made = EventAnswers.__new__(EventAnswers)
    made.events, made.level, made.chances, made.bought = events, 0.95, chances, bought
    made.outcome = np.where(bought, y, np.nan)
    return {
        (one["predictions"], one["metric"], one.get("top"), one.get("other")): one
        for several in made.measures().values()
        for one in several
    }


def test_each_measure_that_is_asked_for_counts_alike_in_the_importance_of_a_row(tmp_path):
    """In parts of all that moves it, whatever its unit."""
    frame, _ = a_log(np.random.default_rng(2))
    rows = PlannedEvents(Events(job(tmp_path, frame)), EVENTS | {"budget": 200})
    moves = np.array([rows.measures[key][0] for key in rows.wanted])
    assert len(moves) == 6 and moves.sum(axis=1).max() > 2 * moves.sum(axis=1).min()
    parts = moves / moves.sum(axis=1, keepdims=True)
    mean = np.sqrt(np.mean(parts**2, axis=0))
    importance = rows.asked["importance"]
    np.testing.assert_allclose(importance, np.maximum(mean, 0.3 * mean.mean()), rtol=1e-12)
    spread = np.sqrt(rows.estimate * (1 - rows.estimate))
    size = np.sqrt(np.mean([(one * spread / (one @ spread)) ** 2 for one in moves], axis=0))
    np.testing.assert_allclose(rows.spread * importance, size, rtol=1e-12)


def test_measures_are_right_over_draws_and_their_intervals_hold(tmp_path):
    rng = np.random.default_rng(2)
    frame, p = a_log(rng)
    events = Events(job(tmp_path, frame))
    rows = PlannedEvents(events, EVENTS | {"budget": 200})
    again = [(rng.random(ROWS) < p).astype(float) for _ in range(40)]
    inside = events.tops[0.1]["now"]
    areas = {name: np.mean([auc(y, frame[name])[0] for y in again]) for name in PREDICTIONS}
    truth = {
        ("now", "auc", 1.0, None): areas["now"],
        ("now", "predicted_over_observed", 1.0, None): frame["now"].mean() / p.mean(),
        ("now", "predicted_over_observed", 0.1, None): frame["now"][inside].mean()
        / p[inside].mean(),
        ("new", "auc", None, "now"): areas["new"] - areas["now"],
    }
    found = []
    for turn in range(60):
        y = (rng.random(ROWS) < p).astype(float)
        chances, bought = drawn(events, rows, 200, turn)
        found.append(answers(events, chances, bought, y))
    for key, value in truth.items():
        told = np.array([[one[key][end] for end in ("value", "low", "high")] for one in found])
        error = told[:, 0].std() / np.sqrt(len(told))
        # The ratio's own bend, of the order of its variance, is allowed for.
        assert abs(told[:, 0].mean() - value) < 4 * error + told[:, 0].var() / value
        held = np.mean((told[:, 1] <= value) & (value <= told[:, 2]))
        assert held >= 0.87, key  # 60 draws of .95: below by chance in 1 of 100


def test_with_every_label_measures_are_those_of_a_log_without_blanks(tmp_path):
    rng = np.random.default_rng(3)
    frame, p = a_log(rng, 400)
    y = (rng.random(400) < p).astype(int)
    labels = frame[["event"]].assign(fraud=y, chance=1.0)
    made, rows, told = event_measures(job(tmp_path, frame, labels=labels))
    assert rows == made["rows"] == told["rows_known"] == 400
    assert told["labels_bought"] == 400 and told["rows_nonzero"] == y.sum()
    facts = {"predictions": PREDICTIONS, "outcome": OUTCOME, "top": [0.1]}
    log = ScoredLog(facts | {"labeling": {"keep_rate": 1.0, "rows_before": 0}})
    log.sort(tmp_path / "run.parquet", frame.assign(fraud=y))
    whole = log.merge([tmp_path / "run.parquet"])
    for kind in ("estimates", "differences"):
        keys = ("predictions", "other", "metric", "top")
        want = {tuple(one.get(key) for key in keys): one for one in whole[kind]}
        for one in made[kind]:
            key = tuple(one.get(name) for name in keys)
            assert one["value"] == pytest.approx(want[key]["value"], rel=1e-9), key
            if one.get("top") == 1.0 and one["metric"] in ("auc", "brier"):
                error = want[key]["standard_error"]
                assert one["standard_error"] == pytest.approx(error, rel=0.15)


def test_rewards_that_the_log_has_count_for_themselves(tmp_path):
    rng = np.random.default_rng(4)
    frame, p = a_log(rng, 300)
    y = (rng.random(300) < p).astype(int)
    held = frame["now"] > 0.6  # whatever led to them
    frame.loc[held, "fraud"] = y[held].astype(str)
    labels = frame.loc[~held, ["event"]].assign(fraud=y[~held], chance=1.0)
    made, _, told = event_measures(job(tmp_path, frame, labels=labels))
    first = made["estimates"][0]
    assert told["labels_bought"] == (~held).sum() and first["rows"] == 300
    assert first["value"] == pytest.approx(auc(y, frame["now"])[0], rel=1e-9)
    squared = next(one for one in made["estimates"] if one["metric"] == "brier")
    assert squared["value"] == pytest.approx(brier(y, frame["now"])[0], rel=1e-9)
    again = labels.assign(event=frame.loc[held, "event"].iloc[0]).head(1)
    with pytest.raises(CounterweightError, match="whose outcome the table knows"):
        event_measures(job(tmp_path, frame, labels=pd.concat([labels, again])))


def test_labels_of_a_log_alone_stand_for_all_events_without_a_reward(tmp_path):
    frame, _ = a_log(np.random.default_rng(4), 300)
    labels = frame[["event"]].head(60).assign(fraud=np.arange(60) % 2, chance=0.2)
    assert event_measures(job(tmp_path, frame, labels=labels))[2]["labels_bought"] == 60
    with pytest.raises(CounterweightError, match="some 60 rows without a reward .* there are 300"):
        event_measures(job(tmp_path, frame, labels=labels.assign(chance=1)))


def test_a_plan_draws_where_labels_tell_and_a_larger_one_goes_on(tmp_path):
    frame, p = a_log(np.random.default_rng(5))
    first, plan, records = planned_events(job(tmp_path, frame, {"budget": 60, "for": "top"}))
    top = highest(frame["now"].to_numpy(), 0.1) | highest(frame["new"].to_numpy(), 0.1)
    share = plan["chance"].to_numpy()
    assert share[top].mean() > 3 * share[~top].mean() and (share > 0).all()
    more = planned_events(job(tmp_path, frame, {"budget": 90, "for": "top"}))[0]
    assert more["event"].tolist()[:60] == first["event"].tolist() and len(more) == 90
    told = {(one["metric"], one.get("part"), one.get("variable")): one["value"] for one in records}
    assert told["labels_planned", "", None] == 60 and told["planned_auc", "new", ""] > 0
    assert told["planned_half_width", None, "low"] <= told["planned_half_width", "", None]
    labels = first.assign(fraud=(np.arange(60) % 3 == 0).astype(int))
    back = planned_events(job(tmp_path, frame, {"budget": 90, "for": "top"}, labels))[0]
    assert back["fraud"].astype(str).tolist()[:60] == labels["fraud"].astype(str).tolist()
    assert (back["fraud"][60:] == "").all()
    labels.loc[0, "event"] = plan.loc[~plan["drawn"], "event"].iloc[-1]
    with pytest.raises(CounterweightError, match="rows that the plan does not have"):
        planned_events(job(tmp_path, frame, {"budget": 60, "for": "top"}, labels))


@pytest.mark.parametrize(
    ("wanted", "metric", "top"),
    [
        ("all", "auc", 1.0),
        ("auc", "auc", 1.0),
        ("calibration", "predicted_over_observed", 1.0),
        ("top", "predicted_over_observed", 0.1),
    ],
)
def test_what_is_reached_is_the_interval_of_what_the_plan_is_for(tmp_path, wanted, metric, top):
    """And rows, in the log, of known rewards and still to be labeled are told apart."""
    rng = np.random.default_rng(8)
    frame, p = a_log(rng, 600)
    y = (rng.random(600) < p).astype(int)
    collect = {"budget": 200, "for": wanted}
    listed, plan, _ = planned_events(job(tmp_path, frame, collect))
    own = job(
        tmp_path, frame, collect, listed.assign(fraud=y[[int(e[1:]) for e in listed["event"]]])
    )
    plan.to_parquet(tmp_path / "plan.parquet")
    labels = pd.read_csv(tmp_path / "labels.csv", dtype=str)
    labels.loc[150:, "fraud"] = None
    labels.to_csv(tmp_path / "labels.csv", index=False)
    own.input.plan = str(tmp_path / "plan.parquet")
    made, rows, told = event_measures(own)
    assert (rows, made["rows"], told["rows_known"], told["labels_waiting"]) == (600, 150, 150, 50)
    first = next(one for one in made["estimates"] if (one["metric"], one["top"]) == (metric, top))
    half = (first["high"] - first["low"]) / 2
    name, factor = ("points", 100) if metric == "auc" else ("half_width", 1)
    assert told[f"reached_{name}"] == pytest.approx(factor * half)


def test_a_half_width_that_no_labels_give_is_told_with_what_all_of_them_do(tmp_path, caplog):
    frame, _ = a_log(np.random.default_rng(5), 300)
    listed, _, records = planned_events(job(tmp_path, frame, {"half_width": 0.01, "for": "auc"}))
    told = {one["metric"]: one["value"] for one in records if not one.get("variable")}
    assert len(listed) == told["labels_planned"] == 300 and "budget_needed" not in told
    assert told["wanted_points"] == 1.0 < told["least_points"]
    assert told["least_points"] == pytest.approx(told["planned_points"])
    assert "of all rows are expected to give" in caplog.text and "±0.01 is wanted" in caplog.text


def test_what_is_expected_is_what_is_reached(tmp_path):
    rng = np.random.default_rng(6)
    frame, p = a_log(rng, 3000)
    frame["now"] = p  # right, so that what is expected may be
    events = Events(job(tmp_path, frame))
    rows = PlannedEvents(events, EVENTS | {"budget": 400, "for": "auc"})
    expected = next(one for _, count, one in rows.groups(np.ones(3000, bool), rows.chances(400)))
    reached = []
    for turn in range(12):
        y = (rng.random(3000) < p).astype(float)
        own = answers(events, *drawn(events, rows, 400, turn), y)["now", "auc", 1.0, None]
        reached.append((own["high"] - own["low"]) / 2)
    assert expected == pytest.approx(np.mean(reached), rel=0.15)
    ((low, high),) = rows.spans([rows.chances(400)])
    assert low <= expected < high
    # A range goes by the measure that is told first: it alone is worked out.
    (key,), alone = [*rows.moved(p, rows.wanted[:1])], rows.moved(p)
    assert key == ("auc", "now", 0.0) and len(alone) == 6
    np.testing.assert_array_equal(rows.moved(p, [key])[key], alone[key])


@pytest.mark.parametrize("turn", [lambda s: s + 1.5, lambda s: s - 2.5, lambda s: 2.5 * s + 2])
def test_labels_put_right_what_is_expected_by_predictions_that_are_off(tmp_path, turn):
    rng = np.random.default_rng(6)
    frame, p = a_log(rng, 3000)
    y = (rng.random(3000) < p).astype(float)
    frame["now"] = expit(turn(np.log(p / (1 - p))))
    events = Events(job(tmp_path, frame))
    rows = PlannedEvents(events, EVENTS | {"budget": 400, "for": "auc"})
    before, after, reached = [], [], []
    for seed in range(8):
        chances, bought = drawn(events, rows, 400, seed)
        own = answers(events, chances, bought, y)["now", "auc", 1.0, None]
        reached.append((own["high"] - own["low"]) / 2)
        told = SimpleNamespace(told=lambda: (y, chances, bought, events.chance))  # noqa: B023
        for plan, found in ((rows, before), (rows.after(told), after)):
            found.append(next(one for _, _, one in plan.groups(bought, chances)))
    assert np.mean(after) == pytest.approx(np.mean(reached), rel=0.15)
    assert abs(np.log(np.mean(before) / np.mean(reached))) > np.log(1.2)


def test_what_cannot_be_planned_is_told(tmp_path):
    frame, p = a_log(np.random.default_rng(7), 60)
    with pytest.raises(CounterweightError, match="is a chance from 0 to 1"):
        Events(job(tmp_path, frame.assign(now=frame["now"] * 9, new=-3.0)))
    with pytest.raises(CounterweightError, match="filled in in all rows"):
        Events(job(tmp_path, frame.assign(fraud=1)))
    with pytest.raises(CounterweightError, match="outcomes in 'fraud' that the table does not"):
        Events(job(tmp_path, frame.assign(fraud="maybe")))
    labels = frame[["event"]].assign(fraud=0, chance=1.0)
    with pytest.raises(CounterweightError, match="so nothing ranks"):
        event_measures(job(tmp_path, frame, labels=labels))


def test_rewards_are_read_as_they_are_written():
    texts = ["yes", " no", "", None, "yes"]
    known = rewards_read(texts, OUTCOME | {"positive": "yes"}, "here")
    np.testing.assert_array_equal(known, [1, 0, np.nan, np.nan, 1])
    np.testing.assert_array_equal(rewards_read(["1", "0.0", ""], OUTCOME, "here"), [1, 0, np.nan])


def test_a_share_of_few_rows_has_the_interval_of_a_count():
    # Clopper and Pearson of 27 of 30, and of none of 10.
    low, high = share_interval(0.9, np.sqrt(0.9 * 0.1 / 30), 30)
    assert (low, high) == (pytest.approx(0.7347, abs=1e-4), pytest.approx(0.9789, abs=1e-4))
    assert share_interval(0.0, 0.0, 10) == (0.0, pytest.approx(1 - 0.025**0.1))


@pytest.mark.parametrize(("labels", "told"), [(9, False), (10, True)])
def test_the_ratio_of_few_labels_among_the_highest_has_no_interval(tmp_path, labels, told):
    rng = np.random.default_rng(5)
    frame, p = a_log(rng, 400)
    events = Events(job(tmp_path, frame))
    inside, y = np.flatnonzero(events.tops[0.1]["now"]), (rng.random(400) < p).astype(float)
    y[inside[:2]] = 0, 1
    bought = np.ones(400, bool)
    bought[inside[labels:]] = False
    made = answers(events, np.where(bought, 0.5, 1.0), bought, y)
    highest_ones = made["now", "predicted_over_observed", 0.1, None]
    assert highest_ones["rows"] == labels and highest_ones["value"] > 0
    for name in ("standard_error", "low", "high"):
        assert (highest_ones[name] is not None) == told
    assert made["now", "predicted_over_observed", 1.0, None]["low"] > 0


def test_what_is_expected_of_near_certain_predictions_is_within_what_may_come(tmp_path):
    """Most scores are next to 0 or 1: a 1 where it is not foretold moves the AUC a lot."""
    rng = np.random.default_rng(8)
    frame, _ = a_log(rng, 3000)
    z = rng.normal(size=3000)
    frame["now"] = expit(3 * z - 5)
    y = (rng.random(3000) < frame["now"]).astype(int)
    rows = PlannedEvents(Events(job(tmp_path, frame)), EVENTS | {"for": "auc"})
    curve, reached = rows.curves(300), []
    own = curve[curve["budget"] == 300].iloc[0]
    assert own["low"] < own["plan"] < own["wrong"] <= own["high"] * (1 + 1e-9)
    for turn in range(40):
        chances, bought = drawn(SimpleNamespace(ids=frame["event"]), rows, 300, turn)
        told = collected_metric(
            "auc", np.where(bought, y, np.nan), chances, bought, frame["now"], beyond=True
        )
        reached.append((told.high - told.low) / 2)
    assert own["low"] < np.median(reached) < own["high"]
    assert own["plan"] == pytest.approx(np.mean(reached), rel=0.35)
    # Nothing is further from what it is told to be than half of all there is.
    assert rows.curves(8)[["plan", "wrong", "plain", "low", "high"]].max().max() <= 0.5


def test_a_reward_moves_the_ratio_of_the_highest_as_its_derivative():
    rng = np.random.default_rng(3)
    score, reward, blank = rng.random(12), rng.random(12), np.array([1, 4, 6, 9])
    inside, key = np.arange(12) % 2 == 0, ("ratio", "new", 0.5)
    made = object.__new__(PlannedEvents)
    made.events = SimpleNamespace(predicted={"new": score}, reward=reward, blank=blank)
    made.events.tops = {0.5: {"new": inside}}

    def ratio(own):
        known = reward.copy()
        known[blank] = own
        return score[inside].sum() / known[inside].sum()

    own, step = reward[blank], 1e-6 * np.eye(4)
    slopes = [abs(ratio(own + one) - ratio(own - one)) / 2e-6 for one in step]
    # A row moves the mean of the four by a quarter of its own change.
    assert made.moved(own, [key])[key][0] == pytest.approx(4 * np.array(slopes), rel=1e-6)
