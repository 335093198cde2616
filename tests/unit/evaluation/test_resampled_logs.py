"""The protocol policy_value: records, identities, both resamplings, files read in step."""

import inspect
import sys

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.log_values import log_values
from counterweight.evaluation.policy_value import PolicyValue
from counterweight.evaluation.resampled_logs import (
    LIMIT_AT,
    OPTIONS,
    LogAtRates,
    ShortLogs,
    further,
    policy_value,
)
from counterweight.tables import parquet
from records import where

TRUTH = (
    ("policy", "string"),
    ("value", "float64"),
    ("standard_error", "float64"),
    ("rows", "int64"),
)
ROWS = 12_000
VALUE = 0.05


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A log of 12,000 rows among which 1,000 on-policy rows stand scattered."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    n = ROWS + 1000
    role = np.full(n, "log", object)
    role[rng.choice(n, 1000, replace=False)] = "on_policy"
    x = rng.random(n)
    propensity = np.where(rng.random(n) < 0.5, 0.5, 0.25)
    target = np.where(propensity == 0.5, 0.3, 0.35)
    labels = {
        "row": np.arange(n, dtype="int32") * 3,
        "role": role,
        "keep_rate": np.ones(n),
        "action": np.zeros(n, "int32"),
        "propensity": propensity,
        "reward": (rng.random(n) < 0.02 + 0.06 * x).astype(float),
    }
    predictions = {"row": labels["row"], "p": target, "q": np.full(n, 0.04), "v": 0.02 + 0.06 * x}
    parquet.write_table(folder / "labels.parquet", labels)
    parquet.write_table(folder / "predictions.parquet", predictions)
    lines = {
        "policy": ["", "fixed"],
        "value": [VALUE, 0.06],
        "standard_error": [0.01, 0.0],
        "rows": [1000, 0],
    }
    parquet.write_table(folder / "truth.parquet", lines, TRUTH)
    return folder


def run(folder, **options):
    options = {"seed": 1, "stream": "study", "resamplings": 12} | options
    names = ("labels.parquet", "predictions.parquet", "truth.parquet")
    return policy_value(*(folder / name for name in names), **options)


@pytest.fixture(scope="module", params=["bootstrap", "split"])
def records(study, request):
    return request.param, run(study, resample=request.param)


def values(records, metric, *place):
    """Values of a metric, of one place where it is given."""
    return np.array(
        [r["value"] for r in records if r["metric"] == metric and place in ((), where(r))]
    )


def log_columns(folder):
    labels = parquet.read_columns(folder / "labels.parquet")
    predictions = parquet.read_columns(folder / "predictions.parquet")
    used = labels["role"] == "log"
    return {
        "reward": labels["reward"][used],
        "propensity": labels["propensity"][used],
        "target": predictions["p"][used],
        "q": predictions["q"][used],
        "v": predictions["v"][used],
    }


def test_options_are_those_of_the_function():
    parameters = inspect.signature(policy_value).parameters
    for name, schema in OPTIONS.items():
        default = parameters[name].default
        assert schema["default"] == (list(default) if isinstance(default, tuple) else default)
        assert schema["description"]
    given = {"policy", "seed", "stream"}
    assert set(parameters) - set(OPTIONS) - given == {"labels", "predictions", "truth"}


def test_every_metric_of_the_protocol_is_there(records):
    kind, found = records
    estimators, rates = ("ips", "ips_lost", "snips", "dr"), (1.0, 0.5, 0.1, 0.01)
    places = {(name, rate) for name in estimators for rate in rates}
    for metric in ("value", "error", "covered", "subsampling_error"):
        assert {where(r) for r in found if r["metric"] == metric} == places
        assert len(values(found, metric)) == 16 * 12
        assert {r["repeat"] for r in found if r["metric"] == metric} == set(range(12))
    for metric in ("whole_value", "whole_low", "whole_high", "effective_rows", "largest_weight"):
        assert {where(r) for r in found if r["metric"] == metric} == places | {
            (name,) for name in estimators
        }
    assert len(values(found, "truth")) == 1
    assert len(values(found, "ratio_bias", "n=250")) == 20
    assert (len(values(found, "covered_whole")) > 0) == (kind == "bootstrap")
    assert all(r["target"] == "general" for r in found)
    table = parquet.metrics_table("study", "method", found)
    assert table.num_rows == len(found) and table.column("value").null_count == 0


def test_dropping_or_altering_zero_rows_changes_nothing_at_all(records):
    _, found = records
    for metric in ("drop_zero_change", "zero_details_change"):
        assert values(found, metric).tolist() == [0.0] * 12
    assert (values(found, "subsampling_error", "ips", 0.01) == 0).all()
    assert (values(found, "subsampling_error", "dr", 1.0) == 0).all()


def test_the_whole_log_is_that_of_its_rows(study, records):
    _, found = records
    log = PolicyValue().update(**log_columns(study))
    assert log.rows == ROWS
    for name in ("ips", "snips", "dr"):
        estimate = getattr(log, name)()
        assert values(found, "whole_value", name) == pytest.approx(estimate.value, rel=1e-13)
        assert values(found, "whole_low", name) == pytest.approx(estimate.low, rel=1e-9)


def test_the_whole_log_at_a_rate_holds_what_its_rejection_leaves(study, records):
    _, found = records
    count = {where(r): r["rows"] for r in found if r["metric"] == "whole_value"}
    zero = (log_columns(study)["reward"] == 0).sum()
    for rate in (0.5, 0.1, 0.01):
        kept = count["snips", rate] - (ROWS - zero)
        assert abs(kept - rate * zero) < 5 * np.sqrt(zero * rate * (1 - rate))
    for name in ("ips", "ips_lost", "snips", "dr"):
        assert values(found, "whole_value", name, 1.0) == values(found, "whole_value", name)
    # With the count of all rows known, rejection changes neither the value nor its interval.
    for metric in ("whole_value", "whole_low", "whole_high"):
        same = {float(values(found, metric, "ips", rate)[0]) for rate in (1.0, 0.1, 0.01)}
        assert max(same) - min(same) <= 1e-12 * abs(max(same))


def test_a_log_without_any_zero_row_left_has_no_value_that_needs_one(study):
    found = run(study, resample="split", resamplings=40, keep_rates=(1.0, 0.0001))
    missing = {where(r): r["value"] for r in found if r["metric"] == "values_missing"}
    assert missing["snips", 0.0001] > 0
    assert missing["ips", 0.0001] == 0


def test_split_parts_are_consecutive_and_equal(study):
    found = run(study, resample="split", resamplings=10)
    rows = log_columns(study)
    for r in range(10):
        part = {name: v[r * 1200 : (r + 1) * 1200] for name, v in rows.items()}
        expected = PolicyValue().update(**part)
        for name in ("ips", "snips", "dr"):
            value = getattr(expected, name)().value
            assert values(found, "value", name, 1.0)[r] == pytest.approx(value, rel=1e-12)
    # Rows are rejected by their key: another number of parts keeps the same rows.
    per_row = values(found, "rows_per_nonzero", 0.1)
    other = run(study, resample="split", resamplings=5)
    assert values(other, "rows_per_nonzero", 0.1).tolist() == per_row.tolist()


def test_errors_and_coverage_are_against_the_truth(records):
    _, found = records
    for place in (("ips", 1.0), ("dr", 0.1)):
        np.testing.assert_allclose(
            values(found, "error", *place), values(found, "value", *place) - VALUE, atol=1e-15
        )
    assert 0.5 < values(found, "covered").mean() <= 1
    (truth,) = (r for r in found if r["metric"] == "truth")
    assert (truth["value"], truth["standard_error"], truth["rows"]) == (VALUE, 0.01, 1000)


def test_a_policy_has_its_own_line_of_truth_or_the_common_one(study):
    assert values(run(study, policy="fixed", resamplings=2), "truth") == 0.06
    assert values(run(study, policy="another", resamplings=2), "truth") == VALUE


def test_rates_are_nested_and_rows_per_nonzero_follow_them(records):
    _, found = records
    per = {rate: values(found, "rows_per_nonzero", rate)[0] for rate in (1.0, 0.5, 0.1, 0.01)}
    assert per[1.0] > per[0.5] > per[0.1] > per[0.01] > 1
    for rate in (0.5, 0.1):
        assert per[rate] == pytest.approx(1 + rate * (per[1.0] - 1), rel=0.05)
    assert values(found, "rows_per_nonzero", "dropped") == 1


def test_identity_gaps_average_to_zero(study):
    found = run(study, resamplings=100)
    for name in ("reward", "importance"):
        for rate in (0.5, 0.1):
            gaps = values(found, "identity_gap", name, rate)
            # The weighted mean of a rejected log is a ratio: it has a bias of its own, of the
            # order of its variance.
            slack = 2 * gaps.var() + 4 * gaps.std() / np.sqrt(len(gaps))
            assert abs(gaps.mean()) < slack
            assert gaps.std() > 0
        assert (values(found, "identity_gap", name, 1.0) == 0).all()


def test_ratio_bias_times_n_does_not_depend_on_n(records):
    _, found = records
    sizes = (250, 500, 1000, 2000)
    means, errors = [], []
    for n in sizes:
        scaled = values(found, "ratio_bias_times_n", f"n={n}")
        np.testing.assert_allclose(scaled, n * values(found, "ratio_bias", f"n={n}"), rtol=1e-12)
        means.append(scaled.mean())
        errors.append(scaled.std(ddof=1) / np.sqrt(20))
    # (1 - l) / l times the share of zero rows, plus terms of the order 1/n.
    for n, mean, error in zip(sizes, means, errors, strict=True):
        assert abs(mean - 9 * 0.95) < 4 * error + 9 * 0.05 + 250 / n


def test_short_logs_do_not_depend_on_the_batches(study):
    rows = log_columns(study)
    whole, parts = ShortLogs(), ShortLogs()
    whole.add(rows)
    for index in np.array_split(np.arange(ROWS), 17):
        parts.add({name: v[index] for name, v in rows.items()})
    for size in (250, 1000):
        total, nonzero = whole.of(size)
        assert len(total) == ROWS // size
        np.testing.assert_allclose(parts.of(size), (total, nonzero), rtol=1e-12)
        assert nonzero.sum() == (rows["reward"] != 0).sum()


def test_without_a_reward_model_there_is_no_doubly_robust_value(study, tmp_path):
    few = parquet.read_columns(study / "predictions.parquet", ["row", "p"])
    parquet.write_table(tmp_path / "predictions.parquet", few)
    found = policy_value(
        study / "labels.parquet",
        tmp_path / "predictions.parquet",
        study / "truth.parquet",
        resamplings=2,
    )
    estimators = {r["measure"] for r in found if r["metric"] == "whole_value"}
    assert estimators == {"ips", "ips_lost", "snips"}


def test_the_same_call_gives_the_same_records_and_seeds_differ(study):
    first = run(study, resample="split")
    assert first == run(study, resample="split")
    other = run(study, resample="split", seed=2)
    for rate, same in ((0.1, False), (1.0, True)):
        found = values(first, "value", "dr", rate).tolist()
        assert (found == values(other, "value", "dr", rate).tolist()) is same


def altered(study, tmp_path, name, **columns):
    found = parquet.read_columns(study / f"{name}.parquet")
    parquet.write_table(tmp_path / f"{name}.parquet", found | columns)
    other = "predictions" if name == "labels" else "labels"
    (tmp_path / f"{other}.parquet").write_bytes((study / f"{other}.parquet").read_bytes())
    (tmp_path / "truth.parquet").write_bytes((study / "truth.parquet").read_bytes())
    return tmp_path


def test_predictions_of_other_rows_are_refused(study, tmp_path):
    rows = parquet.read_columns(study / "predictions.parquet")["row"].copy()
    rows[700] += 1
    with pytest.raises(CounterweightError, match="line 700 has the row id 2101, not 2100"):
        run(altered(study, tmp_path, "predictions", row=rows))
    short = parquet.read_columns(study / "predictions.parquet")
    parquet.write_table(tmp_path / "predictions.parquet", {k: v[:-1] for k, v in short.items()})
    with pytest.raises(CounterweightError, match="13000 rows but .* has 12999"):
        run(tmp_path)


def test_logs_that_cannot_be_evaluated_are_refused(study, tmp_path):
    n = ROWS + 1000
    empty = altered(study, tmp_path, "labels", role=np.full(n, "on_policy", object))
    with pytest.raises(CounterweightError, match="log is empty"):
        run(empty)
    rejected = altered(study, tmp_path, "labels", keep_rate=np.full(n, 0.1))
    with pytest.raises(CounterweightError, match="already rejected"):
        run(rejected)
    with pytest.raises(CounterweightError, match="too short for 7000 parts"):
        run(study, resample="split", resamplings=7000)
    bad = altered(study, tmp_path, "predictions", p=np.full(n, 1.5))
    with pytest.raises(CounterweightError, match="column p .*between 0 and 1"):
        run(bad)


def test_estimates_that_do_not_exist_are_counted(study, tmp_path):
    labels = parquet.read_columns(study / "labels.parquet")
    useful = np.flatnonzero((labels["role"] == "log") & (labels["reward"] == 0))[:50]
    p = np.zeros(len(labels["row"]))
    p[useful] = 0.5
    found = run(altered(study, tmp_path, "predictions", p=p), resample="split")
    assert values(found, "values_missing", "snips", 1.0) == 11
    assert len(values(found, "value", "snips", 1.0)) == 1
    assert values(found, "values_missing", "ips", 0.1) == 0
    assert values(found, "rows_unsupported") == ROWS - 50
    never = altered(study, tmp_path, "predictions", p=np.zeros(len(p)))
    with pytest.raises(CounterweightError, match="All 12000 importance weights are 0"):
        run(never)


def test_files_are_read_in_step_whatever_their_row_groups(study, tmp_path):
    import pyarrow.parquet as pq

    table = pq.read_table(study / "predictions.parquet")
    pq.write_table(table, tmp_path / "predictions.parquet", row_group_size=777)
    sources = (
        (study / "labels.parquet", ("row", "role"), ("role",)),
        (tmp_path / "predictions.parquet", ("row", "p"), ()),
    )
    parts = list(parquet.together(sources, 1000))
    assert sum(len(ours["row"]) for ours, _ in parts) == ROWS + 1000
    assert all(np.array_equal(ours["row"], theirs["row"]) for ours, theirs in parts)
    assert all(len(ours["role"][0]) == len(ours["row"]) for ours, _ in parts)


def by_users(folder, seed=0, users=150, rows=3_000):
    """A log whose users differ much, each with rows of its own all over it."""
    rng = np.random.default_rng(seed)
    user = rng.integers(users, size=rows)
    luck = rng.gamma(0.5, 2.0, users)[user]
    labels = {
        "row": np.arange(rows, dtype="int32"),
        "role": np.full(rows, "log", object),
        "keep_rate": np.ones(rows),
        "action": np.zeros(rows, "int32"),
        "propensity": np.full(rows, 0.5),
        "reward": (rng.random(rows) < np.minimum(0.2 * luck, 1)).astype(float),
        "cluster": user.astype("int32"),
    }
    folder.mkdir(exist_ok=True)
    parquet.write_table(folder / "labels.parquet", labels)
    p = np.where(rng.random(rows) < 0.5, 0.3, 0.7)
    parquet.write_table(folder / "predictions.parquet", {"row": labels["row"], "p": p})
    lines = {"policy": [""], "value": [0.2], "standard_error": [0.0], "rows": [0]}
    parquet.write_table(folder / "truth.parquet", lines, TRUTH)
    return labels, p


def test_users_are_drawn_whole_and_their_intervals_hold_the_log(tmp_path):
    labels, _ = by_users(tmp_path)
    rates = {"keep_rates": [1.0, 0.2], "resamplings": 200}
    held = {}
    for name in ("users", "rows"):
        found = [
            one["value"]
            for one in run(tmp_path, **rates)
            if one["metric"] == "covered_whole" and one["measure"] == "ips_lost"
        ]
        held[name] = np.mean(found)
        assert len(found) == 400
        parquet.write_table(
            tmp_path / "labels.parquet",
            {key: values for key, values in labels.items() if key != "cluster"},
        )
    # Of draws of rows the intervals of rows hold it as well: it is the draws that differ.
    assert held["users"] > 0.95 - 2 * np.sqrt(0.95 * 0.05 / 400) - 0.01
    assert held["rows"] > 0.9


@pytest.mark.parametrize("resample", ["bootstrap", "split"])
def test_values_are_the_same_and_errors_larger_where_rows_belong_to_users(tmp_path, resample):
    labels, _ = by_users(tmp_path)
    grouped = run(tmp_path, keep_rates=[1.0], resample=resample)
    del labels["cluster"]
    parquet.write_table(tmp_path / "labels.parquet", labels)
    plain = run(tmp_path, keep_rates=[1.0], resample=resample)
    for one, other in zip(
        *([r for r in records if r["metric"] == "whole_value"] for records in (grouped, plain)),
        strict=True,
    ):
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)
        assert one["standard_error"] > 1.5 * other["standard_error"]


def test_a_user_of_like_rows_counts_once():
    rng = np.random.default_rng(3)
    rows = {
        "reward": (rng.random(400) < 0.3) * rng.random(400),
        "propensity": rng.choice([0.2, 0.5], 400),
        "target": rng.random(400),
        "q": rng.random(400),
        "v": rng.random(400),
    }
    names = ("ips", "ips_lost", "snips", "dr")
    once = PolicyValue(names).update(**rows)
    many = PolicyValue(names, clusters=500)
    for part in np.array_split(np.arange(1_200), 3):
        own = {name: np.repeat(values, 3)[part] for name, values in rows.items()}
        many.update(**own, cluster=np.repeat(np.arange(400), 3)[part])
    for name in names:
        one, three = getattr(once, name)(), getattr(many, name)()
        numbers = [(e.value, e.standard_error, e.low, e.high) for e in (one, three)]
        np.testing.assert_allclose(*numbers, rtol=1e-9)


def test_users_with_a_keep_rate_are_those_of_a_log_of_ones_own():
    rng = np.random.default_rng(4)
    n = 2_000
    reward = (rng.random(n) < 0.1).astype(float)
    columns = {"reward": reward, "propensity": rng.choice([0.2, 0.5], n)}
    target, cluster = rng.random(n), rng.integers(90, size=n)
    log = PolicyValue(("ips_lost", "snips"), clusters=100, reward_range=(0.0, 1.0))
    log.update(**columns, target=target, keep_rate=0.1, cluster=cluster)
    batch = columns | {"keep_rate": np.full(n, 0.1), "weight": np.ones(n), "cluster": cluster}
    batch["p"] = target[:, None]
    known = log_values(lambda: iter([batch]), ["new"], clusters=100)
    for mine, theirs in (("ips_lost", "ips"), ("snips", "snips")):
        one, other = getattr(log, mine)(), known.values["new", theirs]
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)
        assert one.low == pytest.approx(other.low, rel=1e-6)


def test_further_estimates_are_their_formulas():
    rng = np.random.default_rng(4)
    n = 2000
    often = rng.random(n) < 0.97
    rows = {
        "reward": (rng.random(n) < 0.4).astype(float),
        "propensity": np.where(often, 0.97, 0.03),
        "target": np.where(often, 0.6, 0.4),
        "q": rng.uniform(0.3, 0.5, n),
        "v": rng.uniform(0.3, 0.5, n),
        "draw": rng.random(n),
    }
    names = ("dm", "sndr", "clip", "switch", "shrink")
    w = rows["target"] / rows["propensity"]
    found = further(rows, 1.0, names)
    rest = (w * (rows["reward"] - rows["q"])).sum() / w.sum()
    expected = {
        "dm": rows["v"].mean(),
        "sndr": rows["v"].mean() + rest,
        "clip": (np.minimum(w, LIMIT_AT) * rows["reward"]).mean(),
        "switch": (np.where(w <= LIMIT_AT, w, 0) * rows["reward"]).mean(),
        "shrink": (LIMIT_AT * w / (w**2 + LIMIT_AT) * rows["reward"]).mean(),
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(expected)
    assert all(one.low < one.high for one in found.values())
    # A kept row of reward 0 stands for as many as its rate says, and all rows are counted.
    zero = rows["reward"] == 0
    kept = ~zero | (rows["draw"] < 0.5)
    k = np.where(zero, 2.0, 1.0)[kept]
    half = further(rows, 0.5, names)
    assert half["dm"].value == pytest.approx(np.average(rows["v"][kept], weights=k))
    assert half["clip"].value == pytest.approx(expected["clip"])


def test_a_reward_model_alone_has_the_error_of_its_model():
    rng = np.random.default_rng(5)
    n = 2000
    rows = {"reward": (rng.random(n) < 0.3).astype(float), "propensity": np.full(n, 0.5)}
    rows |= {"target": np.full(n, 0.5), "q": np.full(n, 0.8), "draw": np.zeros(n)}
    rows["v"] = rows["q"] + 0.01 * rng.standard_normal(n)
    found = further(rows, 1.0, ("dm", "sndr"))
    # A model that says .8 where .3 is so: its own interval leaves the truth out, the corrected
    # estimate does not.
    assert found["dm"].low > 0.7 and found["sndr"].low < 0.3 < found["sndr"].high


@pytest.mark.parametrize("resample", ["bootstrap", "split"])
def test_further_estimators_stand_beside_the_others(study, resample):
    alone = run(study, resample=resample, keep_rates=(1.0, 0.1))
    found = run(study, resample=resample, keep_rates=(1.0, 0.1), also=("dm", "clip", "shrink"))
    more = [one for one in found if one.get("measure") in ("dm", "clip", "shrink")]
    assert [one for one in found if one not in more] == alone
    assert {(one["measure"], one["keep_rate"], one["repeat"]) for one in more} == {
        (name, rate, repeat)
        for name in ("dm", "clip", "shrink")
        for rate in (1.0, 0.1)
        for repeat in range(12)
    }
    # No weight of this log is above the limit, so clipped weights are the weights.
    clipped = [one["value"] for one in more if (one["measure"], one["metric"]) == ("clip", "value")]
    plain = [
        one["value"] for one in alone if (one.get("measure"), one["metric"]) == ("ips", "value")
    ]
    assert clipped == pytest.approx(plain)


def test_a_package_that_is_missing_leaves_its_estimate_out(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "estimators.bandits", None)
    found = run(study, resample="split", keep_rates=(1.0,), also=("vw",))
    told = [one for one in found if one.get("measure") == "vw"]
    assert {one["metric"] for one in told} == {"value", "error"}
    assert all(np.isnan(one["value"]) for one in told)


def test_every_batch_of_users_counts_whatever_the_first_one_holds():
    log = LogAtRates(("ips",), (1.0, 0.5), 0.95)
    for first in (0, 4):
        rows = {"reward": np.array([0.0, 0.0, 1.0, 2.0]), "propensity": np.full(4, 0.5)}
        rows |= {"target": np.full(4, 0.25), "cluster": np.arange(4) + first}
        log.update(rows, np.full(4, 0.9))
    log.finish()
    assert log.all_rows.rows == 8 and log.at_rate[1.0] is log.all_rows
    assert log.estimate(log.all_rows, "ips").value == pytest.approx(3 / 2 / 4)
