"""Pages of predictions that a log holds: how well they rank, how far off they are."""

from counterweight.reporting.page.study import (
    Answer,
    StudyPage,
    cards_and_points,
    difference_in_words,
    headline,
)
from counterweight.reporting.pages.own_logs import kept_at
from counterweight.reporting.sheets import Column, Line, Sheet, in_words
from counterweight.reporting.wording import capital, listing

_DIFFERENCE = "paired_difference"


def _ranked(numbers):
    """Methods by the first measure, the best first; none where nothing was measured."""
    metric = headline(numbers)
    if metric is None:
        return []
    known = [one["id"] for one in numbers.methods() if numbers.get(one["id"], metric).known]
    more = numbers.measure(metric).better == "more"
    return sorted(known, key=lambda one: numbers.get(one, metric).mean * (-1 if more else 1))


def _gap(numbers, first, second, metric):
    """Measure of one minus that of the other; it was taken once, one way round."""
    known = numbers.get(first, _DIFFERENCE, measure=metric, part=second)
    if known.known:
        return known
    return numbers.get(second, _DIFFERENCE, measure=metric, part=first).times(-1)


def question(numbers):
    if len(numbers.methods()) > 1:
        return "Which predictions are better?"
    return f"How good are the predictions {numbers.label(numbers.methods()[0]['id'])}?"


def answer(numbers):
    """Which predictions are best by the first measure, whether that holds, and how calibrated."""
    metric = headline(numbers)
    if metric is None:
        return None
    measure, ranked = numbers.measure(metric), _ranked(numbers)
    best, said = ranked[0], []
    for name in ranked:
        size = in_words(numbers.get(name, metric), measure)
        said.append(f"{capital(numbers.label(name))} has {measure.label} of {size}")
    if len(ranked) > 1:
        gap = _gap(numbers, best, ranked[1], metric)
        told_as = difference_in_words(gap, measure)
        said[0] += f": {told_as} {numbers.label(ranked[1])} on the same rows"
    more = [f"{text}." for text in said[1:]]
    for name in ranked:
        ratio = numbers.get(name, "predicted_over_observed")
        if ratio.bounded and not ratio.low <= 1 <= ratio.high:
            word = "high" if ratio.mean > 1 else "low"
            size = in_words(ratio, numbers.measure("predicted_over_observed"))
            more.append(f"{capital(numbers.label(name))} is too {word} by the mean: {size} times.")
    return Answer(f"{said[0]}.", tuple(more), *cards_and_points(numbers, ranked, metric))


def _lines(numbers):
    for rank, name in enumerate(_ranked(numbers)):
        yield Line(name, capital(numbers.label(name)), mark="" if rank else "main")


def _columns(numbers):
    return tuple(Column(metric) for metric in numbers.plan["columns"])


def _pairs(numbers):
    ranked = _ranked(numbers)
    for at, first in enumerate(ranked):
        for second in ranked[at + 1 :]:
            label = f"{numbers.label(first)} – {numbers.label(second)}"
            yield Line(first, capital(label), {"part": second})


def _differences(numbers):
    for metric in numbers.plan["columns"]:

        def value(numbers, line, metric=metric):
            return _gap(numbers, line.source, line.place["part"], metric)

        measure = numbers.measure(metric)
        yield Column(
            metric, capital(measure.label), value=value, measure=measure, show="difference"
        )


def assumed(numbers):
    """What has to be true for the measures to be."""
    rows = numbers.get("labels", "rows_nonzero", part="log").mean
    users = numbers.get("labels", "clusters", part="log").mean
    all_rows = numbers.get("labels", "rows_log", "").mean
    of = f" of about {users:,.0f} users" if users else ""
    yield f"They rest on {all_rows:,.0f} rows{of}, {rows:,.0f} of them with a reward."
    yield f"The intervals take for granted {listing(kept_at(numbers))}."


MEASURED = Sheet("How good the predictions are", _lines, _columns, first="Predictions", best=False)
COMPARED = Sheet(
    "Against each other, on the same rows", _pairs, _differences, first="Predictions", best=False
)
PAGE = StudyPage(answer=answer, sheets=(MEASURED, COMPARED), trust=(assumed,), question=question)
