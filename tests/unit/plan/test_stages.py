"""Jobs of a plan: what each goes by, and what is left of earlier runs."""

import os
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.plan import config
from counterweight.plan.own import TABLES, with_own_tables
from counterweight.plan.stages import MEMORY, Stages, memory_of
from counterweight.tables.table_reader import size_of
from counterweight.tasks import missing_outcomes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import scale  # noqa: E402

STUDIES = Path(__file__).resolve().parents[3] / "workflow" / "studies"
#: What is asked of the table of a survey; see the fixture `surveys`.
ASKED = {"table": "2023/survey.csv", "outcome": "y"}


LENDER = {"table": "my data/Applicants 2024.csv", "id": "customer", "outcome": "default"}


def planned(given):
    return config.resolve(with_own_tables({"results": "r", "data": "d"} | given, given))


#: Tables that are about files of one's own of every sort, each a study.
OWN_FILES = {
    "loans": {"table": "loans.csv", "outcome": "y", "score": "new.csv"},
    "parted": {"table": "parts", "outcome": "y", "score": "new_parts"},
    "to_file": {"table": "a.csv", "outcome": "y", "target": {"table": "population.csv"}},
    "to_folder": {"table": "b.csv", "outcome": "y", "target": {"table": "populations"}},
    "panel": {"table": "people.csv", "id": "who", "balance": "sex", "score": "more.csv"},
    "logged": {"table": "log", "reward": "r", "propensity": "p", "policies": {"new": "q"}}
    | {"by_partition": True, "score": "new_log.csv"},
    "judged": {"table": "judged", "reward": "r", "predictions": {"a": "q"}},
    "asked": {"table": {"sql": "select * from t", "url": "sqlite:///base.db"}, "outcome": "y"},
}


#: What depends on each of their files, beside the report, which says what all answers rest on.
DEPENDS = {
    "loans.csv": {"prepare loans"},
    "new.csv": {"apply loans"},
    "parts/2024/one.csv": {"prepare parted"},
    "new_parts/two.csv": {"apply parted"},
    "population.csv": {"weigh to_file to_target-better_of_two", "deliver to_file"},
    "populations/one.csv": {"weigh to_folder to_target-better_of_two", "deliver to_folder"},
    "people.csv": {"prepare panel"},
    "filter.key": {"deliver panel", "apply panel"},
    "more.csv": {"apply panel"},
    # Values and measures are read part by part; nothing depends on a typed table of all of them.
    "log/one.csv": {"sum logged one", "prepare logged"},
    "new_log.csv": {"apply logged"},
    "judged/two.csv": {"sum judged two", "prepare judged"},
    "base.db": {"prepare asked"},
}


@pytest.fixture(scope="module")
def own_files(tmp_path_factory):
    """A folder with all files of `OWN_FILES`, older than a day, and the plan of their studies."""
    folder = tmp_path_factory.mktemp("own")
    names = {*DEPENDS, "a.csv", "b.csv", "parts/2023/one.csv", "new_parts/one.csv"}
    names |= {"log/two.csv", "judged/one.csv", "populations/two.csv"}
    for name in sorted(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the first content of {name}\n")
        os.utime(path, (1.7e9, 1.7e9))
    (folder / "filter.key").chmod(0o600)
    (folder / "base.db").unlink()
    sqlite3.connect(folder / "base.db").execute("create table t (y)").connection.close()
    here = os.getcwd()
    os.chdir(folder)
    yield folder, planned({"tables": OWN_FILES})
    os.chdir(here)


def specs_of(plan):
    """The parameters of every job that a plan has, by stage, study and item."""
    stages = Stages(plan, STUDIES.parents[1] / "scripts")
    asked = [("report",), *(("prepare", name) for name in plan["datasets"])]
    for name in plan["studies"]:
        parts = stages.paths.chains([name])
        asked += {(step["stage"], name, step["source"]) for one in parts for step in one["steps"]}
    items = ("sum", "select", "weigh", "train", "evaluate")
    cut = {one if one[0] in items else one[:2] for one in asked}
    return {" ".join(one): stages.spec(*one) for one in cut if stages.job(*one)}


@pytest.mark.parametrize("date", [-(10**15), 0, 10**15], ids=["older", "same", "newer"])
@pytest.mark.parametrize("name", DEPENDS)
def test_an_exchange_of_a_file_changes_what_depends_on_it_whatever_its_date(own_files, name, date):
    folder, plan = own_files
    path, before = folder / name, specs_of(plan)
    known, content = path.stat(), path.read_bytes()
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns + date + 1))
    assert specs_of(plan) == before, "a touch"
    # One sign is another: as long as before, and moved here with a date of its own.
    new = folder / "exchanged"
    new.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    new.chmod(0o600)
    os.utime(new, ns=(known.st_atime_ns, known.st_mtime_ns + date))
    os.replace(new, path)
    after = specs_of(plan)
    assert {job for job in before if before[job] != after[job]} == DEPENDS[name] | {"report"}
    path.write_bytes(content)
    assert specs_of(plan) == before


def test_a_part_that_comes_under_another_name_is_seen(own_files):
    folder, plan = own_files
    before = specs_of(plan)
    (folder / "new_parts/two.csv").rename(folder / "new_parts/three.csv")
    after = specs_of(plan)
    (folder / "new_parts/three.csv").rename(folder / "new_parts/two.csv")
    assert {job for job in before if before[job] != after[job]} == {"apply parted", "report"}


def test_answers_that_nothing_makes_any_more_are_told(surveys):
    asked = ASKED | {"score": "2024/survey.csv"}
    folder = Path("results/survey")
    folder.mkdir(parents=True)
    jobs = Stages(surveys(begin=False, **asked), STUDIES.parents[1] / "scripts")
    files = [
        path
        for stage in ("deliver", "apply")
        for path in jobs.job(stage, "survey").outputs.values()
    ]
    for path in (*files, "results/survey/features.parquet", "results/survey/report.html"):
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
    assert jobs.left_over() == []
    kept = folder / TABLES
    kept.parent.mkdir()
    kept.write_text("{}")
    other = Stages(surveys(**ASKED), STUDIES.parents[1] / "scripts")
    assert other.left_over() == [f"{folder}/new_scores.csv", f"{folder}/new_scores.parquet"]


def test_memory_that_is_asked_for_is_enough_for_what_was_measured_and_no_multiple():
    """Measured by tests/benchmarks/scale.py, in MiB, whose `needed` gives the numbers."""
    told = pd.read_csv(Path(__file__).with_name("memory.csv"))
    fitted = scale.needed(told)
    assert {stage: MEMORY[stage] for stage in fitted} == fitted
    blanks = told["family"] == "outcome"
    own = scale.needed(told[blanks])
    assert {stage: own[stage] for stage in missing_outcomes.MEMORY} == missing_outcomes.MEMORY
    took = told["mib"] * 2**20 / 1e6
    asked = pd.Series(
        [
            memory_of(*one, missing_outcomes.MEMORY if of_blanks else ())
            for *one, of_blanks in zip(
                told["stage"], told["rows"], told["columns"], blanks, strict=True
            )
        ]
    )
    assert (asked >= took).mean() >= 0.95 and set(told["stage"]) <= set(MEMORY)
    assert (asked >= took)[told["rows"] > 10**6].all()
    # Of each stage and size (10^4 to 10^7 rows), whatever the family that takes most; where a task
    # has numbers of its own, of that task.
    size, own = np.log10(told["rows"]).round(), blanks & told["stage"].isin(missing_outcomes.MEMORY)
    for part in (own, ~own & (told["rows"] < 10**6.5)):
        most, largest = (
            values[part].groupby([told["stage"], size]).max() for values in (asked, took)
        )
        assert (most <= 1.8 * largest + 250).all()


def test_rows_and_columns_of_a_table_are_told_by_its_files(tmp_path):
    frame = pd.DataFrame({"a": range(5000), "b": 1.5, "c": "word"})
    (tmp_path / "parts" / "day=2").mkdir(parents=True)
    frame.to_parquet(tmp_path / "whole.parquet")
    frame.to_parquet(tmp_path / "parts" / "day=2" / "x.parquet")
    frame.to_csv(tmp_path / "text.csv", index=False)
    assert size_of(tmp_path / "whole.parquet") == (5000, 3)
    assert size_of(tmp_path / "parts") == (5000, 4)
    rows, columns = size_of(tmp_path / "text.csv")
    assert columns == 3 and abs(rows / 5001 - 1) < 0.1


def test_memory_grows_with_a_table_and_not_where_rows_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").mkdir()
    tables = {name: OWN_FILES[name] for name in ("logged", "panel", "loans")}
    stages = Stages(planned({"tables": tables}), "scripts")
    assert stages.memory("train", "panel", 500) == max(500, memory_of("train", 0, 0))
    monkeypatch.setattr(stages, "_size", lambda dataset: (10**6, 15))
    asked = stages.memory("select", "panel", 500)
    assert asked == memory_of("select", 10**6, 15) > memory_of("select", 10**5, 15)
    # Numbers of its own: one table is asked once.
    own = memory_of("select", 10**6, 15, missing_outcomes.MEMORY)
    assert stages.memory("select", "loans", 500) == own < asked
    assert stages.memory("train", "logged", 500) == 500
    (dataset,) = {stages.plan["studies"]["logged"]["dataset"]}
    assert stages.memory("prepare", dataset, 500) == memory_of("prepare", 10**6, 15)
