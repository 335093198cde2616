"""How numbers, lists and measures are told, in every table, claim and figure alike."""

import math
import re
from typing import NamedTuple

from counterweight.tables.parquet import setting_options

MINUS = "\N{MINUS SIGN}"
#: Populations and rows, in print.
TARGETS = {"general": "everyone", "unlabeled": "the unlabeled"}
#: Units of whole numbers.
COUNTS = frozenset({"rows", "updates", "labels", "steps"})
#: Places after the point of amounts, at most: what is paid may be small in the unit of a table.
SMALLEST = 15
#: Options of settings in print, where a letter is the field's own word.
OPTIONS = {"keep_rate": "l", "share": "positives", "kappa": "κ", "alpha": "α", "eta": "η"}


def number(value, digits=2, sign=False):
    """A number with a true minus sign, commas between thousands, a dash for NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    text = f"{abs(value):,.{digits}f}"
    if not float(f"{abs(value):.{digits}f}"):
        return text
    return (MINUS if value < 0 else "+" if sign else "") + text


def digits(unit_name, *values):
    """Digits after the point for numbers of a unit: none for counts, two for points, more else."""
    if unit_name in COUNTS:
        return 0
    return 2 if unit_name == "points" else places_for(values, 2 + unit_name.startswith("nats"))


def places_for(values, least=2, figures=3, most=6):
    """Digits after the point that leave some figures of the largest of `values`."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return least
    return min(max(least, figures - 1 - math.floor(math.log10(max(sizes)))), most)


def amount(value, figures=4, sign=False):
    """An amount of money or the like with so many figures; of thousands all of them."""
    if abs(value) >= 10**figures:
        return number(value, 0, sign)
    if 0 < abs(value) < 1e-4:
        return number(value, places_for([value], 0, figures, SMALLEST), sign)
    text = f"{value:{'+' if sign else ''}#,.{figures}g}".rstrip(".")
    return text.replace("-", MINUS)


def middle(values):
    """The median of amounts in print."""
    value = values.median()
    return number(value, offer_places(value))


def offer_places(value):
    """Digits after the point of an offer in print."""
    return places_for([value], 2 if abs(value) < 10_000 else 0, most=SMALLEST)


def as_written(value):
    """A value as answers have it: what YAML and tables take for true is a yes, however spelled."""
    return {"true": "yes", "false": "no"}.get(str(value).lower(), value)


def total(value):
    """A sum of amounts: whole, but where it is small."""
    return number(value, 0) if abs(value) >= 100 else amount(value)


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
    """``[low, high]``, or nothing where there is no interval, or no width but that of rounding."""
    if not high - low > 1e-12 * max(abs(low), abs(high)):
        return ""
    return f"[{number(low, places)}, {number(high, places)}]"


def setting_label(setting):
    """A setting of a sweep in print: ``keep_rate=0.1`` as *l = 0.1*; ``hard`` as it is."""
    options = setting_options(setting).items()
    told = ((key, f"{value:g}" if isinstance(value, float) else value) for key, value in options)
    return ", ".join(" = ".join(filter(None, [option_name(key), value])) for key, value in told)


def label_of(study, source, default):
    """A method, selector or weighting of a study's part of the plan in print."""
    kinds = [study.get(kind) or () for kind in ("methods", "selectors", "weightings")]
    known = (one for kind in kinds for one in kind if one["id"] == source)
    return next((one.get("label") or source.replace("_", " ") for one in known), default)


def option_name(option):
    """``alpha`` as *α*."""
    return OPTIONS.get(option, option.replace("_", " "))


def count(amount, noun, plural=None):
    """``1 method``, ``2,000 methods``."""
    return f"{number(amount, 0)} {noun if amount == 1 else plural or noun + 's'}"


def splits(holding, failing):
    """``8 splits for, 2 against``; "" where splits were not looked at one by one."""
    return f"{count(holding, 'split')} for, {failing} against" if holding or failing else ""


def listing(words):
    """``a, b and c``; "" of nothing."""
    words = [str(word) for word in words]
    return "".join(words) if len(words) < 2 else ", ".join(words[:-1]) + " and " + words[-1]


def joined_words(words, between=", "):
    """Words with a comma between them, empty ones left out."""
    return between.join(filter(None, words))


def named(column):
    """A name that people gave in a sentence: in quotation marks but where it is one word."""
    return column if re.fullmatch(r"[\w.-]*[^\W\d][\w.-]*", column) else f"“{column}”"


def capital(text):
    """A text with its first letter large."""
    return text[:1].upper() + text[1:]


def shortened(text, most, end=7):
    """A long name without its middle words; names often differ in their last ones.

    Only a word that alone is too long is cut.
    """
    if len(text) <= most:
        return text
    head, tail = text[: most - end - 1], text[-end:]
    # Back to the last whole word, and on to the next one, where there is one.
    if not text[len(head)].isspace() and " " in head.strip():
        head = head[: head.rindex(" ")]
    if not text[-end - 1].isspace() and " " in tail.strip():
        tail = tail[tail.index(" ") :]
    return f"{head.rstrip()}…{tail.lstrip()}"


def told_apart(texts, most, end=7):
    """Names as `shortened`, those in full that would be the same."""
    short = [shortened(text, most, end) for text in texts]
    same = {one for one, text in zip(short, texts, strict=True) if short.count(one) > 1}
    return [text if one in same else one for one, text in zip(short, texts, strict=True)]


#: Bounds of what is told in a unit, where a measure says no others.
OF_UNITS = {"share": (0.0, 1.0)} | dict.fromkeys((*COUNTS, "components"), (0.0, None))


class Measure(NamedTuple):
    """How a metric is called, told and judged: declared, not guessed.

    ``unit`` is ``share`` (between 0 and 1; differences are told in points, times 100), ``relative``
    (in per cent of what it is relative to), or the unit's name; ``better`` is ``more``, ``less`` or
    "". ``digits`` are by its size if None; with ``percent`` values, too, are told in per cent.
    ``meaning`` is for the glossary. With ``counted`` it must not be hidden where it is above 0.
    ``bounds`` are by default those of the unit; ``ends`` are metrics of a measured interval.
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
        words = {"share": "points", "relative": "% of the value"}
        return words.get(self.unit, self.unit), 100.0 if self.unit in words else 1.0


def measure_of(declared, metric, measure=""):
    """The `Measure` of a metric by what is declared of it, or of ``metric of measure``."""
    words = f"{metric} of {measure}" if measure else metric
    entry = declared.get(f"{metric} of {measure}") or declared.get(metric)
    return Measure(**(entry or {"label": words.replace("_", " ")}))


def axis_of(measure):
    """What an axis of a measure says, and what its values are multiplied by to be drawn."""
    unit = {"share": "", "relative": "% of the value"}.get(measure.unit, measure.unit)
    unit = "%" if measure.percent else unit
    label = capital(measure.label) + (f", {unit}" if unit else "")
    return label, 100.0 if "%" in unit else 1.0


def told(known, measure=None, sign=False, places=None, unit=""):
    """``76.4 % [75.9, 76.8]``; a difference (`sign`): ``+0.4 points [0.1, 0.7]``.

    A plain number with a `unit` where there is no measure.
    """
    factor = 1.0
    if measure is not None:
        own = "%" if axis_of(measure)[1] == 100 else measure.unit.replace("share", "")
        unit, factor = measure.told if sign else (own, axis_of(measure)[1])
    known = known.times(factor)
    if places is None:
        places = 1 if factor == 100 else places_for([known.mean], 2)
    words = [number(known.mean, places, sign=sign), unit, interval(known.low, known.high, places)]
    return joined_words(words, " ")


def span(values, places=0, unit=""):
    """``3 to 12``; one number where all are the same in print."""
    low, high = number(min(values), places), number(max(values), places)
    return f"{low if low == high else f'{low} to {high}'} {unit}".strip()


def hovered(series, item, at, value, low, high):
    """What is shown on hover: whose number it is, where, and the number with its interval."""
    places = places_for([value], 1)
    told = joined_words([number(value, places), interval(low, high, places)], " ")
    where = "" if math.isnan(at) else f"at {at:.4g}"
    return f"{joined_words([item, series, where])}: {told}"


def packed(shown):
    """The plan of a report with each measure that studies share said once; see `unpacked`."""
    common = shown.get("measures") or {}
    for study in shown["studies"].values():
        common = study["measures"] | common
    return _with_measures(
        shown, lambda metric, entry: entry if entry != common[metric] else None
    ) | {"measures": common}


def unpacked(shown):
    """What `packed` was given: every study with all that is known of its measures."""
    return _with_measures(shown, lambda metric, entry: entry or shown["measures"][metric])


def _with_measures(shown, told):
    """The plan with each declaration of a measure of a study as `told` has it."""
    return shown | {
        "studies": {
            name: study
            | {"measures": {m: told(m, entry) for m, entry in study["measures"].items()}}
            for name, study in shown["studies"].items()
        }
    }


#: Leaks, and doubts, that are told one by one.
MOST = 5


def leaks_in_words(report):
    """Sentences on columns that tell what no feature may tell: left out, or kept as requested.

    `report` are records of a column report, as ``tables/NAME.columns.csv`` has them.
    """
    for use, begin, end in (
        (
            "left out",
            "Left out, and not learned from",
            ". A column that is rightly known before can be named under columns.keep.",
        ),
        ("feature", "Kept as requested, though these numbers may then be too good", "."),
    ):
        leaks = [fact for fact in report if fact["leak"] and fact["use"] == use]
        told = [f"{fact['column']} ({fact['leak']})" for fact in leaks]
        more = [f"{len(told) - MOST} more"] * (len(told) > MOST)
        if told:
            yield f"{begin}: {'; '.join(told[:MOST] + more)}{end}"
