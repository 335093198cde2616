"""Rows that belong to groups, and two models on the same rows."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import (
    _left_out,
    compare_metrics,
    compare_segments,
    grouped_estimate,
    metric_estimate,
    predicted_over_observed,
)
from counterweight.evaluation.predictions import evaluate_predictions
from counterweight.plan.components import load
from scipy import stats
from scipy.special import expit
from study_parts import label_rows

METRICS = ("auc", "log_loss", "brier", "accuracy", "balanced_accuracy", "calibration_error")


def clustered(rng, users=150, rows=20, spread=1.0):
    """Rows of users whose luck is shared; predictions know the features only."""
    user = np.repeat(np.arange(users), rows)
    luck = rng.normal(scale=spread, size=users)
    x = rng.normal(size=users)[user] + 0.5 * rng.normal(size=len(user))
    y = (rng.random(len(user)) < expit(-0.5 + x + luck[user])).astype(int)
    return y, expit(-0.4 + 0.8 * x), expit(-0.2 + 0.3 * x + 0.5 * rng.normal(size=len(x))), user


@pytest.mark.parametrize("name", METRICS)
def test_groups_of_one_row_are_rows(name):
    y, p, _, _ = clustered(np.random.default_rng(0))
    weight = np.where(y == 1, 1.0, 3.0)
    for w in (None, weight):
        plain = metric_estimate(name, y, p, w)
        own = grouped_estimate(name, y, p, np.arange(len(y)), w)
        assert own.value == plain.value
        assert own.standard_error == pytest.approx(plain.standard_error, rel=0.01)
        assert own.high - own.low == pytest.approx(plain.high - plain.low, rel=0.03)


@pytest.mark.parametrize("name", METRICS)
def test_repeated_rows_say_no_more_than_once(name):
    y, p, other, _ = clustered(np.random.default_rng(1))
    rows = np.repeat(np.arange(len(y)), 4)
    once = metric_estimate(name, y, p)
    four = grouped_estimate(name, y[rows], p[rows], rows)
    assert four.standard_error == pytest.approx(once.standard_error, rel=0.01)
    gap = compare_metrics(name, y, p, other)
    same = compare_metrics(name, y[rows], p[rows], other[rows], groups=rows)
    assert same.value == pytest.approx(gap.value, rel=1e-9)
    assert same.standard_error == pytest.approx(gap.standard_error, rel=1e-6)


def test_the_difference_of_two_curves_is_that_of_delong():
    rng = np.random.default_rng(2)
    y, p, other, _ = clustered(rng, users=40, rows=5)
    gap = compare_metrics("auc", y, p, other)
    # Structural components by hand: all pairs.
    parts = []
    for s in (p, other):
        right = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
        parts.append((right.mean(axis=1), right.mean(axis=0), right.mean()))
    ten, one = (parts[0][k] - parts[1][k] for k in (0, 1))
    variance = np.var(ten, ddof=1) / len(ten) + np.var(one, ddof=1) / len(one)
    assert gap.value == pytest.approx(parts[0][2] - parts[1][2])
    assert gap.standard_error == pytest.approx(np.sqrt(variance), rel=0.01)
    assert compare_metrics("auc", y, p, p).value == 0


def test_users_of_twenty_rows_are_covered():
    """400 logs: users' intervals hold, those that take rows for independent do not."""
    rng, logs = np.random.default_rng(3), 400
    y, p, other, _ = clustered(rng, users=200_000, rows=1)
    many = clustered(np.random.default_rng(4), users=20_000)
    truth = {name: metric_estimate(name, many[0], many[1]).value for name in ("auc", "log_loss")}
    gap = compare_metrics("log_loss", *many[:3]).value
    held, naive = {"auc": [], "log_loss": [], "gap": []}, []
    found = {key: [] for key in held}
    for _ in range(logs):
        y, p, other, user = clustered(rng, users=120)
        for name, value in truth.items():
            own = grouped_estimate(name, y, p, user)
            held[name].append(own.low <= value <= own.high)
            found[name].append((own.value, own.high - own.low))
        own = compare_metrics("log_loss", y, p, other, groups=user)
        held["gap"].append(own.low <= gap <= own.high)
        found["gap"].append((own.value, own.high - own.low))
        plain = metric_estimate("log_loss", y, p)
        naive.append(plain.low <= truth["log_loss"] <= plain.high)
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / logs)
    assert {name: np.mean(one) for name, one in held.items() if np.mean(one) < least} == {}
    for values, lengths in map(np.transpose, found.values()):
        # Against intervals that know the variance over logs.
        assert 0.8 < lengths.mean() / (2 * 1.96 * values.std(ddof=1)) < 1.25
    assert np.mean(naive) < 0.85


def a_study(y, p, other, user=None):
    """Predictions of two methods, and the truth, as the files of a study have them."""
    rows = np.arange(len(y), dtype="int32")
    place = {"repeat": np.zeros(len(y), int), "row": rows}
    place |= {key: (np.zeros(len(y), int), [name]) for key, name in
              (("target", "general"), ("setting", ""))}  # fmt: skip
    truth = {"repeat": place["repeat"], "row": rows, "y_general": y}
    truth |= {} if user is None else {"user": user}
    return place | {"p": p}, place | {"p": other}, truth


def test_a_study_by_users_tells_what_the_functions_do():
    y, p, other, user = clustered(np.random.default_rng(6))
    mine, theirs, truth = a_study(y, p, other, user)
    names = np.array(["a", "b"])[(user < 50).astype(int)]
    segments = {"row": mine["row"], "segment": names}
    rate = np.where(y == 1, 1.0, 0.2)
    rates = {key: truth[key] for key in ("repeat", "row")} | {"keep_rate": rate}
    # What they are called where they are registered says nothing.
    own_names = dict(zip(METRICS, (*METRICS[1:], "loss"), strict=True))
    metrics = {own_names[name]: load("metric", name) for name in METRICS}
    records = evaluate_predictions(
        mine, truth, metrics, rates=rates, compared_with=theirs, segments=segments, top=[0.1]
    )
    told = {
        tuple(one.get(key, "") for key in ("metric", "measure", "part", "variable")): one["value"]
        for one in records
    }
    for name in METRICS:
        own = grouped_estimate(name, y, p, user, 1 / rate)
        called = own_names[name]
        assert told[called, "", "", ""] == own.value
        assert (told[called, "", "", "low"], told[called, "", "", "high"]) == (own.low, own.high)
        gap = compare_metrics(name, y, p, other, weight=1 / rate, groups=user)
        assert told["paired_difference", called, "", ""] == gap.value
        assert told["paired_difference", called, "", "high"] == gap.high
        parts = compare_segments(name, y, p, other, names, weight=1 / rate, groups=user)
        assert told["paired_difference", called, "b", "low"] == parts["b"].low
    told = [one for one in records if one["metric"] == "predicted_over_observed"]
    ends = {one.get("variable", ""): one for one in told}
    top, low, high = (ends[end] for end in ("", "low", "high"))
    plain = predicted_over_observed(y, p, 1 / rate, 0.1)
    assert top["value"] == pytest.approx(plain[0], rel=1e-12)
    assert top["standard_error"] > plain[1]
    assert low["value"] < top["value"] < high["value"]
    every = predicted_over_observed(y, p, 1 / rate, 0.1, np.arange(len(y)))
    assert every == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_metric_of_ones_own_has_errors_of_users_and_pairs(weighted):
    y, p, other, user = clustered(np.random.default_rng(8))
    weight = np.where(y == 1, 1.0, 5.0) if weighted else None
    mine, theirs, truth = a_study(y, p, other, user)
    given = {"compared_with": theirs, "segments": {"row": mine["row"], "segment": y}}
    rates = {k: truth[k] for k in ("repeat", "row")}
    given["rates"] = rates | {"keep_rate": 1 / weight} if weighted else None

    def own(y, p, weight):
        return load("metric", "auc")(y, p, weight)

    metrics = {"known": load("metric", "auc"), "own": own}
    records = evaluate_predictions(mine, truth, metrics, **given)
    told = {
        tuple(one.get(key, "") for key in ("metric", "measure", "variable")): one for one in records
    }
    for place in (("{}", "", ""), ("paired_difference", "{}", "")):
        known, found = (told[tuple(w.format(n) for w in place)] for n in ("known", "own"))
        assert found["value"] == pytest.approx(known["value"], rel=1e-12)
        # By leaving out users, and by influences: alike to first order.
        assert found["standard_error"] == pytest.approx(known["standard_error"], rel=0.03)
    # Segments of one class have no AUC, of whatever name.
    assert not any("part" in one for one in records if one["metric"] == "paired_difference")
    assert told["own", "", "high"]["value"] > told["own", "", ""]["value"]


def test_users_are_held_out_as_a_whole():
    rng = np.random.default_rng(7)
    user = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 30, size=200)))
    rows = np.arange(len(user), dtype="int32")
    frame = pd.DataFrame(
        {"row": rows, "who": user.astype(str), "y": rng.integers(2, size=len(user))}
    )
    features = pd.DataFrame({"row": rows, "x": rng.normal(size=len(user))})

    def labeled(**given):
        return label_rows(
            frame,
            features,
            None,
            lambda frame, truth, rng: np.ones(len(frame), bool),
            lambda frame, population: frame["y"].to_numpy(float),
            **{"seed": 1, "study": "s", "repeats": 2, "test_share": 0.3, "targets": ["general"]}
            | {"complete": True} | given,
        )  # fmt: skip

    labels, hidden = labeled(user="who")
    for repeat, part in labels.groupby("repeat"):
        test = (part["role"] == "test").to_numpy()
        assert set(user[test]).isdisjoint(user[~test])
        assert 0.25 < test.mean() <= 0.3
        own = hidden[hidden["repeat"] == repeat]
        assert (pd.Series(user).groupby(own["user"].to_numpy()).nunique() == 1).all()
    assert not np.array_equal(*(part["role"].to_numpy() for _, part in labels.groupby("repeat")))
    with pytest.raises(CounterweightError, match="needs the column"):
        labeled(user="nobody")
    frame.loc[3, "who"] = None
    with pytest.raises(CounterweightError, match="missing in 1 of"):
        labeled(user="who")


def test_segments_hold_at_once():
    y, p, other, user = clustered(np.random.default_rng(5))
    segment = np.where(user < 50, "a", "b")
    found = compare_segments("brier", y, p, other, segment, groups=user)
    assert list(found) == ["a", "b"]
    alone = compare_metrics("brier", y[user < 50], p[user < 50], other[user < 50], level=0.975,
                            groups=user[user < 50])  # fmt: skip
    assert (found["a"].low, found["a"].high) == (alone.low, alone.high)
    assert found["a"].level == 0.975
    assert compare_segments("auc", y, p, other, y)[0] is None


def test_a_class_without_a_hit_is_known_to_have_been_small():
    y = np.r_[np.ones(4, int), np.zeros(200, int)]
    p = np.where(np.arange(204) % 10 == 5, 0.9, 0.1)
    known = metric_estimate("balanced_accuracy", y, p)
    # No hit in four rows: up to 1 - .025^(1/4) = 60 % of such rows may be hits; half counts.
    assert known.high > known.value + 0.3
    assert known.low > known.value - 0.05


def test_predicted_over_observed_is_a_ratio_of_sums():
    y, p = np.array([1, 0, 0, 1, 0]), np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    assert predicted_over_observed(y, p)[0] == pytest.approx(2.3 / 2)
    assert predicted_over_observed(y, p, top=0.4)[0] == pytest.approx(1.7)
    assert predicted_over_observed(y, p, np.array([1, 3.0, 1, 1, 1]), 0.5)[0] == pytest.approx(3.3)
    assert np.isnan(predicted_over_observed(np.zeros(5, int), p)[0])


def test_wrong_groups_are_told():
    y, p, other, user = clustered(np.random.default_rng(6), users=3)
    for groups, word in ((user[:-1], "group"), (np.zeros(len(y)), "one group")):
        with pytest.raises(CounterweightError, match=word):
            grouped_estimate("auc", y, p, groups)
    with pytest.raises(CounterweightError, match="missing in 1 of"):
        grouped_estimate("auc", y, p, np.where(np.arange(len(y)) == 3, np.nan, user))
    with pytest.raises(CounterweightError, match="same rows"):
        compare_metrics("auc", y, p, other[:-1])


@pytest.mark.parametrize("users", [False, True])
def test_leaving_out_draws_one_by_one_gives_a_mean_the_error_of_a_mean(users):
    rng = np.random.default_rng(3)
    mean = rng.normal(size=11)
    y, user = (np.repeat(mean, 3), np.repeat(np.arange(11)[::-1], 3)) if users else (mean, None)
    found = _left_out(lambda w, rows: y[rows].mean(), y, None, user, 0.9)
    error = mean.std(ddof=1) / np.sqrt(11)
    assert found.value == pytest.approx(mean.mean()) and found.rows == len(y)
    assert found.standard_error == pytest.approx(error)
    ends = stats.t.interval(0.9, 10, mean.mean(), error)
    assert (found.low, found.high) == pytest.approx(ends)
    weight = np.repeat(2.0, len(y))
    same = _left_out(lambda w, rows: np.average(y[rows], weights=w), y, weight, user, 0.9)
    assert same.standard_error == pytest.approx(error)
