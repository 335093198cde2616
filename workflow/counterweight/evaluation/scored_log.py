"""How good predictions of a log are: AUC, losses and calibration, from sorted partitions.

Row i holds a reward r, predictions p_j of it, and k = weight / keep rate (the keep rate only where
the reward is 0): how many rows it stands for. Losses are ratios of sums over rows, and the AUC is a
share of pairs, for which the scores are merged in order. All influences are summed by cluster: of
users where they are named, else of rows, of which clusters take turns. Clusters are independent
draws, so differences of two predictions on the same rows are theirs, cluster by cluster.

References
----------
DeLong, E., DeLong, D. & Clarke-Pearson, D. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics 44. Cochran, W. G. (1977). Sampling
Techniques, section 9A.2 (clusters). Mineiro, P. (2010). The Unimportance of Zeroes.

Each score of a partition is sorted by itself, in runs of so many rows at most, and written to one
Parquet file. The runs of all partitions are then read in step, a row group of each at a time, so
memory grows with the number of runs and not with the rows.
"""

import contextlib
import functools
import math
from collections import Counter

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.log_values import users_behind
from counterweight.evaluation.metrics import CLIP, interval_of
from counterweight.fragments import Array
from counterweight.labeling.columns import CLUSTERS, like_codes, refuse_outside, types_of_condition
from counterweight.labeling.log_files import id_among, looked_at
from counterweight.labeling.logs import LogProblems, column_of, roles_of
from counterweight.numerics.ranking import MOST_TIED, TopRows
from counterweight.numerics.zero_rejection import keep_weights
from counterweight.tables.parquet import as_json, read_facts, replacing

TASK = "prediction_logs"
OPTIONS = {
    "top": Array([0.01, 0.001],
        "Shares of the rows, those of the highest predictions, in which the mean prediction is held against the mean "
        "reward as well.", items={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, uniqueItems=True),
}  # fmt: skip
#: Coverage of the intervals.
LEVEL = 0.95
#: Rows of a run, and of the row groups in which it is read.
RUN, GROUP = 1 << 20, 1 << 14
#: Rows that are given on at once.
STEP = 1 << 17
COLUMNS = ("score", "reward", "weight", "cluster")
_TYPES = ("float64", "float64", "float64", "int32")
LABEL = "AUC, losses and calibration of predictions of a log"
#: Values that may be codes of unknown among rewards of 0 and 1, and the most of the rows that have
#: them.
MOST_CODES, FEW_CODES = 3, 0.05
#: Mean prediction over mean reward.
RATIO = "predicted_over_observed"


class ScoredLog:
    """Predictions of a log in partitions, and what is asked of them.

    `facts` have ``predictions`` (columns by name), ``outcome`` and ``labeling`` (options of their
    rules), ``id`` (the column of ids, which may be absent), and ``top``, the shares of the rows of
    highest predictions that `merge` looks at.
    """

    def __init__(self, facts):
        self.facts = facts
        self._roles = roles_of(facts["outcome"], facts["labeling"])

    def sort(self, path, rows, reading=None, keys=None):
        """Write the sorted runs of one partition to `path`, with what is counted in it.

        `rows` are the partition, a frame or a file; `reading` says how its text is read (see
        `counterweight.tables.table_reader`), `keys` are columns that the names of its folders say.
        What single rows have wrong is refused.
        """
        person = id_among(self.facts.get("id"), rows, reading)
        problems = LogProblems(self._roles, person=person)
        counted = {"binary": True, "mass": 0.0, "least_reward": 0.0, "odd": {}}
        counted["columns"] = [dict(_UNSEEN) for _ in self.facts["predictions"]]

        def facts():
            problems.tell_rows()
            told = {"problems": problems.state(), "rows": problems.rows}
            return counted | told | {"odd": [*counted["odd"].items()]}

        write_runs(path, self._batches(rows, reading, keys, problems, counted), facts)

    def _batches(self, rows, reading, keys, problems, counted):
        outcome, labeling = self.facts["outcome"], self.facts["labeling"]
        columns = list(self.facts["predictions"].values())
        ids = [problems.person] if problems.person else []
        needed = list(dict.fromkeys([*self._roles.values(), *columns, *ids]))
        texts = [labeling.get("user"), *(name for name in ids if name not in columns)]
        texts += [outcome["column"]] if outcome.get("positive") is not None else []
        types = dict.fromkeys(needed, "number") | {name: "text" for name in texts if name}
        types |= types_of_condition(labeling.get("kept_where") or {})
        rules = outcome, labeling | {"propensity": ""}, problems
        for frame, part in looked_at(rows, *rules, needed, types, None, reading, keys):
            p = np.stack([predicted_of(frame, name) for name in columns], axis=1)
            reward = part["reward"]
            counted["binary"] &= bool(np.isin(reward, (0, 1)).all())
            counted["odd"] = _odd(reward, counted["odd"])
            counted["least_reward"] = min(counted["least_reward"], float(reward.min(initial=0.0)))
            counted["columns"] = [
                _together(one, counted_of(own, reward))
                for one, own in zip(counted["columns"], p.T, strict=True)
            ]
            if problems.noted:
                continue
            weight = part["weight"] * keep_weights(part["reward"], part["keep_rate"])
            counted["mass"] += float(weight.sum())
            cluster = part["cluster"] if labeling.get("user") else part["row"] % CLUSTERS
            yield {"reward": part["reward"], "weight": weight, "cluster": cluster, "p": p}

    def merge(self, files):
        """What all partitions (files from `sort`) say together, in plain numbers.

        ``rows``, ``nonzero``, ``clusters`` (about how many users; 0 without), ``again`` (rows that
        share their id with others, the standard error of that, all rows), ``binary``, ``columns``
        (by predictions: ``least``, ``most``, how many lie ``outside`` 0 to 1, and, where none does,
        of how many that are 0 or 1 the other came, ``impossible``), ``estimates`` and
        ``differences``: lists of dicts by ``predictions``, ``other`` (of differences), ``metric``,
        ``top`` (the share of the rows looked at, those of the highest predictions; none where so
        many have one prediction that they are more than `MOST_TIED` times that share), ``value``,
        ``standard_error``, ``low``, ``high``, ``rows`` and ``nonzero`` of them. Differences are of
        all rows. Rows that together are no log that can be judged are refused.
        """
        counts = [read_facts(path) for path in files]
        problems = LogProblems(self._roles, self.facts["labeling"]["rows_before"])
        for counted in counts:
            problems.add(counted["problems"])
        problems.tell()
        user = self.facts["labeling"].get("user")
        rows = np.cumsum([0, *(counted["rows"] for counted in counts)])[:-1]
        offsets = np.where(bool(user), 0, rows % CLUSTERS).tolist()
        binary = all(counted["binary"] for counted in counts)
        odd = sum((Counter(dict(counted["odd"])) for counted in counts), Counter())
        self._refuse_codes(odd, problems.rows)
        known, mass = {}, sum(counted["mass"] for counted in counts)
        tops = {share: (1 - share) * mass for share in self.facts.get("top", ())}
        least, columns = min(counted["least_reward"] for counted in counts), {}
        for place, name in enumerate(self.facts["predictions"]):
            one = functools.reduce(_together, (counted["columns"][place] for counted in counts))
            rows, chances = in_order(files, place, CLUSTERS, offsets), not one["outside"]
            known[name] = _measured(rows, binary, chances, tops)
            known[name]["signed"] = min(least, one["least"]) < 0
            # Of what is no chance a 1 is no certainty.
            columns[name] = one if chances else one | {"impossible": 0}
            if binary and one["least"] == one["most"]:
                known[name]["measures"]["auc"] = 0.5, *np.zeros((2, CLUSTERS))
        users = int((next(iter(known.values()))["filled"]).sum())
        if users < 2:
            raise CounterweightError(
                f"All rows are of one {user!r}, so nothing is known of how users differ: name "
                "another column as user, or leave it out."
                if user
                else "The log has a single row: nothing can be judged by it."
            )
        made = {"rows": problems.rows, "nonzero": problems.nonzero, "binary": binary}
        made["again"] = [*problems.ids.shared(), problems.rows]
        made["columns"] = columns if binary else {}
        made["clusters"] = users_behind(users, CLUSTERS) if user else 0
        size = {"top": 1.0, "rows": problems.rows, "nonzero": problems.nonzero}
        made["estimates"] = [
            line
            for name in known
            for line in (
                *(
                    {"predictions": name, "metric": metric}
                    | self._told(metric, one, known[name])
                    | size
                    for metric, one in known[name]["measures"].items()
                ),
                *(
                    {"predictions": name, "metric": RATIO, "top": share} | one.told(LEVEL)
                    for share, one in known[name]["tops"].items()
                    if one.weight <= MOST_TIED * share * mass
                ),
            )
        ]
        names = list(known)

        def minus(one, other):
            return one[0] - other[0], one[1] - other[1], one[2]

        made["differences"] = [
            {"predictions": name, "other": other, "metric": metric}
            | self._told("difference", minus(one, known[other]["measures"][metric]), known[name])
            for place, name in enumerate(names)
            for other in names[:place]
            for metric, one in known[name]["measures"].items()
            if metric in known[other]["measures"]
        ]
        return made

    def _refuse_codes(self, odd, rows):
        """Refuse a few rewards that look like codes of unknown where all others are 0 or 1.

        `odd` is how often each value but these stands in the `rows`.
        """
        outcome = self.facts["outcome"]
        known = outcome.get("low") is not None or outcome.get("high") is not None
        if known or not 0 < len(odd) <= MOST_CODES or not like_codes([*odd]).all():
            return
        if odd.total() <= FEW_CODES * rows:
            raise CounterweightError(
                f"The reward {outcome['column']!r} is {listed(f'{one:g}' for one in sorted(odd))} "
                f"in {odd.total()} of {rows} rows, and 0 or 1 in all others. If "
                "that means unknown, leave these rows out of the log; if it is a reward, say "
                "between which values rewards lie: reward: {column, low, high}."
            )

    def _told(self, metric, one, known):
        value, influence, mass = one
        own = known["filled"]
        if metric == RATIO and known["signed"]:
            metric = "difference"  # It may have either sign.
        if metric == "auc" and not influence.any():
            # One value for all rows.
            return _plain(
                dict.fromkeys(("standard_error", "low", "high"), math.nan) | {"value": value}
            )
        low, high, error = interval_of(metric, value, influence[own], mass[own], LEVEL)
        numbers = {"value": value, "standard_error": error, "low": low, "high": high}
        # JSON knows no NaN.
        return _plain(numbers)


def _odd(reward, before):
    """How often rewards (n,) have a value that is not 0 or 1, by value, with those of `before`.

    Beyond `MOST_CODES` values they are numbers, and none is counted further.
    """
    if len(before) > MOST_CODES:
        return before
    values, counts = np.unique(reward[~np.isin(reward, (0, 1))], return_counts=True)
    some = zip(values[: MOST_CODES + 1].tolist(), counts.tolist(), strict=False)
    return Counter(before) + Counter(dict(some))


def predicted_of(frame, column):
    """Predictions of a column (n,), each of them known."""
    values = column_of(frame, column, "prediction")
    refuse_outside(
        values,
        -np.inf,
        np.inf,
        rows=frame["row"].to_numpy(),
        name=f"prediction {column!r}",
        where="predictions",
    )
    return values


#: What is counted of a column of predictions before any row.
_UNSEEN = {"least": None, "most": None, "outside": 0, "impossible": 0}


def counted_of(p, reward):
    """What is counted of predictions (n,) of rewards, NaN where these are not known."""
    ends = {"least": float(p.min()), "most": float(p.max())} if len(p) else {}
    impossible = ((p == 0) & (reward == 1)) | ((p == 1) & (reward == 0))
    counts = {"outside": (p < 0) | (p > 1), "impossible": impossible}
    return _UNSEEN | ends | {name: int(rows.sum()) for name, rows in counts.items()}


def _together(one, other):
    """Counts of both, and the ends of all."""
    both = {name: one[name] + other[name] for name in ("outside", "impossible")}
    for name, end in (("least", min), ("most", max)):
        known = [value for value in (one[name], other[name]) if value is not None]
        both[name] = end(known) if known else None
    return both


def _plain(numbers):
    return {k: None if math.isnan(v) else float(v) for k, v in numbers.items()}


def _measured(batches, binary, chances, tops):
    """``measures`` of one score (value, influence and part of the denominator by cluster), which
    clusters are ``filled``, and `TopRows` by share, of which `tops` say the weight below them.

    Of a reward of 0 or 1 scores that are no `chances` rank, and their size has no meaning.
    """
    sized = chances or not binary
    tops = tops if sized else {}
    ranks, sums, filled = RankSums(CLUSTERS), np.zeros((5, CLUSTERS)), np.zeros(CLUSTERS, bool)
    highest = {share: TopRows(below, CLUSTERS) for share, below in tops.items()}
    for rows in batches:
        p, r, k, cluster = (rows[name] for name in ("score", "reward", "weight", "cluster"))
        for one in highest.values():
            one.add(p, r, k, cluster)
        filled[cluster[k > 0]] = True
        if binary:
            ranks.add(p, r == 1, k, cluster)
        columns = [k, k * r, k * p, k * (p - r) ** 2]
        if binary and chances:
            near = np.clip(p, CLIP, 1 - CLIP)
            columns.append(-k * np.where(r == 1, np.log(near), np.log1p(-near)))
        for own, values in zip(sums, columns, strict=False):
            own += np.bincount(cluster, values, CLUSTERS)
    rows, reward, told, square, surprise = sums
    measures = {}
    if binary:
        measures["auc"] = (*ranks.done().auc(), np.zeros(CLUSTERS))
        if chances:
            measures["log_loss"] = _ratio(surprise, rows)
    if sized:
        measures["brier" if binary else "squared_loss"] = _ratio(square, rows)
        measures[RATIO] = _ratio(told, reward)
    return {"measures": measures, "filled": filled, "tops": highest}


def _ratio(top, bottom):
    total = bottom.sum()
    if not total > 0:
        return np.nan, np.zeros(len(top)), np.zeros(len(top))
    value = float(top.sum() / total)
    return value, (top - value * bottom) / total, bottom / total


def score_metrics(merged, name, ids, *, top=()):
    """Metric records of one of the predictions, from what `ScoredLog.merge` told.

    Of shares of highest predictions those in `top`, whose part is ``top`` and the share, unless a
    larger one is of the same rows. `ids` are
    those of predictions, as records have them; a ``paired_difference`` has the other's id as its
    part. Of a reward of 0 or 1 ``predictions_outside`` and ``_impossible`` are what `merge` counts,
    ``predictions_end`` the least and the most.
    """
    column, all_rows = merged.get("columns", {}).get(name, {}), {"target": "general", "repeat": 0}
    all_rows |= {"rows": merged["rows"]}
    records = [
        all_rows | {"metric": f"predictions_{metric}", "value": column[metric]}
        for metric in ("outside", "impossible")
        if column.get(metric)
    ]
    records += [
        all_rows | {"metric": "predictions_end", "variable": end, "value": column[end]}
        for end in ("least", "most")
        if column
    ]
    ratios = [
        (one["top"], one["rows"])
        for one in merged["estimates"]
        if (one["predictions"], one["metric"]) == (name, RATIO)
    ]
    for one in [*merged["estimates"], *merged["differences"]]:
        if one["predictions"] != name or one["value"] is None:
            continue
        place = all_rows | {"metric": one["metric"]}
        if "other" in one:
            place |= {"metric": "paired_difference", "measure": one["metric"]}
            place["part"] = ids[one["other"]]
        elif one["top"] < 1 and one["top"] not in top:
            continue
        elif any(share > one["top"] and rows == one["rows"] for share, rows in ratios):
            continue  # All of them have one score.
        elif one["top"] < 1:
            place |= {"part": f"top {one['top']:g}", "rows": one["rows"]}
        told = {"value": one["value"], "standard_error": one["standard_error"]}
        records.append(place | told)
        records += [
            place | {"variable": end, "value": one[end]}
            for end in ("low", "high")
            if one[end] is not None
        ]
    return records


def write_runs(path, batches, facts):
    """Sort the rows of a partition by each score and write the runs.

    `batches` are dicts of arrays (n,) ``reward``, ``weight``, ``cluster``, and ``p`` (n, scores);
    `facts()` is called after the last one and gives what is kept beside the runs.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(list(zip(COLUMNS, map(pa.type_for_alias, _TYPES), strict=True)))
    runs, groups = [], 0
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", compression_level=1) as file,
    ):
        for rows in _collected(batches):
            for place in range(rows["p"].shape[1]):
                score = rows["p"][:, place]
                order = np.argsort(score, kind="stable")
                columns = [score[order], *(rows[name][order] for name in COLUMNS[1:])]
                table = pa.table(dict(zip(COLUMNS, columns, strict=True))).cast(schema)
                file.write_table(table, row_group_size=GROUP)
                count = -(-len(score) // GROUP)
                runs.append([place, groups, groups + count])
                groups += count
        file.add_key_value_metadata({"facts": as_json({"runs": runs} | facts())})


def _collected(batches):
    """Rows in runs of about `RUN` rows."""
    held, count = [], 0
    for batch in batches:
        held.append(batch)
        count += len(batch["reward"])
        if count >= RUN:
            yield _joined(held)
            held, count = [], 0
    if count:
        yield _joined(held)


def _joined(parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def in_order(files, place, clusters, offsets):
    """All rows by the score at `place`, ascending, in batches by `COLUMNS`.

    Rows of one score may end up in two batches. `offsets` are added to the clusters of each file,
    modulo their number.
    """
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        sources = []
        for path, offset in zip(files, offsets, strict=True):
            runs = [run for run in read_facts(path)["runs"] if run[0] == place]
            file = stack.enter_context(pq.ParquetFile(path))
            sources += [_run(file, range(*run[1:]), clusters, offset) for run in runs]
        yield from _merged(sources)


def _merged(sources):
    """Rows of sorted sources in order, in batches."""
    held = [next(source, None) for source in sources]
    while live := [k for k, batch in enumerate(held) if batch is not None]:
        # Nothing below the least of the last scores at hand can come later.
        upto = min(held[k]["score"][-1] for k in live)
        parts = []
        for k in live:
            stop = int(np.searchsorted(held[k]["score"], upto, side="right"))
            parts.append({name: values[:stop] for name, values in held[k].items()})
            rest = {name: values[stop:] for name, values in held[k].items()}
            held[k] = rest if len(rest["score"]) else next(sources[k], None)
        rows = _joined(parts)
        order = np.argsort(rows["score"], kind="stable")
        for start in range(0, len(order), STEP):
            own = order[start : start + STEP]
            yield {name: values[own] for name, values in rows.items()}


def _run(file, groups, clusters, offset):
    """Row groups of one run."""
    for group in groups:
        table = file.read_row_group(group, use_threads=False)
        rows = {name: table[name].to_numpy() for name in COLUMNS}
        yield rows | {"cluster": (rows["cluster"] + offset) % clusters}


class RankSums:
    """What an AUC and its influences need of rows that come by ascending score.

    By cluster, ``positives`` and ``negatives`` are the weights of each class; ``above`` sums of
    positive rows their weight times that of the negatives below, ``below`` of negative rows their
    weight times that of the positives below; ties count half.
    """

    def __init__(self, clusters):
        self.positives, self.negatives, self.above, self.below = np.zeros((4, clusters))
        self._passed = np.zeros(2)
        self._held = None

    def add(self, score, positive, weight, cluster):
        """Add rows; none may have a lower score than those before."""
        rows = (score, positive, weight, cluster)
        if self._held is not None:
            rows = tuple(np.concatenate(pair) for pair in zip(self._held, rows, strict=True))
        # The rows of the last score wait: more of them may come.
        done = int(np.searchsorted(rows[0], rows[0][-1]))
        self._count(*(part[:done] for part in rows))
        self._held = self._fewer(tuple(part[done:] for part in rows))

    def _fewer(self, rows):
        """Rows of one score, put together by cluster and class where there are many."""
        score, positive, weight, cluster = rows
        clusters = len(self.positives)
        if len(score) <= 2 * clusters:
            return rows
        sums = np.bincount(cluster + clusters * positive, weight, 2 * clusters)
        some = np.flatnonzero(sums)
        return np.full(len(some), score[0]), some >= clusters, sums[some], some % clusters

    def _count(self, score, positive, weight, cluster):
        if not len(score):
            return
        first = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])
        each = np.diff(np.r_[first, len(score)])
        for own, other, kind in ((True, self.above, 0), (False, self.below, 1)):
            # Weight of the other class at each score, and below it.
            at = np.add.reduceat(np.where(positive == own, 0.0, weight), first)
            under = self._passed[kind] + np.cumsum(at) - at / 2
            self._passed[kind] += at.sum()
            rows = positive == own
            placed = weight[rows] * np.repeat(under, each)[rows]
            other += np.bincount(cluster[rows], placed, len(other))
            mass = self.positives if own else self.negatives
            mass += np.bincount(cluster[rows], weight[rows], len(mass))

    def done(self):
        """Count the rows that waited; return itself."""
        if self._held is not None:
            self._count(*self._held)
            self._held = None
        return self

    def auc(self):
        """AUC, and the influence of each cluster on it (clusters,); NaN for one class only.

        Influences are placements of DeLong, DeLong & Clarke-Pearson (1988), summed by cluster.
        """
        ones, zeros = self.positives.sum(), self.negatives.sum()
        if not (ones > 0 and zeros > 0):
            return np.nan, np.zeros(len(self.positives))
        value = float(np.clip(self.above.sum() / ones / zeros, 0.0, 1.0))
        influence = (self.above / zeros - value * self.positives) / ones
        influence += ((1 - value) * self.negatives - self.below / ones) / zeros
        return value, influence
