"""The Adult table: types, nulls, and errors that name the place."""

import functools

import numpy as np
import pytest
from counterweight.datasets.adult import COLUMNS, Adult
from twin_checks import mirror, refused

refusal = functools.partial(refused, Adult)

LINE = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, "
    "Male, 2174, 0, 40, United-States, <=50K"
)
HIDDEN = (
    "50, ?, 83311, Bachelors, 13, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 13, ?, >50K"
)


def write(folder, train=(LINE, HIDDEN), test=(HIDDEN + ".", LINE + "."), end="\n"):
    first = "|1x3 Cross validator"
    (folder / "adult.data").write_bytes((end.join([*train, "", ""])).encode())
    (folder / "adult.test").write_bytes((end.join([first, *test, "", ""])).encode())
    return folder


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_types_and_order(tmp_path, end):
    frame = Adult.read(write(tmp_path, end=end))
    assert list(frame) == ["row", *COLUMNS, "part"]
    assert frame["row"].dtype == np.int32
    assert frame["row"].tolist() == [0, 1, 2, 3]
    for name, kind in COLUMNS.items():
        assert str(frame[name].dtype) == ("Int64" if kind == "integer" else "str")
    assert frame["age"].tolist() == [39, 50, 50, 39]
    assert frame["income"].tolist() == ["<=50K", ">50K", ">50K", "<=50K"]
    assert frame["part"].tolist() == ["train", "train", "test", "test"]
    assert frame["workclass"].isna().tolist() == [False, True, True, False]
    assert frame["native-country"][0] == "United-States"


def test_question_mark_in_a_number_is_null(tmp_path):
    frame = Adult.read(write(tmp_path, train=[LINE.replace("39,", "?,"), LINE]))
    assert frame["age"].isna().tolist() == [True, False, False, False]


def test_missing_column_is_told(tmp_path):
    short = LINE.replace("39, ", "")
    text = refusal(write(tmp_path, train=[short, short]))
    assert "adult.data, line 1 has 14 fields where 15 are expected; a column is missing" in text


def test_short_and_long_lines_are_told_by_number(tmp_path):
    text = refusal(write(tmp_path, train=[LINE, "", LINE + ", more"]))
    assert "adult.data, line 3 has 16 fields where 15 are expected." in text
    text = refusal(write(tmp_path, test=[LINE + ".", LINE.replace(", Male", "")]))
    assert "adult.test, line 3 has 14 fields" in text


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_wrong_separator_is_named(tmp_path, mark, word):
    text = refusal(write(tmp_path, train=[LINE.replace(", ", mark)]))
    assert (
        f"adult.data, line 1 has 1 fields where 15 are expected; it looks separated by {word}"
        in (text)
    )


def test_text_in_a_number_column_is_told(tmp_path):
    bad = LINE.replace("77516", "many")
    text = refusal(write(tmp_path, test=[LINE + ".", "", bad + ".", bad + "."]))
    assert "adult.test, line 4, column fnlwgt: 'many' where a whole number is expected" in text
    assert "(and 1 more rows)" in text


@pytest.mark.parametrize("word", ["39.5", "1e30", "99999999999999999999", "nan", "0x1F"])
def test_number_that_is_not_whole_is_told(tmp_path, word):
    text = refusal(write(tmp_path, train=[LINE, LINE.replace("39,", word + ",")]))
    assert f"adult.data, line 2, column age: '{word}' where a whole number is expected" in text


def test_empty_field_is_told(tmp_path):
    text = refusal(write(tmp_path, train=[LINE.replace("State-gov", "")]))
    assert "adult.data, line 1, column workclass: '' where some text is expected" in text
    text = refusal(write(tmp_path, train=[LINE.replace("39,", ",")]))
    assert "adult.data, line 1, column age: '' where a whole number is expected" in text


@pytest.mark.parametrize("word", ["50K", "?", "<=50K.."])
def test_unknown_income_is_told(tmp_path, word):
    text = refusal(write(tmp_path, train=[LINE, LINE.replace("<=50K", word)]))
    assert "adult.data, line 2, column income: " in text
    assert "where <=50K or >50K is expected" in text


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \n"])
def test_empty_file_is_told(tmp_path, content):
    (write(tmp_path) / "adult.data").write_bytes(content)
    assert "adult.data is empty" in refusal(tmp_path)


def test_file_with_its_first_line_only_is_empty(tmp_path):
    assert "adult.test is empty" in refusal(write(tmp_path, test=[]))


def test_absent_file_is_told(tmp_path):
    (write(tmp_path) / "adult.test").unlink()
    assert "adult.test is not there" in refusal(tmp_path)


def test_bytes_that_are_no_text_are_told(tmp_path):
    write(tmp_path)
    (tmp_path / "adult.data").write_bytes(LINE.replace("White", "W\xff").encode("latin-1"))
    assert "adult.data is not text" in refusal(tmp_path)


def test_real_files_have_the_published_counts():
    frame = Adult.read(mirror("adult"))
    parts = frame.groupby("part")
    assert parts.size().to_dict() == {"train": 32561, "test": 16281}
    nulls = parts[["workclass", "occupation", "native-country"]].agg(lambda c: c.isna().sum())
    assert nulls.loc["train"].tolist() == [1836, 1843, 583]
    assert nulls.loc["test"].tolist() == [963, 966, 274]
    assert frame.isna().sum().sum() == nulls.sum().sum()
    positives = (frame["income"] == ">50K").groupby(frame["part"]).sum()
    assert positives.to_dict() == {"train": 7841, "test": 3846}
    known = frame.dropna(subset=["workclass", "native-country"])
    assert len(frame.dropna()) == 45222
    assert len(known) == 45232, "the total that Smith & Elkan print"
