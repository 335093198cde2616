"""Rewards that are numbers, learned from a log that dropped zeros: expected rewards of all rows."""

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.saved_models import load
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.subsampling.calibrated_subsample import CalibratedNumbers
from delivering import Own

RATE = 0.05


def a_game(rows, seed):
    """What players spend, at most 50: all rows, and which of them a log kept at `RATE`."""
    rng = np.random.default_rng(seed)
    stage, minutes = rng.integers(1, 40, rows), rng.gamma(2.0, 10.0, rows)
    pays = rng.random(rows) < 1 / (1 + np.exp(4 - 0.05 * stage - 0.03 * minutes))
    spent = np.where(pays, np.minimum(rng.gamma(2.0, 2.0 + 0.1 * stage) + 0.5, 50), 0.0)
    frame = pd.DataFrame({"stage": stage, "minutes": minutes.round(2), "spent": spent.round(2)})
    frame["who"] = [f"g{number}" for number in rng.integers(rows // 20, size=rows)]
    return frame, (spent > 0) | (rng.random(rows) < RATE)


ENTRY = {"outcome": {"column": "spent", "kind": "number"}, "keep_rate": RATE, "user": "who"}
#: Quick: no trees.
STUDY = {
    "models": [
        {"model": "logistic", "name": "weighted", "l2": 1.0, "per_row": False},
        {"model": "calibrated_numbers", "name": "calibrated", "learner": "linear"},
    ],
    "deliver": {"method": "calibrated"},
}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    frame, kept = a_game(30_000, 1)
    own = Own(tmp_path_factory.mktemp("game"), frame[kept], ENTRY | {"study": STUDY})
    own.run("label")
    for method in own.study["methods"]:
        own.run("train", method)
    told = {name: own.run("evaluate", name) for name in own.study["methods"]}
    return frame, told, own.run("deliver")


def measured(records, metric):
    (found,) = (
        one
        for one in records
        if one["metric"] == metric and not one["part"] and "variable" not in one
    )
    return found


def test_measures_are_of_all_rows_that_there_were(played):
    frame, told, _ = played
    for records in told.values():
        ratio = measured(records, "calibration_ratio")
        assert abs(ratio["value"] - 1) < 4 * ratio["standard_error"]
        # Most of the squared error is the spread of the rewards themselves.
        error = measured(records, "mse")
        spread = frame["spent"].var() * (1 - measured(records, "r2")["value"])
        assert abs(error["value"] - spread) < 4 * error["standard_error"]


def test_the_mean_is_of_all_rows_that_there_were_with_the_error_of_those_that_were_dropped(played):
    frame, _, files = played
    told = pd.read_parquet(files["metrics"]).query("metric == 'target_mean'")
    mean, low, high = told["value"]
    assert low < frame["spent"].mean() < high and low < mean < high
    # A zero stands for 20 where one in 20 was kept: so far would other draws have been.
    zero = (frame["spent"] == 0).sum()
    rows = 20 * np.random.default_rng(5).binomial(zero, RATE, 4_000) + len(frame) - zero
    means = frame["spent"].sum() / rows
    assert (high - low) / (2 * 1.96) == pytest.approx(means.std(), rel=0.1)


def test_what_is_given_away_tells_new_rows_of_the_whole_log(played):
    _, _, files = played
    new, _ = a_game(30_000, 2)
    estimate = load(files["model"]).scores(new, reasons=False)["estimate"].to_numpy()
    spent = new["spent"].to_numpy()
    top = estimate > np.quantile(estimate, 0.9)
    for rows in (top | True, top):
        error = 4 * spent[rows].std() / np.sqrt(rows.sum()) + 0.05 * spent[rows].mean()
        assert abs(estimate[rows].mean() - spent[rows].mean()) < error


def test_where_it_is_known_how_many_rows_there_were_the_mean_has_no_chance(tmp_path):
    frame, kept = a_game(4_000, 6)
    study = STUDY | {"models": STUDY["models"][1:]}
    own = Own(tmp_path, frame[kept], ENTRY | {"rows_before": 4_000, "study": study})
    labels = pd.read_parquet(own.run("label")["labels"])
    zeros = (frame[kept]["spent"] == 0).to_numpy()
    assert labels["weight"].sum() == pytest.approx(4_000, rel=1e-12)
    assert (labels["weight"][~zeros] == 1).all()
    own.run("train", "calibrated")
    own.run("evaluate", "calibrated")
    told = pd.read_parquet(own.run("deliver")["metrics"]).query("metric == 'target_mean'")
    assert told["value"].to_numpy() == pytest.approx(frame["spent"].sum() / 4_000, rel=1e-9)


def encoded(frame):
    types = {"stage": "number", "minutes": "number"}
    return TabularEncoder().fit(frame, list(types), types).encode(frame)


def test_the_calibration_is_by_weighted_means():
    frame, kept = a_game(20_000, 3)
    frame = frame[kept].reset_index(drop=True)
    y, rows = frame["spent"].to_numpy(), encoded(frame)
    weight = np.where(y == 0, 1 / RATE, 1.0)
    model = CalibratedNumbers("linear", bins=1)
    model.fit(rows, y, weight, rng=np.random.default_rng(0))
    # One bin: its weighted mean for everybody.
    np.testing.assert_allclose(model.predict(rows), np.average(y, weights=weight))
    model = CalibratedNumbers("linear").fit(rows, y, weight, rng=np.random.default_rng(0))
    p = model.predict(rows)
    assert np.average(p, weights=weight) == pytest.approx(np.average(y, weights=weight), rel=0.03)
    raw, _, _ = model.contributions(rows)
    assert (np.diff(p[np.argsort(raw)]) >= 0).all()
    twice = CalibratedNumbers("linear").fit(rows, y, 2 * weight, rng=np.random.default_rng(0))
    np.testing.assert_allclose(twice.predict(rows), p)
    same = CalibratedNumbers.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(same.predict(rows), p)
    np.testing.assert_array_equal(same.answers(raw), p)


@pytest.mark.parametrize(
    ("change", "asked", "sentence"),
    [
        ({}, {"rows_before": 4_000}, "Correct keep_rate or rows_before"),
        ({"spent": None}, {}, "The outcome is missing in 1 of"),
        ({}, {"keep_rate": "0,05"}, "a number in a config has a point"),
    ],
)
def test_what_contradicts_is_told(tmp_path, change, asked, sentence):
    frame, kept = a_game(2_000, 4)
    frame = frame[kept].reset_index(drop=True)
    for column, value in change.items():
        frame.loc[3, column] = value
    with pytest.raises(CounterweightError, match=sentence):
        Own(tmp_path, frame, ENTRY | {"study": STUDY} | asked).run("label")
