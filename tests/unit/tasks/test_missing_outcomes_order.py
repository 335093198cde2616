"""A table has one answer, whatever its columns are called and however its rows stand."""

import numpy as np
import pytest
from counterweight.tables.parquet import read_table
from delivering import delivered, people

NAMES = {"age": "Zahl 7", "city": "a", "member": "x_1", "since": "outcome", "y": "won"}


def answers(folder, frame, **entry):
    folder.mkdir()
    _, files = delivered(folder, frame, **entry)
    metrics = read_table(files["metrics"]).fillna({"part": "", "variable": ""})
    return read_table(files["scores"]).set_index("who"), metrics


@pytest.fixture(scope="module", params=["class", "number"])
def first(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("order")
    frame = people(300, 4, number=request.param == "number")
    return folder, frame, *answers(folder / "first", frame)


def test_names_and_order_of_columns_decide_nothing(first):
    folder, frame, scores, metrics = first
    turned = frame.rename(columns=NAMES)[[NAMES.get(name, name) for name in frame.columns[::-1]]]
    renamed, other = answers(folder / "renamed", turned, outcome={"column": "won"})
    for column in ("estimate", "low", "high"):
        assert (renamed[column] == scores[column]).all()
    rate = ["target_rate", "target_mean", "delivered", "effective_rows", "rows_outside"]
    columns = ["metric", "part", "variable", "value", "standard_error"]
    one, two = (
        m.loc[m["metric"].isin(rate), columns].reset_index(drop=True) for m in (metrics, other)
    )
    assert one.equals(two)


def test_the_order_of_rows_decides_nothing_but_last_digits(first):
    folder, frame, scores, _ = first
    order = np.random.default_rng(1).permutation(len(frame))
    moved, _ = answers(folder / "rows", frame.iloc[order])
    for column in ("estimate", "low", "high"):
        assert np.abs(moved[column][scores.index] - scores[column]).max() < 1e-6
