"""Resamplings of a log whose zero-reward rows are rejected at several rates.

Where rows belong to users, users are the independent draws of a policy's value.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.values.sums import value_interval
from counterweight.evaluation.values.value import PolicyValue
from counterweight.files.seeds import generator
from counterweight.labeling.columns import CLUSTERS
from counterweight.numerics.estimate import shape_of
from counterweight.numerics.zero_rejection import keep_weights, row_uniforms

#: Rows of the short logs on which the bias of the ratio estimator is measured.
SHORT = (250, 500, 1000, 2000)
#: At most so many short logs of the least length are kept, to bound the memory.
MOST_SHORT = 8000
BIAS_RATE = 0.1
BIAS_GROUPS = 20


def split(log, rates, resamplings, level, truth, seed, stream):
    """Disjoint consecutive parts of a log, each with its zero rows rejected by row key.

    One pass; memory does not grow with the rows. Up to ``resamplings - 1`` rows at the end
    belong to no part (but to the whole).

    Parameters
    ----------
    log : iterable of dict of arrays
        Batches with ``row, reward, propensity, target`` and perhaps ``q, v``; with
        ``count()`` and ``estimators``.
    rates : list of float
        Keep rates, descending.
    resamplings : int
        Number of parts.
    level, truth : float
    seed : int
    stream : str

    Returns
    -------
    whole : LogAtRates
    short : ShortLogs
    records : list of dict

    Raises
    ------
    CounterweightError
        When the log has fewer than two rows for each part.
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
    part, repeat, room = Resampling(log.estimators, rates, level), 0, size
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
                records += part.records(repeat, truth)
                counts.add(part)
                part, repeat, room = Resampling(log.estimators, rates, level), repeat + 1, size
    return whole, short, records + counts.records()


def bootstrap(log, rates, resamplings, level, truth, seed, stream):
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
    short.add(rows)
    population = {name: getattr(whole.all_rows, name)().value for name in log.estimators}
    records = []
    users = _Users(rows["cluster"]) if "cluster" in rows else None
    for repeat in range(resamplings):
        rng = generator(seed, stream, repeat, "bootstrap of the log")
        part = Resampling(log.estimators, rates, level)
        if users is None:
            drawn, own = np.sort(rng.integers(len(draws), size=len(draws))), {}
        else:
            drawn, own = users.drawn(rng)
        own = {name: values[drawn] for name, values in rows.items()} | own
        part.update(own, rng.random(len(drawn)))
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
    """A log at every keep rate; where rows have a ``cluster``, intervals are those of users.

    Parameters
    ----------
    estimators : sequence of str
    rates : sequence of float
        Descending.
    level : float
    """

    def __init__(self, estimators, rates, level):
        self.estimators, self._rates, self._level = tuple(estimators), rates, level
        self._begin(PolicyValue)

    def _begin(self, kind, **options):
        options |= {"level": self._level, "names": {"target": "p"}}
        self.at_rate = {rate: kind(self.estimators, **options) for rate in self._rates}
        self.all_rows = self.at_rate.get(1.0) or kind(self.estimators, **options)

    def update(self, rows, draws):
        """Add rows, and for each the number in [0, 1) that decides whether it is kept."""
        if "cluster" in rows and not isinstance(self.all_rows, UserValue):
            self._begin(UserValue, clusters=CLUSTERS)
        zero = rows["reward"] == 0
        for rate, log in self.at_rate.items():
            if rate < 1:
                kept = np.flatnonzero(~zero | (draws < rate))
                part = {name: values[kept] for name, values in rows.items()}
                log.update(**part, keep_rate=rate)
        self.all_rows.update(**rows)

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

    def __init__(self, estimators, rates, level):
        super().__init__(estimators, rates, level)
        self.dropped = PolicyValue(("ips",), level=level)
        self.altered = PolicyValue(("ips",), level=level)
        self.missing = {(name, rate): 0 for rate in rates for name in estimators}

    def update(self, rows, draws):
        """Add rows as `LogAtRates.update`."""
        super().update(rows, draws)
        reward = rows["reward"]
        zero = reward == 0
        some = np.flatnonzero(~zero)
        propensity, target = rows["propensity"], rows["target"]
        self.dropped.update(reward[some], propensity[some], target[some])
        self.altered.update(
            reward,
            np.where(zero, 1 - propensity / 2, propensity),
            np.where(zero, 1 - target, target),
        )

    def records(self, repeat, truth, population=None):
        """Records of the resampling; see the protocol for the metrics.

        Parameters
        ----------
        repeat : int
        truth : float
        population : mapping of str to float, optional
            Value of the log that the rows were drawn from, by estimator.
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
        whole = self.all_rows.ips().value
        for metric, value in (
            ("drop_zero_change", self.dropped.ips(self.all_rows.rows).value - whole),
            ("zero_details_change", self.altered.ips().value - whole),
        ):
            place = {"repeat": repeat, "rows": self.all_rows.rows}
            records.append(place | {"metric": metric, "value": value})
        return records

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
    """Bias of ``ips_lost`` on short logs, relative to the value of the whole log.

    The zero rows of every short log are rejected anew again and again, in `BIAS_GROUPS`
    groups; the bias is that over the rejection, measured against the value with the count
    known. In theory it is near (1 - l) / (l n) for rare rewards.

    Parameters
    ----------
    short : ShortLogs
    whole : float
        IPS value of the whole log; without one there is no relative bias and no record.
    seed : int
    stream : str
    rate : float

    Returns
    -------
    list of dict
        ``ratio_bias`` and ``ratio_bias_times_n``, repeat = group, setting ``n=250`` ....
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


def _holds(estimate, value):
    return float(estimate.low <= value <= estimate.high)


#: Columns that are summed by user.
_COLUMNS = ("rows", "stand_for", "earned", "weight", "robust")


class UserValue(PolicyValue):
    """As `PolicyValue`, with intervals that allow for users.

    Values are the same. The influence of a user is the sum of that of its rows: with top and bottom
    of the ratio V by user, ``(top - V bottom) / sum bottom``. Where the number of rows before any
    was dropped is known it has no chance, but how it is spread over users is not: then it is
    ``top / rows``, which is on the large side.

    Parameters
    ----------
    clusters : int
        Users are numbered from 0 to below this; several may share a number.
    estimators, **options
        Of `PolicyValue`.

    References
    ----------
    Cochran, W. G. (1977). Sampling Techniques, section 9A.2.
    """

    def __init__(self, estimators, *, clusters, **options):
        super().__init__(estimators, **options)
        self._by_user = dict(zip(_COLUMNS, np.zeros((len(_COLUMNS), clusters)), strict=True))

    def update(self, reward, propensity, target, *, cluster, keep_rate=None, q=None, v=None):
        """Add rows; ``cluster`` (n,) is the number of each row's user."""
        super().update(reward, propensity, target, keep_rate=keep_rate, q=q, v=v)
        reward = np.asarray(reward, float)
        times = keep_weights(reward, 1.0 if keep_rate is None else keep_rate)
        w = np.asarray(target, float) / propensity
        columns = {"rows": None, "stand_for": times, "earned": reward * w, "weight": times * w}
        if q is not None and v is not None:
            columns["robust"] = times * (v + w * (reward - q))
        for name, values in columns.items():
            own = self._by_user[name]
            own += np.bincount(cluster, values, len(own))
        return self

    def _estimate(self, kind, sums, zero, rows, total=None):
        plain = super()._estimate(kind, sums, zero, rows, total)
        own, known = self._by_user, kind == "one" and rows > self.rows
        top = own["robust" if kind == "robust" else "earned"]
        bottom = own["weight" if kind == "weight" else "stand_for"]
        filled = own["rows"] > 0
        top, bottom, users = top[filled], bottom[filled], int(filled.sum())
        if known:
            influence, pull = top / rows, 0.0
        else:
            influence = (top - plain.value * bottom) / bottom.sum()
            pull = float(influence @ bottom) / float(bottom.sum())
        squares = influence * influence
        second = float(squares.sum())
        moments = (second, float(squares @ influence), float(squares @ squares))
        shape = shape_of(users, 1.0, *moments, pull)
        told = {
            "value": plain.value,
            "second": second,
            "standard_error": math.sqrt(second * users / (users - 1)) if users > 1 else math.nan,
            "skewness": shape.skewness,
            "pull": shape.pull,
            "kurtosis": shape.kurtosis,
        }
        low, high = value_interval(
            told, users, self.level, self.reward_range, weighted=kind == "weight"
        )
        return replace(plain, standard_error=told["standard_error"], low=low, high=high)
