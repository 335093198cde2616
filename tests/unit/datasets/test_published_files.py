"""The reader of published files: types as they are written, and no file of another format."""

import numpy as np
import pytest
from counterweight.datasets.published import expect, read_fields
from counterweight.errors import CounterweightError

KINDS = {"age": "integer", "score": "number", "town": "text"}
LINES = ("31, 0.5, Rome", "?, 1e-3, Bonn", "45, 2, ?")


def write(folder, *lines, end="\n"):
    path = folder / "people.data"
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def refusal(path, **said):
    with pytest.raises(CounterweightError) as caught:
        read_fields(path, KINDS, **said)
    assert "\n" not in str(caught.value) and "people.data" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_types_blanks_and_missing_words(tmp_path, end):
    frame = read_fields(write(tmp_path, *LINES, "", end=end), KINDS, missing="?")
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "float64", "str"]
    assert frame["age"].isna().tolist() == [False, True, False]
    assert frame["town"].tolist()[:2] == ["Rome", "Bonn"] and frame["town"].isna()[2]
    only = read_fields(write(tmp_path, *LINES[:1], "4,3,?"), KINDS, missing={"age": "?"})
    assert only["town"].tolist() == ["Rome", "?"]


def test_comments_headers_quotes_and_separators(tmp_path):
    expected = read_fields(write(tmp_path, *LINES), KINDS, missing="?")
    said = {"missing": "?"}
    for lines, more in (
        (("|a remark", *LINES), {"comment": "|"}),
        (("age,score,town", *LINES), {"header": True}),
        (("number,score,town", *LINES), {"header": True, "numbered": True}),
        ((",score,town", *LINES), {"header": True, "numbered": True}),
        ([line.replace(",", ";") for line in LINES], {"separator": ";"}),
        ([line.replace("Rome", '"Rome"') for line in LINES], {"quotes": True}),
    ):
        assert read_fields(write(tmp_path, *lines), KINDS, **said | more).equals(expected)
    quoted = write(tmp_path, '1,2,"a ""b"", c"', "2,3,\ufeffd")
    assert read_fields(quoted, KINDS, quotes=True)["town"].tolist() == ['a "b", c', "\ufeffd"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("31,0.5,Rome", "x,1,Bonn"), "is not in its published format"),
        (("31,0.5,Rome", "1.5,1,Bonn"), "is not in its published format"),
        (("31,0.5,Rome", "99999999999999999999,1,Bonn"), "is not in its published format"),
        (("31,0.5,Rome", "4,two,Bonn"), "is not in its published format"),
        (("31,0.5,Rome,more",), "is not in its published format"),
        (("31,0.5,Rome", "4,1,Bonn,more"), "is not in its published format"),
        (("31,0.5,Rome", "4,1"), "row 1 (counted from 0), column town: '' where a value is exp"),
        (("31,0.5,Rome", ",1,Bonn"), "column age: '<NA>' where a value is expected"),
        (("31,inf,Rome", "4,1,Bonn"), "row 0 (counted from 0), column score: 'inf' where a val"),
        (("31,0.5,", "4,1,"), "column town: '' where a value is expected (and 1 more rows)"),
        (("31;0.5;Rome",), "is not in its published format"),
        ((), "is empty"),
        (("", ""), "is empty"),
    ],
)
def test_other_formats_are_refused(tmp_path, lines, told):
    assert told in refusal(write(tmp_path, *lines))


def test_other_headers_absent_files_and_bytes_are_refused(tmp_path):
    for header in ("age,town,score", "age,score", "31,0.5,Rome", "age;score;town"):
        text = refusal(write(tmp_path, header, "31,0.5,Rome"), header=True)
        assert "its columns are" in text and "not age, score, town" in text
    assert "is not there: run the download" in refusal(tmp_path / "no" / "people.data")
    for seed in range(10):
        path = tmp_path / "people.data"
        path.write_bytes(np.random.default_rng(seed).bytes(20000))
        assert "is not in its published format" in refusal(path)


def test_a_rule_names_the_first_row_that_breaks_it(tmp_path):
    path = write(tmp_path, *LINES)
    frame = read_fields(path, KINDS, missing="?")
    expect(path, frame, ("score", frame["score"] > 0, "a score"))
    with pytest.raises(CounterweightError, match="row 1 .*column score: '0.001' where more is"):
        expect(path, frame, ("score", frame["score"] > 0.1, "more"))
