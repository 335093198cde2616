"""Quantities of claims: places, budgets, draws and ratios by hand."""

import numpy as np
import pandas as pd
import pytest
from counterweight.reporting.claim_quantities import (
    DRAWS,
    Measurements,
    Missing,
    _within,
    differences,
    log_ratio,
    option_values,
    places_of,
    ratios_told,
    unknown,
    values_of,
)
from counterweight.tables.parquet import metrics_table

PLAN = {"studies": {"s": {"methods": [{"id": "a"}, {"id": "b"}], "draws": {"a": ["a", "b"]}}}}
SIDE = {"study": "s", "source": "a", "metric": "m", "target": "t"}


def frame(values, places=("k=1", "k=2")):
    heads = pd.MultiIndex.from_tuples([(one,) for one in places], names=["setting"])
    return pd.DataFrame(values, pd.Index(range(len(values)), name="repeat"), heads)


@pytest.fixture(scope="module")
def measured():
    records = [
        {"target": "t", "metric": metric, "setting": setting, "repeat": repeat, "value": value}
        | {"standard_error": 0.5 + repeat, "step": step}
        for metric, values in {"m": [[1.0, 4.0], [3.0, 8.0]], "n": [[0.1, 0.2], [0.4, 0.2]]}.items()
        for repeat, row in enumerate(values)
        for setting, value in zip(("k=1", "k=2"), row, strict=True)
        for step in (None,)
    ]
    records.append(records[0] | {"setting": "", "value": 9.0})
    tables = [metrics_table("s", source, records).to_pandas() for source in "ab"]
    tables[1]["value"] *= 10
    return Measurements(pd.concat(tables, ignore_index=True))


def test_a_side_names_a_place_or_takes_all(measured):
    one = places_of(measured, SIDE | {"setting": "k=2"}, PLAN, ())
    assert one.to_numpy().ravel().tolist() == [4.0, 8.0]
    assert places_of(measured, SIDE, PLAN, ()).to_numpy().tolist() == [[9.0]]
    every = places_of(measured, SIDE | {"setting": "k=*"}, PLAN, (), every=True)
    assert every.to_numpy().tolist() == [[1.0, 4.0], [3.0, 8.0]]
    away = places_of(measured, SIDE | {"setting": "k=*", "distance_to": 3.5}, PLAN, (), every=True)
    assert away.to_numpy().tolist() == [[2.5, 0.5], [0.5, 4.5]]
    assert measured.repeats_of(SIDE) == 1 and measured.repeats_of(SIDE | {"setting": "k=1"}) == 2
    assert measured.repeats_of(SIDE | {"metric": "none"}) == 0
    assert measured.row_variance(SIDE | {"setting": "k=1"}) == (0.5**2 + 1.5**2) / 2
    assert np.isnan(measured.row_variance(SIDE | {"metric": "none"}))
    with pytest.raises(Missing, match="has no .*it was not measured in this run"):
        places_of(measured, SIDE | {"metric": "none"}, PLAN, ())


def test_draws_are_taken_together(measured):
    side = SIDE | {"setting": "k=1"}
    mean = places_of(measured, side | {"draws": "mean"}, PLAN, ())
    assert mean.to_numpy().ravel().tolist() == [5.5, 16.5]
    spread = places_of(measured, side | {"draws": "spread"}, PLAN, ())
    assert spread.to_numpy().ravel().tolist() == [9.0, 27.0]
    with pytest.raises(Missing, match="no repeat in common"):
        DRAWS["mean"]([frame([[1, 2]]), frame([[1, 2]]).rename({0: 7})])
    assert "one draw only" in unknown(SIDE | {"source": "b", "draws": "spread"}, PLAN)
    assert unknown(SIDE | {"draws": "spread"}, PLAN) is None
    assert "nearest is 'a'" in unknown(SIDE | {"source": "aa"}, PLAN)
    assert unknown({"study": "x"}, PLAN).startswith("the study 'x' is not part")


def test_budgets_are_kept_up_to_their_limit(measured):
    values, costs = frame([[5.0, 3.0], [6.0, 7.0]]), frame([[0.2, 0.3], [0.2, 0.3]])
    kept = _within(values, costs, [0.1, 0.2, 0.3])
    assert list(kept) == ["0.2", "0.3"]
    assert kept.to_numpy().tolist() == [[5.0, 3.0], [6.0, 6.0]]
    assert _within(values, costs, 0.19) is None
    side = SIDE | {"setting": "k=*", "within": {"metric": "n", "at_most": 0.2}}
    found = places_of(measured, side, PLAN, ())
    assert found.to_numpy().ravel().tolist() == [1.0, 8.0]
    with pytest.raises(Missing, match="within the limits"):
        places_of(measured, side | {"within": {"metric": "n", "at_most": 0.05}}, PLAN, ())


def test_one_number_of_each_repeat_or_of_their_mean():
    values = frame([[1.0, 3.0], [2.0, 8.0]])
    assert values_of(values, {}, False).tolist() == [2.0, 5.0]
    assert values_of(values, {"aggregate": "max"}, False).tolist() == [3.0, 8.0]
    assert values_of(values, {"aggregate": "max"}, True).tolist() == [5.5]
    assert values_of(values, {"distance_to": 3.0}, False).tolist() == [1.0, 2.0]


def test_sides_are_compared_where_both_are_known():
    left, right = frame([[4.0, 6.0], [8.0, 9.0]]), frame([[1.0, 2.0]])
    assert differences(left, right, "mean", False, False).tolist() == [3.5]
    assert differences(left, right, "max", False, False).tolist() == [4.0]
    ratio = differences(left, right, "mean", True, False)
    assert ratio.tolist() == pytest.approx([(np.log(4) + np.log(3)) / 2])
    assert differences(left, 1.0, "mean", False, True).tolist() == [5.75]
    for other in (frame([[1.0]], ["k=9"]), right.rename({0: 5})):
        with pytest.raises(Missing, match="in common"):
            differences(left, other, "mean", False, False)
    for pair in ((0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)):
        with pytest.raises(Missing, match="no ratio"):
            log_ratio(*pair)
    assert log_ratio(6.0, 2.0) == pytest.approx(np.log(3))
    assert ratios_told(np.log(3), 0.0) == pytest.approx((2.0, 0.0))


def test_options_stand_in_the_shape_of_the_other_side():
    assert option_values(frame([[1.0, 3.0]]), "k").to_numpy().tolist() == [[1.0, 2.0]]
    with pytest.raises(Missing, match="not every setting says 'j'"):
        option_values(frame([[1.0, 3.0]]), "j")


def test_redrawn_repeats_are_common_to_all_sides(measured):
    left, right = frame([[1.0], [2.0], [3.0]], ["k=1"]), frame([[10.0], [20.0], [30.0]], ["k=1"])
    drawn = [one.drawn(left, right, 5.0) for one in measured.redrawn(8)]
    for one, other, number in drawn:
        assert (10 * one.to_numpy() == other.to_numpy()).all() and number == 5.0
        assert len(one) == 3 and set(one.to_numpy().ravel()) <= {1, 2, 3}
    assert len({tuple(one.to_numpy().ravel()) for one, *_ in drawn}) > 1
    assert measured.drawn(left)[0] is left
    one, other = next(measured.redrawn(1)).drawn(left, right.iloc[1:])
    assert len(one) == 2 and (10 * one.to_numpy() == other.to_numpy()).all()
