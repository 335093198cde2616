"""Pages of tables with blanks whose labels are bought by design: before, and when they are back."""

from counterweight.numerics.sensitivity import SPAN, TWICE
from counterweight.reporting import blocks
from counterweight.reporting.pages.selection_page import DECIDED, PLANNED_DECIDED, RATES
from counterweight.reporting.sheets import Column, Line, Points, Sheet, in_words, told
from counterweight.reporting.study_page import Answer
from counterweight.reporting.wording import (
    amount,
    capital,
    count,
    listing,
    number,
    percent,
    places_for,
)

_PLAN, _GIVEN, _BLANK = "collect", "delivered", "unlabeled"
ENDS = ("low", "high")
#: Part of those asked without an answer from which it is said by the first sentence.
MANY = 0.1
_NEXT = (
    "Go by this answer, and not by that at random. A plan of more labels (collect, with a budget or "
    "a half-width) makes its interval narrower."
)
_AGAIN = "Ask those again who gave no answer: more labels do not make up for them."
_EXPLORE_ON = (
    "Go by this answer, and not by that at random. Keep deciding in favour of the rows of "
    "explore.csv, and fill in more outcomes, of whole months, once all of a month are known (those "
    "that come first are of one kind): that makes its interval narrower."
)


def half(numbers, which, source, target, **place):
    """``5.1 points``: half of an interval in print; "" where it was not measured."""
    for kind, unit in (("points", " points"), ("half_width", "")):
        known = numbers.get(source, f"{which}_{kind}", target, **place)
        if known.known:
            return number(known.mean, places_for([known.mean], 1)) + unit
    return ""


def planned(numbers, what="the rate or mean of the rows without an outcome", label="outcome"):
    """Sentences on the plan of labels, where there is one: what they tell, what is bought."""
    n = numbers.get(_PLAN, "labels_planned", _BLANK)
    if not n.known:
        return
    expected = half(numbers, "planned", _PLAN, _BLANK)
    cost = numbers.get(_PLAN, "labels_cost", _BLANK)
    budget = numbers.get(_PLAN, "labels_budget", _BLANK).mean
    of = f" for {number(cost.mean, places_for([cost.mean]))}" if cost.known else ""
    text = f"collect.csv lists {number(n.mean, 0)} rows whose {label} to buy{of}, drawn by design"
    ends = [half(numbers, "planned", _PLAN, _BLANK, variable=end) for end in ENDS]
    if expected:
        so = "if what is foretold of them is right on average, " if all(ends) else ""
        text += f": {so}{what} is then expected to be known to ±{expected}, whoever had one before"
    wrong = half(numbers, "expected", _PLAN, _BLANK, part=f"{budget:g}", variable="wrong")
    if all(ends):
        text += (
            f". No data can say before whether it is right: from ±{ends[0]} to ±{ends[1]} may come "
            f"of it where the odds are up to {SPAN:g} times as much or as little, or the estimates "
            "tell nothing of single rows; the first labels that are bought put it right"
        )
    elif wrong:
        text += f" (±{wrong} if the estimates told nothing of single rows)"
    text += f".{_out_of_reach(numbers)}"
    if (area := numbers.get(_PLAN, "planned_auc", _BLANK)).known:
        text += f" They are drawn for the AUC, expected to be known to ±{number(area.mean, 3)}."
    if (error := numbers.get(_PLAN, "planned_decided_error", _BLANK)).known:
        text += (
            " They are drawn for the rates of decisions, whose error is then expected to be known"
            f" to ±{percent(error.mean)[:-2]} points."
        )
    if cost.known and cost.mean > budget:
        text += (
            f" A budget of costs, here {number(budget, places_for([budget]))}, holds in the mean "
            "of draws: to spend no more, stop earlier in the order."
        )
    yield f"{text} Fill in its {label} column and name the file under collected."


def _all_labels(numbers):
    """What the labels of all rows are expected to give, where less is wanted; else ""."""
    least = half(numbers, "least", _PLAN, _BLANK)
    return least and f"the labels of all rows are expected to give ±{least}"


def _out_of_reach(numbers):
    """That no labels are expected to give what is wanted; "" where some are."""
    wanted, told = half(numbers, "wanted", _PLAN, _BLANK), _all_labels(numbers)
    return told and f" The half-width that is wanted, {wanted}, is out of reach: {told}."


def _whether_reached(numbers, source, target, **place):
    """Whether the half-width that was wanted is reached, and what would reach it."""
    for kind in ("points", "half_width"):
        wanted = numbers.get(_PLAN, f"wanted_{kind}", _BLANK)
        reached = numbers.get(source, f"reached_{kind}", target, **place)
        if not (wanted.known and reached.known):
            continue
        text = f"The half-width that was wanted, {half(numbers, 'wanted', _PLAN, _BLANK)}, is"
        size = half(numbers, "reached", source, target, **place)
        needed, told = numbers.get(_PLAN, "budget_needed", _BLANK), _all_labels(numbers)
        if reached.mean <= wanted.mean:
            yield f"{text} reached: it is {size}."
        elif needed.known:
            refused = numbers.get(source, "labels_refused", target, **place).mean > 0
            often = ", if as many of those asked give no answer" * refused
            budget = f"A budget of {number(needed.mean, 0)} in all is expected to do{often}."
            yield f"{text} not reached: it is {size}. {budget}"
        else:
            yield f"{text} not reached: it is {size}" + (f", and {told}." if told else ".")


def refusing(bought, refused, like=" at equal estimates", who="rows that were asked", no="label"):
    """That many of those asked have no label, which leaves open what they are; else ""."""
    asked = bought + refused
    if not refused >= MANY * asked > 0:
        return ""
    return (
        f"{number(refused, 0)} of the {number(asked, 0)} {who} ({percent(refused / asked, 0)}) "
        f"have no {no}, and are taken to be like the others{like}."
    )


def _unlabeled(refused, whom="row", why="was drawn and has no label", several=None):
    """``2 rows were drawn and have no label, and are taken to be like the others``"""
    said = f"{why}, and is taken"
    if refused != 1:
        for one, many in (("was ", "were "), ("has ", "have "), ("is taken", "are taken")):
            said = said.replace(one, many)
    return f"{count(refused, whom, several)} {said} to be like the others"


def _left(waiting, whom="row", done="labeled", several=None):
    """``2 rows of collect.csv are still to be labeled``"""
    verb = "is" if waiting == 1 else "are"
    return f"{count(waiting, whom, several)} of collect.csv {verb} still to be {done}"


def explored(numbers):
    """Sentences on decisions by chance: who, what they teach, when to refit, what they cost."""
    count = numbers.get(_PLAN, "explore_drawn", _BLANK)
    if not count.known:
        return
    months = numbers.places("part", _PLAN, "explore_points", _BLANK)

    def of(metric, month):
        return numbers.get(_PLAN, f"explore_{metric}", _BLANK, part=month)

    ends = [number(of("points", at).mean, 1) for at in (months[0], months[-1])]
    text = (
        f"explore.csv lists {number(count.mean, 0)} rows that chance has drawn: decide in favour "
        "of each of them, without another draw. The rate of such rows is then expected to be known "
        f"to ±{ends[0]} points after one month, and to "
        f"±{ends[1]} after {months[-1]}, by {number(of('labels', months[-1]).mean, 0)} rows, "
        "whatever decided before"
    )
    cost = of("cost", months[0])
    if cost.known:
        text += f"; it is expected to cost {number(cost.mean, 0)} a month"
        if (most := of("most", months[0])).known:
            text += f", and {number(most.mean, 0)} if their odds are three times those estimated"
        else:
            text += ", by the outcomes that are there"
    refit = numbers.get(_PLAN, "explore_refit", _BLANK)
    text += (
        f". The estimates can be fitted to explored rows after month {number(refit.mean, 0)}"
        if refit.known
        else ". In these months too few outcomes come to fit the estimates to them"
    )
    yield (
        f"{text}. Fill in the outcome column once the outcomes of all rows of a month are known "
        "(those that come first are of one kind, such as defaults), and name the file under "
        "collected."
    )


def bought_answer(numbers, people, more, cards):
    """The `Answer` of a table whose labels were bought; `more` are sentences behind, cards last."""
    bought = people.saved["collected"]
    at_random = people.told(part="unlabeled at random")
    text = people.say(people.blank, people.told(part="unlabeled"))
    if people.target == "general":
        of_all = people.told()
        if people.binary:
            text += f"; of {people.whom}, known outcomes and estimates together, {of_all}"
        else:
            text += f"; over {people.whom}, known outcomes and estimates together, it is {of_all}"
    refuted = people.get("random_refuted")
    if refuted.known:
        verdict = "is refuted" if refuted.mean == 1 else "is not refuted"
        text += f"; that labels are missing at random, which had said {at_random}, {verdict}"
    else:
        text += f"; missing at random had said {at_random}"
    labels, refused = bought["labels"], bought["refused"]
    exploring = numbers.get(_PLAN, "explore_drawn", _BLANK).known
    way = "asked" if numbers.get(_PLAN, "labels_planned", _BLANK).known else "drawn"
    asked = f" of {number(labels + refused, 0)} rows {way}" * bool(refused)
    text = f"By {number(labels, 0)} labels{asked or ' bought'} by design, {text}."
    test, told = [*_test(people)], [*_told(numbers, people, bought)]
    like = f" at equal estimates{_beyond(people)}"
    warning = refusing(labels, refused, like, f"rows that were {way}")
    todo = [*planned_next(numbers, people)] or [_EXPLORE_ON if exploring else _NEXT]
    todo = [_AGAIN, *todo] if warning and not exploring else todo
    points = [
        ("by bought labels", people.get(people.metric, part="unlabeled"), "main"),
        ("if missing at random", people.get(people.metric, part="unlabeled at random"), ""),
    ]
    factor, axis = (100, "share, %") if people.binary else (1, "mean")
    points = Points([(name, known.times(factor), mark) for name, known, mark in points], axis)
    cards = (*cards, *_cards(people, bought))
    more = (*_rates_in_words(numbers), *told[1:], *more)
    return Answer(capital(text), (*test, *told[:1]), cards, points, more, todo, warning=warning)


def _test(people):
    """What bought labels say of missing at random."""
    odds, shift = people.get("odds_to_random"), people.get("shift_to_random")
    slope = people.get("slope_to_random")
    if odds.known:
        text = (
            f"At equal features the odds of {people.event} among rows without an outcome are "
            f"{_factor(odds)} times those of rows that have one; at random it would be 1."
        )
    elif shift.known:
        measure = people.numbers.measure("shift_to_random")
        way, shift = ("higher", shift) if shift.mean >= 0 else ("lower", shift.times(-1))
        text = (
            f"At equal features {people.outcome} is {way} by {in_words(shift, measure)} among "
            "rows without one than among those that have one; at random it would be 0."
        )
    else:
        return
    if slope.known:
        text += f" The slope of the estimates among them is {number(slope.mean, 2)} (at random 1)."
    yield text


def _factor(known):
    return f"{number(known.mean, 2)} [{number(known.low, 2)}, {number(known.high, 2)}]"


def _told(numbers, people, bought):
    """What the answer rests on, who did not answer, and whether what was wanted is reached."""
    text = (
        "It rests on the known chances by which rows were drawn, and on nothing that is assumed of "
        "who had an outcome before: the estimates make its interval narrower and cannot move it."
    )
    if bought["batches"] > 1:
        text += (
            f" Intervals are wider than for one look, so that all {bought['batches']} looks hold "
            "together in 95 of 100 tables."
        )
    yield text
    if bought["refused"] and not refusing(bought["labels"], bought["refused"]):
        yield (f"{_unlabeled(bought['refused'])} at equal estimates{_beyond(people)}.")
    yield from _whether_reached(numbers, _GIVEN, people.target)


def _beyond(people):
    """What the answer may be if rows without a label are not like the others."""
    kind = f"{'rate' if people.binary else 'mean'}_bounds_collected"
    worst, twice = (people.bounds(part, kind) for part in ("worst", f"gamma={TWICE:g}"))
    free = "whatever they are" if people.binary else "with any value within those that came"
    return (
        f": if their odds are up to twice or half those, the answer is in {twice}; {free}, in "
        f"{worst}"
    )


def planned_next(numbers, people):
    """How to go on."""
    count = numbers.get(_PLAN, "labels_planned", _BLANK)
    if not count.known:
        return
    left = count.mean - people.saved["collected"]["labels"] - people.saved["collected"]["refused"]
    if left > 0:
        expected = half(numbers, "planned", _PLAN, _BLANK)
        yield (
            f"{_left(left)}, those that were bought are filled in: with "
            f"{'it' if left == 1 else 'all of them'} the half-width is expected to be {expected}."
        )
    else:
        yield "A larger collect.budget lists the next rows in collect.csv, in the same order."


def _cards(people, bought):
    labels, refused = bought["labels"], bought["refused"]
    asked = f"{number(labels + refused, 0)} asked among " * bool(refused)
    yield blocks.Card("Labels bought", number(labels, 0), "", f"of {asked}{people.blank}")
    odds = people.get("odds_to_random")
    if odds.known:
        shown = told(odds, people.numbers.measure("odds_to_random"))
        note = "times those of like rows with an outcome"
        yield blocks.Card("Odds where there was none", *shown, note)
    error = people.get("decided_error_collected")
    if error.known:
        shown = told(error, people.numbers.measure("decided_error_collected"))
        yield blocks.Card("Wrong decisions", *shown, "of the rule in use, by the labels bought")


def _groups(numbers):
    target = numbers.plan["targets"][0]
    for kind in ("rate", "mean"):
        for name in numbers.places("part", _GIVEN, f"{kind}_by_group_collected", target):
            yield Line(_GIVEN, str(name), {"part": name})


def _group_columns(numbers):
    target = numbers.plan["targets"][0]
    for kind in ("rate", "mean"):
        if numbers.measured(f"{kind}_by_group_collected", target):
            yield Column(f"{kind}_by_group_collected", target=target)
            yield Column(f"{kind}_by_group_at_random", target=target, show="mean")
    for name in ("odds_to_random", "shift_to_random"):
        if numbers.measured(name, target):
            yield Column(name, target=target)
    yield Column("labels_bought", target=target, show="mean")


#: The answer of each group, by labels bought.
BY_GROUP = Sheet(
    "By group, of the rows without an outcome",
    _groups,
    _group_columns,
    first="Group",
    note="Each by the labels bought in the group; odds and shifts are against missing at random.",
    best=False,
)


def _quality(numbers):
    if numbers.measured("auc_collected", numbers.plan["targets"][0]):
        yield Line(_GIVEN, "By bought labels")


def _quality_columns(numbers):
    target = numbers.plan["targets"][0]
    return [
        Column(f"{name}_collected", target=target)
        for name in ("auc", "log_loss", "brier", "calibration_ratio")
    ]


#: How good the estimates were that had seen no bought label.
BY_BOUGHT = Sheet(
    "Estimates without bought labels, on rows that had no outcome",
    _quality,
    _quality_columns,
    first="Told by",
    best=False,
)
#: Sheets of a table whose labels are bought.
BOUGHT = (PLANNED_DECIDED, BY_GROUP, DECIDED, BY_BOUGHT)


def _rates_in_words(numbers):
    """What labels bought say of decisions, where a plan was for their rates."""
    target = numbers.plan["targets"][0]
    told = [
        f"{words} {in_words(known, numbers.measure(metric))}"
        for name, words in RATES.items()
        if (known := numbers.get(_GIVEN, metric := f"decided_{name}_collected", target)).bounded
    ]
    if told:
        both = "; known outcomes and labels together" * (target == "general")
        yield f"Of the decisions of the rule in use, by the same labels: {listing(told)}{both}."


# The same of the events of a log, by whose labels predictions are judged.


def planned_of_log(numbers):
    """Sentences on the events to label."""
    first = numbers.plan["methods"][0]["label"] if numbers.plan.get("methods") else ""
    known = numbers.get(_PLAN, "planned_points", _BLANK).known
    of = f"{first}" if first else "the predictions"
    yield from planned(numbers, f"the {'AUC' if known else 'calibration'} of {of}", "reward")


def bought_of_log(numbers):
    """Sentences on what the measures of predictions rest on, where labels were bought."""
    place = {"part": "log"}
    bought, refused, waiting = (
        numbers.get("labels", f"labels_{name}", **place).mean
        for name in ("bought", "refused", "waiting")
    )
    if not bought > 0:
        return
    text = (
        f"{number(bought, 0)} labels were bought by design: each row had a known chance to be one"
    )
    yield (
        f"{text}, rewards that the log had count for themselves, and nothing is assumed of who had "
        "one. Intervals count that rewards of the same rows could have come out otherwise."
    )
    if refused > 0 and not refused_of_log(numbers):
        yield f"{_unlabeled(refused)} at equal predictions."
    yield from _whether_reached(numbers, "labels", numbers.plan["targets"][0], **place)
    if waiting > 0:
        expected = half(numbers, "planned", _PLAN, _BLANK)
        yield f"{_left(waiting)}: with all of them the half-width is expected to be {expected}."


def refused_of_log(numbers):
    """The warning of `refusing`, of labels that were to tell of predictions."""
    bought, refused = (
        numbers.get("labels", f"labels_{name}", part="log").mean for name in ("bought", "refused")
    )
    return refusing(bought, refused, " at equal predictions")


# The same of a filter: whose group to ask for.


def not_told(numbers):
    """What people did not tell whom a filter's plan asks: of several columns one is enough."""
    columns = (numbers.plan.get("filter") or {}).get("group") or ""
    one = isinstance(columns, str) or len(columns) == 1
    return "no group" if one else "not all their groups"


def who_told(numbers):
    """`` who told their group``, where shares are of some of the people; else ""."""
    untold = numbers.get("labels", "rows_dropped", "").mean
    if not untold > 0:
        return ""
    return " who told their group" + "s" * (not_told(numbers) != "no group")


def among_asked(numbers, groups):
    """Shares of groups, pairs of a part and words, of those who did not tell them, by those of
    them who were asked; "" before."""
    bought, shares = numbers.get(_PLAN, "labels_bought", _BLANK), []
    for part, words in groups:
        after, before = (
            numbers.get(_PLAN, f"share_{when}_collected", _BLANK, part=part)
            for when in ("after", "before")
        )
        if after.known and before.known:
            shares.append(f"{percent(after.mean)} {words} ({percent(before.mean)} of all of them)")
    who = f"of those who told {not_told(numbers)}, by {number(bought.mean, 0)} who were asked, "
    return f"; {who}{listing(shares)}" if shares else ""


def planned_of_filter(numbers):
    """Sentences on the people to ask for their group."""
    known = {
        name: numbers.get(_PLAN, name, _BLANK)
        for name in ("labels_planned", "planned_disclosivity", "planned_certified")
    }
    if not known["labels_planned"].known or numbers.get(_PLAN, "labels_bought", _BLANK).known:
        return
    low, high = (
        number(numbers.get(_PLAN, "planned_disclosivity", _BLANK, variable=end).mean, 3)
        for end in ENDS
    )
    count = number(known["labels_planned"].mean, 0)
    yield (
        f"collect.csv lists {count} of the people who told {not_told(numbers)}, drawn by design: "
        "by them a leaf of the filter is expected to be shown to tell at most "
        f"{number(known['planned_disclosivity'].mean, 3)} about people like these "
        f"(eight of ten samples: {low} to {high}), and to keep its limit for them with the chance "
        f"{percent(known['planned_certified'].mean, 0)}, if they are like those who told."
    )


def asking_of_filter(numbers):
    """What to do with the people to ask for their group, where some were drawn."""
    if any(planned_of_filter(numbers)):
        yield (
            "Ask the people of collect.csv for their group, fill in the blanks, and name the file "
            "under collected: the bound is then one for people like them."
        )


def bought_of_filter(numbers):
    """Sentences on what people who were asked for their group say of the filter."""

    def of(metric):
        return numbers.get(_PLAN, metric, _BLANK).mean

    bought = numbers.get(_PLAN, "labels_bought", _BLANK)
    if not bought.known:
        return
    certified, kept = numbers.get(_PLAN, "certified_collected", _BLANK), ""
    if certified.known:
        sure = certified.mean == 1
        whom = f"for people who told {not_told(numbers)}"
        kept = f"Certified {whom}, too: " if sure else f"Not certified {whom}: "
    text = (
        f"{kept}by {number(bought.mean, 0)} of them who were asked by design a leaf of the filter "
        f"tells at most {number(of('collected_at_most'), 3)} about anybody's group (found: "
        f"{number(of('disclosivity_collected'), 3)}), with confidence "
        f"{percent(of('confidence_collected'), 1)}. It rests on the known chances by which they "
        "were drawn, and on nothing that is assumed of who told."
    )
    yield capital(text)
    before, after = of("imbalance_before_collected"), of("imbalance_collected")
    yield (
        f"Among them the imbalance is {number(before, 3)}, and {number(after, 3)} among those of "
        "them whom the filter accepts."
    )
    if of("labels_refused") > 0 and not refused_of_filter(numbers):
        one = "person", "was asked and has left a blank", "people"
        yield f"{_unlabeled(of('labels_refused'), *one)}{_of_leaf(numbers)}."
    if of("labels_waiting") > 0:
        yield (
            f"{_left(of('labels_waiting'), 'person', 'asked', 'people')}: with all of them a leaf "
            f"is expected to be shown to tell at most {number(of('planned_disclosivity'), 3)}."
        )


def _of_leaf(numbers):
    worst = numbers.get(_PLAN, "collected_at_worst", _BLANK).mean
    return f" of their leaf; whatever their groups are, a leaf tells at most {number(worst, 3)}"


def refused_of_filter(numbers):
    """The warning of `refusing`, of people who were asked for their group."""
    bought, refused = (
        numbers.get(_PLAN, f"labels_{name}", _BLANK).mean for name in ("bought", "refused")
    )
    return refusing(bought, refused, _of_leaf(numbers), "people who were asked", "answer")


def card_of_asked(numbers):
    """The card of what groups that were asked for certify: of other people than the filter's."""
    bound, kept = (
        numbers.get(_PLAN, name, _BLANK) for name in ("collected_at_most", "certified_collected")
    )
    if bound.known:
        title = "Certificate" if kept.known and kept.mean == 1 else "No certificate"
        level = percent(numbers.get(_PLAN, "confidence_collected", _BLANK).mean, 1)
        told = f"what a leaf may tell about people who told {not_told(numbers)}; confidence {level}"
        yield blocks.Card(f"{title} by who was asked", f"≤ {number(bound.mean, 3)}", "", told)


def _untold(numbers):
    for name in numbers.places("part", _PLAN, "share_before_collected", _BLANK):
        yield Line(_PLAN, str(name), {"part": name})


#: Groups of people with a blank among theirs, by those of them who were asked.
UNTOLD = Sheet(
    "The groups of people with a blank among theirs, by those of them who were asked",
    _untold,
    (
        Column("share_before_collected", target=_BLANK),
        Column("share_after_collected", target=_BLANK),
    ),
    first="Group",
    best=False,
)


# The same of offers: which to make next.


def planned_of_offers(numbers):
    """Sentences on the offers to make."""
    count = numbers.get(_PLAN, "labels_planned", _BLANK)
    if not count.known or numbers.get(_PLAN, "labels_bought", _BLANK).known:
        return
    expected = half(numbers, "planned", _PLAN, _BLANK)
    budget = numbers.get(_PLAN, "labels_budget", _BLANK).mean
    wrong, plain = (
        half(numbers, "expected", _PLAN, _BLANK, part=f"{budget:g}", variable=which)
        for which in ("wrong", "plain")
    )
    yield (
        f"collect.csv lists {number(count.mean, 0)} people without an answer and the offer to make "
        "to each, drawn near the best one with a known chance: what a person brings with the best "
        f"offers is then expected to be known to ±{expected}, whatever the model is worth "
        f"(±{wrong} if it told nothing of single people, ±{plain} if offers and people were drawn "
        f"alike).{_out_of_reach(numbers)} Fill in its answer column and name the file under "
        "collected."
    )


def bought_of_offers(numbers):
    """Sentences on what answers to offers that were drawn say."""

    def of(metric):
        return numbers.get(_PLAN, metric, _BLANK).mean

    if not numbers.get(_PLAN, "labels_bought", _BLANK).known:
        return
    best, claimed, (name, _, over) = _earned(numbers)
    if best.known:
        verdict = "" if best.low <= claimed <= best.high else ", which is refuted"
        text = (
            f"By {number(of('labels_bought'), 0)} answers to offers that were drawn, people "
            "without an answer bring "
            f"{in_words(best, numbers.measure('revenue_collected'))} each with the offer that the "
            f"model has for the best of those tried, which had said {amount(claimed)}{verdict}"
        )
        if name:
            more = in_words(over, numbers.measure("revenue_over_best"))
            sure = "earns" if over.beyond_chance else "may earn"
            sure += " more" if over.low > 0 else " less"
            text += f"; one offer for all, at best {name}, {sure} ({more} each)"
        yield (
            f"{text}. That rests on the known chances of offers, and on no model; that answers "
            "could have come out otherwise, as those of later people will, is counted."
        )
    else:
        yield (
            f"{number(of('labels_bought'), 0)} answers came back, too few of them to the best "
            "offers to say what these earn."
        )
    if of("labels_refused") > 0 and not refused_of_offers(numbers):
        yield f"{_unlabeled(of('labels_refused'), 'offer', 'was made and has no answer')}."
    yield from _whether_reached(numbers, _PLAN, _BLANK)
    if of("labels_waiting") > 0:
        expected = half(numbers, "planned", _PLAN, _BLANK)
        more = f": with all of them the half-width is expected to be {expected}" if expected else ""
        yield f"{_left(of('labels_waiting'), 'offer', 'made')}{more}."
    yield (
        "Put the offers and answers into the table, and the model learns from them; with "
        "offer_chance of plan.parquet as propensity, and one over chance there as weight, they are "
        "a log by which any rule can be valued."
    )


def _earned(numbers):
    """What the best offers bring by answers and by the model, and the one for all that is least
    likely to bring less, not the largest value: its name, what it brings, and over the best."""

    def of(name, metric="revenue_collected"):
        return numbers.get(_PLAN, metric, _BLANK, part=name)

    over = {k: one for k in _offers(numbers) if (one := of(k, "revenue_over_best")).bounded}
    name = max(over, key=lambda one: over[one].low, default="")
    return of("best"), of("best", "collected_claim").mean, (name, of(name), over.get(name))


def refused_of_offers(numbers):
    """The warning of `refusing`, of offers that were made."""
    bought, refused = (
        numbers.get(_PLAN, f"labels_{name}", _BLANK).mean for name in ("bought", "refused")
    )
    return refusing(bought, refused, "", "offers that were made", "answer")


def answered_offers(numbers):
    """Cards and steps where answers to offers that were drawn have the last word; else None."""
    best, claimed, (name, single, over) = _earned(numbers)
    if not best.known:
        return None
    note = f"with the best offers, of people without an answer; the model said {amount(claimed)}"
    measure = numbers.measure("revenue_collected")
    cards = [blocks.Card("Revenue a person, by answers", *told(best, measure), note)]
    right = best.low <= claimed <= best.high
    todo = ["Go by these answers" + ("" if right else ", and not by the model's claim")]
    if name and over.low > 0:
        note = f"with {name} for everybody: more than with the best offers, beyond chance"
        cards.append(blocks.Card("One offer for all, by answers", *told(single, measure), note))
        todo.append(f"{name} for everybody brings more than an offer for each")
    return cards, f"{': '.join(todo)}."


def _offers(numbers, metric="revenue_collected"):
    """The best offers, then each to everybody, from the least."""
    parts = numbers.places("part", _PLAN, metric, _BLANK)
    return sorted(parts, key=lambda one: float("-inf") if one == "best" else float(one))


def _tried(numbers):
    for name in _offers(numbers, "offer_answers") or _offers(numbers):
        label = "The best offer for each" if name == "best" else f"{name} for everybody"
        yield Line(_PLAN, label, {"part": name})


TRIED = Sheet(
    "What offers earn a person, by answers to those in collect.csv",
    _tried,
    (
        Column("revenue_collected", target=_BLANK),
        Column("revenue_over_best", target=_BLANK),
        Column("collected_claim", target=_BLANK, show="mean"),
        Column("offer_answers", target=_BLANK, show="mean"),
    ),
    first="Offers",
    note="Of people without an answer; blank where too few answers tell it. The largest value is "
    "mostly too high: those over the best may be chosen by their intervals.",
    best=False,
)
