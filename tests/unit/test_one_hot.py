"""One-hot features: nothing is lost, nothing leaks, nothing is constant."""

import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.adult import Adult
from counterweight.datasets.bank_marketing import BankMarketing
from counterweight.errors import CounterweightError
from counterweight.files.tables import read_table, write_table
from counterweight.labeling.encoding import TabularEncoder, fitted_encoder
from counterweight.labeling.recipes import one_hot
from counterweight.labeling.split import check_features
from counterweight.plan.components import options

TABLES = {
    "bank_marketing": (BankMarketing, {"outcome": "y", "drop": ["duration"]}),
    "adult": (Adult, {"outcome": "income", "drop": ["part"]}),
}


def encoded(frame, **chosen):
    return one_hot(frame, np.random.default_rng(0), **chosen)


def table(**columns):
    rows = len(next(iter(columns.values())))
    return pd.DataFrame({"row": np.arange(rows, dtype="int32"), **columns})


SMALL = table(
    n=pd.array([3, None, 1, 7], dtype="Int64"),
    word=["b", None, "a", "b"],
    y=["no", "yes", "no", "no"],
    x=[0.5, 1.5, 2.5, 3.5],
)


def check(frame, features, outcome, drop):
    """What holds for every table: the features tell each kept column back, exactly."""
    check_features(features)
    assert features["row"].tolist() == frame["row"].tolist()
    names = [name for name in features if name != "row"]
    assert all(features[name].dtype == np.float64 for name in names)
    assert not any(name == outcome or name.startswith(f"{outcome}=") for name in names)
    for dropped in drop:
        assert not any(name == dropped or name.startswith(f"{dropped}=") for name in names)
    at = 0
    for column in frame.columns:
        if column in ("row", outcome) or column in drop:
            continue
        values = frame[column]
        if values.dtype.kind in "if":
            assert names[at] == column
            kept = values.notna().to_numpy()
            np.testing.assert_array_equal(features[column][kept], values[kept].astype(float))
            at += 1
            if not kept.all():
                assert names[at] == f"{column}_missing"
                np.testing.assert_array_equal(features[names[at]], ~kept)
                assert (features[column][~kept] == values.median()).all()
                at += 1
            continue
        words = sorted(values.dropna().unique()) + ["missing"] * int(values.isna().any())
        group = names[at : at + len(words)]
        assert group == [f"{column}={word}" for word in words]
        assert (features[group].sum(axis=1) == 1).all()
        told = np.array(words)[features[group].to_numpy().argmax(axis=1)]
        assert (told == values.fillna("missing").to_numpy()).all()
        at += len(words)
    assert at == len(names)


def test_order_names_and_values():
    features = encoded(SMALL, outcome="y")
    assert features.to_dict("list") == {
        "row": [0, 1, 2, 3],
        "n": [3.0, 3.0, 1.0, 7.0],
        "n_missing": [0.0, 1.0, 0.0, 0.0],
        "word=a": [0.0, 0.0, 1.0, 0.0],
        "word=b": [1.0, 0.0, 0.0, 1.0],
        "word=missing": [0.0, 1.0, 0.0, 0.0],
        "x": [0.5, 1.5, 2.5, 3.5],
    }
    check(SMALL, features, "y", [])


@pytest.mark.parametrize("name", TABLES)
def test_twins_are_encoded_without_loss(tmp_path, name):
    dataset, chosen = TABLES[name]
    dataset.generate(tmp_path, 4000, np.random.default_rng(2))
    write_table(tmp_path / "prepared.parquet", dataset.read(tmp_path))
    frame = read_table(tmp_path / "prepared.parquet")
    check(frame, encoded(frame, **chosen), **chosen)


@pytest.mark.parametrize("name", TABLES)
def test_real_tables_are_encoded_without_loss(name):
    dataset, chosen = TABLES[name]
    folder = Path(os.environ.get("COUNTERWEIGHT_MIRROR", ""), name)
    if not os.environ.get("COUNTERWEIGHT_MIRROR") or not folder.is_dir():
        pytest.skip("needs the real files: COUNTERWEIGHT_MIRROR names no folder that has them")
    frame = dataset.read(folder)
    features = encoded(frame, **chosen)
    check(frame, features, **chosen)
    assert features.shape == {"bank_marketing": (45211, 52), "adult": (48842, 109)}[name]


def test_the_outcome_changes_no_feature():
    flipped = SMALL.assign(y=["yes", "no", "yes", "yes"])
    assert encoded(SMALL, outcome="y").equals(encoded(flipped, outcome="y"))


def test_rows_in_another_order_get_the_same_features():
    order = [2, 0, 3, 1]
    features = encoded(SMALL, outcome="y", max_categories=1)
    other = encoded(SMALL.iloc[order].reset_index(drop=True), outcome="y", max_categories=1)
    assert other.equals(features.iloc[order].reset_index(drop=True))


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string"])
def test_kinds_of_text_are_alike(dtype):
    frame = SMALL.assign(word=SMALL["word"].astype(dtype))
    assert encoded(frame, outcome="y").equals(encoded(SMALL, outcome="y"))


def test_columns_of_one_value_give_no_feature_and_are_said(caplog):
    frame = SMALL.assign(
        same="a", seven=7, none=None, nothing=np.nan, known=pd.array([5, None, 5, 5], "Int64")
    )
    with caplog.at_level(logging.INFO, logger="counterweight"):
        features = encoded(frame, outcome="y")
    expected = [*encoded(SMALL, outcome="y"), "known_missing"]
    assert list(features) == expected
    told = "one value in all 4 rows, left out: same=a, seven, none=missing, nothing"
    assert told in caplog.text


def test_rare_categories_are_pooled_and_counted(caplog):
    words = ["d"] * 4 + ["a"] * 3 + ["c"] * 2 + ["b"] * 2 + ["e", None]
    frame = table(word=words)
    with caplog.at_level(logging.INFO, logger="counterweight"):
        features = encoded(frame, max_categories=3)
    assert list(features)[1:] == ["word=a", "word=b", "word=d", "word=other", "word=missing"]
    assert features.sum().tolist()[1:] == [3.0, 2.0, 4.0, 3.0, 1.0]
    assert "word: 2 rare categories (3 rows) pooled as other" in caplog.text
    assert list(encoded(frame, max_categories=5))[1:6] == [f"word={word}" for word in "abcde"]


def test_filled_numbers_are_said(caplog):
    with caplog.at_level(logging.INFO, logger="counterweight"):
        encoded(SMALL, outcome="y")
    assert "n: 1 missing values filled with 3" in caplog.text


def test_names_that_are_taken_stay_apart():
    frame = table(
        word=["other", "missing", None, "a", "a", "other", "missing"],
        n=[1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0],
        n_missing=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    )
    features = encoded(frame)
    assert "word=missing_" in features and "n_missing_" in features
    assert features["word=missing"].sum() == 2 and features["word=missing_"].sum() == 1
    assert features["n_missing"].tolist() == frame["n_missing"].tolist()
    pooled = encoded(
        frame.assign(word=["other", "other", None, "a", "b", "c", "other"]), max_categories=1
    )
    assert pooled["word=other"].sum() == 3 and pooled["word=other_"].sum() == 3


@pytest.mark.parametrize("names", [["word", "word=a"], ["word=a", "word"]])
def test_a_column_named_as_a_category_keeps_both_features(names):
    columns = {"word": ["a", "b", "a"], "word=a": [7.0, 8.0, 9.0]}
    features = encoded(table(**{name: columns[name] for name in names}))
    assert features["word=a"].tolist() == [7, 8, 9]
    assert features["word=a_"].tolist() == [1, 0, 1] and features["word=b"].tolist() == [0, 1, 0]


def test_an_encoder_that_was_written_down_gives_new_rows_the_same_features():
    words = ["NA", "b", "c", "c", None, "b", "c"]
    frame = table(word=words, n=[1.0, None, 3.0, 4.0, 5.0, 6.0, 7.0], flat=1)
    fitted = fitted_encoder(frame, max_categories=2)
    again = TabularEncoder.of(feature._replace() for feature in fitted.features_)
    names = [feature.name for feature in again.features_]
    assert names == ["word=b", "word=c", "word=other", "word=missing", "n", "n_missing"]
    assert again.columns_ == {"word": "text", "n": "number"}
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    new = again.transform(pd.DataFrame({"n": [None, 9.0], "word": ["z", "b"]}))
    np.testing.assert_array_equal(new, [[0, 0, 1, 0, 4.5, 1], [1, 0, 0, 0, 9, 0]])


def test_booleans_are_numbers():
    features = encoded(table(flag=[True, False, True], y=[0, 1, 0]), outcome="y")
    assert features["flag"].tolist() == [1.0, 0.0, 1.0]


def test_noise_has_the_width_and_none_leaves_the_stream():
    plain, noisy = encoded(SMALL, outcome="y"), encoded(SMALL, outcome="y", noise=0.1)
    change = (noisy - plain).drop(columns="row").to_numpy()
    assert (np.abs(change) <= 0.1).all() and (change != 0).all()
    assert (noisy["row"] == plain["row"]).all()


def test_defaults_are_those_of_the_options():
    defaults = {name: node["default"] for name, node in options("features", "one_hot").items()}
    assert defaults == {"drop": [], "only": [], "max_categories": 50, "noise": 0.0}
    assert encoded(SMALL, **defaults).equals(encoded(SMALL))


@pytest.mark.parametrize(
    ("frame", "chosen", "message"),
    [
        (SMALL, {"drop": ["day"]}, "needs the column day"),
        (SMALL, {"drop": ["row"]}, "names row"),
        (SMALL, {"outcome": "y", "drop": ["n", "x", "word"]}, "without any feature"),
        (SMALL.assign(x=[1, np.inf, -np.inf, 2]), {}, "'x' is infinite in 2 rows .first: row 1"),
        (SMALL.assign(when=pd.Timestamp(0)), {}, "'when' is of type datetime64"),
        (SMALL.assign(mixed=["a", 1, 2, "b"]), {}, "'mixed' is of type object"),
        (SMALL.assign(wave=[1j, 1, 2, 3]), {}, "'wave' is of type complex"),
        (SMALL[:0], {}, "no row"),
    ],
)
def test_tables_that_cannot_be_encoded_are_told(frame, chosen, message):
    with pytest.raises(CounterweightError, match=message) as caught:
        encoded(frame, **chosen)
    assert "\n" not in str(caught.value)


def test_only_some_columns_become_features():
    frame = table(a=[1.0, 2.0, 3.0], b=[3.0, 1.0, 2.0], y=[0, 1, 0])
    made = encoded(frame, outcome="y", only=["b"])
    assert list(made) == ["row", "b"]
