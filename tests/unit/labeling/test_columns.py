"""Columns of a table: what is refused, and what a column report says of them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling import columns
from counterweight.tables.parquet import write_table

ROWS = np.arange(4) + 10


def outside(values, low=0.0, high=1.0, **options):
    given = {"rows": ROWS[: len(values)], "name": "reward 'r'", "where": "outcome"} | options
    columns.refuse_outside(np.array(values, float), low, high, **given)


def test_ends_of_a_range_belong_to_it():
    outside([0.0, 1.0, 0.5])
    for wrong, row in (([0.0, 1.0001], 11), ([-0.0001, 1.0], 10)):
        with pytest.raises(CounterweightError, match=f"range from 0 to 1 in 1 of 2 .* row {row}"):
            outside(wrong)
    with pytest.raises(CounterweightError, match="missing or infinite in 2 of 3 rows"):
        outside([np.nan, 0.5, np.inf])
    outside([np.nan, 0.5, 9.0], counted=np.array([False, True, False]))


def test_values_are_matched_in_all_columns_and_a_missing_one_matches_none():
    frame = pd.DataFrame({"a": ["x", "x", None, "y"], "b": [1, 2, 1, 1]}).astype({"a": "str"})
    np.testing.assert_array_equal(columns.matches(frame, {"a": "x"}), [True, True, False, False])
    np.testing.assert_array_equal(
        columns.matches(frame, {"a": "x", "b": 1}), [True, False, False, False]
    )
    assert columns.matches(frame, {}).all()


def test_conditions_hold_at_their_lower_bound_and_not_at_their_upper_one_nor_where_blank():
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, np.nan], "t": ["a", "b", None, "a"]})

    def met(condition):
        return columns.condition_mask(frame, condition, "samples.d").tolist()

    assert met({"column": "n", "at_least": 2}) == [False, True, True, False]
    assert met({"column": "n", "below": 2}) == [True, False, False, False]
    assert met({"column": "n", "at_least": 2, "below": 3}) == [False, True, False, False]
    assert met({"column": "n", "value": 3}) == [False, False, True, False]
    assert met({"column": "t", "values": ["a", "b"]}) == [True, True, False, True]
    both = {"all": [{"column": "t", "value": "a"}, {"column": "n", "below": 9}]}
    assert met(both) == [True, False, False, False]


def test_numbers_that_are_missing_and_columns_that_are_not_there_are_told():
    frame = pd.DataFrame({"n": [1.0, np.nan], "t": ["a", "b"]})
    assert np.isnan(columns.floats(frame, "n", "rule")[1])
    with pytest.raises(CounterweightError, match="missing or infinite in 1 rows .first: row 1"):
        columns.numbers(frame, "n", "rule")
    with pytest.raises(CounterweightError, match="needs numbers in the column 't'"):
        columns.floats(frame, "t", "rule")
    with pytest.raises(CounterweightError, match="The rule needs the column z; the data set has n"):
        columns.require(frame, ["n", "z"], "rule")
    with pytest.raises(CounterweightError, match="; did you mean 'part'. Correct its name, or"):
        columns.require(pd.DataFrame({"n": [1], "part": [1]}), ["partt"], "rule")
    features = pd.DataFrame({"row": [7, 8], "f": [0.0, np.inf]})
    with pytest.raises(CounterweightError, match="'f' is not a finite .* 1 of 2 .* row 8"):
        columns.check_finite(features)


def test_a_name_that_is_taken_gets_a_sign_behind_it():
    assert columns.free_name("a", ["b"]) == "a"
    assert columns.free_name("a", ["a", "a_"]) == "a__"


def test_users_are_of_one_cluster_in_any_order_and_batch():
    users = pd.Series(["ann", "bob", None, "ann"])
    found = columns.clusters(users)
    assert found[0] == found[3] != found[1] and found[2] == -2
    assert (columns.clusters(users[::-1]) == found[::-1]).all()
    whole, floats = pd.Series([3, 4]), pd.Series([3.0, np.nan])
    assert columns.clusters(whole)[0] == columns.clusters(floats)[0]
    assert ((found >= 0) | (found == -2)).all() and (found < columns.CLUSTERS).all()


def test_a_report_that_was_made_for_other_roles_is_refused(tmp_path):
    table = {"column": ["id", "x", "y"], "role": ["id", "", "outcome"]}
    table |= {"type": ["text", "number", "number"], "use": ["role", "feature", "role"]}
    table |= {"form": ["{}", '{"decimal": ","}', "{}"]}
    write_table(tmp_path / "c.parquet", {k: np.array(v, object) for k, v in table.items()})

    def read(roles):
        job = SimpleNamespace(
            input=SimpleNamespace(columns=tmp_path / "c.parquet"), given={"roles": roles}
        )
        return columns.recorded_columns(job)

    told = read({"id": "id", "outcome": {"column": "y", "positive": 1}})
    assert columns.features_of(told) == ["x"]
    assert columns.types_of(told) == {"id": "text", "x": "number", "y": "number"}
    assert columns.forms_of(told) == {"x": {"decimal": ","}}
    with pytest.raises(CounterweightError, match="the column 'y' is outcome, here it has none"):
        read({"id": "id"})
    with pytest.raises(CounterweightError, match="the column 'x' has no role, here it is weight"):
        read({"id": "id", "outcome": "y", "weight": "x"})


def test_a_column_of_two_roles_has_the_first():
    roles = {"id": "who", "group": "who", "balance": ["a", "b"], "time": None}
    assert columns.roles_by_column(roles) == {"who": "id", "a": "balance", "b": "balance"}


def test_numbers_of_nines_eights_and_sevens_look_like_codes():
    values = [-1, 1, 7, 9, 10, 97, 99, 96, -99, 888, 777, 999, 996, 88888, 1e7 - 1]
    found = [True, False, True, True, False, True, True, False, True, True, True, True]
    assert columns.like_codes(values).tolist() == [*found, False, True, False]


def test_a_value_is_compared_as_its_column_is_typed():
    frame = pd.DataFrame({"n": [1.0, 2.0, np.nan], "t": ["1", "01", None]}).astype({"t": "str"})
    types = {"n": "number", "t": "text"}
    assert columns.holds(frame, types, "n", "2").tolist() == [False, True, False]
    assert columns.holds(frame, types, "t", 1).tolist() == [True, False, False]


def test_a_number_is_one_action_however_a_column_has_it_and_a_code_is_no_number():
    spelled = [[8, -1], [8.0, -1.0], ["8", "-1.0"], ["8,00", "-1"], ["+8.000", "-1,0"]]
    for words in spelled:
        made = columns.actions(pd.Series([*words, None, words[0]]))
        assert made.tolist() == ["8", "-1", None, "8"]
    assert columns.actions(["2,50", "2.5", "0.1"]).tolist() == ["2.5", "2.5", "0.1"]
    assert columns.actions(np.array([0.1, 2**53, np.inf])).tolist() == ["0.1", str(2**53), "inf"]
    whole = np.array([2**53, 2**53 + 1])
    assert columns.actions(whole).tolist() == columns.actions(whole.astype(str)).tolist()
    kept = ["007", "1,000", "v2.0", "B ", "", "1.2.3"]
    assert columns.actions(np.array(kept, object)).tolist() == kept


def counted(ids, cuts=()):
    """Rows that share their id, of ids in batches and partitions."""
    whole = columns.IdCounts()
    for rows in np.split(np.arange(len(ids)), cuts):
        part = columns.IdCounts()
        part.add(ids.iloc[rows])
        whole.merge(part.state)
    return whole.shared()


def test_ids_that_stand_twice_are_counted_over_batches_and_partitions():
    ids = pd.Series(["a", "b", None, "b", "c", "a", "a", None])
    for cuts in ((), (3,), (1, 4, 7)):
        assert counted(ids, cuts) == (5.0, 0.0)
    assert counted(pd.Series([1, 2, 3])) == counted(pd.Series([None, None])) == (0.0, 0.0)
    assert columns.ids_again(0, 8, "") == ""
    assert columns.ids_again(5, 8, "u").startswith("5 of 8 rows share theirs")


def test_of_many_ids_a_sample_tells_how_many_stand_twice(monkeypatch):
    monkeypatch.setattr(columns, "MOST_IDS", 400)
    ids = pd.Series(np.r_[np.arange(8_000), np.arange(2_000)].astype(str))
    count, error = counted(ids, range(500, 10_000, 500))
    assert 0 < error < 600 and abs(count - 4_000) < 3 * error
    assert counted(ids.iloc[::-1]) == (count, error)
    assert columns.ids_again(count, 10_000, "", error > 0).startswith("about ")
