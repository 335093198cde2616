"""What methods are requested to keep, and what is told of each promise, by hand-made numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import report_rates as rates
from counterweight.evaluation.rates import RULES
from counterweight.numerics.rates.language import parse_constraint, parse_expression
from counterweight.reporting.charts.rates_figures import draw_kept
from counterweight.reporting.numbers import Estimate, StudyNumbers
from counterweight.reporting.pages import promises_page
from counterweight.reporting.pages.promises_page import (
    Limit,
    binds,
    excess,
    limits_of,
    main_of,
    requested_measures,
)
from counterweight.reporting.pages.rates_page import CHOSEN, PAGE
from counterweight.reporting.sheets import build
from counterweight.reporting.wording import percent
from counterweight.tables.parquet import metrics_table, write_table

MEASURES = {
    "a": "coverage(male) / coverage(female)",
    "b": "churn(d3)",
    "c": "recall(d2)",
    "d": "false_positive_rate(male) / false_positive_rate(female)",
    "e": "recall(male) / recall(female)",
}


@pytest.fixture(scope="module")
def run():
    plan = rates.plan()
    return plan, rates.metrics(plan)


def measured(study, **sources):
    frames = [metrics_table(study, *one).to_pandas() for one in sources.items()]
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize(
    ("constraint", "options", "expected"),
    [
        ("coverage(male) <= coverage(female) / kappa", {"kappa": 0.8}, [("a", False, 1.25)]),
        ("coverage(female) >= kappa * coverage(male)", {"kappa": 0.8}, [("a", False, 1.25)]),
        ("kappa * coverage(female) <= coverage(male)", {"kappa": 0.8}, [("a", True, 0.8)]),
        ("churn(d3) <= 0.03", {}, [("b", False, 0.03)]),
        ("churn_rate(d3) <= target", {"target": 0.05}, [("b", False, 0.05)]),
        ("2 * recall(d2) >= target", {"target": 0.9}, [("c", True, 0.45)]),
        ("recall(d2) >= 0.9 * deployed_recall(d2)", {}, [("c", True, 0.9, True)]),
        (
            "equalised_odds(male, female, kappa)",
            {"kappa": 0.8},
            [("e", True, 0.8), ("e", False, 1.25), ("d", True, 0.8), ("d", False, 1.25)],
        ),
        ("coverage(male) <= coverage(female) / kappa", {"kappa": None}, []),
        ("coverage(male) - coverage(female) <= 0.1", {}, []),
        ("recall(d1) >= 0.9", {}, []),
    ],
)
def test_a_constraint_limits_the_measure_of_its_expression(constraint, options, expected):
    method = rates.method("ramp", options={"constraints": [constraint]} | options)
    plan = rates.study("A", [method], {"measures": MEASURES})
    numbers = StudyNumbers("known", plan, measured("known", ramp=[]))
    limits = limits_of(numbers, "ramp")
    key = [(one.measure, one.least, one.deployed) for one in limits]
    assert sorted(key) == sorted((m, least, bool(more)) for m, least, _, *more in expected)
    wanted = {(m, least): value for m, least, value, *_ in expected}
    for one in limits:
        assert one.value == pytest.approx(wanted[one.measure, one.least])


def test_a_method_without_texts_is_asked_what_its_options_say(run):
    plan, metrics = run
    numbers = StudyNumbers("fairness_sex", plan["studies"]["fairness_sex"], metrics)
    assert limits_of(numbers, "thresholds", "kappa=0.5") == (Limit("ratio", False, 2.0),)
    assert limits_of(numbers, "zafar", "c=0.1") == limits_of(numbers, "svm") == ()


def test_what_a_study_says_goes_before_its_constraints():
    said = {"measure": "b", "option": "target", "form": "at_least"}
    method = rates.method("ramp", options={"constraints": ["churn(d3) <= 0.1"], "target": 0.2})
    plan = rates.study("A", [method], {"measures": MEASURES, "asked": said})
    numbers = StudyNumbers("known", plan, measured("known", ramp=[]))
    assert limits_of(numbers, "ramp")[0] == Limit("b", True, 0.2)


def promised_study():
    """A method that is held to two promises; the first is kept on test rows, the second open."""
    texts = ["coverage(women) >= 0.8 * coverage(men)", "churn(everyone) <= 0.3"]
    options = {"measures": {"error": "error(labeled)"}}
    one = rates.method("ramp", None, texts) | {"label": "The classifier with promises"}
    plan = rates.study("Mine", [rates.method("svm"), one], options, main="ramp")
    records = []
    for repeat in range(3):
        for target, moved in (("general", 0.001 * repeat), ("train", 0.0)):
            for j, over in enumerate((-0.05, 0.0 if target == "train" else -0.001)):
                for rule in RULES:
                    place = {"repeat": repeat, "target": target, "part": str(j), "setting": ""}
                    more = {"left": 0.4, "right": 0.35, "excess": over + moved}
                    for what, value in more.items():
                        record = {"metric": f"promise_{what}_{rule}", "value": value}
                        records.append(place | record | {"standard_error": 0.01, "rows": 500})
                    plain = {"metric": rule, "measure": "error", "value": 0.2 + moved}
                    records.append(
                        {"repeat": repeat, "target": target, "setting": "", "rows": 500} | plain
                    )
    return plan, metrics_table("mine", "ramp", records).to_pandas(), texts


def whole(found):
    """What a page says first, with the sentences below it."""
    return " ".join((found.sentence, *found.more))


def test_a_page_begins_with_each_promise():
    plan, metrics, texts = promised_study()
    numbers = StudyNumbers("mine", plan, metrics)
    found = PAGE.answer(numbers)
    assert found.sentence == (
        "By its decisions the classifier with promises keeps 2 of 2 promises by the estimates of "
        f"test rows, and 1 of 2 can be shown kept at 95 % (undecided: {texts[1]}); they err in "
        "20.1 % [19.9, 20.3] of the test rows."
    )
    assert [card.value for card in found.cards[:4]] == ["2 of 2"] * 4
    assert found.cards[2].note == "1 can be shown kept at 95 %, 1 undecided"
    table = build(PAGE.sheets[0], numbers)
    assert [row.label for row in table.rows][::2] == [f"{text}, by decisions" for text in texts]
    assert [row.cells[2].grade for row in table.rows] == ["kept"] * 2 + ["undecided"] * 2
    assert [row.cells[5].grade for row in table.rows] == ["kept"] * 4
    assert PAGE.question(numbers) == "" or "Does the classifier" in PAGE.question(numbers)


def test_test_rows_are_told_by_what_promises_say_and_the_delivered_model_beside_its_splits():
    """Ratios of sides may miss on average what each promise keeps: one answer, by its sides."""
    plan, metrics, texts = promised_study()
    plan["protocol"]["options"]["measures"]["ratio"] = "coverage(women) / coverage(men)"
    ratios = [
        {"metric": rule, "measure": "ratio", "repeat": repeat, "target": target, "value": value}
        for rule in RULES
        for target in ("general", "train")
        for repeat, value in enumerate((0.5, 0.7, 1.1))
    ]
    metrics = pd.concat([metrics, measured("mine", ramp=ratios)], ignore_index=True)
    told = PAGE.answer(StudyNumbers("mine", plan, metrics)).more[0]
    assert "do not break it significantly, and on average they keep it, the nearest by" in told
    assert told.endswith(f"({texts[1]}).")
    records = [
        {"metric": f"promise_{what}_{rule}", "part": "0", "value": value, "target": "general"}
        for rule in RULES
        for what, value in (("left", 0.45), ("right", 0.5), ("excess", 0.05))
    ]
    told = pd.concat([metrics, measured("mine", delivered=records)], ignore_index=True)
    table = build(PAGE.sheets[0], StudyNumbers("mine", plan, told))
    heads = [head.text for head in table.head[1:]]
    assert heads[-3:] == ["Left side, delivered", "Right side, delivered", "Broken by, delivered"]
    cells = [cell.text for cell in table.rows[0].cells]
    assert cells[-3:] == ["0.450", "0.500", "0.050"] and table.rows[0].cells[-1].grade == "broken"
    assert "means over the splits of the study" in table.note
    # What is said of the fit is of the delivered one, whatever became of its splits.
    own = plan | {"source": "own"}
    for over, kept in ((0.05, False), (-0.05, True)):
        fit = {"part": "0", "value": over, "target": "general"}
        fit = [fit | {"metric": f"promise_excess_{rule}"} for rule in RULES]
        fit = measured("mine", delivered=fit)
        splits = metrics["metric"].str.startswith("promise_excess") & metrics["part"].eq("0")
        turned = metrics.copy()
        turned.loc[splits & metrics["target"].eq("train"), "value"] = -over
        numbers = StudyNumbers("mine", own, pd.concat([turned, fit], ignore_index=True))
        sentence, more, cards = promises_page.promise_answer(numbers, "ramp")
        assert ("No classifier that was tried keeps" in sentence) != kept
        assert ("On the rows of its fit it keeps 1 of 2." in more) != kept
        card = next(card for card in cards if card.label.endswith("decisions, rows of the fit"))
        assert card.value == f"{1 + kept} of 2"
        assert next(promises_page.next_steps(numbers, "ramp")).startswith("Decide as") == kept


LEVEL = {"fit_confidence": 0.9, "fit_judges": 600.0, "fit_stable": 1.0, "fit_held_out": 0.0}
LOOSER = LEVEL | {"fit_certified": 0.0, "fit_shown": 0.25}


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({}, None),
        (
            LEVEL | {"fit_certified": 1.0},
            "That is shown by cross-fitting, by rows judged by fits that did not see them",
        ),
        (
            LEVEL | {"fit_certified": 1.0, "fit_held_out": 0.3},
            "That is shown by held-out rows, which had no say in the fit.",
        ),
        (
            LOOSER | {"fit_needed": 5234.0},
            "is not certified at 90 %: 600 cross-fitted rows show promises that are looser by 25 "
            "%: coverage(women) >= 0.6 * coverage(men) and churn(everyone) <= 0.4. As asked it "
            "would take some 5,300 rows in all.",
        ),
        (LOOSER, "churn(everyone) <= 0.4."),
        (
            LEVEL | {"fit_certified": 0.0, "fit_held_out": 0.3},
            "600 held-out rows do not show that new rows keep all promises, nor looser ones.",
        ),
        (LEVEL | {"fit_certified": 0.0, "fit_stable": 0.0}, "Add held_out: 0.3, which tests"),
    ],
)
def test_a_page_says_whether_what_is_given_away_is_certified(known, sentence):
    plan, metrics, _ = promised_study()
    records = [{"metric": m, "value": v, "target": "general"} for m, v in known.items()]
    if records:
        told = metrics_table("mine", "delivered", records).to_pandas()
        metrics = pd.concat([metrics, told], ignore_index=True)
    found = PAGE.answer(StudyNumbers("mine", plan, metrics))
    assert sentence in whole(found) if sentence else "certif" not in whole(found)
    certified = known.get("fit_certified")
    begins = "The classifier with promises is certified at 90 % to keep all 2 promises for new rows"
    assert found.sentence.startswith(begins) == (certified == 1)
    assert ("; the delivered model is not certified at 90 %." in found.sentence) == (certified == 0)
    # One number of what is kept: a certificate is not followed by what fewer rows leave open.
    assert ("keeps 2 of 2 promises by the estimates" in found.sentence) != (certified == 1)
    # What other fits and fewer rows leave open is told as no word against it.
    splits = "have 2 of 2 kept by estimates (1 kept beyond chance; 1 undecided, which says nothing"
    assert (splits in whole(found)) == (certified == 1)
    assert ("can be shown kept" in whole(found)) == (certified != 1)
    (note,) = [card.note for card in found.cards if card.label.endswith("held-out rows")][:1]
    begins = "by test rows of the splits" if certified == 1 else "1 can be shown kept at 95 %"
    assert note == f"{begins}, 1 undecided"


ROWS = {"coverage(women)": 47, "coverage(men)": 900, "churn(everyone)": 947}
FEW = "up is women: coverage(women) is a rate of 47 rows, and it would take some "


@pytest.mark.parametrize(
    ("known", "moved", "sentence"),
    [
        # Of 2,000 rows 600 judged, and ten times the table is needed; the second is everybody's.
        (
            LOOSER | {"fit_needed": 20000.0, "fit_needed_by": 0.0},
            0,
            f"What holds the certificate {FEW}470 of them.",
        ),
        (
            LOOSER | {"fit_needed": 20000.0, "fit_needed_by": 1.0},
            0,
            "up is everyone: churn(everyone) is a rate of 947 rows, and it would take some 9,500",
        ),
        (LOOSER | {"fit_needed_by": 0.0}, 0, "47 rows, and it is kept with so little room"),
        # Missed on the rows of the fit by 0.03: of these no number would show anything.
        (
            LOOSER | {"fit_needed_by": 0.0},
            -0.03,
            "47 rows, and on the rows of the fit it is missed by 0.030.",
        ),
        (LEVEL | {"fit_certified": 1.0}, 0, None),
        # Without a confidence: of what test rows leave open, by how far the interval is beyond.
        ({}, 0, "up is everyone: churn(everyone) is a rate of 947 rows, and it is kept with so"),
        ({}, 0.04, f"What holds this {FEW}"),
        # A promise that is missed is told as what was measured: by rows that were held out.
        (
            {},
            0.06,
            "up is women: coverage(women) is a rate of 47 rows, and by those that were held out "
            "it is missed by 0.011: more of them would tell whether it is kept.",
        ),
    ],
)
def test_a_page_names_the_group_that_holds_a_promise_up(known, moved, sentence):
    plan, metrics, _ = promised_study()
    plan |= {"source": "own"}
    if moved < 0:  # on the rows of the fit the first promise is broken
        fit = (metrics["target"] == "train") & (metrics["part"] == "0")
        metrics.loc[fit & metrics["metric"].str.startswith("promise_excess"), "value"] = -moved
    if moved > 0:  # the first promise is kept by less than chance moves it, the second clearly
        first, test = metrics["part"] == "0", metrics["target"] == "general"
        excess = metrics["metric"].str.startswith("promise_excess")
        metrics.loc[excess & test & first, "value"] += moved
        metrics.loc[excess & test & ~first, "value"] -= 0.2
        metrics.loc[excess & test & first, "value"] += metrics["repeat"].sub(1) * 0.01
    records = [{"metric": m, "value": v} for m, v in known.items()]
    records += [{"metric": "rate_rows", "part": rate, "value": n} for rate, n in ROWS.items()]
    place = {"target": "general", "rows": 2000}
    told = metrics_table("mine", "delivered", [place | one for one in records])
    numbers = StudyNumbers("mine", plan, pd.concat([metrics, told.to_pandas()], ignore_index=True))
    found = PAGE.answer(numbers)
    assert sentence in whole(found) if sentence else "is a rate of" not in whole(found)
    assert "is a rate of" not in found.sentence


@pytest.mark.parametrize("certified", [1.0, 0.0])
def test_the_error_told_of_a_delivered_rule_is_its_own_where_rows_judged_it(certified):
    known = {"confidence": 0.9, "judges": 600.0, "stable": 1.0, "held_out": 0.0, "behind": 0.0}
    known |= {"certified": certified, "cost": 0.378, "constant": 0.5, "free": 0.5}
    known |= {"constant_chance": 1.0, "constant_keeps": 1.0, "free_chance": 1.0}
    numbers, _ = delivered(**known)
    found = PAGE.answer(numbers)
    assert found.sentence.endswith("; its error is 37.8 % on the rows that judged it.")
    held = "1 of 2 promises shown kept"
    title = f"By test rows of the splits alone {held}" if certified else f"{held} on rows that were"
    assert draw_kept(numbers).title.startswith(title)
    # That of the splits, whose fits are others, is told as theirs.
    splits = found.more[1] if certified else found.sentence
    assert "they err in 20.1 % [19.9, 20.3] of the test rows" in splits


@pytest.mark.parametrize(
    ("yes", "cost", "weak"), [(5, 0.4917, True), (50, 0.46, False), (0, 0.5, True)]
)
@pytest.mark.parametrize("keeps", [1.0, 0.0])
def test_decisions_that_are_nearly_one_answer_for_all_are_said_to_be_so(
    tmp_path, yes, cost, weak, keeps
):
    known = {"confidence": 0.9, "judges": 600.0, "stable": 1.0, "held_out": 0.0, "behind": 0.0}
    known |= {"certified": 0.0, "cost": cost, "constant": 0.5, "free": 0.5}
    known |= {"constant_chance": 0.0, "constant_keeps": keeps, "free_chance": 0.0}
    numbers, _ = delivered(**known, yes=yes / 600)
    numbers.folder, numbers.plan = tmp_path, numbers.plan | {"source": "own"}
    decided = pd.DataFrame({"decision": np.arange(600) < yes, "estimate": 0.0})
    write_table(tmp_path / "scores.parquet", decided)
    found = PAGE.answer(numbers)
    card = found.cards[0]
    assert card.label.startswith("A yes by") and card.note == f"{yes} of 600 rows"
    said = f"says yes to {yes} of 600 rows, and is not shown to err less than a no to everybody"
    assert (said in found.sentence) == (weak and bool(keeps))
    # Of a log that dropped rows each counts as those that it stands for: here a no for two.
    weighted, _ = delivered(**known, yes=yes / (1200 - yes))
    weighted.folder, weighted.plan = numbers.folder, numbers.plan
    card = PAGE.answer(weighted).cards[0]
    assert card.value == percent(yes / (1200 - yes)) and ("each counted" in card.note) == (yes > 0)


@pytest.mark.parametrize(("constant", "keeps", "said"), [(0.19, 1, 1), (0.21, 1, 0), (0.19, 0, 0)])
def test_an_error_on_held_out_rows_that_a_rule_without_columns_has_leads(constant, keeps, said):
    known = {
        "cost": 0.15,
        "constant": constant,
        "free": 0.1,
        "constant_keeps": keeps,
        "behind": 0.0,
    }
    numbers, _ = delivered(**known, constant_chance=0.0, free_chance=0.0)
    numbers.plan = numbers.plan | {"source": "own"}
    told = PAGE.answer(numbers).sentence
    assert told.startswith("Held-out rows do not show that the classifier") == bool(said)
    splits = (
        "parts of the table err in 20.1 % of them, and that in 19.0 % of all rows. The delivered"
    )
    assert (splits in told and "err in 15.0 % of its own rows" in told) == bool(said)


@pytest.mark.parametrize("cost", [0.15, 0.26])
def test_decisions_that_err_more_on_their_own_rows_than_splits_on_others_are_told(cost):
    numbers, _ = delivered(cost=cost, constant=0.5, free=0.5, constant_keeps=1.0, behind=0.0)
    told = "The delivered decisions err in 26.0 % of the rows of their own fit, more than those of"
    assert (told in whole(PAGE.answer(numbers))) == (cost > 0.201)


def test_of_new_rows_the_next_step_is_to_look_at_groups_that_are_known():
    plan, metrics, _ = promised_study()
    for new in (True, False):
        numbers = StudyNumbers("mine", plan | {"new_rows": new}, metrics)
        first = next(promises_page.next_steps(numbers, "ramp"))
        assert ("Compare the shares of a yes by group" in first) == new


def test_of_many_open_promises_the_first_sentence_has_the_number_and_the_next_the_names():
    plan, metrics, _ = promised_study()
    texts = [f"coverage(women) <= 0.{j} * coverage(men)" for j in (5, 6, 7, 8)]
    plan["methods"][-1]["options"]["constraints"] = texts
    excess = metrics["metric"].str.startswith("promise_")
    parts = [
        metrics[excess & metrics["part"].eq("1")].assign(part=str(j)) for j in range(len(texts))
    ]
    numbers = StudyNumbers("mine", plan, pd.concat([metrics[~excess], *parts], ignore_index=True))
    found = PAGE.answer(numbers)
    assert not any("are those of" in text for text in found.more)
    assert "0 of 4 can be shown kept at 95 % (4 undecided); they err" in found.sentence
    assert found.more[0].startswith(f"Undecided by held-out rows: {texts[0]}, {texts[1]}, ")


def test_a_promise_that_stands_for_several_is_named_with_their_number():
    plan, metrics, _ = promised_study()
    own = plan["methods"][-1]["options"]["constraints"] = ["parity(women, men, 1, 0.02)"]
    numbers = StudyNumbers("mine", plan, metrics)
    found = PAGE.answer(numbers)
    assert "keeps 2 of 2 promises" in found.sentence
    assert f"The 2 promises are those of {own[0]}." in found.more


def test_of_two_repeats_what_holds_a_promise_up_is_one_that_is_missed_or_none():
    plan, metrics, _ = promised_study()
    plan |= {"source": "own"}
    metrics = metrics[metrics["repeat"] < 2].copy()
    excess = metrics["metric"].str.startswith("promise_excess") & (metrics["target"] == "general")
    # Two repeats that differ tell no interval, so that both promises are left open.
    metrics.loc[excess, "value"] += metrics.loc[excess, "repeat"] * 0.01
    place = {"target": "general", "metric": "rate_rows", "rows": 2000}
    records = [place | {"part": rate, "value": n} for rate, n in ROWS.items()]
    told = metrics_table("mine", "delivered", records).to_pandas()
    for part, missed in (("0", "women"), ("1", "everyone"), ("", None)):
        moved = metrics.copy()
        moved.loc[excess, "value"] -= 0.05
        moved.loc[excess & (metrics["part"] == part), "value"] += 0.2
        numbers = StudyNumbers("mine", plan, pd.concat([moved, told], ignore_index=True))
        found = PAGE.answer(numbers)
        assert "0 of 2 can be shown kept" in found.sentence
        held = f"What holds this up is {missed}: "
        assert held in found.more[0] if missed else "holds this up" not in whole(found)


def test_what_promised_rates_are_among_rows_without_outcome_is_told_with_them():
    plan, metrics, _ = promised_study()
    place = {"target": "general", "rows": 2000}
    records = [{"metric": "fit_labeled", "value": 900.0}]
    for name, value in (("seen", 0.707), ("expected", 0.58)):
        records.append({"metric": f"rate_{name}", "part": "recall(women)", "value": value})
    for known in (records, []):
        told = measured("mine", delivered=[place | one for one in known]) if known else None
        numbers = StudyNumbers("mine", plan, pd.concat([metrics, told], ignore_index=True))
        _, more, _ = promises_page.promise_answer(numbers, "ramp")
        assert " ".join(more).endswith(
            "the 900 of 2,000 rows that have one: recall(women) is 0.707 among these. Among all "
            "rows it is 0.580, by the chances of scores.csv, if outcomes are missing at random."
        ) == bool(known)


def test_a_rule_behind_one_that_looks_at_nobody_is_the_first_sentence_of_the_page():
    plan, metrics, _ = promised_study()
    known = {"fit_cost": 0.621, "fit_constant": 0.472, "fit_constant_chance": 0.45}
    known |= {"fit_constant_keeps": 1.0, "fit_free": 0.22, "fit_free_chance": 0.0}
    for behind in (1.0, 0.0):
        told = known | {"fit_behind": behind, "fit_judges": 500.0}
        records = [{"metric": m, "value": v, "target": "general"} for m, v in told.items()]
        own = metrics_table("mine", "delivered", records).to_pandas()
        numbers = StudyNumbers("mine", plan, pd.concat([metrics, own], ignore_index=True))
        found = PAGE.answer(numbers)
        said = (
            "The classifier with promises is no better than a rule that uses no columns: on rows "
            "that judged it its error is 62.1 %, and a yes to 45 % of the people, drawn at random, "
            "which keeps all promises, too, has 47.2 %. "
        )
        assert found.sentence.startswith(said) == bool(behind)
        cards = [(card.label, card.value) for card in found.cards[:4]]
        assert cards[0][0] == "Error by decisions, held-out rows"
        assert cards[1:] == [
            ("Error of the delivered decisions", "62.1 %"),
            ("Error of a yes to 45 % of the people, drawn at random", "47.2 %"),
            ("Error of a no to everybody", "22.0 %"),
        ]


@pytest.mark.parametrize(
    ("text", "factor", "powers"),
    [
        ("2 * coverage(a) / coverage(b)", 2.0, {"coverage(a)": 1, "coverage(b)": -1}),
        ("coverage(a) / (4 * coverage(b))", 0.25, {"coverage(a)": 1, "coverage(b)": -1}),
        ("(3 - 1) * coverage(a) * coverage(a)", 2.0, {"coverage(a)": 2}),
        ("(3 + 1) * coverage(a) / coverage(a)", 4.0, {}),
        ("kappa / coverage(a)", 0.8, {"coverage(a)": -1}),
    ],
)
def test_a_product_of_rates_is_a_factor_and_powers(text, factor, powers):
    found, by_rate = promises_page._product(parse_expression(text), {"kappa": 0.8})
    assert found == pytest.approx(factor)
    assert {str(rate): power for rate, power in by_rate.items()} == powers


@pytest.mark.parametrize(
    "text", ["coverage(a) + 1", "1 - coverage(a)", "coverage(a) - coverage(b)"]
)
def test_a_sum_with_rates_is_no_product(text):
    with pytest.raises(ValueError):
        promises_page._product(parse_expression(text), {})


@pytest.mark.parametrize(("kappa", "limited"), [(0.5, True), (0.0, False), (-1.0, False)])
def test_a_factor_that_is_not_above_0_limits_nothing(kappa, limited):
    (parsed,) = parse_constraint("kappa * recall(d2) <= 0.5")
    limit = promises_page._limit(parsed, {"kappa": kappa}, MEASURES)
    assert limit == (Limit("c", False, 1.0) if limited else None)


SEXES = "coverage(male) <= coverage(female) / kappa"


def of_ratio(
    train, general, kappa="kappa=0.5", texts=("coverage(male) <= coverage(female) / kappa",)
):
    """A method held to a ratio of at most 2, with its measured ratios; one value a repeat."""
    method = rates.method("ramp", {"kappa": [0.5]}, texts)
    plan = rates.study("A", [rates.method("svm"), method], {"measures": MEASURES}, test_share=0.0)
    records = []
    for target, values in (("train", train), ("general", general)):
        for repeat, value in enumerate(values):
            for rule in RULES:
                place = {"target": target, "metric": rule, "measure": "a", "setting": kappa}
                records.append(place | {"repeat": repeat, "value": value})
    return StudyNumbers("known", plan, measured("known", ramp=records))


def test_an_excess_is_relative_for_ratios_and_turned_where_at_least_is_asked():
    numbers = of_ratio([2.0] * 3, [2.2, 2.1, 2.3])
    at_most, at_least = (Limit("a", least, 2.0) for least in (False, True))
    over = excess(numbers, "ramp", "kappa=0.5", at_most, RULES[0])
    under = excess(numbers, "ramp", "kappa=0.5", at_least, RULES[0])
    assert over.mean == pytest.approx(0.2 / 2) and over.low < over.mean < over.high
    assert (under.mean, under.low, under.high) == (-over.mean, -over.high, -over.low)
    nothing = excess(numbers, "ramp", "kappa=0.5", Limit("a", False, 0.0), RULES[0])
    assert not nothing.known


def test_shares_are_told_by_their_difference():
    method = rates.method("ramp", options={"constraints": ["churn(d3) <= 0.03"]})
    plan = rates.study("A", [method], {"measures": MEASURES}, test_share=0.0)
    place = {"target": "general", "metric": RULES[0], "measure": "b", "setting": ""}
    records = [place | {"repeat": k, "value": 0.05} for k in range(3)]
    numbers = StudyNumbers("known", plan, measured("known", ramp=records))
    assert promises_page.is_share(numbers, "b") and not promises_page.is_share(numbers, "a")
    assert excess(numbers, "ramp", "", Limit("b", False, 0.03), RULES[0]).mean == pytest.approx(
        0.02
    )


@pytest.mark.parametrize(
    ("train", "bound"), [(2.0, True), (2.5, True), (1.97, True), (1.95, False), (1.0, False)]
)
def test_a_limit_binds_within_two_hundredths_of_it_or_beyond(train, bound):
    numbers = of_ratio([train] * 3, [2.0] * 3)
    assert binds(numbers, "ramp", "kappa=0.5") == bound


@pytest.mark.parametrize(("train", "bound"), [(2.0, True), (1.5, True), (2.03, True), (2.1, False)])
def test_a_limit_from_below_binds_on_the_other_side(train, bound):
    texts = ["coverage(male) >= coverage(female) / kappa"]
    assert binds(of_ratio([train] * 3, [2.0] * 3, texts=texts), "ramp", "kappa=0.5") == bound


def test_where_nothing_was_measured_on_training_rows_others_say_whether_a_limit_binds():
    assert binds(of_ratio([], [2.0] * 3), "ramp", "kappa=0.5")
    assert not binds(of_ratio([], [1.0] * 3), "ramp", "kappa=0.5")


def test_the_study_is_about_the_first_method_that_asks_for_something():
    numbers = of_ratio([2.0] * 3, [2.0] * 3)
    assert main_of(numbers) == "ramp" and requested_measures(numbers) == ["a"]
    assert promises_page.asking(numbers, "ramp") == ["kappa=0.5"]
    assert promises_page.rule_of(numbers, "ramp") == "randomised"


def delivered(**known):
    plan, metrics, texts = promised_study()
    records = [
        {"metric": f"fit_{name}", "value": value, "target": "general"}
        for name, value in known.items()
    ]
    told = metrics_table("mine", "delivered", records).to_pandas() if records else metrics.iloc[:0]
    return StudyNumbers("mine", plan, pd.concat([metrics, told], ignore_index=True)), texts


def test_promises_that_are_kept_in_part_are_counted_on_the_rows_of_the_fit_too():
    plan, metrics, texts = promised_study()
    broken = metrics["part"].eq("1") & metrics["metric"].str.startswith("promise_excess")
    metrics.loc[broken, "value"] = 0.2
    numbers = StudyNumbers("mine", plan, metrics)
    sentence, more, cards = promises_page.promise_answer(numbers, "ramp")
    assert "keeps 1 of 2 promises" in sentence and f"(broken: {texts[1]})" in sentence
    assert more == ("On the rows of its fit it keeps 1 of 2.",)
    notes = {card.label: card.note for card in cards}
    assert notes["Promises kept by decisions, rows of the fit"] == "1 broken"
    held = "Promises kept by decisions, held-out rows"
    assert notes[held] == "1 can be shown kept at 95 %, 1 broken"
    over = promises_page.broken_by(numbers, "ramp", 1)
    assert over.mean == pytest.approx(0.2)
    # Of one's own table cards are about what is decided, and chances stay in the sheet.
    own = StudyNumbers("mine", plan | {"source": "own"}, metrics)
    assert len(promises_page.promise_answer(own, "ramp")[2]) == len(cards) - 2
    # What no classifier keeps even there leads, and nobody is told to decide by it.
    missed = f"{texts[1]} (missed by 0.200)"
    begins = f"No classifier that was tried keeps {missed} on the rows of its fit: ask for less"
    assert promises_page.promise_answer(own, "ramp")[0].startswith(begins)
    assert next(promises_page.next_steps(own, "ramp")).startswith(f"Ask for less than {texts[1]}")


@pytest.mark.parametrize(("excess", "word"), [(0.0, "kept"), (5e-10, "kept"), (0.01, "broken")])
def test_on_the_rows_of_the_fit_rounding_breaks_no_promise(excess, word):
    known = Estimate(excess, excess, excess, 1, excess - 1, excess + 1)
    assert promises_page.ON_TRAIN.judge(known) == word
    assert promises_page.ON_TRAIN.judge(Estimate()) == ""


def test_the_next_step_offers_a_confidence_where_none_was_asked():
    numbers, _ = delivered()
    first, second = promises_page.next_steps(numbers, "ramp")
    assert first.startswith("Decide as scores.csv says") and "add confidence: 0.95" in second
    assert first.endswith("and its estimate is the chance of that.")
    numbers, _ = delivered(confidence=0.9)
    assert len([*promises_page.next_steps(numbers, "ramp")]) == 1


@pytest.mark.parametrize(("kind", "told"), promises_page.ESTIMATES.items())
def test_the_next_step_says_what_an_estimate_is(kind, told):
    plan, metrics, _ = promised_study()
    records = [{"metric": "estimate", "part": kind, "value": 1.0, "target": "general"}]
    own = metrics_table("mine", "delivered", records).to_pandas()
    numbers = StudyNumbers("mine", plan, pd.concat([metrics, own], ignore_index=True))
    first, *_ = promises_page.next_steps(numbers, "ramp")
    assert first.endswith(f"and its estimate is {told}.")


def test_costs_stand_beside_rules_that_look_at_nobody():
    known = {"cost": 0.2, "constant": 0.4, "constant_chance": 1.0, "constant_keeps": 0.0}
    known |= {"free": 0.4, "free_chance": 1.0, "behind": 0.0}
    numbers, _ = delivered(**known)
    cards, behind = promises_page._costs(numbers, "ramp")
    # One rule is both, so it has one card.
    assert behind == "" and [card.value for card in cards[1:]] == ["40.0 %"]
    assert cards[1].note == "Uses no columns, breaks promises"
    numbers, _ = delivered(**known | {"behind": 1.0})
    assert "on the rows of its fit its error is 20.0 %" in promises_page._costs(numbers, "ramp")[1]
    numbers, _ = delivered()
    assert promises_page._costs(numbers, "ramp") == ([], "") and math.isnan(
        promises_page._delivered(numbers, "cost")
    )


def test_a_classifier_that_was_given_up_stands_among_those_chosen_from():
    candidates = [{"metric": "candidate_cost", "part": str(k), "value": 0.1} for k in (0, 3)]
    numbers = SimpleNamespace(
        methods=lambda: [{"id": "own", "candidates": ["Logistic regression", "Boosting", "SVM"]}],
        label=lambda name: name,
        get=lambda source, metric, **place: SimpleNamespace(
            known=place in [{"part": one["part"]} for one in candidates]
        ),
    )
    lines = [line.label for line in CHOSEN.lines(numbers)]
    assert lines == ["Logistic regression", "Boosting", "SVM", "Combined"]
    candidates.pop()
    assert len([*CHOSEN.lines(numbers)]) == 3
