"""Tables of results with packed names, as they were, in the columns that they have now.

Until the columns `counterweight.files.tables.PLACE` came, a measurement had one text ``item`` in
which settings, parts and rates were packed, rates had their rule in the name of the metric, and
the arrays of a swept model had the setting in their name. This module takes such tables apart, so
that results from before can be compared with results from now, value by value:

    python tests/item_columns.py OLD_RESULTS NEW_RESULTS
"""

import json
import re
import sys
from pathlib import Path

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
    if "item" not in old:
        return old
    known = {
        key: unpacked(*key)
        for key in set(zip(old["source"], old["metric"], old["item"], strict=True))
    }
    rows = [known[key] for key in zip(old["source"], old["metric"], old["item"], strict=True)]
    new = pd.DataFrame(rows, index=old.index)
    head = ["study", "source", "repeat", "target"]
    tail = ["value", "standard_error", "rows"]
    return pd.concat([old[head], new[["metric", *PLACE]], old[tail]], axis=1)


def unpack_model(old):
    """A table of fitted models with settings in the names of arrays, with a column for them."""
    if "setting" in old:
        return old
    pairs = old["parameter"].astype(str).str.partition("@")
    new = old.assign(setting=pairs[2], parameter=pairs[0])
    return new[["repeat", "target", "setting", "parameter", "i", "j", "k", "value"]]


def unpack_results(old, methods=None):
    """A table of results in which the method or the item was packed.

    `methods` are the ids of the study's methods: an id may itself hold no space.
    """
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
        measure = rule.pop("measure", "")
        if not measure:
            rule["metric"], measure = of_measure(rule["metric"])
        if rule["metric"] != "identity_gap":
            rule["measure"] = measure
        rule.pop("text")
    return rules


def differs(old, new):
    """What of two tables is not exactly equal, as text; "" where all is."""
    if list(old.columns) != list(new.columns):
        return f"columns {list(old.columns)} and {list(new.columns)}"
    if len(old) != len(new):
        return f"{len(old)} and {len(new)} rows"
    for name in old:
        one, other = (frame[name].reset_index(drop=True) for frame in (old, new))
        if pd.api.types.is_numeric_dtype(one):
            one, other = one.to_numpy(float), other.to_numpy(float)
            same = (one == other) | (np.isnan(one) & np.isnan(other))
        else:
            same = (one.fillna("") == other.fillna("")).to_numpy()
        if not np.all(same):
            first = int(np.argmin(same))
            return f"{name}, {int((~same).sum())} rows, first {first}: {one[first]}, {other[first]}"
    return ""


def main(old, new):
    """Compare every table of two folders of results; print what differs."""
    wrong = done = 0
    for path in sorted(Path(old).glob("**/*.parquet")):
        place = path.relative_to(old)
        other = Path(new) / place
        if not other.exists():
            print(f"{place}: not there")
            wrong += 1
            continue
        frames = [pd.read_parquet(one) for one in (path, other)]
        if place.name == "claims.parquet":
            continue
        for unpack in (unpack_items, unpack_results):
            if "value" in frames[0] or unpack is unpack_results:
                frames[0] = unpack(frames[0])
        if "parameter" in frames[0]:
            frames[0] = unpack_model(frames[0])
        text = differs(*frames)
        done, wrong = done + 1, wrong + bool(text)
        if text:
            print(f"{place}: {text}")
    claims = [pd.read_parquet(Path(folder) / "claims.parquet") for folder in (old, new)]
    rules = [frame["rules"].map(unpack_rules).tolist() for frame in claims]
    told = claims[0]["detail"] != claims[1]["detail"]
    print(f"{int(told.sum())} of {len(told)} claims are told in other words")
    text = differs(*(frame.drop(columns=["rules", "detail"]) for frame in claims))
    same = rules[0] == rules[1]
    print(f"claims: {text or 'equal'}; outcomes of rules: {'equal' if same else 'differ'}")
    print(f"{done} tables, {wrong} differ")
    return 1 if wrong or text or not same else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
