"""A table of the user's own: types, and one sentence where it cannot be used."""

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.own_table import OwnTable
from counterweight.errors import CounterweightError

TEXT = "age,city,offer,bought\n31,Rome,10.5,yes\n,Bonn,12,no\n45,,9,no\n"


def write(folder, text=TEXT, name="mine.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path):
    with pytest.raises(CounterweightError) as caught:
        OwnTable.read(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_typed(tmp_path, mark, end):
    frame = OwnTable.read(write(tmp_path, TEXT.replace(",", mark).replace("\n", end)))
    assert list(frame) == ["row", "age", "city", "offer", "bought"]
    assert frame["row"].dtype == np.int32
    assert frame["row"].tolist() == [0, 1, 2]
    assert frame["age"].dtype == float
    assert frame["age"].isna().tolist() == [False, True, False]
    assert frame["city"].isna().tolist() == [False, False, True]
    assert frame["offer"].tolist() == [10.5, 12, 9]
    assert frame["bought"].tolist() == ["yes", "no", "no"]


def test_byte_order_mark_quotes_and_true_false(tmp_path):
    text = 'a,b,c\n1,"x, y",true\n2,"say ""no""",false\n'
    frame = OwnTable.read(write(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert list(frame) == ["row", "a", "b", "c"]
    assert frame["b"].tolist() == ["x, y", 'say "no"']
    assert frame["c"].tolist() == [1, 0]
    assert str(frame["a"].dtype) == "Int64"


def test_blanks_before_values_line_breaks_in_quotes_and_words_for_missing_values(tmp_path):
    text = 'a, b , c\n 1, " x, y" ,2.5\n   \n3,"z\n\nz", NA\n\n5 ,"", 6 \n'
    frame = OwnTable.read(write(tmp_path, text))
    assert list(frame) == ["row", "a", "b", "c"]
    assert frame["a"].tolist() == [1, 3, 5] and str(frame["a"].dtype) == "Int64"
    assert frame["b"].tolist()[:2] == [" x, y ", "z\n\nz"] and pd.isna(frame["b"][2])
    assert frame["c"].tolist()[::2] == [2.5, 6] and np.isnan(frame["c"][1])


def test_numbers_are_read_as_they_were_written(tmp_path):
    rng = np.random.default_rng(0)
    given = pd.DataFrame({"x": rng.normal(size=999), "y": rng.lognormal(0, 30, 999)})
    given.to_csv(tmp_path / "mine.csv", index=False)
    pd.testing.assert_frame_equal(OwnTable.read(tmp_path / "mine.csv")[["x", "y"]], given)


def test_parquet_is_the_same_table(tmp_path):
    frame = OwnTable.read(write(tmp_path))
    path = tmp_path / "mine.parquet"
    frame.drop(columns="row").to_parquet(path)
    assert OwnTable.read(path).equals(frame)
    path.write_bytes(b"PAR1 but broken")
    assert "is not a readable Parquet file" in refusal(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty: put a table there"),
        ("\n1,2\n", "line 1 is blank where the header is expected"),
        ("a,b\n", "has a header but no row"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 fields where the header has 2 (commas between them)"),
        ("a,b\n1,2\n1\n", "line 3 has 1 fields where the header has 2"),
        ("a,a\n1,2\n", "has the column a more than once"),
        ("a,\n1,2\n", "has no name for the column number 2"),
        ("a,row\n1,2\n", "has a column row, the name of the row number here: rename it"),
        ("a,b\n1,\n2,\n", "the column 'b' is empty in every row"),
        ("a,b\n1,inf\n2,3.5\n", "the column 'b' is infinite in 1 rows (first: row 0)"),
        ("a,b\n1,12345678901234567\n2,3\n", "the column 'b' has numbers of more than 15 digits"),
        ("a,b\n1,\0\n", "line 2 holds a byte 0"),
        (b"a,b\n1,\xe9\n", "is not UTF-8 text (byte 0xe9)"),
        ('a,b\n1,"x\n2,y\n', "cannot be read as CSV: a quote that opens a field does not close"),
        ('a,b\n1,"x\n\ny"\n\n2,3,4\n', "line 6 has 3 fields where the header has 2"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, text, told):
    assert told in refusal(write(tmp_path, text))


def test_absent_files_folders_and_other_types_are_told(tmp_path):
    assert "is not there" in refusal(tmp_path / "absent.csv")
    assert "is not there, or is no file" in refusal(tmp_path)
    path = tmp_path / "lists.parquet"
    pd.DataFrame({"a": [[1], [2]]}).to_parquet(path)
    assert "the column 'a' is neither numbers nor text" in refusal(path)
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}).to_parquet(path)
    assert "the column 'a' is neither numbers nor text" in refusal(path)
