"""The file of bought labels as people send it back: what is read of it, and what is refused."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.delivery.bought_file import (
    ShownPlan,
    asked_alone,
    in_letters,
    in_order,
    plan_name,
    read_bought,
    refuse_one_class,
)
from counterweight.errors import CounterweightError
from counterweight.numerics.designs import inclusion_chances

ROWS = 40
GIVEN = {"id": "who", "outcome": {"options": {"column": "y"}}, "reading": {}}


@pytest.fixture
def table():
    """Rows 0 to 19 have an outcome, the others none; ids have zeros in front."""
    labeled = np.arange(ROWS) < 20
    y = np.where(labeled, np.arange(ROWS) % 2, np.nan)
    words = np.where(labeled, np.where(y == 1, "bad", "good"), None)
    frame = pd.DataFrame({"who": [f"{row:03d}" for row in range(ROWS)], "y": words})
    told = {"types": {"y": "text", "who": "text"}, "forms": {}, "binary": True}
    return frame, SimpleNamespace(rows=np.arange(ROWS), labeled=labeled, y=y, **told)


def sent(folder, table, change=lambda frame: frame, **options):
    """What is read of the rows 20 to 35, after a change of what is written."""
    rows = np.arange(20, 36)
    frame = pd.DataFrame(
        {
            "who": [f"{row:03d}" for row in rows],
            "order": np.arange(1, 17),
            "y": np.where(rows % 3 == 0, "bad", "good"),
            "chance": 0.25,
            "plan": "abc",
        }
    )
    path = folder / "labels.csv"
    change(frame).to_csv(path, index=False, **options)
    return read_bought(str(path), GIVEN, table[1], table[0])


def test_labels_come_back_to_their_rows_in_any_order(tmp_path, table):
    def mixed(frame):
        return frame.sample(frac=1, random_state=1).assign(
            y=lambda one: one["y"].where(one.index > 1)
        )

    found = sent(tmp_path, table, mixed)
    known = dict(zip(found.rows.tolist(), found.y.tolist(), strict=True))
    assert {row for row, y in known.items() if np.isnan(y)} == {20, 21}
    assert all(y == (row % 3 == 0) for row, y in known.items() if row > 21)
    assert found.plan == "abc" and found.known.sum() == 14
    assert found.texts([20, 24, 39]) == ["", "bad", ""]


def test_chances_survive_a_spreadsheet_with_decimal_commas(tmp_path, table):
    found = sent(tmp_path, table, lambda frame: frame.assign(chance="0,25"), sep=";")
    assert found.chance == pytest.approx(0.25)


def test_ids_behind_an_apostrophe_are_those_of_the_table(tmp_path, table):
    frame, data = table
    frame.loc[20, "who"] = "=1+1"
    found = sent(
        tmp_path, (frame, data), lambda sheet: sheet.assign(who=["'=1+1", *sheet["who"][1:]])
    )
    assert found.rows[0] == 20


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="y"), "has no column 'y'"),
        (lambda frame: frame.drop(columns="chance"), "has no column 'chance'"),
        (lambda frame: frame.assign(who=frame["who"].str.lstrip("0")), "put them back"),
        (lambda frame: frame.assign(who="x" + frame["who"]), "correct them, or take these rows"),
        (lambda frame: frame.assign(who=frame["who"].replace("021", "020")), "stood before"),
        (lambda frame: frame.assign(who=frame["who"].replace("021", "003")), "the table knows"),
        (lambda frame: frame.assign(y=["maybe", *frame["y"][1:]]), "does not know (first: 'maybe'"),
        (lambda frame: frame.assign(y=frame["y"].where(frame.index < 5)), "10 are needed"),
        (lambda frame: frame.assign(chance=1.5), "is no chance from above 0 to 1"),
        (lambda frame: frame.assign(chance="a lot"), "is no chance from above 0 to 1"),
        (lambda frame: frame.assign(plan=["b", *frame["plan"][1:]]), "rows of 2 plans"),
    ],
)
def test_what_cannot_be_taken_is_told_in_a_sentence(tmp_path, table, change, words):
    with pytest.raises(CounterweightError) as told:
        sent(tmp_path, table, change)
    assert words in str(told.value) and len(str(told.value).splitlines()) == 1


def asked(chance, rows, *told):
    """What is made of rows that were asked with these chances, the first of so many."""
    return asked_alone(rows, np.arange(len(chance)), chance, *told)


def test_chances_that_rows_were_drawn_by_stand_for_all_rows():
    """Of 300 draws none is refused, also where chances are most uneven."""
    rng = np.random.default_rng(6)
    for rows, budget in ((60, 20), (400, 60), (400, 300)):
        size = np.exp(1.3 * rng.normal(size=rows))
        for chance in (inclusion_chances(size, budget), np.full(rows, budget / rows)):
            for _ in range(50):
                asked(chance[rng.random(rows) < chance], rows)
        # Of a draw of so many the sum is all rows, whoever is drawn.
        drawn, chances = asked(np.full(budget, budget / rows), rows)
        assert drawn.sum() == budget and (1 / chances[drawn]).sum() == pytest.approx(rows)
    asked(np.ones(400), 400)


@pytest.mark.parametrize(
    "chance",
    [
        np.ones(60),
        np.ones(635),  # one was left out of all that were asked
        np.full(60, 0.9),
        np.full(20, 0.001),
        np.full(40, 0.25),  # 40 of 160 that were planned
        np.full(200, 0.5),  # 200 of 318
        np.repeat([1.0, 0.4], 30),
    ],
)
def test_chances_that_stand_for_other_rows_are_refused(chance):
    words = (
        f"The {len(chance)} rows that .* for some {(1 / chance).sum():,.0f} rows without a group"
    )
    with pytest.raises(CounterweightError, match=words):
        asked(chance, 636, "without a group")
    assert asked(chance, 636, "")[0].sum() == len(chance)  # of earlier months, say


def test_offers_stand_for_all_people_together_and_none_for_more():
    """Each of 4 offers is drawn with a chance of its own, so that all stand for 4 times them."""
    made, chance = np.repeat([1.0, 2.0, 3.0, 4.0], 25), np.full(100, 0.5 / 4)
    asked(chance, 200, "without an answer", made)
    for wrong in (np.ones(100), np.full(100, 0.01)):
        with pytest.raises(CounterweightError, match="there are 200"):
            asked(wrong, 200, "without an answer", made)
    with pytest.raises(
        CounterweightError, match="The 25 rows .* made one offer .* some 2,500 rows"
    ):
        asked(np.where(made == 2, 0.01, chance), 200, "without an answer", made)


def test_a_series_goes_by_its_index_and_an_array_by_its_order():
    index = pd.Index([3, 5, 8])
    column = pd.Series(list("abcde"), index=[1, 3, 5, 7, 8])
    assert list(in_order(column, index)) == ["b", "c", "e"]
    assert list(in_order(column.loc[[8, 3, 5]], index)) == ["b", "c", "e"]
    for plain in (np.array(["x", "y", "z"]), pd.Series(["x", "y", "z"])):
        assert list(in_order(plain, index)) == ["x", "y", "z"]
    for other in (column.iloc[:3], column.loc[[3, 5, 8, 8]]):
        with pytest.raises(CounterweightError, match="another index than the rows without an"):
            in_order(other, index)
    twice = pd.Index([3, 3, 8])
    assert list(in_order(pd.Series(list("abc"), index=twice), twice)) == ["a", "b", "c"]


def a_plan(drawn=16, first=20, **columns):
    """A plan of the rows from `first`, in their order, of which so many are drawn."""
    order = np.arange(1, ROWS - first + 1)
    lines = {"row": np.arange(first, ROWS), "order": order, "drawn": order <= drawn}
    lines |= {"place": order / 10, "size": 0.25 / (0.1 * (drawn + 1)), "chance": 0.25}
    return pd.DataFrame(lines | {"plan": "abc"} | columns)


def test_rows_that_nobody_drew_and_plans_of_another_key_are_refused(tmp_path, table):
    found = sent(tmp_path, table)
    found.check_plan(a_plan())
    with pytest.raises(CounterweightError, match="has 1 rows that the plan does not have"):
        found.check_plan(a_plan(15))
    with pytest.raises(CounterweightError, match="drawn by another plan"):
        found.check_plan(a_plan(plan="abd"))


def test_plans_of_digits_are_those_of_letters(tmp_path, table):
    """Version 1.0.0 told plans apart by digits, of which spreadsheets may make a number."""
    assert in_letters("0123456789abcdef") == "ghijklmnopabcdef"
    found = sent(tmp_path, table, lambda frame: frame.assign(plan="156995900e84"))
    found.check_plan(a_plan(plan=in_letters("156995900e84")))
    with pytest.raises(CounterweightError, match="drawn by another plan"):
        found.check_plan(a_plan(plan=in_letters("156995900e85")))


def test_rows_that_came_after_the_plan_had_no_chance_to_be_asked(tmp_path, table, caplog):
    plan = plan_name("0123456789abcdef", 400)
    assert plan == "ghijklmnopab" + in_letters("400")
    sent(tmp_path, table, lambda frame: frame.assign(plan=plan)).check_plan(
        a_plan(plan=plan_name("0123456789abffff", 401))
    )
    half = np.full(200, 0.5)
    for rows, told in ((400, ""), (390, ""), (410, "came since (10) had no chance to be asked")):
        caplog.clear()
        asked_alone(rows, np.arange(200), half, plan=plan)
        assert (told in caplog.text) and bool(told) == bool(caplog.records)
    with pytest.raises(CounterweightError, match="drawn from 400 rows without a group, and there"):
        asked_alone(440, np.arange(200), half, "without a group", plan=plan)
    # A file may be of some months, and one of version 1.0 does not say of how many rows.
    asked_alone(440, np.arange(200), half, "", plan=plan)
    asked_alone(440, np.arange(200), half, plan="156995900e84")


def test_rows_that_were_added_by_hand_are_named(tmp_path, table):
    def by_hand(column):
        return lambda frame: frame.assign(**{column: frame[column].where(frame.index < 14)})

    with pytest.raises(
        CounterweightError, match="has 2 rows without a plan .first: '034'., beside"
    ):
        sent(tmp_path, table, by_hand("plan"))
    words = "2 rows whose 'chance' is no chance.*first: '034'.*added by hand have none"
    with pytest.raises(CounterweightError, match=words):
        sent(tmp_path, table, by_hand("chance"))


@pytest.mark.parametrize(
    ("seen", "share", "refused", "told"),
    [
        (1, 0.05, 40, True),
        (0, 0.05, 40, False),
        (1, 0.05, 3, False),
        (1, 0.9, 40, False),
        # So does who marks the common class alone, whose blanks are fewer.
        (0, 0.6, 3, True),
        (0, 0.6, 1, False),
        (0, 0.3, 3, False),
    ],
)
def test_labels_of_one_class_beside_blanks_are_refused_where_chance_is_no_reason(
    seen, share, refused, told
):
    found = SimpleNamespace(
        outcome=np.r_[np.full(12, float(seen)), np.full(30, np.nan)],
        bought=np.r_[np.ones(12, bool), np.zeros(30, bool)],
        predicted=np.full(42, share),
        refused=refused,
    )
    words = f"All 12 labels are '{['fine', 'Fraud'][seen]}', and {refused} rows"
    asked = pytest.raises(CounterweightError, match=words)
    with asked if told else contextlib.nullcontext():
        refuse_one_class(found, ["fine", "Fraud"])
    refuse_one_class(found, ())  # a number has no classes
    found.outcome[0] = 1 - seen
    refuse_one_class(found, ["fine", "Fraud"])


def test_a_few_blanks_beside_many_labels_are_rows_without_an_answer():
    labels = {"outcome": np.zeros(300), "bought": np.ones(300, bool)}
    labels["predicted"] = np.full(300, 0.05)
    refuse_one_class(SimpleNamespace(**labels, refused=14), ["fine", "Fraud"])
    with pytest.raises(CounterweightError, match="All 300 labels are 'fine', and 15 rows"):
        refuse_one_class(SimpleNamespace(**labels, refused=15), ["fine", "Fraud"])


def test_a_plan_is_shown_by_its_numbers_and_its_first_rows():
    class Plan(ShownPlan):
        frame, people = pd.DataFrame({"who": [f"p{k}" for k in range(7)]}), range(31)

    shown = Plan()._repr_html_()
    assert "7" in repr(Plan()) and "31" in repr(Plan())
    assert "31" in shown and all((f"p{k}" in shown) == (k < 5) for k in range(7))
