"""What a text table may look like at its edges, and where a row of it stands."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables import table_reader as reader
from counterweight.tables.table_reader import (
    check_header,
    header_of,
    is_parquet,
    parts_of,
    place_of,
    read_columns,
    read_people,
    row_batches,
)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, **given):
    return read_columns(path, absent="look for it", **given).to_pydict()


def refused(path, **given):
    with pytest.raises(CounterweightError) as told:
        read(path, **given)
    return str(told.value)


@pytest.mark.parametrize("quoted", ["b", ' "b"'], ids=["fast", "rewritten"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1,{}\n2,c\n", {"x": ["1", "2"], "y": ["b", "c"]}),
        ("1,{}\n2,c", {"x": ["1", "2"], "y": ["b", "c"]}),
        ("1,{}\n\n2,c\n\n", {"x": ["1", "2"], "y": ["b", "c"]}),
        ("1,{}\r\n  \r\n2,c\r\n", {"x": ["1", "2"], "y": ["b", "c"]}),
        ('1,{}\n2,"c\nd"\n', {"x": ["1", "2"], "y": ["b", "c\nd"]}),
        ('1,{}\n2,"c ""d"""\n', {"x": ["1", "2"], "y": ["b", 'c "d"']}),
        ("1,{}\n2,  c \n", {"x": ["1", "2"], "y": ["b", "c "]}),
        ("1,{}\n2\n", "line 3 has 1 fields where the header has 2 (commas between them)"),
        ("1,{}\n2,3,4\n", "line 3 has 3 fields"),
        ('1,{}\n2,"c\n3,d\n', "does not close (in the row that begins in line 3"),
        ('1,{}\n"2,c\n', "fields|does not close"),
    ],
)
def test_a_text_is_read_or_refused_alike_whether_it_is_rewritten_or_not(
    tmp_path, body, told, quoted
):
    path = write(tmp_path / "t.csv", "x,y\n" + body.format(quoted))
    if isinstance(told, dict):
        assert read(path) == told
        return
    said = refused(path)
    assert any(part in said for part in told.split("|"))


@pytest.mark.parametrize("first", [" b", "b", ' "b"'])
def test_a_quote_left_open_at_the_end_of_a_table_of_one_column_is_refused(tmp_path, first):
    assert "does not close" in refused(write(tmp_path / "t.csv", f'x\n{first}\n"'))
    assert read(write(tmp_path / "t.csv", f'x\n{first}\n""\nc\n'))["x"][0] == "b"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty: put a table there"),
        (b"\0a,b\n1,2\n", "line 1 holds a byte 0"),
        (b"a,b\n1,2\n3,\0\n", "line 3 holds a byte 0"),
        (b" \na,b\n", "line 1 is blank where the header is expected"),
        ("a,b\n1,2\n".encode("utf-16") + b"3", "is not UTF-16 text"),
        (b"PK\x03\x04", "is a spreadsheet or an archive"),
        (b"<!DOCTYPE html>", "is a web page"),
        (bytes(range(256)), "line 1 holds a byte 0"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "is no whole gzip file"),
        (b'"a,b\n1,2\n', "does not close (in the row that begins in line 1)"),
    ],
)
def test_what_is_no_table_is_told_by_its_first_bytes_or_its_line(tmp_path, content, told):
    path = write(tmp_path / "t.csv", content)
    assert told in refused(path) or told.lower() in refused(path).lower()


def test_bytes_of_no_text_are_no_names_of_columns(tmp_path):
    """Also where the header alone is read: they would be printed to a terminal."""
    path = write(tmp_path / "t.csv", b"\0\x1b[2J" + bytes(range(128, 256)) + b"\n1\n")
    with pytest.raises(CounterweightError, match="line 1 holds a byte 0"):
        header_of(path, absent="")


def test_utf_16_is_seen_without_its_mark_and_a_separator_may_be_said(tmp_path):
    text = "id;näme\n1;ü\n"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        path = write(tmp_path / "t.csv", text.encode(encoding))
        assert read(path) == {"id": ["1"], "näme": ["ü"]}
        assert header_of(path, absent="") == ["id", "näme"]
    path = write(tmp_path / "t.csv", "a#b\n1#2\n")
    assert read(path, reading={"separator": "#"}) == {"a": ["1"], "b": ["2"]}
    for wrong in ("##", "", '"'):
        assert "not one character" in refused(path, reading={"separator": wrong})
    assert "no encoding is called 'klingon'" in refused(path, reading={"encoding": "klingon"})
    path = write(tmp_path / "t.csv", "ä,b\n1,2\n".encode("cp1252"))
    assert "is not UTF-8 text (byte 0xe4)" in refused(path, reading={"encoding": "utf8"})
    assert list(read(path)) == ["ä", "b"] == header_of(path, absent="")


def test_a_row_stands_in_the_line_of_its_part(tmp_path):
    folder = tmp_path / "parts"
    write(folder / "a.csv", "x,y\n1,2\n\n3,4\n")
    write(folder / "b.csv", 'x,y\n5,"6\n7"\n8,9\n')
    told = ["a.csv, line 2", "a.csv, line 4", "b.csv, line 3", "b.csv, line 4"]
    assert [place_of(folder, row) for row in range(4)] == told
    assert place_of(folder, 4) == "row 4 (counted from 0)"
    assert place_of(folder / "a.csv", 1) == "line 4"
    assert place_of("a frame", 3) == "row 3 (counted from 0)"
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "t.parquet")
    assert place_of(tmp_path / "t.parquet", 1) == "row 1 (counted from 0)"


def test_parts_of_a_folder_may_be_keyed_by_their_folders_and_must_be_alike(tmp_path):
    folder = tmp_path / "parts"
    write(folder / "year=2020" / "a.csv", "x\n1\n2\n")
    write(folder / "year=__HIVE_DEFAULT_PARTITION__" / "b.csv", "x\n3\n")
    write(folder / "_hidden" / "c.csv", "z\n3\n")
    write(folder / "notes.md", "no table")
    assert read(folder) == {"x": ["1", "2", "3"], "year": ["2020", "2020", ""]}
    assert header_of(folder, absent="") == ["x", "year"]
    assert [keys["year"] for _, keys in parts_of(folder, "")] == ["2020", ""]
    sizes = [len(table) for table in row_batches(folder, absent="", rows=1)]
    assert sizes == [1, 1, 1]
    write(folder / "year=2021" / "d.csv", "x,more\n3,4\n")
    assert "d.csv has other columns than" in refused(folder) and "has more beside" in refused(
        folder
    )
    write(folder / "year=2021" / "d.csv", "y\n3\n")
    assert "lacks x and has y beside" in refused(folder)
    write(folder / "month=1" / "d.csv", "x\n3\n")
    assert "stands in folders that name" in refused(folder)
    with pytest.raises(CounterweightError, match="is not there.*: look for it"):
        read(tmp_path / "none")


def test_names_stand_once_and_none_is_blank_unless_it_may(tmp_path):
    check_header("t", ["a", "", "b"])
    with pytest.raises(CounterweightError, match="no name for the column number 2, 4:"):
        check_header("t", ["a", "", "b", " "], nameless=False)
    with pytest.raises(CounterweightError, match="the column a more than once"):
        check_header("t", ["a", "b", "a"])


def test_parquet_is_known_by_its_name_or_by_its_first_bytes(tmp_path):
    pq.write_table(pa.table({"x": [1.5, None]}), tmp_path / "t.parquet")
    other = write(tmp_path / "t.dat", (tmp_path / "t.parquet").read_bytes())
    packed = write(tmp_path / "u.parquet.gz", gzip.compress(other.read_bytes()))
    assert is_parquet(other) and is_parquet(packed) and is_parquet(tmp_path / "absent.pq")
    assert not is_parquet(write(tmp_path / "t.csv", "x\n1\n")) and not is_parquet(tmp_path / "none")
    for path in (other, packed):
        np.testing.assert_array_equal(read_people(path, absent="")["x"], [1.5, np.nan])
    folder = tmp_path / "folder"
    assert not is_parquet(write(folder / "a.csv", "x\n1\n").parent)
    write(folder / "Z.parquet", other.read_bytes())
    assert is_parquet(folder)  # capitals come first
    assert "is not a readable Parquet file, but a web page" in refused(
        write(tmp_path / "p.parquet", "<html>")
    )


def test_batches_have_at_most_the_rows_that_are_asked_for(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", "x\n" + "\n".join(map(str, range(10))) + "\n")
    for rows, sizes in ((4, [4, 4, 2]), (10, [10]), (11, [10]), (None, [10])):
        assert [len(table) for table in row_batches(path, absent="", rows=rows)] == sizes
    monkeypatch.setattr(reader, "ROWS", 3)
    write(path, " x\n" + "\n".join(f' "{row}"' for row in range(10)) + "\n")
    assert read(path) == {"x": [str(row) for row in range(10)]}
    assert [len(table) for table in row_batches(write(path, "x\n"), absent="")] == [0]
