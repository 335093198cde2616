"""The one builder of tables for pages: a sheet is declared, its cells follow from the measures.

A `Sheet` says which lines it has and which numbers stand in its columns. How a number is told
(name, unit, digits, which direction is better) is the measure's to say. Columns without any number
and sheets without any line are left out, so one declaration serves every study of a kind.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from counterweight.numerics.estimate import LEAST_REPEATS
from counterweight.reporting.blocks import Card, Cell, Head, Row, Table
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.wording import (
    COUNTS,
    Measure,
    capital,
    interval,
    joined_words,
    number,
    places_for,
    setting_label,
)

#: Lines beyond which a sheet is folded.
LONG = 14


@dataclass(frozen=True)
class Line:
    """A line of a sheet: whose numbers it has, and where."""

    source: str
    label: str
    place: dict = field(default_factory=dict)
    group: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Bound:
    """What a value is held against: pass, fail, or open where the interval has both.

    ``limit`` is in the unit of the column's value; ``says`` stands under the table; with ``least``
    the value should be at least the limit, with ``absolute`` its size counts, whatever the sign.
    """

    limit: float
    says: str
    least: bool = False
    absolute: bool = False

    def judge(self, estimate):
        """``pass``, ``fail``, ``open``; "" where there is no value."""
        if not estimate.known:
            return ""
        low, high = estimate.ends
        if self.absolute:
            sizes = abs(low), abs(high)
            low, high = 0.0 if low <= 0 <= high else min(sizes), max(sizes)
        if self.least:
            return "pass" if low >= self.limit else "fail" if high < self.limit else "open"
        return "pass" if high <= self.limit else "fail" if low > self.limit else "open"


@dataclass(frozen=True)
class Holds:
    """What an interval should hold: pass where it does, fail where not; see `Bound`."""

    limit: float
    says: str

    def judge(self, estimate):
        """``pass``, ``fail``; "" where there is no interval."""
        if not estimate.bounded:
            return ""
        return "pass" if estimate.low <= self.limit <= estimate.high else "fail"


@dataclass(frozen=True)
class Column:
    """A column of a sheet: a metric, told as its measure says.

    ``label`` and ``term`` (shown on hover) are the measure's own by default. ``target`` is "" where
    the metric has none, None for the line's own; ``source`` is whose number it is, where it is not
    the line's; ``place`` changes the line's. ``show`` is ``interval`` (mean and 95 % interval),
    ``mean``, ``sd`` (mean and sd over repeats), ``difference`` (from the baseline of the study,
    paired) or ``printed`` (the paper's figure). ``value(numbers, line)`` gives an `Estimate` of
    what follows from several metrics, ``measure`` says how that is told.
    """

    metric: str = ""
    label: str = ""
    target: str | None = "general"
    source: str | None = None
    place: dict = field(default_factory=dict)
    show: str = "interval"
    value: Callable | None = None
    bound: Bound | Holds | None = None
    measure: Measure | None = None
    term: str = ""

    def style(self, numbers):
        """How it is told: a `Measure`."""
        return self.measure or numbers.measure(self.metric, self.place.get("measure", ""))

    def estimate(self, numbers, line):
        """The `Estimate` of a line, in the measure's own unit."""
        if self.value is not None:
            return self.value(numbers, line)
        place = {**line.place, **self.place}
        own = place.pop("target", "general")
        address = (
            self.source or line.source,
            self.metric,
            own if self.target is None else self.target,
        )
        if self.show == "printed":
            return Estimate(mean=numbers.in_print(*address, **place))
        if self.show == "difference":
            if numbers.baseline in (None, line.source):
                return Estimate()
            return numbers.against(numbers.baseline, *address, **place)
        return numbers.get(*address, **place)


@dataclass(frozen=True)
class Sheet:
    """A declared table.

    ``lines(numbers)`` gives the `Line` of each row, e.g. `each_method`; ``first`` is the head of
    their labels. Caption, columns and note may be functions of the numbers, too. ``fold`` is None
    where it is folded if it is long; ``best`` marks the best line of the first column: not where
    lines are no rivals.
    """

    caption: str | Callable
    lines: Callable
    columns: tuple | Callable
    first: str = "Method"
    note: str | Callable = ""
    fold: bool | None = None
    best: bool = True


def given(what, numbers):
    """What is declared, or what it is for a study where it is a function of it."""
    return what(numbers) if callable(what) else what


# Lines.


def each_method(numbers, sweeps=False):
    """A line for each method, of one without a sweep; with `sweeps` of each setting of others."""
    for one in numbers.methods():
        settings = numbers.settings(one["id"]) if one["sweep"] and sweeps else [""]
        if sweeps or not one["sweep"]:
            yield from lines_of(numbers, one["id"], settings or [""])


def expected_of(numbers, metric, source):
    """A metric of a method on the rows without an outcome, as `unlabeled_quality` expects it."""
    target = numbers.plan["targets"][0]
    return numbers.get("delivered", f"{metric}_doubly_robust", target, part=source)


def _each_expected(numbers):
    """A line for each method with what `expected_of` tells; none where it tells nothing."""
    for line in each_method(numbers):
        if expected_of(numbers, "log_loss", line.source).known:
            yield Line("delivered", line.label, {"part": line.source}, mark=line.mark)


#: How good each method is where nobody is labeled.
EXPECTED = Sheet(
    "Every method on the rows without an outcome, as expected by calibrated estimates",
    _each_expected,
    lambda numbers: [
        Column(f"{name}_doubly_robust", label, target=numbers.plan["targets"][0])
        for name, label in {
            "auc": "AUC",
            "log_loss": "Log loss",
            "brier": "Brier score",
            "accuracy": "Accuracy",
            "calibration_ratio": "Observed over expected",
        }.items()
    ],
)


def each_setting(numbers):
    """A line for each method and setting of its sweep."""
    return each_method(numbers, sweeps=True)


def lines_of(numbers, source, settings):
    """Lines of one method at some settings; a heading above them where it has several."""
    label, mark = numbers.label(source), mark_of(numbers, source)
    if list(settings) == [""]:
        yield Line(source, label, mark=mark)
        return
    for rank, setting in enumerate(settings):
        name, group = setting_label(setting) or label, "" if rank else label
        yield Line(source, name, {"setting": setting}, group, mark)


def mark_of(numbers, source):
    """Mark of a method's row, by its role; one that sees hidden labels is marked whatever it is."""
    if numbers.sees_hidden(source):
        return "oracle"
    return "baseline" if source == numbers.baseline else "main" if source == numbers.main else ""


def each_of(kind):
    """Lines of the plan's ``selectors`` or ``weightings``."""
    return lambda numbers: [Line(one["id"], numbers.label(one["id"])) for one in numbers.plan[kind]]


def each_place(column, metric, target, source=None):
    """Lines of each method: one for each value of a column of the place of a metric.

    With a `source` they are those of this alone, which need not be a method.
    """

    def lines(numbers):
        for line in [Line(source, "")] if source else each_method(numbers):
            for rank, value in enumerate(numbers.places(column, line.source, metric, target)):
                label, group = str(value).replace("_", " ") or "all", "" if rank else line.label
                yield Line(line.source, label, {column: value}, group, line.mark)

    return lines


def pairs(lines):
    """Each two of some lines, as ``(label, first, second)``."""
    for at, first in enumerate(lines):
        for second in lines[at + 1 :]:
            yield f"{first.label} – {second.label}", first, second


#: What the lines of a declared section may be; else values of a column of the place.
LINES = {"methods": each_method, "settings": each_setting}
LINES |= {kind: each_of(kind) for kind in ("selectors", "weightings")}
_FIRST = {"settings": "Method", "selectors": "Model", "weightings": "Weights"}


def declared_sheets(plan, stands):
    """The `Sheet` of each section that components declare for results, trust or details."""
    return tuple(
        declared_sheet(caption, said)
        for caption, said in (plan.get("sections") or {}).items()
        if said.get("stands", "results") == stands
    )


def declared_sheet(caption, said):
    """The `Sheet` of one declared section."""
    target, by = said.get("target", "general"), said.get("lines", "methods")
    columns = []
    for one in said["columns"]:
        one = {"metric": one} if isinstance(one, str) else dict(one)
        limits = {end: one.pop(end) for end in ("at_most", "at_least") if end in one}
        says = one.pop("says", "")
        for end, limit in limits.items():
            words = says or f"Pass where {end.replace('_', ' ')} {limit:g}."
            one["bound"] = Bound(limit, words, end == "at_least")
        columns.append(Column(**{"target": target} | one))
    first = columns[0]
    lines = LINES.get(by) or each_place(by, first.metric, first.target, first.source)
    first = said.get("first") or _FIRST.get(by, "Method" if by in LINES else capital(by))
    more = {"fold": said.get("fold"), "best": said.get("best", by == "methods")}
    return Sheet(caption, lines, columns, first, said.get("note", ""), **more)


# Cells.


def told(estimate, measure, places=None, sign=False):
    """``(text, bracket)``: a number and its interval as a measure is told.

    Values of measures in per cent, and differences (`sign`) of shares, are multiplied by 100.
    """
    unit, factor = told_in(measure, sign)
    if places is None:
        places = digits_of(measure, [estimate], sign)
    scaled = estimate.times(factor)
    text = number(scaled.mean, places, sign=sign) + (unit if estimate.known else "")
    return text, interval(scaled.low, scaled.high, places)


def in_words(estimate, measure, sign=False):
    """`told` in one text, for sentences."""
    return joined_words(told(estimate, measure, sign=sign), " ")


def gap_in_words(estimate, measure):
    """A difference with its unit: ``+0.40 points [0.10, 0.70]``."""
    text, bracket = told(estimate, measure, sign=True)
    unit = "" if measure.unit == "relative" else measure.told[0]
    return joined_words([text, unit, bracket], " ")


def told_in(measure, difference=False):
    """Unit behind a number, with its blank, and the factor."""
    if difference and measure.unit == "share":
        return "", 100.0
    in_percent = measure.percent or measure.unit == "relative"
    return (" %", 100.0) if in_percent else ("", 1.0)


def digits_of(measure, estimates, difference=False):
    """Digits after the point that all numbers of a column have."""
    if measure.digits is not None:
        return measure.digits
    _, factor = told_in(measure, difference)
    values = [one.mean for one in estimates]
    if difference:
        values += [end for one in estimates for end in (one.low, one.high)]
    sizes = [abs(factor * value) for value in values if value and math.isfinite(value)]
    if factor == 100.0:
        return 1 if difference or max(sizes, default=0) >= 1 else 2
    if measure.unit in COUNTS:
        return 0
    middle = sorted(sizes)[len(sizes) // 2] if sizes else 0
    return places_for([middle], 0 if middle >= 1000 else 2, 3)


class Points(list):
    """Points of a small chart, ``(label, Estimate, mark)`` each; `axis` says of what they are."""

    def __init__(self, points, axis=""):
        super().__init__(points)
        self.axis = axis

    @classmethod
    def of(cls, points, measure):
        """Points of one measure, as it is told: a share in per cent."""
        unit, factor = told_in(measure)
        unit = unit.strip() or ("" if measure.unit in {"share", "relative"} else measure.unit)
        points = [(label, one.times(factor), mark) for label, one, mark in points]
        return cls(points, joined_words([measure.label, unit]))


def cards_and_points(shown, measure):
    """Cards and points of a small chart, of ``(label, estimate, note, is main)`` if known."""
    known = [one for one in shown if one[1].known]
    cards = [Card(label, *told(one, measure), note) for label, one, note, _ in known]
    points = ((label, one, "main" if main else "") for label, one, _, main in known)
    return cards, Points.of(points, measure)


def _cells(column, numbers, lines):
    """Cells of a column, one for each line."""
    measure, sign = column.style(numbers), column.show == "difference"
    estimates = [column.estimate(numbers, line) for line in lines]
    places = digits_of(measure, [one for one in estimates if one.known], sign)
    for one in estimates:
        text, bracket = told(one, measure, places, sign)
        if column.show == "sd":
            spread = number(told_in(measure)[1] * one.sd, places)
            bracket = "" if math.isnan(one.sd) else f"({spread})"
        elif column.show in {"mean", "printed"}:
            bracket = ""
        tone = ""
        if sign and measure.better and one.bounded and one.beyond_chance:
            tone = "up" if (one.low > 0) == (measure.better == "more") else "down"
        yield Cell(text, bracket, column.bound.judge(one) if column.bound else "", tone)


def _head(column, numbers):
    measure, gap = column.style(numbers), column.show == "difference"
    unit = "points" if gap and measure.unit == "share" else measure.unit
    text = "Difference" if gap and not column.label else capital(column.label or measure.label)
    if unit and unit not in {"share", "relative"} and unit not in text:
        text += f", {unit}"
    return Head(text, column.term or measure.meaning)


def build(sheet, numbers, reasons=None, csv=None):
    """A sheet as a `counterweight.reporting.blocks.Table`; None where it has no numbers.

    `reasons` say why a method has no result, by its id: its row says so, a long reason once.
    """
    lines, columns = list(sheet.lines(numbers)), list(given(sheet.columns, numbers))
    made = [list(_cells(column, numbers, lines)) for column in columns]
    kept = [rank for rank, cells in enumerate(made) if any(cell.text != "–" for cell in cells)]
    best = _best(columns[kept[0]], numbers, lines) if kept and sheet.best else None
    rows, last = [], None
    for place, line in enumerate(lines):
        cells = tuple(made[rank][place] for rank in kept)
        if any(cell.text != "–" for cell in cells):
            rows.append(Row(line.label, cells, line.group, line.mark, place == best))
        elif (
            not line.place and not numbers.settings(line.source) and line.source in (reasons or {})
        ):
            reason = reasons[line.source]
            said = "for the same reason" if reason and reason == last else reason
            rows.append(Row(line.label, group=line.group, mark="failed", reason=said))
            last = reason or last
    if not kept or not any(row.cells for row in rows):
        return None
    caption = given(sheet.caption, numbers)
    fold = len(rows) > LONG if sheet.fold is None else sheet.fold
    columns = [columns[rank] for rank in kept]
    return Table(
        caption,
        (Head(sheet.first), *(_head(column, numbers) for column in columns)),
        tuple(rows),
        note=_note(sheet, numbers, columns, lines),
        csv=csv,
        fold=f"{caption.rstrip('.')} ({len(rows)} row{'s' * (len(rows) != 1)})" if fold else "",
    )


def _best(column, numbers, lines):
    """Place of the best line of a column, of methods that see nothing hidden."""
    better = column.style(numbers).better
    if not better or column.value is not None:
        return None
    fair = {k: column.estimate(numbers, one) for k, one in enumerate(lines) if one.mark != "oracle"}
    fair = {k: one.mean for k, one in fair.items() if one.known}
    return (max if better == "more" else min)(fair, key=fair.get) if len(fair) > 1 else None


def _note(sheet, numbers, columns, lines):
    """What brackets and marks stand for, what is judged by what, and the sheet's own note."""
    shows = {column.show for column in columns}
    parts = [given(sheet.note, numbers)]
    if "sd" in shows:
        parts.append("Mean (standard deviation over repeats).")
    if shows & {"interval", "difference"}:
        few = numbers.plan.get("repeats") == LEAST_REPEATS - 1
        parts.append("Brackets: 95 % intervals" + ("; two repeats tell none." if few else "."))
    if numbers.baseline and any(c.show == "difference" and c.value is None for c in columns):
        parts.append(f"Difference: from {numbers.label(numbers.baseline)}, on the same splits.")
    parts += [column.bound.says for column in columns if column.bound]
    if any(line.mark == "oracle" for line in lines):
        parts.append("† sees what is hidden from all others: a bound, not a competitor.")
    return joined_words(dict.fromkeys(parts), " ")


def nearest(pairs, value):
    """The setting next to a value; of two the larger: a limit of 0 lets everybody pass."""
    return min(pairs, key=lambda pair: (abs(pair[0] - value), -pair[0]))[1]
