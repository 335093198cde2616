"""Pages of studies of offers: what to offer, what that would earn, and how far to trust it.

A method has one or more ways to use it, its settings: by the likeliest segment of a person, or by
all. The line of a method here is one of its ways.
"""

import math

import pandas as pd

from counterweight.delivery.bought_file import LEAST
from counterweight.errors import in_figures
from counterweight.reporting.blocks import Card
from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.pages.collected_page import (
    TRIED,
    answered_offers,
    bought_of_offers,
    planned_of_offers,
    refused_of_offers,
)
from counterweight.reporting.pages.own_offers import (
    DRAWN,
    LEVELS,
    LIMITS,
    against,
    an_offer,
    at_random,
    claimed,
    in_total,
    next_steps,
    no_gain,
    requested,
    taken_to_earn,
    together,
    within_limits,
)
from counterweight.reporting.pages.trust import REHEARSAL
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Points,
    Sheet,
    cards_and_points,
    in_words,
    mark_of,
    told,
)
from counterweight.reporting.study_page import Answer, StudyPage, difference_in_words
from counterweight.reporting.wording import (
    Measure,
    capital,
    count,
    listing,
    number,
    option_name,
    percent,
)
from counterweight.tables.parquet import read_table

_ENDS = ("", "_low", "_high")
_TOTALS = ("enrolment", "revenue")
_PREDICTED = [f"{of}_{what}" for of in _TOTALS for what in ("predicted", "actual", "true")]
_CLAIMED = [
    f"{of}_{what}" for of in _TOTALS for what in ("claimed", "optimal_true", "best_possible")
]
_LOGGED = ["revenue_ips", "revenue_snips"]
_FACTS = ["component_imbalance", "component_overlap", "component_eta", "component_k"]
#: What the table has, in its order.
METRICS = (
    *("components_chosen", "kl", "rmse", "rmse_floor", "rmse_test", "rmse_floor_test"),
    *("log_loss", "brier", "auc"),
    *(name + end for name in _PREDICTED for end in _ENDS if not end or "predicted" in name),
    *(f"best_offer{end}" for end in _ENDS),
    *(name + end for name in _CLAIMED for end in _ENDS if not end or "claimed" in name),
    *(name + end for name in _LOGGED for end in _ENDS),
    *("enrolment_error", "revenue_error", "single_offer", "single_offer_acceptance"),
    *("single_offer_revenue", "offer_variation", "regression_r2", "regression_adjusted_r2"),
    *(*_FACTS, "rmse_component", "rmse_component_test", "offer_spread"),
    *(f"regression_{what}" for what in ("beta", "coefficient", "p", "low", "high")),
)
#: Log loss by which a method must be better for the page to advise against the main one.
WORSE = 0.01
CHANGE = Measure("change", "relative", digits=1)
SHARE = Measure("share", "share", "less", 0, percent=True)


def ways(numbers, source, target="general"):
    """Settings that a method was judged at; none where it has no result."""
    judged = ("log_loss", "enrolment_predicted", "rmse")
    known = {way for name in judged for way in numbers.places("setting", source, name, target)}
    return sorted(known, key=lambda way: (way == "", way))


def each_way(numbers):
    """A line for each method and way to use it."""
    for source in numbers.sources:
        for way in ways(numbers, source) or [""]:
            place, mark = {"setting": way} if way else {}, mark_of(numbers, source)
            yield Line(source, numbers.label(source, way), place, mark=mark)


def chosen(numbers):
    """Method and setting whose offers are delivered."""
    if numbers.delivered[0]:
        return numbers.delivered
    found = numbers.rows("delivered", "given_away")
    if len(found):
        return str(found["part"].iloc[0]), str(found["setting"].iloc[0])
    given = numbers.plan.get("given_away") or {}
    return given.get("method"), given.get("setting", "")


def validated(numbers):
    """Log loss on held-out answers, by method and setting."""
    found = numbers.rows("delivered", "validated_log_loss")
    pairs = zip(found["part"], found["setting"], found["value"], strict=True)
    return {(str(part), str(way)): float(value) for part, way, value in pairs}


def fair_lines(numbers):
    """Measured lines that see nothing hidden; first the one that the page is about.

    That is the main method, by the way in which its offers are delivered, or would be.
    """
    lines = [one for one in each_way(numbers) if one.mark != "oracle" and ways(numbers, one.source)]
    method, given = chosen(numbers)
    if method != numbers.main:
        own = {way: loss for (of, way), loss in validated(numbers).items() if of == numbers.main}
        given = min(own, key=own.get, default=given)
    return sorted(
        lines, key=lambda one: (one.source != numbers.main, one.place.get("setting") != given)
    )


def series(numbers, line, metric, end=""):
    """Values by repeat; an end of an interval within repeats is the value where there is none."""
    known = numbers.values(line.source, metric + end, **line.place)
    return known if len(known) or not end else series(numbers, line, metric)


def relative(top, base):
    """Value of a column: one metric over another, minus 1; its interval as `spread` has it."""

    def value(numbers, line):
        made, low, high = (
            numbers.change(series(numbers, line, top, first), series(numbers, line, base, second))
            for first, second in (("", ""), ("_low", "_high"), ("_high", "_low"))
        )
        if min(low.n, high.n) < made.n:  # an end that some repeats do not know is none
            return made._replace(low=math.nan, high=math.nan)
        return made._replace(low=low.mean, high=high.mean) if low.mean < high.mean else made

    return value


def spread(metric):
    """Value of a column: a mean with the mean ends of its interval within repeats, if any.

    Else with its interval over repeats.
    """

    def value(numbers, line):
        made = numbers.get(line.source, metric, **line.place)
        ends = [series(numbers, line, metric, end) for end in _ENDS[1:]]
        if min(map(len, ends)) < made.n:
            return made._replace(low=math.nan, high=math.nan)
        low, high = (end.mean() for end in ends)
        return made._replace(low=low, high=high) if low < high else made

    return value


def floor(numbers, line):
    """By repeat, RMSE of the true parameters: only the segment of a person is unknown to them."""
    known = numbers.places("setting", line.source, "rmse_floor")
    own = [way for way in known if way == line.place.get("setting")] or known
    own = [] if line.mark == "oracle" else own
    floors = [numbers.values(line.source, "rmse_floor", setting=way) for way in own]
    return min(floors, key=lambda values: values.mean(), default=pd.Series(dtype=float))


def unsupported(numbers, line):
    """Share of the people for whom no logged offer is near the best one."""
    rows = numbers.rows(line.source, "offers_unsupported", "general")
    rows = rows[rows["setting"] == line.place.get("setting", "")]
    return Estimate(rows["value"].sum() / rows["rows"].sum()) if len(rows) else Estimate()


CLAIM = relative("revenue_claimed", "revenue_actual")
TRUE = relative("revenue_optimal_true", "revenue_true")
LOGGED = relative("revenue_snips", "revenue_actual")


# The answer.


def answer(numbers):
    """What the best offers would earn; before that, whether a plainer method predicts better."""
    line, *others = fair_lines(numbers) or [None]
    if line is None:
        return None
    rivals = [other for other in others if other.source != line.source]
    warning, compared = instead(numbers, line, rivals) or prediction(numbers, line, rivals)
    earned, cards, points = earnings(numbers, line, rivals)
    turned_round = against(numbers)
    tied = together(numbers)
    warnings = turned_round or turned(numbers, [line, *others]), tied, warning
    first, *random = [*at_random(numbers)] or [None]
    texts = (*warnings, first, *earned[:1], *random, *earned[1:], compared)
    paid, totals = in_total(numbers)
    paid = paid and paid + taken_to_earn(numbers)
    if paid:  # a table of one's own: what its file of offers is expected to bring leads
        ends = () if turned_round else at_an_end(numbers)
        limits = (*claimed(numbers), *ends, *pooled_levels(numbers))
        unshown = no_gain(numbers)
        lead = f"{unshown[0]} {paid}" if unshown else paid
        texts = (*warnings, lead, first, *limits, *random)
    bought = (*bought_of_offers(numbers), *untold(numbers), *planned_of_offers(numbers))
    todo = ()
    if paid:
        todo = tuple(next_steps(numbers))
    if paid and (found := answered_offers(numbers)):  # answers come before the model's claim
        claim = f"Without these answers: {paid[0].lower()}{paid[1:]}"
        texts, bought = (*warnings, *bought[:2], claim, first, *limits, *random), bought[2:]
        known, step = found
        kept = ("With past offers", "Revenue a person, within the limits")
        totals = (*known, *(one for one in totals if one.label.startswith(kept)))
        todo = todo if turned_round else (step, *todo[1:])
    said = [text for text in (*texts, *bought, *within_limits(numbers)) if text]
    if warning and said[0] == warning:
        points = predicted(numbers, line, others)
    rest = (*earned, compared) if paid else ()
    warned = refused_of_offers(numbers)
    told = totals or cards, points, rest, todo
    return Answer(said[0], said[1:], *told, warning=warned) if said else None


#: Share of people whose best offer is an end of what was made, from which it is told.
_MANY_AT_AN_END = 0.2


def at_an_end(numbers):
    """A sentence where the best offer of many is the largest, or the least, that was made."""
    path = numbers.folder / "offers.parquet"
    if not numbers.delivered[0] or not path.exists() or requested(numbers, "single_instead"):
        return
    table = read_table(path, ["best_offer", "offered_min", "offered_max"])
    offer = numbers.plan["offer"]
    low, high = (offer.get(side) for side in ("low", "high"))
    grid = offer.get("grid") or ([low or 0.0] + [math.inf if high is None else high])
    more = table["offered_max"] < max(grid), table["offered_min"] > min(grid)
    for end, word, beyond in zip(
        ("offered_max", "offered_min"), ("largest", "least"), more, strict=True
    ):
        there = beyond & (table["best_offer"] == table[end])
        if there.mean() < _MANY_AT_AN_END:
            continue
        ends = table.loc[there, end]
        one = " to ".join(dict.fromkeys((an_offer(ends.min()), an_offer(ends.max()))))
        side = "larger" if word == "largest" else "smaller"
        yield (
            f"Of {percent(there.mean(), 0)} of the people the best offer is the {word} that was "
            f"made to such people ({one}): {side} ones may bring more, and nobody tried them. Make "
            f"some {side} ones at random before you settle on it."
        )


#: Share of people whose interval is wider for a rare level, from which the page says so.
_MANY_POOLED = 0.01


def pooled_levels(numbers):
    """A sentence for each text column whose rare levels carry the offers of many."""
    for column in sorted(set(numbers.rows("delivered", "offers_pooled")["part"])):
        share = requested(numbers, "offers_pooled", column)
        if share >= _MANY_POOLED:
            yield (
                f"Of {percent(share, 0 if share >= 0.1 else 1)} of the people the offer goes by a "
                f"value of {column} that few had: such values share one level, and nothing is "
                "known of each. Their intervals hold what people of the other values get; make "
                "them offers at random, or leave them out, before you settle on theirs."
            )


def untold(numbers):
    """A sentence on offers to everybody of which answers to offers that were drawn tell nothing."""
    place = {"target": "unlabeled"}
    known = numbers.places("part", "collect", "revenue_collected", "unlabeled")
    left = []
    for name in numbers.places("part", "collect", "offer_answers", "unlabeled"):
        never, count = (
            numbers.get("collect", f"offer_{which}", part=name, **place)
            for which in ("unmade", "answers")
        )
        why = f"{number(count.mean, 0)} answers, and {LEAST} are needed"
        why = f"no chance of it for {percent(never.mean)} of the people" if never.known else why
        left += [f"{name} ({why})"] if name not in (*known, "best") else []
    if left:
        yield f"What one offer for all brings is not told of {listing(left)}."


def predicted(numbers, line, others):
    """Points of how well each line predicts answers, for a sentence that is of that."""
    known = [
        (one.label, numbers.get(one.source, numbers.headline, **one.place), "", one is line)
        for one in (line, *others)
    ]
    return cards_and_points(known, numbers.measure(numbers.headline))[1]


def turned(numbers, lines):
    """A warning where acceptance moves against its direction in every segment; "" elsewhere."""
    for line in lines:
        against = numbers.values(line.source, "monotone_active")
        segments = numbers.values(line.source, "components_chosen")
        if len(against) and len(against) == len(segments) and (against >= segments).all():
            return (
                f"In no segment of {line.label} do people accept more as offers go the way that "
                "offer.direction says (down: a price; up: aid, a discount): look whether it is the "
                "other way round."
            )
    return ""


def gaps_of(numbers, line, rivals, metric):
    """Paired differences of other lines from a line, where both were measured."""
    own = series(numbers, line, metric)
    made = [(numbers.difference(series(numbers, one, metric), own), one) for one in rivals]
    return [(gap, one) for gap, one in made if gap.known]


def prediction(numbers, line, rivals):
    """A warning if another method predicts better beyond chance, else a comparison.

    The other one is of those that predict better, else of all; a baseline first, then the best.
    """
    metric = numbers.headline
    gaps = gaps_of(numbers, line, rivals, metric) if metric else []
    if not gaps:
        return "", ""
    better = [(gap, one) for gap, one in gaps if gap.high < 0]
    gap, rival = min(
        better or gaps, key=lambda pair: (numbers.role(pair[1].source) != "baseline", pair[0].mean)
    )
    measure = numbers.measure(metric)
    value = told(numbers.get(rival.source, metric, **rival.place), measure)[0]
    text = (
        f"{rival.label} predicts the answers with {measure.label} {value}: "
        f"{difference_in_words(gap, measure)} {line.label}."
    )
    # What is delivered was chosen by held-out answers: as good as the best within a standard error.
    warned = better and not (validated(numbers) and chosen(numbers)[0] == line.source)
    return (f"Do not set offers by {line.label} alone. {text}", "") if warned else ("", text)


def instead(numbers, line, rivals):
    """Sentences where another method's offers are delivered; None where they are not.

    A warning where it predicts better by `WORSE` or beyond chance, else a remark.
    """
    method, losses = chosen(numbers)[0], validated(numbers)
    other = next((one for one in rivals if one.source == method), None)
    loss, best = (
        losses.get((one.source, one.place.get("setting", ""))) if one else None
        for one in (line, other)
    )
    if loss is None or best is None:
        return None
    text = (
        f"Its log loss on held-out answers is {loss:.3f}, that of {other.label} {best:.3f}, whose "
        "offers are delivered."
    )
    gaps = gaps_of(numbers, line, [other], "log_loss")
    if loss - best > WORSE or any(gap.high < 0 for gap, _ in gaps):
        return f"Do not set offers by {line.label}. {text}", ""
    return "", f"{line.label} is not the best to predict answers. {text}"


def earnings(numbers, line, rivals):
    """Sentences, cards and points: what the best offers claim, and what is known of it."""
    claim, true, logged = (value(numbers, line) for value in (CLAIM, TRUE, LOGGED))
    if not claim.known:
        return (), (), ()
    known, said = [("by its own claim", claim)], []
    if true.known:
        known.append(("in truth", true))
        best = relative("revenue_best_possible", "revenue_true")(numbers, line)
        said = [f"With everybody's true curve known {_told(best)} would be possible."]
    elif requested(numbers, "offers_random") != 0:
        # Weights are estimated, and few people may have got offers near their best ones: of one's
        # own offers that columns tell, answers check nothing.
        known += [("by logged answers to offers near them", logged)] * logged.known
        share, repeats = unsupported(numbers, line).mean, len(series(numbers, line, "log_loss"))
        checked = f"{logged.n} of {count(repeats, 'repeat')} could be checked"
        if share > 0.05:
            said = [
                f"Little checks that: for {percent(share, 0)} of the people no logged offer is "
                f"near the best one, and {checked}."
            ]
        elif logged.n < repeats:
            said = [f"By logged answers {checked}."]
    gaps = gaps_of(numbers, line, rivals, "revenue_optimal_true")
    points = Points([(name, one.times(100), "main") for name, one in known], "change of revenue, %")
    for gap, best in sorted(gaps, key=lambda pair: pair[0].mean)[-1:]:
        points.append((f"{best.label}, in truth", TRUE(numbers, best).times(100), ""))
        if gap.low > 0:
            said.append(f"{best.label} brings more in truth: {_told(TRUE(numbers, best))}.")
    text = " and ".join(f"{_told(one)} {name}" for name, one in known)
    text = f"the best offers of {line.label} change revenue by {text}{_wider(numbers)}."
    if numbers.plan["source"] == "own" and numbers.get("labels", "rows_test", "").mean > 0:
        # Other fits and other rows than those of the file, so other numbers.
        splits = count(numbers.plan["repeats"], "split")
        text = f"On the test rows of {splits}, by fits to the other rows, {text}"
    cards = [Card("Revenue", *told(one, CHANGE, sign=True), name) for name, one in known]
    for metric, note in (
        ("best_offer", "median over people, with quartiles"),
        ("single_offer", ""),
    ):
        value, measure = spread(metric)(numbers, line), numbers.measure(metric)
        cards += [Card(capital(measure.label), *told(value, measure), note)] * value.known
    return [capital(text), *said], cards, points


def _told(known):
    return in_words(known, CHANGE, sign=True)


# Sheets.


def people(numbers):
    """Whom totals are over."""
    tested = numbers.get("labels", "rows_test", "").mean > 0
    return f"over the {'test' if tested else 'training'} rows"


def _change(label, value, bound=None):
    return Column(label=label, value=value, measure=CHANGE, show="difference", bound=bound)


def _above_log(numbers, line):
    truth = numbers.measured("revenue_optimal_true")
    return Estimate() if truth else relative("revenue_claimed", "revenue_snips")(numbers, line)


def _totals(caption, metrics):
    """A sheet of amounts, each with the figure in print."""
    columns = []
    for metric in metrics:
        columns += [
            Column(metric, value=spread(metric)),
            Column(metric, "In print", show="printed"),
        ]
    return Sheet(lambda numbers: f"{caption}, {people(numbers)}", each_way, columns, note=_WITHIN)


def _validated(numbers, line):
    losses = validated(numbers)
    return Estimate(losses.get((line.source, line.place.get("setting", "")), math.nan))


_CLOSE = Bound(0.05, "A claim should be within 5 % of what it is held against.", absolute=True)
_FLOOR = Bound(
    0.1,
    "An error should be at most 10 % above that of the true parameters. Far below it one can be "
    "only where past offers tell the segments: then it says nothing of other offers.",
)
_VARY = Bound(0, "Where offers hardly vary, slopes and gains rest on the form of the curve.")
_TRUTH = "In truth: by the true curves, over what is expected of past offers."
_WITHIN = "Intervals within repeats (bootstrap, logged answers) are told by their mean ends."
EARNINGS = Sheet(
    lambda numbers: f"What the best offers would earn, {people(numbers)}",
    each_way,
    (
        Column("validated_log_loss", "Log loss, held-out answers", value=_validated, show="mean"),
        Column("best_offer", value=spread("best_offer")),
        _change("Gain claimed", CLAIM),
        _change("Gain in truth", TRUE),
        _change("Claim above truth", relative("revenue_claimed", "revenue_optimal_true"), _CLOSE),
        _change("Gain by logged answers", LOGGED),
        _change("Claim above logged answers", _above_log, _CLOSE),
        Column("offers_matched", "Logged offers near", show="mean"),
        Column(label="People without", value=unsupported, measure=SHARE, show="mean"),
    ),
    note=lambda numbers: (
        "Delivered is the method of least log loss on held-out answers (of one's own tables the "
        "first within a standard error of it), unless deliver names one. "
        "Best offer: median over people, with quartiles. Claimed: by the method's own curves, over "
        f"what was earned. {_TRUTH if numbers.measured('revenue_optimal_true') else ''} Logged "
        "answers (SNIPS): to past offers near the best ones, by no model of the answers. "
        f"{_WITHIN}"
    ),
    fold=False,
)
ACCURACY = Sheet(
    "How well the chance to accept is predicted at past offers",
    each_way,
    (
        Column("rmse"),
        Column("rmse", "In print", show="printed"),
        Column("rmse_floor", value=lambda *of: Estimate(floor(*of).mean()), show="mean"),
        _change("Above it", lambda n, one: n.change(series(n, one, "rmse"), floor(n, one)), _FLOOR),
        *(Column(metric) for metric in ("rmse_test", "log_loss", "brier", "auc")),
    ),
    fold=False,
)
SINGLE = Sheet(
    "The one offer to everybody that earns most, and segments whose offers are alike",
    each_way,
    (
        Column("single_offer", value=spread("single_offer")),
        *(Column(f"single_offer{end}") for end in ("_acceptance", "_revenue")),
        Column("offer_variation", "Segments alike", measure=SHARE, show="mean", bound=_VARY),
    ),
    fold=False,
)
SUPPORT = Sheet(
    lambda numbers: f"How far logged answers support the best offers, {people(numbers)}",
    each_way,
    (
        *(Column(name, show="mean") for name in ("offers_matched", "offers_unsupported")),
        *(Column(name, show="mean") for name in ("offers_between", "offers_beyond")),
        *(Column(name, show="mean") for name in ("offers_bandwidth", "revenue_smoothing")),
        Column("revenue_snips", value=spread("revenue_snips")),
    ),
    note="Offers count as near within the window (half of it on the scale of 0 to 1), or at the "
    "same level where few were ever made.",
    fold=False,
)


TOTALS = _totals("Totals at past offers", _PREDICTED)
CLAIMS = _totals("Totals with each method's best offers", [*_CLAIMED, *_LOGGED])


def _components(numbers):
    parts = (numbers.places("part", source, "rmse_component") for source in numbers.sources)
    return [
        Line("", str(int(part) + 1), {"part": part})
        for part in sorted(set().union(*parts), key=int)
    ]


def _by_component(numbers):
    for fact in _FACTS:
        known = [source for source in numbers.sources if numbers.measured(fact, source=source)]
        yield from (Column(fact, source=source, show="mean") for source in known[:1])
    for line in each_way(numbers):
        own = {"source": line.source, "place": line.place}
        yield Column("rmse_component", line.label, **own)
        yield Column("rmse_component", "In print", show="printed", **own)


def _regressions(numbers):
    """The main method's errors, with overlap; without, of models that are told the component."""
    for line in each_way(numbers):
        if line.source == numbers.main or line.mark == "oracle":
            kind = "without_overlap" if line.mark == "oracle" else "with_overlap"
            yield Line(line.source, line.label, line.place | {"part": kind}, mark=line.mark)


def _variables(numbers):
    for line in _regressions(numbers):
        names = numbers.places("variable", line.source, "regression_beta", **line.place)
        for rank, name in enumerate(names):
            place, group = line.place | {"variable": name}, "" if rank else line.label
            yield Line(line.source, option_name(name), place, group, line.mark)


def _beside_print(**labels):
    return tuple(
        Column(f"regression_{metric}", head, show=show)
        for metric, label in labels.items()
        for head, show in ((label, "mean"), ("In print", "printed"))
    )


COMPONENTS = Sheet(
    "RMSE on the people of each true component",
    _components,
    _by_component,
    first="Component",
    note="Imbalance: (1/2 − share that accepts)². † is told the component of everybody.",
    fold=True,
)
REGRESSIONS = Sheet(
    "What the error on a component depends on: regressions, means over repeats",
    _variables,
    _beside_print(beta="Standardised coefficient", p="p value", low="Coefficient from", high="To"),
    first="Variable",
    fold=True,
)
EXPLAINED = Sheet(
    "How much of the errors these regressions explain",
    _regressions,
    _beside_print(r2="R²", adjusted_r2="Adjusted R²"),
    fold=True,
)


# How far to trust it.


def segments(numbers):
    """How often which number of segments was chosen."""
    true = len(_components(numbers))
    told = f"; the data have {true}" if true else ""
    for source in numbers.sources:
        chosen = numbers.values(source, "components_chosen").astype(int)
        given = (numbers.method(source)["options"] or {}).get("components")
        how = "set to" if given else "of least description length"
        sizes = chosen.value_counts().sort_index().items()
        sizes = listing(f"{size} in {times}" for size, times in sizes)
        if len(chosen):
            yield (
                f"{numbers.label(source)}: number of segments {how}: {sizes} of "
                f"{count(len(chosen), 'repeat')}{told}."
            )


def at_the_end(numbers):
    """Best offers of most people at an end of the range: the declared one, else that was made."""
    low, high = (numbers.plan["offer"][side] for side in ("low", "high"))
    low = _made(numbers, "offer_least").min() if low is None else low
    high = _made(numbers, "offer_largest").max() if high is None else high
    for edge in (low, high):
        labels = []
        for line in each_way(numbers):
            best = [series(numbers, line, f"best_offer{end}").mean() for end in _ENDS]
            if sum(abs(value - edge) <= 1e-6 * (high - low) for value in best) >= 2:
                labels.append(numbers.label(line.source))
        if labels:
            yield (
                f"Most best offers are at the end of the range of offers, {in_figures(edge, 6)} "
                f"({listing(dict.fromkeys(labels))}). By these curves better ones may lie beyond."
            )


def _wider(numbers):
    """Words where these best offers are of more than those delivered, which keep to what was made
    to such people: of the declared range, or of all that was made."""
    offer, path = numbers.plan["offer"], numbers.folder / "offers.parquet"
    if not numbers.delivered[0] or offer.get("grid") or not path.exists():
        return ""
    least, largest = _made(numbers, "offer_least").min(), _made(numbers, "offer_largest").max()
    low = least if offer["low"] is None else offer["low"]
    high = largest if offer["high"] is None else offer["high"]
    such = read_table(path, ["offered_min", "offered_max"])
    if low >= such["offered_min"].max() and high <= such["offered_max"].min():
        return ""
    where = "as declared" if low < least or high > largest else "which were made"
    return (
        f" (of all from {in_figures(low, 6)} to {in_figures(high, 6)}, {where}; those delivered "
        "keep to what was made to such people)"
    )


def _made(numbers, metric):
    """A measure of the offers that were made, by repeat and part."""
    return pd.concat([numbers.values("labels", metric, part=part) for part in ("train", "test")])


def table(numbers, target, reason_of):
    """What was measured of the offers.

    ``setting`` is the way to use the method (hard, soft or empty), ``part`` empty, the true
    component (from 0), the segment (of ``offer_spread``), or the kind of a regression, with its
    ``variable``. What is of one size of a model among others stands in the table of all
    measurements.
    """
    return results_table(numbers, (target,), reason_of, METRICS)


PAGE = StudyPage(
    answer=answer,
    sheets=(TRIED, LEVELS, EARNINGS, DRAWN, LIMITS, ACCURACY, SUPPORT, SINGLE),
    trust=(*REHEARSAL, segments, at_the_end),
    details=(TOTALS, CLAIMS, COMPONENTS, REGRESSIONS, EXPLAINED),
    question=lambda numbers: "What should each person be offered, and what would that earn?",
)
