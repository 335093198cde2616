"""What a study says of two methods on the same test rows, by segment too."""

from counterweight.reporting.sheets import Column, Line, Sheet, each_setting
from counterweight.reporting.wording import capital, setting_label

_METRIC = "paired_difference"


def _against(numbers):
    return ((numbers.plan.get("protocol") or {}).get("options") or {}).get("against", "")


def _lines(numbers):
    """A line for each method and setting that was compared, and one for each segment."""
    for line in each_setting(numbers):
        measures = numbers.places("measure", line.source, _METRIC, **line.place)
        if not measures:
            continue
        label = numbers.label(line.source)
        if line.place.get("setting"):
            label = f"{label}, {setting_label(line.place['setting'])}"
        place = line.place | {"measure": measures[0]}
        yield Line(line.source, label, line.place)
        for part in numbers.places("part", line.source, _METRIC, **place):
            if part:
                yield Line(line.source, f"{capital(label)}: {part}", line.place | {"part": part})


def _columns(numbers):
    seen = {
        measure: 0
        for one in numbers.methods()
        for setting in numbers.settings(one["id"]) or [""]
        for measure in numbers.places("measure", one["id"], _METRIC, setting=setting)
    }
    for name in seen:

        def value(numbers, line, name=name):
            return numbers.get(line.source, _METRIC, **line.place | {"measure": name})

        measure = numbers.measure(name)
        yield Column(
            _METRIC, capital(measure.label), value=value, measure=measure, show="difference"
        )


def _caption(numbers):
    other = _against(numbers)
    return f"Against {numbers.label(other)}, on the same rows" if other else ""


def _note(numbers):
    several = any(line.place.get("part") for line in _lines(numbers))
    return "Paired differences. " + (
        "Intervals of segments hold all at once (Bonferroni)." if several else ""
    )


COMPARED = Sheet(_caption, _lines, _columns, note=_note, best=False)
