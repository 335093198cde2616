"""A log in partitions, each summed by a job of its own: what is merged is one pass over all."""

import logging

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.saved_log_values import SavedValues
from counterweight.errors import CounterweightError
from counterweight.plan.jobs import Paths
from counterweight.tables.saved_form import read_saved
from counterweight.tasks import logs as kind
from own_logs import ENTRY, TRUTH, a_log, planned_folder, run_folder, run_job, through, write_folder

PARTS = ENTRY | {"by_partition": True}


def test_text_files_with_rates_of_rows_and_users_that_look_like_numbers(tmp_path):
    frame = a_log(8_000, np.random.default_rng(6), 0.2, 300)
    frame["rate"] = np.where(frame["clicked"] == 1, np.nan, 0.2)
    frame["user"] = frame["user"].str[1:]
    frame["clicked"] = np.where(frame["clicked"] == 1, "ja", "nein")
    entry = {"keep_rate": "rate", "user": "user"}
    entry |= {"reward": {"column": "clicked", "positive": "ja"}}
    tables = {}
    for form in ("csv", "parquet"):
        write_folder(tmp_path / form, frame, 3, form)
        tables[form] = through(tmp_path / form, **entry)[0]
    for name, table in tables["csv"].items():
        pd.testing.assert_frame_equal(table, tables["parquet"][name], rtol=1e-12)
    values = tables["csv"]["values"].set_index(["policy", "estimator"])
    assert values.loc[("new", "ips"), "low"] < TRUTH["new"] < values.loc[("new", "ips"), "high"]


def test_actions_that_are_numbers_are_the_same_in_parts_and_in_a_new_log_however_written(tmp_path):
    frame = a_log(3_000, np.random.default_rng(6))
    number = {name: pd.factorize(frame[name], sort=True)[0] + 1 for name in ("shown", "best")}
    known = None
    for place, best in enumerate([number["best"], [f"{one}.0" for one in number["best"]]]):
        made = frame.assign(shown=number["shown"], best=best)
        write_folder(tmp_path / str(place), made, 3, "csv")
        tables, *_, model = through(tmp_path / str(place))
        known = tables["values"] if known is None else known
        pd.testing.assert_frame_equal(tables["values"], known, rtol=1e-12)
        again = SavedValues.read(model).tables(made.assign(best=frame["best"].map(
            dict(zip(frame["best"], number["best"] * 1.0, strict=True)))))[0]  # fmt: skip
        np.testing.assert_allclose(again["value"], known["value"], rtol=1e-12)


@pytest.mark.parametrize("value", ["left", ["left"], {"values": ["left"]}])
def test_rows_kept_at_a_rate_where_a_condition_holds_are_those_of_a_column_of_rates(
    tmp_path, value
):
    frame = a_log(8_000, np.random.default_rng(7))
    own = frame["shown"] == "left"
    kept = (frame["clicked"] == 1) | ~own | (np.random.default_rng(8).random(len(frame)) < 0.2)
    frame = frame[kept].assign(rate=np.where(own, 0.2, 1.0)[kept])
    write_folder(tmp_path, frame, 3, "csv")
    by_column = through(tmp_path, keep_rate="rate")[0]
    by_condition = through(tmp_path, keep_rate={"rate": 0.2, "where": {"shown": value}})[0]
    for name, table in by_condition.items():
        pd.testing.assert_frame_equal(table, by_column[name], rtol=1e-12)


def test_a_condition_of_kept_rows_that_nobody_meets_is_told(tmp_path):
    write_folder(tmp_path, a_log(500, np.random.default_rng(9)), 2)
    keep = {"rate": 0.2, "where": {"shown": "lfet"}}
    told = r"under keep_rate\.where, .*1; shown has 'left', 'middle', 'right'\. Correct it"
    with pytest.raises(CounterweightError, match=told):
        through(tmp_path, keep_rate=keep)


@pytest.mark.parametrize(
    ("entry", "scale"),
    [
        ({}, 0.0),
        ({"keep_rate": 0.1}, 0.0),
        ({"keep_rate": 0.1, "user": "user"}, 0.0),
        ({"reward": {"column": "clicked", "low": 0, "high": 2000}}, 1000.0),
    ],
    ids=["rows", "rate", "users", "large"],
)
@pytest.mark.parametrize("parts", [1, 5])
def test_merged_sums_are_one_pass(tmp_path, entry, scale, parts):
    rate = entry.get("keep_rate", 1.0)
    frame = a_log(20_000, np.random.default_rng(1), rate, 500 if "user" in entry else 0)
    frame["clicked"] += scale
    write_folder(tmp_path, frame, parts)
    tables, sizes, told, model = through(tmp_path, **entry)
    saved = SavedValues.from_saved(read_saved(model))
    for table, one in zip(tables.values(), saved.tables(frame), strict=True):
        pd.testing.assert_frame_equal(table, pd.DataFrame(one), rtol=1e-12, check_dtype=False)
    assert sizes[0]["value"] == len(frame)
    values = tables["values"].set_index(["policy", "estimator"])["value"]
    for name, records in told.items():
        (value,) = [
            one["value"]
            for one in records
            if one["metric"] == "whole_value" and one["measure"] == "ips"
        ]
        assert value == values[name, "ips"]
    others = {one["part"] for one in told["best"] if one["metric"] == "difference"}
    assert others == {"log", "new"}


def test_a_folder_tells_a_column_and_a_part_may_be_without_a_reward(tmp_path):
    frame = a_log(5_000, np.random.default_rng(2)).assign(day=lambda f: np.arange(len(f)) % 40)
    frame.loc[frame["day"] == 3, "clicked"] = 0
    frame.to_parquet(tmp_path / "log", partition_cols=["day"])
    tables, *_ = through(tmp_path, user="day")
    plan, study, _ = planned_folder(tmp_path, PARTS | {"user": "day"})
    assert len(kind.parts(plan, study)) == 40
    one = SavedValues.from_saved(read_saved(f"{tmp_path}/results/mine/model.parquet"))
    whole = pd.DataFrame(one.tables(frame.astype({"day": str}))[0])
    # 40 days, which a hash may put together.
    pd.testing.assert_frame_equal(tables["values"], whole, rtol=1e-12, check_dtype=False)
    with pytest.raises(CounterweightError, match="belong to one user .column 'day'."):
        one.values(frame.assign(day="3"))


def test_the_chain_of_files_has_the_partitions(tmp_path):
    write_folder(tmp_path, a_log(500, np.random.default_rng(3)), 3)
    plan, study, _ = planned_folder(tmp_path, PARTS)
    chains = Paths(plan).chains(["mine"])
    first = [step["stage"] for step in chains[0]["steps"]]
    assert first == ["sum", "sum", "sum", "label"]
    assert not any(step["stage"] in ("prepare", "train") for one in chains for step in one["steps"])


def spoiled(frame, column, value):
    frame[column] = frame[column].astype(object)
    frame.loc[frame.index[-1], column] = value
    return frame


@pytest.mark.parametrize(
    ("change", "entry", "says"),
    [
        (lambda f: spoiled(f, "p_logged", 0), {}, r"part-2.parquet: The propensity .* is 0 in 1"),
        (lambda f: spoiled(f, "p_new", 1.5), {}, r"part-2.parquet: The policy's column 'p_new'"),
        (lambda f: f.drop(columns="best"), {}, "has no column best; it has"),
        (lambda f: f.assign(clicked=0), {}, "is 0 in all 3000 rows"),
        (lambda f: f.assign(best="nothing"), {}, "never takes a logged action"),
        (lambda f: f, {"keep_rate": 0.5, "rows_before": 3000}, "are a rate of 1. Correct keep"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, change, entry, says):
    frame = a_log(3_000, np.random.default_rng(4))
    spoils_one = "part-2" in says
    if not spoils_one:
        frame = change(frame)
    write_folder(tmp_path, frame, 3)
    if spoils_one:
        file = tmp_path / "log/part-2.parquet"
        change(pd.read_parquet(file)).astype({"p_logged": float, "p_new": float}).to_parquet(file)
    with pytest.raises(CounterweightError, match=says):
        through(tmp_path, **entry)


def test_a_file_is_no_folder(tmp_path):
    a_log(100, np.random.default_rng(5)).to_parquet(tmp_path / "log")
    plan, study, _ = planned_folder(tmp_path, PARTS)
    with pytest.raises(CounterweightError, match="is for a log that is a folder"):
        kind.parts(plan, study)


def test_ids_that_stand_twice_are_told_of_partitions_and_of_new_logs(tmp_path, caplog, monkeypatch):
    frame = a_log(900, np.random.default_rng(12), users=90).assign(event=lambda rows: rows.index)
    again = pd.concat([frame, frame[:50]])
    write_folder(tmp_path, again, 3, "csv")
    plan, study, at = planned_folder(tmp_path, PARTS | {"user": "user"})
    plan["datasets"][study["dataset"]]["roles"]["id"] = "event"
    monkeypatch.setattr(logging.getLogger("counterweight"), "propagate", True)
    with caplog.at_level(logging.WARNING):
        sizes = run_folder(plan, study, at)
    said = "Look at the column event: 100 of 950 rows share theirs with others"
    assert said in caplog.text
    assert {one["metric"]: one["value"] for one in sizes}["rows_sharing_id"] == 100
    job = kind.plan_deliver(plan, study, at)
    run_job(job)
    saved, values = SavedValues.read(job.outputs["model"]), []
    again.to_csv(tmp_path / "new.csv", index=False)
    for rows, told in (
        (again, True),
        (str(tmp_path / "new.csv"), True),
        (frame, False),
        (again.drop(columns="event"), False),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            values.append(saved.values(rows))
        assert (said in caplog.text) == told
    pd.testing.assert_frame_equal(values[0], values[3])
