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
from counterweight.labeling.encoding import TabularEncoder, fitted_encoder
from counterweight.labeling.recipes import (
    BINARY,
    add_noise,
    adult_binary,
    as_is,
    declare_categories,
    one_hot,
)
from counterweight.labeling.split import check_features
from counterweight.models.class_mixtures import GenerativeClassifier
from counterweight.models.training import seen_rows
from counterweight.numerics.emissions import Layout
from counterweight.plan.components import options
from counterweight.tables.parquet import read_columns, read_facts, read_table, write_table
from counterweight.tables.study_data import StudyData

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
    told = {"drop": [], "only": [], "max_categories": 50, "least_rows": 1, "noise": 0.0}
    assert defaults == told
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


def _frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(size=n)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32"),
            "age": rng.normal(40, 9, n),
            "income": np.where(rng.random(n) < 0.2, np.nan, income),
            "job": rng.choice(["clerk", "cook", "pilot"], n),
            "member": rng.random(n) < 0.5,
            "zero_one": (rng.random(n) < 0.5).astype(int),
        }
    )


def _data(features, tmp_path):
    n, rng = len(features), np.random.default_rng(1)
    known = {name: features.attrs[name] for name in features.attrs}
    write_table(tmp_path / "features.parquet", features, facts=known)
    role = np.where(rng.random(n) < 0.8, "labeled", "test").astype(object)
    labels = {"repeat": np.zeros(n, int), "row": features["row"].to_numpy(), "role": role}
    labels |= {"selected": np.ones(n, int), "y_general": (rng.random(n) < 0.5).astype(float)}
    write_table(tmp_path / "labels.parquet", labels)
    return StudyData.read(tmp_path / "features.parquet", tmp_path / "labels.parquet")


def test_text_columns_truth_values_and_marks_are_declared():
    features = one_hot(_frame(), np.random.default_rng(0))
    told = features.attrs["categories"]
    assert told["blocks"] == [
        ["income_missing"],
        ["job=clerk", "job=cook", "job=pilot"],
        ["member"],
    ]
    assert told["flags"] == {"income": "income_missing"}


def test_numbers_are_never_taken_for_categories():
    """A column of 0 and 1 is a number unless it is typed as truth values."""
    frame = _frame()[["row", "age", "member", "zero_one"]]
    assert as_is(frame, np.random.default_rng(0)).attrs["categories"]["blocks"] == [["member"]]
    frame = frame.drop(columns="member")
    assert "categories" not in as_is(frame, np.random.default_rng(0)).attrs


@pytest.mark.parametrize("recipe", [one_hot, as_is])
def test_with_noise_nothing_is_declared(recipe):
    frame = _frame()[["row", "age", "member"]]
    assert "categories" not in recipe(frame, np.random.default_rng(0), noise=0.1).attrs


def test_files_without_facts_stay_as_they_were(tmp_path):
    features = _frame()[["row", "age"]]
    write_table(tmp_path / "one.parquet", features)
    write_table(tmp_path / "two.parquet", declare_categories(features, []), facts={})
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert read_facts(tmp_path / "one.parquet") == {}
    told = {"categories": {"blocks": [["age"]], "flags": {}}}
    write_table(tmp_path / "two.parquet", features, facts=told)
    assert read_facts(tmp_path / "two.parquet") == told
    for name, values in read_columns(tmp_path / "two.parquet").items():
        np.testing.assert_array_equal(values, features[name])


def test_a_model_is_told_what_the_recipe_declares(tmp_path):
    data = _data(one_hot(_frame(), np.random.default_rng(0)), tmp_path)
    X, y, weight, told = seen_rows(GenerativeClassifier, data, 0, "general")
    layout = told["categories"]
    assert [data.names[at] for at in layout.numbers] == ["age", "income", "zero_one"]
    assert layout.levels == (2, 3, 2)
    numbers, _ = layout.split(X)
    flag = X[:, data.names.index("income_missing")] == 1
    np.testing.assert_array_equal(np.isnan(numbers[:, 1]), flag)
    model = GenerativeClassifier(components=1, n_init=1)
    model.fit(X, y, weight, rng=np.random.default_rng(0), **told)
    # The mean of incomes that are there, not of medians put in their place.
    seen = (y == 1) & ~flag
    assert model.means_[1, 0, 1] == pytest.approx(
        X[seen, data.names.index("income")].mean(), abs=0.02
    )
    plain = GenerativeClassifier(components=1, n_init=1, categories="none")
    plain.fit(X, y, weight, rng=np.random.default_rng(0), **told)
    assert plain.mixtures_.layout is None


def test_binary_features_of_adult_may_stay_without_noise():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"row": np.arange(n, dtype="int32")})
    for name, (_, ones) in BINARY.items():
        frame[name] = rng.choice([ones[0], "another"], n)
    for name in (
        "age",
        "fnlwgt",
        "education-num",
        "hours-per-week",
        "capital-gain",
        "capital-loss",
    ):
        frame[name] = rng.integers(1, 50, n)
    paper, exact = (
        adult_binary(frame, np.random.default_rng(1), noise_on=on) for on in ("all", "numbers")
    )
    names = [feature for feature, _ in BINARY.values()]
    assert "categories" not in paper.attrs
    assert exact.attrs["categories"]["blocks"] == [[name] for name in names]
    others = paper.columns.drop(names)
    pd.testing.assert_frame_equal(paper[others], exact[others], check_flags=False)
    assert np.isin(exact[names], (0, 1)).all()
    assert not np.isin(paper[names], (0, 1)).any()
    layout = Layout.named(list(exact.columns[1:]), **exact.attrs["categories"])
    assert len(layout.split(exact.iloc[:, 1:].to_numpy())[1].T) == 6


def test_noise_is_added_draw_by_draw():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    draws = np.random.default_rng(4).uniform(-1.0, 1.0, size=(2, 2))
    made = add_noise(frame.copy(), 0.5, ["a", "b"], np.random.default_rng(4))
    np.testing.assert_array_equal(made, frame.to_numpy() + 0.5 * draws)
