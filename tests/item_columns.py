"""Tables of results with packed names, as they were, in the columns that they have now.

Until the columns `counterweight.tables.parquet.PLACE` came, a measurement had one text ``item`` in
which settings, parts and rates were packed, rates had their rule in the name of the metric, and
tables of results had the setting behind the method. This module takes such tables apart, so that
`compare_results` can compare results from before with results from now, value by value.
"""

import json
import re

import numpy as np
import pandas as pd

PLACE = ("measure", "setting", "part", "variable", "step", "keep_rate")
ESTIMATORS = ("ips", "ips_lost", "snips", "dr")
_RULES = ("deterministic", "randomised")
_AT_EQUAL = re.compile(r"(.+)_at_(.+)_(deterministic|randomised)")
_OF_RATE = re.compile(r"(.+)_(deterministic|randomised|gap|deployed)")
#: Names that look like a metric of a measure and are none.
_PLAIN = {"final_gap", "largest_gap", "bound_gap", "identity_gap", "closed_form_gap", "spline_gap"}
_PLAIN |= {"hull_gap", *(f"asked_excess_{rule}" for rule in _RULES)}
#: Metrics whose whole item is a part: features, bins, a grid, a pair.
_OF_PART = {"balance_before", "balance_after", "balance_z", "calibration_predicted"}
_OF_PART |= {"calibration_observed", "overlap_labeled", "overlap_unlabeled", "bound_gap"}
_OF_PART |= {"bound_excess"}


def of_measure(metric):
    """Metric and measure of a metric that may have both in its name."""
    equal, rate = _AT_EQUAL.fullmatch(metric), _OF_RATE.fullmatch(metric)
    if equal:
        return f"{equal[3]}_at_equal", equal[1]
    return (rate[2], rate[1]) if rate and metric not in _PLAIN else (metric, "")


def unpacked(source, metric, item):
    """The columns of a measurement from its metric and its packed item."""
    new = {"metric": metric, "measure": "", "setting": "", "part": "", "variable": ""}
    new |= {"step": np.nan, "keep_rate": np.nan}
    plain, measure = of_measure(metric)
    if measure:
        return new | {"metric": plain, "measure": measure, "setting": item}
    if metric in ("sign_test_labels", "sign_test_drawn"):
        case, power = item.split(" ")
        return new | {"part": case, "setting": f"power={power}"}
    if metric in ("objective", "violation", "multiplier"):
        setting, step, *constraint = item.split("#")
        return new | {"setting": setting, "step": int(step), "part": "".join(constraint)}
    if source == "labels" or metric in _OF_PART or item in ("one pair", "dropped"):
        return new | {"part": item}
    if item in ESTIMATORS:
        return new | {"measure": item}
    kept = re.fullmatch(r"(?:(.+) )?l=(.+)", item)
    if kept and (metric.startswith("auc_") or metric == "resamples_redrawn"):
        return new | {"part": kept[1] or "zeros", "keep_rate": float(kept[2])}
    if kept:
        return new | {"measure": kept[1] or "", "keep_rate": float(kept[2])}
    if item.isdigit():
        return new | {"step": int(item)}
    setting, part, variable, *_ = [*item.split("#"), "", ""]
    return new | {"setting": setting, "part": part, "variable": variable}


def unpack_items(old):
    """A table of measurements with items in the columns of today, row by row."""
    if not {"source", "metric", "item"} <= set(old):
        return old
    keys = list(zip(old["source"], old["metric"], old["item"], strict=True))
    known = {key: unpacked(*key) for key in set(keys)}
    new = pd.DataFrame([known[key] for key in keys], index=old.index)
    columns = [name for name in old if name != "item"]
    at = columns.index("metric")
    return pd.concat([old[columns[:at]], new[["metric", *PLACE]], old[columns[at + 1 :]]], axis=1)


def unpack_results(old):
    """A table of results in which the setting stood behind the method, or the item was packed."""
    if "assignment" in old and "item" in old:
        pairs = old["item"].astype(str).str.partition("#")
        of_kind = old["metric"].astype(str).str.startswith("regression_")
        new = old.assign(
            part=np.where(of_kind, pairs[0], old["item"]), variable=np.where(of_kind, pairs[2], "")
        )
        columns = list(old.columns)
        at = columns.index("item")
        return new[[*columns[:at], "part", "variable", *columns[at + 1 :]]]
    if {"diff", "method"} <= set(old) and "setting" not in old:
        pairs = old["method"].astype(str).str.partition(" ")
        new = old.assign(method=pairs[0], setting=pairs[2])
        columns = list(old.columns)
        at = columns.index("method") + 1
        return new[[*columns[:at], "setting", *columns[at:]]]
    return old


def unpack_rules(text):
    """The outcomes of a claim's rules without their words, the measure of a rate beside it."""
    rules = json.loads(text)
    for rule in rules:
        rule.pop("text", None)
        if "metric" not in rule:
            continue
        measure = rule.pop("measure", "")
        if not measure:
            rule["metric"], measure = of_measure(rule["metric"])
        if rule["metric"] != "identity_gap":
            rule["measure"] = measure
    return rules
