"""Pages of studies of labels that are seen of a selected part only (and of any classifier)."""

import math

from counterweight.reporting.numbers import Estimate, results_table
from counterweight.reporting.pages.sensitivity_page import BY_GAMMA, how_wrong
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Sheet,
    each_method,
    each_of,
    each_setting,
    told,
)
from counterweight.reporting.study_page import (
    TARGETS,
    Answer,
    StudyPage,
    headline,
    plain_answer,
    recovered,
)
from counterweight.reporting.wording import (
    Measure,
    capital,
    count,
    listing,
    number,
    percent,
    setting_label,
)

#: Metrics that a results table shows where the plan does not name them; the first is the headline.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")


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
    metric = headline(numbers)
    made = plain_answer(numbers)
    if made is None:
        return None
    more = list(made.more)
    target = numbers.plan["targets"][0]
    more.append(_of_bound(numbers, metric, target))
    more.append(_floor(numbers, target) if metric == "accuracy" else "")
    more += kept(numbers)
    return Answer(made.sentence, tuple(filter(None, more)), made.cards, made.points)


_SHARE = Measure("share", "share", "more", percent=True)


def _of_bound(numbers, metric, target):
    """What the hidden labels would have been worth, and how much of it the main method has."""
    share, gap = recovered(numbers, metric, target)
    if math.isnan(share):
        return ""
    measure = numbers.measure(metric)
    text, bracket = told(gap, measure, sign=True)
    size = f"{text} {measure.told[0]}".strip() + f" {bracket}"
    rest = f"of that, {percent(share, 0)} is recovered" if share > 0 else "none of it is recovered"
    return f"The hidden labels themselves would have been worth {size}; {rest}."


def _floor(numbers, target):
    """What a constant answer would score: the floor under every accuracy."""
    share = numbers.get("labels", "positive_share", target, part="target").mean
    if math.isnan(share):
        return ""
    return (
        f"Always answering “{'yes' if share > 0.5 else 'no'}” would score "
        f"{percent(max(share, 1 - share))}."
    )


def _recovered(metric, target):
    """Share of what hidden labels would gain that a method gains, of those that do not see them."""

    def value(numbers, line):
        if line.place or numbers.role(line.source) == "bound" or line.source == numbers.baseline:
            return Estimate()
        return Estimate(mean=recovered(numbers, metric, target, line.source)[0])

    return value


def results_sheet(target):
    """Every method on one target, by the study's columns, with differences from the baseline."""

    def columns(numbers):
        metrics = numbers.plan["columns"] or COLUMNS
        first, *others = metrics
        made = [
            Column(first, target=target, show="sd"),
            Column(first, target=target, show="difference"),
            Column(
                first,
                "Recovered",
                target=target,
                show="mean",
                value=_recovered(first, target),
                measure=_SHARE,
                term="Share of what the hidden labels would gain over the baseline that the "
                "method gains without them.",
            ),
        ]
        made.append(Column(first, "In print", target=target, show="printed"))
        return (*made, *(Column(metric, target=target, show="sd") for metric in others))

    return Sheet(
        lambda numbers: (
            {entry["target"]: entry["title"] for entry in numbers.plan["tables"]}.get(target)
            or f"Every method on {TARGETS.get(target, target)}"
        ),
        each_method,
        columns,
    )


def _of(metric, by=None):
    """Mean of a metric of a weighting, relative to another number where `by` is given."""

    def value(numbers, line):
        known = [numbers.get(line.source, metric, target) for target in ("", *TARGETS)]
        known = next((one for one in known if one.known), Estimate())
        return known if by is None else by(numbers, line, known)

    return value


def _share_of_rows(numbers, line, size):
    rows = numbers.rows(line.source, "effective_sample_size")["rows"]
    rows = rows[rows > 0]
    return size.times(1 / rows.mean()) if len(rows) else Estimate()


def _worst(metric):
    """The worst balanced feature's difference, in standard deviations."""

    def value(numbers, line):
        means = numbers.means_by("part", line.source, metric).dropna()
        return Estimate(mean=float(means.abs().max())) if len(means) else Estimate()

    return value


_SD = Measure("difference", "", "less", 2)

#: What weights rest on: one line a weighting.
WEIGHTS = Sheet(
    "What the weights rest on",
    each_of("weightings"),
    (
        Column("effective_sample_size", "Effective rows", value=_of("effective_sample_size")),
        Column(
            "effective_sample_size",
            "Share of the labeled",
            value=_of("effective_sample_size", _share_of_rows),
            measure=_SHARE,
            show="mean",
            term="How many rows of weight 1 would say as much, as a share of the labeled rows.",
        ),
        Column("largest_weight", "Largest weight", value=_of("largest_weight"), show="mean"),
        Column("rows_capped", "Rows at the cap", value=_of("rows_capped"), show="mean"),
        Column(
            "mean_weight",
            "Mean weight",
            value=_of("mean_weight"),
            show="mean",
            bound=None,
            term="1 where the selection model is right.",
        ),
        Column(
            "balance_before",
            "Largest difference before",
            value=_worst("balance_before"),
            measure=_SD,
            show="mean",
            term="Largest standardised difference of a feature between the labeled and the target.",
        ),
        Column(
            "balance_after",
            "Largest difference after",
            value=_worst("balance_after"),
            measure=_SD,
            show="mean",
            bound=Bound(0.1, "Balanced: differences after weighting of at most 0.1 sd."),
        ),
    ),
    first="Weights",
    fold=False,
)


def _calibration_gap(numbers, line):
    means = [
        numbers.means_by("part", line.source, f"calibration_{which}")
        for which in ("predicted", "observed")
    ]
    gap = (means[0] - means[1]).abs()
    return Estimate(mean=float(gap.mean())) if len(gap) else Estimate()


#: What is known of p(s=1|x): one line a selection model.
SELECTORS = Sheet(
    "The models of who is labeled",
    each_of("selectors"),
    (
        Column(
            "auc", "AUC", value=_of("auc"), term="How well it tells labeled from unlabeled rows."
        ),
        Column(
            "calibration_predicted",
            "Calibration gap",
            value=_calibration_gap,
            measure=Measure("gap", "", "less", 3),
            show="mean",
            bound=Bound(0.03, "Calibrated: predicted and observed shares within 0.03 on average."),
        ),
        Column(
            "share_extreme",
            "Tiny probabilities",
            value=_of("share_extreme"),
            measure=Measure("share", "share", "less", 2, percent=True),
            show="mean",
            term="Share of rows that are hardly ever labeled: weights say little of them.",
        ),
    ),
    first="Model",
    fold=False,
)


def missing_at_random(numbers):
    """What hidden labels say of weights: a bound of the main method's model against it.

    That hidden labels help no more than weights does not show that labels are missing at random:
    where they are not, decisions may stay what they are, and chances be wrong. So nothing is said
    of it then.
    """
    metric = headline(numbers)
    main = numbers.main
    if metric is None or main is None or not numbers.method(main)["weights"]:
        return
    model = numbers.method(main)["model"]
    bounds = [
        one["id"]
        for one in numbers.methods(swept=False)
        if numbers.role(one["id"]) == "bound" and one["model"] == model and not one["weights"]
    ]
    for bound in bounds[:1]:
        gap = numbers.against(main, bound, metric, numbers.plan["targets"][0])
        if not gap.bounded:
            continue
        measure = numbers.measure(metric)
        unit = measure.told[0]
        text, bracket = told(gap, measure, sign=True)
        size = f"{measure.label}: {text} {unit}".strip() + f" {bracket}"
        better = (gap.low > 0) if measure.better != "less" else (gap.high < 0)
        if better:
            yield (
                f"Seeing the hidden labels helps beyond what weights repair ({size}). Labels that "
                "are missing not at random do that, and so do a wrong selection model and, to a "
                "lesser extent, the fewer rows that weights leave."
            )
        else:
            yield (
                f"Seeing the hidden labels does not help beyond what weights repair, as far as "
                f"these splits tell ({size}). That does not show that labels are missing at random."
            )


def fits(numbers):
    """Fits that did not converge fully, and updates that were held back."""
    rows = numbers.metrics[numbers.metrics["source"].isin([one["id"] for one in numbers.methods()])]
    converged = rows[(rows["metric"] == "converged") & (rows["target"] != "")]
    short = converged[converged["value"] < 1]
    if len(short):
        names = listing(numbers.label(name) for name in short["source"].unique())
        yield f"{len(short)} of {count(len(converged), 'fit')} did not converge fully ({names})."
    held = rows[rows["metric"] == "components_held"]["value"].sum()
    if held:
        amount = count(int(held), "component update was", "component updates were")
        yield f"{amount} held back for lack of rows."


def sizes(numbers):
    """How many rows stand behind the numbers."""
    parts = []
    for metric, text in (
        ("rows_labeled", "labeled"),
        ("rows_unlabeled", "unlabeled"),
        ("rows_test", "test"),
    ):
        known = numbers.get("labels", metric, "")
        known = known if known.known else numbers.get("labels", metric)
        if known.known and known.mean:
            parts.append(f"{number(known.mean, 0)} {text}")
    if parts:
        splits = count(numbers.plan["repeats"], "random split")
        yield f"{capital(listing(parts))} rows in each of {splits}."


def kept(numbers):
    """That test rows lost zeros, and what is left of them."""
    rate = numbers.plan.get("keep_rate") or 1.0
    if rate >= 1:
        return
    worth = numbers.get(numbers.main or "", "effective_rows").mean
    left = "" if math.isnan(worth) else f" They are worth {number(worth, 0)} rows of equal weight."
    yield (
        f"Of the test rows of outcome zero only a share l = {rate:g}, drawn at random, is left; "
        f"each counts {number(1 / rate, 0)} times.{left}"
    )


# What a study says of two methods on the same test rows, by segment too.


_PAIRED = "paired_difference"


def _against(numbers):
    return ((numbers.plan.get("protocol") or {}).get("options") or {}).get("against", "")


def _compared_lines(numbers):
    """A line for each method and setting that was compared, and one for each segment."""
    for line in each_setting(numbers):
        measures = numbers.places("measure", line.source, _PAIRED, **line.place)
        if not measures:
            continue
        label = numbers.label(line.source)
        if line.place.get("setting"):
            label = f"{label}, {setting_label(line.place['setting'])}"
        place = line.place | {"measure": measures[0]}
        yield Line(line.source, label, line.place)
        for part in numbers.places("part", line.source, _PAIRED, **place):
            if part:
                yield Line(line.source, f"{capital(label)}: {part}", line.place | {"part": part})


def _compared_columns(numbers):
    seen = {
        measure: 0
        for one in numbers.methods()
        for setting in numbers.settings(one["id"]) or [""]
        for measure in numbers.places("measure", one["id"], _PAIRED, setting=setting)
    }
    for name in seen:

        def value(numbers, line, name=name):
            return numbers.get(line.source, _PAIRED, **line.place | {"measure": name})

        measure = numbers.measure(name)
        yield Column(
            _PAIRED, capital(measure.label), value=value, measure=measure, show="difference"
        )


def _compared_caption(numbers):
    other = _against(numbers)
    return f"Against {numbers.label(other)}, on the same rows" if other else ""


def _compared_note(numbers):
    several = any(line.place.get("part") for line in _compared_lines(numbers))
    return "Paired differences. " + (
        "Intervals of segments hold all at once (Bonferroni)." if several else ""
    )


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
    target, rate = _tilt_target(numbers), numbers.measure("rate_unlabeled")
    return (
        Column("delta", "Delta", target=target, show="sd"),
        Column(
            "delta",
            "Standard error",
            target=target,
            show="mean",
            value=_tilt_error,
            measure=Measure("standard error", "", "", 2),
            term="Of one split, from both samples; it takes the assumptions for granted.",
        ),
        Column("rate_unlabeled", "Estimated rate", target=target, show="sd"),
        Column(
            "rate_unlabeled",
            "Hidden rate",
            target=target,
            show="mean",
            value=_hidden_rate,
            measure=rate,
            term="Share of positives among the unlabeled rows, which no method sees.",
        ),
        Column(
            "gap_left",
            "Gap of features left",
            target=target,
            show="sd",
            bound=Bound(LEFT, "Features given the label alike: at most a quarter of the gap left."),
        ),
    )


#: One line a tilted method.
TILTS = Sheet("What the tilts rest on", _tilted, _tilt_columns, fold=False, best=False)


def assumptions(numbers):
    """What a tilt assumes, twice over, and what the features say of the second."""
    lines = _tilted(numbers)
    if not lines:
        return
    yield (
        "A tilt assumes that, at equal features, the odds of unlabeled rows are those of labeled "
        "ones times one number (its logarithm is δ); no data can "
        "check that."
    )
    target = _tilt_target(numbers)
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
    spread = percent(min(left), 0)
    if percent(max(left), 0) != spread:
        spread = f"{spread} to {percent(max(left), 0)}"
    verdict = (
        "so that assumption does not hold here: what such a tilt gains it gains without it"
        if min(left) > LEFT
        else "which speaks for that assumption and proves nothing"
    )
    yield f"Of the gap of feature means, {spread} is left after tilting, {verdict}."


TRUST = (
    missing_at_random,
    TILTS,
    assumptions,
    how_wrong,
    BY_GAMMA,
    WEIGHTS,
    SELECTORS,
    fits,
    sizes,
)

PAGE = StudyPage(
    answer=answer,
    sheets=(results_sheet("general"), results_sheet("unlabeled"), COMPARED),
    trust=TRUST,
)
