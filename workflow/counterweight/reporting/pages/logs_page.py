"""Pages of studies of logged actions: what policies are worth, by a log of another one."""

import functools
import math

from counterweight.numerics.estimate import normal_interval
from counterweight.reporting import blocks
from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Holds,
    Line,
    Sheet,
    in_words,
    told,
    told_in,
)
from counterweight.reporting.study_page import Answer, StudyPage
from counterweight.reporting.wording import Measure, capital, count, listing, percent

#: What the table has, in its order.
METRICS = (
    *("whole_value", "value", "truth", "error", "subsampling_error", "covered", "covered_whole"),
    *("values_missing", "effective_rows", "largest_weight", "logged_value", "difference", "lift"),
    *("mean_importance", "rows_unsupported"),
)
#: The rows of the log themselves, as a source of numbers.
_LOG = "labels"
_ERROR, _SHARE = Measure("error", "relative"), Measure("coverage", "share", digits=1, percent=True)


def table(numbers, target, reason_of):
    """Values of policies, by estimator (``measure``) and keep rate.

    ``whole_value`` is the estimate from the whole log with its own interval, ``value`` the mean
    over resamplings (its ``sd`` their spread), ``truth`` the value that they should find,
    ``error`` estimate minus truth, ``subsampling_error`` estimate minus estimate from all rows of
    the same resampling, ``covered`` the share of intervals that hold the truth.
    """
    return results_table(numbers, (target,), reason_of, METRICS)


def _pairs(numbers, source, target):
    """Estimators and keep rates of the values of a method, in the order of the metrics."""
    return dict.fromkeys(
        (name, rate)
        for metric in ("whole_value", "value")
        for name in numbers.places("measure", source, metric, target)
        for rate in numbers.places("keep_rate", source, metric, target, measure=name)
        if rate >= 0
    )


def _row(numbers, source, target, name, rate):
    """The numbers of one estimator at one keep rate."""

    def known(metric):
        return numbers.get(source, metric, target, measure=name, keep_rate=rate)

    def of_log(metric):
        """Of the whole log: where all rows are kept, it may be told without a rate."""
        value = known(metric).mean
        if math.isnan(value) and rate == 1:
            value = numbers.get(source, metric, target, measure=name).mean
        return value

    values, bias, shift = known("value"), known("error"), known("subsampling_error")
    truth = numbers.get(source, "truth", target)
    truth = (truth.low, truth.high) if truth.bounded else (truth.mean, truth.mean)
    return {
        "estimator": name,
        "keep_rate": rate,
        **_bounded("value", of_log("whole_value"), of_log("whole_low"), of_log("whole_high")),
        "typical": values.mean,
        **_bounded("truth", numbers.get(source, "truth", target).mean, *truth),
        **_bounded("bias", bias.mean, bias.low, bias.high),
        **_bounded("shift", shift.mean, shift.low, shift.high),
        "spread": values.sd,
        "coverage": known("covered").mean,
        "coverage_whole": known("covered_whole").mean,
        "missing": of_log("values_missing"),
        "effective_rows": of_log("effective_rows"),
        "largest_weight": of_log("largest_weight"),
        "n": bias.n,
    }


def _resampled_rows(numbers, source, target):
    """Root mean square standard error and mean rows of resamplings, by estimator and rate."""
    rows = numbers.rows(source, "value", target)
    rows = rows.assign(square=rows["standard_error"].astype(float) ** 2)
    means = rows.groupby(["measure", "keep_rate"])[["square", "rows"]].mean()
    return {
        key: (math.sqrt(row.square), row.rows)
        for key, row in zip(means.index, means.itertuples(), strict=True)
    }


def _typical(row, resampled):
    """What is told of the resamplings of an estimate; nothing where there are none."""
    if resampled is None:
        return {}
    error, rows = resampled
    low, high = normal_interval(row["typical"], error)
    return {"typical_low": low, "typical_high": high, "rows": rows}


def _names(column):
    """A number's column and those of its bounds."""
    return (column, *("low high" if column == "value" else f"{column}_low {column}_high").split())


def _bounded(column, *three):
    return dict(zip(_names(column), three, strict=True))


@functools.lru_cache(2)
def _measured(numbers, target="general"):
    """What is known of each method, estimator and keep rate, as dicts; estimators in their order.

    ``value`` with ``low`` and ``high`` is the estimate from the whole log where it was made at
    this rate, ``typical`` the mean over resamplings with the normal 95 % interval of their root
    mean square standard error, ``truth`` the value that they should find, with its own 95 %
    interval (of width 0 where it is known by construction). ``bias`` is the mean over resamplings
    of estimate minus truth with the t interval of that mean, ``shift`` that of estimate minus
    estimate from all rows of the same resampling, ``spread`` the sd of the estimates,
    ``coverage`` the share of their intervals that hold the truth, ``coverage_whole`` the share
    that hold the value of the whole log (of a bootstrap), ``missing`` the number of resamplings
    without an estimate, ``n`` those with one; ``rows`` is the mean number of rows used.
    """
    known, order = {}, []
    for method in numbers.methods():
        source = method["id"]
        pairs, resampled = _pairs(numbers, source, target), _resampled_rows(numbers, source, target)
        order += [name for name, _ in pairs if name not in order]
        for name, rate in sorted(pairs, key=lambda pair: (order.index(pair[0]), -pair[1])):
            row = _row(numbers, source, target, name, rate)
            known[source, name, rate] = row | _typical(row, resampled.get((name, rate)))
    return known


def estimators(numbers, source=None):
    """Estimators that gave values, as the protocol lists them: a study goes by the first."""
    known = dict.fromkeys(key[1] for key in _measured(numbers) if source in (None, key[0]))
    return sorted(known, key=lambda name: [*_labels(numbers), name].index(name))


def _labels(numbers):
    """Estimators in print, by name, as the protocol declares them."""
    return (numbers.plan.get("labels") or {}).get("measure") or {}


def estimator_label(numbers, name):
    return _labels(numbers).get(name) or name.replace("_", " ")


def rates(numbers):
    """Keep rates of the study, descending."""
    return sorted({key[2] for key in _measured(numbers)}, reverse=True)


def of(column, relative=False, rate=None):
    """What a column of a sheet shows: a number of the line's policy, estimator and keep rate.

    Without an estimator it is that of the first one, without a rate that on all rows; with
    `relative` it is told relative to the truth. A value that was not made from the whole log is
    that of a typical resampling.
    """

    def value(numbers, line):
        name = line.place.get("measure") or next(iter(estimators(numbers)), "")
        at = rate or line.place.get("keep_rate") or max(rates(numbers), default=1.0)
        row = _measured(numbers).get((line.source, name, at), {})
        columns = [column, "typical"] if column == "value" else [column]
        three = [[row.get(part, math.nan) for part in _names(one)] for one in columns]
        three = next((one for one in three if not math.isnan(one[0])), three[0])
        known = Estimate(three[0], low=three[1], high=three[2], n=row.get("n", 0))
        return known.times(1 / abs(row["truth"])) if relative and row.get("truth") else known

    return value


def apart(first, second):
    """`Estimate` of a difference of two values that have their own intervals.

    Its interval is Zou and Donner's (2008): right where the two are independent, too wide where
    they come from the same rows.
    """
    mean = first.mean - second.mean
    below = math.hypot(first.mean - first.low, second.high - second.mean)
    above = math.hypot(first.high - first.mean, second.mean - second.low)
    return Estimate(mean, low=mean - below, high=mean + above, n=1)


def wilson(share, n, z=1.959963984540054):
    """A share of `n` independent trials with Wilson's 95 % interval."""
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Estimate(share, low=middle - half, high=middle + half, n=n)


# What is said.


def _logged(numbers):
    """Mean reward of the rows of the log."""
    return numbers.get(_LOG, "reward_mean", part="log")


def _policies(numbers):
    if _logged(numbers).known:
        yield Line(_LOG, "The policy that made the log")
    yield from (Line(one["id"], capital(numbers.label(one["id"]))) for one in numbers.methods())


def _value(numbers, line):
    return _logged(numbers) if line.source == _LOG else of("value")(numbers, line)


def answer(numbers):
    """What each policy is worth, whether that is true and beats the log, and what zeros matter."""
    measure, logged, said, cards, points = numbers.measure("value"), _logged(numbers), [], [], []
    for line in _policies(numbers):
        known, note = _value(numbers, line), "Mean reward of its rows."
        if not known.known:
            continue
        if line.source != _LOG:
            note = _true(known, of("truth")(numbers, line), measure)
            by = f", as {estimator_label(numbers, estimators(numbers)[0])} estimates it"
            text = f"{line.label} is worth {in_words(known, measure)} a row"
            said.append(f"{text}{'' if said else by}{_beside(known, logged, measure)}. {note}")
        cards.append(blocks.Card(line.label, *told(known, measure), note))
        mark = "" if line.source == _LOG else "main"
        points.append((line.label, known.times(told_in(measure)[1]), mark))
    if said:
        return Answer(said[0], (*said[1:], *_few_zeros(numbers)), tuple(cards), tuple(points))


def _beside(known, logged, measure):
    """``: more than the 0.0046 [0.0033, 0.0059] that the log itself earned``."""
    if not logged.known:
        return ""
    gap = apart(known, logged)
    word = "more than" if gap.low > 0 else "less than" if gap.high < 0 else "not told apart from"
    return f": {word} the {in_words(logged, measure)} that the log itself earned"


def _true(known, truth, measure):
    """Whether an estimate agrees with the truth."""
    if not truth.known:
        return "Its true value is not known, so nothing can be said about errors."
    gap = apart(known, truth)
    if not gap.bounded:
        return f"The true value is {in_words(truth, measure)}."
    holds = gap.low <= 0 <= gap.high
    if truth.high > truth.low:
        word = "agree" if holds else "do not agree"
        return f"Its own log gave {in_words(truth, measure)}: the two {word}."
    word = "holds" if holds else "misses"
    return f"The interval {word} the true value, {told(truth, measure)[0]}."


def _few_zeros(numbers):
    """What the least keep rate does to the estimators."""
    rate, worst = min(rates(numbers)), {}
    rows = [row for key, row in _measured(numbers).items() if key[2] == rate]
    full = [row for key, row in _measured(numbers).items() if key[2] == max(rates(numbers))]
    for row in rows:
        if row["truth"] and not math.isnan(row["shift"]):
            name = row["estimator"]
            worst[name] = max(worst.get(name, 0.0), abs(row["shift"] / row["truth"]))
    if rate == 1 or not worst:
        return
    left = sum(row["rows"] for row in rows) / sum(row["rows"] for row in full)
    ends = [
        f"{estimator_label(numbers, name)} by at most {percent(worst[name])}"
        for name in dict.fromkeys(pick(worst, key=worst.get) for pick in (min, max))
    ]
    yield (
        f"Of the rows without a reward a share l = {rate:g} leaves {percent(left)} of all rows. On "
        f"average that moves {listing(ends)} of the true value."
    )


def behaviour(numbers):
    """How often the intervals of resamplings hold what they should."""
    column = "coverage_whole" if numbers.measured("covered_whole") else "coverage"
    what = "the value of the log that is resampled" if "_" in column else "the true value"
    for one in numbers.methods():
        lines = [line for line in _lines(numbers, rates(numbers)) if line.source == one["id"]]
        shares = [known for line in lines if (known := _covered(column)(numbers, line)).known]
        if shares:
            ends = dict.fromkeys(
                percent(pick(known.mean for known in shares)) for pick in (min, max)
            )
            right = sum(COVERAGE.judge(known) == "within" for known in shares)
            yield (
                f"{capital(numbers.label(one['id']))}: intervals hold {what} in "
                f"{' to '.join(ends)} of {_resamplings(numbers)}; {right} of {len(shares)} "
                "estimators and rates keep the promised 95 %."
            )


def _resamplings(numbers):
    """``200 parts of the log``."""
    n = max((row["n"] for row in _measured(numbers).values()), default=0)
    way = (numbers.plan.get("protocol") or {}).get("options", {}).get("resample")
    return f"{count(n, 'part' if way == 'split' else 'resampling')} of the log"


# Sheets.


def _lines(numbers, at):
    """A line for each policy and estimator, and keep rate of `at`."""
    several = len(numbers.methods()) > 1
    for one in numbers.methods():
        group = capital(numbers.label(one["id"])) if several else ""
        for name in estimators(numbers, one["id"]):
            for rate in at:
                rated = f", l = {rate:g}" if len(at) > 1 else ""
                place = {"measure": name, "keep_rate": rate}
                yield Line(one["id"], estimator_label(numbers, name) + rated, place, group)
                group = ""


def _gain(numbers, line):
    known = _value(numbers, line), _logged(numbers)
    return Estimate() if line.source == _LOG else apart(*known)


def _off(numbers, line):
    """Estimate minus truth, relative to it."""
    truth = of("truth")(numbers, line)
    return (
        apart(_value(numbers, line), truth).times(1 / abs(truth.mean)) if truth.mean else Estimate()
    )


def _truth(numbers, line):
    truth = of("truth")(numbers, line)
    return truth if truth.high > truth.low else Estimate(truth.mean)


def _covered(column):
    def value(numbers, line):
        known = of(column)(numbers, line)
        return wilson(known.mean, known.n) if known.known else Estimate()

    return value


COVERAGE = Holds(0.95, "Coverage: within where its interval holds the 95 % that is promised.")

VALUES = Sheet(
    "What each policy is worth",
    _policies,
    (
        Column("value", value=_value),
        Column("truth", value=_truth),
        Column(
            "value",
            "Error, % of the truth",
            value=_off,
            measure=_ERROR,
            show="difference",
            bound=Holds(0.0, "Error: within where its interval, with that of the truth, holds 0."),
        ),
        Column("value", "Beyond the log's own", value=_gain, show="difference"),
        Column("effective_rows", value=of("effective_rows"), show="mean"),
        Column("largest_weight", value=of("largest_weight"), show="mean"),
    ),
    first="Policy",
    note=lambda numbers: "".join(
        f"By {estimator_label(numbers, name)} on all rows." for name in estimators(numbers)[:1]
    ),
)


def _by_rate(numbers):
    for rate in rates(numbers):
        label = "All rows" if rate == 1 else f"At l = {rate:g}"
        yield Column("value", label, value=of("value", rate=rate))


RATES = Sheet(
    "The value when only a share l of the rows without a reward is kept",
    lambda numbers: _lines(numbers, rates(numbers)[:1]),
    _by_rate,
    first="Estimator",
    note="From the whole log; where that was not made, from a typical resampling of it.",
)


def _resampled(numbers):
    """Of a bootstrap, intervals are judged by the log that it resamples, not by the truth."""
    zeros = Bound(
        0.01, "Change by rejection: within where at most 1 % of the truth.", absolute=True
    )
    whole = numbers.measured("covered_whole")
    return (
        Column("value", "Rows", value=of("rows"), measure=Measure("", digits=0), show="mean"),
        Column("error", "Mean error", value=of("bias", True), measure=_ERROR, show="difference"),
        Column(
            "subsampling_error",
            "Change by rejection",
            value=of("shift", True),
            measure=_ERROR,
            show="difference",
            bound=zeros,
        ),
        Column("value", "Spread", value=of("spread"), show="mean", term="Sd over resamplings."),
        Column(
            "covered",
            value=_covered("coverage"),
            measure=_SHARE,
            bound=None if whole else COVERAGE,
            label=numbers.measure("covered").label,
        ),
        Column(
            "covered_whole",
            numbers.measure("covered_whole").label,
            value=_covered("coverage_whole"),
            measure=_SHARE,
            bound=COVERAGE,
        ),
        Column("values_missing", "Missing", value=of("missing"), show="mean"),
    )


RESAMPLED = Sheet(
    lambda numbers: f"How the estimates behave over {_resamplings(numbers)}",
    lambda numbers: _lines(numbers, rates(numbers)),
    _resampled,
    first="Estimator",
    note="Errors and changes in % of the true value.",
)

PAGE = StudyPage(answer=answer, sheets=(VALUES, RATES), trust=(behaviour, RESAMPLED))
