"""Bad and odd tables: one sentence with the file, the place and what to do, or read and said."""

import gzip
import io
import logging
import sqlite3

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.own_table import new_rows, read_typed
from counterweight.errors import CounterweightError


def parquet(**columns):
    content = io.BytesIO()
    pd.DataFrame(columns).to_parquet(content)
    return content.getvalue()


def base():
    with sqlite3.connect(":memory:") as made:
        made.execute("create table t (x)")
        return made.serialize()


def many(*last, head="a,b"):
    """Thirty good rows and those that are not."""
    return "\n".join([head, *(f"{i + 1}.5,{i}" for i in range(30)), *last, ""])


GZ = gzip.compress(b"a,b\n" + np.random.default_rng(0).bytes(9999).hex().encode() + b",1\n")
WHOLE = parquet(a=[1, 2], b=["x", "y"])
PAGE = "<!DOCTYPE html>\n<html><body>Log in, please</body></html>\n"

#: By what is wrong: name of the file, content, words of the sentence, what is said of columns.
REFUSED = {
    "empty": ("t.csv", "", "t.csv is empty: put a table there", {}),
    "empty packed": ("t.csv.gz", gzip.compress(b""), "is empty", {}),
    "blank first line": ("t.csv", "\na,b\n1,2\n", "line 1 is blank where the header", {}),
    "header only": ("t.csv", "a,b\n", "has a header but no row", {}),
    "header only in quotes": ("t.csv", '"a", "b"', "has a header but no row", {}),
    "too many fields": ("t.csv", "a,b\n1,2\n1,2,3\n", "line 3 has 3 fields where the header h", {}),
    "too few fields": (
        "t.csv",
        "a,b\n1,2\n\n1\n",
        "line 4 has 1 fields where the header has 2",
        {},
    ),
    "ragged with blanks": ("t.csv", 'a,b\n1, "2"\n1\n', "line 3 has 1 fields", {}),
    "ragged far down": ("t.csv", many("1,2,3"), "line 32 has 3 fields", {}),
    "ragged behind a break": ("t.csv", 'a,b\n1,"x\ny"\n2,3,4\n', "line 4 has 3 fields", {}),
    "ragged semicolons": ("t.csv", "a;b\n1;2;3\n", "(semicolons between them)", {}),
    "decimal commas unquoted": ("t.csv", "a,b\n1,5,2\n", "line 2 has 3 fields", {}),
    "open quote": ("t.csv", 'a,b\n1,2\n3,"x\n2,y\n', "row that begins in line 3): close it", {}),
    "open quote with blanks": ("t.csv", 'a,b\n1, 2\n3,"x\n2,y\n', "begins in line 3)", {}),
    "open quote in the header": ("t.csv", 'a,"b\n1,2\n', "begins in line 1)", {}),
    "a column twice": ("t.csv", "a,b,a\n1,2,3\n", "has the column a more than once: rename", {}),
    "a column twice but for blanks": ("t.csv", "a, a\n1,2\n", "column a more than once", {}),
    "a column twice between tabs": ("t.csv", "a\ta\n1\t2\n", "more than once", {}),
    "no name": ("t.csv", "a,,b\n1,2,3\n", "no name for the column number 2: give each", {}),
    "no name for what counts nothing": ("t.csv", ",b\n5,2\n9,3\n", "for the column number 1", {}),
    "last separator": ("t.csv", "a,b,\n1,2,\n", "no name for the column number 3", {}),
    "row": ("t.csv", "row,b\n1,2\n", "has a column row, the name of the row number", {}),
    "byte 0": ("t.csv", "a,b\n1,\0\n", "line 2 holds a byte 0", {}),
    "a database": ("t.csv", base(), "holds a byte 0, so this is not text", {}),
    "a spreadsheet": ("t.csv", b"PK\x03\x04" + bytes(50), "is a spreadsheet or an archive", {}),
    "an old spreadsheet": ("t.csv", b"\xd0\xcf\x11\xe0" + bytes(9), "is a spreadsheet", {}),
    "a web page": ("t.csv", PAGE, "is a web page, not a table: fetch the file", {}),
    "a web page as Parquet": ("t.parquet", PAGE, "not a readable Parquet file, but a web", {}),
    "broken Parquet": ("t.parquet", WHOLE[: len(WHOLE) // 2], "not a readable Parquet file", {}),
    "text as Parquet": ("t.parquet", "a,b\n1,2\n", "not a readable Parquet file: write it", {}),
    "empty Parquet": ("t.parquet", "", "not a readable Parquet file", {}),
    "Parquet without rows": ("t.parquet", parquet(a=np.empty(0)), "has a header but no row", {}),
    "cut archive": ("t.csv.gz", GZ[: len(GZ) // 2], "is no whole gzip file (", {}),
    "damaged archive": ("t.csv.gz", GZ[:3000] + b"xxxx" + GZ[3004:], "no whole gzip file", {}),
    "half a letter of UTF-16": ("t.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "is not UTF-16", {}),
    "infinite": ("t.csv", "a,b\n1,2\n3,-inf\n", "line 3: the column 'b' is infinite in 1", {}),
    "too large": ("t.csv", "a,b\n1,2\n3,1e999\n", "line 3: the column 'b' is infinite", {}),
    "infinite Parquet": ("t.parquet", parquet(a=[1, np.inf]), "row 1 (counted from 0)", {}),
    "lists": ("t.parquet", parquet(a=[[1], [2]]), "the column 'a' is neither numbers nor text", {}),
    "complex mix": ("t.parquet", parquet(a=[{"x": 1}, None]), "neither numbers nor text", {}),
    "empty everywhere": ("t.csv", "a,b\n,\nNA,\n", "is empty in every column", {}),
    "either day": ("t.csv", "a,b\n1,01/02/2020\n2,03/04/2020\n", "day and month could be eith", {}),
    "no such column": (
        "t.csv",
        "Age,b\n1,2\n",
        "columns.ignore names (is it 'Age'?)",
        {"ignore": ["age"]},
    ),
    "in two lists": (
        "t.csv",
        "a,b\n1,2\n",
        "in columns.text and in columns.numbers: keep one",
        {"text": ["a"], "numbers": ["a"]},
    ),
    "all ignored": ("t.csv", "a\n1\n", "no column that is not ignored", {"ignore": ["a"]}),
    "no number": (
        "t.csv",
        "a,b\n1,2\n1,x\n",
        "line 3: the column 'b' holds 'x' where a number",
        {"numbers": ["b"]},
    ),
    "no date": (
        "t.csv",
        "a,b\n1,2020-02-30\n1,2020-02-01\n",
        "line 2: the column 'b' holds '2020-02-30'",
        {"dates": ["b"]},
    ),
    "no date of the format": (
        "t.csv",
        "a,b\n1,13/13/20\n",
        "a date written as %d/%m/%y is expected",
        {"dates": [{"b": "%d/%m/%y"}]},
    ),
}


#: Ways to write money, of whole numbers: each is read as what was meant, or refused.
MONEY = (-2500, 977, 3600, 45200, 120, 999000, 18750)
WAYS = {
    "digits alone": ("", "{}", "equal"),
    "commas": (",", "{}", "equal"),
    "points": (".", "{}", "refused"),
    "apostrophes": ("'", "{}", "equal"),
    "curled apostrophes": ("\u2019", "{}", "equal"),
    "blanks": (" ", "{}", "equal"),
    "no-break blanks": ("\u00a0", "{}", "equal"),
    "narrow blanks": ("\u202f", "{}", "equal"),
    "thin blanks": ("\u2009", "{}", "equal"),
    "underscores": ("_", "{}", "equal"),
    "a unit behind points": (".", "{} €", "refused"),
    "a unit before points": (".", "€ {}", "refused"),
    "a code before points": (".", "EUR {}", "refused"),
    "a unit before commas": (",", "-${}", "equal"),
    "a code behind commas": (",", "{} eur", "equal"),
    "a unit of letters": ("\u00a0", "{} kr", "equal"),
    "brackets": (",", "({})", "equal"),
    "brackets and a unit": (",", "(${})", "equal"),
    "a typeset minus": (",", "\u2212{}", "equal"),
    "cents": (",", "{}.00", "equal"),
    "cents behind a comma": (".", "{},00 €", "equal"),
    "a dash for cents": ("'", "{}.-", "equal"),
    "a dash behind a comma": (".", "{},--", "refused"),
    "lakh": ("lakh", "₹ {}", "equal"),
}


def money(value, way):
    """A number as somebody writes it; the minus or the brackets are in the pattern."""
    mark, pattern, _ = WAYS[way]
    digits = f"{abs(value):,}"
    if mark == "lakh":
        digits, mark = f"{digits[:-3].replace(',', '')}{digits[-4:]}", ","
        digits = "9,99,000" if value == 999000 else digits
    digits = digits.replace(",", mark)
    if value < 0 and not set(pattern) & set("(\u2212") and "-$" not in pattern:
        digits = f"-{digits}"
    if value > 0:
        pattern = pattern.replace("-$", "$").replace("\u2212", "")
        pattern = pattern.replace("(", "").replace(")", "")
    return pattern.format(digits)


@pytest.mark.parametrize("way", WAYS)
def test_money_is_read_as_it_was_meant_or_refused(way, tmp_path):
    rows = "".join(f"{at};{money(value, way)}\n" for at, value in enumerate(MONEY))
    path = put(tmp_path, "t.csv", f"a;b\n{rows}")
    if WAYS[way][2] == "refused":
        with pytest.raises(CounterweightError, match="three digits follow") as caught:
            read_typed(path)
        assert '{b: {decimal: ","}}' in sentence(caught, path)
        # Both keys that the sentence names settle it; without thousands nothing else is meant.
        said = {"numbers": [{"b": {"decimal": ","}}]}
        read = [read_typed(path, columns=said), read_typed(path, reading={"thousands": "."})]
    else:
        read = [read_typed(path)]
    for made in read:
        assert made.types["b"] == "number" and made.frame["b"].tolist() == list(MONEY)
        (again,) = new_rows(path, made.types, ["b"], forms=made.forms)
        assert again["b"].tolist() == list(MONEY)


@pytest.mark.parametrize(
    ("others", "values", "meant"),
    [
        ("1,5", ["1.234", "7"], [1234, 7]),  # commas before decimals elsewhere
        ("1.5", ["1,234", "7"], [1234, 7]),
        ("1.5", ["1.234", "7.120"], [1.234, 7.12]),
        ("1,5", ["1,234", "7,125"], [1.234, 7.125]),
        ("1.5", ["1.230", "7"], None),  # who writes 1.230 writes 7.000
        ("1.5", ["1.234 €", "7 €"], None),  # no price has three decimals
        ("1,5", ["1,234 €", "7 €"], None),
        ("1", ["1.234", "7.125"], None),
        ("1", ["1,234", "7,125"], None),
        ("1", ["3.600", "3,600"], None),
    ],
)
def test_what_other_columns_say_of_points_counts_where_the_column_allows_it(
    others, values, meant, tmp_path
):
    path = put(tmp_path, "t.csv", "a;b\n" + "".join(f"{others};{value}\n" for value in values))
    if meant is None:
        with pytest.raises(CounterweightError, match="column 'b' has a (point|comma), three"):
            read_typed(path)
    else:
        assert read_typed(path).frame["b"].tolist() == meant


def test_what_may_be_misread_is_a_doubt(tmp_path):
    rows = ["1;1,234;12;2020-01-01", "2;999;viel;2020-01-02", "3;5;14;2020-01-03"]
    doubts = read_typed(put(tmp_path, "t.csv", "\n".join(["a;b;c;d", *rows]))).doubts
    assert set(doubts) == {"b", "c"} and "could be either" in doubts["b"]
    assert "1 field is no number like the others (first: 'viel' in line 3)" in doubts["c"]
    rows = ["3;5 €", "4;7 €", "5;8"]
    doubts = read_typed(put(tmp_path, "t.csv", "\n".join(["a;b", *rows]))).doubts
    assert "(first: '8' in line 4)" in doubts["b"]


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sentence(caught, path):
    told = str(caught.value)
    assert path.name in told and "\n" not in told and told.endswith(".") and ": " in told
    assert not told.startswith("  ") and "Traceback" not in told
    return told


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_table_is_refused_in_a_sentence(case, tmp_path):
    name, content, words, columns = REFUSED[case]
    path = put(tmp_path, name, content)
    with pytest.raises(CounterweightError) as caught:
        read_typed(path, columns=columns)
    assert words in sentence(caught, path)


#: By what is odd: content, expected types, values of the second column, what is said of it.
READ = {
    "western": (b"a,b\n1,\xe9\n2,x\n", "text", ["é", "x"], "is read as cp1252"),
    "utf-16": ("a,b\n1,é\n".encode("utf-16"), "text", ["é"], ""),
    "mark": (b"\xef\xbb\xbfa,b\n1,2\n", "number", [2], ""),
    "old line ends": ("a,b\r1,2\r3,4", "number", [2, 4], ""),
    "no last line end": ("a,b\n1,2\n3,4", "number", [2, 4], ""),
    "blank lines": ("a,b\n\n1,2\n  \n3,4\n\n", "number", [2, 4], "3 blank lines are passed"),
    "tabs": ("a\tb\n1\tx y\n", "text", ["x y"], ""),
    "bars": ("a|b\n1|x,y\n", "text", ["x,y"], ""),
    "commas in a name": ('"a, of many, many";b\n1;2\n', "number", [2], ""),
    "a separator in quotes": ('a,b\n1,"x,y"\n2,"z"\n', "text", ["x,y", "z"], ""),
    "blanks around": ("a, b\n1, x \n2,x\n", "text", ["x", "x"], ""),
    "constant": ("a,b\n1,5\n2,5\n", "number", [5, 5], ""),
    "left out": ("a,c,b\n1,,2\n2,NA,3\n", "number", [2, 3], "c: empty in every row: left out"),
    "decimal commas": (
        "a;b\n1;1.234,5\n2;-7\n",
        "number",
        [1234.5, -7],
        "numbers written as 1.234,5",
    ),
    "thousands": (
        'a,b\n1,"1,234.5"\n2,"2,000,000"\n',
        "number",
        [1234.5, 2e6],
        "written as 1,234.5",
    ),
    "either comma": (
        'a,b\n1,"1,234"\n2,"999"\n',
        "number",
        [1234, 999],
        "could be either: say reading",
    ),
    "points as the others": (
        "a;b\n1,5;1.234\n2,5;7\n",
        "number",
        [1234, 7],
        "numbers written as 1.234,5",
    ),
    "points between thousands": (
        "a;b\n1;1.234.567\n2;7\n",
        "number",
        [1234567, 7],
        "written as 1.234,5",
    ),
    "points as those of others": ("a;b\n1.5;1.234\n2;7.125\n", "number", [1.234, 7.125], ""),
    "a leading zero": ("a;b\n1;0.125\n2;7.125\n", "number", [0.125, 7.125], ""),
    "digits enough": ("a;b\n1;1234.125\n2;7.125\n", "number", [1234.125, 7.125], ""),
    "blanks between thousands": (
        "a;b\n1;1 234,5\n2;\u00a07\n",
        "number",
        [1234.5, 7],
        "as 1 234,5",
    ),
    "apostrophes": ("a;b\n1;1'234.5\n2;7\n", "number", [1234.5, 7], "written as 1'234.5"),
    "money": ("a,b\n1,$5\n2,$-7.5\n", "number", [5, -7.5], "numbers without their $"),
    "per cent": ("a,b\n1,5 %\n2,7.5%\n", "number", [5, 7.5], "numbers without their %"),
    "several monies": ("a,b\n1,$5\n2,€7\n", "text", ["$5", "€7"], "(first: '€7' in line 3)"),
    "marks for missing": ("a,b\n1,?\n2,7\n", "number", [np.nan, 7], "'?' as missing"),
    "a word among numbers": (
        many("x,y", head="b,a"),
        "text",
        None,
        "no number like the others (first: 'x' in line 32)",
    ),
    "a bad date": (
        "a,b\n" + "".join(f"1,2020-01-{day + 1:02}\n" for day in range(31)) + "1,2020-02-30\n",
        "text",
        None,
        "1 field is no date like the others (first: '2020-02-30' in line 33)",
    ),
    "ja": ("a,b\n1,Ja\n2,NEIN\n", "boolean", [1, 0], "ja/nein as 1/0"),
    "oui": ("a,b\n1,oui\n2,non\n3,?\n", "boolean", [1, 0, np.nan], "oui/non as 1/0"),
    "sí": ("a,b\n1,Sí\n2,no\n", "boolean", [1, 0], "sí/no as 1/0"),
    "da alone": ("a,b\n1,da\n2,da\n", "text", ["da", "da"], ""),
    "true": ("a,b\n1,TRUE\n2,false\n3,\n", "boolean", [1, 0, np.nan], "true/false as 1/0"),
    "yes": ("a,b\n1,yes\n2,No\n", "boolean", [1, 0], "yes/no as 1/0"),
    "one letter": ("a,b\n1,y\n2,n\n", "boolean", [1, 0], "y/n as 1/0"),
    "f alone": ("a,b\n1,f\n2,f\n", "text", ["f", "f"], ""),
    "leading zeros": ("a,b\n1,007\n2,08\n", "text", ["007", "08"], "leading zeros, kept as text"),
    "zeros": ("a,b\n1,0\n2,0.07\n", "number", [0, 0.07], ""),
    "long": ("a,b\n1,12345678901234567\n2,1\n", "text", ["12345678901234567", "1"], "15 digits"),
    "very long": ("a,b\n1,12345678901234567890123\n2,1\n", "text", None, "15 digits"),
    "hexadecimal": ("a,b\n1,0x10\n2,0x11\n", "text", ["0x10", "0x11"], ""),
    "days": ("a,b\n1,2020-01-02\n2,\n", "date", [18263, np.nan], "dates as days since 1970"),
    "times": ("a,b\n1,2020-01-02 12:00\n", "date", [18263.5], "dates and times as days"),
    "zones": ("a,b\n1,2020-01-02T12:00:00+06:00\n", "date", [18263.25], "dates and times as days"),
    "day first": ("a,b\n1,02/01/2020\n2,13/1/2020\n", "date", [18263, 18274], "day first"),
    "month first": (
        "a,b\n1,01/02/2020\n2,1/13/2020 3:00 pm\n",
        "date",
        [18263, 18274.625],
        "month first",
    ),
    "points in dates": ("a,b\n1,02.01.2020\n", "date", [18263], "day first"),
    "names of months": ("a,b\n1,02JAN2020\n2,13Jan2020\n", "date", [18263, 18274], "dates as days"),
    "clock": ("a,b\n1,12:30\n2,00:15\n", "number", [12.5, 0.25], "times of day as hours"),
    "Parquet by another name": (parquet(a=[1, 2], b=["x", "y"]), "text", ["x", "y"], ""),
    "packed Parquet": (
        gzip.compress(parquet(a=[1, 2], b=[True, None])),
        "boolean",
        [1, np.nan],
        "as 1/0",
    ),
    "far from now": ("a,b\n1,9999-12-31\n2,0001-01-01\n", "date", [2932896, -719162], "as days"),
}


@pytest.mark.parametrize("case", READ)
def test_an_odd_table_is_read_and_what_was_made_of_it_is_said(case, tmp_path, caplog):
    content, kind, values, said = READ[case]
    path = put(tmp_path, "t.csv", content)
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        made = read_typed(path)
    told = caplog.text + "".join(f"{name}: {text}\n" for name, text in made.made.items())
    assert made.types["b"] == kind and list(made.types) == list(made.frame)[1:]
    if values is not None:
        got = made.frame["b"]
        assert (
            got.tolist() == values
            if kind == "text"
            else np.allclose(
                got.to_numpy(float, na_value=np.nan), values, equal_nan=True, rtol=1e-15
            )
        )
    assert said in told and (said or not made.made)
    # As new rows they are the same.
    again = pd.concat(new_rows(path, made.types, list(made.types), forms=made.forms, rows=1))
    pd.testing.assert_frame_equal(
        again.reset_index(drop=True), made.frame, check_dtype=False, check_exact=True
    )


FIT = (
    "age,ok,day,town,pay;x\n".replace(";x", "")
    + '30,yes,2020-01-02,A,"1,234.5"\n40,no,2021-01-01,B,7\n'
)

NEW = {
    "a column less": ("age,ok,day,town\n1,no,,B\n", "has no column pay; it has age, ok, day, town"),
    "other letters": ("Age,ok,day,town,pay\n1,no,,B,3\n", "no column age (is it 'Age'?)"),
    "text for a number": (
        "age,ok,day,town,pay\n1,no,,B,3\nold,no,,B,3\n",
        "line 3: the column 'age' holds 'old' where a number is expected",
    ),
    "commas in a number": ('age,ok,day,town,pay\n"1,5",no,,B,3\n', "line 2: the column 'age'"),
    "number of another form": (
        'age,ok,day,town,pay\n1,no,,B,"3,5"\n',
        "(numbers are written as 1,234.5 here)",
    ),
    "unseen word": (
        "age,ok,day,town,pay\n1,maybe,,B,3\n2,perhaps,,B,3\n",
        "'ok' holds 'maybe' where true or false (yes or no, 1 or 0) is expected (2 rows have",
    ),
    "no date": ("age,ok,day,town,pay\n1,no,soon,B,3\n", "where a date is expected: correct it"),
    "another order": ("age,ok,day,town,pay\n1,no,1/2/2020,B,3\n", "year-month-day here)"),
    "infinite": ("age,ok,day,town,pay\ninf,no,,B,3\n", "line 2: the column 'age' is infinite"),
    "no row": ("age,ok,day,town,pay\n", "there is nobody to answer for"),
    "ragged": ("age,ok,day,town,pay\n1,no,,B,3\n1\n", "line 3 has 1 fields"),
    "Parquet text for a number": (
        parquet(age=["x"], ok=[1], day=["2020-01-01"], town=["A"], pay=[1]),
        "row 0 (counted from 0): the column 'age' holds 'x'",
    ),
    "Parquet date for a number": (
        parquet(
            age=pd.to_datetime(["2020-01-01"]), ok=[1], day=["2020-01-01"], town=["A"], pay=[1]
        ),
        "'age' is of the type timestamp",
    ),
    "Parquet number for a word": (
        parquet(age=[1], ok=[2], day=["2020-01-01"], town=["A"], pay=[1]),
        "'ok' holds 2 where true",
    ),
    "Parquet number for a date": (
        parquet(age=[1], ok=[1], day=[1.5], town=["A"], pay=[1]),
        "is of the type double where a date",
    ),
}


@pytest.mark.parametrize("case", NEW)
def test_bad_new_rows_are_refused_in_a_sentence(case, tmp_path):
    made = read_typed(put(tmp_path, "fit.csv", FIT))
    assert list(made.types.values()) == ["number", "boolean", "date", "text", "number"]
    content, words = NEW[case]
    path = put(tmp_path, "new", content)
    with pytest.raises(CounterweightError) as caught:
        list(new_rows(path, made.types, list(made.types), forms=made.forms))
    assert words in sentence(caught, path)


def test_a_wrong_row_is_named_in_whatever_batch_it_stands(tmp_path):
    path = put(tmp_path, "new.csv", many("1,2", "x,3"))
    with pytest.raises(CounterweightError, match="line 33: the column 'a' holds 'x'"):
        list(new_rows(path, {"a": "number", "b": "number"}, ["a"], rows=4))


def test_other_columns_and_unseen_levels_of_new_rows_are_no_mistake(tmp_path):
    made = read_typed(put(tmp_path, "fit.csv", FIT))
    path = put(tmp_path, "new.csv", "row,more,pay,town,ok,day\n7,inf,,Z,true,\n")
    (frame,) = new_rows(path, made.types, ["ok", "town", "pay", "day"], forms=made.forms)
    assert list(frame) == ["row", "ok", "town", "pay", "day"] and frame["row"].tolist() == [0]
    assert frame["town"].tolist() == ["Z"] and frame["ok"].tolist() == [1]


@pytest.mark.parametrize("first", [0, 1])
def test_a_count_of_rows_without_a_name_is_left_out(tmp_path, first):
    path = put(tmp_path, "t.csv", f",a\n{first},7\n{first + 1},9\n")
    made = read_typed(path)
    assert list(made.frame) == ["row", "a"] and made.made[""].endswith("left out")
    (frame,) = new_rows(put(tmp_path, "new.csv", ",a\n9,5\n"), made.types, ["a"])
    assert frame["a"].tolist() == [5]
    pd.DataFrame({"a": [1, 2]}, index=["x", "y"]).to_parquet(tmp_path / "t.parquet")
    assert list(read_typed(tmp_path / "t.parquet").types) == ["a"]


def test_an_ignored_column_is_not_looked_at(tmp_path):
    path = put(tmp_path, "t.csv", "a,b,c,row\n1,inf,,1\n2,x,,2\n")
    made = read_typed(path, columns={"ignore": ["b", "c", "row"]})
    assert list(made.frame) == ["row", "a"] and made.types == {"a": "number"}


#: A table with codes of unknown: what is said of them, and the same table with empty fields.
CODED = "a,b,c,d\n1,-999,yes,x\n2,31,?9,9\n-999.0,40,no,9\n4,9,yes,Unknown\n"
BLANK = "a,b,c,d\n1,,yes,x\n2,31,,9\n,40,no,9\n4,9,yes,\n"
SAID = [{"a": -999}, {"b": [-999, 999]}, {"c": "?9"}, {"d": ["unknown"]}]


@pytest.mark.parametrize("typed", [False, True])
def test_codes_of_unknown_are_as_good_as_empty_fields(typed, tmp_path):
    coded, blank = put(tmp_path, "coded.csv", CODED), put(tmp_path, "blank.csv", BLANK)
    columns, expected = {"missing": SAID}, read_typed(blank)
    if typed:
        coded = put(tmp_path, "t.parquet", b"")
        frame = pd.read_csv(io.StringIO(CODED))
        frame.assign(c=[True, None, False, True]).to_parquet(coded)
    made = read_typed(coded, columns=columns)
    assert made.types == expected.types
    pd.testing.assert_frame_equal(made.frame, expected.frame, check_dtype=False)
    assert "'-999' as missing" in made.made["b"]
    # New rows have the same codes, and may have no others than those that were seen.
    for path in (coded, blank):
        (again,) = new_rows(path, made.types, list("abcd"), forms=made.forms)
        pd.testing.assert_frame_equal(again, expected.frame, check_dtype=False)
    only = put(tmp_path, "only.csv", "a,b,c,d\n-999,999,?9,UNKNOWN\n")
    (again,) = new_rows(only, made.types, list("abcd"), forms=made.forms)
    assert again[list("abcd")].isna().all(axis=None)


def test_a_code_that_is_nowhere_is_said_and_one_for_an_ignored_column_refused(tmp_path):
    path = put(tmp_path, "t.csv", "a,b\n1,2\n2,3\n")
    assert (
        "none of 7, which columns.missing"
        in read_typed(path, columns={"missing": {"a": 7}}).made["a"]
    )
    with pytest.raises(CounterweightError, match="columns.ignore and in columns.missing"):
        read_typed(path, columns={"missing": {"a": 7}, "ignore": ["a"]})
    with pytest.raises(CounterweightError, match="no column 'c', which columns.missing names"):
        read_typed(path, columns={"missing": {"c": 7}})


def test_thousands_among_new_rows_are_refused_where_decimals_were_read(tmp_path):
    fit = read_typed(put(tmp_path, "fit.csv", "a,b\n1,977\n2,12\n"))
    new = put(tmp_path, "new.csv", "a,b\n1,3.600\n2,977\n")
    with pytest.raises(CounterweightError, match="'b' holds '3.600', and others without a point"):
        list(new_rows(new, fit.types, ["b"], forms=fit.forms))
    for said, meant in (
        ({"decimal": ","}, 3600),
        ({"decimal": "."}, 3.6),
        ({"thousands": "."}, 3600),
    ):
        (frame,) = new_rows(new, fit.types, ["b"], forms=fit.forms, reading=said)
        assert frame["b"].tolist() == [meant, 977]
    # Three decimals as programs write them: all have them, or last zeros are left out.
    for values in (["3.600", "977.000"], ["3.6", "977"], ["3.601", "977"], ["0.600", "3"]):
        path = put(tmp_path, "new.csv", "b\n" + "\n".join(values))
        (frame,) = new_rows(path, fit.types, ["b"], forms=fit.forms)
        assert frame["b"].tolist() == [float(value) for value in values]
