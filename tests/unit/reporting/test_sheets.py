"""Numbers of a study by their address, and the one builder of tables."""

import numpy as np
import pytest
from counterweight.numerics.estimate import normal_interval, paired_interval
from counterweight.reporting.numbers import Estimate, StudyNumbers
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Points,
    Sheet,
    build,
    declared_sheet,
    each_method,
    each_setting,
    nearest,
    told,
)
from counterweight.reporting.study_page import everything, small_chart
from counterweight.reporting.wording import Measure
from counterweight.tables.parquet import metrics_table

DRAWN = np.random.default_rng(7).normal(0.7, 0.02, 10)
GAIN = np.random.default_rng(8).normal(0.05, 0.005, 10)


def method(name, **changes):
    plain = {"id": name, "label": name.upper(), "role": "method", "sweep": None, "model": "any"}
    return plain | {"weights": None, "options": {}} | changes


@pytest.fixture
def plan():
    return {
        "test_share": 0.4,
        "targets": ["general"],
        "baseline": "plain",
        "selectors": [],
        "weightings": [],
        "methods": [
            method("plain", role="baseline"),
            method("better"),
            method("seer", role="bound"),
            method("absent"),
            method("swept", sweep={"alpha": [0.1, 0.02]}),
        ],
        "measures": {
            "hits": {"label": "hit rate", "unit": "share", "better": "more", "percent": True},
            "misses": {"label": "misses", "unit": "rows", "better": "less"},
        },
    }


def records():
    for name, values in (("plain", DRAWN), ("better", DRAWN + GAIN), ("seer", DRAWN + 0.2)):
        for repeat, value in enumerate(values):
            place = {"repeat": repeat, "target": "general", "source": name}
            yield place | {"metric": "hits", "value": value}
            yield place | {"metric": "misses", "value": 1000 - 1000 * value}
    for repeat, value in enumerate(DRAWN):
        for setting in ("alpha=0.1", "alpha=0.02"):
            yield {
                "repeat": repeat,
                "target": "general",
                "source": "swept",
                "setting": setting,
                "metric": "hits",
                "value": value - float(setting[6:]),
            }
    yield {
        "repeat": 0,
        "target": "general",
        "source": "plain",
        "metric": "once",
        "value": 0.4,
        "standard_error": 0.1,
    }
    place = {"repeat": 0, "target": "general", "source": "plain", "metric": "skew"}
    yield place | {"value": 4.0, "standard_error": 3.0}
    yield place | {"variable": "low", "value": 1.0}
    yield place | {"variable": "high", "value": 16.0}


@pytest.fixture
def numbers(plan):
    return StudyNumbers("s", plan, metrics_table("s", "", records()).to_pandas())


def test_an_estimate_is_the_corrected_interval_of_its_repeats(numbers):
    known = numbers.get("plain", "hits")
    assert (known.mean, known.low, known.high) == pytest.approx(
        paired_interval(DRAWN, 0.4, bounds=(0, 1))
    )
    assert (known.n, known.least) == (10, DRAWN.min())
    assert not numbers.get("plain", "hits", "train").known
    assert not numbers.get("nobody", "hits").known


def test_one_repeat_has_the_interval_of_its_standard_error(numbers):
    known = numbers.get("plain", "once")
    assert (known.low, known.high) == pytest.approx(normal_interval(0.4, 0.1))


def test_an_interval_that_was_measured_itself_is_told_as_it_is(numbers):
    known = numbers.get("plain", "skew")
    assert (known.mean, known.low, known.high) == (4.0, 1.0, 16.0)


def test_metrics_that_are_ends_of_an_interval_are_told_with_the_value(plan):
    place = {"repeat": 0, "target": "general", "source": "plain"}
    ends = [place | {"metric": f"worth{end}", "value": v} for end, v in (("_a", 1.0), ("_b", 9.0))]
    rows = [place | {"metric": "worth", "value": 4.0, "standard_error": 0.1}, *ends]
    plan["measures"]["worth"] = {"label": "worth", "ends": ["worth_a", "worth_b"]}
    known = StudyNumbers("s", plan, metrics_table("s", "", rows).to_pandas())
    assert known.get("plain", "worth")[:4] == pytest.approx((4.0, np.nan, 1.0, 9.0), nan_ok=True)
    alone = StudyNumbers("s", plan, metrics_table("s", "", rows[:2]).to_pandas())
    assert alone.get("plain", "worth").low == pytest.approx(normal_interval(4.0, 0.1)[0])


def test_two_repeats_tell_no_interval_and_are_judged_as_open(plan):
    place = {"target": "general", "source": "plain", "metric": "hits"}
    rows = [place | {"repeat": repeat, "value": value} for repeat, value in enumerate((0.3, 0.4))]
    known = StudyNumbers("s", plan, metrics_table("s", "", rows).to_pandas()).get("plain", "hits")
    assert known.mean == pytest.approx(0.35) and known.n == 2 and not known.bounded
    assert Bound(0.2, "").judge(known) == Bound(0.5, "").judge(known) == "open"
    for repeats, said in ((2, "; two repeats tell none."), (3, ".")):
        numbers = StudyNumbers(
            "s", plan | {"repeats": repeats}, metrics_table("s", "", rows).to_pandas()
        )
        table = build(Sheet("", each_method, (Column("hits"),)), numbers)
        assert table.note.startswith(f"Brackets: 95 % intervals{said}")


def test_differences_are_paired(numbers):
    gap = numbers.against("plain", "better", "hits")
    assert (gap.mean, gap.low, gap.high) == pytest.approx(
        paired_interval(GAIN, 0.4, bounds=(-1, 1))
    )


def test_settings_are_in_the_order_of_their_numbers(numbers):
    assert numbers.settings("swept") == ["alpha=0.02", "alpha=0.1"]
    points = numbers.curve("swept", "hits", "alpha")
    assert [point[0] for point in points] == [0.02, 0.1]
    assert points[1][1] == pytest.approx(DRAWN.mean() - 0.1)


def test_roles_come_from_the_plan(numbers):
    assert numbers.baseline == "plain"
    assert numbers.main == "better", "the first method that is no baseline and no bound"
    numbers.plan["main"] = "swept"
    assert numbers.main == "swept"


@pytest.mark.parametrize(
    ("low", "high", "judged"), [(0.0, 0.1, "pass"), (0.1, 0.3, "open"), (0.21, 0.3, "fail")]
)
def test_a_bound_judges_the_interval(low, high, judged):
    estimate = Estimate(mean=(low + high) / 2, low=low, high=high, n=10)
    assert Bound(0.2, "").judge(estimate) == judged
    flipped = Estimate(mean=-estimate.mean, low=-high, high=-low, n=10)
    assert Bound(-0.2, "", least=True).judge(flipped) == judged
    assert Bound(0.2, "", absolute=True).judge(flipped) == judged


def test_an_absolute_bound_takes_an_interval_around_0_by_its_far_end():
    assert Bound(0.2, "", absolute=True).judge(Estimate(mean=0, low=-0.1, high=0.1)) == "pass"
    assert Bound(0.2, "", absolute=True).judge(Estimate(mean=0, low=-0.3, high=0.1)) == "open"


SHEET = Sheet(
    "All",
    each_method,
    (
        Column("hits"),
        Column("hits", show="difference"),
        Column("unheard"),
        Column("misses", show="sd"),
    ),
)


def test_a_sheet_leaves_out_what_was_not_measured_and_marks_roles(numbers):
    table = build(SHEET, numbers, {"absent": "it broke"})
    assert [head.text for head in table.head] == [
        "Method",
        "Hit rate",
        "Difference, points",
        "Misses, rows",
    ]
    marks = {row.label: row.mark for row in table.rows}
    assert marks == {"PLAIN": "baseline", "BETTER": "main", "SEER": "oracle", "ABSENT": "failed"}
    assert [row.label for row in table.rows if row.best] == ["BETTER"], "no bound is the best"
    assert table.rows[-1].reason == "it broke"
    assert "†" in table.note


def test_cells_are_told_as_the_measure_declares(numbers):
    plain, better, *_ = build(SHEET, numbers).rows
    assert plain.cells[0].text == f"{100 * DRAWN.mean():.1f} %"
    assert better.cells[1].text == f"+{100 * GAIN.mean():.1f}"
    assert better.cells[1].tone == "up"
    assert plain.cells[1].text == "–", "the baseline has no difference from itself"
    assert plain.cells[2].text == f"{1000 - 1000 * DRAWN.mean():.0f}"


def test_less_of_a_loss_is_better(numbers):
    sheet = Sheet("", each_method, (Column("misses", show="difference"),))
    rows = {row.label: row.cells[0] for row in build(sheet, numbers).rows}
    assert rows["BETTER"].text.startswith("\N{MINUS SIGN}")
    assert rows["BETTER"].tone == "up", "fewer misses are better"


def test_settings_stand_under_their_method(numbers):
    rows = build(Sheet("", each_setting, (Column("hits"),)), numbers).rows
    swept = [row for row in rows if row.label.startswith("α")]
    assert [(row.group, row.label) for row in swept] == [("SWEPT", "α = 0.02"), ("", "α = 0.1")]


def test_a_sheet_without_numbers_is_none(numbers):
    assert build(Sheet("", each_method, (Column("unheard"),)), numbers) is None


def test_a_new_measure_stands_in_the_table_of_all_by_its_declaration_alone(numbers):
    numbers.plan["measures"]["once"] = {"label": "a toy"}
    table = build(everything(numbers, {"hits", "misses"}), numbers)
    assert [head.text for head in table.head] == ["Method", "A toy, everyone"]


def test_a_share_is_told_in_points_and_a_ratio_as_it_is():
    one = Estimate(mean=1.2, low=1.1, high=1.3)
    assert told(one, Measure("ratio")) == ("1.20", "[1.10, 1.30]")
    assert told(one, Measure("rate", "share", percent=True)) == ("120.0 %", "[110.0, 130.0]")
    assert told(one, Measure("rate", "share"), sign=True)[0] == "+120.0"


def test_points_say_of_what_they_are_in_the_unit_in_which_it_is_told():
    one = Estimate(mean=0.2, low=0.1, high=0.3)
    points = Points.of([("a", one, "")], Measure("rate", "share", percent=True))
    assert points.axis == "rate, %" and points[0][1].high == pytest.approx(30.0)
    assert Points.of([("a", one, "")], Measure("AUC")).axis == "AUC"
    assert Points.of([("a", one, "")], Measure("income", "€")).axis == "income, €"


def test_small_charts_are_drawn_from_the_estimates_and_escaped(numbers):
    points = [
        ("a<b", numbers.get("plain", "hits"), ""),
        ("c", numbers.get("better", "hits"), "main"),
    ]
    chart = small_chart(points)
    assert "a&lt;b" in chart
    assert chart.count("<circle") == 2
    assert small_chart(points[:1]) == "", "one value is no picture"


def test_a_declared_section_marks_the_best_of_methods_unless_it_says_otherwise():
    said = {"columns": ["hits", {"metric": "rate", "at_most": 0.2}]}
    made = declared_sheet("Hits", said)
    assert made.best and made.first == "Method" and not made.fold
    assert [one.metric for one in made.columns] == ["hits", "rate"]
    assert (made.columns[1].bound.says, made.columns[1].bound.least) == (
        "Pass where at most 0.2.",
        False,
    )
    parts = declared_sheet("Hits", said | {"lines": "part"})
    assert not parts.best and parts.first == "Part"
    assert not declared_sheet("Hits", said | {"best": False}).best
    assert declared_sheet("Hits", said | {"lines": "settings", "best": True}).best


def test_of_two_settings_as_near_the_larger_is_shown():
    pairs = [(1.0, "a"), (3.0, "b"), (4.0, "c")]
    assert [nearest(pairs, value) for value in (-5, 1.9, 2, 3.4, 3.5, 9)] == [*"aabbcc"]
