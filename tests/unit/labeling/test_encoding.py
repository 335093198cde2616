"""Typed columns as numbers and codes: nothing is lost, nothing depends on the order of rows."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import DenseRows, TabularEncoder
from counterweight.tables.parquet import read_columns, read_table, write_table
from typed_rows import TYPES, fitted, same, table


def test_columns_for_linear_models():
    frame = pd.DataFrame(
        {
            "n": [3.0, np.nan, 1.0, 7.0],
            "word": ["b", None, "a", "b"],
            "flat": [1, 1, 1, 1],
            "one": ["x"] * 4,
        }
    )
    types = {"word": "text", "n": "number", "flat": "number", "one": "text"}
    encoded = fitted(frame, types).encode(frame)
    assert encoded.dense_names == ["word=b", "word=a", "word=missing", "n", "n_missing"]
    assert encoded.dense().tolist() == [
        [1, 0, 0, 3, 0],
        [0, 0, 1, 3, 1],
        [0, 1, 0, 1, 0],
        [1, 0, 0, 7, 0],
    ]
    assert encoded.names == ["n", "flat", "word", "one"]
    assert encoded.is_category.tolist() == [False, False, True, True]
    np.testing.assert_array_equal(encoded.typed()[:, 2], [0, np.nan, 1, 0])


def test_every_row_is_of_one_level_and_no_column_is_constant():
    frame = table()
    encoder = fitted(frame)
    X = encoder.encode(frame).dense()
    assert (np.ptp(X, axis=0) > 0).all()
    for column in ("town", "job"):
        own = [feature.column == column for feature in encoder.features_]
        assert (X[:, own].sum(axis=1) == 1).all()
    assert len(set(encoder.dense_names)) == X.shape[1]


def test_dense_tells_what_typed_tells():
    frame = table()
    encoded = fitted(frame).encode(frame)
    X, typed = encoded.dense(), encoded.typed()
    places = {feature[:4]: at for at, feature in enumerate(encoded.encoder.features_)}
    for at, fact in enumerate(encoded.encoder.categories_):
        codes = typed[:, 3 + at]
        for code, level in enumerate(fact.levels):
            place = places[f"{fact.column}={level}", fact.column, "category", level]
            np.testing.assert_array_equal(X[:, place], codes == code)
    age = encoded.dense_names.index("age")
    missing = X[:, encoded.dense_names.index("age_missing")] == 1
    np.testing.assert_array_equal(np.where(missing, np.nan, X[:, age]), typed[:, 0])
    assert (X[missing, age] == frame["age"].median()).all()


def test_some_columns_are_those_of_all():
    frame = table()
    encoded = fitted(frame).encode(frame)
    X, made = encoded.dense(), DenseRows(encoded)
    for at in range(X.shape[1]):
        np.testing.assert_array_equal(made[:, at], X[:, at])
        np.testing.assert_array_equal(made[5:9, at], X[5:9, at])
    for columns in (np.arange(X.shape[1]) % 3 == 1, [4, 0, 2], slice(1, 4)):
        np.testing.assert_array_equal(made[:, columns], X[:, columns])


def test_levels_are_sorted_by_frequency_then_name_and_rare_ones_are_pooled():
    words = ["c"] * 3 + ["b"] * 3 + ["a"] * 4 + ["d", "e"]
    frame = pd.DataFrame({"word": words})
    encoder = fitted(frame, {"word": "text"}, least_rows=2)
    (fact,) = encoder.statistics_
    assert (fact.levels, fact.counts) == (("a", "b", "c"), (4, 3, 3))
    assert (fact.pooled, fact.other) == (("d", "e"), 2)
    assert encoder.dense_names == ["word=a", "word=b", "word=c", "word=other"]
    assert encoder.notes_ == ["word: 2 rare categories (2 rows) pooled as other"]
    (fact,) = fitted(frame, {"word": "text"}, max_levels=1, least_rows=1).statistics_
    assert (fact.levels, fact.other) == (("a",), 8)


def test_order_of_rows_does_not_matter():
    frame = table()
    order = np.random.default_rng(1).permutation(len(frame))
    other = frame.iloc[order].reset_index(drop=True)
    encoder, again = fitted(frame), fitted(other)
    assert encoder.statistics_ == again.statistics_
    same(encoder.encode(other), encoder.encode(frame).take(order))
    np.testing.assert_array_equal(
        again.encode(other).dense(), encoder.encode(frame).take(order).dense()
    )


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string"])
def test_kinds_of_text_are_alike(dtype):
    frame = table()
    other = frame.assign(town=frame["town"].astype(dtype))
    encoder = fitted(other)
    assert encoder.statistics_ == fitted(frame).statistics_
    same(encoder.encode(other), encoder.encode(frame))


def test_an_encoder_is_read_back_from_its_table(tmp_path):
    frame = table().assign(gone=np.nan, blank=pd.Series([None] * 400, dtype="str"))
    types = TYPES | {"gone": "number", "blank": "text"}
    for options in ({}, {"least_rows": 0, "max_width": None}, {"max_levels": 2}):
        encoder = fitted(frame, types, **options)
        write_table(tmp_path / "encoder.parquet", encoder.to_table())
        for read in (read_table, read_columns):
            again = TabularEncoder.from_table(read(tmp_path / "encoder.parquet"))
            assert again.statistics_ == encoder.statistics_
            assert again.features_ == encoder.features_
            assert again.columns_ == encoder.columns_ == types
            assert vars(again).keys() == vars(encoder).keys()
            for name in ("rows_", "max_levels", "least_rows", "max_width", "notes_"):
                assert getattr(again, name) == getattr(encoder, name)
            same(again.encode(frame), encoder.encode(frame))


def test_an_encoder_of_features_that_were_fitted_before_says_the_same_of_rows():
    frame = table()
    encoder = fitted(frame)
    again = TabularEncoder.of(encoder.features_)
    one, other = (made.encode(frame.drop(columns="row")) for made in (encoder, again))
    assert other.dense_names == one.dense_names
    np.testing.assert_array_equal(other.dense(), one.dense())


def test_new_rows_go_the_same_way():
    frame = table()
    encoder = fitted(frame)
    new = frame.iloc[:6].assign(
        age=[1e9, np.nan, 1, 2, 3, 4],
        town=["Ulm", "Rom", "Atlantis", None, "other", "Bonn"],
        job=["a", "zzz", None, "missing", "b", "a"],
    )
    encoded = encoder.encode(new)
    town, job = encoder.categories_
    other = len(town.levels)
    places = [town.levels.index(word) for word in ("Ulm", "other", "Bonn")]
    assert encoded.codes[:, 0].tolist() == [places[0], other, other, other + 1, *places[1:]]
    # Rome was seen and pooled, Atlantis was not seen.
    assert encoded.unseen[:, 0].tolist() == [False, False, True, False, False, False]
    X = encoded.dense()
    assert X[0, encoder.dense_names.index("age")] == 1e9
    own = [feature.column == "job" for feature in encoder.features_]
    assert X[:, own].sum(axis=1).tolist() == [1, 0, 0, 1, 1, 1]
    assert len(job.levels) == 3
    assert encoder.encode(new.iloc[:0]).dense().shape == (0, X.shape[1])


@pytest.mark.parametrize("rare", [8, 9])
def test_few_rare_rows_do_not_stand_for_a_text_never_seen(rare):
    """Of 900 rows a level needs 9 to count by itself, and so do all rare ones together."""
    words = ["north"] * 500 + ["south"] * (400 - rare) + ["Isle"] * (rare - 1) + ["Farne"]
    frame = pd.DataFrame({"region": words})
    encoder = TabularEncoder(by_name=True).fit(frame, ["region"], {"region": "text"})
    assert encoder.dense_names == ["region=north", "region=south", "region=other"]
    new = pd.DataFrame({"region": ["north", "Isle", "Farne", "Ost", None]})
    unseen = [0, 0, int(rare == 9)]
    kept = TabularEncoder.of(encoder.features_, encoder.few_)
    table = TabularEncoder.from_table(encoder.to_table())
    for one in (encoder, kept):
        X = one.transform(new)
        assert X.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], unseen, [0, 0, 0]]
    assert table.few_ == encoder.few_ == ({"region": ("Farne", "Isle")} if rare == 8 else {})


def test_missing_and_empty_columns_of_new_rows():
    frame = table()
    encoder = fitted(frame)
    with pytest.raises(CounterweightError, match=r"lack the column age, town"):
        encoder.encode(frame.drop(columns=["age", "town"]))
    encoded = encoder.encode(frame.assign(age=None, town=np.nan))
    assert np.isnan(encoded.typed()[:, [0, 3]]).all()


def test_too_many_columns_are_refused_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"city": rng.integers(0, 90, 2000).astype(str), "few": rng.choice(["a", "b"], 2000)}
    )
    types = {"few": "text", "city": "text"}
    with pytest.raises(CounterweightError, match=r"92 columns.* more than 50; column 'city'"):
        fitted(frame, types, max_levels=100, max_width=50)
    assert fitted(frame, types, max_levels=100).encode(frame).dense().shape == (2000, 92)


def test_codes_of_models_with_own_categories_stay_below_256():
    words = pd.Series(np.repeat(np.arange(400), 2).astype(str))
    frame = pd.DataFrame({"word": words})
    encoded = fitted(frame, {"word": "text"}, max_levels=400, least_rows=1).encode(frame)
    assert encoded.typed().max() == 254
    assert len(np.unique(encoded.typed())) == 255
    assert len(np.unique(encoded.codes)) == 400


def test_boosting_takes_the_typed_features():
    from sklearn.ensemble import HistGradientBoostingClassifier

    frame = table()
    encoded = fitted(frame).encode(frame)
    y = (frame["town"] == "Ulm").to_numpy()
    model = HistGradientBoostingClassifier(categorical_features=encoded.is_category, max_iter=20)
    assert (model.fit(encoded.typed(), y).predict(encoded.typed()) == y).all()
