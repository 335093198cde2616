"""Tables of studies of balanced filtering as tidy frames: numbers only."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.reporting.page.wording import method_label, parts_of

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


def setting_value(item):
    """``("alpha", 0.05)`` from ``"alpha=0.05"``; None where an item is no such setting."""
    if "#" in item:
        return None
    found = parts_of(item)
    if len(found) != 1:
        return None
    ((name, value),) = found.items()
    return (name, value) if name in ("alpha", "eta") and isinstance(value, float) else None


def split_group(item):
    """``("alpha=0.1", "retired")`` from ``"alpha=0.1#retired"``."""
    setting, _, group = item.partition("#")
    return setting, group


def summarised(rows, test_share, keys):
    """Mean, sd, corrected resampled interval and range of each group of rows.

    The interval is that of `counterweight.evaluation.metrics.intervals.paired_interval`, for all
    groups at once.
    """
    from scipy.special import stdtrit

    found = rows.groupby(keys, sort=False)["value"].agg(["mean", "std", "count", "min", "max"])
    n, sd = found["count"].to_numpy(float), found["std"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = (
            stdtrit(np.maximum(n - 1, 1), 0.975)
            * sd
            * np.sqrt(1 / n + test_share / (1 - test_share))
        )
    found = found.rename(columns={"std": "sd", "count": "n", "min": "least", "max": "greatest"})
    return found.assign(low=found["mean"] - half, high=found["mean"] + half)


class FilterResults:
    """Everything that was measured in a study of balanced filtering, by name.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Of one study, in the layout `counterweight.files.tables.METRICS`.
    settings : dict
        Its part of the plan.
    printed : iterable of dict, optional
        Figures in print of the study; ``source`` is the method's id and the item.
    """

    def __init__(self, metrics, settings, printed=()):
        self.plan = settings
        self._printed = {
            (entry["source"], entry["metric"], entry["target"]): entry["value"] for entry in printed
        }
        self.metrics = metrics
        rows = metrics[metrics["value"].notna()]
        keys = ["source", "target", "metric", "item"]
        found = summarised(rows, settings["test_share"], keys)
        columns = [found[name].tolist() for name in Estimate._fields]
        self._known = {
            key: Estimate(*values)
            for key, values in zip(found.index, zip(*columns, strict=True), strict=True)
        }
        self._items = {}
        for source, target, metric, item in self._known:
            self._items.setdefault((source, target, metric), []).append(item)

    def get(self, source, metric, target, item=""):
        """An `Estimate`, of NaN where nothing was measured."""
        return self._known.get((source, target, metric, item), Estimate())

    def in_print(self, source, metric, target, item):
        """A figure of the paper, or NaN."""
        return self._printed.get((f"{source} {item}", metric, target), math.nan)

    def items(self, source, metric, target):
        return self._items.get((source, target, metric), [])

    def settings(self, source, metric="imbalance", target="train"):
        """Settings that a metric was measured at, as ``(value, item)``, in order."""
        found = [(setting_value(item), item) for item in self.items(source, metric, target)]
        return sorted((pair[1], item) for pair, item in found if pair)

    def option(self, source):
        """``alpha`` or ``eta``: what the settings of a method are; empty for a failed one."""
        found = self.settings(source) or self.settings(source, target="test")
        return found[0][1].partition("=")[0] if found else ""

    def chosen(self, source, metric="imbalance", target="train"):
        """Settings that sheets show: those of `ALPHAS` or `ETAS`, else some of the grid."""
        found = self.settings(source, metric, target)
        wanted = ALPHAS if self.option(source) == "alpha" else ETAS
        some = [pair for pair in found if any(abs(pair[0] - value) < 1e-9 for value in wanted)]
        if some or len(found) <= len(ALPHAS):
            return some or found
        places = np.unique(np.linspace(0, len(found) - 1, len(ALPHAS)).round().astype(int))
        return [found[place] for place in places]

    def chosen_of_selector(self, source):
        """Settings of a proxy that sheets show; ``[""]`` for one without settings."""
        items = self.items(source, "leaves", "")
        pairs = [(setting_value(item), item) for item in items]
        known = sorted((pair[1], item) for pair, item in pairs if pair)
        some = [item for value, item in known if any(abs(value - a) < 1e-9 for a in ALPHAS)]
        return some or [item for _, item in known][: len(ALPHAS)] or [i for i in items if not i]

    def at(self, source, value):
        """The item of the setting nearest to a value, or None."""
        found = self.settings(source) or self.settings(source, target="test")
        return min(found, key=lambda pair: (abs(pair[0] - value), pair[0]))[1] if found else None

    def groups(self):
        """Groups in the order of the study."""
        for target in TARGETS:
            found = self.items("labels", "group_share", target)
            if found:
                return list(found)
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

    def floor(self, source, item, target):
        return self.get(source, "floor", target, item)

    def way(self, source, item, target):
        """Share of the way from the start to the floor; NaN where there is no way to go."""
        start, floor = self.start(target).mean, self.floor(source, item, target).mean
        room = start - floor
        if not room > 1e-3:
            return math.nan
        return (start - self.get(source, "imbalance", target, item).mean) / room

    def over(self, source, item):
        """Disclosivity on test rows beyond what was allowed (alpha) or seen in training (eta)."""
        value = setting_value(item)
        measured = self.get(source, "disclosivity", "test", item).mean
        if value and value[0] == "alpha":
            return measured - value[1]
        return measured - self.get(source, "disclosivity", "train", item).mean


def methods_of(settings):
    """``(id, label)`` of the methods of a study, in plan order."""
    return [(one["id"], method_label(one)) for one in settings["methods"]]


def main_method(found, *wanted):
    """The method that a sheet or figure is about: the first wanted one with results.

    Where none of them has any, the first method with settings alpha, else the first with
    results; None where nothing was measured.
    """
    known = [name for name, _ in methods_of(found.plan) if found.option(name)]
    trees = [name for name in known if found.option(name) == "alpha"]
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
        table = summarised(mine, settings["test_share"], ["target", "metric", "item"])
        table = table.reset_index()
        pairs = [split_group(item) for item in table["item"]]
        table["setting"], table["group"] = (list(column) for column in zip(*pairs, strict=True))
        parts.append(table.assign(**place, status="ok", reason=""))
    if not parts:
        return pd.DataFrame(columns=list(LAYOUT))
    return _ordered(pd.concat(parts, ignore_index=True), settings)


def _ordered(table, settings):
    methods = {one["id"]: rank for rank, one in enumerate(settings["methods"])}
    metrics = {name: rank for rank, name in enumerate((*MEASURED, *BY_GROUP))}
    values = [(setting_value(item) or ("", -1.0))[1] for item in table["setting"]]
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
