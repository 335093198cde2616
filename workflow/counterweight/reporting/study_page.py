"""The page of one study: its question, its answer, the figure, the table, how far to trust it.

What a kind of study shows is declared as a `StudyPage`; this module lays it out. A kind that
declares nothing still has a whole page: the answer compares the main method with the baseline,
and every measure that was taken stands in a table.
"""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from textwrap import shorten

import numpy as np
import pandas as pd
from pandas.api import types

from counterweight.labeling.columns import ids_again, look_at
from counterweight.reporting import blocks
from counterweight.reporting.blocks import Cell, Head, Link, Row, Sentence, Table
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import (
    Column,
    Sheet,
    build,
    cards_and_points,
    declared_sheets,
    each_setting,
    gap_in_words,
    given,
    in_words,
)
from counterweight.reporting.wording import (
    MOST,
    SMALLEST,
    TARGETS,
    amount,
    capital,
    count,
    interval,
    joined_words,
    leaks_in_words,
    listing,
    middle,
    number,
    offer_places,
    percent,
    places_for,
    told_apart,
    total,
)
from counterweight.tables.parquet import read_facts, read_table

#: Colours of small charts; the same as in `counterweight.reporting.charts.forms`.
BLUE, GREY = "#0072B2", "#6B6B6B"


@dataclass(frozen=True)
class Answer:
    """What a study found: the answer in one sentence, what goes with it, numbers as cards.

    ``points`` are what the small chart of the pages above draws: ``(label, Estimate, mark)`` of
    one measure, the mark "main" or "", best with its name (`sheets.Points`). ``rest`` is what trust
    begins with, ``todo`` what to do next, ``files`` what stands in the files, ``warning`` what is
    to be known before the answer is believed. Empty sentences are left out.
    """

    sentence: str
    more: tuple = ()
    cards: tuple = ()
    points: tuple = ()
    rest: tuple = ()
    todo: tuple = ()
    files: tuple = ()
    warning: str = ""


@dataclass(frozen=True)
class StudyPage:
    """What pages of a kind of study show.

    ``answer(numbers)`` gives an `Answer`, or None where nothing was measured. ``sheets`` are
    results, first; ``trust`` tells how far to trust them (sheets, and functions of the numbers that
    give sentences or blocks); ``details`` are folded, last. ``question(numbers)`` is of a study
    that does not say its own; "" for the plain one.
    """

    answer: Callable
    sheets: tuple = ()
    trust: tuple = ()
    details: tuple = ()
    question: Callable | None = None


@dataclass(frozen=True)
class StudyContext:
    """What a study's page has beside its numbers.

    ``figures`` are `blocks.Figure`, ``failures`` `blocks.Failure`, ``links`` blocks of the last
    section, ``csv`` the link to the study's table, ``reasons`` why a method has no result,
    ``answer`` a first sentence that was declared for the study, "" for that of its kind,
    ``levels`` what it tells as it was measured (see `printed.of_papers`), ``files`` the paths
    of what the study gives away, below the folder of results, ``made_of`` digests of the files
    of one's own that it rests on, by path.
    """

    path: str
    group: str = ""
    banner: str = ""
    figures: tuple = ()
    failures: tuple = ()
    links: tuple = ()
    csv: object = None
    reasons: dict | None = None
    answer: str = ""
    levels: tuple = ()
    files: tuple = ()
    made_of: dict | None = None


# Answers of any study.


def compared(numbers, metric, target="general"):
    """How the main method does against the baseline, as a sentence; "" if not measured."""
    main, baseline, measure = numbers.main, numbers.baseline, numbers.measure(metric)
    known = numbers.get(main, metric, target) if main else Estimate()
    if not known.known:
        return ""
    article = "an" if measure.label[0] in "aeiouA" else "a"
    sentence = (
        f"On {TARGETS.get(target, target)}, {numbers.label(main)} has {article} {measure.label} of "
        f"{in_words(known, measure)}"
    )
    gap = Estimate()
    if baseline not in (None, main):
        gap = numbers.against(baseline, main, metric, target)
    if gap.known:
        sentence += f": {difference_in_words(gap, measure)} {numbers.label(baseline)}"
    return sentence + "."


def difference_in_words(gap, measure):
    """``0.4 points [0.1, 0.7] better than``; says so where the interval holds 0."""
    size = gap_in_words(gap, measure)
    if not gap.bounded:
        return f"{size} (no interval) against"
    if not gap.beyond_chance:
        return f"{size}, not significantly different from"
    if not measure.better:
        return f"{size} from"
    good = (gap.low > 0) == (measure.better == "more")
    return f"{size}, {'better' if good else 'worse'} than"


def recovered(numbers, metric, target="general", source=None):
    """Share of what a bound gains over the baseline that a method, the main one, gains too.

    NaN where no bound gains anything beyond chance; with the `Estimate` of what the bound gains.
    """
    source = source or numbers.main
    for name in _bounds(numbers) if None not in (numbers.baseline, source) else ():
        gap = numbers.against(numbers.baseline, name, metric, target)
        if gap.bounded and gap.beyond_chance:
            mine = numbers.against(numbers.baseline, source, metric, target)
            return mine.mean / gap.mean, gap
    return math.nan, Estimate()


def _bounds(numbers):
    """Methods that see what is hidden: those of the main method's model, else all of them.

    None with weights, where there are others: that a weighting sees what is hidden does not mean
    that the method sees hidden labels.
    """
    known = [one for one in numbers.methods(swept=False) if numbers.role(one["id"]) == "bound"]
    model = numbers.method(numbers.main)["model"] if numbers.main else None
    known = [one for one in known if one["model"] == model] or known
    return [one["id"] for one in [one for one in known if not one.get("weights")] or known]


#: What one answer for all rows has, by metric, and what that is called.
PLAIN = {"auc": (0.5, "chance"), "r2": (0.0, "the mean of all")}
TOO_GOOD = 0.995  # hardly ever by what is known before


def doubt_of_single(metric, known, measure):
    """A warning where single answers are not shown to be better than one for all; else ""."""
    level, plain = PLAIN.get(metric, (-math.inf, ""))
    if not known.known or (known.low if known.bounded else known.mean) > level:
        return ""
    return (
        f"Single answers are not shown to be better than one for all: {measure.label} is "
        f"{in_words(known, measure)}, where {plain} has {level:g}. Decide on no single row by them."
    )


def doubt_of_all(metric, known, measure):
    """A warning where answers are too good to be true; else ""."""
    if metric not in PLAIN or not known.mean >= TOO_GOOD:
        return ""
    return (
        f"Too good to be true? {capital(measure.label)} is {in_words(known, measure)}: name under "
        "columns.ignore what moves answers most (top_feature_1) and is known after the outcome."
    )


def plain_answer(numbers):
    """The answer of any study: the main method against the baseline, population by population."""
    metric, targets = numbers.headline, numbers.plan["targets"]
    said = [compared(numbers, metric, target) for target in targets] if metric else []
    said = [text for text in said if text]
    if not said:
        return None
    sources = dict.fromkeys(filter(None, [numbers.main, numbers.baseline, *_bounds(numbers)[:1]]))
    return Answer(said[0], said[1:], *of_methods(numbers, sources, metric, targets[0]))


def of_methods(numbers, sources, metric, target="general", **place):
    """Cards and points of the small chart for one metric of some methods."""
    measure, shown = numbers.measure(metric, place.get("measure", "")), []
    for source in sources:
        known, note = numbers.get(source, metric, target, **place), capital(measure.label)
        shown.append((numbers.label(source), known, note, source == numbers.main))
    return cards_and_points(shown, measure)


def _points_of(numbers, levels):
    """Points of the small chart of a declared sentence: what it tells of several methods alike."""
    metrics = [metric for *_, metric, _ in levels]
    metric = next((one for one in metrics if metrics.count(one) > 1), None)
    shown = [
        (numbers.label(source), numbers.get(source, metric, target, setting=setting), "", not at)
        for at, (source, setting, one, target) in enumerate(levels)
        if one == metric
    ]
    return metric and cards_and_points(shown, numbers.measure(metric))[1]


# The page.


def study_page(page, numbers, context):
    """The page of a study, and its `Finding`: the study in one line, for the pages above it."""
    plan = numbers.plan
    sheets = (*page.sheets, *declared_sheets(plan, "results"))
    trust = (*page.trust, *declared_sheets(plan, "trust"))
    details = (*page.details, *declared_sheets(plan, "details"))
    shown = {
        column.metric
        for sheet in (*sheets, *details, *(part for part in trust if isinstance(part, Sheet)))
        for column in given(sheet.columns, numbers)
    }
    nothing = f"Nothing was measured{': see what failed' * bool(context.failures)}."
    answer = page.answer(numbers) or Answer(nothing)
    if context.answer:
        points = _points_of(numbers, context.levels) or answer.points
        more = (answer.sentence, *answer.more)
        answer = replace(answer, sentence=context.answer, more=more, points=points)
    question = plan.get("question") or (page.question and page.question(numbers))
    question = question or default_question(numbers)
    own = plan["source"] == "own"
    figures = [one for one in context.figures if one.name != NEW_ROWS]
    if own:  # not those that say why nothing is drawn, in title and alt alike
        figures = [one for one in figures if one.title != one.alt]
    cards = [blocks.Cards(tuple(answer.cards))] if answer.cards else []
    more, todo = _sentences(answer.more), _sentences(answer.todo)
    lead = [Sentence(answer.sentence, "answer"), *column_doubts(numbers)]
    lead += [Sentence(answer.warning, "warning")] if answer.warning else []
    lead += [*(cards + more if own else more + cards), *context.failures, *figures[:1]]
    if todo:
        lead.append(Sentence(f"What to do next. {todo[0].text}", "next"))
    trusted = [*todo[1:], *_sentences(answer.rest), *_trust(trust, numbers, context)]
    trusted += [*_counted(numbers), *filter(None, [column_table(numbers)])]
    trusted = _said_once(filter(None, trusted))
    more = [*_tables((*details, everything(numbers, shown)), numbers, context)]
    found = [*_tables(sheets, numbers, context, context.csv)]
    given_away = ("Files", [*_sentences(answer.files), *files(context.files)], "files")
    if own:
        made, names = _made_of(context), ("expected_optimism", "expected_revenue")
        off = (numbers.rows("delivered", one)["value"].sum() for one in names)
        told = told_new(new_tables(context.files, numbers.results), plan, *off)
        new = [Sentence(text) for text in told]
        drawn = tuple(one for one in context.figures if one.name == NEW_ROWS)
        new += [blocks.Section("New rows beside the table", drawn, fold=True)] if drawn else []
        sections = (
            given_away,
            ("New rows", new, "new"),
            ("How far to trust it", _in_short(trusted), "trust"),
            ("Results", found[:1], "results"),
            ("Details", (*figures[1:], *found[1:], *more, *made, *context.links), "details"),
        )
    else:
        sections = (
            ("Results", found, "results"),
            ("How far to trust it", trusted, "trust"),
            ("More figures", figures[1:], "figures"),
            given_away,
            ("Details", (*more, *context.links), "details"),
        )
    closed = ("results", "details") if own else ()
    sections = [
        blocks.Section(head, tuple(parts), name, fold=name in closed)
        for head, parts, name in sections
    ]
    made = blocks.Page(
        path=context.path,
        title=plan["title"],
        blocks=tuple(lead),
        sections=tuple(section for section in sections if section.blocks),
        group=context.group,
        banner=context.banner,
        lead=question,
    )
    failed, chart = context.failures and answer.sentence == nothing, small_chart(answer.points)
    told = "Failed: see its page." if failed else answer.sentence
    return made, blocks.Finding(plan["title"], context.path, question, told, chart)


#: Sentences on trust that stand open on the page of a table of one's own.
OPEN = 2
#: The figure of the answers for new rows.
NEW_ROWS = "new_rows"


def _said_once(parts):
    """Parts without sentences that an earlier one holds."""
    kept, said = [], ""
    for part in parts:
        said_before = isinstance(part, Sentence) and part.text in said
        if not said_before and part not in kept:
            kept.append(part)
            said += getattr(part, "text", "")
    return kept


def _sentences(texts):
    return [Sentence(text) for text in texts if text]


def _folded(block):
    """A table under its caption; other blocks as they are."""
    if not isinstance(block, Table) or block.fold:
        return block
    return replace(block, fold=f"{block.caption.rstrip('.')} ({count(len(block.rows), 'row')})")


def _in_short(parts):
    """The first sentences on trust; further sentences and all tables folded, last."""
    said = [one for one in parts if isinstance(one, Sentence)]
    rest = [_folded(one) for one in parts if not isinstance(one, Sentence)]
    more = blocks.Section("More on how far to trust it", (*said[OPEN:], *rest), fold=True)
    return (*said[:OPEN], *([more] if more.blocks else []))


def everything(numbers, shown=()):
    """Every declared measure of methods, setting by setting, that no other sheet has shown."""
    lines, targets = list(each_setting(numbers)), [*numbers.plan["targets"], "train", "test"]
    columns = [
        Column(metric, f"{numbers.measure(metric).label}, {TARGETS.get(target, target)}", target)
        for metric in numbers.plan.get("measures") or {}
        if metric not in shown and numbers.measured(metric)
        for target in targets
    ]
    known = {
        column.metric
        for column in columns
        if any(column.estimate(numbers, line).known for line in lines)
    }
    columns = [column for column in columns if column.metric in known]
    return Sheet("All other measures", each_setting, columns, fold=True)


def default_question(numbers):
    """The question of a study that does not say its own."""
    metric, main = numbers.headline, numbers.main
    if metric is None or main is None:
        return ""
    label = numbers.measure(metric).label
    if numbers.baseline in (None, main):
        return f"What {label} does {numbers.label(main)} have?"
    return (
        f"Does {numbers.label(main)} have a better {label} than {numbers.label(numbers.baseline)}?"
    )


def _tables(sheets, numbers, context, csv=None):
    """Sheets as tables; under the first with numbers stands the link to the study's own table."""
    for sheet in sheets:
        table = build(sheet, numbers, context.reasons, csv)
        if table is not None:
            yield table
            csv = None


def _trust(parts, numbers, context):
    for part in parts:
        if isinstance(part, Sheet):
            yield from _tables((part,), numbers, context)
        else:
            yield from (Sentence(one) if isinstance(one, str) else one for one in part(numbers))


def _counted(numbers):
    """What must not be hidden, of measures that declare so: totals of counts, means of shares.

    Of several settings it is the largest.
    """
    table = numbers.summary.assign(total=numbers.summary["mean"] * numbers.summary["n"])
    most = table[["mean", "total"]].groupby(["source", "metric"], sort=False).max()
    sources = {"labels": ""} | {one["id"]: one["label"] for one in numbers.methods()}
    for metric, declared in (numbers.plan.get("measures") or {}).items():
        measure, some = numbers.measure(metric), []
        for source in sources if declared.get("counted") else ():
            if (source, metric) in most.index and most.loc[(source, metric), "total"] > 0:
                mean, total = most.loc[(source, metric)]
                of_data = source == "labels"  # of each repeat the same rows
                size = percent(mean) if measure.percent else number(mean if of_data else total, 0)
                some.append(f"{size} of the data" if of_data else f"{sources[source]} ({size})")
        if some:
            yield Sentence(f"{capital(measure.label)}: {listing(some)}.", "quiet")


def small_chart(points, width=330, row=22, room=168):
    """A few values with their intervals (see `Answer`) as a small SVG, the labels left of them.

    Below stands an axis with what is drawn, and its least and largest number.
    """
    ends = [value for _, one, _ in points for value in (one.mean, one.low, one.high)]
    ends = [value for value in ends if math.isfinite(value)]
    if len(points) < 2 or not ends:
        return ""
    least, most = min(ends), max(ends)
    scale = (width - room - 16) / ((most - least) or 1.0)

    def x(value):
        return f"{room + 8 + scale * (value - least):.1f}"

    parts = []
    names = told_apart([label for label, _, _ in points], 28, 13)
    for place, (label, (_, one, mark)) in enumerate(zip(names, points, strict=True)):
        y, colour = row * place + row / 2, BLUE if mark else GREY
        if one.bounded:
            ends = f"M{x(one.low)} {y}H{x(one.high)}"
            parts.append(f'<path d="{ends}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(one.mean)}" cy="{y}" r="4" fill="{colour}"/>')
        style = f'y="{y + 4}" font-size="11" fill="currentColor"'
        parts.append(f'<text x="0" {style}>{html.escape(label)}</text>')
    if most > least:
        y, places = row * len(points), places_for([most - least], 0, 2)
        axis = f"M{x(least)} {y - 4}v4H{x(most)}v-4"
        parts.append(f'<path d="{axis}" fill="none" stroke="{GREY}"/>')
        for end, anchor in ((least, "start"), (most, "end")):
            style = f'x="{x(end)}" y="{y + 12}" text-anchor="{anchor}" font-size="10"'
            parts.append(f'<text {style} fill="currentColor">{number(end, places)}</text>')
        what = html.escape(shorten(getattr(points, "axis", ""), 32, placeholder=" …"))
        style = f'x="0" y="{y + 12}" font-size="10" fill="currentColor"'
        parts += [f"<text {style}>{what}</text>"] * bool(what)
    height = row * len(points) + 16 * (most > least)
    box = f'viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


# What a table of one's own has beside its answer. Files are told from the plan: none is left out.


#: What stands in the files that studies give away, by their names.
HOLDS = {
    "scores": "Each row: its estimate, and what else is told of it.",
    "offers": "Each person: the best offer, and what it is expected to earn.",
    "values": "What each policy is worth by the rows of the log.",
    "measures": "How good each column of predictions is.",
    "comparisons": "Every two of them, on the same rows.",
    "accepted": "Who is accepted.",
    "collect": "The rows to ask about next, each with the chance by which it was drawn.",
    "plan": "The plan of these rows, for when their answers are back.",
    "explore": "The rows to decide in favour of, which chance has drawn, each with its chance.",
    "filter": "The filter itself, for new people (docs/filter_format.md).",
    "model": "The saved model: counterweight.load reads it.",
}
NEW = "new_"
_MIXED = "Whether a new row has an outcome is not known: it is told as all like rows together."
#: Share of the rows between the ends of a range that is told.
MIDDLE = (0.05, 0.95)


def files(paths):
    """A `Link` with a line for each file that a study gives away; twins in Parquet are named."""
    known, models = {str(path) for path in paths}, ("model", "filter")
    for path in sorted(map(PurePosixPath, paths), key=lambda one: one.stem in models):
        stem, twin = path.stem, str(path.with_suffix(".parquet"))
        if path.suffix == ".parquet" and str(path.with_suffix(".csv")) in known:
            continue
        what = "The same for the new rows." if stem.startswith(NEW) else HOLDS.get(stem, "")
        if path.suffix == ".md":
            what = "The card of the filter: whom it takes, what it tells, how it is used."
        also = " Also as Parquet." if path.suffix == ".csv" and twin in known else ""
        yield Link(path.name, str(path), f"{what}{also}".strip())


def _made_of(context):
    """The files of one's own that a study rests on, with their digests."""
    digests = (context.made_of or {}).items()
    rows = tuple(Row(PurePosixPath(path).name, (Cell(digest),)) for path, digest in digests)
    if rows:
        yield Table("Made from these files", (Head("File"), Head("SHA-256")), rows)


# New rows, in a line.


def new_tables(paths, results):
    """``{stem: frame}`` of the answers for new rows, with what was kept beside them."""
    made = {}
    for path in map(PurePosixPath, paths):
        if path.suffix == ".parquet" and path.stem.startswith(NEW):
            made[path.stem] = read_table(f"{results}/{path}")
            made[path.stem].attrs |= read_facts(f"{results}/{path}")
    return made


def decides(plan, table):
    """Whether the answers are decisions that keep promises, which estimates alone do not tell."""
    methods = [one.get("options") or {} for one in plan.get("methods", ())]
    return "decision" in table and any(one.get("constraints") for one in methods)


def told_new(tables, plan, off=0.0, claim=0.0):
    """Sentences on answers for new rows; `off` is off best offers' claims, as off their `claim`."""
    for stem, table in tables.items():
        say = _SAID.get(stem.removeprefix(NEW))
        if decides(plan, table):
            say = _decided
        beside = ""
        if off and "best_revenue" in table and "allotted_offer" not in table:
            less = amount(-off, 2, True)
            beside = f" (best_revenue {less} a person; of the table's {amount(claim)})"
            table = table.assign(best_revenue=table["best_revenue"] - off)
        if say is not None and len(table):
            yield f"{say(table)}{beside}{flagged(table)}. They stand in {stem}.csv."
            yield from [_MIXED] * bool(plan.get("mixed"))
            yield from table.attrs.get("drift", ())


def flagged(table):
    """A clause on rows that are like none of the table; "" where nobody looked."""
    if "supported" not in table:
        return ""
    away = ~table["supported"].astype(bool)
    who = f"{number(away.sum(), 0)} ({percent(away.mean())}) are" if away.any() else "none is"
    return f"; {who} flagged as unlike the rows that answers rest on"


def is_share(table):
    """Whether estimates are chances: answers of two classes have decisions, numbers just ends."""
    return "decision" in table or ("low" not in table and table["estimate"].between(0, 1).all())


def _estimates(table):
    values = table["estimate"].to_numpy(float)
    factor, unit = (100, " %") if is_share(table) else (1, "")
    low, high = factor * np.nanquantile(values, MIDDLE)
    mean = factor * np.nanmean(values)
    places = 1 if factor == 100 else places_for([mean])
    text = (
        f"{number(len(table), 0)} new rows: the estimate is {number(mean, places)}{unit} "
        f"on average, and {number(low, places)} to {number(high, places)}{unit} for nine in ten"
    )
    if "decision" in table and not types.is_string_dtype(table["decision"]):
        text += f"; {percent(float(table['decision'].mean()))} are decided yes"
    return text


def _decided(table):
    yes, groups = table["decision"].astype(bool), table.attrs.get("groups", {})
    told = [f"{percent(own / n)} of {of} ({number(n, 0)})" for of, (n, own) in groups.items() if n]
    none = [of for of, (n, _) in groups.items() if not n]
    told += [f"no row is known to be of {listing(none)}"] * bool(none)
    shown = f"{number(yes.sum(), 0)} ({percent(yes.mean())}) get a yes{': ' * bool(told)}"
    return f"Of {number(len(table), 0)} new rows {shown}{listing(told)}"


def _offers(table):
    ends = "[{}, {}]".format(*map(total, told)) if (told := table.attrs.get("ends")) else ""
    if "allotted_offer" in table:
        return f"New people: {allotted_in_words(table, ends, table['allotted_revenue'].sum())}"
    best, earned = table["best_offer"], table["best_revenue"].mean()
    if (none := best.isna()).all():
        return f"{number(len(table), 0)} new people: to make none an offer is better"
    quartiles = np.nanquantile(best.to_numpy(float), [0.25, 0.5, 0.75])
    low, half, high = (number(one, offer_places(quartiles[1])) for one in quartiles)
    which = f"the best offer is {half} at the median, and {low} to {high} for the middle half"
    if best.nunique(dropna=False) == 1:
        which = f"the offer to everybody is {half}"
    which += f", and to make none is better for {number(none.sum(), 0)}" * bool(none.any())
    return (
        f"{number(len(table), 0)} new people: {which}; it is expected to bring "
        f"{number(earned, places_for([earned], most=SMALLEST))} a person, "
        f"{total(table['best_revenue'].sum())}{ends and ' '}{ends} in all, by the model's own claim"
    )


def allotted_in_words(table, ends, earned, how="own claim"):
    """Who gets an offer within limits, of which size, and what is `earned` in all by the model's
    claim as `how` says; `ends` of it are in print."""
    got, size = table["allotted_offer"].dropna(), number(len(table), 0)
    who = "all" if len(got) == len(table) else f"{number(len(got), 0)} of"
    which = f" (allotted_offer, median {middle(got)})" if len(got) else ""
    return (
        f"{who} {size} people get an offer{which}, and these are expected to bring "
        f"{total(earned)}{ends and ' '}{ends} in all, {amount(earned / len(table))} a person, by "
        f"the model's {how}"
    )


def _accepted(table):
    yes, size = table["accepted"].astype(bool), number(len(table), 0)
    return f"Of {size} new people {number(yes.sum(), 0)} ({percent(yes.mean())}) are accepted"


def _values(table):
    first = table.drop_duplicates("policy")
    places = places_for(first["value"], 2, 3)
    said = [
        f"{one.policy} {number(one.value, places)} {interval(one.low, one.high, places)}"
        + f" (support: {one.support})".replace("outside", "not enough") * (one.support != "good")
        for one in first.itertuples()
    ]
    return f"A row of the new log ({number(first['rows'].iloc[0], 0)} rows) earns: {listing(said)}"


#: By the name of the file, what is said of the answers in it.
_SAID = {"offers": _offers, "accepted": _accepted, "scores": _estimates, "values": _values}


# What each column of a table of one's own was taken for, as a folded table of its page.


_HEADS = ("Column", "Taken for", "Type", "Missing", "Values", "Why, and what was made of it")


def column_table(numbers):
    """The column report of the study's table of one's own, or None where it has none."""
    report = column_records(numbers)
    if report is None:
        return None
    rows = []
    for fact in report:
        levels, pooled = int(fact["levels"]), int(fact["pooled"])
        said = [*dict.fromkeys([fact["why"], fact["made"], fact.get("doubt")])]
        rare = f", {pooled} rare ones share one" if pooled else ""
        said += [f"{levels} levels{rare}"] if levels else []
        missing = percent(float(fact["missing"])) if float(fact["missing"]) else "0 %"
        cells = fact["role"] or fact["use"], fact["type"], missing
        cells += number(float(fact["distinct"]), 0), joined_words(said, "; ")
        rows.append(Row(fact["column"], tuple(map(Cell, cells))))
    link = Link("The column report as CSV", _name(numbers))
    fold = f"What each of the {len(rows)} columns was taken for"
    return Table("Columns of the table", tuple(map(Head, _HEADS)), tuple(rows), csv=link, fold=fold)


def column_doubts(numbers):
    """What in the table should be looked at before the answers are believed, as sentences.

    First what was left out, or kept as requested, though it tells what no feature may tell.
    """
    report = column_records(numbers) or ()
    said = [*leaks_in_words(report)]
    kept = (fact for fact in report if not (fact["leak"] and fact["use"] == "left out"))
    doubts = [fact for fact in kept if fact.get("doubt")]
    said += [look_at(fact["column"], fact["doubt"]) for fact in doubts[:MOST]]
    said += _ids_shared(numbers)
    if len(doubts) > MOST:
        more = len(doubts) - MOST
        said.append(f"{more} more columns should be looked at: see their table below.")
    return [Sentence(text, "warning") for text in said]


def _ids_shared(numbers):
    """That ids of a log that was read by partition stand twice."""
    metric, place = "rows_sharing_id", {"part": "log"}
    for name in numbers.places("variable", "labels", metric, **place):
        known = numbers.get("labels", metric, variable=name, **place)
        user = (numbers.plan.get("log") or {}).get("user")
        rows = numbers.get("labels", "rows_log", "").mean
        said = ids_again(known.mean, rows, user, known.low < known.mean)
        yield f"Look at the column {name}: {said}."


def _name(numbers):
    return f"tables/{numbers.plan['dataset']}.columns.csv"


def column_records(numbers):
    """The column report, a record for each column; None where the study has none."""
    path, shown = numbers.results / _name(numbers), numbers.plan.get("column_report", True)
    if not shown or numbers.plan["source"] != "own" or not path.exists():
        return None
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
