"""What tilts rest on: delta, the rate that follows, and what contradicts its assumptions."""

from counterweight.reporting.measures import Measure
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Bound, Column, Sheet, each_method
from counterweight.reporting.wording import listing, percent

#: Share of the gap of feature means that may be left where features given the label are alike.
LEFT = 0.25


def _target(numbers):
    """The population whose labels are looked at: the unlabeled, where they are one."""
    targets = numbers.plan["targets"]
    return "unlabeled" if "unlabeled" in targets else targets[0]


def _lines(numbers):
    """Methods that say by how much they move the log odds."""
    return [line for line in each_method(numbers) if len(numbers.rows(line.source, "gap_left"))]


def _error(numbers, line):
    rows = numbers.rows(line.source, "delta", _target(numbers))
    return Estimate(mean=float(rows["standard_error"].mean())) if len(rows) else Estimate()


def _hidden_rate(numbers, line):
    return numbers.get("labels", "positive_share", "unlabeled", part="target")


def _columns(numbers):
    target, rate = _target(numbers), numbers.measure("rate_unlabeled")
    return (
        Column("delta", "Delta", target=target, show="sd"),
        Column(
            "delta",
            "Standard error",
            target=target,
            show="mean",
            value=_error,
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
TILTS = Sheet("What the tilts rest on", _lines, _columns, fold=False, best=False)


def assumptions(numbers):
    """What a tilt assumes, twice over, and what the features say of the second."""
    lines = _lines(numbers)
    if not lines:
        return
    yield (
        "A tilt assumes that, at equal features, the odds of unlabeled rows are those of labeled "
        "ones times one number (its logarithm is δ); no data can "
        "check that."
    )
    target = _target(numbers)
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
