"""Quantities that the rules of claims compare, taken from the metrics.

Where a metric has several values (settings, parts, steps ...) each is a *place*, named by the
columns `counterweight.files.tables.PLACE`.
"""

import difflib
import fnmatch

import pandas as pd

from counterweight.files.settings import numbers_of
from counterweight.files.tables import PLACE
from counterweight.reporting.page import wording
from counterweight.reporting.page.tables import failure_of, last_line

#: One number from the values of all places, for each repeat.
AGGREGATES = {
    "max": lambda frame: frame.max(axis=1),
    "min": lambda frame: frame.min(axis=1),
    "mean": lambda frame: frame.mean(axis=1),
    "max_abs": lambda frame: frame.abs().max(axis=1),
}
#: A measured value counts as within a budget that it exceeds by rounding only.
_ROUNDING = 1e-9
#: Columns of a place that hold numbers.
_NUMBERS = frozenset({"step", "keep_rate"})


class Missing(Exception):
    """A quantity that a rule needs has no value; the text says why."""


def sources_of(study):
    """Names that metrics of a study can have as their source, from the plan."""
    names = {"labels"}
    for kind in ("methods", "selectors", "weightings"):
        names.update(entry["id"] for entry in study.get(kind, ()))
    return names


def _near(word, known):
    near = difflib.get_close_matches(word, known, 1)
    return f" (the nearest is {near[0]!r})" if near else ""


def unknown(side, plan):
    study, source = side["study"], side.get("source")
    if "option" in side:
        return None
    if study not in plan["studies"]:
        return f"the study {study!r} is not part of this run{_near(study, plan['studies'])}"
    if source is None:
        return "no source is given"
    known = sources_of(plan["studies"][study])
    if source not in known:
        return f"{source!r} is not part of the study {study!r}{_near(source, sorted(known))}"
    return None


def places_of(metrics, side, plan, failures, every=False):
    """Values of one side of a rule: a row for each repeat, a column for each place.

    Parameters
    ----------
    metrics : dict of (str, str, str) to pandas.DataFrame
        By study, source and metric.
    side : dict
        The side with the rule's defaults. Its ``setting``, ``part`` ... name one place, the
        columns that it leaves out being empty there; with ``aggregate`` or `every` they may
        be patterns such as ``alpha=*``, and what is left out is not asked for. With
        ``within`` the columns are budgets: the least value among the places whose other
        metric is at most the budget.
    plan : dict
    failures : iterable of dict
    every : bool
        Whether the rule compares place by place.

    Raises
    ------
    Missing
    """
    problem = unknown(side, plan)
    if problem:
        raise Missing(problem)
    frame = _frame(metrics, side, every or "within" in side)
    if frame is not None and "within" in side:
        other = _frame(metrics, {**side, "metric": side["within"]["metric"]}, True)
        frame = None if other is None else _within(frame, other, side["within"]["at_most"])
        if frame is None:
            raise Missing(
                f"no setting of {side['source']!r} in {side['study']!r} is within the limits on "
                f"{wording.metric_name(side['within']['metric'])}"
            )
    if frame is None:
        study, source = side["study"], side["source"]
        failure = failure_of(failures, study, source, plan["studies"][study].get("dataset"))
        reason = last_line(failure["reason"]) if failure else "it was not measured in this run"
        name = metric_name(side)
        raise Missing(f"{source!r} in {study!r} has no {name}: {reason.rstrip('.')}")
    return (frame - side["distance_to"]).abs() if "distance_to" in side and every else frame


def _frame(metrics, side, every):
    rows = metrics.get((side["study"], side["source"], side["metric"]))
    if rows is None:
        return None
    rows = rows[(rows["target"] == side.get("target", "")) & rows["value"].notna()]
    several = every or bool(side.get("aggregate"))
    for column in PLACE:
        if side.get(column, "") != "":
            rows = rows[_matches(rows[column], side[column])]
        elif not several:
            rows = rows[_empty(rows[column])]
    if rows.empty:
        return None
    # Two sides of one measure each have the same places.
    columns = [name for name in PLACE if name != "measure" or rows[name].nunique() > 1]
    rows = rows.fillna({column: -1 for column in _NUMBERS})
    return rows.pivot_table(index="repeat", columns=columns, values="value", aggfunc="mean")


def _matches(values, wanted):
    """Which values of a column are the wanted one, or like a pattern."""
    if values.name in _NUMBERS:
        return values == wanted
    return values.isin(fnmatch.filter(values.unique(), wanted))


def _empty(values):
    return values.isna() if values.name in _NUMBERS else values == ""


def metric_name(side):
    """What a side takes, in print."""
    return wording.metric_name(side["metric"], side.get("measure", ""), side.get("setting", ""))


def _within(frame, other, budgets):
    """Least value of each repeat among the places within each budget; None where none is."""
    other = other.reindex(index=frame.index, columns=frame.columns)
    budgets = budgets if isinstance(budgets, list) else [budgets]
    least = pd.DataFrame(
        {f"{budget:g}": frame.where(other <= budget + _ROUNDING).min(axis=1) for budget in budgets}
    )
    least = least.dropna(axis=1, how="all")
    return None if least.empty else least


def values_of(frame, side, average):
    """One number for each repeat from the places of one side.

    With `average`, the mean over repeats is taken before places are aggregated, and the
    Series has one element.
    """
    if average:
        frame = frame.mean(axis=0).to_frame().T
    values = AGGREGATES[side.get("aggregate", "mean")](frame).dropna()
    return (values - side["distance_to"]).abs() if "distance_to" in side else values


def option_values(frame, option):
    """The number that an option has in each setting, in the shape of the other side."""
    known = frame.columns.get_level_values("setting") if "setting" in frame.columns.names else [""]
    numbers = [numbers_of(setting).get(option) for setting in known]
    if None in numbers:
        raise Missing(f"not every setting says {option!r}")
    return frame * 0 + numbers


def differences(left, right, each, relative, average):
    """Left minus right place by place, and one number of these for each repeat.

    Places and repeats that one side does not have are passed over.
    """
    if isinstance(right, pd.DataFrame):
        places = left.columns.intersection(right.columns)
        repeats = left.index.intersection(right.index)
        if not (len(places) and len(repeats)):
            raise Missing("the two sides have no setting or part in common")
        left, right = left.loc[repeats, places], right.loc[repeats, places]
        scale = right.abs()
    else:
        scale = abs(right)
    difference = left - right
    if relative:
        difference = difference / scale
    if average:
        difference = difference.mean(axis=0).to_frame().T
    return AGGREGATES[each](difference).dropna()
