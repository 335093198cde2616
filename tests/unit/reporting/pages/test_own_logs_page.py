"""Pages of a log of one's own, by hand-made numbers: policies, what they rest on, predictions."""

import pandas as pd
import pytest
import report_rates as rates
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import own_logs_page as page
from counterweight.reporting.sheets import Line
from counterweight.tables.parquet import metrics_table

#: A log that earned .04 a row.
LOG = {"metric": "logged_value", "measure": "mean", "value": 0.04, "standard_error": 0.001}


def ends(place, value, low, high):
    """Records of a number with its interval."""
    error = {"standard_error": (high - low) / 4}
    return [
        place | error | {"value": value},
        place | {"variable": "low", "value": low},
        place | {"variable": "high", "value": high},
    ]


def policy(value, gain, half, support=page.GOOD, weight=1.0, **pairs):
    """Records of a policy: its value, what it gains, its support, its gaps to other policies."""
    whole = {"keep_rate": 1.0, "measure": "ips", "target": "general"}
    made = ends(whole | {"metric": "whole_value"}, value, value - 0.01, value + 0.01)
    gaps = {"log": (gain, half)} | pairs
    for part, (gap, width) in gaps.items():
        place = whole | {"metric": "difference", "part": part}
        made += ends(place, gap, gap - width, gap + width)
    mean = {"metric": "mean_importance", "keep_rate": 1.0, "target": "general", "value": weight}
    made += [mean, whole | {"metric": "support", "value": float(support)}]
    made += [
        whole | {"metric": name, "value": size}
        for name, size in (("rows_rewarded", 30.0), ("rows_agreed", 900.0), ("effective_rows", 77))
    ]
    return made + [LOG | {"target": "general", "keep_rate": 1.0}]


def numbers(plan=(), labels=(), **policies):
    methods = [rates.method(name) for name in policies]
    made = rates.study("A log", methods, {}, test_share=0.0, baseline=None) | dict(plan)
    by_source = policies | ({"labels": labels} if labels else {})
    frames = [metrics_table("mine", *one).to_pandas() for one in by_source.items()]
    return StudyNumbers("mine", made, pd.concat(frames, ignore_index=True))


def test_policies_stand_by_their_values_and_the_log_before_them():
    known = numbers(worse=policy(0.03, -0.01, 0.005), better=policy(0.06, 0.02, 0.005))
    assert [line.source for line in page.policies(known)] == ["better", "worse"]
    lines = [*page._all_lines(known)]
    assert [line.source for line in lines] == ["labels", "better", "worse"]
    assert [line.mark for line in lines] == ["baseline", "main", ""]
    assert page.value_of(known, lines[0]).mean == 0.04 == page.logged(known).mean
    assert not page._gain(known, lines[0]).known
    assert page.question(known).startswith("Which policy")
    assert page.question(numbers(new=policy(0.06, 0.02, 0.005))).startswith("Would New earn")


@pytest.mark.parametrize(
    ("gain", "half", "told"),
    [
        (0.02, 0.005, "more than the log's own policy (50.0 % of what that earned)."),
        (-0.02, 0.005, "less than the log's own policy (50.0 % of what that earned)."),
        (0.02, 0.03, "so the question stays open."),
        (0.5, 0.1, "more than the log's own policy."),
    ],
)
def test_a_gain_is_told_by_its_interval_and_beside_what_the_log_earned(gain, half, told):
    found = page.answer(numbers(new=policy(0.04 + gain, gain, half)))
    assert found.sentence.startswith("The policy New would earn 0.") and found.sentence.endswith(
        told
    )
    assert "-" not in found.sentence.partition("[")[0]


@pytest.mark.parametrize(
    ("support", "weight", "told"),
    [
        (0, 1.0, "let it choose for a random part"),
        (page.THIN, 1.0, "let it choose for a random part"),
        (page.OUTSIDE, 0.75, "Look up the propensities"),
        (page.DOUBTFUL, 1.25, "Look up the propensities"),
    ],
)
def test_nobody_is_sent_to_try_what_rests_on_wrong_weights(support, weight, told):
    known = numbers({"log": {}}, new=policy(0.09, 0.05, 0.005, support, weight))
    assert told in page.answer(known).todo[0]


@pytest.mark.parametrize(
    ("support", "weight", "told"),
    [
        (page.THIN, 1.0, "few rows of the log carry the value, its gain, or the error of either."),
        (page.OUTSIDE, 0.75, "25.0 % of what it does is not in the log, or the propensities are"),
        (page.DOUBTFUL, 1.25, "its weights average 1.25 and not 1, so the propensities are too"),
    ],
)
def test_what_is_not_to_be_relied_on_is_said_and_stands_behind(support, weight, told):
    known = numbers(
        {"log": {"keep_rate": 0.1}},
        high=policy(0.09, 0.05, 0.005, support, weight),
        low=policy(0.05, 0.01, 0.005),
    )
    found = page.answer(known)
    assert found.sentence.startswith("The policy Low would earn")
    assert f"Do not rely on it: {told}" in found.more[0]
    assert ("or the keep rate is not right" in found.more[0]) == (support != page.THIN)
    assert ("same propensities as High" in found.sentence) == (support == page.DOUBTFUL)
    assert [card.label for card in found.cards][1:] == ["Low", "High"]


def test_verdicts_go_before_values():
    known = numbers(
        open=policy(0.08, 0.04, 0.05),
        less=policy(0.03, -0.01, 0.001),
        more=policy(0.05, 0.01, 0.001),
    )
    cards = [card.label for card in page.answer(known).cards]
    assert cards == ["The log's own policy", "More", "Open", "Less"]


@pytest.mark.parametrize(
    ("gap", "half", "told"),
    [
        (0.02, 0.005, "First would earn 0.0200 [0.0150, 0.0250] more than Second."),
        (-0.02, 0.005, "First would earn 0.0200 [0.0150, 0.0250] less than Second."),
        (0.02, 0.03, "do not differ significantly"),
        (0.0, 0.0, "are the same: their difference is exactly 0"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_two_policies_are_compared_whichever_way_round_it_was_taken(gap, half, told, turned):
    own = {"second": (gap, half)} if not turned else {}
    other = {"first": (-gap, half)} if turned else {}
    known = numbers(
        first=policy(0.08, 0.04, 0.005, **own), second=policy(0.06, 0.02, 0.005, **other)
    )
    lines = page.policies(known)
    (text,) = page._between(known, lines, known.measure("value"))
    assert told in text
    assert page._pair(known, *lines).mean == pytest.approx(gap)


@pytest.mark.parametrize(("chance", "wrong"), [(0.0099, True), (0.01, False), (0.5, False)])
def test_propensities_are_called_wrong_below_a_chance_of_one_in_a_hundred(chance, wrong):
    place = {"target": "general", "part": "log", "variable": "a"}
    labels = [place | {"metric": "propensity_p", "value": chance}]
    labels += [place | {"metric": "propensity_mean", "value": 1.4}]
    known = numbers(labels=labels, new=policy(0.06, 0.02, 0.005))
    told = [*page._wrong_propensities(known)]
    assert bool(told) == wrong and all("action a" in one and "1.4 times" in one for one in told)
    found = page.answer(known)
    assert found.sentence.startswith("The propensities are not") == wrong
    assert found.todo[0].startswith("Look up how actions were chosen") == wrong


def test_copies_of_rows_are_said_to_make_propensities_look_wrong(monkeypatch):
    place = {"target": "general", "part": "log", "variable": "a"}
    labels = [place | {"metric": "propensity_p", "value": 1e-9}]
    labels += [place | {"metric": "propensity_mean", "value": 1.4}]
    known = numbers(labels=labels, new=policy(0.06, 0.02, 0.005))
    doubts = [{"doubt": f"9 of 90 rows {page.IN_COMMON}, and so on"}, {"doubt": ""}]
    monkeypatch.setattr(page, "column_records", lambda numbers: doubts)
    found = page.answer(known)
    assert "logged actions, or copies of rows make it look so: no value here" in found.sentence
    assert found.todo[0].startswith("Leave out rows that are copies, and ask again. Look up how")


@pytest.mark.parametrize("ends_of", [(0.9, 1.1), (0.4, 0.5)])
def test_what_rests_on_wrong_propensities_is_doubtful_wherever_it_is_told(ends_of):
    """Weights that average 1 or less are not what speaks of propensities that are too low."""
    place = {"metric": "difference_support", "measure": "ips", "keep_rate": 1.0}
    bad = policy(0.06, 0.02, 0.005, page.DOUBTFUL, low=(0.01, 0.005))
    weight = {"metric": "mean_importance", "keep_rate": 1.0, "target": "general"}
    bad = [one for one in bad if one["metric"] != "mean_importance"] + ends(weight, 1.0, *ends_of)
    bad.append(place | {"target": "general", "part": "low", "value": float(page.DOUBTFUL)})
    known = numbers(high=bad, low=policy(0.05, 0.01, 0.005))
    found = page.answer(known)
    told = "Do not rely on it: the propensities are not those of the logged actions."
    assert found.more[0].endswith(told) and "average" not in found.more[0]
    assert "It rests on the same" not in found.sentence
    assert found.cards[-1].label == "High"
    assert found.cards[-1].note.endswith("The support is doubtful.")
    assert any("(the support of this is doubtful)" in one for one in found.more)
    (line,) = page._compared(known)
    assert line.label.endswith("(support doubtful)")


def test_actions_that_were_never_logged_are_named():
    place = {"target": "general", "metric": "action_unlogged", "part": "rule"}
    labels = [
        place | {"variable": name, "value": share} for name, share in (("c", 0.3), ("d", 0.01))
    ]
    (told,) = page._never_logged(numbers(labels=labels, new=policy(0.06, 0.02, 0.005)))
    assert "that rule takes: “c” in 30.0 % of the rows and “d” in 1.0 % of the rows." in told


def test_support_is_told_in_words_with_its_rows():
    (text,) = page.rests_on(numbers(new=policy(0.06, 0.02, 0.005, page.THIN)))
    assert text == (
        "New: the support is thin. The policy may take the logged action in 900 rows, 30 of them "
        "with a reward, which count as much as 77 rows of equal weight."
    )
    assert page.flag(numbers(new=policy(0.06, 0.02, 0.005)), Line("new", "")) == page.GOOD


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, "that rows are independent"),
        ({"user": "u"}, "that different values of 'u' are independent"),
        ({"keep_rate": 0.1}, "that rows of reward 0 were kept at the rate 0.1 and that rows"),
        ({"keep_rate": "r"}, "were kept at the rates in the column 'r' and that rows"),
        (
            {"keep_rate": 0.1, "kept_where": {"column": "way", "value": "web"}},
            "with way = web were kept at the rate 0.1 and all others were kept",
        ),
    ],
)
def test_what_is_taken_for_granted_is_said(known, told):
    found = numbers({"log": known}, new=policy(0.06, 0.02, 0.005))
    (text,) = page.assumed(found)
    assert "that the propensities are those by which" in text and told in text
    assert ("kept" in " ".join(page.kept_at(found))) == ("keep_rate" in known)


def predicted(auc, ratio=(1.0, 0.9, 1.1), top=(), **gaps):
    """Records of a column of predictions."""
    place = {"target": "general"}
    made = ends(place | {"metric": "auc"}, auc, auc - 0.02, auc + 0.02)
    made += ends(place | {"metric": page._RATIO}, *ratio)
    for part, known in dict(top).items():
        made += ends(place | {"metric": page._RATIO, "part": part}, *known)
    for other, (gap, half) in gaps.items():
        at = place | {"metric": "paired_difference", "measure": "auc", "part": other}
        made += ends(at, gap, gap - half, gap + half)
    return made


AUC = {"columns": ["auc", "log_loss"]}


def test_predictions_stand_by_the_first_measure():
    known = numbers(AUC, old=predicted(0.7), new=predicted(0.8, old=(0.1, 0.02)))
    assert [(line.source, line.mark) for line in page.ranked(known)] == [
        ("new", "main"),
        ("old", ""),
    ]
    first, second = page.ranked(known)
    assert page._gap(known, first.source, second.source, "auc").mean == pytest.approx(0.1)
    assert page._gap(known, second.source, first.source, "auc").mean == pytest.approx(-0.1)
    found = page.ranking_answer(known)
    assert (
        found.sentence.startswith("The predictions New have AUC of 0.800")
        and "better than Old" in found.sentence
    )
    assert found.sentence.endswith("on the same rows.") and found.more[0].startswith(
        "The predictions Old have AUC"
    )
    assert found.todo[0].startswith("Go by the first")
    less = numbers({"columns": ["log_loss"]}, a=loss(0.6), b=loss(0.5))
    assert [line.source for line in page.ranked(less)] == ["b", "a"]
    assert page.ranking_question(known) == "Which predictions are better?"
    assert page.ranking_question(less.__class__("mine", less.plan, less.metrics)) != ""


def test_of_predictions_that_rank_alike_the_one_with_less_loss_is_first():
    """The one that ranks a little better is worse by log loss, than one value, too."""

    def column(auc, surprise, least, **gaps):
        made = predicted(auc, **{name: gap for name, (gap, _) in gaps.items()})
        made += loss(surprise)
        for end, value in (("least", least), ("most", 0.06)):
            made.append({"metric": "predictions_end", "target": "general"})
            made[-1] |= {"variable": end, "value": value}
        for other, (_, (gap, half)) in gaps.items():
            at = {"metric": "paired_difference", "measure": "log_loss", "part": other}
            made += ends(at | {"target": "general"}, gap, gap - half, gap + half)
        return made

    known = numbers(
        AUC,
        flat=column(0.5, 0.26, 0.06),
        ours=column(0.59, 0.25, 0.01, flat=((0.09, 0.03), (-0.01, 0.02))),
        vendor=column(
            0.60, 0.28, 0.02, flat=((0.1, 0.03), (0.02, 0.01)), ours=((0.01, 0.02), (0.03, 0.01))
        ),
    )
    assert [line.source for line in page.ranked(known)] == ["ours", "vendor", "flat"]
    found = page.ranking_answer(known)
    assert found.sentence.startswith("The predictions Ours have AUC of 0.590")
    assert "not significantly different from Vendor on the same rows; by log loss" in found.sentence
    assert found.sentence.endswith("better than Vendor.")
    said = " ".join(found.more)
    assert "By log loss the predictions Vendor are worse than Flat, one value for all rows" in said
    assert "The predictions Flat are 0.06 in all rows: they rank nothing." in said
    clear = numbers(
        AUC, a=column(0.6, 0.25, 0.01), b=column(0.7, 0.28, 0.02, a=((0.1, 0.02), (0.03, 0.01)))
    )
    assert [line.source for line in page.ranked(clear)] == ["b", "a"]
    assert page.ranking_answer(clear).sentence.endswith("worse than A.")
    # What is no chance has no loss, and stands behind chances that rank as well.
    ranks = predicted(0.6, chance=(0.0, 0.0))
    alike = numbers(AUC, ranks=ranks, chance=column(0.6, 0.25, 0.01))
    assert [line.source for line in page.ranked(alike)] == ["chance", "ranks"]
    # Nothing is compared with itself in other units, and the nearest other one is.
    assert page.ranking_answer(alike).sentence.endswith(", as Ranks, which ranks all rows alike.")
    far = numbers(
        AUC,
        ranks=ranks,
        chance=column(0.6, 0.25, 0.01, flat=((0.1, 0.03), (0, 0.1))),
        flat=column(0.5, 0.26, 0.06),
    )
    said = page.ranking_answer(far).sentence
    assert ", as Ranks, which ranks all rows alike: " in said and "better than Flat on" in said


def test_predictions_that_know_what_came_are_doubted_first():
    known = numbers(AUC, ours=predicted(0.8), peek=predicted(0.999))
    assert page.ranking_answer(known).warning.startswith(
        "Too good to be true? The predictions Peek have AUC 0.999"
    )
    assert not page.ranking_answer(numbers(AUC, ours=predicted(0.98))).warning


@pytest.mark.parametrize(("most", "said"), [(94.1, True), (2.0, True), (177.0, False)])
def test_predictions_that_are_no_chances_are_told(most, said):
    made = predicted(0.7)
    for metric, more, value in (
        ("predictions_outside", {}, 4270),
        ("predictions_impossible", {}, 31),
        ("predictions_end", {"variable": "least"}, 0.02),
        ("predictions_end", {"variable": "most"}, most),
    ):
        made.append({"metric": metric, "target": "general", "value": value} | more)
    found = page.ranking_answer(numbers(AUC, new=made))
    told = " ".join(found.more)
    assert "4,270 of the predictions New are no chances (they lie between 0.02 and " in told
    assert ("divide them by 100" in told) == said
    assert "31 of the predictions New are exactly 0 or 1 where the other came" in told
    assert "chances from 0 to 1" in found.todo[-1]


def test_by_a_measure_of_which_none_is_better_what_is_delivered_is_first(monkeypatch):
    def ratio(value):
        return [{"metric": "calibration_ratio", "target": "general", "value": value}]

    known = numbers({"columns": ["calibration_ratio"]}, a=ratio(0.8), b=ratio(1.0), c=ratio(0.9))
    monkeypatch.setattr(StudyNumbers, "delivered", ("b", ""))
    assert [line.source for line in page.ranked(known)] == ["b", "a", "c"]


def loss(value):
    return [{"metric": "log_loss", "target": "general", "value": value}]


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        ((1.3, 1.1, 1.5), "The predictions New are too high by the mean"),
        ((0.7, 0.5, 0.9), "The predictions New are too low by the mean"),
        ((1.3, 1.0, 1.6), None),
        ((0.9, 0.8, 1.0), None),
    ],
)
def test_predictions_are_off_where_the_interval_of_their_mean_leaves_1_out(ratio, told):
    found = page.ranking_answer(numbers(AUC, new=predicted(0.8, ratio)))
    assert any((told or "too ") in text for text in found.more) == bool(told)
    assert found.todo[0].startswith("Calibrate" if told else "Go by the first")


def test_the_highest_predictions_are_told_from_the_largest_share_on():
    top = {"highest 0.001": (2.0, 1.5, 2.5), "highest 0.1": (0.5, 0.4, 0.6)}
    known = numbers(AUC, new=predicted(0.8, top=top))
    assert page._shares(known) == ["highest 0.1", "highest 0.001"]
    first, second = page._miscalibrated(known, Line("new", ""))
    assert first.startswith("The highest 10 % of New are too low by the mean")
    assert second.startswith("The highest 0.1 % of New are too high by the mean")
    assert [column.label for column in page._highest(known)] == ["Highest 10 %", "Highest 0.1 %"]
    # Parts of as many rows are the same ones, by ties: they are told once, and by their number.
    alike = [one | {"rows": 172} if one.get("part") else one for one in predicted(0.8, top=top)]
    (told,) = page._miscalibrated(numbers(AUC, new=alike), Line("new", ""))
    assert told.startswith("The highest 172 of the rows by New (more than 10 %: they are predicted")


def test_what_measures_rest_on_is_told_with_users_where_there_are_some():
    log = {"target": "general", "part": "log"}
    labels = [
        {"metric": "rows_log", "target": "", "value": 1000.0},
        log | {"metric": "rows_nonzero", "value": 50.0},
        log | {"metric": "clusters", "value": 0.0},
    ]
    text, _ = page.ranking_assumed(numbers(AUC, labels=labels, new=predicted(0.8)))
    assert text == "They rest on 1,000 rows, 50 of them with a reward."
    labels[-1]["value"] = 400.0
    text, _ = page.ranking_assumed(numbers(AUC, labels=labels, new=predicted(0.8)))
    assert text == "They rest on 1,000 rows of about 400 users, 50 of them with a reward."
    # Where labels are bought a row may have none, and a reward may be 0.
    labels.append(log | {"metric": "rows_known", "value": 259.0})
    (text,) = page.ranking_assumed(numbers(AUC, labels=labels, new=predicted(0.8)))
    assert text == "The reward of 259 of 1,000 rows is known, and is 1 in 50 of them."


@pytest.mark.parametrize(
    ("rank", "loss_gap", "alike"),
    [
        ((0.0, 0.0), (0.0, 0.0), True),
        ((0.0, 0.01), (0.0, 0.0), False),
        ((0.1, 0.0), (0.0, 0.0), False),
        ((0.0, 0.0), (0.01, 0.0), False),
        ((0.0, 0.0), (-0.01, 0.0), False),
        (None, (0.0, 0.0), False),
    ],
)
def test_predictions_are_alike_where_no_measure_tells_them_apart(rank, loss_gap, alike):
    made = predicted(0.7, **({"other": rank} if rank else {}))
    at = {"metric": "paired_difference", "measure": "log_loss", "part": "other"}
    gap, half = loss_gap
    made += ends(at | {"target": "general"}, gap, gap - half, gap + half)
    known = numbers(AUC, one=made, other=predicted(0.7))
    assert page._alike(known, page.Line("one", ""), page.Line("other", ""), "auc") is alike
