"""Features that a recipe declares categories, from the recipe to the model."""

import numpy as np
import pandas as pd
import pytest
from counterweight.files.study_data import StudyData
from counterweight.files.tables import read_columns, read_facts, write_table
from counterweight.labeling.recipes import BINARY, adult_binary, as_is, declare_categories, one_hot
from counterweight.models.generative import GenerativeClassifier
from counterweight.models.training import seen_rows
from counterweight.numerics.emissions import Layout


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
    model = GenerativeClassifier(components=1, restarts=1)
    model.fit(X, y, weight, rng=np.random.default_rng(0), **told)
    # The mean of incomes that are there, not of medians put in their place.
    seen = (y == 1) & ~flag
    assert model.means_[1, 0, 1] == pytest.approx(
        X[seen, data.names.index("income")].mean(), abs=0.02
    )
    plain = GenerativeClassifier(components=1, restarts=1, categories="none")
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
