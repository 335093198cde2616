"""Pages of studies of logged actions: what policies are worth, by a log of another one."""

import functools
import math

from counterweight.numerics.estimate import normal_interval
from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Holds,
    Line,
    Sheet,
    cards_and_points,
    in_words,
    told,
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


def _row(numbers, source, target, name, rate):
    """The numbers of one estimator at one keep rate, an `Estimate` each; see `measured`."""

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
    ends = (truth.low, truth.high) if truth.bounded else (truth.mean, truth.mean)
    low, high = of_log("whole_low"), of_log("whole_high")
    row = {
        "value": Estimate(of_log("whole_value"), low=low, high=high, n=bias.n),
        "typical": Estimate(values.mean, n=bias.n),
        "truth": Estimate(truth.mean, low=ends[0], high=ends[1], n=bias.n),
        "bias": Estimate(bias.mean, low=bias.low, high=bias.high, n=bias.n),
        "shift": Estimate(shift.mean, low=shift.low, high=shift.high, n=bias.n),
    }
    more = {"spread": values.sd, "missing": of_log("values_missing")}
    more |= {"coverage": known("covered").mean, "coverage_whole": known("covered_whole").mean}
    more |= {metric: of_log(metric) for metric in ("effective_rows", "largest_weight")}
    return row | {column: Estimate(value, n=bias.n) for column, value in more.items()}


@functools.lru_cache(2)
def measured(numbers, target="general"):
    """What is known by ``(method, estimator, keep rate)``, an `Estimate` of each column.

    ``value`` is the estimate from the whole log where it was made at this rate, ``typical`` the
    mean over resamplings with the normal 95 % interval of their root mean square standard error,
    ``truth`` the value that they should find (its interval of width 0 where it is known by
    construction). ``bias`` is the mean over resamplings of estimate minus truth, ``shift`` that of
    estimate minus estimate from all rows of the same resampling, ``spread`` the sd of the
    estimates, ``coverage`` the share of their intervals that hold the truth, ``coverage_whole``
    that hold the value of the whole log (of a bootstrap), ``missing`` the number of resamplings
    without an estimate, the n of all those with one; ``rows`` is the mean number of rows used.
    """
    made, order = {}, []
    for source in numbers.sources:
        pairs = dict.fromkeys(
            (name, rate)
            for metric in ("whole_value", "value")
            for name in numbers.places("measure", source, metric, target)
            for rate in numbers.places("keep_rate", source, metric, target, measure=name)
            if rate >= 0
        )
        rows = numbers.rows(source, "value", target)
        rows = rows.assign(square=rows["standard_error"].astype(float) ** 2)
        resampled = rows.groupby(["measure", "keep_rate"])[["square", "rows"]].mean()
        order += [name for name, _ in pairs if name not in order]
        for name, rate in sorted(pairs, key=lambda pair: (order.index(pair[0]), -pair[1])):
            row = made[source, name, rate] = _row(numbers, source, target, name, rate)
            if (name, rate) in resampled.index:
                square, used = resampled.loc[(name, rate)]
                low, high = normal_interval(row["typical"].mean, math.sqrt(square))
                row["typical"] = row["typical"]._replace(low=low, high=high)
                row["rows"] = Estimate(used, n=row["bias"].n)
    return made


def estimators(numbers, source=None):
    """Estimators that gave values, as the protocol lists them: a study goes by the first."""
    known = dict.fromkeys(key[1] for key in measured(numbers) if source in (None, key[0]))
    listed = list((numbers.plan.get("labels") or {}).get("measure") or {})
    return sorted(known, key=lambda name: [*listed, name].index(name))


def rates(numbers):
    """Keep rates of the study, descending."""
    return sorted({key[2] for key in measured(numbers)}, reverse=True)


def of(column, relative=False, rate=None):
    """What a column of a sheet shows: a number of the line's policy, estimator and keep rate.

    Without an estimator it is that of the first one, without a rate that on all rows; with
    `relative` it is told relative to the truth. A value that was not made from the whole log is
    that of a typical resampling.
    """

    def value(numbers, line):
        name = line.place.get("measure") or next(iter(estimators(numbers)), "")
        at = rate or line.place.get("keep_rate") or max(rates(numbers), default=1.0)
        row = measured(numbers).get((line.source, name, at), {})
        known = row.get(column, Estimate())
        if column == "value" and not known.known:
            known = row.get("typical", known)
        truth = row["truth"].mean if relative and row else 0
        return known.times(1 / abs(truth)) if truth else known

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
    yield from (Line(source, capital(numbers.label(source))) for source in numbers.sources)


def _value(numbers, line):
    return _logged(numbers) if line.source == _LOG else of("value")(numbers, line)


def answer(numbers):
    """What each policy is worth, whether that is true and beats the log, and what zeros matter."""
    measure, logged, said, shown = numbers.measure("value"), _logged(numbers), [], []
    for line in _policies(numbers):
        known, note, own = _value(numbers, line), "Mean reward of its rows.", line.source == _LOG
        if known.known and not own:
            note = _true(known, of("truth")(numbers, line), measure)
            by = "" if said else f", as {numbers.named(estimators(numbers)[0])} estimates it"
            text = f"{line.label} is worth {in_words(known, measure)} a row{by}"
            if logged.known:
                gap = apart(known, logged)
                word = "more than" if gap.low > 0 else "less than" if gap.high < 0 else ""
                word = word or "not significantly different from"
                text += f": {word} the {in_words(logged, measure)} that the log itself earned"
            said.append(f"{text}. {note}")
        shown.append((line.label, known, note, not own))
    if said:
        more = (*said[1:], *_few_zeros(numbers))
        return Answer(said[0], more, *cards_and_points(shown, measure))


def _true(known, truth, measure):
    """Whether an estimate agrees with the truth."""
    if (known.low, known.high) == (0.0, 1.0):
        return "Its interval is all that a share can be: this log does not tell it."
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
    made, rate, worst = measured(numbers), min(rates(numbers)), {}
    few, full = (
        {key: row for key, row in made.items() if key[2] == at}
        for at in (rate, max(rates(numbers)))
    )
    for (_, name, _), row in few.items():
        if row["truth"].mean and row["shift"].known:
            shift = abs(row["shift"].mean / row["truth"].mean)
            worst[name] = max(worst.get(name, 0.0), shift)
    if rate == 1 or not worst:
        return
    left, whole = (sum(row["rows"].mean for row in rows.values()) for rows in (few, full))
    ends = dict.fromkeys(pick(worst, key=worst.get) for pick in (min, max))
    ends = [f"{numbers.named(name)} by at most {percent(worst[name])}" for name in ends]
    yield (
        f"Of the rows without a reward a share l = {rate:g} leaves {percent(left / whole)} of all "
        f"rows. On average that moves {listing(ends)} of the true value."
    )


def behaviour(numbers):
    """How often the intervals of resamplings hold what they should."""
    whole = numbers.measured("covered_whole")
    what = "the value of the log that is resampled" if whole else "the true value"
    covered = _covered("coverage_whole" if whole else "coverage")
    for source in numbers.sources:
        lines = [line for line in _lines(numbers, rates(numbers)) if line.source == source]
        shares = [known for line in lines if (known := covered(numbers, line)).known]
        if shares:
            means = [known.mean for known in shares]
            ends = dict.fromkeys(map(percent, (min(means), max(means))))
            limit = COVERAGE.limit
            kept = sum(one.high >= limit for one in shares)
            wide = sum(one.low > limit for one in shares)
            more = f", {wide} by intervals that are wider than that takes" if wide else ""
            yield (
                f"{capital(numbers.label(source))}: intervals hold {what} in "
                f"{' to '.join(ends)} of {_resamplings(numbers)}; {kept} of {len(shares)} "
                f"estimators and rates keep the promised 95 %{more}."
            )


def _resamplings(numbers):
    """``200 parts of the log``."""
    n = max((row["bias"].n for row in measured(numbers).values()), default=0)
    split = numbers.protocol.get("resample") == "split"
    return f"{count(n, 'part' if split else 'resampling')} of the log"


# Sheets.


def _lines(numbers, at):
    """A line for each policy and estimator, and keep rate of `at`."""
    several = len(numbers.sources) > 1
    for source in numbers.sources:
        group = capital(numbers.label(source)) if several else ""
        for name in estimators(numbers, source):
            for rate in at:
                label = numbers.named(name) + (f", l = {rate:g}" if len(at) > 1 else "")
                yield Line(source, label, {"measure": name, "keep_rate": rate}, group)
                group = ""


def _gain(numbers, line):
    own = line.source == _LOG
    return Estimate() if own else apart(_value(numbers, line), _logged(numbers))


def _off(numbers, line):
    """Estimate minus truth, relative to it."""
    truth = of("truth")(numbers, line)
    gap = apart(_value(numbers, line), truth)
    return gap.times(1 / abs(truth.mean)) if truth.mean else Estimate()


def _truth(numbers, line):
    truth = of("truth")(numbers, line)
    return truth if truth.high > truth.low else Estimate(truth.mean)


def _covered(column):
    def value(numbers, line):
        known = of(column)(numbers, line)
        return wilson(known.mean, known.n) if known.known else Estimate()

    return value


COVERAGE = Holds(0.95, "Coverage: pass where its interval holds the 95 % that is promised.")

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
            bound=Holds(0.0, "Error: pass where its interval, with that of the truth, holds 0."),
        ),
        Column("value", "Beyond the log's own", value=_gain, show="difference"),
        Column("effective_rows", value=of("effective_rows"), show="mean"),
        Column("largest_weight", value=of("largest_weight"), show="mean"),
    ),
    first="Policy",
    note=lambda numbers: "".join(
        f"By {numbers.named(name)} on all rows." for name in estimators(numbers)[:1]
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
    says = "Change by rejection: pass where at most 1 % of the truth."
    yield Column("value", "Rows", value=of("rows"), measure=Measure("", digits=0), show="mean")
    for metric, label, column, bound in (
        ("error", "Mean error", "bias", None),
        ("subsampling_error", "Change by rejection", "shift", Bound(0.01, says, absolute=True)),
    ):
        style = {"measure": _ERROR, "show": "difference", "bound": bound}
        yield Column(metric, label, value=of(column, True), **style)
    yield Column("value", "Spread", value=of("spread"), show="mean", term="Sd over resamplings.")
    whole = numbers.measured("covered_whole")
    for end, bound in (("", None if whole else COVERAGE), ("_whole", COVERAGE)):
        label, value = numbers.measure(f"covered{end}").label, _covered(f"coverage{end}")
        yield Column(f"covered{end}", label, value=value, measure=_SHARE, bound=bound)
    yield Column("values_missing", "Missing", value=of("missing"), show="mean")


RESAMPLED = Sheet(
    lambda numbers: f"How the estimates behave over {_resamplings(numbers)}",
    lambda numbers: _lines(numbers, rates(numbers)),
    _resampled,
    first="Estimator",
    note="Errors and changes in % of the true value.",
)

PAGE = StudyPage(answer=answer, sheets=(VALUES, RATES), trust=(behaviour, RESAMPLED))
