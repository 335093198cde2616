"""What figures of studies of constraints have in common: what is asked, at what cost, of whom."""

import math

from counterweight.evaluation.rates.asked import RULES, asked_value
from counterweight.files.settings import setting_options
from counterweight.reporting.charts import kit

DETERMINISTIC, RANDOMISED = RULES
ASKED = "asked"


class Points:
    """Values of measures by setting, as points of lines.

    Attributes
    ----------
    asked : dict or None
        ``measure``, ``option`` and ``form`` of what sweeps ask for.
    cost : str or None
        The measure that is paid: that of the comparison, or the first that is not asked.
    """

    def __init__(self, study):
        protocol = study.plan["protocol"]
        self.study, self.asked = study, protocol.get("asked")
        measures = protocol["options"].get("measures") or {}
        bound = self.asked["measure"] if self.asked else None
        others = [name for name in measures if name != bound]
        self.cost = (protocol["options"].get("equal") or {}).get("of") or next(iter(others), None)

    def factor(self, measure):
        """What values of a measure are drawn with: 100 where it is told in per cent."""
        return 100.0 if self.told(measure).percent else 1.0

    def told(self, measure):
        return self.study.measure(DETERMINISTIC, measure)

    def name(self, measure):
        known = (self.study.plan.get("labels") or {}).get("measure") or {}
        return known.get(measure, measure.replace("_", " "))

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
