"""New rows as the features of the fit: repeated exactly, counted where filled, or refused."""

import logging

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.final_filters import saved_filter
from counterweight.delivery.saved_models import encoded, learned_encoder
from counterweight.errors import CounterweightError
from counterweight.labeling.recipes import as_is, one_hot
from counterweight.selection.group_proxies import TreeProxy
from counterweight.tables.table_reader import read_people
from filter_study import RECIPE, people, study


def brought(path):
    return read_people(path, absent="bring it", nameless=True)


def test_learned_features_repeat_the_recipe_on_every_row():
    frame = people()
    features = one_hot(frame, np.random.default_rng(0), **RECIPE["options"])
    names = [name for name in features if name != "row"]
    known = learned_encoder(frame, names, RECIPE)
    np.testing.assert_array_equal(encoded(frame, known), features[names].to_numpy())
    assert [feature.kind for feature in known.features_] == [
        "number",
        "blank",
        "category",
        "category",
        "category",
        "other",
        "number",
        "category",
        "category",
        "blank",
    ]
    plain = as_is(frame, np.random.default_rng(0), columns=["income", "flat"])
    recipe = {"name": "as_is", "options": {"columns": ["income", "flat"], "noise": 0.0}}
    known = learned_encoder(frame, ["income", "flat"], recipe)
    np.testing.assert_array_equal(encoded(frame, known), plain[["income", "flat"]].to_numpy())


def test_names_that_clash_are_made_as_the_recipe_makes_them():
    frame = people().rename(columns={"income": "age_missing", "flat": "town=A"})
    frame["town"] = frame["town"].replace({"A": "other"})
    frame["home"] = frame["home"].replace({"own": "missing"})
    frame["town=A"] = np.arange(len(frame)) % 7
    features = one_hot(frame, np.random.default_rng(0), **RECIPE["options"])
    names = [name for name in features if name != "row"]
    made = encoded(frame, learned_encoder(frame, names, RECIPE))
    np.testing.assert_array_equal(made, features[names].to_numpy())


def known_features(drop=()):
    frame = people().drop(columns=list(drop))
    features = one_hot(frame, np.random.default_rng(0), **RECIPE["options"])
    return learned_encoder(frame, [name for name in features if name != "row"], RECIPE)


def test_new_categories_and_holes_are_counted_and_told(caplog):
    known = known_features()
    frame = people()[:6].copy()
    frame["town"] = ["A", "A", "Z", "E", "B", None]
    frame["home"] = ["own", "boat", "rent", None, "own", "rent"]
    frame["income"] = [1.0, 2.0, None, 4.0, 5.0, 6.0]
    with caplog.at_level(logging.INFO, logger="counterweight"):
        X = encoded(frame, known)
    told = caplog.text
    assert "town: 2 of 6 rows have a category that counts as other" in told
    assert "home: 1 of 6 rows have a category that the filter never saw (boat)" in told
    assert "income: missing in 1 of 6 rows" in told and "town: missing in 1 of 6" in told
    at = {feature.name: i for i, feature in enumerate(known.features_)}
    assert X[2, at["town=other"]] == X[3, at["town=other"]] == 1
    assert X[1, [at["home=own"], at["home=rent"], at["home=missing"]]].sum() == 0
    assert X[3, at["home=missing"]] == 1
    assert X[2, at["income"]] == np.median(people()["income"])
    assert X[5, [at[name] for name in at if name.startswith("town=")]].sum() == 0


def test_bad_candidates_are_told_in_a_sentence(tmp_path):
    known, frame = known_features(), people()[:6]
    with pytest.raises(CounterweightError, match="no column income"):
        encoded(frame.drop(columns="income"), known)
    with pytest.raises(CounterweightError, match="row 3 .*'income' holds 'much'.*2 rows"):
        encoded(frame.assign(income=["1", "2", "", "much", "5", "x"]), known)
    with pytest.raises(CounterweightError, match="row 4 .*'age' is infinite in 1 rows"):
        encoded(frame.assign(age=[1, 2, 3, 4, np.inf, 6]), known)
    with pytest.raises(CounterweightError, match="no row"):
        encoded(frame[:0], known)
    for text, word in (
        ("a,a\n1,2\n", "more than once"),
        ("a,b\n1\n", "line 2 has 1 fields"),
        ("", "empty"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        with pytest.raises(CounterweightError, match=word):
            brought(tmp_path / "bad.csv")
    with pytest.raises(CounterweightError, match="is not there"):
        brought(tmp_path / "none.csv")
    (tmp_path / "bad.parquet").write_text("no Parquet")
    with pytest.raises(CounterweightError, match="readable Parquet"):
        brought(tmp_path / "bad.parquet")


def test_blank_lines_are_told_and_odd_cells_refused(tmp_path, caplog):
    (tmp_path / "one.csv").write_text("age\n1\n\n3\n")
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        assert len(brought(tmp_path / "one.csv")) == 2
    assert "1 blank lines are passed over" in caplog.text
    known, frame = known_features(), people()[:3]
    for column in ("income", "town"):
        with pytest.raises(CounterweightError, match=f"'{column}'.*neither numbers nor text"):
            encoded(frame.assign(**{column: [["a"], ["b"], ["c"]]}), known)
    with pytest.raises(CounterweightError, match="row 1, counted from 0, has 'much', unlike most"):
        encoded(frame.assign(income=np.array([1.5, "much", 3], object)), known)
    with pytest.raises(CounterweightError, match="type list: give a data frame"):
        encoded([1, 2], known)
    twice = frame[[*frame.columns, "income"]]
    with pytest.raises(CounterweightError, match="column income more than once"):
        encoded(twice, known)


def test_columns_of_yes_and_no_are_read_as_the_prepared_table_reads_them(tmp_path):
    from counterweight.datasets.own_table import read_typed

    rng = np.random.default_rng(3)
    holes = pd.array(rng.random(40) < 0.5, dtype="boolean")
    holes[[2, 7]] = pd.NA
    given = pd.DataFrame({"yes": rng.random(40) < 0.5, "maybe": holes, "x": np.arange(40.0)})
    given.to_csv(tmp_path / "own.csv", index=False)
    given.to_parquet(tmp_path / "own.parquet")
    prepared = read_typed(tmp_path / "own.csv").frame
    recipe = {"name": "one_hot", "options": {}}
    names = ["yes", "maybe", "maybe_missing", "x"]
    known = learned_encoder(prepared, names, recipe)
    told = encoded(prepared, known)
    assert set(told[:, 0]) == {0, 1} and told[:, 2].sum() == 2
    for name in ("own.csv", "own.parquet"):
        np.testing.assert_array_equal(encoded(brought(tmp_path / name), known), told)


def test_recipes_that_new_rows_cannot_repeat_are_refused():
    with pytest.raises(CounterweightError, match="recipe adult_binary"):
        learned_encoder(people(), [], {"name": "adult_binary", "options": {}})
    with pytest.raises(CounterweightError, match="noise"):
        learned_encoder(people(), [], {"name": "as_is", "options": {"noise": 0.1}})


def test_features_that_the_prepared_table_does_not_give_are_refused():
    found = study(TreeProxy(max_depth=2), "eta=0")
    features = found.parts["features"] | {"income": found.parts["features"]["income"] + 1}
    with pytest.raises(CounterweightError, match="'income'"):
        saved_filter(**found.parts | {"features": features})
