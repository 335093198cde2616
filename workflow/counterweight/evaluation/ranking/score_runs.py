"""Scores of the rows of a log, sorted: runs in files, and their merge in one ascending stream.

A partition is sorted in runs of so many rows at most, each score by itself, and written as one
Parquet file. The runs of all partitions are then read in step, a row group of each at a time, so
memory grows with the number of runs and not with the rows.
"""

import contextlib
import json

import numpy as np

from counterweight.files.tables import read_facts, replacing

#: Rows of a run, and of the row groups in which it is read.
RUN, GROUP = 1 << 20, 1 << 14
#: Rows that are given on at once.
STEP = 1 << 17
COLUMNS = ("score", "reward", "weight", "cluster")
_TYPES = ("float64", "float64", "float64", "int32")


def write_runs(path, batches, facts):
    """Sort the rows of a partition by each score and write the runs.

    Parameters
    ----------
    path : str or Path
    batches : iterable of dict
        Arrays (n,) ``reward``, ``weight``, ``cluster``, and ``p`` (n, scores).
    facts : callable
        ``facts()`` is called after the last batch and gives what is kept beside the runs.
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
        file.add_key_value_metadata({"facts": json.dumps({"runs": runs} | facts())})


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
    """All rows by one score, ascending, in batches; rows of one score may end up in two.

    Parameters
    ----------
    files : sequence of path
        From `write_runs`.
    place : int
        Of the score.
    clusters : int
    offsets : sequence of int
        What is added to the clusters of each file, modulo their number.

    Yields
    ------
    dict of str to array (n,)
        By `COLUMNS`.
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

    Parameters
    ----------
    clusters : int

    Attributes
    ----------
    positives, negatives : array (clusters,)
        Weights of each class.
    above, below : array (clusters,)
        Of positive rows their weight times that of the negatives below, of negative rows their
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
        """AUC, and the influence of each cluster on it (clusters,).

        Returns
        -------
        value : float
            NaN where there is one class only.
        influence : array
            Placements of DeLong, DeLong & Clarke-Pearson (1988), summed by cluster.
        """
        ones, zeros = self.positives.sum(), self.negatives.sum()
        if not (ones > 0 and zeros > 0):
            return np.nan, np.zeros(len(self.positives))
        value = float(np.clip(self.above.sum() / ones / zeros, 0.0, 1.0))
        influence = (self.above / zeros - value * self.positives) / ones
        influence += ((1 - value) * self.negatives - self.below / ones) / zeros
        return value, influence
