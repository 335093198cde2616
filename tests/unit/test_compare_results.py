"""The comparison of two result folders, on small made-up ones."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "compare_results.py"
spec = importlib.util.spec_from_file_location("compare_results", SCRIPT)
compare_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_results)


def metrics():
    """Measurements of two repeats; one row stands there twice, one error is missing."""
    frame = pd.DataFrame(
        {
            "study": "toy",
            "source": "logistic",
            "repeat": np.array([0, 0, 0, 1, 1], dtype=np.int16),
            "metric": ["auc", "auc", "loss", "auc", "loss"],
            "item": "",
            "value": [0.5, 0.75, 1.0, 0.0, 3.0],
            "standard_error": [0.1, 0.1, np.nan, 0.1, 0.2],
            "rows": 7,
        }
    )
    return frame


def claims(effect=0.25, verdict="reproduced"):
    rules = json.dumps([{"label": "a rule", "effect": effect, "passed": True}])
    return pd.DataFrame({"id": ["A01"], "verdict": [verdict], "low": [np.nan], "rules": [rules]})


@pytest.fixture
def folders(tmp_path):
    """Two result folders with equal tables."""
    for side in ("old", "new"):
        for name, table in (
            ("toy/metrics/logistic", metrics()),
            ("claims", claims()),
            ("tables/toy-general", metrics().head(3)),
        ):
            write(tmp_path / side, name, table)
        (tmp_path / side / "toy" / "predictions.parquet").write_text("not compared")
    return tmp_path / "old", tmp_path / "new"


def write(folder, name, table):
    path = folder / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path)


def outcome(folders, capsys, *options):
    """Exit status and printed lines, the summary last."""
    status = compare_results.main([*map(str, folders), *options])
    return status, capsys.readouterr().out.splitlines()


def test_equal_folders_are_equal(folders, capsys):
    status, lines = outcome(folders, capsys)
    assert status == 0
    assert lines == [
        "3 tables in both folders, 3 of them with equal bytes; 0 differ. 27 values compared, "
        "0 differ; largest relative difference 0."
    ]


def test_the_order_of_rows_and_columns_does_not_matter(folders, capsys):
    # The two rows about the same keep their order.
    table = metrics().iloc[[4, 3, 0, 2, 1]][metrics().columns[::-1]]
    write(folders[1], "toy/metrics/logistic", table)
    status, lines = outcome(folders, capsys)
    assert status == 0 and "2 of them with equal bytes; 0 differ" in lines[-1]


def test_one_changed_value_is_told(folders, capsys):
    table = metrics()
    table.loc[4, "value"] *= 1 + 1e-10
    write(folders[1], "toy/metrics/logistic", table)
    status, lines = outcome(folders, capsys)
    assert status == 1 and len(lines) == 2
    assert "toy/metrics/logistic.parquet: value differs in 1 of 5 rows, by up to 1e-10" in lines[0]
    assert "repeat=1 metric=loss" in lines[0]
    assert "1 differ. 27 values compared, 1 differ; largest relative difference 1e-10" in lines[1]
    assert outcome(folders, capsys, "--rtol", "1e-9")[0] == 0
    assert outcome(folders, capsys, "--rtol", "1e-11")[0] == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e-300])
def test_what_is_not_near_differs_at_any_tolerance(folders, capsys, value):
    table = metrics()
    table.loc[3, "value"] = value
    write(folders[1], "toy/metrics/logistic", table)
    assert outcome(folders, capsys, "--rtol", "0.5")[0] == 1


def test_a_missing_file_is_told(folders, capsys):
    (folders[1] / "toy/metrics/logistic.parquet").unlink()
    write(folders[1], "toy/metrics/more", metrics())
    status, lines = outcome(folders, capsys)
    assert status == 1
    assert lines[0] == f"only in {folders[0]}: toy/metrics/logistic.parquet"
    assert lines[1] == f"only in {folders[1]}: toy/metrics/more.parquet"


def test_missing_rows_and_columns_are_told(folders, capsys):
    table = metrics().drop(index=1).drop(columns="rows").assign(more=1)
    write(folders[1], "toy/metrics/logistic", table)
    status, lines = outcome(folders, capsys)
    assert status == 1
    told = "\n".join(lines)
    assert "columns only in OLD: rows" in told and "columns only in NEW: more" in told
    # The second of two rows about the same is the one that has no other.
    assert "1 rows only in OLD, e.g. study=toy source=logistic repeat=0 metric=auc" in told


@pytest.mark.parametrize(
    ("table", "status"),
    [
        (claims(effect=0.25 * (1 + 1e-12)), 0),
        (claims(effect=0.26), 1),
        (claims(verdict="not reproduced"), 1),
        (claims(verdict="holds"), 0),
        (claims(verdict="undecided"), 1),
    ],
    ids=["last digits", "number", "text", "the word of today", "another verdict"],
)
def test_numbers_in_texts_are_compared_as_numbers(folders, capsys, table, status):
    write(folders[1], "claims", table)
    assert outcome(folders, capsys, "--rtol", "1e-9")[0] == status
    if "verdict" in table and table["verdict"][0] != "holds":
        assert outcome(folders, capsys)[0] == 1


@pytest.mark.parametrize(
    ("outcomes", "word", "status"),
    [
        (("holds", "fails"), "depends", 0),
        (("holds", "undecided"), "holds where it could be decided", 0),
        (("holds", "undecided"), "depends", 1),
    ],
)
def test_what_a_verdict_depended_on_goes_by_the_outcomes(folders, capsys, outcomes, word, status):
    rules = json.dumps([{"label": "a rule", "verdict": outcome} for outcome in outcomes])
    write(folders[0], "claims", claims(verdict="depends on the case").assign(rules=rules))
    write(folders[1], "claims", claims(verdict=word).assign(rules=rules))
    assert outcome(folders, capsys)[0] == status


def test_empty_folders_are_no_proof(tmp_path, capsys):
    status, lines = outcome((tmp_path, tmp_path), capsys)
    assert status == 1 and "has a table to compare" in lines[0]
