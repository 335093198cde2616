"""Values of policies estimated from logs that kept fewer and fewer zero rows."""

import numpy as np

from counterweight.evaluation.metrics.intervals import normal_interval
from counterweight.reporting.charts import kit, style
from counterweight.reporting.numbers import Estimate

CAPTION = (
    "Value of a policy estimated from the log of another one, against the rate l at which rows of "
    "reward zero were kept, with 95 % intervals: of the whole log, or else of a typical "
    "resampling. The line is the value that should be found, with its interval where it was "
    "measured."
)


def draw(study):
    values = {one["id"]: values_of(study, one["id"]) for one in study.methods()}
    values = {source: known for source, known in values.items() if known}
    if not values:
        return kit.blank("No value of a policy was measured in this study.")
    names = list(dict.fromkeys(name for known in values.values() for name, _ in known))
    known = (study.plan.get("labels") or {}).get("measure") or {}
    labels = {name: known.get(name, name) for name in names}
    largest = max(abs(one.mean) for known in values.values() for one in known.values())
    scale, unit = (100, "Value, %") if largest <= 0.2 else (1, "Value")
    x = "Rate l at which zero rows were kept"
    canvas, held = kit.Canvas([study.label(source) for source in values], 2.2, x, unit), {}
    for panel, (source, known) in zip(canvas.all, values.items(), strict=True):
        truth = study.get(source, "truth")
        panel.level("truth", truth.times(scale), kit.Look(style.INK, ""))
        for place, name in enumerate(names):
            own = [kit.point(pair[1], known[pair], scale) for pair in known if pair[0] == name]
            look = kit.SERIES[place % len(kit.SERIES)]._replace(dash="none")
            panel.line(labels[name], own, look, shift=1.09 ** ((len(names) - 1) / 2 - place))
        panel.rates({rate for _, rate in known})
        panel.ax.margins(y=0.08)
        low, high = (truth.low, truth.high) if truth.bounded else (truth.mean, truth.mean)
        for (name, _), one in known.items():
            if one.bounded and truth.known:
                held.setdefault(labels[name], []).append(one.low <= high and one.high >= low)
    said = ", ".join(f"{name} {sum(one)} of {len(one)}" for name, one in held.items())
    title = f"Intervals that hold the value to be found: {said}" if said else f"{unit} by keep rate"
    return canvas.drawing(title, "Estimated values of policies by keep rate and estimator")


def values_of(study, source):
    """`Estimate` of a method by ``(estimator, keep rate)``; see the caption."""
    values = {}
    for metric in ("whole_value", "value"):
        known = study.rows(source, metric, "general").dropna(subset=["keep_rate", "value"])
        for (name, rate), rows in known.groupby(["measure", "keep_rate"], sort=False):
            if metric == "value":
                error = float(np.sqrt((rows["standard_error"].astype(float) ** 2).mean()))
                low, high = normal_interval(rows["value"].mean(), error)
            else:
                low, high = (
                    _whole(study, source, f"whole_{end}", name, rate) for end in ("low", "high")
                )
            values.setdefault((name, rate), Estimate(float(rows["value"].mean()), 0, low, high))
    for name in dict.fromkeys(name for name, _ in values):
        ends = [_whole(study, source, f"whole_{end}", name, 1) for end in ("value", "low", "high")]
        if ends[0] == ends[0]:
            values[name, 1.0] = Estimate(ends[0], 0, *ends[1:])
    return values


def _whole(study, source, metric, name, rate):
    """An estimate of the whole log, which may stand without a rate where that is 1."""
    known = study.get(source, metric, measure=name, keep_rate=rate)
    return (known if known.known or rate != 1 else study.get(source, metric, measure=name)).mean
