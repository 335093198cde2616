"""The runner of the table of speed: turns, absent peers, quality, limits, what is written."""

import sys
from pathlib import Path

import pandas as pd
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import table  # noqa: E402


def case(**told):
    told = {
        "ours": lambda: 1,
        "theirs": lambda: 2,
        "peer": "peer",
        "quality": lambda a, b: "equal",
    } | told
    return table.Case(stage="stage", what="what", **told)


def test_each_runs_first_every_other_time_and_quality_is_looked_at_every_round():
    calls, seen = [], []
    line = table.measured(
        case(
            ours=lambda: calls.append("ours") or len(calls),
            theirs=lambda: calls.append("peer") or len(calls),
            quality=lambda *both: seen.append(both) or "looked at",
            rounds=3,
        )
    )
    assert calls == ["peer", "ours", "ours", "peer", "peer", "ours"]
    assert seen == [(2, 1), (3, 4), (6, 5)]
    assert line["good"] and (line["quality"], line["rounds"]) == ("looked at", 3)


def test_results_that_know_their_seconds_and_their_spread():
    seconds = iter([4.0, 1.0, 2.0])
    line = table.measured(
        case(
            ours=lambda: table.Timed("mine", next(seconds)),
            theirs=lambda: table.Timed("other", 8.0),
            quality=lambda mine, other: f"{mine} and {other}",
            at_most=0.5,
        )
    )
    assert [line[f"ours_{of}"] for of in ("median", "least", "most")] == [2, 1, 4]
    assert (line["ratio"], line["verdict"], line["quality"]) == (0.25, "kept", "mine and other")
    assert "2 [1, 4]" in table.markdown([line])


def test_a_peer_that_is_absent_is_left_out_with_the_reason_and_ours_still_runs():
    def theirs():
        raise table.Absent("R is not installed")

    line = table.measured(case(theirs=theirs, quality=lambda mine, other: f"{mine}, {other}"))
    assert line["good"] and line["rounds"] == 3 and line["quality"] == "1, None"
    assert line["verdict"] == "peer skipped: R is not installed"


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({"quality": lambda *_: table.require(False, "1 is not 2")}, "quality differs"),
        ({"theirs": lambda: table.Timed(2, 1.0), "at_most": 1.5}, "beyond ratio 2 (at most 1.5)"),
        ({"seconds": 1.0}, "beyond seconds 2 (at most 1)"),
    ],
)
def test_unequal_quality_and_passed_limits_end_with_status_1(told, verdict, monkeypatch, tmp_path):
    part = type(sys)("bench_made")
    part.cases = lambda: [case(**{"ours": lambda: table.Timed(1, 2.0)} | told)]
    monkeypatch.setitem(sys.modules, "bench_made", part)
    assert table.main(["made"], folder=tmp_path) == 1
    (line,) = pd.read_csv(tmp_path / "bench.csv").to_dict("records")
    assert line["verdict"] == verdict and not line["good"]
    assert verdict in (tmp_path / "bench.md").read_text()


@pytest.mark.parametrize("part", table.PARTS)
def test_every_part_declares_cases(part):
    text = (BENCHMARKS / f"bench_{part}.py").read_text()
    assert "\ndef cases():" in text and "Case(" in text
