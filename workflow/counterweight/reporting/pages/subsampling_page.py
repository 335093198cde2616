"""Pages of studies that train on, buy, or measure on a part of the rows only."""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.logs_page import COVERAGE
from counterweight.reporting.pages.selection_page import COMPARED, fits, kept, results_sheet, sizes
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Sheet,
    cards_and_points,
    each_method,
    each_setting,
    in_words,
)
from counterweight.reporting.study_page import (
    Answer,
    StudyPage,
    difference_in_words,
    doubt_of_single,
    of_methods,
    plain_answer,
)
from counterweight.reporting.wording import Measure, capital, listing, number, percent
from counterweight.tables.parquet import numbers_of, setting_options

#: The rate of which an answer speaks: the nearest to it that a study has.
_HARSH = 0.01
#: What a way may cost, relative to all rows.
_SAFE = 0.01
_COST = Measure("cost", "relative")
_SHARE = Measure("share", "share", digits=1, percent=True)


# Training on rows that lost zeros.


class Fit(NamedTuple):
    """A method at one keep rate; `way` is its correction."""

    source: str
    setting: str
    rate: float | str
    learner: str
    way: str

    @property
    def rated(self):
        """Whether it lost rows at a rate that is known beforehand."""
        return not isinstance(self.rate, str) and self.rate < 1


@functools.lru_cache(2)
def trained(numbers):
    """`Fit` of each method that says how it learns from which zero rows, by its options."""
    made = []
    for one in numbers.methods():
        for setting in numbers.settings(one["id"], numbers.headline):
            at = one["options"] | setting_options(setting)
            if {"keep_rate", "learner", "correction"} <= at.keys():
                parts = (at["keep_rate"], at["learner"], at["correction"])
                made.append(Fit(one["id"], setting, *parts))
    return made


def on_all_rows(numbers, learner):
    """The `Fit` of a learner on all rows that corrects nothing; or None."""
    same = [fit for fit in trained(numbers) if fit.learner == learner and fit.rate == 1]
    return next((fit for way in ("none", "weights") for fit in same if fit.way == way), None)


def level(numbers, fit, metric=None):
    metric = metric or numbers.headline
    return numbers.get(fit.source, metric, setting=fit.setting) if fit else Estimate()


@functools.lru_cache(256)
def cost(numbers, fit, relative=True):
    """What a fit loses on the same learner on all rows, relative to it or as a difference."""
    metric, full = numbers.headline, on_all_rows(numbers, fit.learner)
    if full is None:
        return Estimate()
    mine, base = (numbers.values(one.source, metric, setting=one.setting) for one in (fit, full))
    sign = 1 if numbers.measure(metric).better == "less" else -1
    gap = numbers.difference(mine, base)
    return gap.times(sign / abs(base.mean())) if relative else gap


def _costs(numbers):
    if not trained(numbers):
        return
    metric, learners = numbers.headline, {fit.source: fit.learner for fit in trained(numbers)}

    def full(numbers, line):
        return level(numbers, on_all_rows(numbers, learners[line.source]))

    yield Column(metric, f"{numbers.measure(metric).label} on all rows", value=full)
    for rate in sorted({fit.rate for fit in trained(numbers) if fit.rated}, reverse=True):

        def value(numbers, line, rate=rate):
            mine = (fit for fit in trained(numbers) if fit.source == line.source)
            return next((cost(numbers, fit) for fit in mine if fit.rate == rate), Estimate())

        bound = Bound(_SAFE, "Cost: pass where at most 1 % worse than on all rows.")
        style = {"measure": _COST, "show": "difference", "bound": bound}
        yield Column(metric, f"At l = {rate:g}", value=value, **style)


COSTS = Sheet(
    "What training on fewer zero rows costs",
    lambda numbers: [
        Line(source, numbers.label(source))
        for source in dict.fromkeys(fit.source for fit in trained(numbers) if fit.rated)
    ],
    _costs,
    note="In % of what the same learner has on all rows.",
    fold=False,
)


def _tops(numbers):
    metric = "predicted_over_observed"
    parts = {part for one in numbers.sources for part in numbers.places("part", one, metric)}
    for share, part in sorted(((float(part.split()[-1]), part) for part in parts), reverse=True):
        name = f"Highest {100 * share:g} %" if share < 1 else "All rows"
        yield Column(metric, name, place={"part": part})


TOPS = Sheet(
    "Mean prediction over the share of positives",
    each_setting,
    _tops,
    note="Among the rows of the highest predictions; 1 is right.",
    best=False,
    fold=True,
)


def _best(numbers, entries, metric):
    """The best of entries whose first part is an `Estimate`."""
    known = [entry for entry in entries if entry[0].known]
    pick = max if numbers.measure(metric).better == "more" else min
    return pick(known, key=lambda entry: entry[0].mean) if known else None


def training_answer(numbers):
    """How many zero rows can be dropped; the best way and the main one at a harsh rate."""
    lost = [fit for fit in trained(numbers) if fit.rated and cost(numbers, fit).known]
    if not lost:
        return None
    metric, measure = numbers.headline, numbers.measure(numbers.headline)
    harsh = min((fit.rate for fit in lost), key=lambda rate: (abs(math.log(rate / _HARSH)), rate))
    ways = [(level(numbers, fit), fit) for fit in lost if fit.rate == harsh]
    first = _best(numbers, ways, metric)[1]
    shown = dict.fromkeys([first, *(fit for _, fit in ways if numbers.main == fit.source)])
    said = [_fit_in_words(numbers, fit, measure) for fit in shown]
    few, all_rows = (
        level(numbers, fit, "rows_trained").mean
        for fit in (first, on_all_rows(numbers, first.learner))
    )
    fewer = f"{number(few, 0)} instead of {number(all_rows, 0)}" if few < all_rows else "fewer"
    said[0] = f"Trained on {fewer} rows (l = {harsh:g}), {said[0]}"
    cards = of_methods(numbers, [fit.source for fit in shown], metric, setting=first.setting)
    zeros = f"the rows without {numbers.plan.get('outcome') or 'the outcome'}"
    safe = _safe(numbers, lost)
    if not safe:
        lead = (
            f"No way stays within {percent(_SAFE, 0)} of the {measure.label} on all rows once "
            f"{percent(1 - max(fit.rate for fit in lost))} of {zeros} are dropped."
        )
        return Answer(lead, map(capital, said), *cards)
    most = min(safe, key=lambda fit: (fit.rate, cost(numbers, fit).mean))
    # The chart is of what the first sentence says: the way that is named, and the same on all rows.
    name, whole = numbers.label(most.source), on_all_rows(numbers, most.learner)
    drawn = [(name, level(numbers, most), "", True)]
    drawn += [("the same on all rows", level(numbers, whole), "", False)]
    points = cards_and_points(drawn, measure)[1]
    lead = (
        f"With {name}, {percent(1 - most.rate)} of {zeros} can be dropped "
        f"(l = {most.rate:g}) before the {measure.label} is more than "
        f"{percent(_SAFE, 0)} worse than on all rows: it is "
        f"{in_words(level(numbers, most), measure)} "
        f"({in_words(Estimate(cost(numbers, most).mean), _COST, True)})."
    )
    last = listing(f"{numbers.label(fit.source)} to l = {fit.rate:g}" for fit in safe)
    last = f"On average within {percent(_SAFE, 0)} of all rows: {last}."
    return Answer(lead, (*map(capital, said), last), cards[0], points)


def _fit_in_words(numbers, fit, measure):
    """What a fit has, and how much that is from the same learner on all rows."""
    return (
        f"{numbers.label(fit.source)} has a {measure.label} of "
        f"{in_words(level(numbers, fit), measure)}, "
        f"{difference_in_words(cost(numbers, fit, False), measure)} the same learner on all rows "
        f"({in_words(Estimate(cost(numbers, fit).mean), _COST, True)})."
    )


def _safe(numbers, lost):
    """The `Fit` of each way at the least rate down to which it is safe, at all milder rates too."""
    safe, failed = {}, set()
    for fit in sorted(lost, key=lambda fit: -fit.rate):
        if cost(numbers, fit).mean > _SAFE:
            failed.add(fit.source)
        elif fit.source not in failed:
            safe[fit.source] = fit
    return list(safe.values())


# A budget of training rows.


def bought(numbers):
    """Lines of methods with a budget of training rows, and of each setting of their sweeps."""
    return [
        line for line in each_setting(numbers) if "budget" in numbers.method(line.source)["options"]
    ]


def _named(numbers, line):
    return numbers.label(line.source, line.place.get("setting", ""))


def _budget_columns(numbers):
    first, *others = numbers.plan["columns"]
    yield from (Column(first, show="sd"), Column(first, show="difference"))
    yield from (Column(metric, show="sd") for metric in others)
    yield Column("rows_bought", show="mean")
    yield Column("chosen_share", "Share of positives", show="mean", measure=_SHARE)


BUDGET = Sheet("What was bought, and what it gave", bought, _budget_columns, fold=False)


def budget_answer(numbers):
    """The best way to spend a budget, by each of the first two measures of the study."""
    lines, said, sources = bought(numbers), [], {}
    for metric in numbers.plan["columns"][:2] if lines else ():
        measure, inside, beyond = numbers.measure(metric), [], []
        for line in lines:
            rows = numbers.get(line.source, "rows_bought", **line.place).mean
            over = rows > numbers.method(line.source)["options"]["budget"]
            known = numbers.get(line.source, metric, **line.place)
            (beyond if over else inside).append((known, line))
        best = _best(numbers, inside, metric)
        if best is None:
            continue
        known, line = best
        share = numbers.get(line.source, "chosen_share", **line.place)
        what = f"{_named(numbers, line)} is best"
        told = share.known and not line.place  # a setting says it
        what += f", with {percent(share.mean)} positives" if told else ""
        text = f"by {measure.label}, {what}: {in_words(known, measure)}"
        if numbers.baseline and line.source != numbers.baseline:
            gap = numbers.against(numbers.baseline, line.source, metric, **line.place)
            text += f", {difference_in_words(gap, measure)} {numbers.label(numbers.baseline)}"
        whole = _best(numbers, beyond, metric)
        if whole:
            text += f". Beyond the budget, {_named(numbers, whole[1])} has "
            text += in_words(whole[0], measure)
        said.append(f"{text}.")
        sources |= {one.source: 0 for one in (line, *(whole or ())[1:]) if not one.place}
    if not said:
        return None
    sources = {numbers.baseline: 0, **sources} if numbers.baseline else sources
    rows = number(numbers.method(lines[0].source)["options"]["budget"], 0)
    cards = of_methods(numbers, sources, numbers.headline)
    return Answer(f"With {rows} training rows, {said[0]}", tuple(map(capital, said[1:])), *cards)


def spent(numbers):
    """Whether anything was bought beyond a budget."""
    lines = bought(numbers)
    over = [
        f"{_named(numbers, line)} ({(excess > 0).sum()} of {len(excess)} fits)"
        for line in lines
        if ((excess := numbers.values(line.source, "budget_excess", **line.place)) > 0).any()
    ]
    if lines:
        yield f"More rows than the budget: {listing(over)}." if over else "No budget was exceeded."


# Measures on a part of the test rows.


def _parts(numbers):
    """A line for each class of which rows were kept, and rate; all rows once."""
    for one in numbers.methods():
        labels = set()
        for part in numbers.places("part", one["id"], "auc_bias"):
            for rate in numbers.places("keep_rate", one["id"], "auc_bias", part=part):
                label = f"{capital(part)} at l = {rate:g}" if rate > 0 else capital(part)
                label = "All rows" if rate == 1 else label
                if label not in labels:
                    yield Line(one["id"], label, {"part": part, "keep_rate": rate})
                labels.add(label)


AUCS = Sheet(
    "The AUC of one ranking, measured on a part of the test rows",
    _parts,
    (
        Column(
            "auc_bias",
            "Bias, points",
            value=lambda numbers, line: numbers.get(line.source, "auc_bias", **line.place),
            show="difference",
            bound=Bound(0.005, "Bias: pass where at most 0.5 points.", absolute=True),
        ),
        Column("auc_spread", show="mean"),
        Column("auc_covered", measure=_SHARE, label="Coverage", bound=COVERAGE),
    ),
    first="Rows kept",
    fold=False,
)


def _draws(numbers):
    """A line for each number of rows drawn and share of positives."""
    for one in numbers.methods():
        for setting in numbers.settings(one["id"], "auc_deviation"):
            rows, share = numbers_of(setting).values()
            label = f"{number(rows, 0)} rows, {percent(share)} positives"
            yield Line(one["id"], label, {"setting": setting})


def _deviations(numbers):
    names = ("auc_deviation", "auc_deviation_quantile", "agarwal_bound")
    yield from (Column(metric, show="mean") for metric in names)
    delta = numbers.protocol.get("delta")
    says = f"Beyond the bound: pass where at most {percent(delta, 0)} of the resamples."
    yield Column(
        "bound_violated", "Beyond the bound", measure=_SHARE, bound=delta and Bound(delta, says)
    )


DEVIATIONS = Sheet(
    "The AUC of a few rows, by how they are drawn", _draws, _deviations, "Rows drawn", fold=True
)


def ranking_answer(numbers):
    """What is lost by measuring the AUC on few of the rows."""
    lines = [line for line in _parts(numbers) if 0 < line.place["keep_rate"] < 1]
    lines = [line for line in lines if line.place["part"] == lines[0].place["part"]]
    if not lines:
        return None
    line = min(lines, key=lambda line: line.place["keep_rate"])
    bias, spread, covered = (
        numbers.get(line.source, f"auc_{what}", **line.place)
        for what in ("bias", "spread", "covered")
    )
    text = (
        f"With {line.place['part']} kept at l = {line.place['keep_rate']:g}, the measured AUC of "
        f"{numbers.label(line.source)} has a bias of "
        f"{in_words(bias, numbers.measure('auc_bias'), True)} points and a spread of "
        f"{number(100 * spread.mean, 1)} points"
    )
    if covered.known:
        text += f"; {percent(covered.mean)} of its 95 % intervals hold that of all rows"
    more, draws, worst = [], {}, []
    for one in _draws(numbers):
        rows, share = numbers_of(one.place["setting"]).values()
        known = numbers.get(one.source, "auc_deviation", **one.place)
        draws.setdefault(rows, []).append((known.mean, share))
        worst.append(numbers.get(one.source, "bound_violated", **one.place).mean)
    for rows, known in draws.items():
        least, share = min(known)
        more.append(
            f"Of {number(rows, 0)} rows, it is best to have {percent(share, 0)} positives: the AUC "
            f"is then {number(100 * least, 1)} points off on average."
        )
    if worst:
        share = f"At most {percent(max(worst))}" if max(worst) else "None"
        more.append(f"{share} of the resamples are beyond the Agarwal bound.")
    return Answer(f"{text}.", more, *of_methods(numbers, [line.source], "auc"))


# The page.


def chances_answer(numbers):
    """Of one's own log that dropped zeros: how many ones it had, and how good the chances are."""
    share, metric = numbers.get("labels", "positive_share", part="all"), numbers.headline
    main = numbers.delivered[0] or numbers.main
    if not (own(numbers) and share.known and main and numbers.get(main, metric).known):
        return None
    measure, known = numbers.measure(metric), numbers.get(main, metric)
    others = [one for one in numbers.sources if one != main and numbers.get(one, metric).known]
    beside = listing(
        f"those of {numbers.label(one)} {in_words(numbers.get(one, metric), measure)}"
        for one in others
    )
    text = (
        "Of all rows of the log, those that were dropped included, "
        f"{in_words(share, numbers.measure('positive_share'))} have "
        f"{numbers.plan['outcome']}; on rows held out the chances of {numbers.label(main)} have "
        f"{measure.label} {in_words(known, measure)}"
    )
    todo = ["Take the chance of each row from scores.csv, and name new rows under score."]
    for one in others:
        if numbers.get(one, metric).ends[0] > known.mean and measure.better == "more":
            todo.append(
                f"{numbers.label(one)} has the better {measure.label} here: study: {{deliver: "
                f"{{method: {one}}}}} gives its chances instead."
            )
    text += f", {beside}." if beside else "."
    doubt, shown = doubt_of_single(metric, known, measure), [main, *others]
    answer = Answer(text, (), *of_methods(numbers, shown, metric), todo=tuple(todo[::-1]))
    return replace(answer, warning=doubt)


def own(numbers):
    return numbers.plan["source"] == "own"


def question(numbers):
    """What is asked of one's own log; studies have a question of their own."""
    return f"How likely is {numbers.plan['outcome']} in a row?" if own(numbers) else ""


def answer(numbers):
    """Of each part that the study has; else the main method against the baseline."""
    parts = (chances_answer, ranking_answer, training_answer, budget_answer)
    made = [part(numbers) for part in parts]
    first, *rest = [part for part in made if part] or [plain_answer(numbers)]
    if first is None:
        return None
    more = [text for part in rest for text in (part.sentence, *part.more)]
    return replace(first, more=(*first.more, *more, *kept(numbers)))


def _by_setting(numbers):
    metrics = (*numbers.plan["columns"], "rows_trained") if trained(numbers) else ()
    return [Column(metric, show="sd") for metric in metrics]


PAGE = StudyPage(
    answer=answer,
    question=question,
    sheets=(
        *(AUCS, COSTS, TOPS, COMPARED, BUDGET),
        replace(
            results_sheet("general"),
            lines=lambda numbers: [] if bought(numbers) else each_method(numbers),
        ),
    ),
    trust=(spent, fits, sizes),
    details=(
        DEVIATIONS,
        Sheet("Every measure at every rate", each_setting, _by_setting, fold=True),
    ),
)
