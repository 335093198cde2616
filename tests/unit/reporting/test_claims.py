"""Claims: every verdict follows from the metrics and from nothing else."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_example as example
import report_subsampled as subsampled
import yaml
from counterweight.errors import CounterweightError
from counterweight.reporting.claims import (
    LAYOUT,
    REDRAWS,
    VERDICTS,
    by_seed,
    check_names,
    decide,
    load_claims,
    verdict_of,
)

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "claims" / "smith_elkan_2007.yaml"
ZEROES = CLAIMS.with_name("mineiro_2010.yaml")
RULE = {
    "label": "here",
    "study": "adult_married",
    "target": "general",
    "metric": "accuracy",
    "left": "shifted_mixture",
    "right": "logistic",
    "comparison": "greater",
}


CLAIM = {"id": "T01", "kind": "count", "asks": "all", "statement": "A.", "where": "here"}


@pytest.fixture(scope="module")
def shipped():
    return load_claims([CLAIMS])[0]


@pytest.fixture(scope="module")
def before(metrics, plan, shipped):
    """What the shipped claims come to."""
    return decide(shipped, metrics, plan)


def one(metrics, plan, *rules, failures=(), **keys):
    claim = {
        "id": "T01",
        "kind": "superiority",
        "asks": "general",
        "paper": "test",
        "statement": "A statement.",
        "where": "here",
        "depends_on": "the test",
        "decide": [RULE | rule for rule in rules],
        **keys,
    }
    return decide([claim], metrics, plan, failures).iloc[0]


def write(path, **changes):
    document = {"paper": "test", "title": "Test", "claims": [CLAIM | {"decide": [RULE]}]}
    path.write_text(yaml.safe_dump(document | changes))
    return path


def swapped(metrics, study, first, second):
    """The same metrics with the results of two methods exchanged."""
    names = {first: second, second: first}
    metrics = metrics.copy()
    own = metrics["study"] == study
    metrics.loc[own, "source"] = metrics.loc[own, "source"].replace(names)
    return metrics


def test_every_claim_of_the_paper_gets_one_verdict(before):
    assert list(before.columns) == [name for name, _ in LAYOUT]
    assert list(before["id"]) == [f"S{number:02d}" for number in range(1, 29)]
    assert set(before["verdict"]) <= set(VERDICTS)
    assert before["detail"].str.len().min() > 10


def test_shipped_claims_name_only_what_the_plan_has(plan, shipped):
    check_names(shipped, plan)


def test_flipping_a_metric_flips_the_verdict(metrics, plan, shipped, before):
    before = before.set_index("id")
    flipped = swapped(metrics, "adult_married", "shifted_mixture", "logistic")
    after = example.decided(shipped, flipped, plan)
    assert before.loc["S03", "verdict"] == "holds"
    diagnostic = swapped(metrics, "adult_married_numeric", "shifted_mixture", "logistic")
    beside = example.decided(shipped, diagnostic, plan)
    assert beside.loc["S03", "verdict"] == "holds", "a diagnostic is no condition"
    assert "does not hold, told beside" in beside.loc["S03", "detail"]
    assert after.loc["S03", "verdict"] == "does not hold"
    assert after.loc["S03", "effect"] == pytest.approx(-before.loc["S03", "effect"])
    assert after.loc["S08", "verdict"] == before.loc["S08", "verdict"]


def test_every_testable_claim_can_come_out_otherwise(metrics, plan, shipped, before):
    # Other numbers, turned around or all alike: no rule is satisfied by its wording alone.
    before = before.set_index("id")["verdict"]
    changed = [
        example.decided(shipped, metrics.assign(value=value), plan)["verdict"]
        for value in (-3.7 * metrics["value"] + 100.0, 0.0)
    ]
    held = before[before == "holds"].index
    assert len(held) > 10
    assert all(any(after[name] != "holds" for after in changed) for name in held)


def test_a_claim_that_holds_in_part_names_what_it_depends_on(metrics, plan):
    found = one(metrics, plan, {"label": "first"}, {"label": "second", "right": "logistic-oracle"})
    assert found["verdict"] == "depends"
    assert found["detail"].startswith("It depends on the test. First: holds")
    assert "First: holds" in found["detail"] and "Second: does not hold" in found["detail"]


YES, NO, MAYBE, NONE = ("holds", 9, 1), ("fails", 0, 10), ("undecided", 7, 3), ("cannot", 0, 0)
LOSING = ("undecided", 2, 8)


@pytest.mark.parametrize(
    ("conditions", "all_", "some", "general"),
    [
        ([YES, YES], "holds", "holds", "holds"),
        ([YES, NO], "does not hold", "holds", "depends"),
        ([NO, NO], "does not hold", "does not hold", "does not hold"),
        (
            [YES, MAYBE],
            "holds where it could be decided",
            "holds",
            "holds where it could be decided",
        ),
        ([YES, LOSING], "undecided", "holds", "undecided"),
        ([YES, MAYBE, NO], "does not hold", "holds", "depends"),
        ([MAYBE, MAYBE], "undecided", "undecided", "undecided"),
        ([MAYBE, NO], "does not hold", "undecided", "undecided"),
        ([LOSING, NO], "does not hold", "undecided", "does not hold"),
        ([YES, NONE], "cannot be tested", "holds", "cannot be tested"),
        ([NO, NONE], "does not hold", "cannot be tested", "cannot be tested"),
    ],
)
def test_a_verdict_follows_what_the_claim_asks_of_its_conditions(conditions, all_, some, general):
    assert verdict_of(conditions, "all") == verdict_of(conditions, "both") == all_
    assert verdict_of(conditions, "some") == some
    assert verdict_of(conditions, "general") == general


def test_what_is_beside_is_told_and_never_counted(metrics, plan):
    lost = {"label": "beside", "right": "logistic-oracle", "beside": True}
    found = one(metrics, plan, {}, lost, asks="all")
    assert found["verdict"] == "holds"
    assert "Beside: does not hold, told beside and not counted" in found["detail"]
    assert (
        one(metrics, plan, {}, lost | {"beside": False}, asks="all")["verdict"] == "does not hold"
    )
    first = one(metrics, plan, lost, {"label": "core"})
    assert first["effect"] == one(metrics, plan, {})["effect"], "the effect is that of the core"


def test_what_holds_by_construction_alone_is_called_so(metrics, plan):
    built = {"label": "built", "identity": True}
    assert one(metrics, plan, built)["verdict"] == "holds by construction"
    assert one(metrics, plan, built, {"label": "found"})["verdict"] == "holds"
    broken = built | {"comparison": "less"}
    assert one(metrics, plan, broken, {"label": "found"}, asks="all")["verdict"] == "does not hold"


def with_values(metrics, source, values):
    """Metrics in which a method has these accuracies for everyone in Adult, by repeat."""
    metrics = metrics.copy()
    at = (metrics["study"] == "adult_married") & (metrics["source"] == source)
    at &= (metrics["target"] == "general") & (metrics["metric"] == "accuracy")
    metrics.loc[at, "value"] = metrics.loc[at, "repeat"].map(dict(enumerate(values)))
    return metrics


def test_fewer_than_five_repeats_decide_nothing(metrics, plan):
    for repeats, verdict in ((4, "cannot be tested"), (5, "holds")):
        found = one(metrics[metrics["repeat"] < repeats], plan, {})
        assert found["verdict"] == verdict and ("too little" in found["detail"]) == (repeats == 4)
    assert "5 splits for, 0 against of 5" in found["detail"]


def test_repeats_that_tell_nothing_are_passed_over(metrics, plan):
    rule = {"right": 0.7, "passes_over": 0, "label": "it"}
    most = with_values(metrics, "shifted_mixture", [0, 0, *(0.75, 0.751) * 3, 0.752, 0])
    found = one(most, plan, rule)
    assert found["verdict"] == "holds" and found["repeats"] == 7
    few = with_values(metrics, "shifted_mixture", [0] * 6 + [0.6] * 4)
    assert one(few, plan, rule)["verdict"] == "cannot be tested"
    more = {"label": "other", "left": "shifted_mixture-step"}
    other = one(few, plan, rule, more, asks="all")
    assert other["verdict"] == "holds" and "says nothing here" in other["detail"]


def test_ratios_are_told_by_logarithms(metrics, plan):
    # Half in one split is as far from equal as double in another.
    values = np.array([0.5, 2.0] * 5)
    turned = with_values(with_values(metrics, "logistic", np.ones(10)), "shifted_mixture", values)
    rule = {"relative": True, "comparison": "within", "margin": 2.0}
    there = one(turned, plan, rule)
    back = one(turned, plan, rule | {"left": "logistic", "right": "shifted_mixture"})
    assert there["effect"] == pytest.approx(0, abs=1e-9) == back["effect"]
    assert 1 + there["high"] / 100 == pytest.approx(1 / (1 + back["low"] / 100))
    none = one(with_values(metrics, "logistic", np.zeros(10)), plan, rule)
    assert none["verdict"] == "cannot be tested" and "no ratio" in none["detail"]


def test_sides_of_other_rows_have_the_variance_of_both(metrics, plan):
    rule = {"independent": True, "right": {"source": "shifted_mixture", "study": "ca_coastal"}}
    found = one(metrics, plan, rule)
    told = [
        metrics.query(
            f"study == '{study}' and source == 'shifted_mixture' and target == 'general'"
            " and metric == 'accuracy'"
        )["value"]
        for study in ("adult_married", "ca_coastal")
    ]
    assert found["effect"] == pytest.approx(100 * (told[0].mean() - told[1].mean()))
    variance = sum(one.var() * (1 / 10 + 0.4 / 0.6) for one in told)
    half = (found["high"] - found["low"]) / 200
    assert 1.96 * variance**0.5 < half < 2.3 * variance**0.5
    assert (found["splits_for"], found["splits_against"]) == (0, 0), "there are no pairs"


def test_margins_are_told_as_they_are(metrics, plan):
    found = one(metrics, plan, {"margin": 0.0123456, "comparison": "within"})
    assert "allowed ±1.23456" in found["detail"]


def test_rules_with_one_label_are_one_condition(metrics, plan):
    found = one(metrics, plan, {}, {"right": "logistic-oracle"})
    assert found["verdict"] == "does not hold"


def test_redrawn_repeats_tell_how_firm_a_verdict_is(metrics, plan):
    # Pairs stay pairs: one method is ahead by 1 point in every split, however far splits differ.
    wide = np.linspace(0.1, 0.9, 10)
    paired = with_values(with_values(metrics, "logistic", wide), "shifted_mixture", wide + 0.01)
    found = one(paired, plan, {})
    assert found["verdict"] == "holds" and found["same"] == REDRAWS
    # The interval begins at the threshold: half of all draws are on either side of it.
    values = np.array([0.0, 0.02, 0.04, 0.06] * 2 + [0.03, 0.03])
    edge = with_values(with_values(metrics, "logistic", np.zeros(10)), "shifted_mixture", values)
    low = one(edge, plan, {})["low"] / 100
    margins = (low - 0.04, low - 1e-9, float(values.mean()))
    firm = [one(edge, plan, {"margin": margin})["same"] for margin in margins]
    assert firm[0] == firm[2] == REDRAWS and 0.2 * REDRAWS < firm[1] < 0.8 * REDRAWS
    assert one(edge, plan, {"margin": low})["same"] == one(edge, plan, {"margin": low})["same"]


def test_verdicts_by_seed_stand_beside_a_claim_and_decide_nothing(
    metrics, plan, tmp_path, monkeypatch
):
    kept = pd.DataFrame({"id": ["T01", "T02"], "1": "holds", "2": ["depends", "holds"]})
    kept.to_csv(tmp_path / "claims_seeds.csv", index=False)
    monkeypatch.setattr("counterweight.reporting.claims.KEPT", tmp_path)
    found = one(metrics, plan, {})
    assert found["by_seed"] == "holds with 1 of 2 seeds; depends with 1 of 2 seeds"
    assert by_seed()["T02"] == "holds with 2 of 2 seeds"
    pd.DataFrame({"id": ["T09"], "1": ["depends"]}).to_csv(
        tmp_path / "claims_seeds.csv", index=False
    )
    assert one(metrics, plan, {})["by_seed"] == ""
    assert one(metrics, plan, {})["verdict"] == found["verdict"]


def test_an_interval_over_the_threshold_is_undecided(metrics, plan):
    rule = {"left": "shifted_mixture-step", "right": "shifted_mixture"}
    found = one(metrics, plan, rule)
    assert found["verdict"] == "undecided"
    assert found["low"] < 0 < found["high"]
    assert "undecided, the interval contains the threshold" in found["detail"]


@pytest.mark.parametrize(
    ("comparison", "margin", "expected"),
    [
        ("greater", 0.02, "holds"),
        ("greater", 0.05, "does not hold"),
        ("less", 0.0, "does not hold"),
        ("differs", 0.0, "holds"),
        ("within", 0.05, "holds"),
        ("within", 0.01, "does not hold"),
    ],
)
def test_comparisons_mean_what_they_say(metrics, plan, comparison, margin, expected):
    # The made-up difference is 3 points.
    found = one(metrics, plan, {"comparison": comparison, "margin": margin})
    assert found["verdict"] == expected


def test_aggregates_take_the_worst_value(metrics, plan):
    rule = {
        "metric": "balance_before",
        "aggregate": "max_abs",
        "left": "lemma1-logistic",
        "right": 0,
        "comparison": "within",
        "margin": 0.3,
        "judge": "mean",
    }
    found = one(metrics, plan, rule)
    assert found["effect"] == pytest.approx(0.4)
    assert found["verdict"] == "does not hold"


def test_splits_are_counted_for_and_against(metrics, plan):
    values = metrics.query(
        "study == 'adult_married' and source == 'shifted_mixture' and target == 'general'"
        " and metric == 'accuracy'"
    )["value"]
    middle = float(values.sort_values().iloc[2:4].mean())  # three of ten are below
    found = one(metrics, plan, {"right": middle})
    assert (found["splits_for"], found["splits_against"]) == (7, 3)
    assert "], 7 splits for, 3 against of 10" in found["detail"]
    turned = one(metrics, plan, {"right": middle, "comparison": "less"})
    assert (turned["splits_for"], turned["splits_against"]) == (3, 7)
    average = one(metrics, plan, {"right": middle, "judge": "mean"})
    assert (average["splits_for"], average["splits_against"]) == (0, 0)
    assert "against" not in average["detail"]


def drawn(metrics, plan, shift):
    """A second draw of the shifted mixture, another by `shift` in each split, and its plan."""
    own = (metrics["study"] == "adult_married") & (metrics["source"] == "shifted_mixture")
    second = metrics[own].assign(source="shifted_mixture-draw-1")
    second["value"] += second["repeat"].map(dict(enumerate(shift)))
    draws = {"shifted_mixture": ["shifted_mixture", "shifted_mixture-draw-1"]}
    study = plan["studies"]["adult_married"] | {"draws": draws}
    plan = plan | {"studies": plan["studies"] | {"adult_married": study}}
    return pd.concat([metrics, second], ignore_index=True), plan


@pytest.mark.parametrize(
    ("gain", "expected"), [(0.0, "holds"), (-0.12, "does not hold"), (-0.06, "undecided")]
)
def test_several_draws_are_averaged_in_each_split(metrics, plan, gain, expected):
    # The first draw is 3 points better; the mean of both by 3 points and half of the second's.
    shift = [gain + (0.004 if repeat % 2 else -0.004) for repeat in range(10)]
    both = drawn(metrics, plan, shift)
    found, alone = one(*both, {"draws": "mean"}), one(*both, {})
    assert found["verdict"] == expected
    assert found["effect"] == pytest.approx(alone["effect"] + 100 * gain / 2)
    assert "(mean of 2 draws)" in found["detail"]
    assert alone["verdict"] == "holds"


def test_the_spread_of_draws_is_the_largest_less_the_least(metrics, plan):
    both = drawn(metrics, plan, [0.01, -0.03] * 5)
    rule = {"draws": "spread", "right": 0.015, "comparison": "less"}
    found = one(*both, rule)
    assert found["effect"] == pytest.approx(100 * (0.02 - 0.015))
    assert (found["splits_for"], found["splits_against"]) == (5, 5)
    assert found["verdict"] == "undecided"
    assert one(*drawn(metrics, plan, [0.001] * 10), rule)["verdict"] == "holds"
    assert one(*drawn(metrics, plan, [-0.1] * 10), rule)["verdict"] == "does not hold"


def test_a_spread_needs_several_draws_and_a_mean_takes_what_there_is(metrics, plan):
    found = one(metrics, plan, {"draws": "spread", "right": 0.1})
    assert found["verdict"] == "cannot be tested"
    assert "one draw only" in found["detail"]
    assert one(metrics, plan, {"draws": "mean"})["effect"] == one(metrics, plan, {})["effect"]


def test_a_draw_that_failed_makes_a_claim_untestable(metrics, plan):
    both, drawn_plan = drawn(metrics, plan, [0.0] * 10)
    without = both[both["source"] != "shifted_mixture-draw-1"]
    found = one(without, drawn_plan, {"draws": "mean"})
    assert found["verdict"] == "cannot be tested"
    assert "'shifted_mixture-draw-1'" in found["detail"]


def test_a_failed_method_makes_a_claim_untestable_with_its_reason(metrics, plan):
    without = metrics[
        (metrics["study"] != "adult_married") | (metrics["source"] != "shifted_mixture")
    ]
    failure = {
        "study": "adult_married",
        "source": "shifted_mixture",
        "stage": "train",
        "reason": "INFO: start\nERROR: too few rows.",
        "log": "x.log",
    }
    found = one(without, plan, {}, failures=[failure])
    assert found["verdict"] == "cannot be tested"
    assert "too few rows" in found["detail"]


def test_values_that_are_no_numbers_count_as_missing(metrics, plan):
    hidden = metrics.copy()
    hidden.loc[hidden["source"] == "shifted_mixture", "value"] = float("nan")
    assert one(hidden, plan, {})["verdict"] == "cannot be tested"


def test_one_split_cannot_decide(metrics, plan):
    found = one(metrics[metrics["repeat"] == 0], plan, {})
    assert found["verdict"] == "cannot be tested"
    assert "at least 5 decide" in found["detail"]


def test_no_metrics_at_all_leave_nothing_testable(metrics, plan, shipped):
    decided = decide(shipped, metrics.iloc[:0], plan)
    assert set(decided["verdict"]) == {"cannot be tested"}


def test_verdicts_on_twins_say_so(plan, shipped):
    twins = example.plan("generated")
    decided = example.decided(shipped, example.metrics(twins), twins)
    assert decided.loc["S03", "data"] == "generated"
    assert decided.loc["S03", "detail"].startswith("On generated data")
    assert decided.loc["S15", "data"] == "simulated"


def test_a_study_that_is_not_run_is_named(metrics, plan):
    found = one(metrics, plan, {"study": "adult_maried"})
    assert found["verdict"] == "cannot be tested"
    assert "the nearest is 'adult_married'" in found["detail"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"study": "adult_maried"}, "'adult_maried' is not part of this run"),
        ({"left": "shifted_mixtur"}, "the nearest is 'shifted_mixture'"),
    ],
)
def test_unknown_names_are_refused_in_one_sentence(plan, change, words):
    claim = CLAIM | {"paper": "", "decide": [RULE | change]}
    with pytest.raises(CounterweightError, match=words) as caught:
        check_names([claim], plan)
    assert "claim T01, rule 1" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"comparison": "greter"}, "did you mean 'greater'"),
        ({"margins": 1}, "'margin'"),
        ({"left": [1]}, "neither a source"),
        ({"margin": "big"}, "margin"),
    ],
)
def test_mistakes_in_a_rule_are_told_with_their_place(tmp_path, change, words):
    claim = CLAIM | {"id": "T07", "decide": [RULE, RULE | change]}
    path = write(tmp_path / "claims.yaml", claims=[claim])
    with pytest.raises(CounterweightError, match=words) as caught:
        load_claims([path])
    assert "claim T07, rule 2" in str(caught.value)


def test_a_claim_needs_rules_or_a_reason(tmp_path):
    path = write(tmp_path / "claims.yaml", claims=[CLAIM])
    with pytest.raises(CounterweightError, match="either 'decide'"):
        load_claims([path])


def test_claim_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(CounterweightError, match="not there"):
        load_claims([tmp_path / "none.yaml"])
    broken = tmp_path / "broken.yaml"
    broken.write_text("claims: [")
    with pytest.raises(CounterweightError, match="line .*not valid YAML"):
        load_claims([broken])


def test_an_id_stands_once(tmp_path):
    first, second = write(tmp_path / "a.yaml"), write(tmp_path / "b.yaml")
    with pytest.raises(CounterweightError, match="T01 is used twice"):
        load_claims([first, second])


def test_rules_are_kept_as_json_without_nan(before):
    for text in before["rules"]:
        for rule in json.loads(text, parse_constant=pytest.fail):
            assert rule["verdict"] in {"holds", "fails", "undecided", "cannot"}


def test_the_claims_are_not_written_with_a_verdict():
    document = yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))
    assert all("verdict" not in claim for claim in document["claims"])


def test_what_only_real_data_can_show_is_not_judged_on_twins(shipped):
    sizes = [claim for claim in shipped if claim.get("real_data_only")]
    assert {claim["id"] for claim in sizes} == {"S11", "S12"}
    plan = example.plan("generated")
    decided = decide(sizes, example.metrics(plan), plan)
    assert set(decided["verdict"]) == {"cannot be tested"}
    assert decided["detail"].str.contains("generated data").all()


@pytest.fixture(scope="module")
def zeroes():
    """Claims on subsampled logs, with a made-up plan and its metrics."""
    plan = subsampled.plan()
    return load_claims([ZEROES])[0], subsampled.metrics(plan), plan


@pytest.fixture(scope="module")
def of_zeroes(zeroes):
    """What they come to."""
    return decide(*zeroes)


def test_the_claims_on_subsampled_logs_are_all_there(zeroes):
    claims, _, plan = zeroes
    assert [claim["id"] for claim in claims] == [f"Z{number:02d}" for number in range(1, 22)]
    check_names(claims, plan)
    assert load_claims([ZEROES])[1] == [], "the paper prints no figures"


def test_each_claim_on_subsampled_logs_has_an_effect_with_an_interval(of_zeroes):
    decided = of_zeroes
    assert not (decided["verdict"] == "cannot be tested").any()
    assert decided[["effect", "low", "high"]].notna().all(axis=None)
    assert (decided["low"] <= decided["effect"]).all()
    assert (decided["effect"] <= decided["high"]).all()


def test_no_claim_on_subsampled_logs_holds_whatever_is_measured(zeroes, of_zeroes):
    claims, metrics, plan = zeroes
    decided = of_zeroes.set_index("id")
    before = decided["verdict"]
    turned = -3.7 * metrics["value"] + 100.0
    uneven = metrics["value"] * metrics["study"].str.len()
    changed = [
        example.decided(claims, metrics.assign(value=value), plan)["verdict"]
        for value in (turned, uneven, 0.0)
    ]
    held = before[before == "holds"].index
    over_sets = {
        claim["id"]
        for claim in claims
        if any("benchmark" in rule and not rule.get("beside") for rule in claim["decide"])
    }
    assert len(held) > 10 and over_sets == {"Z10", "Z11", "Z12"}
    for name in held:
        # What goes by the data sets of the benchmark goes by no number of a run.
        assert any(after[name] != "holds" for after in changed) == (name not in over_sets)
    shares = decided.loc["Z10"]
    assert (shares["effect"], shares["unit"], shares["repeats"]) == (75.0, "% of data sets", 20)
    assert shares["data"] == "real"


def test_one_repeat_that_breaks_an_identity_is_enough(zeroes):
    claims, metrics, plan = zeroes
    broken = metrics.copy()
    where = broken.index[broken["metric"] == "drop_zero_change"][0]
    broken.loc[where, "value"] = 1e-12
    before, after = (decide(claims[:1], table, plan).iloc[0] for table in (metrics, broken))
    assert before["verdict"] == "holds by construction"
    assert (before["low"], before["high"]) == (0.0, 0.0)
    assert after["verdict"] == "does not hold"


@pytest.mark.parametrize(("right", "expected"), [(0.7, "holds"), (0.765, "does not hold")])
def test_every_repeat_can_be_asked_for(metrics, plan, right, expected):
    found = one(metrics, plan, {"right": right, "judge": "every"})
    values = metrics.query(
        "study == 'adult_married' and source == 'shifted_mixture' and target == 'general'"
        " and metric == 'accuracy'"
    )["value"]
    assert found["verdict"] == expected
    assert found["low"] == pytest.approx(100 * (values.min() - right))
    assert found["high"] == pytest.approx(100 * (values.max() - right))


def test_a_count_needs_no_second_repeat(metrics, plan):
    found = one(metrics[metrics["repeat"] == 0], plan, {"judge": "every"})
    assert found["verdict"] == "holds"
    assert found["low"] == found["effect"] == found["high"]
    assert "(a count)" in found["detail"]


def test_relative_differences_are_shares_of_the_right_side(metrics, plan):
    rule = {"relative": True, "right": 0.75, "comparison": "within", "margin": 0.05}
    absolute, relative = one(metrics, plan, {"right": 0.75}), one(metrics, plan, rule)
    assert relative["effect"] == pytest.approx(absolute["effect"] / 0.75, abs=0.01)
    assert relative["unit"] == "%" and relative["verdict"] == "holds"
    assert "% of 75.00" in relative["detail"]
