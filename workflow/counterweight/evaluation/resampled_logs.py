"""Protocol: value of a policy from a log, whole and with its zero-reward rows rejected.

The value is estimated on resamplings of the log at every keep rate, next to a truth; with
it go the identities behind the rejection and the bias of the ratio estimator. Files are read
in step, a batch of rows at a time. Where rows belong to users, users are the independent draws.

References
----------
Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings.
"""

from collections import Counter

import numpy as np
from scipy.special import ndtri

from counterweight.errors import CounterweightError
from counterweight.evaluation.log_values import LIMITED, Ratio, log_values
from counterweight.evaluation.policy_value import PolicyValue
from counterweight.fragments import LEVEL, RATES, Array, Choice, Integer, Option
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.log_files import of_role, rows_in_step
from counterweight.numerics.zero_rejection import row_uniforms
from counterweight.tables import parquet
from counterweight.tables.parquet import read_columns
from counterweight.tables.study_data import generator

TASK = "log"
#: Ways to limit weights that `further` has.
LIMITS = ("clip", "switch", "shrink")
OPTIONS = {
    "keep_rates": Option([1.0, 0.5, 0.1, 0.01], "Rates at which the zero-reward rows of the log are kept.", **RATES),
    "resamplings": Integer(200, "Number of resamplings of the log.", minimum=2),
    "resample": Choice("bootstrap", ["bootstrap", "split"],
        "bootstrap: draw the rows of the log anew with replacement (held in memory). split: cut the log into as many "
        "consecutive parts of equal size, read once and never held."),
    "also": Array([],
        "Further estimators, for which the rows of a resampling are held in memory. dm: the mean of the reward model; sndr: doubly "
        "robust, self-normalised; clip, switch, shrink: IPS with weights limited at 10; vw: the empirical likelihood of vw-estimators.",
        items={"enum": ["dm", "sndr", "clip", "switch", "shrink", "vw"]}),
    **LEVEL,
}  # fmt: skip
LABEL = "values of policies from logs"
VALUE_LABELS = {
    "measure": {
        "ips": "IPS",
        "ips_lost": "IPS without the count",
        "snips": "SNIPS",
        "dr": "Doubly robust",
        "dm": "Reward model alone",
        "sndr": "Self-normalised doubly robust",
        "clip": "IPS with clipped weights",
        "switch": "IPS with weights switched off",
        "shrink": "IPS with shrunk weights",
        "vw": "Empirical likelihood (vw-estimators)",
    }
}
#: Rows of the short logs on which the bias of the ratio estimator is measured.
SHORT = (250, 500, 1000, 2000)
#: At most so many short logs of the least length are kept, to bound the memory.
MOST_SHORT = 8000
BIAS_RATE = 0.1
#: Weights are limited at this in `further`, as they are by default in logs of one's own.
LIMIT_AT = 10.0
BIAS_GROUPS = 20


def policy_value(
    labels,
    predictions,
    truth,
    *,
    policy="",
    seed=0,
    stream="",
    keep_rates=(1.0, 0.5, 0.1, 0.01),
    resamplings=200,
    resample="bootstrap",
    also=(),
    level=0.95,
):
    """Records of the value of one policy in one study, for ``tables.metrics_table``.

    For `labels` and `predictions` see `LogReader`; `truth` is a Parquet file with ``policy, value,
    standard_error, rows``, of which the line of the `policy` is used, or of "" where there is none
    of this name. Random numbers go by `seed` and `stream`, the study: the rows kept do not depend
    on the policy. For the others see `OPTIONS`.

    Of the metrics, ``covered`` says whether an interval holds the truth, and ``covered_whole``
    whether it holds the value of the whole log: the population of the bootstrap, whose intervals
    can hold the truth at their level only if the log does. Where the interval or the estimate does
    not exist (no reward was seen), the records are left out and counted by ``values_missing``.

    Raises
    ------
    CounterweightError
        When labels and predictions are of different rows, the log is empty or too short, or
        holds what `PolicyValue` refuses.
    """
    known = _truth(truth, policy)
    rates = sorted({float(rate) for rate in keep_rates}, reverse=True)
    log = LogReader(labels, predictions)
    run = split if resample == "split" else bootstrap
    told = resamplings, level, known["value"], seed, stream, tuple(also)
    whole, short, records = run(log, rates, *told)
    records += whole_records(whole, known)
    records += ratio_bias(short, whole.all_rows.ips().value, seed, stream)
    return [{"target": "general"} | record for record in records]


def whole_records(whole, known):
    """Records of the whole log (`LogAtRates`), at repeat 0: with all rows, and at each keep rate.

    ``known`` has the ``value``, ``standard_error`` and ``rows`` of the truth.
    """
    full = whole.all_rows
    records = [
        {
            "metric": "truth",
            "value": known["value"],
            "rows": known["rows"],
            "standard_error": known["standard_error"],
        },
        {"metric": "rows_unsupported", "value": full.rows_unsupported, "rows": full.rows},
    ]
    for rate, log in {None: full, **whole.at_rate}.items():
        for name in whole.estimators:
            estimate = whole.estimate(log, name)
            if estimate is None:
                continue
            place = {"measure": name, "keep_rate": rate, "rows": log.rows}
            error = {"standard_error": estimate.standard_error}
            records.append(place | error | {"metric": "whole_value", "value": estimate.value})
            for metric, value in (
                ("whole_low", estimate.low),
                ("whole_high", estimate.high),
                ("effective_rows", estimate.effective_rows),
                ("largest_weight", estimate.largest_weight),
            ):
                records.append(place | {"metric": metric, "value": value})
    return records


class LogReader:
    """Rows of role ``log`` of a study with their predictions, read in step.

    `labels` have ``row, role, propensity, reward``, and perhaps ``cluster``, the number of each
    row's user: then intervals are those of users, and the bootstrap draws users whole.
    `predictions` of the same rows have ``row`` and ``p``, the probability that the policy gives the
    logged action, and perhaps ``q`` and ``v`` of a reward model, without which ``estimators`` are
    without ``dr``.
    """

    def __init__(self, labels, predictions):
        self.labels, self.predictions = labels, predictions
        modelled = {"q", "v"} <= set(parquet.column_names(predictions))
        there = parquet.column_names(labels)
        self._labels = ["row", "role", "propensity", "reward"]
        self._labels += [name for name in ("keep_rate", "cluster") if name in there]
        self._columns = ("row", "p", "q", "v") if modelled else ("row", "p")
        self.estimators = ("ips", "ips_lost", "snips", "dr")[: 4 if modelled else 3]

    def count(self):
        """Number of rows of role ``log``."""
        roles = parquet.batches(self.labels, ["role"], categories=["role"])
        return sum(int(of_role(batch["role"]).sum()) for batch in roles)

    def __iter__(self):
        """Batches of arrays by ``row, reward, propensity, target``, perhaps ``q, v, cluster``."""
        sources = (self.labels, self._labels), (self.predictions, self._columns)
        for ours, theirs in rows_in_step(sources):
            used = of_role(ours.pop("role"))
            if "keep_rate" in ours and (ours.pop("keep_rate")[used] < 1).any():
                raise CounterweightError(
                    f"{self.labels} holds a log whose zero-reward rows were already rejected "
                    "(labeling.keep_rate), and this protocol rejects rows of whole logs itself: "
                    "estimate the value of such a log with counterweight.value_from_parquet."
                )
            batch = ours | {"target": theirs["p"]}
            batch |= {name: theirs[name] for name in ("q", "v") if name in theirs}
            if not used.all():
                batch = {name: values[used] for name, values in batch.items()}
            if used.any():
                yield batch


def _truth(path, policy):
    table = read_columns(path)
    names = [str(name) for name in table["policy"]]
    name = policy if policy in names else ""
    if name not in names:
        raise CounterweightError(
            f"{path} has no value of the policy {policy!r}: delete it and run again."
        )
    line = names.index(name)
    return {key: table[key][line].item() for key in ("value", "standard_error", "rows")}


def split(log, rates, resamplings, level, truth, seed, stream, also=()):
    """Disjoint consecutive parts of a log, each with its zero rows rejected by row key.

    One pass; memory does not grow with the rows. Up to ``resamplings - 1`` rows at the end belong
    to no part (but to the whole). `rates` descend. A log of fewer than two rows for each part is
    refused. Returns the whole (`LogAtRates`), its `ShortLogs` and a list of records.
    """
    size = _checked_count(log) // resamplings
    if size < 2:
        raise CounterweightError(
            f"A log of {log.count()} rows is too short for {resamplings} parts: ask for fewer "
            "resamplings, or for a bootstrap."
        )
    key = int(generator(seed, stream, 0, "zero rejection").integers(2**63))
    whole, short, counts = LogAtRates(log.estimators, rates, level), ShortLogs(), _Counts(rates)
    records = []
    part, repeat, room = Resampling(log.estimators, rates, level, also), 0, size
    for batch in log:
        ids = batch["row"]
        rows = {name: values for name, values in batch.items() if name != "row"}
        draws = row_uniforms(ids, key)
        whole.update(rows, draws)
        short.add(rows)
        start = 0
        while start < len(ids) and repeat < resamplings:
            stop = min(start + room, len(ids))
            part.update(
                {name: values[start:stop] for name, values in rows.items()}, draws[start:stop]
            )
            room -= stop - start
            start = stop
            if not room:
                part.finish()
                records += part.records(repeat, truth)
                counts.add(part)
                part = Resampling(log.estimators, rates, level, also)
                repeat, room = repeat + 1, size
    whole.finish()
    return whole, short, records + counts.records()


def bootstrap(log, rates, resamplings, level, truth, seed, stream, also=()):
    """Rows of a log drawn with replacement, the zero rows among them then rejected.

    Where rows belong to users, users are drawn, each with all of its rows. The log is held in
    memory. A row that was drawn twice is rejected or kept twice. For parameters, returns and
    errors see `split`.
    """
    _checked_count(log)
    parts = list(log)
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    key = int(generator(seed, stream, 0, "zero rejection").integers(2**63))
    draws = row_uniforms(rows.pop("row"), key)
    whole, short, counts = LogAtRates(log.estimators, rates, level), ShortLogs(), _Counts(rates)
    whole.update(rows, draws)
    whole.finish()
    short.add(rows)
    population = {name: getattr(whole.all_rows, name)().value for name in log.estimators}
    records = []
    users = _Users(rows["cluster"]) if "cluster" in rows else None
    for repeat in range(resamplings):
        rng = generator(seed, stream, repeat, "bootstrap of the log")
        part = Resampling(log.estimators, rates, level, also)
        if users is None:
            drawn, own = np.sort(rng.integers(len(draws), size=len(draws))), {}
        else:
            drawn, own = users.drawn(rng)
        own = {name: values.take(drawn) for name, values in rows.items()} | own
        part.update(own, rng.random(len(drawn)))
        part.finish()
        records += part.records(repeat, truth, population)
        counts.add(part)
    return whole, short, records + counts.records()


class _Users:
    """Rows by user, to draw users with replacement."""

    def __init__(self, cluster):
        self._order = np.argsort(cluster, kind="stable")
        _, self._first, self._size = np.unique(
            cluster[self._order], return_index=True, return_counts=True
        )

    def drawn(self, rng):
        """Rows of as many users as there are, and a number of its own for each that was drawn."""
        users = np.sort(rng.integers(len(self._size), size=len(self._size)))
        size = self._size[users]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        rows = self._order[np.repeat(self._first[users], size) + within]
        return rows, {"cluster": np.repeat(np.arange(len(users)), size)}


class LogAtRates:
    """A log at every keep rate (descending); where rows have a ``cluster``, intervals of users.

    Rows with a reward are in every one of them: they are summed once, and added by `finish`.
    """

    def __init__(self, estimators, rates, level):
        self.estimators, self._rates, self._level = tuple(estimators), rates, level
        self._begin()

    def _begin(self, **options):
        options |= {"level": self._level, "names": {"target": "p"}}
        self.at_rate = {rate: PolicyValue(self.estimators, **options) for rate in self._rates}
        self.all_rows = self.at_rate.get(1.0) or PolicyValue(self.estimators, **options)
        self.rewarded = PolicyValue(self.estimators, **options)

    def update(self, rows, draws):
        """Add rows, and for each the number in [0, 1) that decides whether it is kept."""
        if "cluster" in rows and not self.all_rows.rows + self.rewarded.rows:
            self._begin(clusters=CLUSTERS)
        zero = rows["reward"] == 0
        self.rewarded.update(**_taken(rows, ~zero))
        rows, draws = _taken(rows, zero), draws[zero]
        for rate, log in self.at_rate.items():
            if rate < 1:
                log.update(**_taken(rows, draws < rate), keep_rate=rate)
        self.all_rows.update(**rows)

    def finish(self):
        """After the last row."""
        for log in {id(log): log for log in (*self.at_rate.values(), self.all_rows)}.values():
            log.merge(self.rewarded)

    def estimate(self, log, name):
        """An estimate of one of the logs; None where it does not exist."""
        if name == "ips":
            return log.ips(self.all_rows.rows)
        if not log.rows or (name == "snips" and not log.totals()["importance"] > 0):
            return None
        if name == "ips_lost":
            return log.ips_lost()
        if log.nonzero == log.rows < self.all_rows.rows:
            return None  # no zero row happened to be kept, and these need them
        return getattr(log, name)(self.all_rows.rows)


class Resampling(LogAtRates):
    """One resampling of a log at every keep rate, with the checks that go with it."""

    def __init__(self, estimators, rates, level, also=()):
        super().__init__(estimators, rates, level)
        self._also, self._held = also, []
        self.altered = PolicyValue(("ips",), level=level)
        self.missing = {(name, rate): 0 for rate in rates for name in estimators}

    def update(self, rows, draws):
        """Add rows as `LogAtRates.update`."""
        super().update(rows, draws)
        if self._also:
            self._held.append(rows | {"draw": draws})
        reward = rows["reward"]
        zero = reward == 0
        propensity, target = rows["propensity"], rows["target"]
        self.altered.update(
            reward,
            np.where(zero, 1 - propensity / 2, propensity),
            np.where(zero, 1 - target, target),
        )

    def records(self, repeat, truth, population=None):
        """Records of the resampling; see the protocol for the metrics.

        ``population`` is the value of the log that the rows were drawn from, by estimator.
        """
        records = []
        base = {name: self.estimate(self.all_rows, name) for name in self.estimators}
        for rate, log in self.at_rate.items():
            for name in self.estimators:
                estimate = self.estimate(log, name)
                if estimate is None:
                    self.missing[name, rate] += 1
                    continue
                place = {"repeat": repeat, "measure": name, "keep_rate": rate, "rows": log.rows}
                error = {"standard_error": estimate.standard_error}
                values = {"error": estimate.value - truth, "covered": _holds(estimate, truth)}
                if base[name] is not None:
                    values["subsampling_error"] = estimate.value - base[name].value
                if population is not None:
                    values["covered_whole"] = _holds(estimate, population[name])
                records.append(place | error | {"metric": "value", "value": estimate.value})
                records += [place | {"metric": key, "value": v} for key, v in values.items()]
            records += self._gaps(repeat, rate, log)
            records += self._further(repeat, rate, truth)
        whole = self.all_rows.ips().value
        for metric, value in (
            ("drop_zero_change", self.rewarded.ips(self.all_rows.rows).value - whole),
            ("zero_details_change", self.altered.ips().value - whole),
        ):
            place = {"repeat": repeat, "rows": self.all_rows.rows}
            records.append(place | {"metric": metric, "value": value})
        return records

    def _further(self, repeat, rate, truth):
        """Records of the further estimates, from the rows that were held."""
        if not self._also:
            return
        rows = {name: np.concatenate([one[name] for one in self._held]) for name in self._held[0]}
        for name, found in further(rows, rate, self._also, self._level).items():
            place = {
                "repeat": repeat,
                "measure": name,
                "keep_rate": rate,
                "rows": len(rows["draw"]),
            }
            values = {"value": found.value, "error": found.value - truth}
            values |= {"covered": _holds(found, truth)} if not np.isnan(found.low) else {}
            yield from (place | {"metric": key, "value": v} for key, v in values.items())

    def _gaps(self, repeat, rate, log):
        """How far the weighted means of the kept rows are from the means of all rows."""
        ours, full = log.totals(), self.all_rows.totals()
        for name in ("reward", "importance"):
            if full[name] and ours["rows"]:
                gap = (ours[name] / ours["rows"]) / (full[name] / full["rows"]) - 1
                yield {
                    "repeat": repeat,
                    "measure": name,
                    "keep_rate": rate,
                    "rows": log.rows,
                    "metric": "identity_gap",
                    "value": gap,
                }


def further(rows, rate, names, level=0.95):
    """Further estimates of a policy's value from the rows of one log, whole in memory.

    `rows` has arrays (n,) by ``reward, propensity, target``, ``q`` and ``v`` for ``dm`` and
    ``sndr``, and ``draw``, numbers in [0, 1): a row of reward 0 is kept where its own is below
    `rate`, and then stands for 1 / rate rows. Their number n is known. ``sndr`` and limited weights
    are those of `log_values`. The interval of ``dm``, the mean of v, knows nothing of the error of
    its model. ``vw`` takes whole logs only, and is NaN where its package is not installed. Without
    q and v there is no ``dm`` and no ``sndr``.

    Returns
    -------
    dict of str to Ratio
    """
    count, kept = len(rows["draw"]), (rows["reward"] != 0) | (rows["draw"] < rate)
    part = {name: values[kept] for name, values in rows.items()}
    k = np.where(part["reward"] == 0, 1 / rate, 1.0)
    wide = {"target": "p", "q": "q", "v": "v"}
    batch = {name: part[name] for name in ("reward", "propensity")}
    batch |= {new: part[old][:, None] for old, new in wide.items() if old in part}
    batch |= {"keep_rate": np.full(len(k), rate), "weight": np.ones(len(k))}
    asked = {"level": level, "rows_before": count if rate < 1 else 0}
    found = {}
    if "dm" in names and "v" in part:
        mean = np.average(part["v"], weights=k)
        error = np.sqrt((k**2 * (part["v"] - mean) ** 2).sum()) / k.sum()
        reach = ndtri((1 + level) / 2) * error
        found["dm"] = Ratio(float(mean), float(error), mean - reach, mean + reach)
    if "sndr" in names and "v" in part:
        known = log_values(lambda: [batch], ["new"], modelled=True, **asked)
        found["sndr"] = known.values["new", "sndr"]
    for name in [name for name in LIMITS if name in names]:
        known = log_values(lambda: [batch], ["new"], limit=name, limit_at=LIMIT_AT, **asked)
        found[name] = known.values["new", LIMITED]
    if "vw" in names and rate == 1:
        found["vw"] = _likelihood(part, level)
    return found


def _likelihood(part, level):
    """The estimate of the package vw-estimators by empirical likelihood (Karampatziakis et al.
    2020); rewards are in [0, 1], and no weight is above 1 over the least propensity seen."""
    try:
        from estimators.bandits import cressieread
    except ImportError:
        return Ratio(*(float("nan"),) * 4)
    bounds = 0, max(1 / float(part["propensity"].min()), 1.0 + 1e-9)
    value, interval = cressieread.Estimator(*bounds), cressieread.Interval(*bounds)
    columns = [part[name].tolist() for name in ("propensity", "reward", "target")]
    for row in zip(*columns, strict=True):
        value.add_example(*row)
        interval.add_example(*row)
    return Ratio(value.get(), float("nan"), *interval.get(alpha=1 - level))


class _Counts:
    """Rows kept for each non-zero row, and estimates that do not exist, over all resamplings."""

    def __init__(self, rates):
        self.kept = dict.fromkeys(rates, 0)
        self.nonzero = 0
        self.missing = Counter()

    def add(self, part):
        self.missing.update(part.missing)
        self.nonzero += part.all_rows.nonzero
        for rate, log in part.at_rate.items():
            self.kept[rate] += log.rows

    def records(self):
        missing = [
            {"metric": "values_missing", "measure": name, "keep_rate": rate, "value": count}
            for (name, rate), count in self.missing.items()
        ]
        if not self.nonzero:
            return missing
        counts = [({"keep_rate": rate}, rows) for rate, rows in self.kept.items()]
        counts.append(({"part": "dropped"}, self.nonzero))
        return missing + [
            place | {"metric": "rows_per_nonzero", "value": rows / self.nonzero, "rows": rows}
            for place, rows in counts
        ]


class ShortLogs:
    """Sum of r w and number of non-zero rows in consecutive short logs.

    The first `MOST_SHORT` times ``SHORT[0]`` rows are used, at most.
    """

    def __init__(self):
        self._sums = np.zeros((2, MOST_SHORT))
        self.rows = 0

    def add(self, rows):
        """Add rows of the log, in its order."""
        room = MOST_SHORT * SHORT[0] - self.rows
        reward = rows["reward"][: max(room, 0)]
        some = np.flatnonzero(reward != 0)
        place = (self.rows + some) // SHORT[0]
        value = reward[some] * (rows["target"][some] / rows["propensity"][some])
        self._sums[0] += np.bincount(place, value, MOST_SHORT)
        self._sums[1] += np.bincount(place, minlength=MOST_SHORT)
        self.rows += len(reward)

    def of(self, size):
        """Sums of r w and numbers of non-zero rows of the short logs of `size` rows."""
        logs = self.rows // size
        units = logs * size // SHORT[0]
        return self._sums[:, :units].reshape(2, logs, size // SHORT[0]).sum(axis=2)


def ratio_bias(short, whole, seed, stream, rate=BIAS_RATE):
    """Bias of ``ips_lost`` on short logs, relative to the IPS value of the whole log.

    The zero rows of every short log are rejected anew again and again, in `BIAS_GROUPS` groups; the
    bias is that over the rejection, measured against the value with the count known. In theory it
    is near (1 - l) / (l n) for rare rewards. Records of ``ratio_bias`` and ``ratio_bias_times_n``
    have repeat = group, setting ``n=250`` ...; without a value of the whole log there are none.
    """
    records = []
    for size in SHORT if whole else ():
        total, nonzero = short.of(size)
        if not len(total):
            continue
        draws = max(10, -(-2000 // len(total)))
        zero = (size - nonzero).astype(np.int64)
        for group in range(BIAS_GROUPS):
            rng = generator(seed, stream, group, f"ratio bias of {size} rows")
            kept = rng.binomial(zero, rate, (draws, len(zero)))
            rows = nonzero + kept / rate
            lost = np.divide(total, rows, out=np.zeros_like(rows), where=rows > 0)
            bias = float((lost - total / size).mean() / whole)
            place = {"repeat": group, "setting": f"n={size}", "rows": size * len(total)}
            records.append(place | {"metric": "ratio_bias", "value": bias})
            records.append(place | {"metric": "ratio_bias_times_n", "value": bias * size})
    return records


def _checked_count(log):
    rows = log.count()
    if not rows:
        raise CounterweightError(
            "The log is empty: no row has the role log; check the labeling of the study."
        )
    return rows


def _taken(rows, which):
    places = np.flatnonzero(which)
    return {name: values.take(places) for name, values in rows.items()}


def _holds(estimate, value):
    return float(estimate.low <= value <= estimate.high)
