"""What data sets say together: measures, ranks, shares, claims; and that pages show the tables."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.benchmark import Told, _measured

ROOT = Path(__file__).resolve().parents[2]
DOCS = runpy.run_path(str(ROOT / "docs" / "benchmark.py"))
KNOWN = [name for name in DOCS["config"]() if DOCS["known"](name)]
PLAIN = {"metric": "", "target": "general", "where": {}, "over": "", "within": None}
PLAIN |= {"better": "less", "mean": "value"}


def measured(table, **told):
    return [tuple(one) for one in _measured(table, "error", PLAIN | told, "randomised")]


def records(*rows):
    names = ("target", "metric", "measure", "setting", "part", "variable", "repeat", "value")
    return pd.DataFrame(rows, columns=names)


def test_a_measure_is_told_by_setting_and_repeat_and_of_series_the_last():
    one = ("general", "error", "", "a=1", "", "", 0)
    table = records((*one, 0.5), (*one, 0.4), ("train", *one[1:], 0.1), (*one[:-1], 1, 0.3))
    assert measured(table) == [("a=1", 0, 0.4), ("a=1", 1, 0.3)]
    assert measured(table, target="train") == [("a=1", 0, 0.1)]
    assert measured(table, where={"setting": "a=1"}) == [("", 0, 0.4), ("", 1, 0.3)]


def test_rules_parts_and_ratios():
    table = records(
        ("general", "randomised", "gap", "", "", "", 0, 0.2),
        ("general", "deterministic", "gap", "", "", "", 0, 0.9),
        ("general", "error", "ips", "", "", "", 0, 3.0),
        ("general", "error", "dr", "", "", "", 0, 1.0),
        ("general", "best", "", "", "", "", 0, 4.0),
        ("general", "earned", "", "", "", "", 0, 3.0),
    )
    assert measured(table, metric="{rule}", where={"measure": "gap"}) == [("", 0, 0.2)]
    assert sorted(measured(table, where={"measure": "each"})) == [("dr", 0, 1.0), ("ips", 0, 3.0)]
    assert measured(table, metric="earned", over="best") == [("", 0, 0.75)]


def test_the_best_setting_within_limits_and_none_where_no_setting_is():
    rows = [("error", "a=1", 0.3), ("error", "a=2", 0.1), ("gap", "a=1", 0.1), ("gap", "a=2", 0.4)]
    table = records(*[("general", one, "", setting, "", "", 0, v) for one, setting, v in rows])
    within = {"metric": "gap", "where": {}, "at_most": [0.2, 0.5]}
    assert measured(table, within=within) == [("", 0, pytest.approx(0.2))]
    assert measured(table, within=within, better="more") == [("", 0, pytest.approx(0.3))]
    low = PLAIN | {"within": within | {"at_most": [0.05, 0.5]}}
    assert np.isnan(measured(table, **low)[0][2])
    # Another method's value stands where no setting keeps the limit, in its own repeat alone.
    found = [*_measured(table, "error", low, "randomised", {0: 0.5, 1: 0.7})]
    assert found == [("", 0, pytest.approx((0.5 + 0.1) / 2))]
    assert np.isnan([*_measured(table, "error", low, "randomised", {1: 0.7})][0][2])


def told(values, better="less", **given):
    """`Told` of one condition from a table of values: data sets by methods."""
    long = pd.DataFrame(values).rename_axis("set").reset_index()
    long = long.melt("set", var_name="method").assign(condition="c", measure="loss", repeat=0)
    long["failed"] = np.where(long["value"].isna(), "why", None)
    settings = {"measures": {"loss": {"better": better, "mean": "value"}}, "conditions": ["c"]}
    settings |= {"plain": "plain", "equal": "equal", "oracles": ["sees"], "pairs": {}, "parts": {}}
    costs = pd.DataFrame(columns=["condition", "stage", "item", "seconds", "set"])
    return Told(settings | given, long, costs)


def table(sets=12):
    rng = np.random.default_rng(7)
    equal = rng.uniform(0.2, 0.3, sets)
    plain = equal + rng.uniform(0.1, 0.2, sets)
    half = (plain + equal) / 2
    return {"plain": plain, "equal": equal, "half": half, "harm": plain + 0.1, "sees": equal / 2}


def test_shares_ranks_and_the_worst_case():
    rows = {row["method"]: row for row in told(table()).methods()}
    assert {name: round(row["share"], 9) for name, row in rows.items() if name != "sees"} == {
        "plain": 0,
        "equal": 1,
        "half": 0.5,
        "harm": pytest.approx(-0.1 / (table()["plain"] - table()["equal"]).mean()),
    }
    assert [rows[name]["rank"] for name in ("half", "plain", "harm")] == [1, 2, 3]
    assert np.isnan(rows["sees"]["rank"]) and np.isnan(rows["equal"]["rank"])
    assert rows["harm"]["worst_change"] == pytest.approx(0.1) and rows["plain"]["worst_change"] == 0
    assert [rows["half"][key] for key in ("better", "alike", "worse")] == [12, 0, 0]
    assert rows["half"]["p_holm"] == pytest.approx(2 * 2**-11)


def test_what_is_better_when_it_is_more_ranks_the_other_way_round():
    values = {name: -part for name, part in table().items()}
    less, more = told(table()).methods(), told(values, better="more").methods()
    keys = ("method", "rank", "share", "p_holm", "better", "worse", "worst_change")
    pd.testing.assert_frame_equal(pd.DataFrame(less)[[*keys]], pd.DataFrame(more)[[*keys]])


def test_a_method_without_an_answer_ranks_last_and_is_named():
    values = table()
    values["half"][3] = np.nan
    made = told(values)
    rows = {row["method"]: row for row in made.methods()}
    assert (rows["half"]["sets"], rows["half"]["failed"]) == (11, 1)
    assert rows["half"]["rank"] == pytest.approx((11 * 1 + 3) / 12)
    assert [row["failed"] for row in made.sets()] == [""] * 3 + ["half"] + [""] * 8
    assert {row["best"] for row in made.sets()} == {"half", "plain"}


def test_claims_hold_fail_or_are_undecided_and_margins_count():
    pair = {"methods": ["half", "plain"], "says": "", "measure": "", "margin": 0.0}
    pairs = {"holds": pair, "fails": pair | {"methods": ["harm", "plain"]}}
    pairs |= {"near": pair | {"methods": ["harm", "plain"], "margin": 0.11}}
    found = {row["claim"]: row for row in told(table(), pairs=pairs).pairs()}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "holds": "holds",
        "fails": "does not hold",
        "near": "holds",
    }
    assert found["near"]["median_change"] == pytest.approx(0.1)
    few = {name: part[:5] for name, part in table().items()}
    assert told(few, pairs={"one": pair}).pairs()[0]["verdict"] == "undecided"


def test_a_method_with_settings_is_the_best_of_them_in_each_data_set():
    values = table()
    values = {name: values[name] for name in ("half", "plain")} | {
        # Each is far better in half of the sets, and far worse in the others.
        f"either share={at}": np.where(np.arange(12) % 2 == at, values["half"] - 0.01, 9.0)
        for at in (0, 1)
    }
    pair = {"says": "", "measure": "", "margin": 0.0}
    pairs = {"half": pair | {"methods": ["half", "either"]}}
    pairs |= {"either": pair | {"methods": ["either", "half"]}}
    pairs |= {"near": pair | {"methods": ["half", "either"], "margin": 0.011}}
    found = {row["claim"]: row["verdict"] for row in told(values, pairs=pairs).pairs()}
    assert found == {"half": "does not hold", "either": "holds", "near": "holds"}


@pytest.mark.parametrize("path", DOCS["pages"](), ids=lambda path: path.stem)
def test_pages_say_what_the_tables_say(path):
    assert path.read_text(encoding="utf-8") == DOCS["pages"]()[path]


def test_the_index_says_what_the_tables_say():
    kept = pd.read_csv(DOCS["KEPT"] / "best.csv", keep_default_na=False)
    have = {name: DOCS["config"]()[name] for name in KNOWN}
    assert kept.to_dict("records") == [*DOCS["best"](have)]


@pytest.mark.parametrize("name", KNOWN)
def test_tables_are_of_the_benchmark_that_is_asked_for(name):
    benchmark, methods = DOCS["config"]()[name], DOCS["read"](name, "methods")
    assert {*methods["condition"]} == {*benchmark["conditions"]}
    assert {*DOCS["read"](name, "sets")["set"]} <= {*benchmark["sets"]}
    if not benchmark.get("estimators"):
        named = {one.split(" ")[0] for one in methods["method"]}
        assert named == {one["name"] for one in benchmark["study"]["models"]}


def test_figures_are_there_of_known_benchmarks_and_of_no_others():
    there = {path.stem for path in (ROOT / "docs" / "images" / "benchmark").glob("*.svg")}
    assert there == {*KNOWN}


def test_the_overlay_brings_no_study_along():
    given = yaml.safe_load((ROOT / "workflow" / "overlays" / "benchmark.yaml").read_text())
    assert [*given] == ["benchmarks"]


def test_verdicts_that_turn_with_the_seed_are_counted_and_listed():
    table = pd.DataFrame(
        {"7": ["holds", "holds", "depends"], "8": ["holds", "does not hold", "depends"]},
        index=["A1", "A2", "A3"],
    ).assign(**{"9": "holds"})
    first, second, *_, a2, a3 = DOCS["seeds_told"](table)
    assert first.startswith("Seed 8 changes 1 of 3 verdicts, and turns 1 ")
    assert second.startswith("Seed 9 changes 1 of 3 verdicts, and turns none ")
    assert a2 == "| A2 | holds | does not hold | holds |"
    assert a3 == "| A3 | depends | depends | holds |"
    assert not any("A1" in line for line in DOCS["seeds_told"](table))
