"""The Adult table: types, nulls, and errors that name the place."""

import functools

import numpy as np
import pytest
from counterweight.datasets.adult import COLUMNS, Adult
from twin_checks import digests_of_a_twin, mirror, refused

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


@pytest.mark.parametrize("word", ["50K", "?", "<=50K.."])
def test_unknown_income_is_told(tmp_path, word):
    text = refusal(write(tmp_path, train=[LINE, LINE.replace("<=50K", word)]))
    assert "adult.data, row 1 (counted from 0), column income: " in text
    assert "where <=50K or >50K is expected" in text


def test_absent_file_is_told(tmp_path):
    (write(tmp_path) / "adult.test").unlink()
    assert "adult.test is not there" in refusal(tmp_path)


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


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(Adult, tmp_path) == ["947245bb1425", "6097ef31e0ae", "40a9640180d0"]
