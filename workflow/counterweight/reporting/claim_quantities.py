"""Quantities that the rules of claims compare, taken from the metrics.

Where a metric has several values (settings, parts, steps ...) each is a *place*, named by the
columns `counterweight.tables.parquet.PLACE`.
"""

import copy
import difflib
import fnmatch
import functools
import math

import numpy as np
import pandas as pd

from counterweight.reporting.numbers import failure_of, last_line
from counterweight.reporting.wording import measure_of
from counterweight.tables.parquet import PLACE, numbers_of
from counterweight.tables.study_data import generator

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


class Nothing(Missing):
    """What was measured says nothing on what a rule asks."""


class Measurements:
    """Everything measured, indexed once by study, source, metric and target."""

    def __init__(self, metrics):
        metrics = metrics[metrics["value"].notna()]
        self._rows = metrics.groupby(
            ["study", "source", "metric", "target"], sort=False, observed=True
        ).indices
        metrics = metrics.fillna({column: -1 for column in _NUMBERS})
        self._columns = {
            column: metrics[column].to_numpy(None if column in _NUMBERS else object)
            for column in PLACE
        }
        self._repeats, self._values = (metrics[name].to_numpy() for name in ("repeat", "value"))
        self._errors = metrics["standard_error"].to_numpy(float)
        self._frames, self._numbers, self._chosen, self._chance = {}, {}, {}, None

    def frame(self, side, every):
        """Rows by repeat, columns by place; None where nothing was measured. Made once.

        With `every`, columns of a place that the `side` does not name may have any value.
        """
        target, place = side.get("target", ""), tuple(side.get(name, "") for name in PLACE)
        key = side["study"], side["source"], side["metric"], target, place, every
        if key not in self._frames:
            self._frames[key] = self._frame(side, every)
        return self._frames[key]

    def _rows_of(self, side, every):
        """Places of the rows of one side in the metrics; None where nothing was measured."""
        named = (side["study"], side["source"], side["metric"], side.get("target", ""))
        rows = self._rows.get(named)
        for column in PLACE if rows is not None else ():
            wanted = side.get(column, "")
            if wanted != "" or not every:
                rows = rows[_matches(column, self._columns[column][rows], wanted)]
        return rows

    def redrawn(self, times):
        """The same measurements so many times, of repeats that are drawn with replacement."""
        for number in range(times):
            again = copy.copy(self)  # what is indexed once stays so
            again._chance = number
            yield again

    def drawn(self, *sides):
        """Frames (or numbers) of a rule as they are, or at the repeats that `redrawn` has chosen.

        Those are common to all: what is paired stays so. Rules of one study have the same.
        """
        return sides if self._chance is None else self._paired(*sides, choose=self._chosen_of)

    def numbers(self, rule, measured, told):
        """Both sides of a rule, a number for each repeat, as they are or at the repeats chosen.

        Made once: `told` takes the frames of `measured` at their common repeats, and gives Series
        by the place of a repeat among these, or on the right a number for all.
        """
        if id(rule) not in self._numbers:
            frame, other = self._paired(*measured())
            sides, kept = told(frame, other), np.full(len(frame), -1)
            kept[sides[0].index] = np.arange(len(sides[0]))
            sides = [side.to_numpy() if isinstance(side, pd.Series) else side for side in sides]
            # The rule is held, so that no other has its identity.
            self._numbers[id(rule)] = rule, kept, sides
        _, kept, sides = self._numbers[id(rule)]
        if self._chance is None:
            return sides
        at = kept[self._chosen_of(len(kept))]
        at = at[at >= 0]
        if not len(at):
            raise Missing("the two sides have no repeat in common")
        return [side[at] if isinstance(side, np.ndarray) else side for side in sides]

    def _chosen_of(self, repeats):
        """Which of so many repeats `redrawn` has chosen."""
        if (repeats, self._chance) not in self._chosen:
            rng = generator(0, f"{repeats} repeats", self._chance, "redraw")
            at = rng.integers(0, repeats, repeats) if repeats else np.empty(0, int)
            self._chosen[repeats, self._chance] = at
        return self._chosen[repeats, self._chance]

    @staticmethod
    def _paired(*sides, choose=np.arange):
        """Frames (or numbers) of a rule at repeats that all of them have, those that are chosen."""
        frames = [side for side in sides if isinstance(side, pd.DataFrame)]
        common = frames[0].index
        for frame in frames[1:]:
            common = common.intersection(frame.index)
        at, order = common[choose(len(common))], pd.RangeIndex(len(common), name="repeat")
        return [
            pd.DataFrame(side.to_numpy()[side.index.get_indexer(at)], order, side.columns)
            if isinstance(side, pd.DataFrame)
            else side
            for side in sides
        ]

    def row_variance(self, side):
        """Mean square of the standard errors of one side's values; NaN where none is known."""
        rows = self._rows_of(side, False)
        squares = np.empty(0) if rows is None else self._errors[rows] ** 2
        return float(squares.mean()) if len(squares) else math.nan

    def repeats_of(self, side):
        """How many repeats a side was measured in."""
        rows = self._rows_of(side, bool(side.get("aggregate")))
        return 0 if rows is None else len(np.unique(self._repeats[rows]))

    def _frame(self, side, every):
        rows = self._rows_of(side, every)
        if rows is None or not len(rows):
            return None
        # Two sides of one measure each have the same places.
        measures = self._columns["measure"][rows]
        columns = [c for c in PLACE if c != "measure" or len({*measures}) > 1]
        places = list(zip(*(self._columns[column][rows] for column in columns), strict=True))
        known = sorted({*places})
        at = {place: number for number, place in enumerate(known)}
        index, line = np.unique(self._repeats[rows], return_inverse=True)
        cells = line * len(known) + np.array([at[place] for place in places])
        total, number = (
            np.bincount(cells, weights, len(index) * len(known)).reshape(len(index), len(known))
            for weights in (self._values[rows], None)
        )
        with np.errstate(invalid="ignore"):
            values = total / number  # NaN where nothing was measured
        heads = _heads(tuple(columns), tuple(known))
        return pd.DataFrame(values, pd.Index(index, name="repeat"), heads)


@functools.cache
def _heads(columns, known):
    """Places as the columns of a frame; many sides have the same."""
    return pd.MultiIndex.from_tuples(known, names=columns)


def _matches(column, values, wanted):
    """Which values of a column are the wanted one, or like a pattern; "" is a missing one."""
    if column in _NUMBERS:
        return values == (-1 if wanted == "" else wanted)
    if wanted == "":
        return values == ""
    fitting = {*fnmatch.filter({*values}, wanted)}
    return np.array([value in fitting for value in values], bool)


def measure_in(plan, side, metric=None):
    """The `counterweight.reporting.wording.Measure` of a side, or of another metric there.

    Of a study that is not part of the run, by what the others know.
    """
    study = plan["studies"].get(side["study"]) or {}
    declared = study.get("measures") or plan.get("measures") or {}
    return measure_of(declared, metric or side["metric"], "" if metric else side.get("measure", ""))


def draws_of(side, plan):
    """Methods whose measurements a side takes together: draws of one where it asks for them.

    Its source alone where that is no method of several draws, such as the labels.
    """
    if "draws" not in side:
        return [side["source"]]
    return plan["studies"][side["study"]].get("draws", {}).get(side["source"], [side["source"]])


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
    kinds = [
        plan["studies"][study].get(kind, ()) for kind in ("methods", "selectors", "weightings")
    ]
    known = {"labels", *(one["id"] for kind in kinds for one in kind)}
    if source not in known:
        return f"{source!r} is not part of the study {study!r}{_near(source, sorted(known))}"
    if side.get("draws") == "spread" and len(draws_of(side, plan)) < 2:
        return f"{source!r} in {study!r} was fitted with one draw only"
    return None


def places_of(metrics, side, plan, failures, every=False):
    """Values of one side of a rule: a row for each repeat, a column for each place.

    The `side` has the rule's defaults. With ``draws`` each value is the mean over the draws of its
    ``source``, or their spread. Its ``setting``, ``part`` ... name one place, the columns that it
    leaves out being empty there; with ``aggregate`` or `every` (the rule compares place by place)
    they may be patterns such as ``alpha=*``, and what is left out is not asked for. With ``within``
    the columns are budgets: the least value among the places whose other metric is at most the
    budget. Raises `Missing`.
    """
    problem = unknown(side, plan)
    if problem:
        raise Missing(problem)
    if "draws" in side:
        alone = {key: value for key, value in side.items() if key != "draws"}
        frames = [
            _places_of(metrics, {**alone, "source": draw}, plan, failures, every)
            for draw in draws_of(side, plan)
        ]
        return DRAWS[side["draws"]](frames)
    return _places_of(metrics, side, plan, failures, every)


def _places_of(metrics, side, plan, failures, every):
    """Values of one side that names one method."""
    every = bool(every)
    frame = metrics.frame(side, every or "within" in side or bool(side.get("aggregate")))
    if frame is not None and "within" in side:
        other = metrics.frame({**side, "metric": side["within"]["metric"]}, True)
        frame = None if other is None else _within(frame, other, side["within"]["at_most"])
        if frame is None:
            raise Missing(
                f"no setting of {side['source']!r} in {side['study']!r} is within the limits on "
                f"{measure_in(plan, side, side['within']['metric']).label}"
            )
    if frame is None:
        study, source = side["study"], side["source"]
        failure = failure_of(failures, study, source, plan["studies"][study].get("dataset"))
        reason = last_line(failure["reason"]) if failure else "it was not measured in this run"
        name = measure_in(plan, side).label
        raise Missing(f"{source!r} in {study!r} has no {name}: {reason.rstrip('.')}")
    return (frame - side["distance_to"]).abs() if "distance_to" in side and every else frame


def _over(take):
    """A function of frames: `take` of each value, where all of them have it."""

    def together(frames):
        repeats, places = frames[0].index, frames[0].columns
        for frame in frames[1:]:
            repeats, places = repeats.intersection(frame.index), places.intersection(frame.columns)
        if not (len(repeats) and len(places)):
            raise Missing("the draws have no repeat in common")
        values = np.stack([frame.loc[repeats, places].to_numpy() for frame in frames])
        return pd.DataFrame(take(values), repeats, places)

    return together


#: One value from those of several draws.
DRAWS = {
    "mean": _over(lambda values: values.mean(axis=0)),
    "spread": _over(lambda values: values.max(axis=0) - values.min(axis=0)),
}


def _within(frame, other, budgets):
    """Least value of each repeat among the places within each budget; None where none is."""
    other = other.reindex(index=frame.index, columns=frame.columns).to_numpy()
    values = frame.fillna(np.inf).to_numpy()
    budgets = budgets if isinstance(budgets, list) else [budgets]
    least = {
        f"{budget:g}": np.where(other <= budget + _ROUNDING, values, np.inf).min(axis=1)
        for budget in budgets
    }
    least = pd.DataFrame(least, index=frame.index).replace(np.inf, np.nan)
    least = least.dropna(axis=1, how="all")
    return None if least.empty else least


def values_of(frame, side, average):
    """One number for each repeat from the places of one side.

    With `average`, the mean over repeats is taken before places are aggregated, and the
    Series has one element.
    """
    if average:
        frame = frame.mean(axis=0).to_frame().T
    aggregate = side.get("aggregate", "mean")
    alone = frame.shape[1] == 1 and aggregate != "max_abs"
    values = (frame.iloc[:, 0] if alone else AGGREGATES[aggregate](frame)).dropna()
    return (values - side["distance_to"]).abs() if "distance_to" in side else values


def option_values(frame, option):
    """The number that an option has in each setting, in the shape of the other side."""
    known = frame.columns.get_level_values("setting") if "setting" in frame.columns.names else [""]
    numbers = [numbers_of(setting).get(option) for setting in known]
    if None in numbers:
        raise Missing(f"not every setting says {option!r}")
    return frame * 0 + numbers


def log_ratio(left, right):
    """Logarithm of left over right. Raises `Missing` where one of them is not above 0.

    Ratios have their interval on this scale: it is as far below a ratio as above, whichever side
    stands on the right.
    """
    if np.any(np.asarray(left) <= 0) or np.any(np.asarray(right) <= 0):
        raise Missing("a side is 0 or less, so there is no ratio of the two")
    return np.log(left / right)


def ratios_told(*logarithms):
    """Ratios less 1 from their logarithms."""
    return tuple(map(np.expm1, logarithms))


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
    difference = log_ratio(left, right) if relative else left - right
    if average:
        difference = difference.mean(axis=0).to_frame().T
    return AGGREGATES[each](difference).dropna()
