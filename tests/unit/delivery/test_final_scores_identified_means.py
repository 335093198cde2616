"""Where nobody has an outcome, bounds stand in place of an interval."""

import numpy as np
import pytest
from counterweight.tables.parquet import read_table
from counterweight.weighting.no_outcomes import Ends, identified_records
from delivering import delivered, people

pytestmark = pytest.mark.usefixtures("few_trees")


def told(records):
    return {
        (one["metric"], one.get("part", ""), one.get("variable", "")): one["value"]
        for one in records
    }


def test_bounds_by_hand():
    """Of ten rows five are known, three of them 1; of the five others two are unlike anybody."""
    expected = np.array([0.5, 0.5, 0.2, 0.4, 0.6])
    on = np.array([False, False, True, True, True])
    twice = expected / 2, expected * 1.5
    ends = Ends(expected, on, np.ones(5), (0.0, 1.0), twice, None)
    records, worst = identified_records(
        ends, 0.3, 0.5, lambda _: (0.4, 0.05, 0.3, 0.5), "target_rate"
    )
    found = told(records)
    assert found["supported_share", "", ""] == pytest.approx(0.8)
    assert found["target_rate", "supported", ""] == pytest.approx((0.3 + 0.3 * 0.4) / 0.8)
    assert worst == pytest.approx((0.3 + 0.3 * 0.3, 0.3 + 0.3 * 0.5 + 0.2))
    assert found["target_bounds", "worst", "high"] == pytest.approx(worst[1])
    assert found["target_bounds", "gamma=2", "low"] == pytest.approx(0.39 + 0.2 * 0.25)
    assert found["unsupported_headline", "", ""] == 1
    assert not any(part == "slope" for _, part, _ in found)


def test_all_of_them_supported_leaves_the_interval():
    ends = Ends(np.full(4, 0.5), np.ones(4, bool), np.ones(4), (0.0, 1.0), None, None)
    records, worst = identified_records(ends, 0.2, 0.5, None, "target_rate")
    assert told(records) == {("supported_share", "", ""): 1.0} and worst is None


@pytest.mark.parametrize("rows", [3, 13, 119])
def test_where_nobody_rests_on_data_nothing_is_told_of_them(rows):
    """Shares of the rows need not sum to 1 in the last digit."""
    ends = Ends(np.full(rows, 0.5), np.zeros(rows, bool), np.full(rows, 0.1), (0, 9), None, None)
    records, worst = identified_records(ends, 0.0, 1.0, None, "target_mean")
    found = told(records)
    assert ("target_mean", "supported", "") not in found and worst == (0, 9)


def test_few_rows_unlike_anybody_leave_it_too_and_are_told():
    on = np.arange(100) > 3
    ends = Ends(np.full(100, 0.5), on, np.ones(100), (0.0, 1.0), None, None)
    records, worst = identified_records(
        ends, 0.0, 1.0, lambda _: (0.5, 0.05, 0.4, 0.6), "target_rate"
    )
    assert worst is None and told(records)["unsupported_headline", "", ""] == 0
    assert told(records)["supported_share", "", ""] == pytest.approx(0.96)


@pytest.fixture(scope="module", params=[False, True], ids=["class", "number"])
def cut(request, tmp_path_factory):
    frame = people(900, 6, number=request.param)
    frame.loc[frame["age"] > 46, "y"] = np.nan
    own, files = delivered(tmp_path_factory.mktemp("cut"), frame)
    return frame, own, read_table(files["scores"]), read_table(files["metrics"])


def test_rows_beyond_a_cut_are_told_and_have_no_interval_but_any_outcome(cut):
    frame, _, scores, _ = cut
    beyond = (frame["age"] > 46).to_numpy()
    assert (~scores["supported"])[beyond].mean() > 0.9
    assert scores["reason"][beyond].str.contains("age above 4").mean() > 0.9
    known = frame["y"].dropna()
    low, high = (0, 1) if known.isin([0, 1]).all() else (known.min(), known.max())
    assert (scores["low"][~scores["supported"]] <= low).all()
    assert (scores["high"][~scores["supported"]] >= high).all()
    near = frame["y"].isna().to_numpy() & ~beyond
    # Beside a cut some rows have few neighbours left.
    assert scores["supported"][near].mean() > 0.92


def test_the_headline_of_a_cut_has_bounds_and_no_interval(cut):
    _, _, scores, metrics = cut
    told = metrics.fillna({"part": "", "variable": ""}).set_index(["metric", "part", "variable"])
    value = told["value"]
    metric = "target_rate" if ("target_rate", "", "") in value.index else "target_mean"
    assert value["unsupported_headline", "", ""] == 1
    for end in ("low", "high"):
        assert value[metric, "", end] == value["target_bounds", "worst", end]
    assert value[metric, "", ""] == pytest.approx(scores["estimate"].mean())
    unlike = (~scores["supported"]).mean()
    assert value["supported_share", "", ""] == pytest.approx(1 - unlike)
    slope = [value["target_bounds", "slope", end] for end in ("low", "high")]
    worst = [value["target_bounds", "worst", end] for end in ("low", "high")]
    assert worst[0] < slope[0] < slope[1] < worst[1]


def test_new_rows_beyond_the_cut_are_told_alike(cut):
    from counterweight import load

    frame, own, scores, _ = cut
    again = load(own.at.folder).scores(frame)
    blank = frame["y"].isna().to_numpy()
    assert (again["supported"] == scores["supported"])[blank].mean() > 0.97
