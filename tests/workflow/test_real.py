"""The real data, where a mirror folder has them: sizes and accuracies near the printed ones."""

import os
from pathlib import Path

import pandas as pd
import pytest

MIRROR = Path(os.environ.get("COUNTERWEIGHT_MIRROR") or "no mirror")
pytestmark = pytest.mark.skipif(
    not all((MIRROR / name).is_dir() for name in ("adult", "ca_housing")),
    reason="COUNTERWEIGHT_MIRROR names no folder with adult and ca_housing",
)
METHODS = [
    {"model": "logistic"},
    {"model": "logistic", "weights": "lemma1"},
    {"model": "logistic", "oracle": True},
]


@pytest.fixture(scope="module")
def metrics(copied, shipped):
    """Metrics of logistic regression on the real data, 3 splits."""
    studies = {}
    for name in ("adult_married", "ca_coastal"):
        study = shipped["studies"][name]
        lemma1 = [item for item in study["weighting"] if item["weighting"] == "lemma1"]
        studies[name] = study | {
            "selection": study["selection"][:1],
            "weighting": lemma1,
            "models": METHODS,
            "figures": [],
        }
    copy = copied(shipped | {"repeats": 3, "model_defaults": {}, "studies": studies})
    run = copy.run(environment={"COUNTERWEIGHT_MIRROR": str(MIRROR.resolve())})
    assert run.status == 0, run.output
    return pd.read_parquet(copy.results / "tables" / "metrics.parquet")


def mean(metrics, study, source, metric, target="general"):
    rows = metrics[
        (metrics["study"] == study)
        & (metrics["source"] == source)
        & (metrics["metric"] == metric)
        & (metrics["target"] == target)
    ]
    assert len(rows) == 3
    return rows["value"].mean()


def test_the_parts_of_the_adult_split_sum_to_the_whole(metrics):
    labels = metrics[(metrics["study"] == "adult_married") & (metrics["source"] == "labels")]
    parts = labels[labels["metric"].isin(["rows_labeled", "rows_unlabeled", "rows_test"])]
    assert list(parts.groupby("repeat")["value"].sum()) == [45232] * 3


@pytest.mark.parametrize(
    ("study", "method", "printed", "points"),
    [
        ("adult_married", "logistic-lemma1", 74.2, 2.0),
        ("adult_married", "logistic-oracle", 80.7, 1.5),
        ("ca_coastal", "logistic-lemma1", 74.8, 2.0),
        ("ca_coastal", "logistic-oracle", 80.5, 2.0),
    ],
)
def test_logistic_regression_comes_near_the_printed_accuracy(
    metrics, study, method, printed, points
):
    assert abs(100 * mean(metrics, study, method, "accuracy") - printed) <= points
