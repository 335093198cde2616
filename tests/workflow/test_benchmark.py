"""A benchmark, small and whole: two data sets, two conditions, a package that is missing."""

import pandas as pd
import pytest
import yaml

STUDY = {
    "dataset": "{set}",
    "repeats": 2,
    "test_share": 0.5,
    "targets": ["general"],
    "features": {"recipe": "as_is", "columns": "{columns}"},
    "outcome": {"rule": "equals", "column": "label", "value": 1},
    "labeling": {"rule": "missingness_mechanism", "share": 0.5},
    "selection": [{"selector": "logistic"}],
    "weighting": [
        {"weighting": "lemma1"},
        {"weighting": "peer_ratio", "by": "skada_density", "name": "peer"},
    ],
    "models": [
        {"model": "logistic", "name": "plain"},
        {"model": "logistic", "oracle": True, "oracle_rows": "labeled", "name": "equal"},
        {"model": "logistic", "weights": "lemma1", "name": "lemma1"},
        {"model": "logistic", "weights": "peer", "name": "peer"},
        {"model": "tilted", "delta": {"by": "rate"}, "oracle": True, "name": "rate"},
    ],
}
BENCHMARK = {
    "rows": 600,
    "measures": {"log_loss": {"better": "less"}, "auc": {"better": "more"}},
    "plain": "plain",
    "equal": "equal",
    "pairs": {"T1": {"methods": ["lemma1", "plain"], "says": "weights help"}},
    "study": STUDY,
    "conditions": {
        "at_random": {},
        "outcome": {
            "study": {"labeling": {"rule": "missingness_mechanism", "share": 0.5, "positive": 2.0}}
        },
    },
    "sets": {
        "straight": {"words": {"columns": ["x1", "x2"]}},
        "screening": {"words": {"columns": ["x1", "x2", "x3"]}},
    },
}


@pytest.fixture(scope="module")
def done(copied, small):
    copy = copied(small)
    # As where the package is not installed.
    copy.append(
        "workflow/counterweight/weighting/density_ratios.py",
        '\nWAYS["skada_density"] = ("no_such", "A", {})\n',
    )
    (copy.folder / "tiny.yaml").write_text(yaml.safe_dump({"benchmarks": {"selection": BENCHMARK}}))
    run = copy.run("benchmarks", "--configfile", "tiny.yaml")
    assert run.status == 0, run.output
    return copy


def table(copy, name):
    return pd.read_csv(copy.results / "tables" / f"selection_{name}.csv")


def test_every_method_stands_under_every_condition_with_its_share_and_costs(done):
    told = table(done, "methods")
    assert len(told) == 2 * 5
    answered = told[told["method"] != "peer"]
    assert (answered["sets"] == 2).all() and (answered["failed"] == 0).all()
    assert (answered["log_loss"].between(0, 2)).all() and (answered["seconds"] > 0).all()
    plain = told[told["method"] == "plain"]
    assert (plain["worst_change"] == 0).all()
    # Oracles are told and not ranked.
    ranked = told.set_index("method")["rank"]
    assert ranked[["equal", "rate"]].isna().all() and ranked[["plain", "lemma1"]].notna().all()


def test_a_package_that_is_missing_is_a_row_that_says_so(done):
    told = table(done, "methods").set_index("method").loc["peer"]
    assert (told["failed"] == 2).all() and told["log_loss"].isna().all()
    assert (told["rank"] == 3).all()
    assert (table(done, "sets")["failed"] == "peer").all()
    records = pd.read_parquet(done.results / "compared" / "selection" / "sets" / "straight.parquet")
    why = records[records["method"].eq("peer")]["failed"].unique()
    assert len(why) == 1 and "pip install 'counterweight[peers]'" in why[0]


def test_pairs_are_decided_over_data_sets_and_two_are_too_few(done):
    told = table(done, "pairs")
    assert told["condition"].tolist() == ["at_random", "outcome"]
    assert (told["sets"] == 2).all() and (told["verdict"] == "undecided").all()
    assert (told[["wins", "ties", "defeats"]].sum(axis=1) == 2).all()


def test_a_second_run_has_nothing_to_do_and_all_the_same_bytes(done):
    files = [*(done.results / "compared").rglob("*.parquet")]
    before = {path: path.read_bytes() for path in files}
    assert len(before) == 2
    assert "Nothing to be done" in done.run("benchmarks", "--configfile", "tiny.yaml").output
    again = done.run(
        "benchmarks",
        "--configfile",
        "tiny.yaml",
        "--forcerun",
        "compare_selection_straight",
        cores=1,
    )
    assert again.status == 0, again.output
    assert {path: path.read_bytes() for path in files} == before


def test_mistakes_are_told_before_anything_runs(done):
    wrong = BENCHMARK | {"plain": "plian"}
    (done.folder / "wrong.yaml").write_text(yaml.safe_dump({"benchmarks": {"selection": wrong}}))
    run = done.run("benchmarks", "--dry-run", "--configfile", "wrong.yaml")
    assert run.status and "'plian', which is no method of its studies" in run.output
    wrong = BENCHMARK | {"sets": {"straight": {}}}
    (done.folder / "wrong.yaml").write_text(yaml.safe_dump({"benchmarks": {"selection": wrong}}))
    run = done.run("benchmarks", "--dry-run", "--configfile", "wrong.yaml")
    assert run.status and "names a word that neither has" in run.output
