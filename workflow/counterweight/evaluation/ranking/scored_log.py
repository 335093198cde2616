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
"""

import math

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics.metrics import CLIP
from counterweight.evaluation.metrics.paired import interval_of
from counterweight.evaluation.ranking.score_runs import RankSums, in_order, write_runs
from counterweight.evaluation.values.log_values import users_behind
from counterweight.files.tables import read_facts
from counterweight.labeling.columns import CLUSTERS, refuse_outside
from counterweight.labeling.log_files import looked_at
from counterweight.labeling.logs import LogProblems, column_of, roles_of
from counterweight.numerics.zero_rejection import keep_weights

KIND = "scores"
OPTIONS = {}
#: Coverage of the intervals.
LEVEL = 0.95
LABEL = "AUC, losses and calibration of predictions of a log"


class ScoredLog:
    """Predictions of a log in partitions, and what is asked of them.

    Parameters
    ----------
    facts : dict
        ``predictions`` (columns by name), ``outcome`` and ``labeling`` (options of their rules).
    """

    def __init__(self, facts):
        self.facts = facts
        self._roles = roles_of(facts["outcome"], facts["labeling"])

    def sort(self, path, rows, reading=None, keys=None):
        """Write the sorted runs of one partition, with what is counted in it.

        Parameters
        ----------
        path : str or Path
            To be written.
        rows : pandas.DataFrame, str or Path
            The partition.
        reading : dict, optional
            See `counterweight.files.people`.
        keys : dict, optional
            Columns that the names of its folders say.

        Raises
        ------
        CounterweightError
            For what single rows have wrong.
        """
        problems = LogProblems(self._roles)
        counted = {"binary": True, "chances": [True] * len(self.facts["predictions"])}

        def facts():
            problems.tell_rows()
            return counted | {"problems": problems.state(), "rows": problems.rows}

        write_runs(path, self._batches(rows, reading, keys, problems, counted), facts)

    def _batches(self, rows, reading, keys, problems, counted):
        outcome, labeling = self.facts["outcome"], self.facts["labeling"]
        columns = list(self.facts["predictions"].values())
        needed = list(dict.fromkeys([*self._roles.values(), *columns]))
        texts = [labeling.get("user")]
        texts += [outcome["column"]] if outcome.get("positive") is not None else []
        types = dict.fromkeys(needed, "number") | {name: "text" for name in texts if name}
        rules = outcome, labeling | {"propensity": ""}, problems
        for frame, part in looked_at(rows, *rules, needed, types, {}, reading, keys):
            p = np.stack([self._predicted(frame, name) for name in columns], axis=1)
            counted["binary"] &= bool(np.isin(part["reward"], (0, 1)).all())
            chances = ((p >= 0) & (p <= 1)).all(axis=0)
            counted["chances"] = [
                bool(a and b) for a, b in zip(counted["chances"], chances, strict=True)
            ]
            if problems.noted:
                continue
            weight = part["weight"] * keep_weights(part["reward"], part["keep_rate"])
            cluster = part["cluster"] if labeling.get("user") else part["row"] % CLUSTERS
            yield {"reward": part["reward"], "weight": weight, "cluster": cluster, "p": p}

    def _predicted(self, frame, column):
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

    def merge(self, files):
        """What all partitions say together.

        Parameters
        ----------
        files : sequence of path
            From `sort`.

        Returns
        -------
        dict
            ``rows``, ``nonzero``, ``clusters`` (about how many users; 0 without), ``binary``,
            ``estimates`` and ``differences``: lists of dicts by ``predictions``, ``other`` (of
            differences), ``metric``, ``value``, ``standard_error``, ``low``, ``high``; plain
            numbers.

        Raises
        ------
        CounterweightError
            Where the rows together are no log that can be judged.
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
        known = {}
        for place, name in enumerate(self.facts["predictions"]):
            chances = binary and all(counted["chances"][place] for counted in counts)
            known[name] = _measured(in_order(files, place, CLUSTERS, offsets), binary, chances)
        users = int((next(iter(known.values()))["filled"]).sum())
        if users < 2:
            raise CounterweightError(
                f"All rows are of one {user!r}, so nothing is known of how users differ: name "
                "another column as user, or leave it out."
                if user
                else "The log has a single row: nothing can be judged by it."
            )
        made = {"rows": problems.rows, "nonzero": problems.nonzero, "binary": binary}
        made["clusters"] = users_behind(users, CLUSTERS) if user else 0
        made["estimates"] = [
            {"predictions": name, "metric": metric} | self._told(metric, one, known[name])
            for name in known
            for metric, one in known[name]["measures"].items()
        ]
        names = list(known)
        made["differences"] = [
            {"predictions": name, "other": other, "metric": metric}
            | self._told("difference", _minus(one, known[other]["measures"][metric]), known[name])
            for place, name in enumerate(names)
            for other in names[:place]
            for metric, one in known[name]["measures"].items()
            if metric in known[other]["measures"]
        ]
        return made

    def _told(self, metric, one, known):
        value, influence, mass = one
        own = known["filled"]
        low, high, error = interval_of(metric, value, influence[own], mass[own], LEVEL)
        numbers = {"value": value, "standard_error": error, "low": low, "high": high}
        # JSON knows no NaN.
        return {k: None if math.isnan(v) else float(v) for k, v in numbers.items()}


def _minus(one, other):
    value, influence, mass = one
    return value - other[0], influence - other[1], mass


def _measured(batches, binary, chances):
    """``measures`` of one score (value, influence and part of the denominator by cluster), and
    which clusters are ``filled``."""
    ranks, sums, filled = RankSums(CLUSTERS), np.zeros((5, CLUSTERS)), np.zeros(CLUSTERS, bool)
    for rows in batches:
        p, r, k, cluster = (rows[name] for name in ("score", "reward", "weight", "cluster"))
        filled[cluster[k > 0]] = True
        if binary:
            ranks.add(p, r == 1, k, cluster)
        columns = [k, k * r, k * p, k * (p - r) ** 2]
        if chances:
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
    measures["brier" if chances else "squared_loss"] = _ratio(square, rows)
    measures["predicted_over_observed"] = _ratio(told, reward)
    return {"measures": measures, "filled": filled}


def _ratio(top, bottom):
    total = bottom.sum()
    if not total > 0:
        return np.nan, np.zeros(len(top)), np.zeros(len(top))
    value = float(top.sum() / total)
    return value, (top - value * bottom) / total, bottom / total


def score_metrics(merged, name, ids):
    """Metric records of one of the predictions.

    Parameters
    ----------
    merged : dict
        From `ScoredLog.merge`.
    name : str
    ids : dict of str to str
        Of predictions, as records have them.

    Returns
    -------
    list of dict
        For ``tables.metrics_table``; a ``paired_difference`` has the other's id as its part.
    """
    records = []
    for one in [*merged["estimates"], *merged["differences"]]:
        if one["predictions"] != name or one["value"] is None:
            continue
        place = {"target": "general", "repeat": 0, "rows": merged["rows"], "metric": one["metric"]}
        if "other" in one:
            place |= {"metric": "paired_difference", "measure": one["metric"]}
            place["part"] = ids[one["other"]]
        told = {"value": one["value"], "standard_error": one["standard_error"]}
        records.append(place | told)
        records += [
            place | {"variable": end, "value": one[end]}
            for end in ("low", "high")
            if one[end] is not None
        ]
    return records
