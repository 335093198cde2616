"""The one reader of people's tables: the same table in every wrapping, and new rows in batches."""

import gzip
import logging

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counterweight.datasets.own_table import new_rows, read_typed, typed_like, typed_value
from counterweight.errors import CounterweightError
from counterweight.tables import table_reader as texts
from counterweight.tables.table_reader import place_of, read_people, row_batches

TEXT = 'id,näme,x\n1,"a, b",0.5\n2,ü,\n3,"say ""ö""",-2\n'


def write(path, text=TEXT, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def read(path, **given):
    return read_people(path, absent="look for it", **given)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz", "mine"])
def test_the_same_table_in_any_encoding_packed_or_not(tmp_path, encoding, name, caplog):
    path = write(tmp_path / name, encoding=encoding)
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        frame = read(path)
    assert list(frame) == ["id", "näme", "x"]
    assert frame["näme"].tolist() == ["a, b", "ü", 'say "ö"']
    assert ("read as cp1252" in caplog.text) == (encoding in ("cp1252", "latin-1"))


def test_what_the_person_says_of_the_reading_is_kept(tmp_path):
    path = write(tmp_path / "a.csv", "a b;c\n1,5;ы\n".replace(";", "^"), "cp1251")
    frame = read(path, reading={"encoding": "cp1251", "separator": "^"})
    assert frame.to_dict("list") == {"a b": ["1,5"], "c": ["ы"]}
    path = write(tmp_path / "b.csv", 'a\tb,c\n1\t"2,0"\n')
    assert list(read(path, reading={"separator": "tab"})) == ["a", "b,c"]
    told = {"encoding": "klingon"}, {"separator": "::"}
    for reading, words in zip(
        told, ["no encoding is called 'klingon'", "not one char"], strict=True
    ):
        with pytest.raises(CounterweightError, match=words):
            read(path, reading=reading)


def test_bytes_that_are_no_western_european_letters_are_still_read(tmp_path):
    assert read(write(tmp_path / "a.csv", b"a,b\n\x81,2\n"))["b"].tolist() == ["2"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("spaced", ["", " "])
def test_blocks_cut_nothing(tmp_path, monkeypatch, end, spaced):
    """The parsers see small blocks; rows, quotes and letters stand across them."""
    monkeypatch.setattr(texts, "BLOCK", 1 << 12)
    monkeypatch.setattr(texts, "ROWS", 7)
    rng = np.random.default_rng(0)
    words = np.array(["", "é", "a, b", 'q"q', f"two{end}lines", "x" * 999])
    given = pd.DataFrame({"id": np.arange(600).astype(str), "word": rng.choice(words, 600)})
    given.loc[599, "word"] = "x"
    text = given.to_csv(index=False, lineterminator=end)
    path = write(tmp_path / "mine.csv", text.replace(f"{end}1", f"{end}{spaced}1"))
    got = read(path)
    pd.testing.assert_frame_equal(got, given, check_dtype=False)
    assert place_of(path, 0) == "line 2"
    lines = text.split(end)
    at = next(i for i, line in enumerate(lines) if line.startswith("599,"))
    assert place_of(path, 599) == f"line {at + 1}"


def test_a_folder_of_parts_is_one_table(tmp_path):
    for year in (2020, 2021):
        for part in range(2):
            frame = pd.DataFrame({"id": [year * 10 + part], "x": [0.5 * part if part else 1]})
            write(tmp_path / f"csv/year={year}/branch=a b/{part}.csv", frame.to_csv(index=False))
            folder = tmp_path / f"parquet/year={year}"
            folder.mkdir(parents=True, exist_ok=True)
            frame.to_parquet(folder / f"{part}.parquet")
    write(tmp_path / "csv/_SUCCESS", "")
    write(tmp_path / "csv/.hidden.csv", "")
    for kind in ("csv", "parquet"):
        made = read_typed(tmp_path / kind)
        assert made.frame["id"].tolist() == [20200, 20201, 20210, 20211]
        assert made.frame["x"].tolist() == [1, 0.5, 1, 0.5]
        assert list(made.frame["year"].astype(int)) == [2020, 2020, 2021, 2021]
        batches = list(new_rows(tmp_path / kind, made.types, ["id", "year"], rows=1))
        assert [frame["row"].tolist() for frame in batches] == [[0], [1], [2], [3]]
    assert place_of(tmp_path / "csv", 2) == "year=2021/branch=a b/0.csv, line 2"
    assert place_of(tmp_path / "parquet", 3) == "year=2021/1.parquet, row 0 (counted from 0)"
    write(tmp_path / "csv/year=2022/branch=b/0.csv", "id,y\n1,2\n")
    with pytest.raises(CounterweightError, match=r"0.csv has other columns.*lacks x and has y"):
        read_typed(tmp_path / "csv")
    write(tmp_path / "csv/other.csv", "id,x\n1,2\n")
    with pytest.raises(CounterweightError, match="put all parts alike"):
        read_typed(tmp_path / "csv")


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_part_that_is_another_once_more_is_refused(tmp_path, kind):
    """Where folders say the same, and it has rows: those would count twice."""
    folder = tmp_path / "t"

    def part(name, *values):
        frame = pd.DataFrame({"x": pd.Series(values, dtype="int64")})
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if kind == "parquet":
            return frame.to_parquet(folder / f"{name}.parquet")
        text = frame.to_csv(index=False).encode()
        packed = gzip.compress(text, mtime=0) if kind == "csv.gz" else text
        (folder / f"{name}.{kind}").write_bytes(packed)

    for name, values in (("year=1/a", [1, 2]), ("year=2/a", [1, 2]), ("year=1/b", [1, 3])):
        part(name, *values)
    for name in ("year=1/c", "year=1/d"):
        part(name)
    assert sum(map(len, row_batches(folder, absent=""))) == 6
    part("year=1/e", 1, 3)
    with pytest.raises(CounterweightError, match=r"year=1/e\.\S+ is \S+year=1/b\.\S+ once more"):
        list(row_batches(folder, absent=""))


def test_types_of_parquet(tmp_path):
    moment = pd.Timestamp("2020-01-02 12:00")
    table = pa.table(
        {
            "whole": pa.array([1, None, 3], pa.int16()),
            "float": pa.array([1, None, 3], pa.float32()),
            "money": pa.array(["1", None, "3"]).cast(pa.decimal128(9, 2)),
            "ok": [True, None, False],
            "word": pa.array(["a", None, "b"]).dictionary_encode(),
            "code": pa.array([7, None, 8]).dictionary_encode(),
            "day": pa.array([18262, None, 3], pa.int32()).cast(pa.date32()),
            "moment": pa.array([moment, None, moment], pa.timestamp("ns")),
            "there": pa.array([moment, None, moment], pa.timestamp("us", "Europe/Rome")),
            "clock": pa.array([5400, None, 0], pa.int32()).cast(pa.time32("s")),
            "long": pa.array([10**17 + 1, None, 3]),
            "bytes": pa.array([b"x", None, b"y"]),
            "none": pa.nulls(3),
            "lists": [[1], None, []],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(CounterweightError, match=r"'lists' is neither.*\(list"):
        read_typed(tmp_path / "a.parquet")
    made = read_typed(tmp_path / "a.parquet", columns={"ignore": ["lists"]})
    kinds = (
        ["number"] * 3 + ["boolean", "text", "number"] + ["date"] * 3 + ["number"] + ["text"] * 2
    )
    assert made.types == dict(zip(table.column_names[:-2], kinds, strict=True))
    assert "left out" in made.made["none"]
    first = made.frame.iloc[0]
    assert first[["day", "moment", "there", "clock"]].tolist() == [18262, 18263.5, 18263.5, 1.5]
    assert first["long"] == "100000000000000001" and first["bytes"] == "x"
    assert made.frame.drop(columns="row").iloc[1].isna().all()
    # The same rows come again as new ones, also from a table in memory, in any batch.
    again = pd.concat(new_rows(tmp_path / "a.parquet", made.types, list(made.types), rows=2))
    pd.testing.assert_frame_equal(
        again.reset_index(drop=True), made.frame, check_dtype=False, check_exact=True
    )
    live = typed_like("frame", table.to_pandas(), made.types, needed=["whole", "ok", "day", "word"])
    pd.testing.assert_frame_equal(live, made.frame[list(live)], check_dtype=False)


def test_decimals_are_numbers_to_every_caller(tmp_path):
    table = pa.table({"money": pa.array(["1.25", None]).cast(pa.decimal128(9, 2))})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet")["money"].dtype == float


def test_new_rows_are_those_of_the_fit(tmp_path):
    """What a text was read as in the fit, a new row is read as, though it alone would not be."""
    text = (
        "id;x;y;day;ok;town;long\n007;1.234,5;5 €;13.01.2020;yes;A;12345678901234567\n"
        "008;999,25;6 €;01.02.2020;no;;2\n009;?;;;;B;3\n"
    )
    path = write(tmp_path / "mine.csv", text)
    made = read_typed(path)
    assert made.types == dict(
        zip(
            made.types, ["text", "number", "number", "date", "boolean", "text", "text"], strict=True
        )
    )
    again = pd.concat(new_rows(path, made.types, list(made.types), forms=made.forms, rows=1))
    pd.testing.assert_frame_equal(
        again.reset_index(drop=True), made.frame, check_dtype=False, check_exact=True
    )
    alone = write(tmp_path / "new.csv", "x;day;ok;more\n1.234;02.01.2020;TRUE;?\n")
    (frame,) = new_rows(alone, made.types, ["day", "x", "ok"], forms=made.forms)
    assert list(frame) == ["row", "day", "x", "ok"]
    assert frame.iloc[0].tolist() == [0, 18263, 1234, 1]
    (frame,) = new_rows(
        write(tmp_path / "b.csv", "x\n1.25\n"),
        made.types,
        ["x"],
        forms=made.forms,
        reading={"decimal": ".", "thousands": ""},
    )
    assert frame["x"].tolist() == [1.25]
    for column, value, told in [
        ("ok", "yes", 1),
        ("ok", True, 1),
        ("day", "2020-01-02", 18263),
        ("x", 3, 3),
    ]:
        assert typed_value("mine.csv", column, value, made.types, made.forms) == told
    with pytest.raises(CounterweightError, match="says 'late' of the column 'day'"):
        typed_value("mine.csv", "day", "late", made.types, made.forms)


def test_numbers_are_read_exactly(tmp_path):
    rng = np.random.default_rng(0)
    given = pd.DataFrame({"x": rng.normal(size=999), "y": rng.lognormal(0, 30, 999)})
    given.to_csv(tmp_path / "mine.csv", index=False)
    given.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    for name in ("mine.csv", "comma.csv"):
        made = read_typed(tmp_path / name)
        pd.testing.assert_frame_equal(made.frame[["x", "y"]], given, check_exact=True)
        got = pd.concat(new_rows(tmp_path / name, made.types, ["x", "y"], forms=made.forms, rows=9))
        assert (got[["x", "y"]].to_numpy() == given.to_numpy()).all()
        assert got["row"].tolist() == list(range(999))


@pytest.mark.parametrize(
    "words, kept",
    [
        (["rich", "poor", "?"], ["rich", "poor", None]),
        (["rich", "n.a.", "poor"], ["rich", None, "poor"]),
        (["yes", "?", "no"], [1, None, 0]),
        (["+", "-", "0"], ["+", "-", "0"]),
        (["-", "x", "x"], ["-", "x", "x"]),
        (["none", "a", "b"], ["none", "a", "b"]),
    ],
)
def test_signs_that_stand_for_missing_texts_are_missing_also_in_new_rows(tmp_path, words, kept):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{word},x\n" for word in words))
    table = read_typed(tmp_path / "t.csv")
    again = typed_like(
        "new", pd.DataFrame({"a": words}), table.types, needed=["a"], forms=table.forms
    )
    for values in (table.frame["a"], again["a"]):
        assert [None if value is pd.NA or value != value else value for value in values] == kept
    assert ("as missing" in table.made.get("a", "")) == (None in kept)
