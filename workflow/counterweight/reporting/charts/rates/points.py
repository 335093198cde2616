"""What figures of studies of constraints have in common: what is asked, at what cost, of whom."""

import math
import re

from counterweight.evaluation.rates.asked import RULES, asked_of, asked_value
from counterweight.files.settings import setting_options
from counterweight.numerics.rates.language import RATES
from counterweight.reporting.charts.canvas import DASHED

DETERMINISTIC, RANDOMISED = RULES
#: Lines of the two rules.
DASHES = {DETERMINISTIC: "-", RANDOMISED: DASHED}


def _options(study):
    return (study.plan.get("protocol") or {}).get("options") or {}


def asked(study):
    """``measure``, ``option`` and ``form`` of what sweeps ask for, or None.

    As the study says it; else a measure that the constraints of its methods bound by an option.
    """
    options = _options(study)
    measures = options.get("measures") or {}
    if options.get("asked"):
        return options["asked"]
    known = {_plain(text): name for name, text in measures.items()}
    for method in study.methods(swept=True):
        given = method["options"]
        for text in given.get("constraints") or [given.get("constraint") or ""]:
            found = _bounded(_plain(text), known)
            if found and found["option"] in method["sweep"]:
                return found
    return asked_of(measures)


def _plain(text):
    return re.sub(r"\s", "", str(text))


def _bounded(text, known):
    """``a<=b/kappa`` bounds ``a/b``, ``a<=target`` and ``a>=target`` bound ``a``."""
    parts = re.fullmatch(r"(.+?)(<=|>=)(?:(.+)/)?([A-Za-z_]\w*)", text)
    if parts is None:
        return None
    left, sign, right, option = parts.groups()
    measure = known.get(f"{left}/{right}" if right else left)
    if measure is None or (right and sign == ">="):
        return None
    form = "at_most_inverse" if right else "at_most" if sign == "<=" else "at_least"
    return {"measure": measure, "option": option, "form": form}


def cost(study):
    """The measure that is paid: as the study compares it, else its first rate of errors; or None."""
    options = _options(study)
    if options.get("equal"):
        return options["equal"]["of"]
    wanted = asked(study)
    for name, text in (options.get("measures") or {}).items():
        rate = re.match(r"\w+", str(text))
        labels = rate and rate[0] in RATES and RATES[rate[0]].labels and "error" in rate[0]
        if labels and not (wanted and name == wanted["measure"]):
            return name
    return None


def value_asked(study, wanted, source, setting):
    """The value that a setting of a method asks for, or NaN."""
    return asked_value(wanted, study.method(source)["options"] | setting_options(setting))


def settings_asking(study, wanted, source):
    """``(value asked, setting)`` of a method, in order of its settings."""
    known = study.settings(source, DETERMINISTIC, "general")
    pairs = [(value_asked(study, wanted, source, setting), setting) for setting in known]
    return [pair for pair in pairs if not math.isnan(pair[0])]


def percent_of(study, measure):
    """Factor that values of a measure are drawn with: 100 where it is told in per cent."""
    return 100.0 if study.measure(DETERMINISTIC, measure).percent else 1.0


def axis(study, measure):
    """A measure in print, with its unit."""
    named = study.measure(measure).label
    return named + (", %" if percent_of(study, measure) == 100 else "")


def trade(study, source, measure, of, rule=DETERMINISTIC):
    """Settings of a method as ``(mean of a measure, mean, low and high of another, setting)``.

    A setting whose measure is defined in fewer than half of the repeats is left out.
    """
    points = []
    for setting in study.settings(source, rule, "general"):
        at = study.get(source, rule, measure=measure, setting=setting)
        known = study.get(source, rule, measure=of, setting=setting)
        if known.known and at.known and 2 * at.n >= known.n:
            points.append((at.mean, known.mean, known.low, known.high, setting))
    return sorted(points)
