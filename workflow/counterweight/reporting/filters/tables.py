"""Tables of studies of balanced filtering as tidy frames: numbers only."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.files.settings import setting_options
from counterweight.reporting.page.wording import method_label

#: Settings that sheets show where the study has them.
ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
ETAS = (0.0, 0.5, 1.0)
TARGETS = ("train", "test")
#: Metrics by setting, in the order of the table; the first is the headline.
MEASURED = (
    "imbalance",
    "imbalance_drawn",
    "floor",
    "disclosivity",
    "disclosivity_rows",
    "disclosivity_large",
    "acceptance_rate",
    "collected",
    "leaves",
    "bound_disclosivity",
    "bound_imbalance",
    "excess_disclosivity",
    "excess_imbalance",
    "accuracy",
    "accuracy_worst",
    "rows_accepted",
)
#: Metrics by setting and group.
BY_GROUP = ("group_share", "group_gain", "accuracy_group")
#: The classifier that is trained on all training rows.
EVERYONE = "everyone"
LAYOUT = (
    "study",
    "target",
    "method",
    "label",
    "setting",
    "group",
    "metric",
    "mean",
    "sd",
    "low",
    "high",
    "n",
    "status",
    "reason",
)


class Estimate(NamedTuple):
    """Mean over repeats with its sd, 95 % interval, number of repeats and range."""

    mean: float = math.nan
    sd: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    least: float = math.nan
    greatest: float = math.nan

    @property
    def known(self):
        return not math.isnan(self.mean)


def setting_value(setting):
    """``("alpha", 0.05)`` from ``"alpha=0.05"``; None where it is no such setting."""
    options = setting_options(setting)
    if len(options) != 1:
        return None
    ((name, value),) = options.items()
    return (name, value) if name in ("alpha", "eta") and isinstance(value, float) else None


def summarised(rows, test_share, keys):
    """Mean, sd, corrected resampled interval and range of each group of rows.

    The interval is that of `counterweight.evaluation.metrics.intervals.paired_interval`, for all
    groups at once.
    """
    from scipy.special import stdtrit

    table = rows.groupby(keys, sort=False)["value"].agg(["mean", "std", "count", "min", "max"])
    n, sd = table["count"].to_numpy(float), table["std"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = (
            stdtrit(np.maximum(n - 1, 1), 0.975)
            * sd
            * np.sqrt(1 / n + test_share / (1 - test_share))
        )
    table = table.rename(columns={"std": "sd", "count": "n", "min": "least", "max": "greatest"})
    return table.assign(low=table["mean"] - half, high=table["mean"] + half)


class FilterResults:
    """Everything that was measured in a study of balanced filtering, by name.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Of one study, in the layout `counterweight.files.tables.METRICS`.
    settings : dict
        Its part of the plan.
    printed : iterable of dict, optional
        Figures in print of the study, with ``source``, ``setting`` and perhaps ``part``.
    """

    def __init__(self, metrics, settings, printed=()):
        self.plan = settings
        self._printed = {
            (
                *(entry[key] for key in ("source", "metric", "target")),
                *(entry.get(key, "") for key in ("setting", "part")),
            ): entry["value"]
            for entry in printed
        }
        self.metrics = metrics
        rows = metrics[metrics["value"].notna()]
        keys = ["source", "target", "metric", "setting", "part", "variable"]
        table = summarised(rows, settings["test_share"], keys)
        columns = [table[name].tolist() for name in Estimate._fields]
        self._known = {
            key: Estimate(*values)
            for key, values in zip(table.index, zip(*columns, strict=True), strict=True)
        }
        self._settings = {}
        for source, target, metric, setting, part, _ in self._known:
            parts = self._settings.setdefault((source, target, metric), {})
            parts.setdefault(setting, {})[part] = None

    def get(self, source, metric, target, setting="", part="", variable=""):
        """An `Estimate`, of NaN where nothing was measured."""
        return self._known.get((source, target, metric, setting, part, variable), Estimate())

    def in_print(self, source, metric, target, setting, part=""):
        """A figure of the paper, or NaN."""
        return self._printed.get((source, metric, target, setting, part), math.nan)

    def measured_at(self, source, metric, target):
        """Settings that a metric was measured at, "" for none."""
        return list(self._settings.get((source, target, metric), ()))

    def parts(self, source, metric, target, setting=""):
        """Groups or leaves of which a metric was measured at a setting."""
        return list(self._settings.get((source, target, metric), {}).get(setting, ()))

    def settings(self, source, metric="imbalance", target="train"):
        """Settings that a metric was measured at, as ``(value, setting)``, in order."""
        known = [(setting_value(name), name) for name in self.measured_at(source, metric, target)]
        return sorted((pair[1], name) for pair, name in known if pair)

    def option(self, source):
        """``alpha`` or ``eta``: what the settings of a method are; empty for a failed one."""
        known = self.settings(source) or self.settings(source, target="test")
        return setting_value(known[0][1])[0] if known else ""

    def chosen(self, source, metric="imbalance", target="train"):
        """Settings that sheets show: those of `ALPHAS` or `ETAS`, else some of the grid."""
        known = self.settings(source, metric, target)
        wanted = ALPHAS if self.option(source) == "alpha" else ETAS
        some = [pair for pair in known if any(abs(pair[0] - value) < 1e-9 for value in wanted)]
        if some or len(known) <= len(ALPHAS):
            return some or known
        places = np.unique(np.linspace(0, len(known) - 1, len(ALPHAS)).round().astype(int))
        return [known[place] for place in places]

    def chosen_of_selector(self, source):
        """Settings of a proxy that sheets show; ``[""]`` for one without settings."""
        known = self.settings(source, "leaves", "")
        some = [name for value, name in known if any(abs(value - a) < 1e-9 for a in ALPHAS)]
        without = [name for name in self.measured_at(source, "leaves", "") if not name]
        return some or [name for _, name in known][: len(ALPHAS)] or without

    def at(self, source, value):
        """The setting nearest to a value, or None."""
        known = self.settings(source) or self.settings(source, target="test")
        return min(known, key=lambda pair: (abs(pair[0] - value), pair[0]))[1] if known else None

    def groups(self):
        """Groups in the order of the study."""
        for target in TARGETS:
            groups = self.parts("labels", "group_share", target)
            if groups:
                return groups
        return []

    def share_wanted(self, group):
        """Share of a group in a balanced sample: as wished, else uniform in its class."""
        wanted = (self.plan.get("filter") or {}).get("target")
        if wanted:
            return float(wanted.get(group, 0.0))
        groups = self.groups()
        same = [one for one in groups if self.class_of(one) == self.class_of(group)]
        return 1 / len(same) if same else math.nan

    def class_of(self, group):
        """The column that a group belongs to; empty where there is one column only."""
        columns = (self.plan.get("filter") or {}).get("group") or []
        return group.partition("=")[0] if not isinstance(columns, str) and len(columns) > 1 else ""

    def start(self, target):
        """Imbalance before filtering, from the target of the study."""
        return self.get("labels", "starting_imbalance", target)

    def floor(self, source, setting, target):
        return self.get(source, "floor", target, setting)

    def way(self, source, setting, target):
        """Share of the way from the start to the floor; NaN where there is no way to go."""
        start, floor = self.start(target).mean, self.floor(source, setting, target).mean
        room = start - floor
        if not room > 1e-3:
            return math.nan
        return (start - self.get(source, "imbalance", target, setting).mean) / room

    def over(self, source, setting):
        """Disclosivity on test rows beyond what was allowed (alpha) or seen in training (eta)."""
        value = setting_value(setting)
        measured = self.get(source, "disclosivity", "test", setting).mean
        if value and value[0] == "alpha":
            return measured - value[1]
        return measured - self.get(source, "disclosivity", "train", setting).mean


def methods_of(settings):
    """``(id, label)`` of the methods of a study, in plan order."""
    return [(one["id"], method_label(one)) for one in settings["methods"]]


def main_method(results, *wanted):
    """The method that a sheet or figure is about: the first wanted one with results.

    Where none of them has any, the first method with settings alpha, else the first with
    results; None where nothing was measured.
    """
    known = [name for name, _ in methods_of(results.plan) if results.option(name)]
    trees = [name for name in known if results.option(name) == "alpha"]
    return next(iter([name for name in wanted if name in known] + trees + known), None)


def filter_table(metrics, settings, study, reason_of=None):
    """What was measured in a study of balanced filtering, one row for each number.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.files.tables.METRICS`.
    settings : dict
        The study's part of the plan.
    study : str
    reason_of : callable, optional
        ``reason_of(method id)``: why a method has no result.

    Returns
    -------
    pandas.DataFrame
        Columns `LAYOUT`: ``target`` is train or test, ``setting`` such as ``alpha=0.1`` or
        ``everyone``, ``group`` empty but for `BY_GROUP`; ``mean`` and ``sd`` are over repeats,
        ``low`` and ``high`` the 95 % interval of the mean. A method without results keeps one
        row with status ``failed`` and its reason. Distributions of single leaves stand in the
        table of all measurements only.
    """
    own = metrics[
        (metrics["study"] == study)
        & metrics["target"].isin(TARGETS)
        & metrics["metric"].isin((*MEASURED, *BY_GROUP))
        & metrics["value"].notna()
    ]
    parts = []
    for name, label in methods_of(settings):
        place = {"study": study, "method": name, "label": label}
        mine = own[own["source"] == name]
        if mine.empty:
            reason = reason_of(name) if reason_of else "no result was found"
            parts.append(
                pd.DataFrame(
                    [
                        place
                        | {
                            "metric": MEASURED[0],
                            "n": 0,
                            "target": "",
                            "setting": "",
                            "group": "",
                            "status": "failed",
                            "reason": reason,
                        }
                    ]
                )
            )
            continue
        keys = ["target", "metric", "setting", "part"]
        table = summarised(mine, settings["test_share"], keys)
        table = table.reset_index().rename(columns={"part": "group"})
        parts.append(table.assign(**place, status="ok", reason=""))
    if not parts:
        return pd.DataFrame(columns=list(LAYOUT))
    return _ordered(pd.concat(parts, ignore_index=True), settings)


def _ordered(table, settings):
    methods = {one["id"]: rank for rank, one in enumerate(settings["methods"])}
    metrics = {name: rank for rank, name in enumerate((*MEASURED, *BY_GROUP))}
    values = [(setting_value(name) or ("", -1.0))[1] for name in table["setting"]]
    targets = {name: rank for rank, name in enumerate(("", *TARGETS))}
    keys = (
        table["method"].map(methods),
        values,
        table["target"].map(targets),
        table["metric"].map(metrics),
        table["group"].rank(method="dense"),
    )
    table = table.reindex(columns=list(LAYOUT)).astype({"n": "int64"})
    return table.iloc[np.lexsort([np.asarray(key) for key in keys[::-1]])].reset_index(drop=True)
