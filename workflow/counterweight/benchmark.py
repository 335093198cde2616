"""A benchmark: one study on many data sets under many conditions, and what they say together.

A data set is one job: its rows are drawn once (`rows` at most), and every condition's study is run
on them, stage by stage, as the workflow runs a study. A method that ends with an error has no
measurements, and the reason is written down. What all data sets say is told by ranks, critical
differences, tests of pairs and shares, which count each data set once, whatever its size: values of
one data set are not independent draws, those of different ones are taken to be.

References
----------
Demšar (2006), *JMLR* 7, on all of these; Iman & Davenport (1980) for the F form of Friedman's
test; Holm (1979).
"""

import tempfile
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterweight.answers import run_jobs
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.methods import begun_from
from counterweight.plan.stages import Stages
from counterweight.tables.parquet import read_facts, read_table, replacing, write_table
from counterweight.tables.study_data import generator

#: Layout of what a data set measures.
LAYOUT = [
    ("condition", "string"),
    ("method", "string"),
    ("measure", "string"),
    ("repeat", "int16"),
    ("value", "float64"),
    ("failed", "string"),
]
#: Layout of what it cost: no part of any result.
COSTS = ["condition", "stage", "item", "seconds"]
#: What a part of a study may end with and leave the others their answers.
ENDS = (CounterweightError, ValueError, ArithmeticError, ImportError, np.linalg.LinAlgError)


def compare(job):
    """Run every study of one data set; write measurements and costs."""
    given, records, costs = job.given, [], []
    with tempfile.TemporaryDirectory(prefix="counterweight-") as place:
        whole = _table(given, job.input.table, place)
        for condition, study in given["studies"].items():
            job.log.info("%s", condition)
            stages = _stages(given, f"{place}/{condition}", study)
            _write(stages, study, *whole)
            found, spent = _run(stages, study, job.log)
            records += [
                {"condition": condition} | one for one in _told(stages, study, given, found)
            ]
            costs += [{"condition": condition} | one for one in spent]
    columns = {name: [one.get(name) for one in records] for name, _ in LAYOUT}
    write_table(job.output.table, columns, LAYOUT)
    with replacing(job.output.costs) as path:
        pd.DataFrame(costs, columns=COSTS).to_csv(path, index=False, float_format="%.4f")


def _stages(given, place, study):
    """The stages of one study in a folder of its own."""
    plan = given["plan"] | {"results": f"{place}/results", "data": f"{place}/data"}
    plan |= {"datasets": {study["dataset"]: given["settings"]}, "studies": {study["id"]: study}}
    plan |= {"data_source": given["settings"]["source"], "benchmarks": {}}
    return Stages(plan, "")


def _table(given, path, place):
    """The rows of the data set that are used, what is known of them, and facts of the table."""
    first = next(iter(given["studies"].values()))
    stages = _stages(given, f"{place}/whole", first)
    name, known = first["dataset"], None
    if not path:
        run_jobs(stages, first["id"], [(*one, "") for one in given["before"]])
        path = stages.paths.prepared(name)
        known = read_table(stages.paths.known(name))
    frame, rows = read_table(path), given["rows"]
    if len(frame) > rows:
        rng = generator(given["plan"]["seed"], given["set"], 0, "benchmark rows")
        kept = np.sort(rng.choice(len(frame), rows, replace=False))
        frame = frame.iloc[kept].reset_index(drop=True)
        if known is not None and "row" in known:
            known = known[known["row"].isin(frame["row"])].reset_index(drop=True)
    return frame, known, read_facts(path)


def _write(stages, study, frame, known, facts):
    write_table(stages.paths.prepared(study["dataset"]), frame, facts=facts)
    if known is not None:
        write_table(stages.paths.known(study["dataset"]), known)


def _run(stages, study, log):
    """Run the stages of a study; what ended with an error, by stage and item, and CPU seconds."""
    name, failed, costs = study["id"], {}, []

    def ran(stage, item="", *needs):
        why = next((failed[one] for one in needs if one in failed), None)
        begun = time.process_time()
        if why is None:
            try:
                run_jobs(stages, name, [(stage, name, item)])
            except ENDS as error:
                why = " ".join(str(error).split())
                log.warning("%s %s %s: %s", name, stage, item, why)
        if why is not None:
            failed[stage, item] = why
        spent = time.process_time() - begun
        costs.append({"stage": stage, "item": item, "seconds": spent})

    ran("label")
    labeled = ("label", "")
    for selector in study["selectors"]:
        ran("select", selector, labeled)
    for weighting, spec in study["weightings"].items():
        ran("weigh", weighting, labeled, ("select", spec["selector"]))
    methods = study["methods"]
    # Models that others begin from come first.
    for method in sorted(methods, key=lambda one: bool(begun_from(study, one))):
        starts = [("train", one) for one in begun_from(study, method)]
        ran("train", method, labeled, ("weigh", methods[method]["weights"]), *starts)
        ran("evaluate", method, ("train", method))
    return failed, costs


def _told(stages, study, given, failed):
    """Records of the methods that are reported: measurements, or why there are none."""
    at = stages.paths.study(study["id"])
    for method, spec in study["methods"].items():
        if not spec["reported"]:
            continue
        if ("evaluate", method) in failed:
            first = next(iter(given["measures"]))
            yield {"method": method, "measure": first, "failed": failed["evaluate", method]}
            continue
        table, rule = read_table(at.metrics(method)), rule_of(spec["model"])
        for name, measure in given["measures"].items():
            instead = _instead(stages, study, failed, name, measure)
            for apart, repeat, value in _measured(table, name, measure, rule, instead):
                named = apart if given["estimators"] else f"{method} {apart}".strip()
                yield {"method": named, "measure": name, "repeat": int(repeat), "value": value}


def rule_of(model):
    """By which rule a model keeps what is asked of rates; see the declaration ``RULE``."""
    return components.declared("model", model, "RULE", "randomised")


def _instead(stages, study, failed, name, measure):
    """By repeat, what stands where no setting of a method keeps the limit of a measure."""
    method = (measure["within"] or {}).get("instead", "")
    if not method or ("evaluate", method) in failed:
        return {}
    table = read_table(stages.paths.study(study["id"]).metrics(method))
    rule = rule_of(study["methods"][method]["model"])
    alone = _measured(table, name, measure | {"within": None}, rule)
    return {repeat: value for _, repeat, value in alone}


def _measured(table, name, measure, rule, instead=None):
    """A measure of one method: what tells parts of it apart (a setting), repeat, value."""
    target = measure["target"]
    found = _rows(table, measure["metric"] or name, target, measure["where"], rule)
    if other := measure["over"]:
        both = found.merge(_rows(table, other, target, {}, rule), on=["setting", "repeat"])
        found = both.assign(value=both["value_x"] / both["value_y"], apart=both["apart_x"])
    if (within := measure["within"]) is None:
        yield from found[["apart", "repeat", "value"]].itertuples(index=False)
        return
    limit = _rows(table, within["metric"], target, within["where"], rule)
    both = found.merge(limit[["setting", "repeat", "value"]], on=["setting", "repeat"])
    best = "min" if measure["better"] == "less" else "max"
    for repeat, one in both.groupby("repeat"):
        kept = [one["value_x"][one["value_y"] <= most] for most in within["at_most"]]
        other = (instead or {}).get(repeat, np.nan)
        reached = [getattr(values, best)() if len(values) else other for values in kept]
        yield "", repeat, float(np.mean(reached))


def _rows(table, metric, target, where, rule):
    """Rows of one metric; of fits that are made again and again, the last step."""
    where = {"target": target, "part": "", "variable": "", "measure": ""} | where
    table = table[table["metric"].eq(metric.replace("{rule}", rule))]
    table = table.assign(setting=table["setting"].fillna(""), apart=table["setting"].fillna(""))
    for column, value in where.items():
        if value == "each":
            table = table.assign(apart=table[column].fillna(""))
        else:
            table = table[table[column].fillna("").eq(value)]
            table = table.assign(apart="") if column == "setting" else table
    return table.groupby(["setting", "apart", "repeat"], sort=False).tail(1)


def _at_best(losses):
    """Losses a column a method, its settings as the best of them; a row a data set."""
    return losses.T.groupby([one.partition(" ")[0] for one in losses], sort=False).min().T


def compared(job):
    """Put the data sets of a benchmark side by side; write its three tables."""
    given = job.given
    paths = dict(zip(given["sets"], job.input.tables, strict=True))
    records = pd.concat([read_table(path).assign(set=one) for one, path in paths.items()])
    paths = dict(zip(given["sets"], job.input.costs, strict=True))
    costs = pd.concat([pd.read_csv(path).assign(set=one) for one, path in paths.items()])
    told = Told(given, records, costs)
    for role, rows in (("methods", told.methods()), ("pairs", told.pairs()), ("sets", told.sets())):
        with replacing(getattr(job.output, role)) as path:
            pd.DataFrame(rows).to_csv(path, index=False, float_format="%.5g", lineterminator="\n")


class Told:
    """What the measurements of all data sets say.

    Parameters
    ----------
    given : dict
        ``measures``, ``plain``, ``equal``, ``oracles``, ``conditions``, ``pairs``, ``parts``.
    records, costs : DataFrame
        In the layouts of `compare`, with the name of each data set in ``set``.
    """

    def __init__(self, given, records, costs):
        self.given, self.records, self.costs = given, records, costs
        self.measure = next(iter(given["measures"]))
        self.listed = [*dict.fromkeys(records["method"])]

    def values(self, condition, measure):
        """Means over repeats, NaN where one has none: a row a data set, a column a method.

        Of errors, whose `mean` is ``square``, the root of the mean square.
        """
        here = self.records[self.records["condition"].eq(condition)]
        there, here = {*here["method"]}, here[here["measure"].eq(measure)]
        square = self.given["measures"][measure]["mean"] == "square"

        def over_repeats(found):
            return np.sqrt((found**2).mean(skipna=False)) if square else found.mean(skipna=False)

        keys = {"values": "value", "index": "set", "columns": "method", "aggfunc": over_repeats}
        wide = here.pivot_table(**keys, dropna=False, sort=False)
        named = [one for one in self.listed if one in there]
        return wide.reindex(columns=named)

    def losses(self, condition, measure):
        """The measure as a loss, for which less is better."""
        values = self.values(condition, measure)
        return values if self.given["measures"][measure]["better"] == "less" else -values

    def judged(self, values):
        """Methods that a person could use."""
        hidden = {*self.given["oracles"], self.given["equal"]}
        return [one for one in values if one.split(" ")[0] not in hidden]

    def seconds(self, condition, method):
        """Mean CPU seconds of what a method needs, over data sets."""
        costs = self.costs[self.costs["condition"].eq(condition)]
        needs = self.given["parts"].get(method.split(" ")[0], [])
        if not needs:
            return float("nan")
        there = pd.concat(
            [costs[costs["stage"].eq(stage) & costs["item"].eq(item)] for stage, item in needs]
        )
        return float(there.groupby("set")["seconds"].sum().mean())

    def methods(self):
        """A row a condition and method: ranks, shares, the worst case, tests, costs."""
        return [row for condition in self.given["conditions"] for row in self._of(condition)]

    def _of(self, condition):
        losses = self.losses(condition, self.measure)
        judged, plain, equal = self.judged(losses), self.given["plain"], self.given["equal"]
        ranked = pd.DataFrame(ranks(losses[judged]), losses.index, judged)
        test = friedman(ranked.to_numpy())
        apart = critical_difference(max(len(judged), 2), len(losses))
        others = [one for one in judged if plain and one != plain]
        chances = [signed_ranks(losses[one] - losses[plain]) for one in others]
        chances = dict(zip(others, holm(chances), strict=True)) if others else {}
        for one in losses:
            row = {"condition": condition, "method": one, "sets": int(losses[one].notna().sum())}
            row["failed"] = int(losses[one].isna().sum())
            for measure in self.given["measures"]:
                there = self.values(condition, measure)
                row[measure] = there[one].mean() if one in there else np.nan
            row["rank"] = ranked[one].mean() if one in ranked else np.nan
            change = losses[one] - losses[plain] if plain else losses[one] * np.nan
            row |= {"worst_change": change.max(), "p_holm": chances.get(one, np.nan)}
            row |= dict(zip(("better", "alike", "worse"), signs(change)[:3], strict=True))
            share = (np.nan,) * 3
            if plain and equal and equal in losses:
                share = recovered(losses[plain], losses[one], losses[equal])
            row |= dict(zip(("share", "share_low", "share_high"), share, strict=True))
            row["seconds"] = self.seconds(condition, one)
            yield row | {"friedman_p": test.p, "critical_difference": apart}

    def pairs(self):
        """A row a claim and condition: whether the first is better than the second, over sets.

        Better by more than minus the margin, where the claim has one. A verdict needs both tests. A
        method that has settings is the best of them in each data set.
        """
        rows = []
        for claim, pair in self.given["pairs"].items():
            measure, (first, second) = pair["measure"] or self.measure, pair["methods"]
            for condition in self.given["conditions"]:
                least = _at_best(self.losses(condition, measure))
                if not {first, second} <= {*least}:
                    continue
                change = (least[first] - least[second]).dropna() - pair["margin"]
                wins, ties, defeats, chance = signs(change)
                p = signed_ranks(change)
                verdict = "undecided"
                if max(p, chance) < LEVEL:
                    verdict = "holds" if wins > defeats else "does not hold"
                row = {"claim": claim, "says": pair["says"], "condition": condition}
                row |= {"measure": measure, "first": first, "second": second}
                row |= {"sets": len(change), "wins": wins, "ties": ties, "defeats": defeats}
                row |= {"median_change": change.median() + pair["margin"]}
                row |= {"sign_p": chance, "wilcoxon_p": p}
                rows.append(row | {"verdict": verdict})
        return rows

    def sets(self):
        """A row a data set and condition: the references, the best method, what failed."""
        rows = []
        for condition in self.given["conditions"]:
            losses = self.losses(condition, self.measure)
            values = self.values(condition, self.measure)
            judged = self.judged(losses)
            failed = self.records[self.records["condition"].eq(condition)]
            failed = failed[failed["failed"].fillna("").ne("")]
            for one in losses.index:
                there = losses.loc[one, judged].dropna()
                row = {"condition": condition, "set": one}
                for key in ("plain", "equal"):
                    method = self.given[key]
                    row[key] = values[method].get(one, np.nan) if method in values else np.nan
                row["best"] = there.idxmin() if len(there) else ""
                row["best_value"] = values.loc[one, row["best"]] if len(there) else np.nan
                row["failed"] = " ".join(sorted(set(failed[failed["set"].eq(one)]["method"])))
                rows.append(row)
        return rows


#: Level of tests and intervals.
LEVEL = 0.05


def ranks(values, better="less"):
    """Rank of each method in each data set: 1 is best, equal values share the mean of theirs.

    `values` (N, k) have a row a data set, a column a method; `better` is "less" or "more". NaN, a
    method without an answer, ranks last.
    """
    from scipy.stats import rankdata

    values = np.asarray(values, float)
    values = values if better == "less" else -values
    return rankdata(np.where(np.isnan(values), np.inf, values), axis=1)


@dataclass(frozen=True)
class Friedman:
    """Whether methods differ at all: chi square, its F form and the chance of as much."""

    chi_square: float
    f: float
    p: float


def friedman(ranked):
    """Friedman's test of ranks (N, k) in the form of Iman and Davenport, corrected for ties."""
    from scipy.stats import f as law

    sets, k = ranked.shape
    spread = np.square(ranked - (k + 1) / 2).sum()
    apart = sets * np.square(ranked.mean(axis=0) - (k + 1) / 2).sum()
    if sets < 2 or k < 2 or spread == 0:
        return Friedman(0.0, 0.0, 1.0)
    chi = (k - 1) * sets * apart / spread
    left = sets * (k - 1) - chi
    value = (sets - 1) * chi / left if left > 1e-12 else np.inf
    return Friedman(float(chi), float(value), float(law.sf(value, k - 1, (k - 1) * (sets - 1))))


def critical_difference(methods, sets, level=LEVEL):
    """Nemenyi's: mean ranks that differ by as much differ at the level, all pairs at once."""
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - level, methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def holm(p):
    """Chances (k,) of single tests made such that none of k is false at a level, by steps down."""
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    grown = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(grown)
    found[order] = np.minimum(grown, 1.0)
    return found


def signed_ranks(differences):
    """Chance of Wilcoxon's signed ranks (Pratt's of zeros), both sides; 1 where all are zero."""
    from scipy.stats import wilcoxon

    differences = np.asarray(differences, float)
    differences = differences[np.isfinite(differences)]
    if not differences.any():
        return 1.0
    return float(wilcoxon(differences, zero_method="pratt").pvalue)


def signs(differences):
    """How many differences are below 0, equal and above it, and the sign test's chance."""
    from scipy.stats import binomtest

    differences = np.asarray(differences, float)
    below, above = int((differences < 0).sum()), int((differences > 0).sum())
    p = float(binomtest(below, below + above).pvalue) if below + above else 1.0
    return below, int((differences == 0).sum()), above, p


def recovered(plain, method, equal):
    """Share of what was lost that a method wins back, all data sets together.

    Sum of ``plain - method`` over the sum of ``plain - equal``: 0 for what makes nothing up, 1 for
    what has as little loss as the one that had nothing to make up for. The interval is the
    jackknife's over data sets. Losses (N,) are by data set; those with a NaN are left out.

    Returns the share and its ends, NaN where nothing is lost, by the same jackknife at two standard
    errors.
    """
    from scipy.stats import t

    told = np.column_stack([plain, method, equal]).astype(float)
    told = told[np.isfinite(told).all(axis=1)]
    won, lost, count = told[:, 0] - told[:, 1], told[:, 0] - told[:, 2], len(told)
    nothing = (float("nan"),) * 3
    if count < 3 or lost.mean() <= 2 * lost.std(ddof=1) / np.sqrt(count):
        return nothing
    share = won.sum() / lost.sum()
    out = (won.sum() - won) / (lost.sum() - lost)
    error = np.sqrt((count - 1) / count * np.square(out - out.mean()).sum())
    reach = t.ppf(1 - LEVEL / 2, count - 1) * error
    return float(share), float(share - reach), float(share + reach)
