"""First sentences of tables with blank outcomes, by hand-made numbers, and on what condition."""

import re

import pandas as pd
import pytest
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import blanks_page as page
from counterweight.reporting.pages.trust import swept_of
from counterweight.reporting.report_jobs import study_plan
from counterweight.tables.parquet import METRICS, metrics_table

SIZES = {"rows_all": 1000.0, "rows_labeled": 700.0, "rows_unlabeled": 300.0}
FACTS = {"outcome": "default", "names": ["0", "1"], "method": "Combined model"}
HECKMAN = {
    "if": "If branch has no part in the outcome",
    "rests": "Branch is taken to have no part.",
}


def rated(value, low, high, target, metric="target_rate", part=""):
    """Records of a mean with its interval."""
    place = {"metric": metric, "target": target, "part": part}
    ends = [place | {"variable": end, "value": at} for end, at in (("low", low), ("high", high))]
    return [place | {"value": value, "standard_error": 0.01}, *ends]


def bounded(target, share, headline, **bounds):
    """Records of the share that rests on data, and of bounds by kind."""
    place = {"target": target}
    made = [place | {"metric": "supported_share", "value": share}]
    made.append(place | {"metric": "unsupported_headline", "value": headline})
    for part, ends in bounds.items():
        at = place | {"metric": "target_bounds", "part": part.replace("_", "=")}
        pairs = zip(("low", "high"), ends, strict=True)
        made += [at | {"variable": end, "value": value} for end, value in pairs]
    return made


def swept(target, metric="swept_rate", error=None):
    """Records of the sweep at Γ = 1 and 2, its ends with a standard error if one is given."""
    place = {"metric": metric, "target": target}
    place |= {} if error is None else {"standard_error": error}
    return [
        place | {"setting": f"gamma={gamma}", "variable": end, "value": value}
        for gamma, ends in ((1.0, (0.22, 0.22)), (2.0, (0.18, 0.27)))
        for end, value in zip(("least", "most"), ends, strict=True)
    ]


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """The answer of a made-up study by what was delivered and what the saved model says."""
    (tmp_path / "own.csv").write_text("x,y\n" + "1,0\n2,1\n3,\n" * 9)

    def made(target, records, weights=None, collect=(), sizes=SIZES, shown=(), auc=0.8, **facts):
        entry = {"table": str(tmp_path / "own.csv"), "name": "mine", "outcome": "y"}
        given = {"results": str(tmp_path), "data": str(tmp_path), "seed": 1, "filter_key": "key"}
        named = {"target": "unlabeled"} if target == "unlabeled" else {}
        named |= {"weights": weights} if weights else {}
        plan = resolve(with_own_tables(given | entry | named, {}))
        study = plan["studies"]["mine"]
        first = next(iter(study["methods"]))
        delivered = [{"metric": "delivered", "part": first, "target": target, "value": 1.0}]
        auc = {"metric": "auc", "value": auc, "standard_error": 0.01, "target": target}
        sizes = [{"metric": name, "value": value} for name, value in sizes.items()]
        by_source = {"labels": sizes, first: [auc], "delivered": delivered + records}
        by_source |= {"collect": collect} if collect else {}
        frames = [metrics_table("mine", *one).to_pandas() for one in by_source.items()]
        frame = pd.concat(frames)[[name for name, _ in METRICS]]
        monkeypatch.setattr(page, "facts", lambda numbers: FACTS | facts)
        told = study_plan(study, plan["metrics"]) | dict(shown)
        made.numbers = StudyNumbers("mine", told, frame, tmp_path)
        return page.answer(made.numbers)

    return made


def test_the_rows_without_an_outcome_come_first_then_everyone(answer):
    records = rated(0.225, 0.21, 0.24, "general") + swept("general")
    records += rated(0.318, 0.29, 0.35, "general", part="unlabeled")
    found = answer("general", records)
    assert found.sentence == (
        "If labels are missing at random, of the 300 rows without an outcome, an estimated 31.8 % "
        "[29.0, 35.0] have default = 1; of all 1,000 rows, known outcomes and estimates "
        "together, 22.5 % [21.0, 24.0], or 18.0 to 27.0 % if the odds of default = 1 among rows "
        "without an outcome are up to twice or half those of like rows that have one."
    )
    assert [card.value for card in found.cards[:2]] == ["31.8 %", "22.5 %"]
    assert "over all is 22.5 %." in " ".join(found.files)


@pytest.mark.parametrize(("apart", "warned"), [(0.014, False), (0.016, True)])
def test_methods_that_weights_do_not_bring_together_are_told(answer, apart, warned):
    records = rated(0.225, 0.21, 0.24, "general") + swept("general")
    records += [
        {"metric": "rate_doubly_robust", "part": name, "target": "general", "value": value}
        for name, value in (("linear", 0.22), ("boosting", 0.22 + apart))
    ]
    told = " ".join(answer("general", records).more)
    assert ("differs by up to 1.60 points" in told) == warned
    assert ("the interval reaches 1.50 to either side" in told) == warned


@pytest.mark.parametrize(
    ("outcome", "classes", "event"),
    [
        ("left", ["stayed", "left"], "the outcome left"),
        ("1", [0, 1], "“1” = 1"),
        ("y2", ["no", "2"], "y2 = 2"),
        ("y2", [0.0, -1.5], "y2 = -1.5"),
    ],
)
def test_odd_names_of_outcomes_and_classes_are_told_apart(answer, outcome, classes, event):
    records = rated(0.318, 0.29, 0.35, "unlabeled")
    told = answer("unlabeled", records, outcome=outcome, classes=classes).sentence
    assert told.endswith(f"31.8 % [29.0, 35.0] have {event}.")


@pytest.mark.parametrize("error", [None, 0.01])
def test_the_range_at_twice_the_odds_is_one_number_everywhere(answer, error):
    """In the first sentence, the card, what it rests on and the figure's title."""
    records = rated(0.225, 0.21, 0.24, "general") + swept("general", error=error)
    found = answer("general", records + rated(0.318, 0.29, 0.35, "general", part="unlabeled"))
    told, said = ("18.0 to 27.0 %", "") if error is None else ("16.1 to 29.0 %", "sampling error")
    (figure,) = swept_of(answer.numbers)
    rests = next(text for text in found.rest if "Γ = 2" in text)
    for text in (found.sentence, found.cards[1].note, rests, figure.sentence):
        assert re.findall(r"[\d.]+ to [\d.]+ %", text) == [told]
    assert said in rests and said in figure.sentence and figure.chance == bool(said)


def test_of_the_unlabeled_nothing_is_said_of_everyone(answer):
    records = rated(0.318, 0.29, 0.35, "unlabeled") + swept("unlabeled")
    records += rated(0.318, 0.29, 0.35, "unlabeled", part="unlabeled")
    found = answer("unlabeled", records)
    assert found.sentence.count("31.8 %") == 1 and "all 1" not in found.sentence
    assert "over those without an outcome is 31.8 %" in " ".join(found.files)


def test_a_mean_is_told_of_those_rows_too(answer):
    records = rated(12.5, 11, 14, "general", "target_mean") + swept("general", "swept_mean")
    records += rated(15, 13, 17, "general", "target_mean", part="unlabeled")
    sentence = answer("general", records, outcome="debt", names=[]).sentence
    assert (
        "over the 300 rows without an outcome, debt is an estimated 15.00 [13.00, 17.00]"
        in sentence
    )
    assert "known outcomes and estimates together, it is 12.50 [11.00, 14.00]" in sentence


@pytest.mark.parametrize("where", ["assumes", "tilt"])
def test_the_sentence_begins_with_what_was_assumed(answer, where):
    records = rated(0.318, 0.29, 0.35, "unlabeled") + swept("unlabeled")
    tilt = {"odds": 2.0, "by": "times", "assumes": HECKMAN}
    told = {"assumes": HECKMAN} if where == "assumes" else {"tilt": tilt, "rests_on": ["", "Left."]}
    found = answer("unlabeled", records, **told)
    assert found.sentence.startswith(f"{HECKMAN['if']}, of the 300 rows without an outcome, ")
    assert found.rest[0].startswith(HECKMAN["rests"])


def test_a_rate_that_is_given_is_not_told_as_an_estimate(answer):
    records = rated(0.25, 0.25, 0.25, "general") + swept("general")
    records += rated(0.318, 0.318, 0.318, "general", part="unlabeled")
    found = answer("general", records, tilt={"odds": 2.0, "by": "rate"}, rests_on=[""])
    assert "of the 300 rows without an outcome, 31.8 % have default = 1; " in found.sentence
    assert "which meets the rate that is given" in found.sentence
    assert "estimated" not in found.sentence
    assert [(card.value, card.interval) for card in found.cards[:2]] == [
        ("31.8 %", ""),
        ("25.0 %", ""),
    ]


def test_the_range_of_a_mean_is_from_end_to_end_on_the_scale_of_its_bounds(answer):
    records = rated(1.0, 0.8, 1.3, "general", "target_mean")
    records += swept("general", "swept_mean", error=0.2)
    place = {"target": "general", "setting": "gamma=2.0"}
    for variable, low, high in (("least", 0.02, 1.58), ("most", 0.06, 1.15)):
        for end, value in (("low", low), ("high", high)):
            records.append(place | {"metric": f"swept_mean_{end}", "variable": variable})
            records[-1]["value"] = value
    assert "or 0.02 to 1.15 if" in answer("general", records, names=[]).sentence


@pytest.mark.parametrize("weights", [None, "lemma2", "rosset", "rosset_label_only"])
def test_odds_are_held_against_like_rows_where_labels_are_missing_at_random(answer, weights):
    records = rated(0.318, 0.29, 0.35, "unlabeled") + swept("unlabeled")
    sentence = answer("unlabeled", records, weights).sentence
    random = weights in (None, "lemma2")
    end = "those of like rows that have one." if random else "what is assumed."
    assert sentence.endswith(f"among rows without an outcome are up to twice or half {end}")


def labels_to_buy(*ends):
    """Records of a plan of 200 labels, with the range of what it may give where it is told."""
    told = {"labels_planned": 200.0, "labels_budget": 200.0, "planned_points": 4.4}
    made = [{"metric": name, "value": value} for name, value in told.items()]
    made += [
        {"metric": "planned_points", "variable": end, "value": value}
        for end, value in zip(("low", "high"), ends, strict=False)
    ]
    return [one | {"target": "unlabeled"} for one in made]


@pytest.mark.parametrize("ends", [(2.6, 7.1), ()])
def test_before_a_label_is_bought_a_range_is_told_and_after_it_a_number(answer, ends):
    records = rated(0.318, 0.29, 0.35, "unlabeled") + swept("unlabeled")
    found = answer("unlabeled", records, collect=labels_to_buy(*ends))
    (said,) = [text for text in found.more if text.startswith("collect.csv lists 200 rows")]
    assert "expected to be known to ±4.40 points, whoever had one before" in said
    assert ("from ±2.60 points to ±7.10 points may come of it" in said) == bool(ends)


@pytest.mark.parametrize("plain", [3.9, 4.8])
def test_a_plan_for_groups_has_a_line_for_each_and_says_what_it_costs_of_all(answer, plain):
    made = labels_to_buy()
    at = {"part": "200", "variable": "plain", "target": "unlabeled"}
    made.append({"metric": "expected_points", "value": plain} | at)
    for name, value in (("labels_planned", 76.0), ("planned_points", 9.3)):
        made.append({"metric": name, "value": value, "part": "north", "target": "unlabeled"})
    records = rated(0.318, 0.29, 0.35, "unlabeled") + swept("unlabeled")
    (said,) = [
        text
        for text in answer("unlabeled", records, collect=made).more
        if text.startswith("It is drawn for each group of collect.by")
    ]
    assert (
        "a simple sample of as many labels tells of all these rows as well as ±3.90" in said
    ) == (plain < 4.4)


@pytest.mark.parametrize(("auc", "doubted"), [(0.51, True), (0.4, True), (0.53, False)])
def test_answers_no_better_than_one_for_all_are_warned_of_beside_the_first_sentence(
    answer, auc, doubted
):
    found = answer("unlabeled", rated(0.318, 0.29, 0.35, "unlabeled"), auc=auc)
    assert found.warning.startswith("Single answers are not shown") == doubted
    assert (f"AUC is {auc:.3f} [" in found.warning) == doubted
    assert ("Take single answers" in found.todo[0]) != doubted


def test_others_than_those_of_the_table_are_named_in_question_and_answer(answer, monkeypatch):
    records = rated(0.318, 0.29, 0.35, "general") + swept("general")
    whom = "the people of clinic.csv"
    found = answer("general", records, **{"for": whom})
    assert "an estimated 31.8 % [29.0, 35.0] of them have default = 1" in found.sentence
    assert not any("mean of its column" in text for text in found.files)
    assert page.PAGE.question(None) == f"What would default be among {whom}?"


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ({}, "name a file of people who come later under score, for an answer"),
        ({"people": True}, "name the table of target under score, for an answer"),
        ({"new_rows": True}, "Take single answers from mine/new_scores.csv with"),
    ],
)
def test_where_every_row_has_an_outcome_single_answers_are_those_of_new_rows(answer, shown, told):
    known = {"rows_all": 1000.0, "rows_labeled": 1000.0, "rows_unlabeled": 0.0}
    records = rated(0.318, 0.29, 0.35, "general") + swept("general")
    found = answer("general", records, sizes=known, shown=shown, **{"for": "the people of a.csv"})
    (todo,) = found.todo
    assert told in todo
    assert "Rows unlike any labeled" not in [card.label for card in found.cards]
    assert found.files[0].endswith("for each of the 1,000 rows: known outcomes as they are.")
    place = {"sizes": known, "shown": {"new_rows": "target"}, "for": "the people of a.csv"}
    (same,) = answer("general", records, **place).files
    assert "is the model's alone; the first sentence is about the same people" in same


def test_where_much_rests_on_no_data_bounds_stand_in_place_of_an_interval(answer):
    records = rated(0.212, 0.206, 0.218, "unlabeled") + swept("unlabeled")
    records += rated(0.19, 0.18, 0.2, "unlabeled", part="supported")
    records += bounded("unlabeled", 0.57, 1.0, worst=(0.12, 0.55), gamma_2=(0.18, 0.3))
    found = answer("unlabeled", records)
    assert found.sentence == (
        "If labels are missing at random, of the 300 rows without an outcome, between 12.0 and "
        "55.0 % have default = 1: 43 % of them are like no row that has an outcome, of which none "
        "or all may have it; 18.0 to 30.0 % if their odds are at most twice, and at least "
        "half, what the model says. Of the 57 % of them that rest on data, an estimated 19.0 % "
        "[18.0, 20.0] have default = 1."
    )
    card, second = found.cards[:2]
    assert (card.value, card.interval) == (
        "12.0 to 55.0 %",
        "",
    ) and "57 % rest on data" in card.note
    assert second.value == "19.0 %"
    assert "[20.6, 21.8]" not in found.sentence + str(found.cards)


def test_bounds_of_a_mean_are_of_the_known_values(answer):
    records = rated(12.5, 11, 14, "general", "target_mean")
    records += bounded("general", 0.9, 1.0, worst=(10.0, 19.5))
    sentence = answer("general", records, outcome="debt", names=[]).sentence
    assert (
        "over all 1,000 rows, debt is between 10.00 and 19.50 on average: 10 % of them" in sentence
    )
    assert "the largest that is known" in sentence and "twice" not in sentence


@pytest.mark.parametrize("share, told", [(0.98, True), (1.0, False)])
def test_a_small_share_without_data_is_one_short_sentence(answer, share, told):
    records = rated(0.212, 0.206, 0.218, "unlabeled") + swept("unlabeled")
    records += bounded("unlabeled", share, 0.0, worst=(0.2, 0.23))
    found = answer("unlabeled", records)
    assert "[20.6, 21.8]" in found.sentence
    assert any("98.0 % of the 300 rows" in text for text in found.rest) == told


@pytest.mark.parametrize("share, told", [(1.0, ""), (0.96, ""), (0.9, "10 %"), (0.82, "18 %")])
def test_rows_like_none_with_an_outcome_are_told_beside_the_number_they_are_in(answer, share, told):
    records = rated(0.212, 0.206, 0.218, "general") + swept("general")
    records += rated(0.4, 0.35, 0.45, "general", part="unlabeled")
    place = {"metric": "supported_share", "target": "general"}
    records += [place | {"value": 0.97}, place | {"value": share, "part": "unlabeled"}]
    sentence = answer("general", records).sentence
    said = f"[35.0, 45.0] have default = 1 ({told} of these are like no row that has one); of all"
    assert (said in sentence) == bool(told) and ("are like no row" in sentence) == bool(told)


def test_what_is_delivered_is_named_by_its_parts(answer):
    parts = [["Logistic regression", 0.402], ["Gradient boosting", 0.596], ["Weighted", 0.002]]
    told = answer("unlabeled", rated(0.3, 0.2, 0.4, "unlabeled"), parts=parts).rest
    assert any(
        "the combined model (60 % Gradient boosting; 40 % Logistic regression) has" in text
        for text in told
    )
