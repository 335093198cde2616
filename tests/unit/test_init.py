"""The config that begins for a table: what it says of columns, and what it asks."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.init import MOST, _line, _yaml, beginning, main


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (["oui", "non", ""], "{column: y, positive: yes}"),
        (["good", "bad", ""], "{column: y, positive: bad, negative: good}   # or the other way"),
        (["1", "0", ""], "{column: y, positive: 1}"),
        (["1", "0", "", "9"], "{column: y, positive: 1, missing: 9}"),
        (["a", "b", "", "unknown"], "{column: y, positive: a, negative: b, missing: unknown}"),
        (["a", "b", "", "c"], "{column: default, positive: 1}"),
    ],
)
def test_the_beginning_of_a_config_asks_of_the_words_that_are_there(values, asked, tmp_path):
    words, amounts = np.resize(values, 120), np.resize(["3.600 €", "977 €"], 120)
    frame = pd.DataFrame({"y": words, "amount": amounts, "when": "01/02/2020"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    # What a person has to say stands beside the column; the file is begun all the same.
    text = beginning(str(tmp_path / "t.csv"))
    assert f"# outcome: {asked}" in text
    (amount,) = [line for line in text.splitlines() if line.startswith("#   amount: ")]
    assert "TO BE LOOKED AT: wherever the column" in amount and '{decimal: ","}' in amount
    (when,) = [line for line in text.splitlines() if line.startswith("#   when: ")]
    assert "day and month could be either" in when
    yaml.safe_load(text)


def test_the_beginning_of_a_config_proposes_no_leak_without_a_word(tmp_path):
    """What came of the outcome is blank where it is, and may stand before it in the table."""
    rng = np.random.default_rng(0)
    y, seen = rng.integers(0, 2, 600), rng.random(600) < 0.6
    frame = pd.DataFrame({"age": rng.integers(20, 70, 600)})
    frame["reminders"] = np.where(seen, 1 + 2 * y, np.nan)
    frame["lost"] = np.where(seen, y, np.nan)
    frame["owns a car"] = np.where(rng.random(600) < 0.1, np.nan, rng.integers(0, 2, 600))
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines = beginning(str(tmp_path / "t.csv")).splitlines()
    at = lines.index("# outcome: {column: reminders, positive: 3}")
    assert lines[at + 1].startswith("#   LOOK: lost would give reminders away.")
    assert lines[at + 2] == "# outcome: {column: lost, positive: 1}"
    assert lines[at + 3].startswith("#   LOOK: reminders would give lost away.")
    # Nothing gives away what is of its own.
    assert lines[at + 4] == "# outcome: {column: owns a car, positive: 1}"
    assert not lines[at + 5].startswith("#   LOOK")


def begun(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return beginning(str(tmp_path / "t.csv"))


def test_the_head_counts_rows_and_columns_and_names_the_file(tmp_path):
    frame = pd.DataFrame({"a": np.arange(1200) % 7, "b": np.arange(1200) % 5})
    text = begun(tmp_path, frame)
    assert text.startswith("# What to ask of t.csv (1,200 rows, 2 columns).")
    assert yaml.safe_load(text) == {"table": str(tmp_path / "t.csv")}
    assert "# id: the column that says who a row is" in text


def test_a_column_that_says_who_a_row_is_becomes_the_id(tmp_path):
    frame = pd.DataFrame({"who": [f"p{n:03d}" for n in range(120)], "a": np.arange(120) % 5})
    assert yaml.safe_load(begun(tmp_path, frame))["id"] == "who"


@pytest.mark.parametrize(
    ("blank", "asked"), [(1, False), (2, True), (98, True), (99, False)], ids=str
)
def test_an_outcome_is_blank_in_two_to_ninety_eight_of_a_hundred_rows(tmp_path, blank, asked):
    values = np.where(np.arange(400) % 2, "1", "0").astype(object)
    values[: 4 * blank] = ""
    text = begun(tmp_path, pd.DataFrame({"y": values, "a": np.arange(400) % 7}))
    assert ("# outcome: {column: y, positive: 1}" in text) == asked
    assert ("# outcome: {column: default, positive: 1}" in text) != asked


@pytest.mark.parametrize(
    ("more", "told"), [(0, None), (1, "#   and 1 more"), (3, "#   and 3 more")]
)
def test_columns_beyond_sixty_are_counted(tmp_path, more, told):
    count = MOST + more
    frame = pd.DataFrame({f"c{k}": (np.arange(40) + k) % 7 for k in range(count)})
    text = begun(tmp_path, frame)
    listed = [line for line in text.splitlines() if line.startswith("#   c")]
    assert len(listed) == MOST
    told = [line for line in text.splitlines() if line.endswith(" more")]
    assert told == [f"#   and {more} more"] * (more > 0)


def test_columns_stand_in_the_questions_in_which_they_could_have_a_part(tmp_path):
    """By what they hold: renamed columns stand at the same places."""
    rng = np.random.default_rng(5)
    price, chance = rng.choice([3.0, 4, 5, 6], 600), rng.choice([0.2, 0.5, 0.9], 600)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 60, 600), "price: asked": price, "chance": chance}
    )
    frame["said yes"] = (rng.random(600) < 1 - price / 8).astype(int)
    frame["spent"] = np.where(frame["said yes"], rng.gamma(2, 3, 600).round(2), 0)
    frame["belief"] = np.append(0.0, rng.random(599).round(3))
    frame["region"] = rng.choice(["north", "south"], 600)
    text = begun(tmp_path, frame)
    assert "# outcome: {column: said yes, positive: 1}   # has no blanks: for promises" in text
    assert "# offer: {column: 'price: asked', direction: down}   # or age " in text
    assert "\n# answer: said yes\n" in text
    assert "# reward: said yes   # or spent\n# propensity: chance\n" in text
    assert "# predictions: {old: chance, new: belief}" in text
    assert "# balance: ['price: asked']   # or chance, said yes, region" in text
    assert "# groups: {first: {'price: asked': 3}, second: {'price: asked': 4}}" in text
    names = {name: f"c{at}" for at, name in enumerate(frame)}
    renamed = begun(tmp_path, frame.rename(columns=names))
    assert "# offer: {column: c1, direction: down}   # or c0 " in renamed
    assert "# reward: c3   # or c4\n# propensity: c2\n" in renamed
    assert "# policies: {new: c5}" in renamed
    assert "# balance: [c1]   # or c2, c3, c6" in renamed


def test_a_group_that_not_everybody_told_comes_first_to_be_balanced(tmp_path):
    frame = pd.DataFrame({"a": np.arange(400) % 71, "b": np.arange(400) % 2})
    blank, part = np.arange(400) % 5 == 0, np.where(frame["a"] < 30, "up", "low")
    frame["ended"] = np.where(blank, None, part)  # of two values: it may be the outcome
    frame["part"] = np.where(blank, None, np.where(frame["a"] > 60, "mid", part))
    text = begun(tmp_path, frame)
    assert "# balance: [part]   # or b, ended" in text and "# groups: {first: {b: 0}" in text
    assert "# policies: {new: p_new}" in text


def test_without_such_columns_words_stand_for_them(tmp_path):
    text = begun(tmp_path, pd.DataFrame({"a": np.arange(400) % 71, "b": np.arange(400) % 31}))
    assert "# offer: {column: price, direction: down}" in text and "# answer: bought" in text
    assert "# groups: {first: {sex: Female}, second: {sex: Male}}" in text
    # A column that has the name of such a word is not taken for it.
    text = begun(tmp_path, pd.DataFrame({"bought": np.arange(400) % 3, "a": np.arange(400) % 71}))
    assert "# outcome: {column: default, positive: 1}\n" in text


def fact(**given):
    known = {"column": "c", "type": "number", "distinct": 1200, "missing": 0.0, "made": ""}
    known |= {"use": "feature", "why": "", "doubt": ""}
    return SimpleNamespace(**(known | given))


def test_a_column_is_one_line_and_nothing_is_said_twice():
    assert _line(fact()) == "#   c: number; 1,200 values"
    assert _line(fact(missing=0.1234)) == "#   c: number; 1,200 values; 12.3 % missing"
    assert _line(fact(made="of a\ndate")).endswith("values; of a date")
    left = _line(fact(use="left out", why="it is empty"))
    assert left == "#   c: number; 1,200 values; left out; it is empty"
    doubted = _line(fact(why="-9 is a code", doubt="-9 is a code"))
    assert doubted == "#   c: number; 1,200 values; TO BE LOOKED AT: -9 is a code"


def test_a_table_that_is_not_there_is_told_without_a_traceback(tmp_path):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "no.csv")])
    assert str(ended.value).startswith("ERROR: ") and "name your table" in str(ended.value)


def test_the_last_of_two_values_is_proposed_as_outcome_and_groups_are_another_column(tmp_path):
    rng = np.random.default_rng(6)
    first, last = (rng.integers(0, 2, 300) for _ in range(2))
    frame = pd.DataFrame({"bike": first, "age": rng.integers(20, 60, 300), "hired": last})
    for order in (["bike", "age", "hired"], ["hired", "age", "bike"]):
        text = begun(tmp_path, frame[order])
        assert f"# outcome: {{column: {order[-1]}, positive: 1}}   # has no blanks" in text
        assert f"# groups: {{first: {{{order[0]}: 0}}, second: {{{order[0]}: 1}}}}" in text
    assert "# groups: {first: {hired: 0}" in begun(tmp_path, frame[["age", "hired"]])


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@pytest.mark.parametrize(
    "text",
    ["clicked?", "a, b", "[z", "yes", "07", "1:30", "it's", "x: y", "*s", "long, " * 40, 0, 1.5],
)
def test_names_and_values_are_written_as_yaml_reads_them(text, loader):
    """Snakemake reads configs by the loader in Python, which refuses a bare `clicked?`."""
    said = f"{{column: {_yaml(text)}, positive: 1}}"
    assert "\n" not in said and yaml.load(said, loader) == {"column": text, "positive": 1}


def test_of_many_that_could_be_the_outcome_those_with_two_values_and_most_blanks_come_first(
    tmp_path,
):
    rows = np.arange(400)
    frame = pd.DataFrame({"a": rows % 71})
    for name, blank in (("b", 5), ("c", 10), ("d", 20), ("Left?", 40), ("e", 30)):
        frame[name] = np.where(rows % 100 < blank, np.nan, rows % 2)
    frame["coded"] = np.where(rows % 100 < 60, None, np.where(rows % 7 == 0, 9, rows % 2))
    lines = begun(tmp_path, frame).splitlines()
    asked = [line.split(", ")[0] for line in lines if line.startswith("# outcome: {column")]
    assert asked == [f"# outcome: {{column: {name}" for name in ('"Left?"', "e", "d", "c")]
    assert "#   or b, coded, of two classes and with blanks, too" in lines


def test_the_last_of_two_words_may_be_the_outcome_too(tmp_path):
    rng = np.random.default_rng(7)
    sex, old = rng.choice(["M", "F"], 300), rng.choice(["y", "n"], 300)
    frame = pd.DataFrame({"sex": sex, "age": rng.integers(20, 60, 300), "hired before": old})
    frame["good"] = rng.choice(["good", "bad"], 300)
    text = begun(tmp_path, frame)
    assert "# outcome: {column: hired before, positive: yes}   # has no blanks" in text
    assert "# outcome: {column: good, positive: bad, negative: good}   # or the other way" in text
    assert "# outcome: {column: sex" not in text
