"""Everything that was measured in one study, found by what it is, and why something was not."""

import functools
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.estimate import (
    LEAST_REPEATS,
    UNBOUNDED,
    around,
    bounds_of_difference,
    mean_variance,
    normal_interval,
    paired_interval,
)
from counterweight.reporting import blocks
from counterweight.reporting.wording import joined_words, label_of, measure_of, setting_label
from counterweight.tables.parquet import (
    METRICS,
    PLACE,
    model_arrays,
    read_arrow,
    read_table,
    setting_options,
)

#: What a number is addressed by, beside its repeat.
KEYS = ("source", "target", "metric", *PLACE)
#: A place that is not given: text is "", numbers are -1 (they are never negative).
_EMPTY = {"measure": "", "setting": "", "part": "", "variable": "", "step": -1, "keep_rate": -1.0}
#: Values of what was not measured.
NOTHING = pd.Series(dtype=float)


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

    @property
    def bounded(self):
        """Whether it has an interval."""
        return not math.isnan(self.low)

    @property
    def ends(self):
        """What it is judged by: its interval; one number where nothing is left to chance.

        Anything where a few repeats differ and tell no interval.
        """
        alone = (-math.inf, math.inf) if self.sd > 0 else (self.mean, self.mean)
        return (self.low, self.high) if self.bounded else alone

    @property
    def beyond_chance(self):
        """Whether its interval does not hold 0."""
        return self.low > 0 or self.high < 0

    def times(self, factor):
        """The same in another unit; a negative factor turns it round."""
        mean, sd, low, high, _, least, greatest = (factor * value for value in self)
        if factor < 0:
            sd, low, high, least, greatest = -sd, high, low, greatest, least
        return Estimate(mean, sd, low, high, self.n, least, greatest)


def summarised(rows, test_share, keys, limits=None):
    """Mean, sd, corrected resampled interval and range of each group of rows, in their order.

    The interval is that of `counterweight.numerics.estimate.paired_interval`, for all groups at
    once (of `mean_variance` where most rows are test rows), within the bounds that
    ``limits(metric, measure)`` says; NaN where a group has fewer than three rows. Columns are those
    of `Estimate`, and ``standard_error`` and ``rows`` of each group's first row.
    """
    from scipy.special import stdtrit

    groups = rows.groupby(list(keys), sort=False)
    table = groups["value"].agg(["mean", "std", "count", "min", "max"])
    n, sd = table["count"].to_numpy(float), table["std"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = (rows["standard_error"] ** 2).groupby([rows[key] for key in keys], sort=False)
        spread = np.sqrt(mean_variance(sd**2, n, test_share, squares.mean().to_numpy(float)))
        half = stdtrit(np.maximum(n - 1, 1), 0.975) * spread
    bounds = UNBOUNDED
    if limits is not None:
        named = table.index.to_frame()[["metric", "measure"]].itertuples(index=False, name=None)
        bounds = np.array([limits(*pair) for pair in named], float).reshape(-1, 2).T
    half = np.where(n < LEAST_REPEATS, np.nan, half)
    low, high = around(table["mean"].to_numpy(float), half, bounds)
    table = table.rename(columns={"std": "sd", "count": "n", "min": "least", "max": "greatest"})
    return table.assign(low=low, high=high).join(groups[["standard_error", "rows"]].first())


class _Plan:
    """What the plan of the report says of a study: its part of it is ``plan``."""

    @property
    def sources(self):
        """Ids of the methods, in the order of the plan."""
        return list(self._methods)

    @property
    def protocol(self):
        """Options of the study's protocol."""
        return (self.plan.get("protocol") or {}).get("options") or {}

    def methods(self, swept=None):
        """Methods of the plan in its order; only those with a sweep, or only those without."""
        known = list(self._methods.values())
        return known if swept is None else [one for one in known if bool(one["sweep"]) == swept]

    def method(self, source):
        return self._methods[source]

    def label(self, source, setting=""):
        """A method, selector or weighting in print, with a setting of it."""
        label = label_of(self.plan, source, source.replace("_", " "))
        return joined_words([label, setting_label(setting)])

    def named(self, measure):
        """A measure, such as an estimator or a rate, in print."""
        known = (self.plan.get("labels") or {}).get("measure") or {}
        return known.get(measure) or measure.replace("_", " ")

    @property
    def headline(self):
        """The metric that methods are compared by: the first column that was measured, or None."""
        columns = self.plan.get("columns") or list(self.plan.get("measures") or {})
        return next((metric for metric in columns if self.measured(metric)), None)

    def role(self, source):
        """main, method, peer, baseline or bound (which sees what nobody knows)."""
        return self._methods.get(source, {}).get("role", "method")

    def sees_hidden(self, source):
        """Whether a method, or what it rests on, sees what is hidden from all others."""
        return self.role(source) == "bound" or bool(self._methods.get(source, {}).get("oracle"))

    @property
    def baseline(self):
        """Id of the method that others are compared with, or None."""
        name = self.plan.get("baseline")
        return name if name in self._methods else None

    def measure(self, metric, measure=""):
        """The `counterweight.reporting.wording.Measure` of a metric."""
        return measure_of(self.plan.get("measures") or {}, metric, measure)


class _Files:
    """Parquet files below the folder of a study."""

    def table(self, file):
        """A Parquet file of the study as a frame, e.g. ``"features.parquet"``."""
        return read_table(self.folder / file)

    def columns(self, file):
        """Names of the columns of a Parquet file of the study, without reading its rows."""
        import pyarrow.parquet as pq

        return pq.read_schema(self.folder / file).names

    def model(self, method, repeat=0, target="general"):
        """Named arrays of one fitted model; refused where the repeat and target are not there."""
        path = self.folder / "models" / f"{method}.parquet"
        rows = read_table(path)
        rows = rows[(rows["repeat"] == repeat) & (rows["target"] == target)]
        if rows.empty:
            raise CounterweightError(
                f"{path} has no model of repeat {repeat} for the target {target!r}: "
                "delete it and run again to make it anew."
            )
        return model_arrays(rows)


def read_tables(paths):
    """Tables with the same columns, such as of metrics, as one frame, in order.

    They are put together before they become pandas': there a column of texts stays in as many parts
    as there were tables, and takes many times as long to take rows of.
    """
    return pa.concat_tables(map(read_arrow, paths)).combine_chunks().to_pandas()


class StudyNumbers(_Plan, _Files):
    """The plan, the metrics and the files of one study.

    A number is addressed by source (a method, selector, weighting, or "labels"), metric, target,
    and where it has one by its place: ``measure, setting, part, variable, step, keep_rate``. `plan`
    is the study's part of the plan of the report, `metrics` have the layout
    `tables.parquet.METRICS` (rows of other studies are dropped), `printed` are figures
    of the papers, from `counterweight.reporting.claims.load_claims`.
    """

    def __init__(self, name, plan, metrics, folder="", printed=()):
        self.name, self.plan, self.folder = name, plan, Path(folder)
        #: Where the study's folder stands below that of the run, which it may be itself.
        self.within = plan.get("folder", name)
        self.results = self.folder if self.within == "." else self.folder.parent
        self.metrics = metrics[metrics["study"] == name]
        rows = self.metrics[self.metrics["value"].notna()].fillna({"step": -1, "keep_rate": -1.0})
        self._rows = rows.sort_values("repeat", kind="stable")
        limits = functools.cache(lambda *named: self.measure(*named).limits)
        self.summary = summarised(rows, plan["test_share"], KEYS, limits)
        known = self.summary[[*Estimate._fields]].itertuples(index=False, name=None)
        self._known = dict(zip(self.summary.index, known, strict=True))
        self._errors = self.summary["standard_error"].to_dict()
        self._places = {}
        for key in self._known:
            self._places.setdefault(key[:3], []).append(key[3:])
        self._positions = self._by_repeat = self._by_metric = None
        self._found = {}
        self._by_source = {}
        for (source, of, what), places in self._places.items():
            self._by_source.setdefault(source, []).append((of, what, places))
        self._printed = {
            self._key(entry["source"], entry["metric"], entry["target"], entry): entry["value"]
            for entry in printed
            if entry["study"] == name
        }
        self._methods = {one["id"]: one for one in plan["methods"]}

    @staticmethod
    def _key(source, metric, target, place):
        return (source, target, metric, *(place.get(name, _EMPTY[name]) for name in PLACE))

    @property
    def main(self):
        """Id of the method that the study is about: as delivered or named, else a plain one."""
        given, _ = self.delivered
        named = given or self.plan.get("main")
        if named in self._methods:
            return named
        roles = ("main", "method", "peer")
        ranked = (name for role in roles for name in self._methods if self.role(name) == role)
        return next(ranked, self.baseline)

    @property
    def delivered(self):
        """Method and setting that were chosen to be delivered; None and "" where none was."""
        chosen = self.rows("delivered", "delivered")
        if chosen.empty:
            return None, ""
        return str(chosen["part"].iloc[0]), str(chosen["setting"].iloc[0])

    # Numbers.

    def get(self, source, metric, target="general", **place):
        """An `Estimate`, of NaN where nothing was measured.

        Where its measure names metrics that are its ends, the interval is from the mean of one
        to that of the other, unless both are the same. Where repeats tell nothing of chance (there
        is one, or all are the same), it is that whose ends were measured as the variables low and
        high, else the normal one of its standard error, if it has one.
        """
        key = self._key(source, metric, target, place)
        known = self._known.get(key)
        if known is None:
            return Estimate()
        found, measure = Estimate(*known), self.measure(metric, place.get("measure", ""))
        if measure.ends:
            ends = [self._known.get(self._key(source, end, target, place)) for end in measure.ends]
            if None not in ends and ends[0][0] < ends[1][0]:
                return found._replace(low=ends[0][0], high=ends[1][0])
        if not found.sd > 0 and not math.isnan(self._errors[key]):
            ends = (place | {"variable": end} for end in ("low", "high"))
            ends = [self._known.get(self._key(source, metric, target, end)) for end in ends]
            if None in ends:
                low, high = normal_interval(found.mean, self._errors[key], bounds=measure.limits)
            else:
                low, high = (end[0] for end in ends)
            found = found._replace(low=low, high=high)
        return found

    def values(self, source, metric, target="general", **place):
        """Values by repeat; empty where nothing was measured."""
        if self._positions is None:
            self._positions = self._rows.groupby(list(KEYS), sort=False).indices
            self._by_repeat = self._rows.set_index("repeat")["value"]
        known = self._positions.get(self._key(source, metric, target, place))
        return NOTHING if known is None else self._by_repeat.iloc[known]

    def difference(self, first, second, bounds=UNBOUNDED):
        """`Estimate` of the paired differences of two Series by repeat, first minus second.

        Without an interval for fewer than three repeats; within the bounds of the difference.
        """
        if first.index.equals(second.index):
            differences = first.to_numpy() - second.to_numpy()
        else:
            differences = (first - second).to_numpy()
        differences = differences[~np.isnan(differences)]
        mean, low, high = paired_interval(differences, self.plan["test_share"], bounds=bounds)
        if len(differences) < LEAST_REPEATS:
            low = high = math.nan
        sd = float(differences.std(ddof=1)) if len(differences) > 1 else math.nan
        return Estimate(mean, sd, low, high, len(differences))

    def change(self, first, second):
        """`Estimate` of a ratio of means of two Series by repeat, minus 1.

        Its interval is that of the ratio's linear form (delta method).
        """
        both = pd.concat([first, second], axis=1, keys=["first", "second"]).dropna()
        scale = both["second"].mean()
        if both.empty or not scale:
            return Estimate()
        ratio = both["first"].mean() / scale
        return self.difference(both["first"] / scale, both["second"] * ratio / scale + 1 - ratio)

    def against(self, other, source, metric, target="general", **place):
        """`difference` of a method from another one, in one metric at the same place.

        From the other's at the same setting, or without one where it has none. Without an interval
        where repeats tell nothing of chance.
        """
        base = self.values(other, metric, target, **place)
        if base.empty:
            base = self.values(other, metric, target, **place | {"setting": ""})
        if base.empty:
            return Estimate()
        limits = self.measure(metric, place.get("measure", "")).limits
        gap = self.difference(
            self.values(source, metric, target, **place), base, bounds_of_difference(limits, limits)
        )
        return gap if gap.sd > 0 else gap._replace(low=math.nan, high=math.nan)

    def in_print(self, source, metric, target="general", **place):
        """A figure of the paper, or NaN."""
        return self._printed.get(self._key(source, metric, target, place), math.nan)

    def places(self, column, source, metric, target="general", **fixed):
        """Values of a column of the place that a metric was measured at, in their order."""
        at = PLACE.index(column)
        wanted = [(PLACE.index(name), value) for name, value in fixed.items()]
        places = self._places.get((source, target, metric), ())
        found = (one[at] for one in places if all(one[k] == value for k, value in wanted))
        return list(dict.fromkeys(found))

    def settings(self, source, metric=None, target=None):
        """Settings of a method that were measured, by the numbers in them."""
        known = {
            place[PLACE.index("setting")]
            for of, what, places in self._by_source.get(source, ())
            if metric in (None, what) and target in (None, of)
            for place in places
        }
        return sorted(known, key=_by_numbers)

    def curve(self, source, metric, option, target="general", **place):
        """``(value, mean, low, high)`` of a metric by the only option of its settings.

        Both bounds are the mean where there is no interval.
        """
        points = []
        for setting in self.places("setting", source, metric, target):
            options = setting_options(setting)
            known = self.get(source, metric, target, setting=setting, **place)
            if not known.known or set(options) != {option} or isinstance(options[option], str):
                continue
            bounds = (known.low, known.high) if known.bounded else (known.mean, known.mean)
            points.append((options[option], known.mean, *bounds))
        return sorted(points)

    def measured(self, metric, target=None, source=None):
        """Whether a metric was measured at all."""
        return any(
            what == metric and target in (None, of) and source in (None, name)
            for name, of, what in self._places
        )

    # Rows, for figures.

    def rows(self, source, metric, target=None):
        """Rows of one metric of one source."""
        key = source, metric, target
        if key not in self._found:
            if self._by_metric is None:
                self._by_metric = self.metrics.groupby(["source", "metric"], sort=False).indices
            rows = self.metrics.iloc[self._by_metric.get(key[:2], [])]
            self._found[key] = rows if target is None else rows[rows["target"] == target]
        # Wide and narrow figures ask for the same; what one adds to it is not the other's.
        return self._found[key].copy(deep=False)

    def means_by(self, column, source, metric, target=None):
        """Mean over repeats for each value of a column, such as ``part``, as a Series."""
        return self.rows(source, metric, target).groupby(column, sort=False)["value"].mean()


#: The one form of every table of results; see `results_table`.
TABLE = (
    *((name, "string") for name in ("study", "target", "method", "label")),
    ("oracle", "bool"),
    *((name, "string") for name in ("setting", "metric", "measure", "part", "variable")),
    *(("keep_rate", "float64"), ("unit", "string")),
    *((name, "float64") for name in ("estimate", "low", "high")),
    *((name, "float64") for name in ("diff", "diff_low", "diff_high", "sd")),
    *(("n", "int64"), ("printed", "float64"), ("status", "string"), ("reason", "string")),
)


def results_table(numbers, targets, reason_of, metrics, methods=None):
    """What was measured in a study, a row for each number: columns `TABLE`.

    A row is found by method, setting, target, metric, measure, part, variable and keep rate.
    ``estimate`` is the mean over the ``n`` repeats, from ``low`` to ``high`` its 95 % interval,
    ``sd`` the standard deviation over repeats. ``diff`` with ``diff_low`` and ``diff_high`` is the
    mean difference from the baseline of the study on the same splits. Ends that were measured as
    variables stand in the row of their value. All are in ``unit``: a share is between 0 and 1, not
    in per cent. ``printed`` is the paper's figure. A method (by default of all) without any of the
    metrics keeps one row of the first of them, with status ``failed`` and what ``reason_of(method
    id)`` says.
    """
    known = {}
    for key in numbers.summary.index:
        place = dict(zip(KEYS, key, strict=True))
        at = {name: place[name] for name in PLACE} | {"variable": ""}
        is_end = place["variable"] in ("low", "high") and (
            numbers.get(place["source"], place["metric"], place["target"], **at).known
        )
        wanted = place["target"] in targets and place["metric"] in metrics and place["step"] < 0
        if wanted and not is_end:
            known.setdefault(place["source"], []).append(place)
    rows = []
    for source in numbers.sources if methods is None else methods:
        of = {"study": numbers.name, "method": source, "label": numbers.label(source)}
        of |= {"oracle": numbers.sees_hidden(source), "status": "ok", "reason": ""}
        places = known.get(source, ())
        if not places:
            failed = {"status": "failed", "reason": reason_of(source), "metric": metrics[0]}
            blank = dict.fromkeys(("setting", "measure", "part", "variable", "unit"), "")
            rows.append(of | blank | failed | {"target": targets[0], "n": 0})
        measures = list(dict.fromkeys(place["measure"] for place in places))
        order = {"target": targets.index, "metric": metrics.index, "measure": measures.index}
        for place in sorted(places, key=lambda place: _order(place, order)):
            rows.append(of | _numbers_at(numbers, place))
    kinds = {name: object if kind == "string" else kind for name, kind in TABLE}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def _order(place, order):
    setting, part = place["setting"], place["part"]
    return (
        (setting == "", _by_numbers(setting), setting),
        *(index(place[name]) for name, index in order.items()),
        -place["keep_rate"],
        (float(part) if part.isdigit() else -1.0, part),
        place["variable"],
    )


def _numbers_at(numbers, place):
    """The columns of `TABLE` that differ within a method."""
    at = {name: place[name] for name in PLACE}
    address = place["source"], place["metric"], place["target"]
    known, gap = numbers.get(*address, **at), Estimate()
    if numbers.baseline not in (None, place["source"]):
        gap = numbers.against(numbers.baseline, *address, **at)
    rate, unit = at["keep_rate"], numbers.measure(place["metric"], at["measure"]).unit
    told = {"label": numbers.label(place["source"], at["setting"]), "unit": unit}
    told |= {"keep_rate": rate if rate >= 0 else math.nan, "n": known.n, "sd": known.sd}
    told |= {"estimate": known.mean, "low": known.low, "high": known.high}
    told |= {"diff": gap.mean, "diff_low": gap.low, "diff_high": gap.high}
    return place | told | {"printed": numbers.in_print(*address, **at)}


def _by_numbers(setting):
    """Settings by the numbers in them; those with words by the words."""
    values = setting_options(setting).values()
    return [value if isinstance(value, str) else f"{value:020.10f}" for value in values]


# Why something was not measured.


_KILLED = (
    "ERROR: The job ended without a word, and nobody saw how: it was killed (SIGKILL) by hand, "
    "by the limit of a queue, or since memory ran out. Look there, then run again."
)


def first_failure(chain, dated=False):
    """The first step of a chain (of `counterweight.plan.jobs.Paths`) without its output, or None.

    With `dated`, an output older than what it was made from counts as missing: after a run that was
    cut short it is left from an earlier one. A failure has ``study``, ``source``, ``stage``,
    ``reason`` (the end of the log), ``log``, ``begun``, which is false where the run ended before
    it, and ``affects``: the sources that have no result for it.
    """
    newest = 0.0
    for step in chain["steps"]:
        paths = [Path(path) for path in step["outputs"]]
        absent = [path for path in paths if not path.exists()]
        dates = [path.stat().st_mtime for path in paths if path.exists()]
        if not absent and (min(dates) >= newest or not dated):
            newest = max(dates)
            continue
        reason, told = "Not made anew in this run, which was interrupted: run again.", ""
        if absent:
            told = _reason(step["log"])
            reason = told or (
                f"{listed(absent)}: not made, and no log was written; the run was interrupted or "
                "an earlier step failed."
            )
        failure = {"study": chain["study"], "source": chain["source"]} | step
        failure = {key: failure[key] for key in ("study", "source", "stage", "log")}
        return failure | {"reason": reason, "begun": bool(told), "affects": [chain["source"]]}
    return None


def _reason(path):
    """A log from its last error on; its last lines, and what they mean, if it has none."""
    path = Path(path)
    if not path.exists():
        return ""
    lines = path.read_text(errors="replace").splitlines()
    errors = [k for k, line in enumerate(lines) if line.startswith("ERROR:")]
    return "\n".join(lines[errors[-1] :] if errors else [*lines[-20:], _KILLED])


def measurements_and_failures(chains, dated=False):
    """The metrics of every whole chain, and why the others broke; for `dated` see `first_failure`.

    A table behind a broken step may be left from an earlier run, so it is not read. One failed step
    is one failure, however many results it takes with it.
    """
    tables, failures = [], {}
    for chain in chains:
        failure = first_failure(chain, dated)
        if failure is None:
            if chain["measured"]:
                tables.append(read_table(chain["steps"][-1]["outputs"][0]))
            continue
        known = failures.setdefault((failure["stage"], failure["log"]), failure)
        known["affects"] = list(dict.fromkeys(known["affects"] + failure["affects"]))
    columns = [name for name, _ in METRICS]
    metrics = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return metrics, list(failures.values())


def failure_of(failures, study, source, dataset=None):
    """The failure that explains why a source of a study has no result, or None.

    The source's own comes first, then one of its study, then one of the data set that the study
    needs (``study`` empty, ``source`` its name).
    """
    own = failures_of(failures, study, dataset)
    named = [one for one in own if source in (one["source"], *one.get("affects", ()))]
    return (named or own or [None])[0]


def failures_of(failures, study, dataset=None):
    """Failures of a study and of the data set that it needs; the study's own first."""
    own = [one for one in failures if one["study"] == study]
    shared = [one for one in failures if dataset and not one["study"] and one["source"] == dataset]
    return own + shared


def last_line(text):
    """The line of a log that says what went wrong: the last error, else the last line."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    for line in reversed(lines):
        if line.startswith("ERROR: ") and line != "ERROR: unexpected error":
            return line.removeprefix("ERROR: ")
    return lines[-1] if lines else "no reason was logged"


def reason_of(failures, study, source, settings):
    """Why a source of a study has no result, in one line."""
    failure = failure_of(failures, study, source, settings.get("dataset"))
    return last_line(failure["reason"]) if failure else "no result was found"


def failure_block(failure):
    """A failure for a page, with what to do about it."""
    lines = [line for line in str(failure["reason"]).splitlines() if line.strip()]
    stage = str(failure.get("stage") or "")
    advice = "Read the log, correct the cause, and run again: only what is missing is made."
    if "download" in stage:
        advice = (
            "Put the file where the message says, or set data_mirror to a folder that has "
            "it, and run again. Without network, make demo shows the whole workflow on "
            "generated data."
        )
    return blocks.Failure(
        failure.get("study") or "",
        failure.get("source") or "",
        stage,
        last_line(failure["reason"]),
        "\n".join(lines[-15:]),
        failure.get("log") or "",
        advice,
    )
