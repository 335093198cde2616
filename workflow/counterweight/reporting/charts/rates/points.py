"""What figures of studies of constraints have in common: what is asked, at what cost, of whom."""

import math
import re

from counterweight.evaluation.rates.asked import RULES, asked_of, asked_value
from counterweight.files.settings import setting_options
from counterweight.numerics.rates.language import RATES
from counterweight.reporting.charts import kit

DETERMINISTIC, RANDOMISED = RULES
ASKED = "asked"


class Points:
    """Values of measures by setting, as points of lines.

    Attributes
    ----------
    asked : dict or None
        ``measure``, ``option`` and ``form`` of what sweeps ask for: as the study says it, else a
        measure that the constraints of its methods bound by an option.
    cost : str or None
        The measure that is paid: as the study compares it, else its first rate of errors.
    """

    def __init__(self, study):
        self.study = study
        options = (study.plan.get("protocol") or {}).get("options") or {}
        self.measures = options.get("measures") or {}
        self.asked = options.get("asked") or self._bounded() or asked_of(self.measures)
        bound = self.asked["measure"] if self.asked else None
        errors = [name for name, text in self.measures.items() if name != bound and _is_error(text)]
        self.cost = (options.get("equal") or {}).get("of") or next(iter(errors), None)

    def _bounded(self):
        """``a <= b / kappa`` bounds ``a / b``; ``a <= target`` and ``a >= target`` bound ``a``."""
        known = {re.sub(r"\s", "", text): name for name, text in self.measures.items()}
        for method in self.study.methods(swept=True):
            options = method["options"]
            for text in options.get("constraints") or [options.get("constraint") or ""]:
                text = re.sub(r"\s", "", str(text))
                parts = re.fullmatch(r"(.+?)(<=|>=)(?:(.+)/)?([A-Za-z_]\w*)", text)
                if parts and parts[4] in method["sweep"]:
                    measure = known.get(f"{parts[1]}/{parts[3]}" if parts[3] else parts[1])
                    form = "at_most" if parts[2] == "<=" else "at_least"
                    form += "_inverse" if parts[3] else ""
                    if measure and form != "at_least_inverse":
                        return {"measure": measure, "option": parts[4], "form": form}
        return None

    def factor(self, measure):
        """What values of a measure are drawn with: 100 where it is told in per cent."""
        return 100.0 if self.told(measure).percent else 1.0

    def told(self, measure):
        return self.study.measure(DETERMINISTIC, measure)

    def name(self, measure):
        return self.study.measure(measure).label

    def axis(self, measure):
        return self.name(measure) + (", %" if self.factor(measure) == 100 else "")

    def settings(self, source):
        """``(value asked, setting)`` of a method, in order of its settings."""
        options, pairs = self.study.method(source)["options"], []
        for setting in self.study.settings(source, DETERMINISTIC, "general"):
            pairs.append((asked_value(self.asked, options | setting_options(setting)), setting))
        return [pair for pair in pairs if not math.isnan(pair[0])]

    def get(self, source, measure, setting="", rule=DETERMINISTIC, target="general"):
        return self.study.get(source, rule, target, measure=measure, setting=setting)

    def line(self, source, x, y, rule=DETERMINISTIC, target="general"):
        """Points of a method: a measure (or `ASKED`) across, another one up with its interval.

        A setting whose measure across is defined in fewer than half of the repeats is left out.
        """
        if x == ASKED:
            across = {setting: value for value, setting in self.settings(source)}
            x = self.asked["measure"]
        else:
            across = {}
            for setting in self.study.settings(source, rule, "general"):
                known = self.get(source, x, setting, rule, target)
                if 2 * known.n >= self.get(source, y, setting, rule, target).n:
                    across[setting] = known.mean
        points = []
        for setting, value in across.items():
            known = self.get(source, y, setting, rule, target)
            points.append(kit.point(self.factor(x) * value, known, self.factor(y)))
        return sorted(point for point in points if not math.isnan(point[0] + point[1]))


def _is_error(text):
    rate = re.match(r"\w+", str(text))
    return bool(rate) and rate[0] in RATES and RATES[rate[0]].labels and "error" in rate[0]
