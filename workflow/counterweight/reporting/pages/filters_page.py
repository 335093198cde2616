"""Pages of studies of balanced filters: how balanced, how telling, how large, and for whom."""

import math

from counterweight.models.filter_card import TOO_SMALL, lower_bound, no_gain, one_worse
from counterweight.reporting.blocks import Card
from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.pages import collected_page
from counterweight.reporting.pages.trust import REHEARSAL, newcomers
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Points,
    Sheet,
    in_words,
    lines_of,
    mark_of,
    nearest,
    told,
)
from counterweight.reporting.study_page import Answer, StudyPage
from counterweight.reporting.wording import (
    Measure,
    capital,
    count,
    joined_words,
    listing,
    named,
    number,
    percent,
    setting_label,
)
from counterweight.tables.parquet import setting_options

#: Limit at which methods are compared, and those that sheets show: the measured ones next to them.
MIDDLE, LEVELS = 0.2, (0.05, 0.1, 0.2, 0.4, 0.8)


def plan_of(numbers, what):
    """Of what the plan says of filters: ``group, target, given, limit``, ``swept`` by method."""
    return (numbers.plan.get("filter") or {}).get(what) or {}


def limited(numbers, source):
    """Whether the settings of a method limit what it tells about groups."""
    return plan_of(numbers, "swept").get(source, "") == (plan_of(numbers, "limit") or None)


def limit_of(numbers, line, asked=False):
    """What a filter promises to tell about groups at most; NaN where it promises nothing.

    That of its setting; with `asked`, of the one that held-out rows chose, the alpha asked for.
    """
    given = asked and plan_of(numbers, "given")
    given = given and (given.get("certified") or given.get("chosen"))
    if given and (line.source, line.place.get("setting")) == numbers.delivered:
        return given["alpha"]
    options = setting_options(line.place.get("setting", ""))
    known = limited(numbers, line.source)
    return options.get(plan_of(numbers, "limit"), math.nan) if known else math.nan


def grid(numbers, source, metric="imbalance", target="test", option=None):
    """``(value, setting)`` of every setting of a method at which a metric was measured."""
    option = plan_of(numbers, "swept").get(source, "") if option is None else option
    pairs = []
    for name in numbers.places("setting", source, metric, target):
        options = setting_options(name)
        if {*options} == {*filter(None, [option])}:
            pairs.append((options.get(option, 0.0), name))
    return sorted(pairs)


def given_setting(numbers):
    """Setting of the filter that is delivered: as named, or as certifying chose it."""
    return plan_of(numbers, "given").get("setting", numbers.delivered[1])


def given_method(numbers):
    """Method of the filter that is delivered: as chosen, else as named; None without one."""
    given = plan_of(numbers, "given")
    return (
        given.get("method") if "setting" in given else numbers.delivered[0] or given.get("method")
    )


def at_middle(numbers, source, metric="imbalance"):
    """The line of a method at one setting: as delivered, or next to the limit of what is.

    A method without a limit is shown as it was trained; one without results has no setting.
    """
    method, pairs = given_method(numbers), grid(numbers, source, metric)
    value = MIDDLE if limited(numbers, source) else 0.0
    if source == method or (value and limited(numbers, method)):
        value = next(iter(setting_options(given_setting(numbers)).values()), value)
    setting = nearest(pairs, value) if pairs else ""
    place = {"setting": setting} if pairs else {}
    return Line(source, numbers.label(source, setting), place, mark=mark_of(numbers, source))


def each_at_middle(numbers):
    return [at_middle(numbers, source) for source in numbers.sources]


def at_levels(metric, promised=False):
    """Lines of each method at some settings; with `promised` only of those with a limit."""

    def lines(numbers):
        for source in numbers.sources:
            pairs, limit = grid(numbers, source, metric), limited(numbers, source)
            if pairs and (limit or not promised):
                levels = LEVELS if limit else (0.0, *LEVELS)
                chosen = {nearest(pairs, value) for value in levels}
                chosen = [name for _, name in pairs if name in chosen]
                yield from lines_of(numbers, source, chosen)

    return lines


def shown_filter(numbers):
    """The line of the filter that is delivered, else of the main method; None without results."""
    for source in (given_method(numbers), numbers.main, *numbers.sources):
        if source and grid(numbers, source):
            return at_middle(numbers, source)
    return None


def groups_of(numbers):
    """``(column, name, part)`` of the groups; no column where only one is balanced."""
    columns = plan_of(numbers, "group")
    several = not isinstance(columns, str) and len(columns) > 1
    places = (numbers.places("part", "labels", "group_share", one) for one in ("test", "train"))
    for part in next(filter(None, places), ()):
        column, _, name = part.partition("=")
        yield (column, name, part) if several else ("", part, part)


def wanted(numbers, line):
    """Share of a group in a balanced sample: as requested, else the same for all of its column."""
    aim, columns = plan_of(numbers, "target"), {part: one for one, _, part in groups_of(numbers)}
    if aim:
        return Estimate(float(aim.get(line.place["part"], 0.0)))
    return Estimate(1 / [*columns.values()].count(columns[line.place["part"]]))


#: Disclosivities on test rows at which the balance of methods is compared.
BUDGETS = (0.1, 0.2, 0.4)
#: Rounding of a tree's shares, in disclosivity; least room between no filter and the floor.
EXACT, ROOM = 1e-6, 1e-3
#: The setting whose classifier is trained on all training rows.
EVERYONE = "everyone"
TARGETS = ("train", "test")
#: Metrics of the table, in its order; the first is the headline. The last ones are by group.
MEASURED = (
    *("imbalance", "imbalance_drawn", "floor", "disclosivity", "disclosivity_rows"),
    *("disclosivity_large", "acceptance_rate", "collected", "leaves", "bound_disclosivity"),
    *("bound_imbalance", "excess_disclosivity", "excess_imbalance", "accuracy", "accuracy_worst"),
    *("rows_accepted", "distorted", "group_share", "group_gain", "accuracy_group"),
)
#: The same of people with a blank group, by those of them who were asked.
BY_ASKED = (
    *("disclosivity_collected", "collected_at_most", "collected_at_worst", "certified_collected"),
    *("imbalance_before_collected", "imbalance_collected", "labels_bought", "labels_refused"),
    *("share_before_collected", "share_after_collected"),
)
OF_PROXIES = (
    *("leaves", "height", "splits", "distance", "disclosivity", "disclosivity_nodes"),
    "attribute_accuracy",
)
SHARE = Measure("share", "share", "", 2, percent=True)
WAY = Measure("way", "share", "more", 0, percent=True)
DISTANCE = Measure("distance", "", "less", 3)
POINTS = Measure("change", "points", "more", 1)
LEAVES = Measure("leaves", "", "", 1)


def table(numbers, target, reason_of):
    """What was measured on training and test rows; a group stands in ``part``.

    What people say who were asked for their group has the method ``collect``.
    Shares in single leaves stand in the metrics only; groups of too few people have no row.
    """
    methods, targets = [*numbers.sources], TARGETS
    if numbers.get("collect", "labels_bought", "unlabeled").known:
        methods, targets = [*methods, "collect"], (*TARGETS, "unlabeled")
    made = results_table(numbers, targets, reason_of, (*MEASURED, *BY_ASKED), methods)
    return made[~made["part"].isin(too_few(numbers))].reset_index(drop=True)


# Numbers that follow from several.


def beyond(numbers, line, target="test", asked=False):
    """Disclosivity beyond the limit of a filter; nothing where none is promised."""
    known = numbers.get(line.source, "disclosivity", target, **line.place)
    values = [value - limit_of(numbers, line, asked) for value in known]
    return Estimate(*values)._replace(sd=known.sd, n=known.n)


def way(numbers, line):
    """Share of the way from no filter to the floor on test rows; nothing where there is no room."""
    start = numbers.values("labels", "starting_imbalance", "test")
    reached = numbers.values(line.source, "imbalance", "test", **line.place)
    room = start - numbers.values(line.source, "floor", "test", **line.place)
    share = ((start - reached) / room.where(room > ROOM)).dropna()
    return numbers.difference(share, 0 * share)


def change(metric):
    """Change of a metric, in points, against the classifier that is trained on all rows."""

    def value(numbers, line):
        if line.place.get("setting", EVERYONE) == EVERYONE:
            return Estimate()
        mine = numbers.values(line.source, metric, "test", **line.place)
        base = numbers.values(line.source, metric, "test", setting=EVERYONE)
        return numbers.difference(mine, base).times(100)

    return value


def within(budget):
    """Least mean imbalance on test rows among settings that disclose at most so much there."""

    def value(numbers, line):
        def of(metric, setting):
            return numbers.get(line.source, metric, "test", setting=setting)

        names = [name for _, name in grid(numbers, line.source)]
        known = [of("imbalance", name) for name in names if of("disclosivity", name).mean <= budget]
        return min(known, key=lambda one: one.mean, default=Estimate())

    return value


# Sheets.


def classifiers(numbers):
    known = [at_middle(numbers, source, "accuracy") for source in numbers.sources]
    known = [line for line in known if line.place]
    everyone = {"setting": EVERYONE}
    return [Line(line.source, "All training rows", everyone) for line in known[:1]] + known


def group_lines(numbers):
    about, last, few = shown_filter(numbers), "", too_few(numbers)
    for column, name, part in groups_of(numbers) if about else ():
        if part in few:
            continue
        yield Line(about.source, name, {"part": part}, group="" if column == last else column)
        last = column


def too_few(numbers):
    """Groups of too few people to be told shares of: below the least count of a cell.

    Never one of a column alone, since the others would tell it: then the next smallest, too.
    """
    least, few, by_column = plan_of(numbers, "given").get("min_cell_count") or 0, set(), {}
    for column, _, part in groups_of(numbers) if least else ():
        shares = [numbers.get("labels", "group_share", one, part=part).mean for one in TARGETS]
        sizes = [numbers.get("labels", f"rows_{one}", "").mean for one in TARGETS]
        count = min(share * rows for share, rows in zip(shares, sizes, strict=True))
        by_column.setdefault(column, []).append((count, part))
    for counts in map(sorted, by_column.values()):
        own = [part for count, part in counts if count < least - 0.5]
        few |= {part for _, part in counts[: max(2, len(own)) if own else 0]}
    return few


def group_columns(numbers):
    place = getattr(shown_filter(numbers), "place", {})
    yield Column("wanted", value=wanted, measure=SHARE._replace(label="wanted"), show="mean")
    for target, rows in (("test", "test rows"), ("train", "training rows")):
        style = {"target": target, "measure": SHARE}
        yield Column("group_share", f"Before, {rows}", source="labels", show="mean", **style)
        yield Column("group_share", f"Accepted, {rows}", place=place, **style)
    yield Column("group_gain", "Gain, test rows", "test", place=place)
    yield Column("group_gain", "In print", "test", place=place, show="printed")


def proxies(numbers):
    """A line for each proxy that filters are made of, at one setting."""
    for one in numbers.plan["selectors"]:
        pairs = grid(numbers, one["id"], "leaves", "", plan_of(numbers, "limit"))
        setting = nearest(pairs, MIDDLE) if pairs else ""
        label = joined_words([one.get("label") or one["id"], setting_label(setting)])
        yield Line(one["id"], label.replace("_", " "), {"setting": setting} if pairs else {})


def start_note(numbers):
    start = numbers.get("labels", "starting_imbalance", "test").mean
    drawn = (
        " Disclosivity is over all draws of a person's leaf; the card above and filter.md draw it "
        "once."
    ) * (numbers.plan["source"] == "own")
    return (
        f"Before filtering the imbalance on test rows is {number(start, 3)}. Floor: the least of "
        "any filter that tells no more than the setting allows; one that tells more on test rows "
        "than on its own can be below it. Way: how far from no filter to the floor. A method "
        f"without a limit is shown as it was trained.{drawn}"
    )


KEPT = Bound(0.0, "Beyond its limit: disclosivity on test rows less the limit of the setting.")
SIZE = Bound(100, "Pass where at least 100 training rows are accepted.", least=True)
LOST = Bound(-0.5, "Change: against training on all rows; judged by half a point.", least=True)
BALANCE = (
    Column("imbalance", "Imbalance, test rows", "test"),
    Column("floor", "Floor", "test", show="mean"),
    Column("way", "Way to the floor", value=way, measure=WAY),
    Column("disclosivity", "Disclosivity, test rows", "test"),
    Column("beyond", "Beyond its limit", value=beyond, measure=DISTANCE, bound=KEPT),
    Column("acceptance_rate", "Accepted, training rows", "train", show="mean", measure=SHARE),
    Column("collected", "Rows accepted, training", "train", show="mean", bound=SIZE),
)
MORE = (
    Column("disclosivity_large", "In large leaves", "test", show="mean"),
    Column("disclosivity_rows", "Rows of the most telling leaf", "test", show="mean"),
    Column("leaves", "Leaves", "train", show="mean", measure=LEAVES),
    Column("leaves", "In print", "train", show="printed"),
    Column("imbalance", "Imbalance, training rows", "train"),
    Column("disclosivity", "Disclosivity, training rows", "train"),
    Column("distorted", "Distorted within a group, training rows", "train", show="mean"),
    Column("distorted", "The same, test rows", "test", show="mean"),
)
OVERVIEW = Sheet(
    "Every method at one setting", each_at_middle, BALANCE, note=start_note, best=False
)
OTHERS = Sheet(
    "The same at other settings, and more",
    at_levels("imbalance"),
    BALANCE + MORE,
    note="Large leaves: of 30 test rows or more; smaller ones are mostly chance.",
    best=False,
)
EQUAL = Sheet(
    "Least imbalance on test rows, by the disclosivity there",
    lambda numbers: [
        Line(line.source, numbers.label(line.source), mark=line.mark)
        for line in each_at_middle(numbers)
        if line.place
    ],
    tuple(
        Column("within", f"At most {budget:g}", value=within(budget), measure=DISTANCE)
        for budget in BUDGETS
    ),
    note="Of all settings of a method, that of the least mean.",
)
GROUPS = Sheet(
    lambda numbers: f"The groups before and after: {shown_filter(numbers).label}",
    group_lines,
    group_columns,
    first="Group",
    note=lambda numbers: (
        "Gain: share among the accepted over that before."
        + (" Groups of too few people are left out." if too_few(numbers) else "")
    ),
    best=False,
)
CLASSIFIERS = Sheet(
    "A classifier trained on the accepted rows, on test rows",
    classifiers,
    (
        Column("accuracy", target="test"),
        Column("change", value=change("accuracy"), measure=POINTS, bound=LOST),
        Column("accuracy_worst", target="test"),
        Column("change", value=change("accuracy_worst"), measure=POINTS, bound=LOST),
        Column("rows_accepted", "Rows it learns from", "train", show="mean"),
        Column("imbalance_taught", "Their imbalance, groups seen", "train", show="mean"),
    ),
    first="Trained on",
    best=False,
)
BOUNDS = Sheet(
    "From training to test rows: what was measured, and what Theorem 3 promises",
    at_levels("bound_disclosivity", promised=True),
    tuple(
        Column(metric, target="test", show="interval" if metric != f"bound_{what}" else "mean")
        for what in ("disclosivity", "imbalance")
        for metric in (f"excess_{what}", what, f"bound_{what}")
    ),
    note="A bound says nothing of disclosivity from 1 on, nor of imbalance from that of no filter.",
    best=False,
)
PROXIES = Sheet(
    "The trees and classifiers behind the filters, training rows",
    proxies,
    tuple(Column(metric, target="", show="mean") for metric in OF_PROXIES),
    first="Proxy",
    best=False,
)


# The answer, and how far to trust it.


def question(numbers):
    columns = listing(plan_of(numbers, "group") or ["groups"]).replace("_", " ")
    return f"How balanced over {columns} is a sample that is collected without asking anybody?"


def answer(numbers):
    """How balanced the sample is that a filter collects, at what price, and what it tells."""
    about = shown_filter(numbers)
    if about is None:
        return None
    if numbers.plan["source"] == "own" and held_out(numbers, "disclosivity_at_most").known:
        return of_delivered(numbers, about)

    def of(metric, target="test"):
        return numbers.get(about.source, metric, target, **about.place)

    start = numbers.get("labels", "starting_imbalance", "test")
    reached, floor, shown = of("imbalance"), of("floor"), of("disclosivity")
    gap = numbers.difference(
        numbers.values(about.source, "imbalance", "test", **about.place),
        numbers.values("labels", "starting_imbalance", "test"),
    )
    low, high = gap.ends
    moves = "brings" if high < 0 else "raises" if low > 0 else "takes"
    sure = ", which is not a significant change" if low <= 0 <= high else ""
    before, least = number(start.mean, 3), number(floor.mean, 3)
    limit = limit_of(numbers, about, asked=True)
    verdict = KEPT.judge(beyond(numbers, about, asked=True))
    promise = f"its limit is {limit:g}" if verdict else "no limit is promised"
    words = {"pass": ": kept", "fail": ": broken", "open": ": open whether it is kept"}
    rate, total = of("acceptance_rate", "train").mean, numbers.get("labels", "rows_train", "").mean
    size = f"{number(of('collected', 'train').mean, 0)} of {number(total, 0)} training rows"
    cards = [
        Card("Imbalance, test rows", *told(reached, DISTANCE), f"{before} before, floor {least}"),
        Card("Disclosivity, test rows", *told(shown, DISTANCE), promise, verdict),
        Card("Accepted", percent(rate), "", size),
    ]
    lost = change("accuracy")(numbers, about)
    if lost.known:
        card = told(lost, POINTS, sign=True)
        cards.append(Card("Change of accuracy", *card, "points, of a classifier of the accepted"))
    return Answer(
        f"{capital(about.label)} {moves} the imbalance on test rows from {before} to "
        f"{in_words(reached, DISTANCE)}{sure}, and its leaves tell up to "
        f"{in_words(shown, DISTANCE)} about anybody's group there ({promise}"
        f"{words.get(verdict, '')}).",
        (
            f"The least imbalance that a filter within the limit of its setting could reach is "
            f"{least}.",
            f"It accepts {percent(rate)}: {size}.",
            *_given(numbers, about),
        ),
        cards,
        (("before", start, ""), (about.label, reached, "main"), ("floor", floor, "")),
    )


def held_out(numbers, metric, part=""):
    """What rows that were held out say of the filter that is delivered."""
    place = {"setting": given_setting(numbers), "part": part}
    return numbers.get("delivered", metric, "test", **place)


def of_delivered(numbers, about):
    """The answer of a filter that is delivered: whom it takes, what it tells, its certificate."""
    bound, certified, confidence, rate, shown, reached, before, lower = (
        held_out(numbers, metric).mean
        for metric in (
            *("disclosivity_at_most", "certified", "confidence", "acceptance_rate"),
            *("disclosivity", "imbalance", "imbalance_before", "disclosivity_alone"),
        )
    )
    columns, by_column = listing(plan_of(numbers, "group")).replace("_", " "), changes(numbers)
    worse = [name for name, (_, rises) in by_column.items() if rises]
    who = collected_page.who_told(numbers)
    among = f"{number(before, 3)} among {'all who told' if who else 'all'}"
    moved, falls = changed(numbers)
    fall = f"falls from {number(before, 3)} to {number(reached, 3)}{moved}"
    sentence = _who_is_accepted(numbers, about, who, fall)
    if not falls:
        sentence = (
            f"The filter is not shown to make {columns} more balanced by rows that were held out: "
            f"the imbalance of the accepted is {number(reached, 3)}, and {among}{moved}."
        )
    if worse:
        first = listing([f"{name} (imbalance {by_column[name][0]})" for name in worse])
        sentence = f"The filter makes more uneven {first}. {sentence}"
    of_them = f"one of {number(1 / rate, 1)} people" * (rate > 0)
    level = f"confidence {percent(confidence, 0)}"
    untold = [*collected_page.card_of_asked(numbers)]
    asked_for, like = bool(untold), "those who told their group" if untold else "these"
    sure = ("Certificate" if certified == 1 else "No certificate") + " by who told" * asked_for
    about_leaf = f"what a leaf may tell about anybody's group, for new people like {like}; {level}"
    largest = "the largest shift of a group's share, each person's leaf drawn once"
    cards = [
        Card("Accepted of held-out rows", percent(rate), "", of_them),
        Card("Imbalance of the accepted", number(reached, 3), "", f"{among}{moved}"),
        Card(sure, f"≤ {number(bound, 3)}", "", about_leaf),
        Card("Told on held-out rows", number(shown, 3), "", largest),
    ]
    cards[3:3] = untold
    asked = plan_of(numbers, "given").get("certified") or plan_of(numbers, "given").get("chosen")
    limit = f" ({asked['alpha']:g} was the limit that was asked for)" if asked else ""
    more = (
        f"{'Certified' if certified == 1 else 'Not certified, but measured'}: for new people like "
        f"{like} a leaf of the filter tells at most {number(bound, 3)} about anybody's group"
        f"{limit}, with {level}.{lower_bound(lower)} The rows that show this chose it, which that "
        "and the change of the imbalance allow for, and did not fit it.",
        *(f"Imbalance of {name} {told}." for name, (told, _) in by_column.items()),
        *_released(numbers, bound),
        *_untold_groups(numbers),
        *collected_page.bought_of_filter(numbers),
        *collected_page.planned_of_filter(numbers),
    )
    new = numbers.plan.get("new_rows")
    use = "take those whom new_accepted.csv accepts, and " * bool(new)
    use += f"name the file of people who apply {'later ' * bool(new)}under score in the config and"
    todo = (
        *([] if falls else [no_gain(columns)]),
        *([one_worse(listing(worse))] if worse else []),
        *collected_page.asking_of_filter(numbers),
        f"{capital(use if falls else f'to use it, {use}')} run it again, or --config "
        f"score=people.csv in the terminal. It needs no {columns}.",
        *_next_to_ask(numbers),
    )
    rest = (f"It is {about.label}, fitted on some rows; the others chose and judged it.",)
    points = [("among all", Estimate(before), ""), ("accepted", Estimate(reached), "main")]
    points = Points(points, "distance of shares from the target")
    warning = collected_page.refused_of_filter(numbers)
    return Answer(sentence, more, cards, points, rest, todo, warning=warning)


def _who_is_accepted(numbers, about, who, fall):
    """The first sentence of a filter that balances; `fall` says how the imbalance falls."""
    groups, columns = [], listing(plan_of(numbers, "group")).replace("_", " ")
    for line in group_lines(numbers):
        share = numbers.get(line.source, "group_share", "test", **about.place | line.place).mean
        first = numbers.get("labels", "group_share", "test", **line.place).mean
        groups.append((first, line, share, wanted(numbers, line).mean))
    # Told are the two rarest, which filters are for, and of the others the one changed most.
    groups.sort(key=lambda one: one[0])
    groups[2:] = sorted(groups[2:], key=lambda one: -abs(one[2] - one[0]))[:1]
    asked = [(line.place["part"], _are(numbers, line)) for _, line, *_ in groups]
    asked, whole = collected_page.among_asked(numbers, asked), "all who told" if who else "all"
    groups = [
        f"{percent(share)} {_are(numbers, at)} ({percent(first)} of {whole}, {percent(aim)} wanted)"
        for first, at, share, aim in groups
    ]
    told = f"Of the people{f'{who} and' * bool(who)} whom the filter accepts {listing(groups)}"
    asks = f"nobody {'who applies ' * bool(asked)}is asked for {columns}{asked}."
    return f"{told if groups else 'The filter accepts people'}: the imbalance {fall}, and {asks}"


def changes(numbers):
    """Of several columns each one's change on held-out rows, in words; whether it surely rises."""
    found, columns = {}, plan_of(numbers, "group")
    for column in [] if isinstance(columns, str) else columns:
        before, after, change = (
            held_out(numbers, metric, column)
            for metric in ("imbalance_before", "imbalance", "imbalance_change")
        )
        if change.low <= change.high:
            ends = in_words(change, DISTANCE, sign=True)
            told = f"from {number(before.mean, 3)} to {number(after.mean, 3)}, {ends}"
            found[column.replace("_", " ")] = told, change.low > 0
    return found


def changed(numbers):
    """The change of the imbalance on held-out rows, in words; whether that is surely a fall."""
    known = held_out(numbers, "imbalance_change")
    if not known.low <= known.high:
        return "", False
    sure = "" if known.high < 0 or known.low > 0 else ", not beyond chance"
    return f" (a change of {in_words(known, DISTANCE, sign=True)}{sure})", known.high < 0


def _released(numbers, bound):
    """A sentence on what is released beside the leaf, where it tells more than the leaf may."""
    known = held_out(numbers, "released", "all of them together").mean
    if known > bound:
        yield (
            f"What the filter releases (release) tells more: all columns together at most "
            f"{number(known, 3)}, and filter.md has each of them."
        )


def _untold_groups(numbers):
    """A sentence on groups of too few people, which count in the target and are not told."""
    few, least = len(too_few(numbers)), plan_of(numbers, "given").get("min_cell_count")
    if few:
        yield (
            f"Shares of {few} of {sum(1 for _ in groups_of(numbers))} groups are not told, since "
            f"one of them has fewer than {least} people (min_cell_count); the CSV leaves them out. "
            f"{TOO_SMALL}"
        )


def _are(numbers, line):
    """``are north``; of a group whose name says nothing alone ``have region = 3``."""
    if any(letter.isalpha() for letter in line.label) and line.label not in ("no", "yes"):
        return f"are {named(line.label)}"
    (first, *others), part = plan_of(numbers, "group"), line.place["part"]
    return f"have {named(part.partition('=')[0] if others else first)} = {line.label}"


def _next_to_ask(numbers):
    """What to do about people with a blank group, where there are some and nobody was asked."""
    untold = numbers.get("labels", "rows_dropped", "").mean
    known = any(
        numbers.get("collect", name, "unlabeled").known
        for name in ("labels_planned", "labels_bought")
    )
    if untold > 0 and not known:
        yield (
            f"{number(untold, 0)} people told {collected_page.not_told(numbers)}, and may be "
            "others than those who told. "
            "collect: {budget: 300} says whom of them to ask, so that the bound is one for them."
        )


def _given(numbers, about):
    """What is promised of the one filter that is delivered: it is of one split."""
    given = plan_of(numbers, "given")
    if not given:
        return
    method = given_method(numbers)
    if method != about.source:
        yield f"The filter to deliver, {numbers.label(method)}, has no result."
        return
    if not numbers.delivered[0]:
        yield (
            f"No filter is delivered: {numbers.label(method)} has none to give, and the "
            "log of the job says why."
        )
        return
    bound, certified, confidence, imbalance = (
        numbers.get("delivered", metric, "test", setting=given_setting(numbers)).mean
        for metric in ("disclosivity_at_most", "certified", "confidence", "imbalance")
    )
    if math.isnan(bound):
        yield (
            "The delivered filter was fitted again on all rows: nothing says what it tells "
            "about new people."
        )
        return
    yield (
        f"{'Certified' if certified == 1 else 'Not certified'}: for new people a leaf of the "
        f"delivered filter may tell up to {number(bound, 3)} about "
        f"anybody's group, with confidence {percent(confidence)}. Split {given['repeat']} "
        "fitted it, and rows of it that were held out say so; among those it accepts the "
        f"imbalance is {number(imbalance, 3)}. It asks nobody for the group; filter.md is its card."
    )


def trust(numbers):
    """Whether filters keep to their limits, what they learn by heart, how many rows there are."""
    about = shown_filter(numbers)
    lines = [
        Line(source, f"{numbers.label(source)}, {setting_label(name)}", {"setting": name})
        for source in numbers.sources
        if limited(numbers, source)
        for _, name in grid(numbers, source)
    ]
    if lines:
        most = {line.label: beyond(numbers, line, target="train").greatest for line in lines}
        worst = max(most, key=most.get)
        yield (
            "On the rows that they were fitted on, all filters keep to their limits in every split."
            if most[worst] <= EXACT
            else f"On the rows that it was fitted on, {worst} tells {number(most[worst], 3)} more "
            "than its limit in one split."
        )
        test = [(beyond(numbers, line), line) for line in lines]
        grades = [KEPT.judge(one) for one, _ in test]
        one, line = max(test, key=lambda pair: pair[0].mean)
        yield (
            f"On test rows {grades.count('pass')} of {count(len(lines), 'setting')} pass (by the "
            f"interval within their limit), {grades.count('fail')} fail, "
            f"{grades.count('open')} are open. Farthest beyond the limit: {line.label}, by "
            f"{in_words(one, DISTANCE)}."
        )
    place = about.place if about else {}
    gap = numbers.get(about.source if about else "", "excess_imbalance", "test", **place)
    if gap.mean > 0:
        yield (
            f"The imbalance of {about.label} is {in_words(gap, DISTANCE)} "
            "larger on test than on training rows: so much was learned by heart."
        )
    train, test = (numbers.get("labels", f"rows_{part}", "").mean for part in TARGETS)
    splits = count(numbers.plan["repeats"], "random split")
    yield f"{number(train, 0)} training and {number(test, 0)} test rows in {splits}."


PAGE = StudyPage(
    answer=answer,
    question=question,
    sheets=(collected_page.UNTOLD, OVERVIEW, EQUAL, GROUPS, CLASSIFIERS),
    trust=(*REHEARSAL, newcomers, trust),
    details=(OTHERS, BOUNDS, PROXIES),
)
