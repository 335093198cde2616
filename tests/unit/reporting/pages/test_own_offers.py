"""What pages of offers say of limits and of the next experiment, by hand-made numbers."""

import re
from types import SimpleNamespace

import pandas as pd
import pytest
import report_rates as rates
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import own_offers as page
from counterweight.reporting.pages.offers_page import at_an_end, pooled_levels, untold
from counterweight.tables.parquet import metrics_table, write_table


def numbers(*records):
    made = rates.study("A", [rates.method("svm")], {}, test_share=0.0)
    named = [dict(zip(("metric", "value", "part"), one, strict=True)) for one in records]
    known = [{"target": "general", "rows": 4} | one for one in named]
    return StudyNumbers("mine", made, metrics_table("mine", "delivered", known).to_pandas())


def limit(name, **known):
    return [(f"limit_{what}", value, name) for what, value in known.items()]


@pytest.mark.parametrize(
    ("direction", "revenue", "told"),
    [("up", None, True), ("up", {"intercept": 40, "slope": -1}, False), ("down", None, False)],
)
def test_what_an_accepted_offer_earns_is_told_where_nobody_said_it(direction, revenue, told):
    known = SimpleNamespace(plan={"offer": {"direction": direction, "revenue": revenue}})
    assert ("say offer.revenue to have amounts" in page.taken_to_earn(known)) == told


@pytest.mark.parametrize(
    ("value", "told"), [(0.0009, "< .001"), (0.001, "= .001"), (0.0449, "= .045"), (0.5, "= .5")]
)
def test_small_chances_of_a_test_are_told_as_such(value, told):
    assert page._p(value) == told


@pytest.mark.parametrize(
    ("free", "told"), [(200.0, " 50.0 % less than without"), (100.0, None), (90.0, None)]
)
def test_what_limits_cost_is_a_share_of_the_best_offers(free, told):
    known = numbers(("allotted_revenue", 100.0, ""), ("allotted_free", free, ""))
    (text,) = page.within_limits(known)
    assert (told or "in all, as without") in text and ("less than" in text) == bool(told)
    assert "people get none" not in text and "best people first" not in text


def test_limits_are_told_by_their_own_part_with_what_one_more_would_earn():
    base = [("allotted_revenue", 100.0, ""), ("allotted_free", 120.0, "")]
    base += [("allotted_greedy", 90.0, ""), ("allotted_none", 7.0, "")]
    capacity = limit("capacity", used=50.0, bound=50.0, price=1.5, confidence=0.9)
    quality = limit("quality", used=3.2, bound=3.0, price=0.5)
    share = limit("share", used=0.4, bound=0.3, price=0.0)
    known = numbers(*base, *capacity, *quality, *share)
    assert page.limits_of(known) == ["capacity", "quality", "share"]
    first, one, two, three = page.within_limits(known)
    assert "the rule of the best people first would earn 90" in first and "; 7 people get" in first
    assert "at most 50" in one and "kept with confidence 90 %" in one and "one more would" in one
    assert "at least 3" in two and "one more" not in two and "changes nothing" not in two
    assert three.endswith("were requested; it changes nothing.")
    assert page.requested(known, "limit_used", "budget") is None
    assert "over answers" not in one and "answers alone" not in one
    for fit, words in ((1.0, "over what the fit is not sure of"), (0.0, "answers alone")):
        counted = numbers(*base, *capacity, ("limit_confidence_fit", fit, "capacity"))
        (told,) = [text for text in page.within_limits(counted) if "kept with" in text]
        assert words in told


def test_offers_that_keep_limits_lead_where_the_best_ones_cannot_be_had(tmp_path):
    table = pd.DataFrame(
        {"best_offer": [5.0, 6.0], "best_revenue": [4.0, 4.0], "revenue": [1.0, 1.0]}
        | {"allotted_offer": [9.0, float("nan")], "allotted_revenue": [3.0, 0.0]}
    )
    write_table(tmp_path / "offers.parquet", table)
    known = SimpleNamespace(
        folder=tmp_path,
        delivered=(True,),
        places=lambda *names: [],
        rows=numbers(("allotted_revenue", 3.0, "")).rows,
    )
    sentence, cards = page.in_total(known)
    assert sentence.startswith("Within the limits, 1 of 2 people get an offer")
    assert "median 9" in sentence and "bring 3.000 in all, 1.500 a person, by the" in sentence
    assert "without limits it would be 8.000" in sentence
    assert cards[0].label.endswith("within the limits") and cards[0].value == "1.500"
    table = table.drop(columns=["allotted_offer", "allotted_revenue"])
    write_table(tmp_path / "offers.parquet", table)
    known.rows = numbers().rows
    assert page.in_total(known)[0].startswith("With the best offer for each person (median 5.50)")
    (text,) = page.claimed(known)
    assert text.startswith("best_revenue of offers.csv is the model's own claim, 4.000 on average")
    assert "and 8.000 in all. The largest" in text and text.endswith("expect less than that.")


def test_claims_are_lowered_and_have_an_interval_by_draws(tmp_path):
    table = pd.DataFrame(
        {"best_offer": [5.0, 6.0], "best_revenue": [4.0, 4.0], "revenue": [1.0, 1.0]}
        | {"allotted_offer": [9.0, float("nan")], "allotted_revenue": [3.0, 0.0]}
    )
    write_table(tmp_path / "offers.parquet", table)
    ends = [("expected_revenue_low", 3.0, ""), ("expected_revenue_high", 4.5, "")]
    ends += [("expected_revenue", 3.75, ""), ("expected_optimism", 0.25, "")]
    known = SimpleNamespace(
        folder=tmp_path, delivered=(True,), places=lambda *names: [], rows=numbers(*ends).rows
    )
    sentence, cards = page.in_total(known)
    form = "(the interval leaves out that the form of the model may be wrong)"
    assert f"to bring 3.750 [3.000, 4.500], by the model's own claim {form}, and all 2" in sentence
    assert "people 7.500" in sentence and (cards[0].value, cards[0].note[:5]) == ("3.750", "7.500")
    assert cards[0].interval == "[3.000, 4.500]"
    (text,) = page.claimed(known)
    assert "4.000 on average and 8.000 in all" in text and "by 0.25 a person by draws" in text
    assert text.endswith("that is taken off what the best offers bring by the model.")
    known.rows = numbers(*ends, ("expected_rough", 1.0, "")).rows
    said = [*page.claimed(known)][1]
    assert "is boosting, and what its offers bring is rough" in said and "at random first" in said
    drawn = ("expected_rough", 1.0, ""), ("offers_random", 1.0, "")
    known.rows = numbers(*ends, *drawn).rows
    assert [*page.claimed(known)][1].endswith("nothing taken off.")
    known.rows = numbers(*ends, ("expected_rough", 1.0, "")).rows
    within = [("allotted_revenue_low", 2.0, ""), ("allotted_revenue_high", 4.0, "")]
    known.rows = numbers(*ends, *within, ("allotted_revenue", 3.0, "")).rows
    sentence, cards = page.in_total(known)
    said = f"bring 3.000 [2.000, 4.000] in all, 1.500 a person, by the model's own claim {form};"
    assert said in sentence
    assert "without limits it would be 7.500" in sentence
    assert cards[0].interval == "[1.000, 2.000]"
    assert "nothing is taken off what offers within" in [*page.claimed(known)][0]


@pytest.mark.parametrize(("low", "outside"), [(1.0, False), (3.5, True)])
def test_offers_within_limits_are_told_by_answers_where_these_put_their_claim_right(
    tmp_path, low, outside
):
    table = pd.DataFrame(
        {"best_offer": [5.0, 6.0], "best_revenue": [4.0, 4.0], "revenue": [1.0, 1.0]}
        | {"allotted_offer": [9.0, float("nan")], "allotted_revenue": [3.0, 0.0]}
    )
    write_table(tmp_path / "offers.parquet", table)
    told = [("allotted_revenue", 3.0, ""), ("allotted_drawn", 4.0, "")]
    told += [("allotted_drawn_low", low, ""), ("allotted_drawn_high", 5.0, "")]
    told += [
        ("allotted_free", 8.0, ""),
        ("allotted_greedy", 2.0, ""),
        *limit("capacity", used=1.0, bound=1.0, price=1.0),
    ]
    for name, value in (("doubly_robust", 2.5), ("snips", 2.6)):
        told += [(f"drawn_{name}", value, "best"), (f"drawn_{name}_low", 2.0, "best")]
        told += [(f"drawn_{name}_high", 4.5, "best")]
    known = SimpleNamespace(
        folder=tmp_path,
        delivered=(True,),
        places=lambda *names: [],
        rows=with_records(
            numbers(*told), "delivered", [{"metric": "expected_revenue", "value": 4.0, "rows": 2}]
        ).rows,
    )
    sentence, cards = page.in_total(known)
    said = f"bring 4.000 [{low:.3f}, 5.000] in all, 2.000 a person, by the model's claim put right"
    assert said in sentence and ("(the claim itself, 3.000, is outside)" in sentence) == outside
    assert "; without limits it would be 5.000;" in sentence
    assert (cards[0].value, cards[0].interval) == ("2.000", f"[{low / 2:.3f}, 2.500]")
    first = [*page.within_limits(known)][0]
    assert first.startswith("Offers within the limits bring 4.000 in all, 20.0 % less than without")
    assert "by the model's own claim it is 3.000, and the rule of the best people" in first
    assert "best_revenue of offers.csv is the model's own claim" in [*page.claimed(known)][0]


def test_the_first_sentence_says_where_few_offers_were_made(tmp_path):
    table = pd.DataFrame({"best_offer": [20.0, 40.0], "best_revenue": 15.0, "revenue": 14.0})
    write_table(tmp_path / "offers.parquet", table)
    levels = [("uniform_revenue", 15.0, "20"), ("uniform_revenue", 14.0, "40")]
    known = SimpleNamespace(
        folder=tmp_path,
        delivered=(True,),
        places=lambda *names: [part for _, _, part in levels],
        rows=numbers(*levels, ("offers_only_made", 1.0, "")).rows,
    )
    first = page.in_total(known)[0]
    assert "(of those that were made, 20 and 40; median 30.00) a person" in first
    levels += [("uniform_revenue", 1.0, str(at)) for at in (50, 60, 70, 80)]
    known.rows = numbers(*levels, ("offers_only_made", 1.0, "")).rows
    assert "(of those that were made, 6 from 20 to 80; median 30.00)" in page.in_total(known)[0]
    known.rows = numbers(*levels, ("offers_untried", 0.5, "")).rows
    first = page.in_total(known)[0]
    assert "for each person (median 30.00) a person" in first
    said = "by the model's own claim (for 50 % of the people nothing like the best offer was tried"
    assert said in first


@pytest.mark.parametrize("refuted", [True, False])
@pytest.mark.parametrize("limited", [True, False])
def test_answers_lead_where_they_refute_the_claim_of_the_model(tmp_path, refuted, limited):
    table = pd.DataFrame({"best_offer": [10.0] * 4, "best_revenue": 8.0, "revenue": 5.5})
    if limited:
        table = table.assign(allotted_offer=12.0, allotted_revenue=3.0)
    write_table(tmp_path / "offers.parquet", table)
    low = 8.2 if refuted else 7.999
    told = [("single_instead", 1.0, ""), ("single_drawn", 10.0, ""), ("expected_revenue", 8.0, "")]
    for name, value, part in (("snips", 8.84, "single"), ("snips", 5.0, "past")):
        told += [(f"drawn_{name}", value, part), (f"drawn_{name}_low", low, part)]
        told += [(f"drawn_{name}_high", 9.3, part)]
    told += [("drawn_doubly_robust", 8.83, "single"), ("drawn_doubly_robust_low", 8.2, "single")]
    told += [("drawn_doubly_robust_high", 9.3, "single")]
    told += [("allotted_revenue", 12.0, "")] * limited
    known = SimpleNamespace(
        folder=tmp_path,
        delivered=(True,),
        places=lambda *names: [],
        rows=with_records(numbers(*told), "delivered", []).rows,
    )
    sentence, cards = page.in_total(known)
    if limited:
        # Without limits it is what the first sentence would say without them.
        free = "35.36 by answers alone, which refute the model's 32.00;" if refuted else "35.32;"
        assert f"without limits it would be {free}" in sentence
        assert "bring 12.00 in all, 3.000 a person, by the model's own claim;" in sentence
    elif refuted:
        assert sentence.startswith(
            "With one offer of 10 to everybody a person is expected to bring "
            "8.840 [8.200, 9.300], by answers alone, and all 4 people 35.36; with past offers it "
            "is 5.000 a person"
        )
        assert "The model's own claim, 8.000, is refuted by these answers" in sentence
        assert (cards[0].value, cards[0].interval) == ("8.840", "[8.200, 9.300]")
        assert "by answers alone" in cards[0].note and len(cards) == 2
        assert cards[1].value == "5.000"
    else:
        # Point and interval are of one estimate: of the claim put right by answers.
        assert "to bring 8.830 [8.200, 9.300], by the model's claim put right by" in sentence
        assert "(the claim itself, 8.000, is outside), and all 4 people 35.32" in sentence
        assert "refuted" not in sentence and cards[0].value == "8.830"
    assert ("which answers alone refute" in page.LEVELS.note(known)) == refuted


def test_an_interval_holds_what_its_ends_are_in_print():
    known = page.Estimate(mean=10.0, low=9.99997, high=10.00003)
    assert page._in_print(9.99985, known, held=True)[1]
    assert not page._in_print(9.99, known, held=True)[1]


def test_amounts_of_an_interval_have_the_same_decimals():
    known = page.Estimate(mean=11.414, low=8.8284, high=12.921)
    assert page._words(known) == "11.41 [8.83, 12.92]"
    known = page.Estimate(mean=0.2754, low=-1.1, high=1.214)
    assert page._words(known, 3, sign=True) == "+0.28 [\N{MINUS SIGN}1.10, 1.21]"
    sums = page.Estimate(mean=98.2, low=90.04, high=120.0)
    assert page._in_print(98.2, sums, whole=True) == ("98", "[90, 120]")


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-3, 1.0, 1e6])
def test_amounts_and_offers_have_their_figures_in_any_unit(unit):
    known = page.Estimate(mean=18.643 * unit, low=16.412 * unit, high=20.576 * unit)
    told = page._words(known).replace(",", "")
    shown = [float(text) / unit for text in re.findall(r"[\d.]+", told)]
    assert shown == pytest.approx([18.643, 16.412, 20.576], abs=0.006)
    offers = pd.Series([7.5, 12.5, 45.0]) * unit
    texts = [page.an_offer(one) for one in offers] + [page.middle(offers), page.amount(offers[1])]
    assert not any("e" in text for text in (told, *texts))
    assert [float(text.replace(",", "")) / unit for text in texts] == pytest.approx(
        [*offers / unit, 12.5, 12.5]
    )


def compared(random, past, single):
    """Records of what the best offers bring more: differences with ends one off."""
    names = ("drawn_over_past", ""), ("drawn_gain", "")
    if not random:
        names = ("expected_over", "past"), ("expected_over", "single")
    told = [("expected_revenue", 9.1, "")]
    for (name, part), value in zip(names, (past, single), strict=True):
        ends = (("", value), ("_low", value - 1), ("_high", value + 1))
        told += [(f"{name}{end}", one, part) for end, one in ends]
    if random:
        told += [("single_drawn", 15.0, ""), ("offers_random", 1.0, "")]
        told += [("drawn_doubly_robust", 9.0, "best"), ("drawn_doubly_robust_low", 8.0, "best")]
        told += [("drawn_doubly_robust_high", 10.0, "best")]
    return told


@pytest.mark.parametrize("random", [True, False])
@pytest.mark.parametrize(
    ("past", "single", "over"),
    [
        (0.5, 0.25, "past offers or one offer of 15 for all"),
        (2.0, -0.25, "one offer of 15 for all"),
        (0.5, 2.0, "past offers"),
        (2.0, 1.5, ""),
    ],
)
def test_a_gain_that_is_not_shown_leads_and_is_not_advised(tmp_path, random, past, single, over):
    table = pd.DataFrame({"best_offer": [12.0, 15.0], "best_revenue": 9.1, "revenue": 8.0})
    write_table(tmp_path / "offers.parquet", table)

    def known(*more):
        levels = {"metric": "uniform_revenue", "value": 9.0, "part": "12"}
        levels = [levels, levels | {"value": 9.1, "part": "15"}]
        made = with_records(numbers(*compared(random, past, single), *more), "delivered", levels)
        return SimpleNamespace(
            folder=tmp_path,
            delivered=(True,),
            plan={},
            **{name: getattr(made, name) for name in ("rows", "places", "get", "measured")},
        )

    said, steps = page.no_gain(known()), [*page.next_steps(known())]
    if not over:
        assert said is None and "the offers of the saved model" in steps[0]
        return
    sentence, step = said
    assert sentence.startswith(f"No gain of the best offer for each person over {over} is shown: ")
    assert ("put right by answers" in sentence) == random
    assert f"+{past:.2f} [" in sentence or "past" not in over
    assert steps[0] == step and step.startswith("Do not make each person an offer of their own")
    assert ("go on as before." in step.lower()) == ("past" in over)
    assert ("15, or go on" in step or "one offer 15" in step or "everybody 15." in step) == (
        "15" in over
    )
    # Limits have a say of their own.
    assert page.no_gain(known(("allotted_revenue", 3.0, ""))) is None
    # One offer for all is held against past ones alone.
    write_table(tmp_path / "offers.parquet", table.assign(best_offer=15.0))
    said = page.no_gain(known())
    assert (said is None) == ("past" not in over)
    assert said is None or said[0].startswith(
        "No gain of one offer of 15 to everybody over past offers is shown"
    )


def test_limits_cost_a_share_of_what_the_first_sentence_says_without_them():
    base = [("allotted_revenue", 90.0, ""), ("allotted_free", 120.0, "")]
    expected = [{"metric": "expected_revenue", "value": 5.0, "rows": 20}]
    (text,) = page.within_limits(with_records(numbers(*base), "delivered", expected))
    assert "10.0 % less than without" in text


def test_the_next_experiment_costs_a_share_of_the_best_levels():
    known = numbers(
        ("tried_revenue", 95.0, ""), ("level_revenue", 100.0, ""), ("tried_least_p", 0.05, "")
    )
    (text,) = page.within_limits(known)
    assert "at least 0.05)" in text and "5.0 % less than the best levels" in text
    assert [*page.within_limits(numbers())] == []


@pytest.mark.parametrize(
    ("offer", "told"),
    [
        ({"low": None, "high": None}, ["largest", "least"]),
        ({"low": 2.0, "high": 20.0}, ["largest"]),
        ({"low": 0.0, "high": 8.0}, ["least"]),
        ({"low": None, "high": None, "grid": [2, 5, 8]}, []),
        ({"low": None, "high": None, "grid": [1, 5, 9]}, ["largest", "least"]),
    ],
)
def test_best_offers_at_an_end_of_what_was_tried_are_told(tmp_path, offer, told):
    table = {"best_offer": [8.0, 8.0, 2.0, 5.0], "offered_min": 2.0, "offered_max": 8.0}
    write_table(tmp_path / "offers.parquet", pd.DataFrame(table))
    known = SimpleNamespace(
        folder=tmp_path, delivered=(True,), rows=numbers().rows, plan={"offer": offer}
    )
    ends = {"largest": "Of 50 % of the people", "least": "Of 25 % of the people"}
    said = [*at_an_end(known)]
    assert len(said) == len(told)
    for word, text in zip(told, said, strict=True):
        assert text.startswith(ends[word]) and f"is the {word} that was" in text
        assert f"({8 if word == 'largest' else 2})" in text


def test_rare_levels_that_carry_offers_are_told_from_a_hundredth_of_the_people():
    known = numbers(("offers_pooled", 0.123, "country"), ("offers_pooled", 0.004, "job"))
    (text,) = pooled_levels(known)
    assert text.startswith("Of 12 % of the people the offer goes by a value of country that few")
    (text,) = pooled_levels(numbers(("offers_pooled", 0.023, "job")))
    assert text.startswith("Of 2.3 % of the people the offer goes by a value of job")


@pytest.mark.parametrize("direction", ["down", "up"])
def test_answers_against_the_direction_come_before_all_and_change_what_to_do(direction):
    told = dict(zip(page.Against._fields, (5.086, 0.803, 0.355, 0.0), strict=True))
    known = numbers(*(("offers_against", value, part) for part, value in told.items()))
    known.plan["offer"] = {"direction": direction}
    said = page.against(known)
    assert said == page.Against(**told).words(direction) and f": {direction}:" in said
    assert "offers above 5.086, the mean, 80.3 % were accepted, of the others 35.5 %" in said
    (step,) = page.next_steps(known)
    assert step.startswith("Correct offer.direction")
    assert page.against(numbers(("expected_revenue", 1.0, ""))) == ""


def test_answers_that_go_together_are_told_in_the_words_of_the_saved_model():
    known = numbers(("offers_together", 600.0, "rows"), ("offers_together", 0.24, "correlation"))
    said = page.together(known)
    assert said == page.Together(600.0, 0.24).words()
    assert said.startswith("600 rows are alike others in every column") and "of 0.24)" in said
    assert page.together(numbers(("expected_revenue", 1.0, ""))) == ""


def with_records(known, source, records):
    more = metrics_table("mine", source, records).to_pandas()
    table = pd.concat([known.metrics, more], ignore_index=True)
    return StudyNumbers("mine", known.plan, table)


@pytest.mark.parametrize("blanks", [0.0, 30.0])
def test_what_to_do_next_knows_of_random_offers_and_of_people_without_an_answer(blanks):
    told = ("drawn_doubly_robust_low", 1.0, "best"), ("drawn_doubly_robust_high", 2.0, "best")
    labels = [{"metric": "rows_dropped", "value": blanks}]
    by_model = with_records(numbers(*told), "labels", labels)
    drawn = with_records(numbers(*told, ("offers_random", 1.0, "")), "labels", labels)
    steps = [[*page.next_steps(known)][-1] for known in (by_model, drawn)]
    assert steps[0].startswith("These are expectations of a model.")
    assert "expectations of a model" not in steps[1] and "at random, too" in steps[1]
    for step in steps:
        assert ("people in the table without an answer" in step) == bool(blanks)
        assert ("people whom you add without an answer" in step) == (not blanks)


def test_one_offer_for_all_is_the_same_one_by_answers_where_past_offers_were_random():
    levels = {"metric": "uniform_revenue", "value": 19.9, "part": "10"}
    levels = [levels, levels | {"value": 20.0, "part": "15"}]
    (card,) = page._one_for_all(with_records(numbers(), "delivered", levels), 100)
    assert card.label.endswith("by the model") and "with 15 for everybody" in card.note
    drawn = [("drawn_snips", 20.2, "single"), ("drawn_snips_low", 19.0, "single")]
    drawn += [("drawn_snips_high", 21.0, "single"), ("single_drawn", 10.0, "")]
    (card,) = page._one_for_all(with_records(numbers(*drawn), "delivered", levels), 100)
    assert card.label.endswith("by answers") and "with 10 for everybody" in card.note
    assert (card.value, card.interval) == ("20.20", "[19.00, 21.00]")
    # Where others keep limits, that this one keeps none is in its name.
    for records in (levels, []):
        told = with_records(numbers(*([] if records else drawn)), "delivered", levels)
        (card,) = page._one_for_all(told, 100, ", without the limits")
        assert card.label.endswith(
            ("by the model" if records else "by answers") + ", without the limits"
        )


def test_offers_of_which_answers_tell_nothing_are_named_on_the_page():
    made = rates.study("A", [rates.method("svm")], {}, test_share=0.0)
    told = [("revenue_collected", "best", 5.4), ("revenue_collected", "10", 5.1)]
    counts = ("best", 80), ("10", 30), ("4", 7), ("16", 3)
    told += [("offer_answers", name, count) for name, count in counts]
    few = [{"target": "unlabeled", "metric": m, "part": p, "value": v} for m, p, v in told]

    def said(*records):
        table = metrics_table("mine", "collect", records).to_pandas()
        return [*untold(StudyNumbers("mine", made, table))]

    start = "What one offer for all brings is not told of"
    few_of_16 = "16 (3 answers, and 10 are needed)."
    assert said(*few[:2]) == [] == said(*few[:4])
    assert said(*few) == [f"{start} 4 (7 answers, and 10 are needed) and {few_of_16}"]
    never = {"target": "unlabeled", "metric": "offer_unmade", "part": "4", "value": 0.2}
    told = f"{start} 4 (no chance of it for 20.0 % of the people) and {few_of_16}"
    assert said(*few, never) == [told]
