"""Numbers of a study, found by what they are: means, intervals and differences by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.estimate import paired_interval
from counterweight.reporting.numbers import Estimate, StudyNumbers, read_tables, results_table
from counterweight.tables.parquet import (
    METRICS,
    metrics_table,
    model_table,
    read_table,
    write_table,
)

SHARE = 0.25


def study(records, plan=()):
    """A study of what was measured: (source, metric, repeat, value, anything else)."""
    rows = []
    for source, metric, repeat, value, *more in records:
        entry = {"repeat": repeat, "target": "general", "metric": metric, "value": value}
        rows.append(metrics_table("s", source, [entry | dict(*more)]).to_pandas())
    methods = [{"id": name, "sweep": None} for name in "ab"]
    shown = {"test_share": SHARE, "methods": methods, "measures": {}} | dict(plan)
    return StudyNumbers("s", shown, pd.concat(rows, ignore_index=True))


def values(source, found, metric="m", **more):
    return [(source, metric, repeat, value, more) for repeat, value in enumerate(found)]


def test_an_estimate_turns_round_with_its_unit():
    one = Estimate(2.0, 0.5, 1.0, 4.0, 3, 1.5, 2.5)
    assert one.times(2) == Estimate(4.0, 1.0, 2.0, 8.0, 3, 3.0, 5.0)
    assert one.times(-1) == Estimate(-2.0, 0.5, -4.0, -1.0, 3, -2.5, -1.5)
    assert one.times(0)[:4] == (0, 0, 0, 0)


def test_an_estimate_is_beyond_chance_where_its_interval_does_not_hold_0():
    ends = {(0.1, 1.0): True, (0.0, 1.0): False, (-1.0, 0.0): False, (-1.0, -0.1): True}
    assert {pair: Estimate(low=pair[0], high=pair[1]).beyond_chance for pair in ends} == ends
    assert Estimate(mean=1.0, sd=0.1).ends == (-math.inf, math.inf)
    assert Estimate(mean=1.0, sd=0.0).ends == Estimate(mean=1.0).ends == (1.0, 1.0)
    assert Estimate(mean=1.0, sd=0.1, low=0.5, high=2.0).ends == (0.5, 2.0)
    assert not Estimate().known and Estimate(0.0).known and not Estimate(0.0).bounded


def test_means_have_the_corrected_interval_from_three_repeats_on():
    found = np.array([1.0, 2.0, 6.0])
    one = study(values("a", found)).get("a", "m")
    mean, low, high = paired_interval(found, SHARE)
    assert one == pytest.approx(Estimate(3.0, found.std(ddof=1), low, high, 3, 1.0, 6.0))
    assert mean == 3.0
    few = study(values("a", found[:2])).get("a", "m")
    assert few.n == 2 and few.mean == 1.5 and not few.bounded and few.ends == (-math.inf, math.inf)


def test_one_repeat_has_the_interval_of_its_standard_error_or_the_one_that_was_measured():
    alone = study(values("a", [1.0], standard_error=0.5)).get("a", "m")
    assert (alone.low, alone.high) == pytest.approx((1 - 1.959964 * 0.5, 1 + 1.959964 * 0.5))
    records = values("a", [1.0], standard_error=0.5)
    records += values("a", [0.2], variable="low") + values("a", [1.4], variable="high")
    told = study(records)
    assert told.get("a", "m")[2:4] == (0.2, 1.4)
    assert not study(values("a", [1.0])).get("a", "m").bounded
    # Ends that are metrics of their own, unless they are the same.
    ends = {"measures": {"m": {"label": "m", "ends": ("least", "most")}}}
    records = values("a", [1.0, 1.1, 1.2])
    for most, wanted in ((3.0, (0.5, 3.0)), (0.5, paired_interval([1.0, 1.1, 1.2], SHARE)[1:])):
        more = values("a", [0.5], "least") + values("a", [most], "most")
        assert study(records + more, ends).get("a", "m")[2:4] == pytest.approx(wanted)


def test_differences_are_paired_by_repeat():
    one, other = np.array([3.0, 5.0, 4.0, 8.0]), np.array([1.0, 1.0, 3.0, 2.0])
    numbers = study(values("a", one) + values("b", other), {"baseline": "b"})
    gap, (mean, low, high) = numbers.against("b", "a", "m"), paired_interval(one - other, SHARE)
    assert gap[:5] == pytest.approx((mean, (one - other).std(ddof=1), low, high, 4))
    first, second = numbers.values("a", "m"), numbers.values("b", "m")
    apart = numbers.difference(first.iloc[::-1], second.iloc[1:])
    assert apart.mean == pytest.approx((one - other)[1:].mean()) and apart.n == 3
    two = numbers.difference(first.iloc[:2], second.iloc[:2])
    assert two.n == 2 and two.sd > 0 and not two.bounded
    assert math.isnan(numbers.difference(first.iloc[:1], second.iloc[:1]).sd)
    # Repeats that all differ alike tell nothing of chance.
    same = study(values("a", one) + values("b", one - 1)).against("b", "a", "m")
    assert same.mean == 1 and same.sd == 0 and not same.bounded


def test_changes_are_ratios_of_means_with_the_interval_of_their_linear_form():
    one, other = np.array([3.0, 5.0, 4.0, 8.0]), np.array([1.0, 2.0, 3.0, 2.0])
    numbers = study(values("a", one) + values("b", other))
    found = numbers.change(numbers.values("a", "m"), numbers.values("b", "m"))
    ratio = one.mean() / other.mean()
    mean, low, high = paired_interval((one - ratio * other) / other.mean() + ratio - 1, SHARE)
    assert found[0] == pytest.approx(ratio - 1) == mean
    assert found[2:4] == pytest.approx((low, high))
    nothing = numbers.values("a", "none")
    assert not numbers.change(numbers.values("a", "m"), 0 * numbers.values("b", "m")).known
    assert not numbers.change(nothing, nothing).known


def test_settings_and_curves_go_by_their_numbers():
    records = []
    for place, setting in enumerate(["k=10", "k=9", "k=-1", "k=all", "j=2"]):
        records += values("a", [place, place + 1.0], setting=setting)
    numbers = study(records)
    assert numbers.settings("a", "m") == ["k=-1", "j=2", "k=9", "k=10", "k=all"]
    assert [point[:2] for point in numbers.curve("a", "m", "k")] == [(-1, 2.5), (9, 1.5), (10, 0.5)]
    assert all(low == mean == high for _, mean, low, high in numbers.curve("a", "m", "k"))
    assert numbers.places("setting", "a", "m") == ["k=10", "k=9", "k=-1", "k=all", "j=2"]
    assert numbers.places("setting", "a", "m", part="none") == []
    assert numbers.measured("m") and not numbers.measured("m", source="b")
    assert numbers.measured("m", "general", "a") and not numbers.measured("m", "unlabeled")


def test_a_table_has_each_number_once_with_its_difference_and_methods_that_failed():
    records = values("a", [1.0, 2.0, 4.0]) + values("a", [0.5], variable="low")
    records += values("a", [9.0], keep_rate=0.5) + values("a", [9.0], step=3)
    numbers = study(records, {"baseline": "b"})
    table = results_table(numbers, ["general"], {"a": "", "b": "it broke"}.get, ["m"])
    assert table["method"].tolist() == ["a", "a", "b"]
    assert table["status"].tolist() == ["ok", "ok", "failed"] and table["reason"][2] == "it broke"
    assert table["keep_rate"].tolist()[0] == 0.5 and math.isnan(table["keep_rate"][1])
    assert table["estimate"].tolist()[:2] == pytest.approx([9.0, 7 / 3])
    numbers = study(records + values("b", [0.0, 1.0, 1.0]), {"baseline": "b"})
    table = results_table(numbers, ["general"], {}.get, ["m"]).set_index(["method", "n"])
    assert table.loc[("a", 3), "diff"] == pytest.approx(5 / 3)
    assert math.isnan(table.loc[("b", 3), "diff"])


def test_roles_and_what_is_delivered():
    methods = [
        {"id": "x", "role": "bound", "sweep": None},
        {"id": "y", "role": "peer", "sweep": None},
        {"id": "z", "sweep": {"k": [1]}, "oracle": True},
    ]
    plan = {"methods": methods, "baseline": "nobody"}
    numbers = study(values("y", [1.0]), plan)
    assert numbers.main == "z" and numbers.baseline is None
    assert [numbers.sees_hidden(name) for name in "xyz"] == [True, False, True]
    assert [one["id"] for one in numbers.methods(swept=True)] == ["z"]
    assert [one["id"] for one in numbers.methods(swept=False)] == ["x", "y"]
    given = values("delivered", [1.0], "delivered", part="y", setting="k=1")
    assert study(given, plan).delivered == ("y", "k=1") and study(given, plan).main == "y"
    assert study(values("y", [1.0]), plan | {"main": "x"}).main == "x"


def test_a_fitted_model_is_found_by_its_method_repeat_and_target(tmp_path):
    (tmp_path / "models").mkdir()
    fits = [model_table({"beta": np.array([1.0, n])}, n, "general").to_pandas() for n in range(2)]
    frame = pd.concat(fits, ignore_index=True)
    write_table(tmp_path / "models" / "a.parquet", frame)
    numbers = study([("a", "m", 0, 1.0)])
    numbers.folder = tmp_path
    assert numbers.model("a", 1)["beta"].tolist() == [1.0, 1.0]
    assert numbers.model("a")["beta"].tolist() == [1.0, 0.0]
    with pytest.raises(CounterweightError, match="no model of repeat 2 for the target 'general'"):
        numbers.model("a", 2)


def test_tables_are_read_as_one_as_if_they_were_put_together_later(tmp_path):
    records = [
        [{"metric": "m", "value": 1.0, "step": 3}, {"metric": "other", "value": math.nan}],
        [],
        [{"metric": "m", "value": 2.0, "part": "é", "keep_rate": 0.1}],
    ]
    paths = [tmp_path / f"{place}.parquet" for place in range(len(records))]
    for path, found in zip(paths, records, strict=True):
        write_table(path, metrics_table("s", path.stem, found), METRICS)
    whole = pd.concat([read_table(path) for path in paths if records[int(path.stem)]])
    pd.testing.assert_frame_equal(read_tables(paths), whole.reset_index(drop=True))


def test_what_is_done_to_rows_stays_with_who_asked_for_them():
    numbers = study([*values("a", [1.0, 2.0]), *values("b", [3.0])])
    rows = numbers.rows("a", "m")
    rows["value"], rows["more"] = 0.0, 1
    again = numbers.rows("a", "m")
    assert [*again["value"]] == [1.0, 2.0] and "more" not in again
    assert [*numbers.rows("a", "m", "general")["value"]] == [1.0, 2.0]
    assert numbers.rows("a", "m", "unlabeled").empty and numbers.rows("c", "m").empty
