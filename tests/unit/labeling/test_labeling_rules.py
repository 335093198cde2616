"""Who is labeled, by columns of the table."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.labeling_rules import (
    answered,
    coastal,
    earlier,
    known_propensity,
    married,
)
from counterweight.labeling.outcome_rules import above_median
from counterweight.plan.components import declared, load, options


def places(n=400, seed=0):
    rng = np.random.default_rng(seed)
    latitude = rng.uniform(33, 42, n)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32"),
            "longitude": -124 + (42 - latitude) * 0.5 + rng.exponential(1, n),
            "latitude": latitude,
        }
    )


def test_coastal_takes_the_west_of_each_stratum_in_the_north_only():
    frame = places()
    selected = coastal(frame, None, None, strata=4, strata_among="all", degrees=0.4)
    order = np.argsort(frame["latitude"].to_numpy())
    for part in np.array_split(order, 4):
        west = frame["longitude"].to_numpy()[part].min()
        near = frame["longitude"].to_numpy()[part] <= west + 0.4
        north = frame["latitude"].to_numpy()[part] > 36
        assert (selected[part] == (near & north)).all()


def test_coastal_strata_among_the_north_ignore_the_south():
    frame = places()
    whole = coastal(frame, None, None, strata=5, strata_among="north")
    north = frame[frame["latitude"] > 36].reset_index(drop=True)
    alone = coastal(north, None, None, strata=5, strata_among="all")
    assert (whole[(frame["latitude"] > 36).to_numpy()] == alone).all()


def test_married_counts_absent_spouses_only_when_asked():
    frame = pd.DataFrame(
        {
            "marital-status": [
                "Married-civ-spouse",
                "Married-AF-spouse",
                "Married-spouse-absent",
                "Divorced",
            ]
        }
    )
    assert married(frame, None, None).tolist() == [True, True, False, False]
    assert married(frame, None, None, spouse_absent=True).tolist() == [True, True, True, False]


def test_the_older_rows_are_labeled():
    frame = pd.DataFrame({"row": np.arange(10), "t": [5, 1, 4, 4, 2, 9, 0, 7, 8, 3]})
    np.testing.assert_array_equal(earlier(frame, None, None, share=0.35), np.arange(10) < 3)
    by_time = earlier(frame, None, None, share=0.5, column="t")
    np.testing.assert_array_equal(np.flatnonzero(by_time), [1, 2, 4, 6, 9])


def test_of_rows_of_one_time_the_first_of_the_file_are_older():
    frame = pd.DataFrame({"row": np.arange(6), "t": [1, 1, 1, 1, 0, 1]})
    np.testing.assert_array_equal(
        np.flatnonzero(earlier(frame, None, None, share=0.5, column="t")), [0, 1, 4]
    )


def test_every_row_is_labeled_and_the_rule_says_that_it_is_complete():
    rule = load("labeling", "everyone")
    for rows in (0, 1, 7):
        selected = rule(pd.DataFrame({"row": range(rows)}), None, np.random.default_rng(0))
        assert selected.dtype == bool
        assert selected.tolist() == [True] * rows
    assert declared("labeling", "everyone", "COMPLETE", False) is True
    assert options("labeling", "everyone") == {}


def test_no_random_number_is_drawn():
    rng = np.random.default_rng(0)
    load("labeling", "everyone")(pd.DataFrame({"row": range(3)}), None, rng)
    assert rng.random() == np.random.default_rng(0).random()


def test_rows_in_another_order_are_labeled_the_same():
    frame = places()
    shuffled = frame.sample(frac=1, random_state=2)
    expected = pd.Series(coastal(frame, None, None, strata=7), index=frame["row"])
    found = pd.Series(coastal(shuffled, None, None, strata=7), index=shuffled["row"])
    assert found.sort_index().equals(expected)


def test_missing_places_thresholds_and_probabilities_are_told():
    frame = places()
    frame.loc[7, "longitude"] = np.nan
    with pytest.raises(CounterweightError, match="longitude in every row.*first: row 7"):
        coastal(frame, None, None)
    values = pd.DataFrame({"v": [1.0, np.nan]})
    with pytest.raises(CounterweightError, match="column v in every row"):
        above_median(values, np.ones(2, bool), column="v")
    with pytest.raises(CounterweightError, match="runs from 0.5 to 1.7"):
        truth = pd.DataFrame({"p_selected": [0.5, 1.7]})
        known_propensity(truth, truth, np.random.default_rng(0))


def test_the_coast_is_within_its_distance_and_north_of_the_least_latitude():
    """Equal to the bound is labeled in the west, and is not in the north."""
    frame = pd.DataFrame({"longitude": [0.0, 0.5, 0.75, 0.0], "latitude": [38.0, 38.0, 38.0, 36.0]})
    found = coastal(frame, None, None, strata=1, degrees=0.5)
    np.testing.assert_array_equal(found, [True, True, False, False])
    # Two strata of the north alone: each has a coast of its own.
    frame = pd.DataFrame({"longitude": [0.0, 5.0, 1.0], "latitude": [35.0, 40.0, 41.0]})
    found = coastal(frame, None, None, strata=2, strata_among="north", degrees=0.5)
    np.testing.assert_array_equal(found, [False, True, True])


def test_old_decisions_are_kept_beside_the_labels():
    frame = pd.DataFrame({"y": [1.0, 0.0, np.nan, 1.0], "d": ["yes", "no", "yes", None]})
    told = {"features": None, "outcome": frame["y"], "column": "y"}
    found = answered(frame, None, None, **told, decision="d", decided="yes")
    np.testing.assert_array_equal(found["selected"], [True, True, False, True])
    np.testing.assert_array_equal(found["deployed"], [1, -1, 1, np.nan])
    assert list(answered(frame, None, None, **told)) == ["selected"]
    where = {"column": "y", "at_least": 1}
    found = answered(frame, None, None, **told, where=where)
    np.testing.assert_array_equal(found["selected"], [True, False, False, True])
    for decided, often in (("perhaps", "never"), (["yes", "no"], "always")):
        with pytest.raises(CounterweightError, match=f"are {often}"):
            answered(frame, None, None, **told, decision="d", decided=decided)
