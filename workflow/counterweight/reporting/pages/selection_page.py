"""Pages of studies of labels that are seen of a selected part only (and of any classifier)."""

import math
from dataclasses import replace

from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.pages.trust import (
    BY_GAMMA,
    SELECTORS,
    SHARE,
    WEIGHTS,
    fits,
    how_wrong,
    mean_column,
)
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Sheet,
    each_method,
    each_setting,
    gap_in_words,
)
from counterweight.reporting.study_page import StudyPage, plain_answer, recovered
from counterweight.reporting.wording import TARGETS, Measure, capital, listing, number, percent

#: Metrics that a results table shows where the plan does not name them; the first is the headline.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")
#: Rates of decisions, in words.
RATES = {"recall": "recall", "false_positive_rate": "false positive rate"}
RATES |= {"precision": "precision", "error": "error", "coverage": "share of yes", "value": "value"}


def table(numbers, target, reason_of):
    """The results of a study on one target: `counterweight.reporting.numbers.results_table`.

    Methods with a sweep are left out where the study draws the sensitivity figure, which shows
    them all.
    """
    hidden = "sensitivity" in numbers.plan["figures"]
    methods = [one["id"] for one in numbers.methods() if not (hidden and one["sweep"])]
    metrics = tuple(numbers.plan["columns"] or COLUMNS)
    return results_table(numbers, (target,), reason_of, metrics, methods)


def answer(numbers):
    """What the main method changes, and how much of what hidden labels would give that is."""
    metric, made = numbers.headline, plain_answer(numbers)
    if made is None:
        return None
    more, target = list(made.more), numbers.plan["targets"][0]
    if first := made_up_for(numbers, metric, target):
        made, more = replace(made, sentence=first), [made.sentence, *more]
    # What a constant answer would score is the floor under every accuracy.
    share = numbers.get("labels", "positive_share", target, part="target").mean
    if metric == "accuracy" and not math.isnan(share):
        word, score = "yes" if share > 0.5 else "no", percent(max(share, 1 - share))
        more.append(f"Always answering “{word}” would score {score}.")
    return replace(made, more=(*more, *kept(numbers)))


def made_up_for(numbers, metric, target):
    """How much of what selection takes the main method makes up for, and which other does most.

    "" where hidden labels add nothing beyond chance, or the main method is not the baseline's model
    with weights: then something else is asked.
    """
    main, baseline = numbers.main, numbers.baseline
    if None in (main, baseline) or not numbers.method(main)["weights"]:
        return ""
    if numbers.method(main)["model"] != numbers.method(baseline)["model"]:
        return ""
    share, gap = recovered(numbers, metric, target)
    if math.isnan(share):
        return ""
    measure = numbers.measure(metric)
    others = {
        one["id"]: recovered(numbers, metric, target, one["id"])[0]
        for one in numbers.methods(swept=False)
        if one["id"] not in (main, baseline) and not numbers.sees_hidden(one["id"])
    }
    others = {name: value for name, value in others.items() if not math.isnan(value)}
    best = max(others, key=others.get, default=None)

    def of_it(name, value):
        own = gap_in_words(numbers.against(baseline, name, metric, target), measure)
        return f"{percent(value, 0) if value > 0 else 'nothing'} ({own})"

    said = (
        f"Of what hidden labels would add to the {measure.label} on {TARGETS.get(target, target)}, "
        f"{gap_in_words(gap, measure)}, {numbers.label(main)} makes up for {of_it(main, share)}"
    )
    if best and others[best] > share:
        said += (
            f"; of all that see no hidden label {numbers.label(best)} came out best: "
            f"{of_it(best, others[best])}"
        )
    return said + "."


def results_sheet(target):
    """Every method on one target, by the study's columns, with differences from the baseline."""

    def columns(numbers):
        first, *others = numbers.plan["columns"] or COLUMNS

        def gained(numbers, line):
            bound = numbers.role(line.source) == "bound"
            if line.place or bound or line.source == numbers.baseline:
                return Estimate()
            return Estimate(mean=recovered(numbers, first, target, line.source)[0])

        yield Column(first, target=target, show="sd")
        yield Column(first, target=target, show="difference")
        yield Column(
            first,
            "Recovered",
            target,
            show="mean",
            value=gained,
            measure=SHARE,
            term="Share of what the hidden labels would gain over the baseline that the "
            "method gains without them.",
        )
        yield Column(first, "In print", target=target, show="printed")
        yield from (Column(metric, target=target, show="sd") for metric in others)

    def caption(numbers):
        titles = {entry["target"]: entry["title"] for entry in numbers.plan["tables"]}
        return titles.get(target) or f"Every method on {TARGETS.get(target, target)}"

    return Sheet(caption, each_method, columns)


def missing_at_random(numbers):
    """What hidden labels say of weights: a bound of the main method's model against it.

    That hidden labels help no more than weights does not show that labels are missing at random:
    where they are not, decisions may stay what they are, and chances be wrong. So nothing is said
    of it then.
    """
    metric, main = numbers.headline, numbers.main
    if metric is None or main is None or not numbers.method(main)["weights"]:
        return
    model, measure = numbers.method(main)["model"], numbers.measure(metric)
    for one in numbers.methods(swept=False):
        if numbers.role(one["id"]) == "bound" and one["model"] == model and not one["weights"]:
            break
    else:
        return
    gap = numbers.against(main, one["id"], metric, numbers.plan["targets"][0])
    size = f"{measure.label}: {gap_in_words(gap, measure)}"
    if gap.bounded and (gap.low > 0 if measure.better != "less" else gap.high < 0):
        yield (
            f"Seeing the hidden labels helps beyond what weights repair ({size}). Labels that "
            "are missing not at random do that, and so do a wrong selection model and, to a "
            "lesser extent, the fewer rows that weights leave."
        )
    elif gap.bounded:
        yield (
            f"Seeing the hidden labels does not help beyond what weights repair, as far as "
            f"these splits tell ({size}). That does not show that labels are missing at random."
        )


def sizes(numbers):
    """How many rows stand behind the numbers."""
    parts = []
    for kind in ("labeled", "unlabeled", "test"):
        known = [numbers.get("labels", f"rows_{kind}", target).mean for target in ("", "general")]
        known = next((one for one in known if not math.isnan(one)), 0)
        parts += [f"{number(known, 0)} {kind}"] if known else []
    if parts:
        splits = numbers.plan["repeats"]
        where = "one random split" if splits == 1 else f"each of {splits} random splits"
        yield f"{capital(listing(parts))} rows in {where}."


def kept(numbers):
    """That test rows lost zeros, and what is left of them."""
    rate = numbers.plan.get("keep_rate") or 1.0
    if rate < 1:
        worth = numbers.get(numbers.main or "", "effective_rows").mean
        left = f" They are worth {number(worth, 0)} rows of equal weight."
        yield (
            f"Of the test rows of outcome zero only a share l = {rate:g}, drawn at random, is "
            f"left; each counts {number(1 / rate, 0)} times.{'' if math.isnan(worth) else left}"
        )


# What a study says of two methods on the same test rows, by segment too.


_PAIRED = "paired_difference"


def _compared_lines(numbers):
    """A line for each method and setting that was compared, and one for each segment."""
    for line in each_setting(numbers):
        label = numbers.label(line.source, line.place.get("setting", ""))
        for measure in numbers.places("measure", line.source, _PAIRED, **line.place)[:1]:
            yield Line(line.source, label, line.place)
            place = line.place | {"measure": measure}
            for part in filter(None, numbers.places("part", line.source, _PAIRED, **place)):
                yield Line(line.source, f"{capital(label)}: {part}", line.place | {"part": part})


def _compared_columns(numbers):
    lines = list(each_setting(numbers))
    seen = [
        numbers.places("measure", one.source, _PAIRED, **{"setting": "", **one.place})
        for one in lines
    ]
    for name in dict.fromkeys(sum(seen, [])):
        yield gap_column(
            name, lambda numbers, line, name=name: _compared(numbers, line, name), numbers
        )


def _compared(numbers, line, name):
    return numbers.get(line.source, _PAIRED, **line.place | {"measure": name})


def gap_column(metric, value, numbers):
    """A column of paired differences in a metric."""
    measure = numbers.measure(metric)
    return Column(metric, capital(measure.label), show="difference", value=value, measure=measure)


def _compared_caption(numbers):
    other = numbers.protocol.get("against", "")
    return f"Against {numbers.label(other)}, on the same rows" if other else ""


def _compared_note(numbers):
    several = any(line.place.get("part") for line in _compared_lines(numbers))
    all_at_once = "Intervals of segments hold all at once (Bonferroni)." if several else ""
    return f"Paired differences. {all_at_once}"


COMPARED = Sheet(
    _compared_caption, _compared_lines, _compared_columns, note=_compared_note, best=False
)


# What tilts rest on: delta, the rate that follows, and what contradicts its assumptions.


#: Share of the gap of feature means that may be left where features given the label are alike.
LEFT = 0.25


def _tilt_target(numbers):
    """The population whose labels are looked at: the unlabeled, where they are one."""
    targets = numbers.plan["targets"]
    return "unlabeled" if "unlabeled" in targets else targets[0]


def _tilted(numbers):
    """Methods that say by how much they move the log odds."""
    return [line for line in each_method(numbers) if len(numbers.rows(line.source, "gap_left"))]


def _tilt_error(numbers, line):
    rows = numbers.rows(line.source, "delta", _tilt_target(numbers))
    return Estimate(mean=float(rows["standard_error"].mean())) if len(rows) else Estimate()


def _hidden_rate(numbers, line):
    return numbers.get("labels", "positive_share", "unlabeled", part="target")


def _tilt_columns(numbers):
    target = _tilt_target(numbers)
    yield Column("delta", "Delta", target, show="sd")
    yield mean_column(
        "delta",
        "Standard error",
        _tilt_error,
        Measure("standard error", "", "", 2),
        term="Of one split, from both samples; it takes the assumptions for granted.",
    )
    yield Column("rate_unlabeled", "Estimated rate", target, show="sd")
    yield mean_column(
        "rate_unlabeled",
        "Hidden rate",
        _hidden_rate,
        numbers.measure("rate_unlabeled"),
        term="Share of positives among the unlabeled rows, which no method sees.",
    )
    bound = Bound(LEFT, "Features given the label alike: at most a quarter of the gap left.")
    yield Column("gap_left", "Gap of features left", target, show="sd", bound=bound)


#: One line a tilted method.
TILTS = Sheet("What the tilts rest on", _tilted, _tilt_columns, fold=False, best=False)


def assumptions(numbers):
    """What a tilt assumes, twice over, and what the features say of the second."""
    lines, target = _tilted(numbers), _tilt_target(numbers)
    if not lines:
        return
    yield (
        "A tilt assumes that, at equal features, the odds of unlabeled rows are those of labeled "
        "ones times one number (its logarithm is δ); no data can "
        "check that."
    )
    estimated = [
        line for line in lines if numbers.get(line.source, "label_shift_assumed", target).mean > 0
    ]
    if not estimated:
        return
    left = [numbers.get(line.source, "gap_left", target).mean for line in estimated]
    yield (
        "Where δ is estimated "
        f"({listing(line.label for line in estimated)}), it is also assumed that features given "
        "the label are distributed alike in both; without that no data identify it, and where "
        "labels are missing at random, which means δ = 0, it comes out "
        "wrong."
    )
    spread = " to ".join(dict.fromkeys(percent(end, 0) for end in (min(left), max(left))))
    verdict = (
        "so that assumption does not hold here: what such a tilt gains it gains without it"
        if min(left) > LEFT
        else "which speaks for that assumption and proves nothing"
    )
    yield f"Of the gap of feature means, {spread} is left after tilting, {verdict}."


PAGE = StudyPage(
    answer=answer,
    sheets=(results_sheet("general"), results_sheet("unlabeled"), COMPARED),
    trust=(
        *(missing_at_random, TILTS, assumptions, how_wrong, BY_GAMMA, WEIGHTS, SELECTORS),
        *(fits, sizes),
    ),
)


def _ahead(numbers):
    for one in numbers.sources:
        if numbers.get("collect", "planned_auc", "unlabeled", part=one).known:
            yield Line("collect", capital(numbers.label(one)), {"part": one})


def _ahead_columns(numbers):
    yield Column("planned_auc", "AUC, ±", target="unlabeled", show="mean")
    parts = {
        at
        for one in numbers.sources
        for at in numbers.places("variable", "collect", "planned_ratio", "unlabeled")
    }
    for at in ("", *sorted(parts - {""}, key=lambda at: -float(at.split()[-1]))):
        share = f"highest {100 * float(at.split()[-1]):g} %" if at else "all rows"
        yield Column(
            "planned_ratio",
            f"Predicted over observed, {share}, ±",
            target="unlabeled",
            place={"variable": at},
            show="mean",
        )


#: What the labels of a plan are expected to tell of each column of predictions.
JUDGED_AHEAD = Sheet(
    "What the labels in collect.csv are expected to tell",
    _ahead,
    _ahead_columns,
    first="Predictions",
    note="Half of a 95 % interval, if predictions are right on average, once labels that are there "
    "have put them right.",
    best=False,
)


def _rates(numbers):
    target = numbers.plan["targets"][0]
    for name in sorted(numbers.places("part", "delivered", "decided_error_collected", target)):
        label = name or ("All rows" if target == "general" else "All rows without an outcome")
        yield Line("delivered", label, {"part": name})


#: How often decisions of a rule in use are right, by labels bought.
DECIDED = Sheet(
    "Decisions of the rule in use, by labels bought",
    _rates,
    lambda numbers: [
        Column(f"decided_{name}_collected", target=numbers.plan["targets"][0]) for name in RATES
    ],
    first="Group",
    note="Known outcomes as they are, others by the chances of labels. "
    "The share of yes needs no label.",
    best=False,
)


def _planned_rates(numbers):
    for name in sorted(numbers.places("part", "collect", "planned_decided_error", "unlabeled")):
        yield Line("collect", name or "All rows", {"part": name})


#: What a plan for rates of decisions is expected to tell of each.
PLANNED_DECIDED = Sheet(
    "What the labels in collect.csv are expected to tell of the decisions",
    _planned_rates,
    lambda numbers: [
        Column(f"planned_decided_{name}", target="unlabeled", show="mean")
        for name in RATES
        if name != "coverage"
    ],
    first="Group",
    note="Half of a 95 % interval, if estimates are right on average.",
    best=False,
)
