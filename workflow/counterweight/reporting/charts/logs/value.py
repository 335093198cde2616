"""Values of policies estimated from logs that kept fewer and fewer zero rows."""

import math

import numpy as np

from counterweight.evaluation.metrics.intervals import normal_interval
from counterweight.reporting.charts.canvas import SERIES, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import INK
from counterweight.reporting.charts.words import capital

CAPTION = (
    "Value of a policy estimated from the log of another one, against the rate l at which rows of "
    "reward zero were kept, with 95 % intervals: of the whole log, or where it was not estimated at "
    "this rate, the mean over resamplings with the interval of a typical one. The line is the value "
    "that should be found, its band a 95 % interval where it was measured."
)
_TRUTH = Look(INK, "")


def draw(study):
    values = {one["id"]: values_of(study, one["id"]) for one in study.methods()}
    values = {source: known for source, known in values.items() if known}
    if not values:
        return blank("No value of a policy was measured in this study.")
    names = list(dict.fromkeys(name for known in values.values() for name, _ in known))
    largest = max(abs(value[0]) for known in values.values() for value in known.values())
    scale, unit = (100, "Value, %") if largest <= 0.2 else (1, "Value")
    canvas, held = Canvas(1, len(values), 2.2), {}
    for panel, (source, known) in zip(canvas.all, values.items(), strict=True):
        panel.title(study.label(source))
        truth = study.get(source, "truth")
        panel.level("truth", scale * truth.mean, _TRUTH, scale * truth.low, scale * truth.high)
        for place, name in enumerate(names):
            points = [
                (rate, *(scale * number for number in value))
                for (estimator, rate), value in known.items()
                if estimator == name
            ]
            shift = 1.09 ** ((len(names) - 1) / 2 - place)
            look = SERIES[place % len(SERIES)]
            panel.line(estimator_name(study, name), points, look, shift=shift, joined=False)
        panel.rates({rate for _, rate in known})
        panel.ax.margins(y=0.08)
        panel.grid()
        ends = (truth.low, truth.high) if truth.bounded else (truth.mean, truth.mean)
        for (name, _), (_, low, high) in known.items():
            if not math.isnan(low + truth.mean):
                held.setdefault(name, []).append(low <= ends[1] and high >= ends[0])
    canvas.label("Rate l at which zero rows were kept", unit)
    said = [f"{estimator_name(study, name)} {sum(one)} of {len(one)}" for name, one in held.items()]
    title = f"Intervals that hold the value to be found: {', '.join(said)}"
    if not said:
        title = "Values of policies by the rate at which zero rows were kept"
    return canvas.drawing(title, "Estimated values of policies by keep rate and estimator", ends=True)


def estimator_name(study, estimator):
    """An estimator in print, as the measure of a value."""
    return capital(study.measure("value", estimator).label)


def values_of(study, source):
    """``{(estimator, keep rate): (value, low, high)}`` of a method."""
    rows = study.rows(source, "value", "general")
    pairs = {}
    for metric in ("whole_value", "value"):
        for one in study.rows(source, metric, "general").itertuples():
            if not math.isnan(one.keep_rate):
                pairs[one.measure, one.keep_rate] = None
    for name, rate in sorted(pairs, key=lambda pair: -pair[1]):
        whole = [_whole(study, source, f"whole_{end}", name, rate) for end in ("value", "low", "high")]
        if math.isnan(whole[0]):
            own = rows[(rows["measure"] == name) & (rows["keep_rate"] == rate)]
            typical = float(np.sqrt((own["standard_error"].astype(float) ** 2).mean()))
            mean = float(own["value"].mean())
            whole = [mean, *normal_interval(mean, typical)]
        pairs[name, rate] = tuple(whole)
    return {pair: value for pair, value in pairs.items() if value and not math.isnan(value[0])}


def _whole(study, source, metric, name, rate):
    """An estimate of the whole log, which may stand without a rate where that is 1."""
    known = study.get(source, metric, measure=name, keep_rate=rate)
    if not known.known and rate == 1:
        known = study.get(source, metric, measure=name)
    return known.mean
