"""Saved models: what is written is what is read, and nothing else is taken for one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counterweight.delivery.saved_models import load
from counterweight.errors import CounterweightError
from counterweight.tables import saved_form
from counterweight.tables.parquet import read_facts, write_table
from counterweight.tables.saved_form import LAYOUT, SEAL, read_saved, write_saved


def test_a_saved_model_comes_back_as_it_was(tmp_path):
    arrays = {
        "scalar": np.array(np.pi),
        "vector": np.array([0.1, -0.0, 1e-308]),
        "cube": np.random.default_rng(0).normal(size=(2, 3, 4)),
        "nothing": np.empty((0, 3)),
    }
    facts = {"words": ["ä", 'a "b"'], "third": 1 / 3, "none": None, "nested": {"a": [1, 2]}}
    write_saved(tmp_path / "model.parquet", "scores", facts, arrays)
    saved = read_saved(tmp_path / "model.parquet")
    assert saved.kind == "scores" and saved.facts == facts
    assert {*saved.versions} >= {"counterweight", "numpy", "scikit-learn"}
    for name, values in arrays.items():
        assert saved.arrays[name].shape == values.shape
        assert saved.arrays[name].tobytes() == values.tobytes()


def test_the_same_saved_model_has_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_saved(tmp_path / name, "scores", {"x": 1}, {"y": np.arange(3.0)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_facts_that_json_has_no_form_for_leave_nothing_behind(tmp_path):
    with pytest.raises(TypeError):
        write_saved(tmp_path / "model.parquet", "scores", {"x": {1, 2}}, {})
    assert not list(tmp_path.iterdir())


def test_facts_that_are_no_finite_numbers_come_back_as_none(tmp_path):
    facts = {"x": [np.nan, -np.inf, 1.5], "y": {"z": np.float64("inf")}}
    write_saved(tmp_path / "model.parquet", "scores", facts, {})
    told = read_saved(tmp_path / "model.parquet").facts
    assert told == {"x": [None, None, 1.5], "y": {"z": None}}


def test_another_form_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_form, "FORMAT", 99)
    write_saved(tmp_path / "model.parquet", "scores", {}, {})
    monkeypatch.undo()
    with pytest.raises(CounterweightError, match="form 99.*reads the form 1: load it with that"):
        load(tmp_path)


def test_what_is_no_saved_model_is_refused(tmp_path):
    with pytest.raises(CounterweightError, match="is not there: name the folder of a study"):
        load(tmp_path)
    write_table(tmp_path / "other.parquet", {"a": [1, 2]})
    with pytest.raises(CounterweightError, match="is no saved model: name the file model.parquet"):
        load(tmp_path / "other.parquet")
    write_saved(tmp_path / "model.parquet", "oracle bones", {}, {})
    with pytest.raises(CounterweightError, match="'oracle bones', which this version does not"):
        load(tmp_path)


#: Facts and arrays of a saved model that the tests below damage.
FACTS = {"words": ["ä"], "third": 1 / 3}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3) / 7, "b": np.array(2.5), "none": np.empty((0, 2))}


@pytest.fixture
def saved(tmp_path):
    write_saved(tmp_path / "model.parquet", "scores", FACTS, ARRAYS)
    return tmp_path / "model.parquet"


def test_bytes_of_a_file_that_change_are_refused_or_change_nothing(saved):
    """Parquet's own statistics may be damaged without harm; a cut file is never read."""
    good, refused = saved.read_bytes(), 0
    for at in range(4, len(good) - 8, 37):
        saved.write_bytes(good[:at] + bytes([good[at] ^ 16]) + good[at + 1 :])
        try:
            read = read_saved(saved)
        except CounterweightError as error:
            assert "damaged" in str(error) or "is no saved model" in str(error)
            assert "\n" not in str(error)
            refused += 1
            continue
        assert read.facts == FACTS and read.kind == "scores"
        assert all(read.arrays[name].tobytes() == ARRAYS[name].tobytes() for name in ARRAYS)
    assert refused > 20
    for end in (0, 3, len(good) // 2, len(good) - 1):
        saved.write_bytes(good[:end])
        with pytest.raises(CounterweightError, match="or a damaged one: no Parquet file of ours"):
            read_saved(saved)


def changed(saved, column, value, at, sealed):
    """One cell of a saved model is another; with its seal, or as of a version without."""
    table = pq.read_table(saved).to_pydict()
    row = next(
        row
        for row in range(len(table["part"]))
        if all(table[key][row] == told for key, told in at.items())
    )
    table[column][row] = value
    kept = [sealed or part != SEAL for part in table["part"]]
    columns = {
        name: pa.array([one for one, keep in zip(table[name], kept, strict=True) if keep], kind)
        for name, kind in LAYOUT
    }
    write_table(saved, pa.table(columns), LAYOUT)


FACT, ENTRY, LAST = {"part": "fact"}, {"part": "array"}, {"name": "a", "i": 1, "j": 2}


@pytest.mark.parametrize(
    ("column", "value", "at"),
    [
        ("i", 2**31 - 1, LAST),
        ("j", 140_000, LAST),
        ("i", -7, LAST),
        ("i", 0, LAST),
        ("k", 3, LAST),
        ("name", "c", ENTRY),
        ("part", "entry", ENTRY),
        ("text", "[140000, 140000]", {"part": "empty"}),
        ("text", "[0, 1e9]", {"part": "empty"}),
        ("text", "[0, -1]", {"part": "empty"}),
        ("text", "two", {"part": "empty"}),
        ("text", "[" * 100_000, FACT | {"name": "facts"}),
        ("text", "[]", FACT | {"name": "facts"}),
        ("text", "[1]", FACT | {"name": "kind"}),
        ("text", "true", FACT | {"name": "format"}),
        ("name", "king", FACT | {"name": "kind"}),
        ("name", "from", FACT | {"name": "format"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sealed", [True, False])
def test_a_cell_that_changes_is_told_and_nothing_large_is_allocated(
    saved, column, value, at, sealed
):
    changed(saved, column, value, at, sealed)
    with pytest.raises(CounterweightError, match="damaged|form True") as told:
        read_saved(saved)
    assert "\n" not in str(told.value) and len(str(told.value)) < 500


def test_a_number_that_changes_is_told_and_without_a_seal_is_as_it_stands(saved):
    changed(saved, "value", 7.0, LAST, sealed=True)
    with pytest.raises(CounterweightError, match="not as it was when it was saved; copy it anew"):
        read_saved(saved)
    changed(saved, "value", 7.0, LAST, sealed=False)
    assert read_saved(saved).arrays["a"][1, 2] == 7.0


def test_a_saved_model_that_lacks_what_its_class_needs_is_told(saved):
    with pytest.raises(CounterweightError, match="does not fit together .KeyError.; copy it anew"):
        read_saved(saved, lambda made: made.facts["threshold"])
    with pytest.raises(CounterweightError, match="does not fit together .KeyError.; copy it anew"):
        load(saved)


def test_texts_that_a_spreadsheet_would_compute_are_escaped_and_come_back(tmp_path):
    """In CSV alone, in the way that the docs say how to take back; numbers stay as they are."""
    ids = ["=1+1", "+49 30", "-", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "-cmd|' /C calc'!A0"]
    plain = ["a", "'a", "-5", "+4912", "-1.5e-3", "-3,5", "", "a=b", "7"]
    columns = {"=id": ids + plain, "x": np.linspace(-1, 1, len(ids + plain))}
    files = tmp_path / "a.parquet", tmp_path / "a.csv"
    saved_form.write_answers(*files, columns)
    saved_form.write_csv(tmp_path / "b.csv", columns)
    for file in (tmp_path / "a.csv", tmp_path / "b.csv"):
        read = pd.read_csv(file, dtype={"'=id": str}, keep_default_na=False, lineterminator="\n")
        assert read["'=id"].tolist() == [f"'{one}" for one in ids] + plain
        np.testing.assert_array_equal(read["x"], columns["x"])
        back = read["'=id"].str.replace(r"^'(?='*[=+\-@\t\r\n])", "", regex=True)
        assert back.tolist() == ids + plain
    kept = pd.read_parquet(files[0])
    assert kept["=id"].tolist() == ids + plain and kept["x"].tolist() == columns["x"].tolist()
    saved_form.write_answers(*files, pd.DataFrame(columns).astype({"=id": "category"}))
    assert "'=1+1\"," in files[1].read_text()


def test_zeros_of_either_sign_and_nan_have_one_digest(tmp_path):
    arrays = {"a": np.array([0.0, 1.0, np.nan])}
    path = tmp_path / "model.parquet"
    write_saved(path, "scores", {}, arrays)
    changed(path, "value", -0.0, {"name": "a", "i": 0}, sealed=True)
    assert np.signbit(read_saved(path).arrays["a"]).tolist()[:2] == [True, False]
    changed(path, "value", 2.0, {"name": "a", "i": 2}, sealed=True)
    with pytest.raises(CounterweightError, match="not as it was"):
        read_saved(path)


def test_arrays_have_at_most_three_dimensions_and_empty_ones_their_shape(tmp_path):
    path = tmp_path / "model.parquet"
    arrays = {"cube": np.arange(24.0).reshape(2, 3, 4), "none": np.empty((3, 0, 2)), "one": 7}
    write_saved(path, "scores", {}, arrays)
    found = read_saved(path).arrays
    assert found["none"].shape == (3, 0, 2) and found["one"].shape == ()
    np.testing.assert_array_equal(found["cube"], arrays["cube"])
    with pytest.raises(ValueError, match="four has 4 dimensions"):
        write_saved(path, "scores", {}, {"four": np.ones((1, 1, 1, 1))})
    write_saved(path, "scores", {}, {"none": np.empty((0, 2))})
    for shape, right in (("[0, 2147483647]", True), ("[0, 2147483648]", False), ("[1]", False)):
        changed(path, "text", shape, {"part": "empty"}, sealed=False)
        if right:
            assert read_saved(path).arrays["none"].shape == (0, 2**31 - 1)
            continue
        with pytest.raises(CounterweightError, match="damaged"):
            read_saved(path)


def test_the_model_of_a_folder_is_the_file_that_is_there(tmp_path):
    for name in reversed(saved_form.NAMES):
        (tmp_path / name).touch()
        assert saved_form.saved_file(tmp_path) == tmp_path / name
    with pytest.raises(CounterweightError, match="none/model.parquet|none is not there"):
        saved_form.saved_file(tmp_path / "none")


def test_answers_come_in_batches_and_true_is_yes(tmp_path):
    files = tmp_path / "a.parquet", tmp_path / "a.csv"
    with saved_form.writing_answers(*files) as (write, facts):
        for start in (0, 2):
            write({"id": [start, start + 1], "ok": np.array([True, False])})
        facts["drift"] = ["Θ has changed."]
    assert read_facts(files[0]) == {"drift": ["Θ has changed."]}
    assert files[1].read_text() == 'id,ok\n0,"yes"\n1,"no"\n2,"yes"\n3,"no"\n'
    assert pd.read_parquet(files[0])["ok"].tolist() == [True, False] * 2


def test_numbers_that_are_not_finite_are_blank_in_csv_files(tmp_path):
    columns = {"a": np.array([1.0, np.nan, np.inf, -np.inf]), "b": np.arange(4)}
    for name, made in {"dict": columns, "frame": pd.DataFrame(columns)}.items():
        files = tmp_path / f"{name}.parquet", tmp_path / f"{name}.csv"
        saved_form.write_answers(*files, made)
        assert files[1].read_text() == "a,b\n1,0\n,1\n,2\n,3\n"
        kept = pd.read_parquet(files[0])["a"]
        assert kept.isna().tolist() == [False, True, False, False] and np.isinf(kept[2:]).all()
    saved_form.write_csv(tmp_path / "small.csv", columns)
    assert (tmp_path / "small.csv").read_text() == "a,b\n1.0,0\n,1\n,2\n,3\n"
