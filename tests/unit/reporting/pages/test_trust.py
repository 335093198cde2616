"""How far to trust an answer, in words, by hand-made numbers."""

import pandas as pd
import pytest
import report_rates as rates
from counterweight.numerics.sensitivity import EITHER, MOST
from counterweight.reporting.charts.selection_figures import _told_of_gamma
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import trust as page
from counterweight.reporting.sheets import Line, build
from counterweight.tables.parquet import metrics_table

#: Who was chosen, for a table of one's own.
CHOSEN = [{"metric": "delivered", "part": "ramp", "value": 1.0}]


def numbers(plan=(), **sources):
    """A study of two methods with the records of each source."""
    methods = [rates.method("svm"), rates.method("ramp")]
    made = rates.study("A", methods, {}, test_share=0.0) | dict(plan)
    by_target = [
        (name, [{"target": made["targets"][0]} | one for one in records])
        for name, records in sources.items()
    ]
    frames = [metrics_table("mine", *one).to_pandas() for one in by_target]
    return StudyNumbers("mine", made, pd.concat(frames, ignore_index=True))


def swept(metric, ends, **place):
    """Records of the ends of a quantity at each Γ, `ends` as {Γ: (least, most)}."""
    return [
        {"metric": metric, "setting": f"gamma={gamma}", "variable": end, "value": value} | place
        for gamma, pair in ends.items()
        for end, value in zip(("least", "most"), pair, strict=True)
    ]


def series(metric, values, **place):
    """Records of a metric, a repeat each."""
    return [
        {"metric": metric, "repeat": repeat, "value": value} | place
        for repeat, value in enumerate(values)
    ]


RATE = {1.0: (0.22, 0.22), 2.0: (0.18, 0.27), 10.0: (0.05, 0.6)}


def test_ranges_are_in_the_unit_of_what_is_swept():
    (rate,) = page.swept_of(numbers(delivered=CHOSEN + swept("swept_rate", RATE)))
    assert rate.source == "delivered" and rate.range(2.0) == "18.0 to 27.0 %"
    assert rate.sentence == (
        "Rate of outcome = 1, everyone: 22.0 % if missing at random, 18.0 to 27.0 % at Γ = 2"
    )
    ends = {1.0: (1234.0, 1234.0), 2.0: (1000.0, 1500.0)}
    (mean,) = page.swept_of(numbers(delivered=CHOSEN + swept("swept_mean", ends)))
    assert mean.range(2.0) == "1,000 to 1,500" and not mean.common
    assert list(mean.ends("most")) == ["gamma=1.0", "gamma=2.0"]


def test_settings_are_in_the_order_of_the_numbers_and_not_of_the_texts():
    (rate,) = page.swept_of(numbers(delivered=CHOSEN + swept("swept_rate", RATE)))
    assert list(rate.ends("least")) == ["gamma=1.0", "gamma=2.0", "gamma=10.0"]
    assert [one.mean for one in rate.ends("most").values()] == [0.22, 0.27, 0.6]


def test_errors_of_the_bounds_widen_the_range_and_are_told():
    known = numbers(delivered=CHOSEN + swept("swept_rate", RATE, standard_error=0.01))
    (rate,) = page.swept_of(known)
    low, high = rate.at(2.0, "least").low, rate.at(2.0, "most").high
    assert low < 0.18 and high > 0.27
    assert rate.chance and rate.range(2.0) == f"{100 * low:.1f} to {100 * high:.1f} %"
    assert rate.sentence.endswith("at Γ = 2, sampling error included")


@pytest.mark.parametrize(
    ("plan", "centre", "around"),
    [
        ({}, "if missing at random", "missing at random"),
        ({"at_random": False}, "as assumed", "what is assumed"),
        ({"at_random": False, "tilt": {"times": 2}}, "with the tilt", "the tilt"),
    ],
)
def test_what_the_range_is_around_is_said(plan, centre, around):
    known = numbers(plan, delivered=CHOSEN + swept("swept_rate", RATE))
    first, second, *_ = page.how_wrong(known)
    assert f"Γ = 1 is {around};" in first and f"22.0 % {centre}, 18.0" in second
    caption = " ".join(_told_of_gamma(known, [*page.swept_of(known)]))
    assert f"Γ = 1 is {around}." in caption and caption.count("missing at random") == (not plan)


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_where_bounds_lead_it_is_said_of_which_rows_gamma_is(far):
    headline = [{"metric": "unsupported_headline", "value": far}]
    known = numbers(delivered=CHOSEN + swept("swept_rate", RATE) + headline)
    told = "Here Γ is of all rows, and the model is trusted for those like no labeled row."
    assert (told in page.how_wrong(known)) == (far == 1)


def test_nothing_is_said_where_nothing_was_swept():
    assert [*page.how_wrong(numbers(svm=[{"metric": "auc", "value": 0.7}]))] == []


def test_of_classifiers_the_model_of_the_chances_is_named_and_the_truth_beside_the_bounds():
    truth = [
        {"metric": "swept_rate", "variable": "truth", "value": 0.31},
        {"metric": "gamma_of_truth", "part": "swept_rate", "value": 2.5},
    ]
    known = numbers(svm=swept("swept_rate", RATE) + truth)
    told = [*page.how_wrong(known)]
    assert told[1].startswith("Swept are the chances that Svm gives, calibrated on labeled test")
    assert told[-1].endswith(
        "rate of outcome = 1, everyone is 31.0 %; the bounds contain it from Γ = 2.5 on."
    )


@pytest.mark.parametrize(
    ("gamma", "told"),
    [
        (1.0, "the bounds contain it at Γ = 1 already."),
        (1.005, "the bounds contain it at Γ = 1 already."),
        (1.1, "the bounds contain it from Γ = 1.10 on."),
        (2.5, "the bounds contain it from Γ = 2.5 on."),
        (MOST, f"it lies outside the bounds even at Γ = {MOST:g}."),
    ],
)
def test_the_gamma_of_the_truth_is_told_in_words_at_its_ends(gamma, told):
    truth = [{"metric": "gamma_of_truth", "part": "swept_rate", "value": gamma}]
    known = numbers(svm=swept("swept_rate", RATE) + truth)
    assert [*page.how_wrong(known)][-1].endswith(told)


def test_the_main_method_is_swept_with_the_truth_of_hidden_labels():
    accuracy = swept("swept_accuracy", {1.0: (0.8, 0.8), 2.0: (0.7, 0.9)})
    other = {gamma: (low + 0.1, high + 0.1) for gamma, (low, high) in RATE.items()}
    known = numbers(
        {"main": "ramp"},
        svm=swept("swept_rate", RATE) + [{"metric": "accuracy", "value": 0.8}],
        ramp=swept("swept_rate", other) + accuracy + [{"metric": "accuracy", "value": 0.83}],
    )
    rate, found = page.swept_of(known)
    assert rate.source == "ramp" and rate.range(2.0) == "28.0 to 37.0 %"
    assert "the chances that Ramp gives" in " ".join(page.how_wrong(known))
    assert found.title == "Accuracy of Ramp, everyone" and found.common
    assert found.range(2.0) == "70.0 to 90.0 %" and found.truth.mean == pytest.approx(0.83)


def turning(conclusion, **sides):
    return [
        {"metric": "turns_at", "part": conclusion, "variable": side, "value": value}
        for side, value in sides.items()
    ]


def test_a_conclusion_is_on_the_side_that_holds_longer():
    known = numbers(delivered=CHOSEN + turning("rate", above=1.0, below=2.5))
    side, turns = page.turns(known, "delivered", "rate", "general")
    assert side == "below" and turns.mean == 2.5
    assert page.turns(known, "delivered", "constant", "general")[0] == ""


def test_conclusions_say_where_they_turn():
    records = CHOSEN + swept("swept_rate", RATE) + turning("rate", above=1.5, below=1.0)
    records += turning("constant", above=3.0) + turning("svm", below=2.0)
    records += [{"metric": "decisions_open", "value": 0.125}]
    rate, constant, reference, open_ = page.conclusions(numbers(delivered=records), "general")
    assert rate.startswith("The rate of outcome = 1 among everyone is above that of the labeled")
    assert "(Γ = 1.50)" in rate
    assert constant.startswith("Ramp decides right more often than one answer for all")
    assert reference.startswith("Ramp decides right less often than Svm") and "2.0" in reference
    assert open_.startswith("12.5 % of the decisions on rows without a label would turn")


@pytest.mark.parametrize(
    ("gain", "ends", "told"),
    [
        (3.04, (0.4, 5.7), "Ramp decides right more often than Svm (+3.0 points [0.4, 5.7]): "),
        (
            -3.04,
            (-5.7, -0.4),
            "Ramp decides right less often than Svm (−3.0 points [−5.7, −0.4]): ",
        ),
        (-0.2, (-1.5, 1.1), "Whether Ramp decides right more often than Svm (−0.2 points [−1.5, "),
        (0.0, (0.0, 0.0), "Whether Ramp decides right more often than Svm (0.0 points"),
    ],
)
def test_a_gain_that_chance_makes_is_no_conclusion(gain, ends, told):
    above, below = (2.0, 1.0) if gain > 0 else (1.0, 2.0)
    records = CHOSEN + turning("svm", above=above, below=below)
    place = {"metric": "right_gain", "part": "svm"}
    records.append(place | {"value": gain, "standard_error": 1.0})
    variables = zip(("low", "high"), ends, strict=True)
    records += [place | {"variable": end, "value": value} for end, value in variables]
    (text,) = page.conclusions(numbers(delivered=records), "general")
    assert text.startswith(told)
    assert ("Γ = 2.0" in text) == told.startswith("Ramp") != ("do not tell" in text)


def test_a_rate_whose_interval_holds_that_of_the_labeled_rows_is_not_above_it():
    records = CHOSEN + swept("swept_rate", RATE) + turning("rate", above=1.5, below=1.0)
    value = {"metric": "e_value", "part": "rate", "variable": "interval"}
    for nearer, said in ((1.0, 0), (1.2, 1)):
        known = numbers(delivered=[*records, value | {"value": nearer}])
        assert len([*page.conclusions(known, "general")]) == said


def test_of_others_than_the_rows_of_the_table_nothing_is_said_of_rows_without_an_outcome():
    plan = {"at_random": False, "whom": "those that answers are for"}
    value = {"metric": "e_value", "part": "rate", "value": 2.3}
    records = CHOSEN + swept("swept_rate", RATE) + [value, value | {"variable": "interval"}]
    records.append({"metric": "decisions_open", "value": 0.125})
    known = numbers(plan, delivered=records)
    told = " ".join([*page.how_wrong(known), *_told_of_gamma(known, [*page.swept_of(known)])])
    assert "rows without a" not in told and "having no outcome" not in told
    assert "12.5 % of the decisions on those that answers are for would turn" in told


def test_over_repeats_the_range_of_a_breakdown_value_is_told():
    records = [one | {"repeat": k} for k in range(3) for one in turning("rate", above=1.5 + k)]
    known = numbers(delivered=CHOSEN + records)
    _, turns = page.turns(known, "delivered", "rate", "general")
    assert page.turn("So it is", turns).endswith("on average, 1.5 to 3.5 over 3 splits.")
    held = [one | {"repeat": k} for k in range(3) for one in turning("rate", above=MOST)]
    _, turns = page.turns(numbers(delivered=CHOSEN + held), "delivered", "rate", "general")
    assert page.turn("So it is", turns) == (
        f"So it is: this holds up to Γ = {MOST:g} (the largest looked at)."
    )


def of_columns(either=None):
    """Records on hidden columns as strong as two that are seen."""
    made = []
    known = {"age": (3.0, 4.0, 2.0, (0.1, 0.4)), "city": (1.5, 1.6, 1.4, (0.2, 0.3))}
    if either:
        known[EITHER] = (either, 4.0, 4.0, (0.05, 0.6))
    for part, (gamma, selection, outcome, ends) in known.items():
        for which, value in (("", gamma), ("selection", selection), ("outcome", outcome)):
            place = {"metric": "column_gamma", "part": part, "variable": which}
            made.append(place | {"value": value})
        for end, value in zip(("least", "most"), ends, strict=True):
            place = {"metric": "column_range", "part": part, "variable": end}
            made.append(place | {"value": value})
    return made


def test_a_hidden_column_is_held_against_the_strongest_that_is_seen():
    records = CHOSEN + swept("swept_rate", RATE)
    (told,) = page.by_columns(numbers(delivered=records + of_columns(3.0)), "general")
    assert "as strong as age, the strongest" in told and "Γ = 3.0" in told
    assert "from 10.0 to 40.0 %" in told and "up to 4.0, those of the outcome by up to 2.0" in told
    _, more = page.by_columns(numbers(delivered=records + of_columns(3.5)), "general")
    assert "would mean Γ = 3.5" in more and "from 5.0 to 60.0 %" in more
    lines = [line.label for line in page._column_lines(numbers(delivered=records + of_columns(9)))]
    assert lines == [EITHER, "age", "city"]


@pytest.mark.parametrize(
    ("nearer", "told"),
    [(1.4, "for the nearer end of its interval, of 1.40."), (1.0, "holds the rate of the labeled")],
)
def test_an_e_value_says_whether_its_interval_reaches_1(nearer, told):
    value = {"metric": "e_value", "part": "rate", "value": 2.345}
    records = CHOSEN + swept("swept_rate", RATE) + [value]
    records.append(value | {"variable": "interval", "value": nearer})
    (text,) = page.by_columns(numbers(delivered=records), "general")
    assert "by a risk ratio of 2.3 beyond" in text and told in text
    numeric = [one for one in records if one["metric"] != "swept_rate"]
    (text,) = page.by_columns(numbers(delivered=numeric), "general")
    assert "make the mean of" in text and "corresponds to a risk ratio of 2.3" in text


@pytest.mark.parametrize(
    ("value", "told"),
    [(1.2345, "1.23"), (1.949, "1.95"), (1.96, "2.0"), (100.0, "100.0"), (101, "100 and more")],
)
def test_factors_have_the_digits_that_their_size_needs(value, told):
    assert page._factor(value) == told


def test_the_sheet_by_gamma_has_a_line_for_each_gamma():
    table = build(page.BY_GAMMA, numbers(delivered=CHOSEN + swept("swept_rate", RATE)))
    assert [row.label for row in table.rows] == ["Γ = 1", "Γ = 2", "Γ = 10"]
    assert [cell.text for cell in table.rows[1].cells] == ["18.0 %", "27.0 %"]


def rehearsed(setting, part, held, rows=8, **more):
    """Records of how often the truth was held on copies, and of anything else there."""
    place = {"setting": setting, "part": part, "rows": rows}
    known = {"held": held, "off": 0.01} | more
    return [place | {"metric": f"rehearsed_{what}", "value": v} for what, v in known.items()]


def test_copies_are_counted_by_scenario():
    records = rehearsed("assumed", "unlabeled", 0.875) + rehearsed("outcome=2.0", "unlabeled", 0.5)
    known = numbers(rehearsal=records)
    (told,) = page.rehearsed(known)
    assert told.endswith(
        "held it in 7 of 8 if what is assumed is so, in 4 of 8 if their odds are 2 times what "
        "is assumed, or 1/2 of it."
    )
    assert page._rows_of(known, "assumed") == 8 and page._rows_of(known, "hidden") == 0
    assert [*page.rehearsed(numbers(svm=[{"metric": "auc", "value": 0.7}]))] == []


def test_of_other_tables_each_answer_is_told_and_a_share_of_people_in_percent():
    records = rehearsed("assumed", "the value", 0.75) + rehearsed("assumed", "offers", 0.777)
    records.append({"metric": "rehearsed_refused", "value": 0.25, "rows": 8})
    first, second, refused = page.tried_on_copies(numbers(rehearsal=records))
    assert "the value was within what was told in 6 of 8 copies if what is assumed is so." in first
    assert "offers was within what was told for 77.7 % of the people of 8 copies if" in second
    assert refused == "In 25.0 % of the copies nothing could be delivered."


@pytest.mark.parametrize(
    ("best", "loss", "told"),
    [
        ((0.25, 0.75), (0.5, 0.6), ": it is what is delivered."),
        (
            (0.75, 0.25),
            (0.5, 0.6),
            "in 2. Over all copies its mean loss is 0.1000 larger than that of Svm.",
        ),
        (
            (0.75, 0.25),
            (0.65, 0.6),
            "in 2. Over all copies its mean loss is 0.0500 smaller than that of Svm.",
        ),
    ],
)
def test_the_best_method_on_copies_stands_beside_the_delivered_one(best, loss, told):
    records = rehearsed("assumed", "unlabeled", 0.875)
    for name, first, second in zip(("Svm", "Ramp"), best, loss, strict=True):
        place = {"setting": "assumed", "part": "unlabeled", "variable": name, "rows": 8}
        records.append(place | {"metric": "rehearsed_best", "value": first})
        records.append(place | {"metric": "rehearsed_mean_loss", "value": second})
    (text,) = page.best_methods(numbers(delivered=CHOSEN, rehearsal=records))
    first = "Ramp" if best[1] > best[0] else "Svm"
    assert text.startswith(f"In 6 of 8 copies (what is assumed is so) {first} had the least loss")
    assert text.endswith(told)


def test_lines_of_a_rehearsal_are_of_everyone_only_where_everyone_is_the_target():
    records = rehearsed("assumed", "unlabeled", 0.875) + rehearsed("assumed", "", 0.5)
    labels = [line.label for line in page._rehearsal_lines(numbers(rehearsal=records))]
    assert labels == ["What is assumed is so: rows without an outcome"] + [
        "What is assumed is so: everyone"
    ]
    some = numbers({"targets": ["unlabeled"]}, rehearsal=records)
    assert len([*page._rehearsal_lines(some)]) == 1
    others = numbers(rehearsal=rehearsed("assumed", "offers", 0.5))
    (line,) = page._rehearsal_lines(others)
    assert line.label == "What is assumed is so: offers" and line.place["part"] == "offers"


def test_fits_that_fell_short_and_updates_held_back_are_counted():
    told = series("converged", [1.0, 0.0, 0.5]) + series("components_held", [2.0, 1.0])
    told += series("converged", [0.0], target="")
    short, held = page.fits(numbers(svm=told))
    assert short == "2 of 3 fits did not converge fully (Svm)."
    assert held == "3 component updates were held back for lack of rows."
    assert [*page.fits(numbers(svm=series("accuracy", [0.7])))] == []


def test_weights_are_told_by_effective_rows_and_the_worst_feature():
    rows = [{"metric": "effective_sample_size", "value": 50.0, "rows": 200, "target": "general"}]
    for part, value in (("age", -0.3), ("city", 0.2)):
        rows.append({"metric": "balance_after", "part": part, "value": value, "target": "general"})
    for part, predicted, observed in (("0", 0.1, 0.2), ("1", 0.6, 0.3)):
        for which, value in (("predicted", predicted), ("observed", observed)):
            place = {"metric": f"calibration_{which}", "part": part, "target": "general"}
            rows.append(place | {"value": value})
    known, line = numbers(w=rows), Line("w", "W")
    assert page._share_of_rows(known, line).mean == pytest.approx(50 / 200)
    assert page._worst("balance_after")(known, line).mean == pytest.approx(0.3)
    assert page._calibration_gap(known, line).mean == pytest.approx((0.1 + 0.3) / 2)
    nothing = Line("none", "None")
    assert not page._share_of_rows(known, nothing).known
    assert not page._worst("balance_after")(known, nothing).known
    assert not page._calibration_gap(known, nothing).known
