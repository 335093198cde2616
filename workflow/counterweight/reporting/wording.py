"""How numbers, lists and measures are told, in every table, claim and figure alike."""

import math
from typing import NamedTuple

from counterweight.tables.parquet import setting_options

MINUS = "\N{MINUS SIGN}"
#: Options of settings in print, where a letter is the field's own word.
OPTIONS = {"keep_rate": "l", "share": "positives", "kappa": "κ", "alpha": "α", "eta": "η"}


def number(value, digits=2, sign=False):
    """A number with a true minus sign, thin spaces between thousands, a dash for NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    text = f"{abs(value):,.{digits}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if not float(f"{abs(value):.{digits}f}"):
        return text
    return (MINUS if value < 0 else "+" if sign else "") + text


def digits(unit_name, *values):
    """Digits after the point for numbers of a unit.

    Whole numbers for counts, two digits for points; otherwise as many as leave three
    figures of the largest of `values`, at least two (three for log losses), at most six.
    """
    if unit_name in {"rows", "updates", "labels", "steps"}:
        return 0
    if unit_name == "points":
        return 2
    return places_for(values, 3 if unit_name.startswith("nats") else 2)


def places_for(values, least=2, figures=3, most=6):
    """Digits after the point that leave some figures of the largest of `values`."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return least
    return min(max(least, figures - 1 - math.floor(math.log10(max(sizes)))), most)


def percent(value, places=1):
    return "–" if value is None or math.isnan(value) else number(100 * value, places) + " %"


def chance_text(value):
    """A chance in per cent that shows 0 and 1 only where it is that."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < value < 0.0005:
        return "< 0.05 %"
    if 0.9995 < value < 1:
        return "> 99.9 %"
    return percent(value, 0 if value in (0, 1) else 2 if value < 0.01 else 1)


def interval(low, high, places=2):
    """``[low, high]``, or nothing where there is no interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low, places)}, {number(high, places)}]"


def setting_label(setting):
    """A setting of a sweep in print: ``keep_rate=0.1`` as *l = 0.1*; ``hard`` as it is."""
    return ", ".join(
        " = ".join(filter(None, [option_name(key), option_text(value)]))
        for key, value in setting_options(setting).items()
    )


def option_text(value):
    """The value of an option in print."""
    return f"{value:g}" if isinstance(value, float) else value


def label_of(study, source, default):
    """A method, selector or weighting of a study's part of the plan in print."""
    for kind in ("methods", "selectors", "weightings"):
        for one in study.get(kind) or ():
            if one["id"] == source:
                return one.get("label") or source.replace("_", " ")
    return default


def option_name(option):
    """``alpha`` as *α*."""
    return OPTIONS.get(option, option.replace("_", " "))


def count(amount, noun, plural=None):
    """``1 method``, ``2 methods``."""
    return f"{amount} {noun if amount == 1 else plural or noun + 's'}"


def splits(holding, failing):
    """``8 splits for, 2 against``; "" where splits were not looked at one by one."""
    return f"{count(holding, 'split')} for, {failing} against" if holding or failing else ""


def listing(words):
    """``a, b and c``; "" of nothing."""
    words = [str(word) for word in words]
    return "".join(words) if len(words) < 2 else ", ".join(words[:-1]) + " and " + words[-1]


def capital(text):
    """A text with its first letter large."""
    return text[:1].upper() + text[1:]


def shortened(text, most, end=7):
    """A long name with its middle left out; names often differ in their last words."""
    return text if len(text) <= most else text[: most - end - 1] + "…" + text[-end:]


# What is known of a measure: how it is called, told and judged. Declared, not guessed.


#: Bounds of what is told in a unit, where a measure says no others.
OF_UNITS = {"share": (0.0, 1.0)} | dict.fromkeys(
    ("rows", "labels", "steps", "updates", "components"), (0.0, None)
)


class Measure(NamedTuple):
    """How a metric is told.

    ``label`` is lower case unless it is a name. ``unit`` is ``share`` (between 0 and 1; differences
    are told in points, times 100), ``relative`` (told in per cent of what it is relative to), or
    the unit's own name. ``better`` is ``more``, ``less`` or "". ``digits`` are by its size if None;
    with ``percent`` values (not only differences) are told in per cent; ``meaning`` is a sentence
    for the glossary. With ``counted`` it must not be hidden where it is above 0. ``bounds``, least
    and largest possible value, are by default those of the unit; ``ends`` are metrics that hold the
    ends of an interval that was measured with the value.
    """

    label: str
    unit: str = ""
    better: str = ""
    digits: int | None = None
    percent: bool = False
    meaning: str = ""
    counted: bool = False
    bounds: tuple = ()
    ends: tuple = ()

    @property
    def limits(self):
        """Least and largest possible value, None for none."""
        return tuple(self.bounds) or OF_UNITS.get(self.unit, (None, None))

    @property
    def told(self):
        """``(unit, factor)`` of differences."""
        if self.unit == "share":
            return "points", 100.0
        if self.unit == "relative":
            return "% of the value", 100.0
        return self.unit, 1.0


def measure_of(declared, metric, measure=""):
    """The `Measure` of a metric, by what the plan declares; its name in words if nothing is.

    `declared` has fields by metric, and by ``metric of measure`` for metrics of several measures.
    """
    entry = declared.get(f"{metric} of {measure}") or declared.get(metric)
    if entry is None:
        words = f"{metric} of {measure}" if measure else metric
        entry = {"label": words.replace("_", " ")}
    return Measure(**entry)


def packed(shown):
    """The plan of a report with each measure that studies share said once; see `unpacked`."""
    common = shown.get("measures") or {}
    for study in shown["studies"].values():
        common = study["measures"] | common
    studies = {
        name: study
        | {
            "measures": {
                metric: None if entry == common[metric] else entry
                for metric, entry in study["measures"].items()
            }
        }
        for name, study in shown["studies"].items()
    }
    return shown | {"measures": common, "studies": studies}


def unpacked(shown):
    """What `packed` was given: every study with all that is known of its measures."""
    studies = {
        name: study
        | {
            "measures": {
                metric: entry or shown["measures"][metric]
                for metric, entry in study["measures"].items()
            }
        }
        for name, study in shown["studies"].items()
    }
    return shown | {"studies": studies}
