"""Test rows as a log that lost a part of its zeros: who is kept, and what metrics make of it."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.predictions import evaluate_predictions
from counterweight.labeling.split import describe_labels
from counterweight.plan.components import load, registry
from study_parts import label_rows

ROWS = 4000
RATE = 0.2


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    p = 1 / (1 + np.exp(2.5 - 1.5 * x))
    return pd.DataFrame(
        {"row": np.arange(rows, dtype=np.int32), "x": x, "y": (rng.random(rows) < p).astype(int)}
    )


def labeled(frame, keep_rate, rule=None, outcome=None, **options):
    rule = rule or (lambda frame, truth, rng: np.ones(len(frame), bool))
    outcome = outcome or (lambda frame, population: frame["y"].to_numpy())
    options = {"targets": ("general",), "complete": True} | options
    return label_rows(
        frame,
        frame[["row", "x"]],
        None,
        rule,
        outcome,
        seed=3,
        study="s",
        repeats=2,
        test_share=0.4,
        keep_rate=keep_rate,
        **options,
    )


def test_training_rows_and_positives_are_all_kept():
    frame = table()
    full, hidden = labeled(frame, 1.0)
    kept, _ = labeled(frame, RATE)
    for repeat in (0, 1):
        before, after = full[full["repeat"] == repeat], kept[kept["repeat"] == repeat]
        gone = before[~before["row"].isin(after["row"])]
        assert len(gone) > 0
        assert (gone["role"] == "test").all()
        assert (frame["y"].to_numpy()[gone["row"]] == 0).all()
        zeros = before[(before["role"] == "test") & (frame["y"].to_numpy()[before["row"]] == 0)]
        share = 1 - len(gone) / len(zeros)
        assert abs(share - RATE) < 4 * np.sqrt(RATE * (1 - RATE) / len(zeros))


def test_the_rate_stands_beside_the_rows_that_could_have_been_rejected():
    frame = table()
    kept, hidden = labeled(frame, RATE)
    zero = (kept["role"] == "test").to_numpy() & (hidden["y_general"] == 0).to_numpy(dtype=bool)
    np.testing.assert_array_equal(kept["keep_rate"], np.where(zero, RATE, 1.0))
    assert (hidden.index == kept.index).all()
    assert (hidden["row"].to_numpy() == kept["row"].to_numpy()).all()


def test_a_lower_rate_keeps_a_subset():
    frame = table()
    some, fewer = labeled(frame, 0.5)[0], labeled(frame, 0.1)[0]
    kept = set(zip(some["repeat"], some["row"], strict=True))
    assert set(zip(fewer["repeat"], fewer["row"], strict=True)) < kept


def test_a_row_that_is_positive_for_any_target_stays():
    frame = table()

    def outcome(frame, population):
        # Everything is positive for the unlabeled population.
        y = frame["y"].to_numpy()
        return y if population.all() else np.where(np.arange(len(y)) % 2, 1, y)

    def rule(frame, truth, rng):
        return frame["x"].to_numpy() > -0.5

    targets = ("general", "unlabeled")
    options = {"rule": rule, "outcome": outcome, "targets": targets, "complete": False}
    full, hidden = labeled(frame, 1.0, **options)
    kept, _ = labeled(frame, 0.01, **options)
    either = ((hidden["y_general"] == 1) | (hidden["y_unlabeled"] == 1)).to_numpy(dtype=bool)
    wanted = set(full.index[either | (full["role"] != "test").to_numpy()])
    assert wanted <= set(
        full.set_index(["repeat", "row"]).index.get_indexer(
            pd.MultiIndex.from_frame(kept[["repeat", "row"]])
        )
    )


def test_the_share_of_positives_is_that_of_the_whole_log():
    frame = table(40_000)
    shares = {}
    for rate in (1.0, RATE):
        records = describe_labels(*labeled(frame, rate), dropped=0)
        found = [r for r in records if r["metric"] == "positive_share" and r["part"] == "target"]
        shares[rate] = found[0]
    difference = shares[RATE]["value"] - shares[1.0]["value"]
    assert abs(difference) < 3 * shares[RATE]["standard_error"]
    assert shares[RATE]["rows"] < shares[1.0]["rows"]


def predictions(rows, p):
    count = len(rows)
    return {
        "repeat": np.zeros(count, int),
        "row": rows,
        "p": p,
        "target": (np.zeros(count, int), ["general"]),
        "setting": (np.zeros(count, int), [""]),
    }


def evaluated(y, p, rates=None, rows=None):
    rows = np.arange(len(y)) if rows is None else rows
    truth = {"repeat": np.zeros(len(y), int), "row": rows, "y_general": y}
    if rates is not None:
        rates = {"repeat": np.zeros(len(y), int), "row": rows, "keep_rate": rates}
    metrics = {name: load("metric", name) for name in registry("metric")}
    records = evaluate_predictions(predictions(rows, p), truth, metrics, rates=rates)
    return {record["metric"]: record for record in records}


def test_predictions_of_0_and_of_1_are_counted():
    p = np.array([0.0, 1e-13, 1e-11, 0.5, 1 - 1e-11, 1 - 1e-13, 1.0, 1.0])
    assert evaluated(np.array([0, 0, 1, 1, 0, 1, 1, 1]), p)["probabilities_clipped"]["value"] == 5


def test_rates_of_one_change_no_metric():
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 500), rng.random(500)
    plain, rated = evaluated(y, p), evaluated(y, p, np.ones(500))
    for name in registry("metric"):
        assert rated[name]["value"] == pytest.approx(plain[name]["value"], abs=1e-12)
        error = plain[name].get("standard_error", np.nan)
        assert rated[name]["standard_error"] == pytest.approx(error, rel=1e-9, nan_ok=True)


def test_a_brier_score_on_kept_rows_is_the_weighted_mean():
    y = np.array([1, 0, 0, 1])
    p = np.array([0.9, 0.2, 0.5, 0.4])
    rates = np.array([1.0, 0.1, 0.5, 1.0])
    weight = np.array([1, 10, 2, 1])
    expected = (weight * (y - p) ** 2).sum() / weight.sum()
    found = evaluated(y, p, rates)
    assert found["brier"]["value"] == pytest.approx(expected, abs=1e-15)
    assert found["effective_rows"]["value"] == pytest.approx(14**2 / 106)
    assert found["largest_keep_weight"]["value"] == 10


@pytest.mark.parametrize("rate", [0.3, 0.1])
def test_every_metric_on_kept_rows_agrees_with_the_full_one_within_its_interval(rate):
    frame = table(20_000, seed=5)
    y = frame["y"].to_numpy()
    p = 1 / (1 + np.exp(2.2 - 1.2 * frame["x"].to_numpy()))
    full = evaluated(y, p)
    rng = np.random.default_rng(7)
    inside = {name: [] for name in registry("metric") if name != "calibration_error"}
    for _ in range(100):
        kept = (y == 1) | (rng.random(len(y)) < rate)
        rows = np.flatnonzero(kept)
        found = evaluated(y[kept], p[kept], np.where(y == 0, rate, 1.0)[kept], rows)
        for name, hits in inside.items():
            gap = abs(found[name]["value"] - full[name]["value"])
            hits.append(gap <= 1.96 * found[name]["standard_error"])
    # The interval also covers what the full rows vary by, so it covers more than 95 %.
    assert {name: np.mean(hits) >= 0.92 for name, hits in inside.items()} == dict.fromkeys(
        inside, True
    )


def test_ignoring_the_rates_would_be_noticed():
    frame = table(20_000, seed=5)
    y = frame["y"].to_numpy()
    p = 1 / (1 + np.exp(2.2 - 1.2 * frame["x"].to_numpy()))
    kept = (y == 1) | (np.random.default_rng(7).random(len(y)) < 0.1)
    full, unweighted = evaluated(y, p), evaluated(y[kept], p[kept])
    gap = abs(unweighted["brier"]["value"] - full["brier"]["value"])
    assert gap > 10 * unweighted["brier"]["standard_error"]


def test_rates_of_other_rows_are_refused():
    y, p = np.array([0, 1, 0]), np.array([0.1, 0.6, 0.2])
    truth = {"repeat": np.zeros(3, int), "row": np.arange(3), "y_general": y}
    rates = {"repeat": np.zeros(2, int), "row": np.arange(2), "keep_rate": np.ones(2)}
    with pytest.raises(CounterweightError, match="rows that the study does not have"):
        evaluate_predictions(
            predictions(np.arange(3), p), truth, {"brier": load("metric", "brier")}, rates=rates
        )
