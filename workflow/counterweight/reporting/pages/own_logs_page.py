"""Pages of a log of one's own: which policy earns more, which predictions are better."""

import math

from counterweight.evaluation.log_values import carriers, users_in_words
from counterweight.evaluation.metrics import CLIP
from counterweight.labeling.columns import IN_COMMON, condition_in_words
from counterweight.labeling.logs import WRONG
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.collected_page import (
    bought_of_log,
    planned_of_log,
    refused_of_log,
)
from counterweight.reporting.pages.selection_page import JUDGED_AHEAD, gap_column
from counterweight.reporting.pages.trust import REHEARSAL, rehearsed_parts
from counterweight.reporting.sheets import (
    Column,
    Holds,
    Line,
    Sheet,
    cards_and_points,
    in_words,
    pairs,
)
from counterweight.reporting.study_page import (
    TOO_GOOD,
    Answer,
    StudyPage,
    column_records,
    difference_in_words,
    of_methods,
)
from counterweight.reporting.wording import capital, listing, named, number, percent

_LOG = "labels"
_OWN = "the log's own policy"
#: Support by the number that is kept of it; see `counterweight.evaluation.log_values`.
GOOD, THIN, OUTSIDE, DOUBTFUL = range(4)
_WORDS = ("good", "thin", "not enough", "doubtful")


def estimators(numbers):
    """Estimators that gave values, the one that answers go by first."""
    known = (numbers.places("measure", source, "whole_value") for source in numbers.sources)
    return next(filter(None, known), [])


def _own(metric, by_estimator=True):
    """A number of the whole log with its own interval, by the line's estimator; none of the log."""

    def value(numbers, line):
        place = {"keep_rate": 1.0}
        if by_estimator:
            place["measure"] = line.place.get("measure") or next(iter(estimators(numbers)), "")
        if metric == "difference":
            place["part"] = line.place.get("part", "log")
        return Estimate() if line.source == _LOG else numbers.get(line.source, metric, **place)

    return value


_gain, _mean_weight = _own("difference"), _own("mean_importance", False)


def value_of(numbers, line):
    return logged(numbers) if line.source == _LOG else _own("whole_value")(numbers, line)


def logged(numbers):
    """What the policy that made the log earned."""
    place = {"measure": "mean", "keep_rate": 1.0}
    known = (numbers.get(source, "logged_value", **place) for source in numbers.sources)
    return next((one for one in known if one.known), Estimate())


def _of(metric):
    """A number of the support; some are by estimator."""

    def value(numbers, line):
        own = _own(metric)(numbers, line).mean
        known = numbers.get(line.source, metric).mean if math.isnan(own) else own
        return Estimate(known) if known or metric != "clusters" else Estimate()

    return value


def flag(numbers, line):
    """Number of the support of a policy; None where it was not measured."""
    known = _of("support")(numbers, line).mean
    return None if math.isnan(known) else int(known)


def policies(numbers):
    """A line for each policy, the best first, those without a value last."""
    lines = [Line(source, named(numbers.label(source))) for source in numbers.sources]
    values = {line.source: value_of(numbers, line) for line in lines}
    order = {source: -one.mean if one.known else math.inf for source, one in values.items()}
    return sorted(lines, key=lambda line: order[line.source])


def _all_lines(numbers):
    yield Line(_LOG, capital(_OWN), mark="baseline")
    for rank, line in enumerate(policies(numbers)):
        yield Line(line.source, line.label, mark="" if rank else "main")


def question(numbers):
    if len(numbers.sources) > 1:
        return "Which policy would earn more than the one that made the log?"
    policy = named(numbers.label(numbers.sources[0]))
    return f"Would {policy} earn more than the policy that made the log?"


def answer(numbers):
    """Whether a policy beats the one that made the log, by how much, and whether that holds."""
    measure, base = numbers.measure("value"), logged(numbers)
    lines = [line for line in policies(numbers) if value_of(numbers, line).known]
    if not lines:
        return None
    order = {"more": 0, "open": 1, "less": 2}
    lines.sort(
        key=lambda line: (flag(numbers, line) != GOOD, order[_verdict(_gain(numbers, line))])
    )
    wrong = [*_wrong_propensities(numbers)]
    said = wrong + [_said(numbers, line, base, measure) for line in lines]
    labels, name = numbers.plan.get("labels", {}).get("measure", {}), estimators(numbers)[0]
    by = f" by {labels[name]}" if name in labels else ""
    more = [*said[1:], *_never_logged(numbers), *_between(numbers, lines, measure)]
    more.append(
        f"The log's own policy earned {in_words(base, measure)} a row. Values are estimated from "
        f"it{by}; nobody used the policies, so there is no truth to compare with."
    )
    shown = [(capital(_OWN), base, "Mean reward of a row.", False)]
    for rank, line in enumerate(lines):
        hint = f"{in_words(_gain(numbers, line), measure, sign=True)} beyond the log's own."
        if known := flag(numbers, line):
            hint += f" The support is {_WORDS[known]}."
        shown.append((line.label, value_of(numbers, line), hint, not rank))
    if wrong:
        todo = "Leave out rows that are copies, and ask again. " if _has_copies(numbers) else ""
        todo += (
            "Look up how actions were chosen and correct the propensities, or name the column that "
            "has those of the logged actions; then ask again."
        )
    elif flag(numbers, lines[0]) in (OUTSIDE, DOUBTFUL):
        todo = (
            "Look up the propensities and the policy's probabilities, and name the rows that were "
            "dropped, if any were; then ask again."
        )
    else:
        todo = (
            "Before all rows go by it, let it choose for a random part of them and keep its "
            "propensities: the next log then tells its value without weights."
        )
    return Answer(said[0], more, *cards_and_points(shown, measure), todo=(todo,))


def _has_copies(numbers):
    """Whether rows of the table are the same as others in every column."""
    return any(IN_COMMON in (one.get("doubt") or "") for one in column_records(numbers) or ())


def _wrong_propensities(numbers):
    """A sentence where propensities cannot be those of the logged actions."""
    for cell in numbers.places("variable", _LOG, "propensity_p"):
        chance, mean = (
            numbers.get(_LOG, name, part="log", variable=cell).mean
            for name in ("propensity_p", "propensity_mean")
        )
        if chance < WRONG:
            so = " or copies of rows make it look so:" if _has_copies(numbers) else " so"
            yield (
                f"The propensities are not those of the logged actions,{so} no value here is "
                f"to be relied on: rows with the action {cell}, each counted as 1 / propensity, "
                f"make {mean:.3g} times the rows that they stand for."
            )


def _never_logged(numbers):
    """Sentences on actions that policies take and the log never has."""
    for column in numbers.places("part", _LOG, "action_unlogged"):
        found = [
            (action, numbers.get(_LOG, "action_unlogged", part=column, variable=action).mean)
            for action in numbers.places("variable", _LOG, "action_unlogged", part=column)
        ]
        shares = listing(f"“{action}” in {percent(share)} of the rows" for action, share in found)
        yield f"The log never has an action that {named(column)} takes: {shares}."


def _same(numbers, line):
    """Whether a policy is that of the log: no row's weight is another than 1."""
    gain, weight = _gain(numbers, line), _mean_weight(numbers, line)
    most = _of("largest_weight")(numbers, line).mean
    return gain.mean == 0 and gain.low == gain.high == 0 and most == weight.mean == 1


def _verdict(gain):
    return "more" if gain.low > 0 else "less" if gain.high < 0 else "open"


def _said(numbers, line, base, measure):
    """``The policy new would earn 0.066 [0.064, 0.069] a row, 0.029 [0.027, 0.031] more than``."""
    gain = _gain(numbers, line)
    verdict, share = _verdict(gain), gain.mean / base.mean if base.low > 0 else math.nan
    text = f"The policy {line.label} would earn {in_words(value_of(numbers, line), measure)} a row"
    if _same(numbers, line):
        text += f", as much as {_OWN}: it is the same policy, so the gain is exactly 0"
    elif verdict == "open":
        text += f", not significantly different from {_OWN}: the difference is "
        text += f"{in_words(gain, measure, sign=True)}, so the question stays open"
    else:
        size = in_words(gain if verdict == "more" else gain.times(-1), measure)
        text += f", {size} {verdict} than {_OWN}"
        text += f" ({percent(abs(share))} of what that earned)" if abs(share) < 10 else ""
    kept = (numbers.plan.get("log") or {}).get("keep_rate", 1.0)
    rate = " or the keep rate is not right" if kept != 1 else ""
    who = carriers(_of("clusters")(numbers, line).mean)
    weight = _mean_weight(numbers, line).mean
    doubt = {
        THIN: f"few {who} of the log carry the value, its gain, or the error of either",
        OUTSIDE: f"{percent(1 - weight)} of what it does is not in the log, or the propensities "
        f"are too high{rate}",
        DOUBTFUL: f"its weights average {weight:.3g} and not 1, so the propensities are too low, "
        f"or probabilities are not those of the logged actions{rate}",
    }.get(flag(numbers, line))
    if flag(numbers, line) == DOUBTFUL and not _above_one(numbers, line):
        doubt = "the propensities are not those of the logged actions"
    if doubt:
        return f"{text}. Do not rely on it: {doubt}."
    return f"{text}.{'' if _same(numbers, line) else _shared_doubt(numbers)}"


def _above_one(numbers, line):
    """Whether weights average more than 1, as they do where propensities are too low."""
    weight = _mean_weight(numbers, line)
    return weight.mean > 1 and not weight.low <= 1


def _shared_doubt(numbers):
    """That a value rests on propensities which the weights of another policy speak against."""
    wrong = [line for line in policies(numbers) if flag(numbers, line) == DOUBTFUL]
    wrong = [line for line in wrong if _above_one(numbers, line)]
    if not wrong:
        return ""
    return (
        f" It rests on the same propensities as {listing(line.label for line in wrong)}, whose "
        "weights average more than 1: if propensities are too low, this value is off, too."
    )


def _between(numbers, lines, measure):
    """How the first two policies compare."""
    for _, first, second in list(pairs(lines[:2])):
        gap = _pair(numbers, first, second)
        word = _WORDS[_pair_flag(numbers, first, second)]
        doubt = "" if word == _WORDS[GOOD] else f" (the support of this is {word})"
        if gap.known and gap.low == gap.high == 0:
            yield (
                f"The policies {first.label} and {second.label} are the same: their difference is "
                "exactly 0."
            )
        elif gap.known and gap.low <= 0 <= gap.high:
            yield (
                f"The policies {first.label} and {second.label} do not differ significantly: the "
                f"difference is {in_words(gap, measure, sign=True)}{doubt}."
            )
        elif gap.known:
            size = in_words(gap if gap.low > 0 else gap.times(-1), measure)
            yield (
                f"From the same rows, {first.label} would earn {size} {_verdict(gap)} than "
                f"{second.label}{doubt}."
            )


def _pair(numbers, first, second):
    """Difference of two policies; it was taken once, one way round."""
    known = _gain(numbers, Line(first.source, "", {"part": second.source}))
    turned = _gain(numbers, Line(second.source, "", {"part": first.source}))
    return known if known.known else turned.times(-1)


def _pair_flag(numbers, first, second):
    """Number of the support of the difference of two policies, `GOOD` where none was told."""
    place = {"measure": next(iter(estimators(numbers)), ""), "keep_rate": 1.0}
    for one, other in ((first, second), (second, first)):
        known = numbers.get(one.source, "difference_support", part=other.source, **place)
        if known.known:
            return int(known.mean)
    return GOOD


def rests_on(numbers):
    """What each value rests on, in a sentence."""
    for line in policies(numbers):
        names = ("rows_rewarded", "rows_agreed", "effective_rows")
        rewarded, agreed, effective = (_of(name)(numbers, line).mean for name in names)
        word, many = _WORDS[flag(numbers, line) or GOOD], _of("clusters")(numbers, line).mean > 0
        alike = "users that count alike" if many else "rows of equal weight"
        if not math.isnan(agreed):
            yield (
                f"{line.label}: the support is {word}. The policy may take the logged action in "
                f"{number(agreed, 0)} rows, {number(rewarded, 0)} of them with a reward, which "
                f"count as much as {number(effective, 0)} {alike}."
            )


def unlike_copies(numbers):
    """A sentence where copies of a rehearsal have weights about 1 and the log has not."""
    off = [
        f"those of {line.label} average {weight.mean:.3g}"
        for line in policies(numbers)
        if flag(numbers, line) in (OUTSIDE, DOUBTFUL)
        and not (weight := _mean_weight(numbers, line)).low <= 1 <= weight.high
    ]
    if off and next(rehearsed_parts(numbers), None):
        yield (
            "Copies are drawn so that weights average 1, as they do where propensities are right. "
            f"In this log {listing(off)}: what the copies show does not hold for that."
        )


def assumed(numbers):
    """What has to be true for the values to be."""
    parts = ["that the propensities are those by which the logged actions were chosen"]
    yield f"The intervals take for granted {listing(parts + kept_at(numbers))}."


def kept_at(numbers):
    """What is taken for granted of keep rates and users, in parts of a sentence."""
    known, parts = numbers.plan.get("log") or {}, []
    rate, user = known.get("keep_rate", 1.0), known.get("user", "")
    where = known.get("kept_where") or {}
    of = f" with {condition_in_words(where)}" if where else ""
    rest = " and all others were kept" if where else ""
    if isinstance(rate, str):
        parts.append(
            f"that rows of reward 0{of} were kept at the rates in the column {rate!r}{rest}"
        )
    elif rate < 1:
        parts.append(f"that rows of reward 0{of} were kept at the rate {rate:g}{rest}")
    parts.append(
        f"that different values of {user!r} are independent"
        if user
        else "that rows are independent (where rows belong to users, name their column as user)"
    )
    return parts


def _compared(numbers):
    for label, first, second in pairs(policies(numbers)):
        known = _pair_flag(numbers, first, second)
        label = f"{label} (support {_WORDS[known]})" if known else label
        yield Line(first.source, label, {"other": second.source})


def _every_estimator(numbers):
    labels = numbers.plan.get("labels", {}).get("measure", {})
    for line in policies(numbers):
        for rank, name in enumerate(estimators(numbers)):
            group = line.label if len(numbers.sources) > 1 and not rank else ""
            yield Line(line.source, labels.get(name, name), {"measure": name}, group)


_BEYOND = Column("difference", "Beyond the log's own", value=_gain, show="difference")
VALUES = Sheet(
    "What each policy is worth",
    _all_lines,
    (
        Column("value", value=value_of),
        _BEYOND,
        Column("lift", "Lift", value=_own("lift"), show="difference"),
    ),
    first="Policy",
    note="Values of the log's own rows; the differences are paired.",
    best=False,
)
COMPARED = Sheet(
    "Policies against each other",
    _compared,
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
_COUNTS = ("rows_rewarded", "rows_agreed", "effective_rows", "largest_weight", "largest_share")
_HOLDS_1 = Holds(1.0, "Mean weight: pass where its interval holds 1.")
SUPPORT = Sheet(
    "What the values rest on",
    policies,
    (
        *(Column(name, value=_of(name), show="mean") for name in _COUNTS),
        Column("mean_importance", value=_mean_weight, bound=_HOLDS_1),
        *(Column(name, value=_of(name), show="mean") for name in ("thin_share", "clusters")),
    ),
    first="Policy",
    best=False,
)
ESTIMATED = Sheet(
    "By every estimator",
    _every_estimator,
    (
        Column("value", value=value_of),
        _BEYOND,
        Column("effective_rows", value=_of("effective_rows"), show="mean"),
    ),
    first="Estimator",
    best=False,
)
PAGE = StudyPage(
    answer=answer,
    sheets=(VALUES, COMPARED),
    trust=(*REHEARSAL, unlike_copies, rests_on, SUPPORT, assumed),
    details=(ESTIMATED,),
    question=question,
)


# Pages of predictions that a log holds: how well they rank, how far off they are.


def ranked(numbers):
    """Lines of methods by the first measure, the best first; none where nothing was measured.

    Where ranks do not tell the first ones apart, that with less log loss is first, and chances are
    before what is none; where a measure says not which is better, that which is delivered.
    """
    metric = numbers.headline
    known = {name: numbers.get(name, metric) for name in numbers.sources} if metric else {}
    known = {name: one.mean for name, one in known.items() if one.known}
    sign = -1 if metric and numbers.measure(metric).better == "more" else 1
    names = sorted(known, key=lambda name: sign * known[name])
    if metric and not numbers.measure(metric).better:
        names = sorted(known, key=lambda name: name != numbers.delivered[0])
    # Of those that rank as well as the first the one whose loss is less, where that is certain, or
    # where the first has none since it is no chance.
    less = [
        name
        for name in (names[1:] if metric == "auc" else ())
        if (gap := _gap(numbers, names[0], name, metric)).bounded
        and gap.low <= 0
        and numbers.get(name, _LOSS).known
        and not (
            numbers.get(names[0], _LOSS).known and _gap(numbers, name, names[0], _LOSS).high >= 0
        )
    ]
    if less:
        best = min(less, key=lambda name: numbers.get(name, _LOSS).mean)
        names = [best, *(name for name in names if name != best)]
    marks = ["main", *[""] * len(names)]
    return [
        Line(name, named(numbers.label(name)), mark=mark)
        for name, mark in zip(names, marks, strict=False)
    ]


def _gap(numbers, first, second, metric):
    """Measure of one minus that of the other; it was taken once, one way round."""
    known = numbers.get(first, "paired_difference", measure=metric, part=second)
    turned = numbers.get(second, "paired_difference", measure=metric, part=first)
    return known if known.known else turned.times(-1)


def _alike(numbers, first, second, metric):
    """Whether two predictions rank all rows alike and no loss tells them apart, as other units."""
    rank, loss = (_gap(numbers, first.source, second.source, one) for one in (metric, _LOSS))
    apart = rank.mean != 0 or rank.high > rank.low or loss.mean > 0 or loss.mean < 0
    return rank.known and not apart


def ranking_question(numbers):
    if len(numbers.sources) > 1:
        return "Which predictions are better?"
    return f"How good are the predictions {named(numbers.label(numbers.sources[0]))}?"


_ASK = (
    "Give collect.csv, but for its column reason, which has predictions, to somebody who can tell "
    "the reward of a row; have it filled in in their order, and name the file under collected: "
    "until then nothing can be said of the predictions, since no row has a reward."
)


def ranking_answer(numbers):
    """Which predictions are best by the first measure, whether that holds, and how calibrated."""
    metric, lines = numbers.headline, ranked(numbers)
    to_buy = [*planned_of_log(numbers)]
    if metric is None or not lines:
        return Answer(to_buy[0], to_buy[1:], todo=(_ASK,)) if to_buy else None
    said = [f"The predictions {one.label} have {_sizes(numbers, one, metric)}" for one in lines]
    others = [text for one in lines for text in _not_chances(numbers, one)]
    others += _worse_than_one_value(numbers, lines)
    more = [text for one in lines for text in _miscalibrated(numbers, one)]
    rivals = [one for one in lines[1:] if not _alike(numbers, lines[0], one, metric)]
    if alike := [one.label for one in lines[1:] if one not in rivals]:
        said[0] += f", as {listing(alike)}, which rank{'s' * (len(alike) == 1)} all rows alike"
    if rivals:
        rival, both = named(numbers.label(rivals[0].source)), (lines[0].source, rivals[0].source)
        gap, loss = (_gap(numbers, *both, one) for one in (metric, _LOSS))
        said[0] += f": {difference_in_words(gap, numbers.measure(metric))} {rival} on the same rows"
        if metric == "auc" and loss.known:
            told = difference_in_words(loss, numbers.measure(_LOSS))
            said[0] += f"; by log loss {told} {rival}"
    cards = of_methods(numbers, [line.source for line in lines], metric)
    todo = ["Go by the first where they differ; where they do not, by the one that costs least."]
    if more:
        todo = ["Calibrate predictions that are too high or too low before their size is used."]
    if any(numbers.get(one.source, "predictions_outside").mean > 0 for one in lines):
        todo.append("Give predictions as chances from 0 to 1, to have their size judged.")
    more = (*(f"{text}." for text in said[1:]), *others, *bought_of_log(numbers), *more)
    doubt = _too_good(numbers, lines) or refused_of_log(numbers)
    return Answer(f"{said[0]}.", more, *cards, todo=todo, warning=doubt)


def _too_good(numbers, lines):
    """A warning of predictions that rank as only those do that know what came; else ""."""
    told = [one for one in lines if numbers.get(one.source, "auc").mean >= TOO_GOOD]
    if not told:
        return ""
    size = in_words(numbers.get(told[0].source, "auc"), numbers.measure("auc"))
    return (
        f"Too good to be true? The predictions {told[0].label} have AUC {size}: "
        "ask whether they were made before the reward was known. Of new events those that were "
        "made of it, or learned from these very rows, tell nothing."
    )


def _sizes(numbers, line, metric):
    """``AUC of 0.603 [0.574, 0.631] and log loss of ...``, the latter where it is known."""
    both = [metric, _LOSS] if metric == "auc" else [metric]
    known = ((numbers.get(line.source, one), numbers.measure(one)) for one in both)
    return listing(f"{of.label} of {in_words(size, of)}" for size, of in known if size.known)


def _column(numbers, line):
    """Least and most of a column of predictions, how many are no chances, how many impossible."""
    ends = [
        numbers.get(line.source, "predictions_end", variable=end).mean for end in ("least", "most")
    ]
    names = "predictions_outside", "predictions_impossible"
    return *ends, *(numbers.get(line.source, name).mean for name in names)


def _not_chances(numbers, line):
    """Sentences on predictions that are no chances, or leave none to what came."""
    least, most, outside, impossible = _column(numbers, line)
    if outside > 0:
        percent = least >= 0 and 1 < most <= 100
        between = f"{least:.3g} and {most:.3g}".replace("-", "−")
        yield (
            f"{number(outside, 0)} of the predictions {line.label} are no chances (they lie "
            f"between {between}): how they rank is judged, and their size is not."
            + (" If they are in per cent, divide them by 100." if percent else "")
        )
    if impossible > 0:
        yield (
            f"{number(impossible, 0)} of the predictions {line.label} are exactly 0 or 1 where the "
            f"other came: their log loss is infinite, and is told as if they were {CLIP:g} off."
        )
    if least == most:
        yield f"The predictions {line.label} are {least:.3g} in all rows: they rank nothing."


def _worse_than_one_value(numbers, lines):
    """Sentences on predictions whose loss is more than that of one value for all rows."""
    for flat in lines:
        least, most, *_ = _column(numbers, flat)
        for line in lines if least == most else ():
            gap = _gap(numbers, line.source, flat.source, _LOSS)
            if line.source != flat.source and gap.low > 0:
                size = in_words(gap, numbers.measure(_LOSS), sign=True)
                yield (
                    f"By log loss the predictions {line.label} are worse than {flat.label}, one "
                    f"value for all rows: {size}."
                )


def _miscalibrated(numbers, line):
    """Sentences on predictions that the rewards speak against: of all rows, of the highest."""
    rows, parts = numbers.rows(line.source, _RATIO), _shares(numbers)
    rows = rows.groupby(rows["part"].fillna(""))["rows"].max()
    for part in ("", *parts):
        ratio = numbers.get(line.source, _RATIO, part=part)
        # Parts of as many rows are one: as many have the same prediction.
        many = rows.get(part, 0) if part else 0
        tied = [one for one in parts if many and rows.get(one) == many]
        if tied and part != tied[0]:
            continue
        if not ratio.bounded or ratio.low <= 1 <= ratio.high:
            continue
        word, size = "high" if ratio.mean > 1 else "low", in_words(ratio, numbers.measure(_RATIO))
        if part:
            of = f"{_share(part)} of {named(numbers.label(line.source))}"
            if len(tied) > 1:
                of = f"{number(many, 0)} of the rows by {named(numbers.label(line.source))}"
                of += f" (more than {_share(part)}: they are predicted alike)"
            yield f"The highest {of} are too {word} by the mean: {size} times."
        else:
            yield f"The predictions {line.label} are too {word} by the mean: {size} times."


def _shares(numbers):
    """Parts of the rows of highest predictions, the largest first."""
    parts = {part for one in numbers.sources for part in numbers.places("part", one, _RATIO)}
    return sorted(parts - {""}, key=lambda part: -float(part.split()[-1]))


def _share(part):
    return f"{100 * float(part.split()[-1]):g} %"


def _ranked_pairs(numbers):
    lines = [Line(one.source, numbers.label(one.source)) for one in ranked(numbers)]
    for label, first, second in pairs(lines):
        yield Line(first.source, label, {"part": second.source})


def _differences(numbers):
    for metric in numbers.plan["columns"]:

        def value(numbers, line, metric=metric):
            return _gap(numbers, line.source, line.place["part"], metric)

        yield gap_column(metric, value, numbers)


def ranking_assumed(numbers):
    """What has to be true for the measures to be."""
    rows, users = (
        numbers.get("labels", name, part="log").mean for name in ("rows_nonzero", "clusters")
    )
    all_rows = numbers.get("labels", "rows_log", "").mean
    known = numbers.get("labels", "rows_known", part="log")
    if known.known:  # labels are bought, and a reward is 0 or 1
        yield (
            f"The reward of {number(known.mean, 0)} of {number(all_rows, 0)} rows is known, and is "
            f"1 in {number(rows, 0)} of them."
        )
        return
    of = users_in_words(users)
    yield f"They rest on {number(all_rows, 0)} rows{of}, {number(rows, 0)} of them with a reward."
    yield f"The intervals take for granted {listing(kept_at(numbers))}."


MEASURED = Sheet(
    "How good the predictions are",
    ranked,
    lambda numbers: [Column(metric) for metric in numbers.plan["columns"]],
    first="Predictions",
    best=False,
)
_RATIO, _LOSS = "predicted_over_observed", "log_loss"
_AS_TOLD = Holds(1.0, "Pass where the interval holds 1: as many rewards came as were foretold.")


def _highest(numbers):
    for part in _shares(numbers):
        yield Column(_RATIO, f"Highest {_share(part)}", place={"part": part}, bound=_AS_TOLD)


HIGHEST = Sheet(
    "Where predictions are highest",
    ranked,
    _highest,
    first="Predictions",
    note="Mean prediction over mean reward among the rows of the highest predictions; 1 is right. "
    "Intervals count rewards; of fewer than 10 rows, or users, none is told, and nothing follows.",
    best=False,
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
    sheets=(MEASURED, HIGHEST, RANKED_PAIRS, JUDGED_AHEAD),
    trust=(ranking_assumed,),
    question=ranking_question,
)
