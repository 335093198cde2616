"""A table of the user's own: types, alike on every path, and a sentence where it is unusable."""

import logging
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets import sources
from counterweight.datasets.own_table import new_rows, prepare, read_typed, typed_like
from counterweight.errors import CounterweightError
from counterweight.labeling.columns import forms_of, types_of
from counterweight.plan.config import resolve
from counterweight.plan.jobs import Paths, columns_job
from counterweight.plan.own import with_own_tables
from counterweight.tables.parquet import read_facts, read_table
from stage_jobs import run_script

TEXT = "age,city,offer,bought\n31,Rome,10.5,yes\n,Bonn,12,no\n45,,9,no\n"


def write(folder, text=TEXT, name="mine.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path):
    return read_typed(path).frame


def refusal(path):
    with pytest.raises(CounterweightError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_is_typed(tmp_path, mark, end):
    frame = read(write(tmp_path, TEXT.replace(",", mark).replace("\n", end)))
    assert list(frame) == ["row", "age", "city", "offer", "bought"]
    assert frame["row"].dtype == np.int32
    assert frame["row"].tolist() == [0, 1, 2]
    assert str(frame["age"].dtype) == "Int64"
    assert frame["age"].isna().tolist() == [False, True, False]
    assert frame["city"].isna().tolist() == [False, False, True]
    assert frame["offer"].tolist() == [10.5, 12, 9]
    assert frame["bought"].tolist() == [1, 0, 0]


def column(word, n=40):
    """The lines of a table of two columns: a number, and a word of each row."""
    return "".join(f"{at};{word(at)}\n" for at in range(n))


#: Ten kinds of fields: type, the word of a row, and what the second one is read as.
TEN = {
    "decimal commas": ("number", lambda at: f"{at % 7},5", 1.5),
    "thousands and decimals": ("number", lambda at: f"1.{200 + at},50", 1201.5),
    "days first": ("date", lambda at: f"{14 + at % 9:02d}.03.2021", 18701.0),
    "days by year": ("date", lambda at: f"2021-03-{14 + at % 9:02d}", 18701.0),
    "yes and no": ("boolean", lambda at: "yes" if at % 3 else "no", 1),
    "signs of unknown": ("text", lambda at: "?" if at % 5 == 0 else "ab"[at % 2], "b"),
    "blank numbers": ("number", lambda at: "" if at % 4 == 0 else at * 10, 10),
    "leading zeros": ("text", lambda at: f"{at:05d}", "00001"),
    "long numbers": ("text", lambda at: f"12345678901234{at:04d}", "123456789012340001"),
    "prices": ("number", lambda at: f"{at}.25 €", 1.25),
}


@pytest.mark.parametrize("name", TEN)
def test_ten_tables_are_typed_alike_by_every_path_that_reads_a_table(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    kind, word, second = TEN[name]
    header, lines = "paid;what\n", column(word)
    write(tmp_path, header + lines)
    expected = read_typed("mine.csv")
    assert expected.types["what"] == kind and expected.frame["what"][1] == second
    # As ten lines of config, and as a data set that a study names by hand.
    folders = {"results": "r", "data": "d"}
    table = {"table": "mine.csv", "name": "own", "outcome": {"column": "paid", "kind": "number"}}
    study = {
        "dataset": "hand",
        "features": {"recipe": "one_hot"},
        "outcome": {"rule": "no_outcome"},
        "labeling": {"rule": "sensitive", "group": ["what"]},
        "targets": ["general"],
        "evaluation": {"protocol": "filtering"},
        "selection": [{"selector": "split_tree"}],
        "weighting": [{"weighting": "quadratic"}],
        "models": [{"model": "balanced_filter", "weights": "quadratic", "classifier": "none"}],
    }
    by_hand = {"datasets": {"hand": {"path": "mine.csv"}}, "studies": {"s": study}}
    for config, dataset in ((with_own_tables(table, table), "own"), (by_hand, "hand")):
        plan = resolve(folders | config)
        plan["place"] = plan["results"]
        for planned in (sources.prepare_job, columns_job):
            job = planned(dataset, plan, Paths(plan))
            stage, log = job.run.removeprefix("counterweight."), f"{dataset}.log"
            script = planned.__name__.removesuffix("_job")
            run_script(script, stage, job.given, job.inputs, job.outputs, log, job.uses)
        same(read_table(Paths(plan).prepared(dataset)), expected.frame)
        facts = read_table(job.outputs["columns"])
        assert types_of(facts) == expected.types and forms_of(facts) == expected.forms
    # As new rows: of a file, of a folder of parts, of a frame of texts.
    half = len(lines) // 2 + lines[len(lines) // 2 :].index("\n") + 1
    (tmp_path / "parts").mkdir()
    for at, part in enumerate((lines[:half], lines[half:])):
        write(tmp_path / "parts", header + part, f"{at}.csv")
    told = {"types": expected.types, "needed": ["paid", "what"]}
    for path in ("mine.csv", "parts"):
        found = pd.concat(new_rows(path, forms=expected.forms, rows=7, **told))
        same(found, expected.frame)
    texts = pd.read_csv("mine.csv", sep=";", dtype=str, keep_default_na=False)
    same(typed_like("a frame", texts, forms=expected.forms, **told), expected.frame)


@pytest.mark.parametrize("typed", ["int64", "Int64", "float64"])
def test_numbers_that_were_codes_with_leading_zeros_get_them_back_or_are_refused(tmp_path, typed):
    """A frame of `read_csv` has lost them, and 1 is no code that the fit saw."""
    told = {"types": {"code": "text"}, "needed": ["code"]}
    codes = [1, 12] if typed == "int64" else [1, 12, None]
    new = pd.DataFrame({"code": pd.Series(codes, dtype=typed)})
    forms = read_typed(write(tmp_path, "code,b\n01,1\n12,2\n07,3\n")).forms
    made = typed_like("a frame", new, forms=forms, **told)["code"]
    assert made.tolist()[:2] == ["01", "12"] and made[2:].isna().all()
    forms = read_typed(write(tmp_path, "code,b\n001,1\n12,2\n07,3\n")).forms
    with pytest.raises(CounterweightError, match=r"leading zeros.*dtype=\{'code': str\}"):
        typed_like("a frame", new, forms=forms, **told)
    words = new["code"].astype("Int64").astype("str")
    assert typed_like("a frame", words[:2].to_frame(), forms=forms, **told)["code"][1] == "12"


def same(found, expected):
    """Equal values; whole numbers of new rows are floats."""
    numbers = {name: float for name in expected if str(expected[name].dtype) == "Int64"}
    left, right = (one.reset_index(drop=True).astype(numbers) for one in (found, expected))
    pd.testing.assert_frame_equal(left, right)


def test_byte_order_mark_quotes_and_true_false(tmp_path):
    text = 'a,b,c\n1,"x, y",true\n2,"say ""no""",false\n'
    frame = read(write(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert list(frame) == ["row", "a", "b", "c"]
    assert frame["b"].tolist() == ["x, y", 'say "no"']
    assert frame["c"].tolist() == [1, 0]
    assert str(frame["a"].dtype) == "Int64"


def test_blanks_before_values_line_breaks_in_quotes_and_words_for_missing_values(tmp_path):
    text = 'a, b , c\n 1, " x, y" ,2.5\n   \n3,"z\n\nz", NA\n\n5 ,"", 6 \n'
    frame = read(write(tmp_path, text))
    assert list(frame) == ["row", "a", "b", "c"]
    assert frame["a"].tolist() == [1, 3, 5] and str(frame["a"].dtype) == "Int64"
    assert frame["b"].tolist()[:2] == ["x, y", "z\n\nz"] and pd.isna(frame["b"][2])
    assert frame["c"].tolist()[::2] == [2.5, 6] and np.isnan(frame["c"][1])


def test_numbers_are_read_as_they_were_written(tmp_path):
    rng = np.random.default_rng(0)
    given = pd.DataFrame({"x": rng.normal(size=999), "y": rng.lognormal(0, 30, 999)})
    given.to_csv(tmp_path / "mine.csv", index=False)
    pd.testing.assert_frame_equal(read(tmp_path / "mine.csv")[["x", "y"]], given)


def test_parquet_is_the_same_table(tmp_path):
    frame = read(write(tmp_path))
    path = tmp_path / "mine.parquet"
    frame.drop(columns="row").to_parquet(path)
    assert read(path).equals(frame)
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
        ("a,b\n1,inf\n2,3.5\n", "the column 'b' is infinite in 1 rows (this is the first)"),
        ("a,b\n1,\0\n", "line 2 holds a byte 0"),
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


def test_a_name_that_is_nearly_there_is_told_whatever_its_capitals(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("LOANAMOUNT,age\n1,2\n")
    for name, told in (("loanamount", "is it 'LOANAMOUNT'"), (" AGE ", "is it 'age'")):
        with pytest.raises(CounterweightError, match=told):
            read_typed(path, columns={"text": [name]})
    with pytest.raises(CounterweightError, match=r"has no column 'zip', which columns.text names;"):
        read_typed(path, columns={"text": ["zip"]})


def test_a_near_name_that_is_needed_itself_is_no_offer():
    frame = pd.DataFrame({"m37": [1.0], "n": [2.0]})
    with pytest.raises(CounterweightError, match=r"has no column m3; it has m37, n"):
        typed_like("The table", frame, {}, needed=["m3", "m37"])
    with pytest.raises(CounterweightError, match=r"has no column m3 \(is it 'm37'\?\)"):
        typed_like("The table", frame, {}, needed=["m3"])


@pytest.mark.parametrize(
    ("first", "left"),
    [("0,1,2", True), ("1,2,3", True), ("2,3,4", False), ("1,3,4", False), ("1,x,3", False)],
)
def test_a_first_column_without_a_name_that_counts_the_rows_is_left_out(tmp_path, first, left):
    path = tmp_path / "t.csv"
    path.write_text(",a\n" + "".join(f"{number},5\n" for number in first.split(",")))
    if left:
        made = read_typed(path)
        assert list(made.frame) == ["row", "a"] and "left out" in made.made[""]
        return
    with pytest.raises(CounterweightError, match="no name for the column number 1"):
        read_typed(path)


def test_what_reading_made_of_a_table_stands_beside_it(tmp_path, caplog):
    (tmp_path / "t.csv").write_text("a,ok\n1,yes\n2,no\n")
    given = {"path": tmp_path / "t.csv", "columns": {}, "reading": {}}
    output = SimpleNamespace(table=tmp_path / "t.parquet")
    with caplog.at_level(logging.INFO, "counterweight"):
        prepare(SimpleNamespace(given=given, output=output, log=logging.getLogger("counterweight")))
    assert caplog.messages == ["2 rows, 2 columns"]
    facts = read_facts(output.table)
    assert facts["types"] == {"a": "number", "ok": "boolean"} and facts["doubts"] == {}
    assert facts["forms"] == {"ok": {"true": "yes", "false": "no"}}


@pytest.mark.parametrize(
    ("texts", "columns", "kind", "doubt"),
    [
        (["2024-05-31", "2023-01-02", None], {}, "date", ""),
        (["31.05.2024", "02.01.2023", ""], {}, "date", ""),
        (["2024-05-31", "2023-01-02", None], {"dates": ["d"]}, "date", ""),
        (["2024-05-31", "2023-01-02", None], {"text": ["d"]}, "text", ""),
        (["2024-05-31", "late", None], {}, "text", ""),
        (["01/02/2024", "03/04/2023", None], {}, "text", "the column 'd' has dates"),
        (["yes", "No", None], {}, "boolean", ""),
        (["yes", "No", None], {"text": ["d"]}, "text", ""),
        (["14:30", "8:05", None], {}, "number", ""),
        (["1001", "2003", "1999"], {}, "text", ""),
        (["1.234,5", "3,25", "1"], {}, "text", "its texts are numbers"),
        (["1.234,5", "3,25", "1"], {"numbers": ["d"]}, "number", ""),
        # Money is no code; what could be either is said once.
        (["1.234,5 €", "3,25 €", "1 €"], {}, "number", ""),
        (["1,234", "2,345", "500"], {}, "text", "its texts are numbers"),
    ],
)
def test_texts_that_were_given_as_such_are_read_as_those_of_a_csv_but_for_numbers(
    tmp_path, texts, columns, kind, doubt
):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"d": texts, "x": [1, 2, 3]}).to_parquet(path)
    made = read_typed(path, columns=columns)
    assert made.types["d"] == kind
    assert made.doubts.get("d", "").startswith(doubt) and bool(made.doubts) == bool(doubt)
    assert "read as" not in made.doubts.get("d", "")


@pytest.mark.parametrize(
    ("form", "kind", "texts", "expected"),
    [
        # Of a table whose dates were typed: texts of one form, which is no other.
        ({}, "date", ["23.04.2022", "01.12.2022"], [19105, 19327]),
        ({}, "date", ["2022-04-23", "2022-12-01"], [19105, 19327]),
        ({}, "date", ["04/23/2022", "12/01/2022"], [19105, 19327]),
        ({}, "date", ["04/05/2022", "12/01/2022"], "write dates as 2024-12-31"),
        ({"order": "dmy"}, "date", ["23.04.2022", "2022-12-01"], [19105, 19327]),
        # Money without its sign, where all is; another sign is another unit.
        ({"decimal": ",", "thousands": ".", "sign": "€"}, "number", ["1.234,5", "3"], [1234.5, 3]),
        ({"decimal": ",", "thousands": ".", "sign": "€"}, "number", ["3 €", "4"], "'4'"),
        ({"decimal": ",", "thousands": ".", "sign": "€"}, "number", ["$3", "$4"], "'\\$3'"),
    ],
)
def test_texts_of_new_rows_are_read_where_they_can_mean_one_thing(form, kind, texts, expected):
    told = {"types": {"d": kind}, "needed": ["d"], "forms": {"d": form}}
    frame = pd.DataFrame({"d": texts})
    if isinstance(expected, str):
        with pytest.raises(CounterweightError, match=expected):
            typed_like("New rows", frame, **told)
        return
    assert typed_like("New rows", frame, **told)["d"].tolist() == expected


def test_the_first_rows_of_a_log_say_how_its_numbers_are_written(tmp_path):
    lines = ["0,5;7;1.234,5;x", "0,25;0;3;y", "1;2,5;0;z"]
    path = write(tmp_path, "\n".join(["chance;count;paid;what", *lines]), "log.csv")
    types = {"chance": "number", "count": "number", "paid": "number", "what": "text"}
    told = {"types": types, "needed": ["chance", "count", "paid"]}
    # Two rows are looked at: whole numbers there may have decimals further on.
    found = pd.concat(new_rows(path, rows=2, find=True, **told))
    expected = {"chance": [0.5, 0.25, 1], "count": [7, 0, 2.5], "paid": [1234.5, 3, 0]}
    assert found.drop(columns="row").to_dict("list") == expected
    # What comes later is not read otherwise than what came first.
    late = "chance;count;paid;what\n0.5;1;2;x\n0.5;1;2;y\n0,5;1;2;z"
    path = write(tmp_path, late, "b.csv")
    with pytest.raises(CounterweightError, match="line 4.*'chance' holds '0,5'"):
        list(new_rows(path, rows=2, find=True, **told))


@pytest.mark.parametrize(
    "words", [("yes", "no", "maybe"), ("10 %", "20 %", "free"), ("1", "2", "x")]
)
def test_columns_that_name_the_same_things_are_read_alike(tmp_path, words):
    a, b, c = words
    path = write(tmp_path, "logged,new,n\n" + f"{a},{a},1\n{b},{b},2\n{c},{a},3\n" * 5)
    made = read_typed(path, alike=[["logged", "new"]])
    assert made.types == {"logged": "text", "new": "text", "n": "number"}
    assert made.frame["new"].tolist() == [a, b, a] * 5 and "the same things" in made.made["new"]
    # What a person says of a column stays.
    said = {"numbers": ["new"]} if words[0] != "yes" else {"text": ["new"]}
    told = read_typed(path, columns=said, alike=[["logged", "new"]])
    assert told.types == read_typed(path, columns=said).types
