"""Labels to buy and labels bought, on the page: by hand-made numbers."""

import pandas as pd
import pytest
import report_rates as rates
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import collected_page as page
from counterweight.tables.parquet import metrics_table

BLANK = {"target": "unlabeled"}


def numbers(collect=(), delivered=(), **plan):
    made = rates.study("A", [rates.method("svm")], {}, test_share=0.0) | plan
    by_source = {"collect": [BLANK | one for one in collect]}
    by_source["delivered"] = [{"target": "general"} | one for one in delivered]
    frames = [metrics_table("mine", *one).to_pandas() for one in by_source.items()]
    return StudyNumbers("mine", made, pd.concat(frames, ignore_index=True))


class People:
    """What the page of blanks knows of its rows."""

    target, binary, event, outcome = "general", True, "default = 1", "default"
    blank, whom, metric = "the 300 rows without an outcome", "all", "target_rate"

    def __init__(self, known, labels=60, refused=0, batches=1, binary=True):
        self.numbers, self.binary = known, binary
        told = {"labels": labels, "refused": refused, "batches": batches}
        self.saved = {"collected": told | {"waiting": 0}}

    def get(self, metric, **place):
        return self.numbers.get("delivered", metric, "general", **place)

    def told(self, part=""):
        return f"<{part}>"

    def say(self, whom, told):
        return f"of {whom} it is {told}"

    def bounds(self, part, kind):
        return f"[{part} {kind}]"


PLAN = [
    {"metric": "labels_planned", "value": 60.0},
    {"metric": "labels_budget", "value": 60.0},
    {"metric": "planned_points", "value": 4.2},
    {"metric": "expected_points", "part": "60", "variable": "wrong", "value": 8.5},
]
SPAN = [
    {"metric": "planned_points", "variable": end, "value": value}
    for end, value in (("low", 2.6), ("high", 7.1))
]


def test_a_plan_tells_what_is_expected_of_it():
    (text,) = page.planned(numbers(PLAN))
    assert text.startswith("collect.csv lists 60 rows whose outcome to buy, drawn by design: ")
    assert "±4.20 points" in text and "(±8.50 points if the estimates told nothing" in text
    assert "may come of it" not in text and "right on average" not in text
    (text,) = page.planned(numbers(PLAN + SPAN))
    assert "if what is foretold of them is right on average" in text
    assert "from ±2.60 points to ±7.10 points may come of it" in text
    (text,) = page.planned(numbers(PLAN + SPAN[:1]))
    assert "may come of it" not in text and "AUC" not in text
    area = [{"metric": "planned_auc", "value": 0.0571}]
    told = "They are drawn for the AUC, expected to be known to ±0.057."
    assert told in next(page.planned(numbers(PLAN + area)))
    cost = [{"metric": "labels_cost", "value": 1234.0}]
    (text,) = page.planned(numbers(PLAN + cost))
    assert "to buy for 1,234" in text
    assert "A budget of costs, here 60.00, holds in the mean of draws" in text
    cost[0]["value"] = 58.0
    assert "in the mean of draws" not in next(page.planned(numbers(PLAN + cost)))
    least = [
        {"metric": name, "value": value}
        for name, value in (("wanted_points", 2.0), ("least_points", 4.2))
    ]
    (text,) = page.planned(numbers(PLAN + least))
    told = (
        "that is wanted, 2.00 points, is out of reach: the labels of all rows are expected to give"
    )
    assert f"{told} ±4.20 points." in text
    assert "out of reach" not in next(page.planned(numbers(PLAN + least[:1])))
    assert [*page.planned(numbers(PLAN[1:]))] == []


@pytest.mark.parametrize(("bought", "refused", "left"), [(40, 5, 15), (60, 0, 0), (50, 10, 0)])
def test_rows_that_are_still_to_be_labeled_are_counted(bought, refused, left):
    people = People(numbers(PLAN), bought, refused)
    (text,) = page.planned_next(people.numbers, people)
    if left:
        assert text.startswith("15 rows of collect.csv are still to be labeled")
        assert text.endswith("with all of them the half-width is expected to be 4.20 points.")
        people.saved["collected"]["refused"] += 14
        (text,) = page.planned_next(people.numbers, people)
        assert text.startswith("1 row of collect.csv is still to be labeled")
        assert text.endswith("with it the half-width is expected to be 4.20 points.")
    else:
        assert text.startswith("A larger collect.budget lists the next rows")
    assert [*page.planned_next(numbers(), people)] == []


def reached(value, wanted, binary=True, **more):
    kind = "points" if binary else "half_width"
    plan = of(**{f"wanted_{kind}": wanted * (100 if binary else 1)}, **more)
    known = numbers(plan, [{"metric": f"reached_{kind}", "value": value}])
    people = People(known, binary=binary)
    return [*page._told(known, people, people.saved["collected"])][-1]


@pytest.mark.parametrize(
    ("value", "wanted", "binary", "told"),
    [
        (1.9, 0.02, True, "2.00 points, is reached: it is 1.90 points."),
        (2.0, 0.02, True, "2.00 points, is reached: it is 2.00 points."),
        (2.1, 0.02, True, "2.00 points, is not reached: it is 2.10 points."),
        (1.9, 2.0, False, "2.00, is reached: it is 1.90."),
        (2.1, 2.0, False, "2.00, is not reached: it is 2.10."),
    ],
)
def test_a_half_width_is_reached_up_to_what_was_wanted(value, wanted, binary, told):
    assert reached(value, wanted, binary=binary).endswith(f"was wanted, {told}")


def test_where_it_is_not_reached_the_budget_that_would_do_is_told():
    text = reached(5.0, 0.02, budget_needed=1234.0)
    assert text.endswith("A budget of 1,234 in all is expected to do.")
    text = reached(5.0, 0.02, least_points=3.1)
    assert text.endswith("and the labels of all rows are expected to give ±3.10 points.")


def test_a_log_and_offers_say_whether_what_was_wanted_is_reached():
    log = [
        {"metric": name, "value": value, "target": "general", "part": "log"}
        for name, value in (
            ("labels_bought", 1500.0),
            ("labels_refused", 0.0),
            ("labels_waiting", 8098.0),
            ("reached_points", 4.83),
        )
    ]
    plan = of(wanted_points=2.0, least_points=2.3)
    made = metrics_table("mine", "labels", log).to_pandas()
    known = numbers([BLANK | one for one in plan])
    known = StudyNumbers("mine", known.plan, pd.concat([known.metrics, made]))
    text = " ".join(page.bought_of_log(known))
    assert (
        "The half-width that was wanted, 2.00 points, is not reached: it is 4.83 points, and"
        in text
    )
    assert "the labels of all rows are expected to give ±2.30 points." in text
    found = of(labels_bought=180, labels_refused=0, labels_waiting=0, reached_half_width=0.3)
    found += of(wanted_half_width=0.2, budget_needed=400)
    text = " ".join(page.bought_of_offers(numbers(found)))
    assert "0.200, is not reached: it is 0.300. A budget of 400 in all" in text


def test_rows_without_an_answer_have_bounds_and_looks_have_their_price():
    known = numbers()
    people = People(known, labels=400, refused=7, batches=3)
    first, second = page._told(known, people, people.saved["collected"])
    assert "so that all 3 looks hold together" in first
    assert second.startswith("7 rows were drawn and have no label, and are taken to be like")
    assert "[gamma=2 rate_bounds_collected]" in second and "in [worst rate_bounds" in second
    one = People(known, labels=400, refused=1)
    (_, second) = page._told(known, one, one.saved["collected"])
    assert second.startswith("1 row was drawn and has no label, and is taken to be like")
    alone = People(known)
    (only,) = page._told(known, alone, alone.saved["collected"])
    assert "looks" not in only


@pytest.mark.parametrize(("refused", "many"), [(6, False), (7, True), (30, True)])
def test_many_who_gave_no_answer_are_told_by_the_first_sentence(refused, many):
    people = People(numbers(PLAN), labels=60, refused=refused)
    found = page.bought_answer(people.numbers, people, (), ())
    asked = 60 + refused
    assert found.sentence.startswith(f"By 60 labels of {asked} rows asked by design, ")
    assert found.cards[0].note == f"of {asked} asked among the 300 rows without an outcome"
    told = " ".join((*found.more, *found.rest))
    # Of a file without a plan nobody knows whether rows were asked.
    alone = People(numbers(), labels=60, refused=refused)
    alone = page.bought_answer(alone.numbers, alone, (), ())
    assert alone.sentence.startswith(f"By 60 labels of {asked} rows drawn by design, ")
    if many:
        assert found.warning.startswith(f"{refused} of the {asked} rows that were asked (")
        assert "whatever they are, in [worst rate_bounds_collected]." in found.warning
        assert found.todo[0] == page._AGAIN and len(found.todo) == 2
    else:
        assert not found.warning and page._AGAIN not in found.todo
    assert ("have no label" in told) != many


ODDS = [
    {"metric": "odds_to_random", "value": 1.5, "standard_error": 0.1},
    {"metric": "odds_to_random", "variable": "low", "value": 1.2},
    {"metric": "odds_to_random", "variable": "high", "value": 1.9},
    {"metric": "slope_to_random", "value": 0.87},
]


def test_odds_of_classes_and_shifts_of_numbers_are_held_against_missing_at_random():
    (text,) = page._test(People(numbers(delivered=ODDS)))
    assert "are 1.50 [1.20, 1.90] times those of rows that have one" in text
    assert text.endswith("The slope of the estimates among them is 0.87 (at random 1).")
    (text,) = page._test(People(numbers(delivered=ODDS[:3])))
    assert text.endswith("at random it would be 1.")
    shift = [{"metric": "shift_to_random", "value": 0.5}]
    (text,) = page._test(People(numbers(delivered=shift)))
    assert "default is higher by 0.5" in text and text.endswith("at random it would be 0.")
    shift = [{"metric": "shift_to_random", "value": -0.5}]
    assert "default is lower by 0.5" in next(page._test(People(numbers(delivered=shift))))
    assert [*page._test(People(numbers()))] == []
    labels, odds = page._cards(People(numbers(delivered=ODDS)), {"labels": 1200, "refused": 0})
    assert labels.value == "1,200" and odds.value.startswith("1.5")


@pytest.mark.parametrize(
    ("refuted", "told"),
    [(1.0, "is refuted."), (0.0, "is not refuted."), (None, "at random had said <unlabeled at")],
)
def test_the_answer_says_whether_missing_at_random_is_refuted(refuted, told):
    known = [] if refuted is None else [{"metric": "random_refuted", "value": refuted}]
    known += [
        {"metric": "target_rate", "part": part, "value": value}
        for part, value in (("unlabeled", 0.3), ("unlabeled at random", 0.2))
    ]
    people = People(numbers(delivered=known))
    found = page.bought_answer(people.numbers, people, ("More.",), ())
    assert found.sentence.startswith("By 60 labels bought by design, of the 300 rows")
    assert told in found.sentence and "of all, known outcomes and estimates" in found.sentence
    assert [point[1].mean for point in found.points] == [30.0, 20.0]
    assert found.rest == ("More.",) and found.todo == [page._NEXT]
    numeric = People(people.numbers, binary=False)
    made = page.bought_answer(numeric.numbers, numeric, (), ())
    assert [point[1].mean for point in made.points] == [0.3, 0.2]
    assert "estimates together, it is <>" in made.sentence


def of(**told):
    return [{"metric": name, "value": float(value)} for name, value in told.items()]


def test_people_to_ask_for_their_group_are_told_and_what_came_of_it():
    plan = of(labels_planned=300, planned_disclosivity=0.21, planned_certified=0.53)
    plan += [
        {"metric": "planned_disclosivity", "variable": end, "value": value}
        for end, value in (("low", 0.18), ("high", 0.31))
    ]
    (text,) = page.planned_of_filter(numbers(plan))
    assert "collect.csv lists 300 of the people who told no group" in text
    assert "at most 0.210" in text and "0.180 to 0.310" in text and "the chance 53 %" in text
    assert [*page.planned_of_filter(numbers())] == [*page.bought_of_filter(numbers())] == []
    found = of(labels_bought=290, labels_refused=6, labels_waiting=4, confidence_collected=0.95)
    found += of(disclosivity_collected=0.15, collected_at_most=0.24, collected_at_worst=0.29)
    found += of(imbalance_before_collected=0.3, imbalance_collected=0.1)
    certified = numbers(plan + found + of(certified_collected=1))
    first, groups, silent, left = page.bought_of_filter(certified)
    assert first.startswith("Certified for people who told no group, too: by 290 of them")
    assert "at most 0.240" in first and "(found: 0.150)" in first and "95.0 %" in first
    assert "0.300, and 0.100 among those" in groups and "6 people" in silent and "0.290" in silent
    assert left.startswith("4 people of collect.csv are still to be asked: with all of them a leaf")
    assert (
        left.endswith("at most 0.210.") and [*page.planned_of_filter(numbers(plan + found))] == []
    )
    assert page.refused_of_filter(numbers(found)) == ""
    many = of(labels_bought=3, labels_refused=1, collected_at_worst=0.29)
    assert page.refused_of_filter(numbers(many)) == (
        "1 of the 4 people who were asked (25 %) have no answer, and are taken to be like the "
        "others of their leaf; whatever their groups are, a leaf tells at most 0.290."
    )
    first, *_ = page.bought_of_filter(numbers(found + of(certified_collected=0)))
    assert first.startswith("Not certified for people who told no group: by 290 of them")
    first, *_ = page.bought_of_filter(numbers(found))
    assert first.startswith("By 290 of them")


@pytest.mark.parametrize(
    ("columns", "told"), [(["region"], "no group"), (["region", "sex"], "not all their groups")]
)
def test_who_told_one_of_two_groups_is_not_said_to_have_told_none(columns, told):
    plan = of(labels_planned=300, planned_disclosivity=0.21, planned_certified=0.53)
    (text,) = page.planned_of_filter(numbers(plan, filter={"group": columns}))
    assert f"the people who told {told}, drawn by design" in text
    found = of(labels_bought=290, confidence_collected=0.95, collected_at_most=0.24)
    for sure in (0, 1):
        known = numbers(found + of(certified_collected=sure), filter={"group": columns})
        assert f"ertified for people who told {told}" in next(page.bought_of_filter(known))
        (card,) = page.card_of_asked(known)
        assert f"people who told {told}; confidence 95.0 %" in card.note


def test_shares_of_all_name_who_told_and_those_asked_tell_of_the_others():
    pairs = [("east", "are east"), ("west", "are west")]
    assert page.among_asked(numbers(), pairs) == page.who_told(numbers()) == ""
    shares = [
        {"metric": f"share_{when}_collected", "part": "east", "value": value}
        for when, value in (("before", 0.25), ("after", 0.314))
    ]
    known = numbers(shares + of(labels_bought=300))
    told = "; of those who told no group, by 300 who were asked, 31.4 % are east"
    assert page.among_asked(known, pairs) == f"{told} (25.0 % of all of them)"
    dropped = [{"metric": "rows_dropped", "target": "", "value": 12.0}]
    made = metrics_table("mine", "labels", dropped).to_pandas()
    known = StudyNumbers("mine", known.plan, pd.concat([known.metrics, made]))
    assert page.who_told(known) == " who told their group"


def test_offers_to_make_are_told_and_what_their_answers_say():
    plan = of(labels_planned=200, labels_budget=200, planned_half_width=0.27)
    plan += [
        {"metric": "expected_half_width", "part": "200", "variable": which, "value": value}
        for which, value in (("wrong", 0.41), ("plain", 0.74))
    ]
    (text,) = page.planned_of_offers(numbers(plan))
    assert "lists 200 people without an answer and the offer to make to each" in text
    assert "±0.270" in text and "(±0.410 if" in text and "±0.740 if offers and people" in text
    assert page.answered_offers(numbers(plan)) is None
    found = of(labels_bought=180, labels_refused=5, labels_waiting=15)
    assert [*page.planned_of_offers(numbers(plan + found))] == []
    first, silent, left, then = page.bought_of_offers(numbers(found))
    assert first.startswith("180 answers came back, too few") and then.startswith("Put the offers")
    assert silent.startswith("5 offers were made and have no answer, and are taken to be like")
    assert left.startswith("15 offers of collect.csv are still to be made")
    silent = page.refused_of_offers(numbers(of(labels_bought=18, labels_refused=2)))
    assert silent.startswith("2 of the 20 offers that were made (10 %) have no answer")
    assert page.refused_of_offers(numbers(found)) == ""
    for name, value in (("best", 5.4), ("6", 5.13), ("10", 6.9)):
        place = {"metric": "revenue_collected", "part": name}
        found += [place | {"value": value, "standard_error": 0.1}]
        found += [{"metric": "collected_claim", "part": name, "value": 5.3}]
    for name, value, error in (("6", -0.27, 0.2), ("10", 1.5, 2.0)):
        over = {"metric": "revenue_over_best", "part": name}
        found += [over | {"value": value, "standard_error": error}]
    first, *_ = page.bought_of_offers(numbers(found))
    assert "bring 5.40 [5.20, 5.60] each" in first and "which had said 5.3" in first
    # The largest value is no advice: what is least likely to bring less is told.
    assert "one offer for all, at best 6, may earn less (−0.270 [−0.662, 0.122] each)" in first
    less = [{"metric": "revenue_over_best", "part": "5", "value": -0.5, "standard_error": 0.01}]
    less += [{"metric": "revenue_collected", "part": "5", "value": 4.9}]
    first, *_ = page.bought_of_offers(numbers([*found, *less]))
    assert "one offer for all, at best 5, earns less (−0.500 [" in first
    assert "refuted" not in first
    (best,), step = page.answered_offers(numbers(found))
    assert best.value == "5.40" and step == "Go by these answers."
    # The model's claim lies outside of the interval of answers, and one offer is better by them.
    other = [{"metric": "revenue_collected", "part": "7", "value": 5.85, "standard_error": 0.1}]
    other += [{"metric": "revenue_over_best", "part": "7", "value": 0.45, "standard_error": 0.1}]
    other += [one | {"value": 6.5} if "claim" in one["metric"] else one for one in found]
    first, *_ = page.bought_of_offers(numbers(other))
    assert (
        "which had said 6.500, which is refuted; one offer for all, at best 7, earns more" in first
    )
    (_, single), step = page.answered_offers(numbers(other))
    assert single.value == "5.85" and step == (
        "Go by these answers, and not by the model's claim: 7 for everybody brings more than an "
        "offer for each."
    )
    lines = [line.label for line in page.TRIED.lines(numbers(found))]
    assert lines == ["The best offer for each", "6 for everybody", "10 for everybody"]
