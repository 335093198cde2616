"""Predictions that a log holds: who is judged by a job, and the tables that are given away."""

from types import SimpleNamespace

import pandas as pd
from counterweight.plan import components
from counterweight.tables.saved_form import write_saved
from counterweight.tasks import prediction_logs

LINE = {"predictions": "a", "metric": "auc", "value": 0.7, "standard_error": 0.1}
LINE |= {"low": 0.5, "high": 0.9, "top": 1.0, "rows": 90, "nonzero": 9}
GAP = {"predictions": "a", "other": "b", "metric": "auc", "value": 0.1, "standard_error": 0.05}
GAP |= {"low": 0.0, "high": 0.2}
MERGED = {"rows": 100, "nonzero": 10, "estimates": [LINE], "differences": [GAP, GAP]}


def merged(tmp_path):
    path = str(tmp_path / "labels.parquet")
    write_saved(path, "sums", MERGED, {})
    return path


def test_measures_have_the_rows_of_their_part_and_comparisons_those_of_the_log(tmp_path):
    names = [
        f"{name}_{form}" for name in ("measures", "comparisons") for form in ("parquet", "csv")
    ]
    output = {name: str(tmp_path / name.replace("_", ".")) for name in names}
    job = SimpleNamespace(input=SimpleNamespace(labels=merged(tmp_path)))
    job.output = SimpleNamespace(**output)
    prediction_logs.deliver(job)
    measures, comparisons = (
        pd.read_csv(tmp_path / f"{n}.csv") for n in ("measures", "comparisons")
    )
    assert list(measures) == [
        *("predictions", "metric", "top", "value", "standard_error", "low", "high"),
        *("rows", "nonzero", "impossible"),
    ]
    assert measures.iloc[0][["rows", "nonzero", "top", "value"]].tolist() == [90, 9, 1.0, 0.7]
    assert list(comparisons)[:3] == ["predictions", "other", "metric"] and len(comparisons) == 2
    assert comparisons["rows"].tolist() == [100, 100] and "top" not in comparisons
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "measures.parquet"), measures)


def test_a_job_judges_the_predictions_of_its_method(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        components, "configured", lambda *_: lambda facts, name, ids: asked.append((name, ids))
    )
    given = {"method": "m2", "ids": {"a": "m1", "b": "m2"}, "protocol": {}}
    job = SimpleNamespace(given=given, input=SimpleNamespace(labels=merged(tmp_path)))
    prediction_logs.evaluate(job)
    assert asked == [("b", given["ids"])]
