"""What titles and axes of figures say of numbers."""

import math

from counterweight.reporting.wording import capital, interval, number, places_for

#: Populations and rows, in print.
TARGETS = {
    "general": "everyone",
    "unlabeled": "the unlabeled",
    "train": "training rows",
    "test": "test rows",
}


def target_name(target):
    return TARGETS.get(target, target.replace("_", " "))


def factor_of(measure):
    """What values of a measure are multiplied by to be drawn."""
    return 100.0 if measure.percent or measure.unit == "relative" else 1.0


def axis_of(measure):
    """What an axis of a measure says, e.g. ``Accuracy, %``."""
    unit = "%" if measure.percent else "% of the value" if measure.unit == "relative" else ""
    unit = unit or ("" if measure.unit == "share" else measure.unit)
    return capital(measure.label) + (f", {unit}" if unit else "")


def told(estimate, measure=None, sign=False, places=None, unit=None):
    """A number with its interval: ``76.4 % [75.9, 76.8]``; a difference: ``+0.4 points [0.1, 0.7]``.

    Parameters
    ----------
    estimate : counterweight.reporting.numbers.Estimate
    measure : counterweight.reporting.measures.Measure, optional
        None: a plain number.
    sign : bool
        Whether it is a difference.
    places : int, optional
        Digits after the point.
    unit : str, optional
        In place of the measure's.
    """
    factor = 1.0 if measure is None else measure.told[1] if sign else factor_of(measure)
    if unit is None:
        unit = "" if measure is None else measure.told[0] if sign else measure.unit
        unit = "%" if unit in ("share", "relative") and factor == 100 else unit
        unit = "" if unit == "share" else unit
    shown = estimate.times(factor)
    if places is None:
        places = 1 if factor == 100 else places_for([shown.mean], 2)
    words = [number(shown.mean, places, sign=sign), unit, interval(shown.low, shown.high, places)]
    return " ".join(word for word in words if word)


def against(study, metric, target, source=None, **place):
    """``X: +0.4 points [0.1, 0.7] against Y``; the value itself without a baseline; or "".

    Parameters
    ----------
    study : counterweight.reporting.numbers.StudyNumbers
    metric, target : str
    source : str, optional
        By default the study's main method.
    **place
        Of the metric.
    """
    source = source or study.main
    measure = study.measure(metric, place.get("measure", ""))
    value = study.get(source, metric, target, **place) if source else None
    if value is None or not value.known:
        return ""
    if study.baseline in (None, source):
        return f"{study.label(source)}: {told(value, measure)}"
    gap = study.against(study.baseline, source, metric, target, **place)
    if not gap.known:
        return f"{study.label(source)}: {told(value, measure)}"
    return f"{study.label(source)}: {told(gap, measure, sign=True)} against {study.label(study.baseline)}"


def span(values, places=None, unit=""):
    """``3 to 12 %``; one number where all are the same in print."""
    values = [value for value in values if math.isfinite(value)]
    if not values:
        return "–"
    places = places_for([max(values, key=abs)], 0) if places is None else places
    low, high = number(min(values), places), number(max(values), places)
    text = low if low == high else f"{low} to {high}"
    return f"{text} {unit}".strip()


def shortened(text, most):
    """A long name with its middle left out."""
    return text if len(text) <= most else text[: most - 8] + "…" + text[-7:]


def group_name(group, most=22):
    return shortened(group.replace("=", ": "), most)


