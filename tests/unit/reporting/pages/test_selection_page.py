"""Pages of studies with selected labels, by hand-made numbers."""

import numpy as np
import pandas as pd
import pytest
import report_rates as rates
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import selection_page as page
from counterweight.reporting.sheets import Line, given
from counterweight.tables.parquet import metrics_table

ORACLE = {"role": "bound", "oracle": True}
METHODS = [
    rates.method("svm", model="m"),
    rates.method("ramp", model="m", weights="w", label="Weighted"),
    rates.method("seeing", model="m", label="Seeing", **ORACLE),
    rates.method("other", model="n", label="Other", weights="w"),
]
SVM, WEIGHTED, SEEING = [0.70, 0.71, 0.72], [0.75, 0.762, 0.77], [0.80, 0.811, 0.82]


def series(metric, values, **place):
    place = {"target": "general"} | place
    return [
        place | {"metric": metric, "repeat": repeat, "value": value}
        for repeat, value in enumerate(values)
    ]


def numbers(plan=(), labels=(), **sources):
    made = rates.study("A", METHODS, {}, test_share=0.0, main="ramp", columns=["accuracy"])
    made |= dict(plan)
    by_source = sources | ({"labels": labels} if labels else {})
    frames = [metrics_table("mine", *one).to_pandas() for one in by_source.items()]
    return StudyNumbers("mine", made, pd.concat(frames, ignore_index=True))


def accuracies(**values):
    return {name: series("accuracy", known) for name, known in values.items()}


def test_what_is_made_up_for_is_a_share_of_what_hidden_labels_would_add():
    known = numbers(**accuracies(svm=SVM, ramp=WEIGHTED, seeing=SEEING))
    text = page.made_up_for(known, "accuracy", "general")
    gained, most = np.mean(WEIGHTED) - np.mean(SVM), np.mean(SEEING) - np.mean(SVM)
    assert f"Weighted makes up for {100 * gained / most:.0f} % (+" in text
    assert text.startswith("Of what hidden labels would add to the accuracy on everyone, +10.0")
    assert "came out best" not in text
    better = numbers(**accuracies(svm=SVM, ramp=WEIGHTED, seeing=SEEING, other=[0.78, 0.79, 0.80]))
    assert "no hidden label Other came out best: 8" in page.made_up_for(
        better, "accuracy", "general"
    )
    worse = numbers(**accuracies(svm=SVM, ramp=[0.6, 0.62, 0.61], seeing=SEEING))
    assert "makes up for nothing (" in page.made_up_for(worse, "accuracy", "general")


@pytest.mark.parametrize(
    ("plan", "seeing"),
    [
        ({"main": "other"}, SEEING),  # another model than the baseline's
        ({"main": "svm"}, SEEING),  # no weights
        ({}, [0.6, 0.85, 0.7]),  # nothing beyond chance
    ],
)
def test_nothing_is_said_where_something_else_is_asked(plan, seeing):
    told = accuracies(svm=SVM, ramp=WEIGHTED, seeing=seeing, other=WEIGHTED)
    assert page.made_up_for(numbers(plan, **told), "accuracy", "general") == ""


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.25, "“no” would score 75.0 %"), (0.5, "“no”"), (0.75, "“yes” would score")],
)
def test_a_constant_answer_is_the_floor_under_the_accuracy(share, told):
    labels = series("positive_share", [share], part="target")
    found = page.answer(numbers(labels=labels, **accuracies(svm=SVM, ramp=WEIGHTED)))
    assert any(f"Always answering {told}" in text for text in found.more)
    without = page.answer(numbers(**accuracies(svm=SVM, ramp=WEIGHTED)))
    assert not any("Always" in text for text in without.more)


@pytest.mark.parametrize(("rate", "times"), [(0.1, "counts 10 times"), (0.5, "counts 2 times")])
def test_rows_that_were_kept_at_a_rate_count_for_those_that_were_lost(rate, times):
    told = accuracies(svm=SVM, ramp=WEIGHTED)
    (text,) = page.kept(numbers({"keep_rate": rate}, **told))
    assert f"l = {rate:g}" in text and text.endswith(f"{times}.")
    told["ramp"] += series("effective_rows", [123.0])
    (text,) = page.kept(numbers({"keep_rate": rate}, **told))
    assert text.endswith("They are worth 123 rows of equal weight.")
    assert [*page.kept(numbers({"keep_rate": 1.0}, **told))] == []


@pytest.mark.parametrize(
    ("seeing", "told"),
    [
        (SEEING, "helps beyond what weights repair"),
        ([0.70, 0.76, 0.79], "does not help beyond what weights repair"),
        ([0.65, 0.661, 0.67], "does not help beyond what weights repair"),
    ],
)
def test_hidden_labels_help_where_the_interval_lies_on_the_better_side(seeing, told):
    known = numbers(**accuracies(svm=SVM, ramp=WEIGHTED, seeing=seeing))
    (text,) = page.missing_at_random(known)
    assert text.startswith(f"Seeing the hidden labels {told}")
    loss = {"columns": ["log_loss"]}
    turned = {"svm": SVM, "ramp": WEIGHTED, "seeing": seeing}
    made = {name: series("log_loss", [1 - one for one in v]) for name, v in turned.items()}
    (less,) = page.missing_at_random(numbers(loss, **made))
    assert less.startswith(f"Seeing the hidden labels {told}")


def test_without_weights_or_a_bound_nothing_is_said_of_missing_at_random():
    told = accuracies(svm=SVM, ramp=WEIGHTED, seeing=SEEING)
    assert [*page.missing_at_random(numbers({"main": "svm"}, **told))] == []
    methods = [one for one in METHODS if one["id"] != "seeing"]
    del told["seeing"]
    assert [*page.missing_at_random(numbers({"methods": methods}, **told))] == []


def test_rows_behind_the_numbers_are_counted_by_part():
    labels = series("rows_labeled", [1200.0], target="") + series("rows_test", [300.0])
    (text,) = page.sizes(numbers({"repeats": 5}, labels=labels, **accuracies(svm=SVM)))
    assert text == "1,200 labeled and 300 test rows in each of 5 random splits."
    (text,) = page.sizes(numbers({"repeats": 1}, labels=labels, **accuracies(svm=SVM)))
    assert text == "1,200 labeled and 300 test rows in one random split."


def tilts(left, assumed=1.0):
    made = series("gap_left", [left]) + series("label_shift_assumed", [assumed])
    return made + [{"metric": "delta", "target": "general", "value": 0.7, "standard_error": 0.1}]


@pytest.mark.parametrize(("left", "holds"), [(0.1, True), (0.25, True), (0.26, False)])
def test_a_gap_of_more_than_a_quarter_speaks_against_a_label_shift(left, holds):
    told = accuracies(svm=SVM) | {"ramp": tilts(left)}
    *_, text = page.assumptions(numbers(**told))
    assert f"{100 * left:.0f} % is left after tilting" in text
    assert ("speaks for that assumption" in text) == holds
    assert page._tilt_error(numbers(**told), Line("ramp", "")).mean == pytest.approx(0.1)
    given = accuracies(svm=SVM) | {"ramp": tilts(left, 0.0)}
    assert len([*page.assumptions(numbers(**given))]) == 1
    assert [*page.assumptions(numbers(**accuracies(svm=SVM)))] == []


def test_a_tilt_is_of_the_unlabeled_where_they_are_a_target():
    told = accuracies(svm=SVM)
    assert page._tilt_target(numbers({"targets": ["general", "unlabeled"]}, **told)) == "unlabeled"
    assert page._tilt_target(numbers({"targets": ["general"]}, **told)) == "general"


def test_segments_have_lines_of_their_own_whose_intervals_hold_all_at_once():
    place = {"metric": "paired_difference", "measure": "auc", "target": "general"}
    made = [place | {"value": 0.1}, place | {"part": "young", "value": 0.2}]
    known = numbers({"protocol": {"name": "metrics", "options": {"against": "svm"}}}, ramp=made)
    lines = [*page._compared_lines(known)]
    assert [line.label for line in lines] == ["Weighted", "Weighted: young"]
    assert page._compared(known, lines[1], "auc").mean == 0.2
    assert page._compared_note(known).endswith("hold all at once (Bonferroni).")
    assert page._compared_note(numbers(ramp=made[:1])) == "Paired differences. "
    assert page._compared_caption(known) == "Against Svm, on the same rows"
    assert len([*page._compared_columns(known)]) == 1


def test_swept_methods_are_left_to_the_figure_that_shows_them():
    swept = [one | {"sweep": {"l2": [1, 2]}} if one["id"] == "other" else one for one in METHODS]
    told = accuracies(svm=SVM, ramp=WEIGHTED, other=WEIGHTED)
    for figures, sources in ((["sensitivity"], {"svm", "ramp", "seeing"}), ([], {"other"})):
        known = numbers({"methods": swept, "figures": figures}, **told)
        found = page.table(known, "general", lambda *_: "")
        assert sources <= {*found["method"]} and ("other" in {*found["method"]}) == (not figures)


def test_what_is_recovered_is_told_of_neither_the_baseline_nor_the_bound():
    known = numbers(**accuracies(svm=SVM, ramp=WEIGHTED, seeing=SEEING))
    columns = given(page.results_sheet("general").columns, known)
    (column,) = [one for one in columns if one.label == "Recovered"]
    of = {name: column.value(known, Line(name, "")) for name in ("svm", "ramp", "seeing")}
    assert not of["svm"].known and not of["seeing"].known
    assert of["ramp"].mean == pytest.approx(page.recovered(known, "accuracy")[0])
