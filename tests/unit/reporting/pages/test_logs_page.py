"""Pages of logged actions, by hand-made numbers whose answers are known."""

import pytest
import report_example as example
import report_subsampled as subsampled
from counterweight.reporting.numbers import TABLE, Estimate
from counterweight.reporting.pages import logs_page
from counterweight.reporting.sheets import Holds, Line, build
from counterweight.tables.parquet import write_table
from report_subsampled import at, numbers_of, rows_of

T_THREE = 4.302652729911275  # 97.5 % quantile of t with 2 degrees of freedom


def log_records(rated=True):
    """IPS at two rates in three resamplings; the truth is 0.5 with a standard error of 0.01."""
    records = at("truth", [0.5], standard_error=0.01, rows=900)
    for rate, values, covered in (
        (1.0, (0.5, 0.52, 0.54), (1, 1, 1)),
        (0.1, (0.4, 0.6, 0.8), (1, 0, 1)),
    ):
        place = {"measure": "ips", "keep_rate": rate}
        if rate == 1:
            # The whole log may be told without a rate.
            for name, value in zip(
                ("whole_value", "whole_low", "whole_high"), (0.61, 0.55, 0.7), strict=True
            ):
                records += at(name, [value], measure="ips", rows=1000)
            records += at("effective_rows", [800.0], measure="ips")
            records += at("largest_weight", [20.0], measure="ips")
        records += at("value", values, rows=1000 * rate, standard_error=0.04, **place)
        records += at("values_missing", [2.0 * (rate == 0.1)], **place)
        records += at("error", [value - 0.5 for value in values], **place)
        records += at("covered", map(float, covered), **place)
        records += at("subsampling_error", [0.5 * (rate == 0.1)] * 3, **place)
    return records


@pytest.fixture
def log_plan():
    return subsampled.log_study("A log", ["policy"], "column_policy")


@pytest.fixture
def logged(log_plan):
    reward = at("reward_mean", [0.4], part="log", standard_error=0.01, rows=1000)
    return numbers_of(log_plan, policy=log_records(), labels=reward)


def test_a_value_table_holds_what_was_measured(logged, tmp_path):
    table = logs_page.table(logged, "general", lambda _: "")
    assert example.holds(table)
    assert set(table["measure"]) == {"ips", ""}
    found = {(row.metric, row.keep_rate): row for row in table.itertuples()}
    (whole,) = (row for row in table.itertuples() if row.metric == "whole_value")
    assert (whole.estimate, whole.low, whole.high) == (0.61, 0.55, 0.7)
    (truth,) = (row for row in table.itertuples() if row.metric == "truth")
    assert truth.estimate == 0.5
    assert truth.high - truth.low == pytest.approx(2 * 1.959964 * 0.01)
    value, error = found["value", 1.0], found["error", 1.0]
    assert found["value", 0.1].estimate == pytest.approx(0.6)
    assert value.sd == pytest.approx(0.02) and error.estimate == pytest.approx(0.02)
    assert error.high - error.estimate == pytest.approx(T_THREE * 0.02 / 3**0.5)
    assert found["subsampling_error", 0.1].estimate == 0.5
    assert found["covered", 1.0].estimate == 1.0 and error.n == 3
    covered = found["covered", 0.1]
    assert covered.estimate == pytest.approx(2 / 3) and 0 < covered.low < covered.high < 1
    assert found["values_missing", 0.1].estimate == 2
    write_table(tmp_path / "t.parquet", table, TABLE)


def test_a_typical_resampling_is_told_with_its_own_error(logged):
    known = logs_page.of("typical", rate=0.1)(logged, Line("policy", ""))
    assert known.mean == pytest.approx(0.6)
    assert known.high - known.mean == pytest.approx(1.959964 * 0.04)
    assert logs_page.of("rows", rate=0.1)(logged, Line("policy", "")).mean == 100


def test_errors_are_told_relative_to_the_truth(logged):
    policy = Line("policy", "")
    assert logs_page.of("bias", rate=0.1)(logged, policy).mean == pytest.approx(0.1)
    assert logs_page.of("bias", True, 0.1)(logged, policy).mean == pytest.approx(0.1 / 0.5)


def test_a_failed_policy_keeps_a_row_in_the_table_and_on_the_page(log_plan):
    log_plan["methods"].append(example.method("broken", label="Broken", model="column_policy"))
    numbers = numbers_of(log_plan, policy=log_records())
    table = logs_page.table(numbers, "general", {"broken": "no rows"}.get)
    assert table["status"].drop_duplicates().tolist() == ["ok", "failed"]
    assert table["reason"].tolist()[-1] == "no rows"
    row = build(logs_page.VALUES, numbers, {"broken": "no rows"}).rows[-1]
    assert (row.label, row.mark, row.reason) == ("Broken", "failed", "no rows")


def test_an_interval_of_all_that_is_possible_is_no_agreement(log_plan):
    records = [
        one | ({"value": float(one["metric"] == "whole_high")} if "whole_" in one["metric"] else {})
        for one in log_records()
    ]
    answer = logs_page.answer(numbers_of(log_plan, policy=records))
    assert "this log does not tell it" in answer.sentence and "agree" not in answer.sentence


def test_the_answer_says_what_a_policy_is_worth_beside_the_log_and_the_truth(logged):
    answer = logs_page.answer(logged)
    assert "Policy is worth 0.610 [0.550, 0.700] a row, as IPS estimates it: more than" in (
        answer.sentence
    )
    assert "0.400 [0.380, 0.420] that the log itself earned" in answer.sentence
    assert "Its own log gave 0.500 [0.480, 0.520]: the two do not agree." in answer.sentence
    assert "leaves 10.0 % of all rows" in answer.more[0]
    assert "moves IPS by at most 100.0 % of the true value" in answer.more[0]
    assert [(card.label, card.value) for card in answer.cards] == [
        ("The policy that made the log", "0.400"),
        ("Policy", "0.610"),
    ]


@pytest.mark.parametrize(
    ("truth", "said"), [(0.6, "holds the true value, 0.600"), (0.5, "misses the true value, 0.500")]
)
def test_what_is_known_by_construction_has_no_band(log_plan, truth, said):
    records = [one for one in log_records() if one["metric"] != "truth"]
    numbers = numbers_of(log_plan, policy=records + at("truth", [truth], standard_error=0.0))
    table = logs_page.table(numbers, "general", lambda _: "").set_index("metric")
    assert len({*table.loc["truth", ["estimate", "low", "high"]]}) == 1
    assert said in logs_page.answer(numbers).sentence
    cell = rows_of(logs_page.VALUES, numbers)["Policy"]["Error, % of the truth"]
    assert cell.grade == ("pass" if truth == 0.6 else "fail")


def test_without_a_truth_nothing_is_said_of_errors(log_plan):
    records = [one for one in log_records() if one["metric"] not in ("truth", "error")]
    numbers = numbers_of(log_plan, policy=records)
    assert "true value is not known" in logs_page.answer(numbers).sentence
    assert "Error, % of the truth" not in rows_of(logs_page.VALUES, numbers)["Policy"]


def test_where_the_whole_log_was_not_estimated_a_typical_resampling_stands(logged):
    row = rows_of(logs_page.RATES, logged)["IPS"]
    assert row["All rows"].text == "0.610" and row["At l = 0.1"].text == "0.600"


def test_resamplings_are_judged_by_the_promise(logged):
    rows = rows_of(logs_page.RESAMPLED, logged)
    assert rows["IPS, l = 0.1"]["Coverage of the truth"].grade == "fail"
    assert rows["IPS, l = 1"]["Coverage of the truth"].grade == "pass"  # 3 of 3 say little
    assert rows["IPS, l = 0.1"]["Change by rejection"].grade == "fail"
    assert rows["IPS, l = 1"]["Change by rejection"].grade == "pass"
    assert rows["IPS, l = 0.1"]["Missing"].text == "2"
    (text,) = logs_page.behaviour(logged)
    assert "intervals hold the true value in 66.7 % to 100.0 % of 3 parts of the log" in text


def test_intervals_that_hold_more_than_they_promise_keep_it(log_plan):
    records = []
    for rate, held in ((1.0, 200), (0.1, 150)):
        place = {"measure": "ips", "keep_rate": rate}
        records += at("covered", [float(part < held) for part in range(200)], **place)
        for metric in ("value", "error"):
            records += at(metric, [0.5] * 200, rows=1000, standard_error=0.04, **place)
    (text,) = logs_page.behaviour(numbers_of(log_plan, policy=records))
    kept = "1 of 2 estimators and rates keep the promised 95 %, 1 by intervals that are wider than"
    assert kept in text


def test_a_bootstrap_is_judged_by_the_log_that_it_resamples(log_plan):
    records = log_records()
    whole = [one | {"metric": "covered_whole"} for one in records if one["metric"] == "covered"]
    numbers = numbers_of(log_plan, policy=records + whole)
    row = rows_of(logs_page.RESAMPLED, numbers)["IPS, l = 1"]
    assert row["Coverage of the truth"].grade == ""
    assert row["Coverage of the whole log's value"].grade == "pass"
    assert "the value of the log that is resampled" in next(logs_page.behaviour(numbers))


def test_shares_have_wilsons_interval():
    from scipy.stats import binomtest

    for hits, n in ((95, 100), (12, 12), (0, 7)):
        known = binomtest(hits, n).proportion_ci(method="wilson")
        share = logs_page.wilson(hits / n, n)
        assert (share.low, share.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_too_much_coverage_is_no_better_than_too_little():
    rule = Holds(0.95, "")
    assert (
        rule.judge(logs_page.wilson(1.0, 200)) == rule.judge(logs_page.wilson(0.8, 200)) == "fail"
    )
    assert (
        rule.judge(logs_page.wilson(0.93, 200)) == rule.judge(logs_page.wilson(1.0, 12)) == "pass"
    )
    assert rule.judge(Estimate(0.95)) == ""


def test_differences_of_symmetric_intervals_are_the_usual_ones():
    gap = logs_page.apart(Estimate(3.0, low=2.7, high=3.3), Estimate(1.0, low=0.6, high=1.4))
    assert (gap.mean, gap.low, gap.high) == pytest.approx((2.0, 1.5, 2.5))
    assert not logs_page.apart(Estimate(3.0), Estimate(1.0, low=0.6, high=1.4)).bounded


@pytest.mark.parametrize("high", [0.2, 0.3])
def test_a_truth_that_is_known_by_construction_has_no_interval(high, monkeypatch):
    truth = Estimate(0.2, low=0.2, high=high, n=9)
    monkeypatch.setattr(logs_page, "of", lambda column: lambda numbers, line: truth)
    assert logs_page._truth(None, None).bounded == (high > 0.2)
