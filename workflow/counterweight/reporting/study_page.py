"""The page of one study: its question, its answer, the figure, the table, how far to trust it.

What a kind of study shows is declared as a `StudyPage`; this module lays it out. A kind that
declares nothing still has a whole page: the answer compares the main method with the baseline,
and every measure that was taken stands in a table.
"""

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from counterweight.reporting import blocks
from counterweight.reporting.blocks import Cell, Head, Link, Row, Sentence, Table
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import (
    Column,
    Sheet,
    build,
    declared_sheets,
    each_setting,
    told,
    told_in,
)
from counterweight.reporting.wording import capital, listing, number, percent, shortened

#: Colours of small charts; the same as in `counterweight.reporting.charts.forms`.
BLUE, GREY = "#0072B2", "#6B6B6B"
#: Populations in print.
TARGETS = {"general": "everyone", "unlabeled": "the unlabeled"}


@dataclass(frozen=True)
class Answer:
    """What a study found: the answer in one sentence, what goes with it, numbers as cards.

    ``points`` are what the small chart of the pages above draws: ``(label, Estimate, mark)`` of
    one measure, the mark "main" or "". ``links`` are where the answers are.
    """

    sentence: str
    more: tuple = ()
    cards: tuple = ()
    points: tuple = ()
    links: tuple = ()


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


def headline(numbers):
    """The metric that methods are compared by: the study's first column that was measured."""
    columns = numbers.plan.get("columns") or list(numbers.plan.get("measures") or {})
    return next((metric for metric in columns if numbers.measured(metric)), None)


def compared(numbers, metric, target="general", sources=None):
    """How the main method does against the baseline, as a sentence; "" if not measured."""
    main, baseline = numbers.main, numbers.baseline
    measure = numbers.measure(metric)
    known = numbers.get(main, metric, target) if main else None
    if known is None or not known.known:
        return ""
    text, bracket = told(known, measure)
    sentence = (
        f"On {TARGETS.get(target, target)}, {numbers.label(main)} has {_a(measure.label)} of {text}"
    )
    sentence += f" {bracket}" if bracket else ""
    if baseline in (None, main):
        return sentence + "."
    gap = numbers.against(baseline, main, metric, target)
    if not gap.known:
        return sentence + "."
    return f"{sentence}: {difference_in_words(gap, measure)} {numbers.label(baseline)}."


def difference_in_words(gap, measure):
    """``0.4 points [0.1, 0.7] better than``; says so where the interval holds 0."""
    unit, _ = measure.told
    text, bracket = told(gap, measure, sign=True)
    size = f"{text} {unit}".strip() + (f" {bracket}" if bracket else "")
    if not gap.bounded:
        return f"{size}, without an interval, from"
    if gap.low <= 0 <= gap.high:
        return f"{size}, no difference beyond chance, from"
    if not measure.better:
        return f"{size} from"
    good = (gap.low > 0) == (measure.better == "more")
    return f"{size}, {'better' if good else 'worse'} than"


def recovered(numbers, metric, target="general", source=None):
    """Share of what a bound gains over the baseline that a method, the main one, gains too.

    NaN where no bound gains anything beyond chance; with the `Estimate` of what the bound gains.
    """
    source = source or numbers.main
    if numbers.baseline is not None and source is not None:
        for name in _bounds(numbers):
            gap = numbers.against(numbers.baseline, name, metric, target)
            if gap.bounded and not gap.low <= 0 <= gap.high:
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


def plain_answer(numbers):
    """The answer of any study: the main method against the baseline, population by population."""
    metric = headline(numbers)
    if metric is None:
        return None
    sentences = [
        text for target in numbers.plan["targets"] if (text := compared(numbers, metric, target))
    ]
    if not sentences:
        return None
    sources = dict.fromkeys(filter(None, [numbers.main, numbers.baseline, *_bounds(numbers)[:1]]))
    target = numbers.plan["targets"][0]
    return Answer(
        sentences[0], tuple(sentences[1:]), *cards_and_points(numbers, sources, metric, target)
    )


def cards_and_points(numbers, sources, metric, target="general", **place):
    """Cards and points of the small chart for one metric of some methods."""
    measure, cards, points = numbers.measure(metric, place.get("measure", "")), [], []
    for source in sources:
        known = numbers.get(source, metric, target, **place)
        if known.known:
            text, bracket = told(known, measure)
            cards.append(blocks.Card(numbers.label(source), text, bracket, capital(measure.label)))
            mark = "main" if source == numbers.main else ""
            points.append((numbers.label(source), known.times(told_in(measure)[1]), mark))
    return tuple(cards), tuple(points)


def _a(noun):
    return f"{'an' if noun[0] in 'aeiouA' else 'a'} {noun}"


def everything(numbers, shown=()):
    """Every declared measure of methods, setting by setting, that no other sheet has shown."""
    lines = list(each_setting(numbers))
    metrics = [
        metric
        for metric in (numbers.plan.get("measures") or {})
        if metric not in shown
        and numbers.measured(metric)
        and any(
            numbers.get(line.source, metric, target, **line.place).known
            for target in (*numbers.plan["targets"], "train", "test")
            for line in lines
        )
    ]
    targets = [*numbers.plan["targets"], "train", "test"]
    columns = [
        Column(
            metric,
            target=target,
            label=f"{numbers.measure(metric).label}, {TARGETS.get(target, target)}",
        )
        for metric in metrics
        for target in targets
    ]
    return Sheet("All other measures", each_setting, tuple(columns), fold=True)


def study_page(page, numbers, context):
    """The page of a study, and its `Finding`: the study in one line, for the pages above it."""
    plan = numbers.plan
    page = replace(
        page,
        sheets=(*page.sheets, *declared_sheets(plan, "results")),
        trust=(*page.trust, *declared_sheets(plan, "trust")),
        details=(*page.details, *declared_sheets(plan, "details")),
    )
    answer = page.answer(numbers) or Answer(
        "Nothing was measured: see what failed." if context.failures else "Nothing was measured."
    )
    question = plan.get("question") or (page.question and page.question(numbers))
    question = question or default_question(numbers)
    lead = [blocks.Sentence(answer.sentence, "answer")]
    lead += answer.links
    lead += column_doubts(numbers)
    lead += [blocks.Sentence(text) for text in answer.more]
    if answer.cards:
        lead.append(blocks.Cards(answer.cards))
    lead += context.failures
    columns = column_table(numbers)
    figures = list(context.figures)
    lead += figures[:1]
    sections = [
        blocks.Section(
            "Results", tuple(_tables(page.sheets, numbers, context, context.csv)), "results"
        ),
        blocks.Section(
            "How far to trust it",
            (*_trust(page.trust, numbers, context), *_counted(numbers), *filter(None, [columns])),
            "trust",
        ),
        blocks.Section("More figures", tuple(figures[1:]), "figures"),
        blocks.Section(
            "Details",
            (
                *_tables(
                    (*page.details, everything(numbers, _shown(page, numbers))), numbers, context
                ),
                *context.links,
            ),
            "details",
        ),
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
    chart = small_chart(answer.points)
    return made, blocks.Finding(plan["title"], context.path, question, answer.sentence, chart)


def small_chart(points, width=260, row=22, room=110):
    """A few values with their intervals (see `Answer`) as a small SVG, the labels left of them."""
    ends = [value for _, one, _ in points for value in (one.mean, one.low, one.high)]
    ends = [value for value in ends if math.isfinite(value)]
    if len(points) < 2 or not ends:
        return ""
    least, most = min(ends), max(ends)
    scale = (width - room - 16) / ((most - least) or 1.0)

    def x(value):
        return f"{room + 8 + scale * (value - least):.1f}"

    parts = []
    for place, (label, one, mark) in enumerate(points):
        y, colour = row * place + row / 2, BLUE if mark else GREY
        if one.bounded:
            parts.append(
                f'<path d="M{x(one.low)} {y}H{x(one.high)}" stroke="{colour}" stroke-width="2"/>'
            )
        parts.append(f'<circle cx="{x(one.mean)}" cy="{y}" r="4" fill="{colour}"/>')
        short = label if len(label) < 20 else shortened(label, 18, 9)
        style = f'y="{y + 4}" font-size="11" fill="currentColor"'
        parts.append(f'<text x="0" {style}>{html.escape(short)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {row * len(points)}">'
        f"{''.join(parts)}</svg>"
    )


@dataclass(frozen=True)
class StudyContext:
    """What a study's page has beside its numbers.

    ``figures`` are `blocks.Figure`, ``failures`` `blocks.Failure`, ``links`` blocks of the last
    section, ``csv`` the link to the study's table, ``reasons`` why a method has no result.
    """

    path: str
    group: str = ""
    banner: str = ""
    figures: tuple = ()
    failures: tuple = ()
    links: tuple = ()
    csv: object = None
    reasons: dict | None = None


def default_question(numbers):
    """The question of a study that does not say its own."""
    metric = headline(numbers)
    if metric is None or numbers.main is None:
        return ""
    label = numbers.measure(metric).label
    if numbers.baseline in (None, numbers.main):
        return f"What {label} does {numbers.label(numbers.main)} have?"
    main, baseline = numbers.label(numbers.main), numbers.label(numbers.baseline)
    return f"Does {main} have a better {label} than {baseline}?"


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
            for said in part(numbers):
                yield blocks.Sentence(said) if isinstance(said, str) else said


def _shown(page, numbers):
    """Metrics that the sheets of a page show."""
    metrics = set()
    for sheet in (
        *page.sheets,
        *page.details,
        *(part for part in page.trust if isinstance(part, Sheet)),
    ):
        columns = sheet.columns(numbers) if callable(sheet.columns) else sheet.columns
        metrics |= {column.metric for column in columns}
    return metrics


def _counted(numbers):
    """What must not be hidden, of measures that declare so: totals of counts, means of shares.

    Of several settings it is the largest.
    """
    table = numbers.summary.assign(total=numbers.summary["mean"] * numbers.summary["n"])
    most = table[["mean", "total"]].groupby(["source", "metric"], sort=False).max()
    sources = {"labels": "the data"} | {one["id"]: one["label"] for one in numbers.methods()}
    for metric, declared in (numbers.plan.get("measures") or {}).items():
        measure, some = numbers.measure(metric), []
        for source in sources if declared.get("counted") else ():
            if (source, metric) in most.index and most.loc[(source, metric), "total"] > 0:
                mean, total = most.loc[(source, metric)]
                size = percent(mean) if measure.percent else number(total, 0)
                some.append(f"{sources[source]} ({size})")
        if some:
            yield blocks.Sentence(f"{capital(measure.label)}: {listing(some)}.", "quiet")


# What each column of a table of one's own was taken for, as a folded table of its page.


#: Doubts that are told one by one.
MOST = 5
_HEADS = (
    Head("Column"),
    Head("Taken for"),
    Head("Type"),
    Head("Missing"),
    Head("Values"),
    Head("Why, and what was made of it"),
)


def column_table(numbers):
    """The column report of the study's table of one's own, or None where it has none."""
    report = _report(numbers)
    if report is None:
        return None
    name = _name(numbers)
    rows = tuple(Row(fact["column"], _cells(fact)) for fact in report)
    link = Link("The column report as CSV", name)
    fold = f"What each of the {len(rows)} columns was taken for"
    return Table("Columns of the table", _HEADS, rows, csv=link, fold=fold)


def column_doubts(numbers):
    """What in the table should be looked at before the answers are believed, as sentences."""
    doubts = [fact for fact in _report(numbers) or () if fact.get("doubt")]
    told = [f"Look at the column {fact['column']}: {fact['doubt']}." for fact in doubts[:MOST]]
    if len(doubts) > MOST:
        told.append(
            f"{len(doubts) - MOST} more columns should be looked at: see their table below."
        )
    return [Sentence(text, "warning") for text in _leaks(numbers) + told]


def _leaks(numbers):
    """What was left out, or kept as asked, though it tells what no feature may tell."""
    leaks = [fact for fact in _report(numbers) or () if fact["leak"]]
    said = []
    for use, begin, end in (
        (
            "left out",
            "Left out, and not learned from",
            ". A column that is rightly known before can be named under columns.keep.",
        ),
        ("feature", "Kept as asked, though these numbers may then be too good", "."),
    ):
        told = [f"{fact['column']} ({fact['leak']})" for fact in leaks if fact["use"] == use]
        more = [f"{len(told) - MOST} more"] * (len(told) > MOST)
        if told:
            said.append(f"{begin}: {'; '.join(told[:MOST] + more)}{end}")
    return said


def _name(numbers):
    return f"tables/{numbers.plan['dataset']}.columns.csv"


def _report(numbers):
    """The column report, a record for each column; None where the study has none."""
    import pandas as pd

    path = numbers.results / _name(numbers)
    if not numbers.plan.get("column_report", True):
        return None
    if numbers.plan["source"] != "own" or not path.exists():
        return None
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def _cells(fact):
    levels, pooled = int(fact["levels"]), int(fact["pooled"])
    said = [*dict.fromkeys([fact["why"], fact["made"], fact.get("doubt")])]
    if levels:
        said.append(f"{levels} levels" + (f", {pooled} rare ones share one" if pooled else ""))
    return (
        Cell(fact["role"] or fact["use"]),
        Cell(fact["type"]),
        Cell(percent(float(fact["missing"])) if float(fact["missing"]) else "0 %"),
        Cell(number(float(fact["distinct"]), 0)),
        Cell("; ".join(filter(None, said))),
    )
