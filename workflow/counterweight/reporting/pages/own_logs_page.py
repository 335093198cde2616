"""Pages of a log of one's own: which policy earns more, which predictions are better."""

import math

from counterweight.reporting import blocks
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Holds, Line, Sheet, in_words, told, told_in
from counterweight.reporting.study_page import (
    Answer,
    StudyPage,
    cards_and_points,
    difference_in_words,
    headline,
)
from counterweight.reporting.wording import capital, listing, percent

_LOG = "labels"
_OWN = "the log's own policy"
#: Support by the number that is kept of it; see `counterweight.evaluation.log_values`.
GOOD, THIN, OUTSIDE, DOUBTFUL = range(4)


# Numbers.


def estimators(numbers):
    """Estimators that gave values, the one that answers go by first."""
    for one in numbers.methods():
        known = numbers.places("measure", one["id"], "whole_value")
        if known:
            return known
    return []


def _bounded(numbers, source, metric, **place):
    """A number of the whole log with its own interval."""
    return numbers.get(source, metric, keep_rate=1.0, **place)


def _estimator(numbers, line):
    return line.place.get("measure") or next(iter(estimators(numbers)), "")


def _value(numbers, line):
    if line.source == _LOG:
        return logged(numbers)
    return _bounded(numbers, line.source, "whole_value", measure=_estimator(numbers, line))


def logged(numbers):
    """What the policy that made the log earned."""
    known = (
        _bounded(numbers, one["id"], "logged_value", measure="mean") for one in numbers.methods()
    )
    return next((one for one in known if one.known), Estimate())


def _gain(numbers, line, part="log"):
    if line.source == _LOG:
        return Estimate()
    place = {"measure": _estimator(numbers, line), "part": line.place.get("part", part)}
    return _bounded(numbers, line.source, "difference", **place)


def _lift(numbers, line):
    if line.source == _LOG:
        return Estimate()
    return _bounded(numbers, line.source, "lift", measure=_estimator(numbers, line))


def _mean_weight(numbers, line):
    return _bounded(numbers, line.source, "mean_importance")


def _of(metric):
    """A number of the support; some are by estimator."""

    def value(numbers, line):
        own = numbers.get(
            line.source, metric, measure=_estimator(numbers, line), keep_rate=1.0
        ).mean
        known = numbers.get(line.source, metric).mean if math.isnan(own) else own
        return Estimate(known) if known or metric != "clusters" else Estimate()

    return value


def flag(numbers, line):
    """Number of the support of a policy; None where it was not measured."""
    known = _of("support")(numbers, line).mean
    return None if math.isnan(known) else int(known)


def policies(numbers):
    """A line for each policy, the best first."""
    lines = [Line(one["id"], capital(numbers.label(one["id"]))) for one in numbers.methods()]
    known = [line for line in lines if _value(numbers, line).known]
    rest = [line for line in lines if line not in known]
    return sorted(known, key=lambda line: -_value(numbers, line).mean) + rest


def _all_lines(numbers):
    yield Line(_LOG, capital(_OWN), mark="baseline")
    for rank, line in enumerate(policies(numbers)):
        yield Line(line.source, line.label, mark="" if rank else "main")


# What is said.


def question(numbers):
    several = len(numbers.methods()) > 1
    which = "Which policy" if several else f"Would {numbers.label(numbers.methods()[0]['id'])}"
    return f"{which}{' would' if several else ''} earn more than the one that made the log?"


def answer(numbers):
    """Whether a policy beats the one that made the log, by how much, and whether that holds."""
    measure, base = numbers.measure("value"), logged(numbers)
    lines = [line for line in policies(numbers) if _value(numbers, line).known]
    if not lines:
        return None
    order = {"more": 0, "open": 1, "less": 2}
    trusted = {line.source: flag(numbers, line) == GOOD for line in lines}
    lines.sort(key=lambda line: (not trusted[line.source], order[_verdict(_gain(numbers, line))]))
    said = [_said(numbers, line, base, measure) for line in lines]
    by = numbers.plan.get("labels", {}).get("measure", {}).get(estimators(numbers)[0], "")
    more = [*said[1:], *_between(numbers, lines, measure)]
    more.append(
        f"The log's own policy earned {in_words(base, measure)} a row. Values are estimated from "
        f"it{f' by {by}' if by else ''}; nobody tried the policies, so there is no truth to "
        "compare with."
    )
    cards = [blocks.Card(capital(_OWN), *told(base, measure), "Mean reward of a row.")]
    points = [(capital(_OWN), base.times(told_in(measure)[1]), "")]
    for rank, line in enumerate(lines):
        known, gain = _value(numbers, line), _gain(numbers, line)
        note = f"{in_words(gain, measure, sign=True)} beyond the log's own."
        cards.append(blocks.Card(line.label, *told(known, measure), note))
        points.append((line.label, known.times(told_in(measure)[1]), "" if rank else "main"))
    return Answer(said[0], tuple(more), tuple(cards), tuple(points))


def _verdict(gain):
    return "more" if gain.low > 0 else "less" if gain.high < 0 else "open"


def _said(numbers, line, base, measure):
    """``New would earn 0.066 [0.064, 0.069] a row, 0.029 [0.027, 0.031] more than ...``."""
    known, gain = in_words(_value(numbers, line), measure), _gain(numbers, line)
    verdict = _verdict(gain)
    if verdict == "open":
        size = in_words(gain, measure, sign=True)
        text = (
            f"{line.label} would earn {known} a row, not told apart from {_OWN}: the difference is "
            f"{size}, so the question stays open"
        )
    else:
        size = in_words(gain if verdict == "more" else gain.times(-1), measure)
        text = f"{line.label} would earn {known} a row, {size} {verdict} than {_OWN}"
        share = gain.mean / abs(base.mean) if base.mean else math.nan
        text += f" ({percent(abs(share))} of what that earned)" if abs(share) < 10 else ""
    return f"{text}{_but(numbers, line)}."


def _but(numbers, line):
    weight = _mean_weight(numbers, line).mean
    rate = " or the keep rate is not right" if _kept_at_a_rate(numbers) else ""
    return {
        THIN: ". Do not rely on it: few rows of the log carry the value",
        OUTSIDE: f". Do not rely on it: {percent(1 - weight)} of what it does is not in the log, "
        f"or the propensities are too high{rate}",
        DOUBTFUL: f". Do not rely on it: its weights average {weight:.3g} and not 1, so the "
        "propensities are too low, or its probabilities are not those of the logged "
        f"actions{rate}",
    }.get(flag(numbers, line), "")


def _kept_at_a_rate(numbers):
    return (numbers.plan.get("log") or {}).get("keep_rate", 1.0) != 1


def _between(numbers, lines, measure):
    """How the first two policies compare."""
    if len(lines) < 2:
        return
    first, second = lines[:2]
    gap = _pair(numbers, first, second)
    if not gap.known:
        return
    if gap.low <= 0 <= gap.high:
        yield (
            f"{first.label} and {second.label} are not told apart: the difference is "
            f"{in_words(gap, measure, sign=True)}."
        )
    else:
        size = in_words(gap if gap.low > 0 else gap.times(-1), measure)
        yield (
            f"From the same rows, {first.label} would earn {size} {_verdict(gap)} than "
            f"{second.label}."
        )


def _pair(numbers, first, second):
    """Difference of two policies; it was taken once, one way round."""
    known = _gain(numbers, Line(first.source, "", {"part": second.source}))
    if known.known:
        return known
    return _gain(numbers, Line(second.source, "", {"part": first.source})).times(-1)


def rests_on(numbers):
    """What each value rests on, in a sentence."""
    for line in policies(numbers):
        rewarded, agreed, effective = (
            _of(name)(numbers, line).mean
            for name in ("rows_rewarded", "rows_agreed", "effective_rows")
        )
        if math.isnan(agreed):
            continue
        word = ("good", "thin", "not enough", "doubtful")[flag(numbers, line) or GOOD]
        yield (
            f"{line.label}: the support is {word}. The policy may take the logged action in "
            f"{agreed:,.0f} rows, {rewarded:,.0f} of them with a reward, which count as much as "
            f"{effective:,.0f} rows of equal weight."
        )


def assumed(numbers):
    """What has to be true for the values to be."""
    parts = ["that the propensities are those by which the logged actions were chosen"]
    yield f"The intervals take for granted {listing(parts + kept_at(numbers))}."


def kept_at(numbers):
    """What is taken for granted of keep rates and users, in parts of a sentence."""
    known, parts = numbers.plan.get("log") or {}, []
    rate, user = known.get("keep_rate", 1.0), known.get("user", "")
    if isinstance(rate, str):
        parts.append(f"that rows of reward 0 were kept at the rates in the column {rate!r}")
    elif rate < 1:
        parts.append(f"that rows of reward 0 were kept at the rate {rate:g}")
    parts.append(
        f"that different values of {user!r} are independent"
        if user
        else "that rows are independent (where rows belong to users, name their column as user)"
    )
    return parts


# Sheets.


VALUES = Sheet(
    "What each policy is worth",
    _all_lines,
    (
        Column("value", value=_value),
        Column("difference", "Beyond the log's own", value=_gain, show="difference"),
        Column("lift", "Lift", value=_lift, show="difference"),
    ),
    first="Policy",
    note="Values of the log's own rows; the differences are paired.",
    best=False,
)


def _pairs(numbers):
    lines = policies(numbers)
    for at, first in enumerate(lines):
        for second in lines[at + 1 :]:
            yield Line(first.source, f"{first.label} – {second.label}", {"other": second.source})


COMPARED = Sheet(
    "Policies against each other",
    _pairs,
    (
        Column(
            "difference",
            "Difference of values",
            value=lambda numbers, line: _pair(numbers, line, Line(line.place["other"], "")),
            show="difference",
        ),
    ),
    first="Policies",
    best=False,
)

SUPPORT = Sheet(
    "What the values rest on",
    policies,
    (
        Column("rows_rewarded", value=_of("rows_rewarded"), show="mean"),
        Column("rows_agreed", value=_of("rows_agreed"), show="mean"),
        Column("effective_rows", value=_of("effective_rows"), show="mean"),
        Column("largest_weight", value=_of("largest_weight"), show="mean"),
        Column("largest_share", value=_of("largest_share"), show="mean"),
        Column(
            "mean_importance",
            value=_mean_weight,
            bound=Holds(1.0, "Mean weight: within where its interval holds 1."),
        ),
        Column("thin_share", value=_of("thin_share"), show="mean"),
        Column("clusters", value=_of("clusters"), show="mean"),
    ),
    first="Policy",
    best=False,
)


def _every_estimator(numbers):
    several = len(numbers.methods()) > 1
    for line in policies(numbers):
        group = line.label if several else ""
        for name in estimators(numbers):
            label = numbers.plan.get("labels", {}).get("measure", {}).get(name, name)
            yield Line(line.source, label, {"measure": name}, group)
            group = ""


ESTIMATED = Sheet(
    "By every estimator",
    _every_estimator,
    (
        Column("value", value=_value),
        Column("difference", "Beyond the log's own", value=_gain, show="difference"),
        Column("effective_rows", value=_of("effective_rows"), show="mean"),
    ),
    first="Estimator",
    best=False,
)

PAGE = StudyPage(
    answer=answer,
    sheets=(VALUES, COMPARED),
    trust=(rests_on, SUPPORT, assumed),
    details=(ESTIMATED,),
    question=question,
)


# Pages of predictions that a log holds: how well they rank, how far off they are.


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


def ranking_question(numbers):
    if len(numbers.methods()) > 1:
        return "Which predictions are better?"
    return f"How good are the predictions {numbers.label(numbers.methods()[0]['id'])}?"


def ranking_answer(numbers):
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


def _ranked_lines(numbers):
    for rank, name in enumerate(_ranked(numbers)):
        yield Line(name, capital(numbers.label(name)), mark="" if rank else "main")


def _ranked_columns(numbers):
    return tuple(Column(metric) for metric in numbers.plan["columns"])


def _ranked_pairs(numbers):
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


def ranking_assumed(numbers):
    """What has to be true for the measures to be."""
    rows = numbers.get("labels", "rows_nonzero", part="log").mean
    users = numbers.get("labels", "clusters", part="log").mean
    all_rows = numbers.get("labels", "rows_log", "").mean
    of = f" of about {users:,.0f} users" if users else ""
    yield f"They rest on {all_rows:,.0f} rows{of}, {rows:,.0f} of them with a reward."
    yield f"The intervals take for granted {listing(kept_at(numbers))}."


MEASURED = Sheet(
    "How good the predictions are", _ranked_lines, _ranked_columns, first="Predictions", best=False
)
RANKED_PAIRS = Sheet(
    "Against each other, on the same rows",
    _ranked_pairs,
    _differences,
    first="Predictions",
    best=False,
)
PREDICTIONS = StudyPage(
    answer=ranking_answer,
    sheets=(MEASURED, RANKED_PAIRS),
    trust=(ranking_assumed,),
    question=ranking_question,
)
