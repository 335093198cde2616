"""Labels bought by design: what is made of them for the table, its rows and its page."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery import collected_answers
from counterweight.delivery.collected_answers import CollectedAnswers, half_width
from counterweight.errors import CounterweightError
from counterweight.numerics.coins import VARIABLE
from counterweight.numerics.estimate import Estimate
from counterweight.tables.parquet import read_table
from delivering import delivered, people

LABELED = np.array([True] * 6 + [False] * 14)
KNOWN = np.array([1.0, 0, 1, 1, 0, 1])


def answers(outcome=None, drawn=10, binary=True, target="general", group=None, level=0.95):
    """Answers about 14 rows without an outcome, the first ten of which were drawn."""
    made = object.__new__(CollectedAnswers)
    if outcome is None:
        outcome = np.array([1.0, 0, 1, 0, 1, 1, 0, 1] + [np.nan] * 6)
    y = np.concatenate([KNOWN, np.zeros(14)])
    made.data = SimpleNamespace(labeled=LABELED, y=y, binary=binary, rows=np.arange(20))
    made.blank, made.outcome, made.bought = np.arange(6, 20), outcome, ~np.isnan(outcome)
    made.drawn = np.arange(14) < drawn
    made.asked = np.full(14, drawn / 14)
    made.chances = made.asked * made.bought.sum() / drawn
    made.predicted = np.linspace(0.2, 0.8, 14)
    made.binary, made.target, made.level, made.group = binary, target, level, group
    made.refused, made.waiting, made.collect = int((made.drawn & ~made.bought).sum()), 0, None
    return made


def test_the_mean_of_all_is_that_of_known_rows_and_of_the_others_by_their_shares():
    made = answers()
    (_, whole), (part, hidden) = made.means()
    assert part == "unlabeled" and hidden == made.mean()
    for end in ("value", "low", "high"):
        assert getattr(whole, end) == pytest.approx(4 / 20 + 14 / 20 * getattr(hidden, end))
    assert whole.standard_error == pytest.approx(14 / 20 * hidden.standard_error)
    alone = answers(target="unlabeled")
    assert alone.means() == [("", alone.mean()), ("unlabeled", alone.mean())]


def test_a_simple_sample_that_all_answered_has_the_regression_estimate_of_its_mean():
    outcome = np.where(np.arange(14) < 10, np.arange(14) % 2, np.nan)
    made = answers(outcome)
    assert made.refused == 0
    # Where predictions are one constant, the estimate is the mean of the labels.
    made.predicted = np.full(14, 0.5)
    assert made.mean().value == pytest.approx(0.5)


def test_labels_take_the_place_of_estimates_in_the_scores():
    made = answers()
    scores = pd.DataFrame({name: np.full(20, 0.5) for name in ("estimate", "low", "high")})
    scores["decision"], scores["supported"], scores["reason"] = "no", False, "few like it"
    made.fill(scores, np.array(["no", "yes"]))
    told = scores.iloc[6:14]
    for column in ("estimate", "low", "high"):
        assert told[column].tolist() == made.outcome[:8].tolist()
    assert told["decision"].tolist() == ["yes" if y else "no" for y in made.outcome[:8]]
    assert told["supported"].all() and (told["reason"] == "").all() and told["bought"].all()
    rest = scores.drop(told.index)
    assert (rest["estimate"] == 0.5).all() and not rest["bought"].any()
    assert not rest["supported"].any() and (rest["reason"] == "few like it").all()


def test_numbers_that_are_all_0_or_1_are_not_taken_for_classes():
    with pytest.raises(CounterweightError, match="All 8 bought outcomes are 0 or 1"):
        answers(binary=False)._check_classes()
    answers()._check_classes()
    other = np.array([1.0, 0, 2.5, 0, 1, 1, 0, 1] + [np.nan] * 6)
    answers(other, binary=False)._check_classes()


def test_records_count_labels_and_hold_the_interval_and_its_half_width(monkeypatch):
    monkeypatch.setattr(CollectedAnswers, "_refutation", lambda self: [])
    made = answers()
    at_random = Estimate(0.4, 0.1, 0.2, 0.6, 14, 14.0, np.nan)
    found = pd.DataFrame(made.records([("", at_random), ("unlabeled", at_random)]))
    found = found.fillna({"part": "", "variable": ""}).set_index(["metric", "part", "variable"])
    value = found["value"]
    assert value["labels_bought", "", ""] == 8 and value["labels_refused", "", ""] == 2
    assert value["labels_waiting", "", ""] == 0
    assert value["target_rate", "at random", "low"] == 0.2
    assert value["target_rate", "unlabeled at random", ""] == 0.4
    hidden = made.mean()
    reached = 100 * (hidden.high - hidden.low) / 2
    assert value["reached_points", "", ""] == pytest.approx(reached)
    expected = made.predicted.mean()
    ratio = value["calibration_ratio_collected", "", ""]
    assert ratio == pytest.approx(hidden.value / expected)
    error = found["standard_error"]["calibration_ratio_collected", "", ""]
    assert error == pytest.approx(hidden.standard_error / expected)
    # Those who were asked and did not answer could be anything: the worst holds Γ = 2.
    low, high = (value["rate_bounds_collected", "worst", end] for end in ("low", "high"))
    twice = [value["rate_bounds_collected", "gamma=2", end] for end in ("low", "high")]
    assert low <= twice[0] <= twice[1] <= high and low < high
    assert {"auc_collected", "log_loss_collected", "brier_collected"} <= {*found.index.levels[0]}


def test_one_class_alone_has_no_metrics_of_predictions_and_all_answered_no_bounds(monkeypatch):
    monkeypatch.setattr(CollectedAnswers, "_refutation", lambda self: [])
    ones = np.where(np.arange(14) < 10, 1.0, np.nan)
    made = answers(ones)
    names = {one["metric"] for one in made.records([])}
    assert "auc_collected" not in names and "calibration_ratio_collected" not in names
    assert "rate_bounds_collected" not in names


def test_groups_have_the_labels_and_the_predictions_of_their_rows():
    group = np.array(["a", "b"] * 7)
    made = answers(group=group)
    found = pd.DataFrame(made._by_group())
    counts = found[found["metric"] == "labels_bought"].set_index("part")["value"]
    assert counts.to_dict() == {"a": 4, "b": 4}
    at_random = found[found["metric"] == "rate_by_group_at_random"].set_index("part")["value"]
    assert at_random["a"] == pytest.approx(made.predicted[::2].mean())
    assert at_random["b"] == pytest.approx(made.predicted[1::2].mean())


def test_half_of_an_interval_is_told_in_points_of_a_rate_and_in_the_unit_of_a_number():
    assert half_width("planned", 0.05, True, part="a") == {
        "part": "a",
        "metric": "planned_points",
        "value": 5.0,
    }
    assert half_width("planned", 0.05, False)["metric"] == "planned_half_width"
    assert half_width("planned", 0.05, False)["value"] == 0.05


def test_what_is_not_known_of_an_estimate_is_not_told():
    told = collected_answers.estimate_records(
        "m", Estimate(1.0, np.nan, np.nan, 2.0, 5, 5.0, np.nan), part="p"
    )
    assert told == [
        {"metric": "m", "rows": 5, "part": "p", "value": 1.0},
        {"metric": "m", "rows": 5, "part": "p", "variable": "high", "value": 2.0},
    ]
    nothing = Estimate(np.nan, 0.1, 0.0, 2.0, 5, 5.0, np.nan)
    assert collected_answers.estimate_records("m", nothing) == []


@dataclass
class Refuted:
    delta: float
    error: float = 0.2
    slope: float = np.nan
    slope_error: float = 0.3
    refuted: bool = True
    rows: int = 9
    groups: dict = field(default_factory=dict)

    @property
    def gamma(self):
        return np.exp(self.delta)

    @property
    def low(self):
        return np.exp(self.delta - 1)

    @property
    def high(self):
        return np.exp(self.delta + 1)


@pytest.mark.parametrize("binary", [True, False])
def test_a_shift_is_told_as_odds_of_classes_and_as_a_difference_of_numbers(monkeypatch, binary):
    made = answers(binary=binary)
    found = Refuted(0.5, slope=1.25, groups={"a": Refuted(np.nan), "b": Refuted(-0.5)})
    monkeypatch.setattr(CollectedAnswers, "test", lambda self: found)
    told = pd.DataFrame(made._refutation()).fillna({"variable": "", "part": ""})
    assert set(told["part"]) == {"", "b"}
    value = told.set_index(["metric", "part", "variable"])["value"]
    error = told.set_index(["metric", "part", "variable"])["standard_error"]
    if binary:
        assert value["odds_to_random", "", ""] == pytest.approx(np.exp(0.5))
        assert value["odds_to_random", "b", "low"] == pytest.approx(np.exp(-1.5))
        # Of exp(delta), by the delta method.
        assert error["odds_to_random", "", ""] == pytest.approx(0.2 * np.exp(0.5))
    else:
        assert value["shift_to_random", "", ""] == 0.5
        low, high = (value["shift_to_random", "", end] for end in ("low", "high"))
        assert (high - low) / 2 == pytest.approx(1.959964 * 0.2) and low + high == 1
        assert error["shift_to_random", "b", ""] == 0.2
    assert value["slope_to_random", "", ""] == 1.25 and ("slope_to_random", "b", "") not in value
    assert value["random_refuted", "", ""] == 1


class Rows:
    """Expected half-widths of made-up rows."""

    points, cost, least = True, np.array([1.0, 2.0, 3.0, 4.0]), 0.01

    def curves(self, budget, first):
        table = {"budget": [10, budget], "plan": [0.1, 0.05], "wrong": [0.2, np.nan]}
        ends = {"low": [0.08, np.nan], "high": [0.15, 0.06]} if first else {}
        return pd.DataFrame(table | {"plain": [0.3, 0.1]} | ends)

    def chances(self, budget):
        return np.full(4, budget / 40)

    def spans(self, chances):
        assert (chances[0] == 0.5).all()
        return [(0.04, np.nan)] * len(chances)

    def groups(self, drawn, chance):
        return [("a", drawn.sum(), 0.07), ("b", 0, np.nan)]

    def enough(self, wanted):
        return 100 * wanted


def test_what_is_expected_of_a_plan_is_told_by_budget_and_group():
    plan = pd.DataFrame({"drawn": [True, False, True, False], "chance": 0.5})
    collect = {"half_width": 0.02, "cost": "price"}
    told = pd.DataFrame(collected_answers.expected_records(plan, Rows(), 20, collect, True))
    told = told.fillna({"part": "", "variable": ""})
    value = told.set_index(["metric", "part", "variable"])["value"]
    assert value["expected_points", "10", "wrong"] == 20.0
    assert value["expected_points", "20", "plain"] == 10.0
    assert ("expected_points", "20", "wrong") not in value
    assert value["expected_points", "20", "high"] == 6.0
    assert ("expected_points", "20", "low") not in value
    assert value["planned_points", "", "low"] == 4.0 and ("planned_points", "", "high") not in value
    assert value["labels_planned", "a", ""] == 2 and value[
        "planned_points", "a", ""
    ] == pytest.approx(7)
    assert value["labels_planned", "b", ""] == 0 and ("planned_points", "b", "") not in value
    assert value["labels_budget", "", ""] == 20 and value["budget_needed", "", ""] == 2
    assert value["labels_cost", "", ""] == 4.0 and value["wanted_points", "", ""] == 2.0
    assert "least_points" not in {*told["metric"]}
    # Where all rows are not enough, no budget is said to be.
    told = collected_answers.expected_records(plan, Rows(), 20, collect | {"half_width": 5e-3}, 1)
    told = {one["metric"]: one["value"] for one in told}
    assert told["least_points"] == 1.0 and "budget_needed" not in told
    later = collected_answers.expected_records(plan, Rows(), 20, collect, False)
    assert not [one for one in later if one.get("variable") in ("low", "high")]
    assert not [one for one in later if one["metric"] == "planned_points" and "part" not in one]


def decided_people():
    """People whose rule says yes by age, their outcomes whole, and blank by the outcome itself."""
    frame, rng = people(900, 5), np.random.default_rng(6)
    age = frame["age"].fillna(40)
    y = (rng.random(900) < 1 / (1 + np.exp(-(age - 40) / 8))).astype(float)
    frame["score"] = np.round((age + rng.normal(0, 8, 900)).clip(0, 90) / 90, 3)
    frame["y"] = y.where(rng.random(900) < np.where(y == 1, 0.35, 0.7))
    return frame, y


def true_rates(d, y):
    return {
        "recall": d[y == 1].mean(),
        "false_positive_rate": d[y == 0].mean(),
        "precision": y[d == 1].mean(),
        "error": (d != y).mean(),
        "coverage": d.mean(),
        "value": (d * (3 * y - (1 - y))).mean(),
    }


@pytest.mark.usefixtures("few_trees")
def test_rates_of_decisions_are_planned_and_answered_for_all_rows_and_by_group(
    tmp_path, monkeypatch
):
    frame, y = decided_people()
    collect = {"budget": 150, "for": "rates", "by": "member"}
    collect["decision"] = {"column": "score", "above": 0.48}
    collect["worth"] = {"true_positive": 3, "false_positive": -1}
    # Which rows are drawn goes by the key, which is a new one wherever there is none.
    monkeypatch.setenv(VARIABLE, "5a" * 32)
    own, _ = delivered(tmp_path, frame, collect=collect)
    made = own.run("collect")
    ahead = read_table(made["metrics"]).fillna({"part": ""}).set_index(["metric", "part"])["value"]
    labels = pd.read_csv(made["csv"], dtype={"who": str})
    labels["y"] = labels["who"].map(pd.Series(y.to_numpy(), index=frame["who"])).astype(int)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    file = str(tmp_path / "labels.csv")
    (tmp_path / "answer").mkdir()
    answered, files = delivered(tmp_path, frame, collect=collect, collected=file)
    told = read_table(files["metrics"]).fillna({"part": "", "variable": ""})
    told = told.set_index(["metric", "part", "variable"])["value"]
    d, held = (frame["score"] > 0.48).astype(float), []
    for part in ("", "no", "yes"):
        mine = (frame["member"] == part) | (part == "")
        for name, truth in true_rates(d[mine], y[mine]).items():
            metric = f"decided_{name}_collected"
            low, high = (told[metric, part, end] for end in ("low", "high"))
            assert low <= told[metric, part, ""] <= high
            held.append(low - 1e-9 <= truth <= high + 1e-9)
            if name == "coverage":
                assert low == high == pytest.approx(truth)
            else:
                assert ahead[f"planned_decided_{name}", part] > 0
    assert sum(held) >= 16
    # The half-widths that were expected are those that came, as far as one draw tells.
    half = told["decided_error_collected", "", "high"] - told["decided_error_collected", "", "low"]
    assert ahead["planned_decided_error", ""] == pytest.approx(half / 2, rel=0.4)
