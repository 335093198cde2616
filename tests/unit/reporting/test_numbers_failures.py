"""What the partial report takes for a result, and how it tells a failure."""

import os

import pytest
from counterweight.reporting.numbers import failure_of, first_failure, measurements_and_failures
from counterweight.tables.parquet import METRICS, metrics_table, write_table


@pytest.fixture
def chains(tmp_path):
    """Two methods that share a first step; everything is there, in the order it was made."""
    (tmp_path / "step.log").write_text("INFO: begun\nINFO: going on\nERROR: it broke\nINFO: end\n")
    shared = {
        "stage": "select",
        "source": "logistic",
        "outputs": [str(tmp_path / "p.parquet")],
        "log": str(tmp_path / "step.log"),
    }
    found = []
    write_table(tmp_path / "p.parquet", {"a": [1]})
    os.utime(tmp_path / "p.parquet", (100, 100))
    for method in ("one", "two"):
        path = tmp_path / f"{method}.parquet"
        write_table(
            path, metrics_table("s", method, [{"metric": "accuracy", "value": 0.5}]), METRICS
        )
        os.utime(path, (200, 200))
        last = {"stage": "evaluate", "outputs": [str(path)], "log": str(tmp_path / f"{method}.log")}
        found.append({"study": "s", "source": method, "steps": [shared, last], "measured": True})
    return found


def test_whole_chains_are_read(chains):
    metrics, failures = measurements_and_failures(chains, dated=True)
    assert metrics["source"].tolist() == ["one", "two"]
    assert failures == []


def test_what_is_given_away_is_no_measurement_but_missed_where_it_is_not_there(chains, tmp_path):
    chains[1] |= {"source": "delivered", "measured": False}
    metrics, failures = measurements_and_failures(chains)
    assert metrics["source"].tolist() == ["one"] and failures == []
    (tmp_path / "two.parquet").unlink()
    (failure,) = measurements_and_failures(chains)[1]
    assert (failure["stage"], failure["affects"]) == ("evaluate", ["delivered"])


def test_one_failed_step_is_told_once_and_explains_all_that_it_takes(chains, tmp_path):
    (tmp_path / "p.parquet").unlink()
    metrics, failures = measurements_and_failures(chains)
    assert metrics.empty
    (failure,) = failures
    assert (failure["stage"], failure["source"]) == ("select", "logistic")
    assert failure["affects"] == ["one", "two"]
    assert failure["reason"].startswith("ERROR: it broke"), "the log is told from its error on"
    assert failure_of(failures, "s", "two") is failure


def test_what_is_older_than_its_source_is_left_from_another_run(chains, tmp_path):
    os.utime(tmp_path / "p.parquet", (300, 300))
    assert first_failure(chains[0]) is None, "a finished run is judged by Snakemake, not by dates"
    metrics, failures = measurements_and_failures(chains, dated=True)
    assert metrics.empty
    assert {failure["stage"] for failure in failures} == {"evaluate"}
    assert all("Not made anew in this run" in failure["reason"] for failure in failures)
