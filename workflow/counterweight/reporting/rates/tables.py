"""Numbers of a study on dataset constraints, method by method and setting by setting."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.evaluation.metrics.intervals import normal_interval, paired_interval
from counterweight.evaluation.rates.asked import RULES, asked_of, asked_value, excess_over
from counterweight.files.settings import setting_options
from counterweight.reporting.page.wording import method_label

#: The method that others are compared with, if a study has it.
MAIN = "ramp"
#: Models that keep what is asked by the deterministic rule; others by the randomised one.
THRESHOLDED = frozenset({"shifted_threshold", "group_thresholds", "covariance_constraint"})
#: A constraint counts as active from this share of the value asked for on training rows.
ACTIVE = 0.98


def is_rates(settings):
    """Whether a study is evaluated by rates on named data sets."""
    return (settings.get("protocol") or {}).get("name") == "rates"


def options_of(settings):
    return (settings.get("protocol") or {}).get("options") or {}


def asked_in(settings):
    """What the settings of a study's sweeps ask for: measure, option and form, or None."""
    options = options_of(settings)
    return asked_of(options.get("measures") or {}, options.get("asked"))


def _capital(text):
    return text[0].upper() + text[1:]


def _in_order(setting):
    values = setting_options(setting).values()
    return [value if isinstance(value, str) else f"{value:020.10f}" for value in values]


class Rate(NamedTuple):
    """A metric of a measure: ``Rate("deterministic", "error")``."""

    metric: str
    measure: str


class RateNumbers:
    """Metrics of one study by method, target and metric, as tables of repeats by settings.

    A metric is asked for by its name or, where it is of a measure, as a `Rate`.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Of the study, in the layout `counterweight.files.tables.METRICS`.
    settings : dict
        The study's part of the plan.
    """

    def __init__(self, metrics, settings):
        self.settings, self.asked = settings, asked_in(settings)
        self.measures = list(options_of(settings).get("measures") or {})
        own = metrics[metrics["source"].isin([one["id"] for one in settings["methods"]])]
        stepwise = own["step"].notna()
        keys = ["source", "target", "metric", "measure"]
        self._parts = {
            (source, target, Rate(metric, measure) if measure else metric): rows
            for (source, target, metric, measure), rows in own[~stepwise].groupby(keys, sort=False)
        }
        self._steps = dict(list(own[stepwise].groupby(["source", "metric"], sort=False)))
        self.methods = {one["id"]: one for one in settings["methods"]}
        self._known = {}

    def _once(self, key, make):
        """What `make` gives, made once: sheets and sentences ask for the same numbers."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def label(self, source):
        return self._once(("label", source), lambda: _capital(method_label(self.methods[source])))

    def ordered(self):
        """Methods, those without a sweep first: their rows stand before the others' groups."""
        return sorted(self.methods, key=lambda name: bool(self.methods[name].get("sweep")))

    def main(self):
        """Id of the method that others are compared with; None where there is no sweep."""
        if MAIN in self.methods:
            return MAIN
        swept = [name for name, one in self.methods.items() if one.get("sweep")]
        return swept[0] if swept else next(iter(self.methods), None)

    def table(self, source, metric, target="general"):
        """Repeats by settings; empty where it was not measured."""
        return self._once(
            ("table", source, metric, target), lambda: self._table(source, metric, target)
        )

    def _table(self, source, metric, target):
        rows = self._parts.get((source, target, metric))
        if rows is None:
            return pd.DataFrame()
        # What is told once for a study has parts in place of settings.
        rows = rows[rows["part"] == ""]
        return rows.pivot(index="repeat", columns="setting", values="value").sort_index()

    def settings_of(self, source):
        """Settings of a method that were measured, by the numbers in them."""
        return self._once(("settings", source), lambda: self._settings_of(source))

    def _settings_of(self, source):
        known = {}
        for (name, target, metric), rows in self._parts.items():
            measured = isinstance(metric, Rate) and metric.metric in RULES
            if name == source and target == "general" and measured:
                known.update(dict.fromkeys(rows["setting"].unique()))
        return sorted(known, key=_in_order)

    def asks(self, source, setting):
        """The value that a setting of a method asks for, or NaN."""
        options = self.methods[source].get("options") or {}
        return asked_value(self.asked, options | setting_options(setting))

    def series(self, source, metric, setting="", target="general"):
        """Values by repeat."""
        table = self.table(source, metric, target)
        return table[setting].dropna() if setting in table else pd.Series(dtype=float)

    def mean(self, source, metric, setting="", target="general"):
        values = self.series(source, metric, setting, target)
        return float(values.mean()) if len(values) else np.nan

    def estimate(self, source, metric, setting="", target="general"):
        """``(mean, low, high)``: corrected interval over repeats, normal one for one repeat."""
        key = "estimate", source, metric, setting, target
        return self._once(key, lambda: self._estimate(source, metric, setting, target))

    def _estimate(self, source, metric, setting, target):
        values = self.series(source, metric, setting, target)
        if len(values) != 1:
            return paired_interval(values, self.settings["test_share"])
        rows = self._parts[source, target, metric]
        rows = rows[(rows["setting"] == setting) & rows["value"].notna()]
        value, error = rows["value"].iloc[0], rows["standard_error"].iloc[0]
        return (value, *normal_interval(value, error))

    def difference(self, first, second):
        """Paired ``(mean, low, high, repeats)`` of two Series by repeat, first minus second."""
        differences = (first - second).dropna()
        return (*paired_interval(differences, self.settings["test_share"]), len(differences))

    def repeats(self, source):
        """Number of repeats that were measured."""
        return self._once(("repeats", source), lambda: self._repeats(source))

    def _repeats(self, source):
        return max(
            (
                rows["repeat"].nunique()
                for (name, _, _), rows in self._parts.items()
                if name == source
            ),
            default=0,
        )

    def undefined(self, source):
        """Number of fits whose measures are not all defined."""
        count = 0
        for measure in self.measures:
            rows = self._parts.get((source, "general", Rate("deterministic", measure)))
            count += 0 if rows is None else int(rows["value"].isna().sum())
        return count

    def rule(self, source):
        """The rule of which a method asks what is asked."""
        return RULES[0] if self.methods[source]["model"] in THRESHOLDED else RULES[1]

    def active(self, source, setting):
        """Whether the constraint of a setting binds, by the training value of its rule.

        None where a setting asks for nothing.
        """
        asked = self.asks(source, setting)
        if np.isnan(asked):
            return None
        metric = Rate(self.rule(source), self.asked["measure"])
        seen = self.mean(source, metric, setting, "train")
        if np.isnan(seen):
            seen = self.mean(source, metric, setting)
        if self.asked["form"] == "at_least":
            return bool(seen * ACTIVE <= asked)
        return bool(seen >= ACTIVE * asked)

    def excess(self, source, setting, rule, target):
        """Relative amount by which the mean of a measure breaks what is asked of it.

        Negative where it is kept with room.
        """
        asked = self.asks(source, setting)
        seen = self.mean(source, Rate(rule, self.asked["measure"]), setting, target)
        return excess_over(self.asked, seen, asked)

    def curve(self, source, measure, of, rule, target="general"):
        """Settings as points: mean of a measure; mean, low and high of another; the setting.

        A setting whose measure is defined in fewer than half of the repeats is left out.
        """
        points, least = [], self.repeats(source) / 2
        for setting in self.settings_of(source):
            x = self.mean(source, Rate(rule, measure), setting, target)
            y = self.estimate(source, Rate(rule, of), setting, target)
            count = len(self.series(source, Rate(rule, measure), setting, target))
            if count >= least and not np.isnan(x) and not np.isnan(y[0]):
                points.append((x, *y, setting))
        return sorted(points)

    def steps(self, source, metric):
        """Stepwise metric: columns repeat, setting, step, part (constraint), value."""
        return self._once(("steps", source, metric), lambda: self._steps_of(source, metric))

    def _steps_of(self, source, metric):
        columns = ["repeat", "setting", "step", "part", "value"]
        rows = self._steps.get((source, metric))
        if rows is None:
            return pd.DataFrame(columns=columns)
        # The objective is of no single constraint.
        constraint = rows["part"].replace("", "0").astype(int)
        return rows.assign(step=rows["step"].astype(int), part=constraint)[columns].reset_index(
            drop=True
        )

    def case(self, source, metric, part, setting):
        """Mean over repeats of what was computed for a part, such as a case of the paper."""
        rows = self._parts.get((source, "general", metric))
        if rows is None:
            return np.nan
        rows = rows[(rows["part"] == part) & (rows["setting"] == setting)]
        return float(rows["value"].mean())
