"""Protocol: values of policies from a log of one's own, whose truth nobody knows.

Files are read in step, a batch of rows at a time; see `counterweight.evaluation.values.log_values`
for the estimators.
"""

import numpy as np

from counterweight.evaluation.options import LEVEL
from counterweight.evaluation.values.log_values import LOGGED, log_values, values_of_sums
from counterweight.fragments import Choice, Integer, Number
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.log_files import rows_in_step
from counterweight.tables import batches

TASK = "log"
OPTIONS = {
    "thin": Number(0.01, "Propensity below which the log shows an action too rarely to tell much.", minimum=0, maximum=1),
    "anytime": Integer(0,
        "For intervals that may be looked at after every row of a growing log: the number of rows (of users, where "
        "rows belong to them) about which they are to be narrowest. 0 for intervals that are looked at once, which are "
        "narrower.", minimum=0),
    "limit": Choice("none", ["none", "clip", "switch", "shrink"],
        "An estimate beside the others whose weights are limited at t. clip: min(w, t); switch: 0 above t; shrink: t w "
        "/ (w^2 + t). Its interval allows for the bias."),
    "limit_at": Number(10.0, "t of limit.", above=0),
    **LEVEL,
}  # fmt: skip
LABEL = "values of policies from a log of one's own"
VALUE_LABELS = {
    "measure": {
        "snips": "SNIPS",
        "ips": "IPS",
        "mean": "mean of the log",
        "limited": "IPS, limited",
        "dr": "doubly robust",
        "sndr": "doubly robust, self-normalised",
    }
}
#: Flags of `counterweight.evaluation.values.log_values.Support`, by the metric ``support``.
FLAGS = ("good", "thin", "outside", "doubtful")
_COLUMNS = ("row", "keep_rate", "propensity", "reward", "weight", "cluster")


def own_values(labels, predictions, others, **options):
    """Records of the value of one policy in one study, for ``tables.metrics_table``.

    `predictions`, of the rows of `labels`, have ``row`` and ``p``, the probability that the policy
    gives the logged action, perhaps with ``q`` and ``v`` of a reward model; `others` are those of
    other policies that this one is compared with, by method. Options are those of
    `log_values.log_values`: `OPTIONS`, ``reward_range`` and ``rows_before``. ``part`` says what a
    difference is from, ``log`` for the policy that made the log. Files of different rows are
    refused.
    """
    own = " "  # No method is called so. It comes last, so it is compared with all others.
    return records_of(values_of_files(labels, others | {own: predictions}, **options), own, others)


def records_of(known, own, others):
    """Records of one policy of a log (`own_values`); it is compared with the `others`."""
    records = []

    def tell(metric, ratio, **place):
        place = {"keep_rate": 1.0} | place
        records.append(
            place | {"metric": metric, "value": ratio.value, "standard_error": ratio.standard_error}
        )
        ends = {"whole_value": "whole"}.get(metric, metric)
        for end in ("low", "high"):
            records.append(place | {"metric": f"{ends}_{end}", "value": getattr(ratio, end)})

    for name in known.estimators:
        tell("whole_value", known.values[own, name], measure=name)
        support, place = known.support[own, name], {"measure": name, "keep_rate": 1.0}
        for metric in ("effective_rows", "largest_weight", "largest_share"):
            records.append(place | {"metric": metric, "value": getattr(support, metric)})
        records.append(place | {"metric": "support", "value": FLAGS.index(support.flag)})
        for other in (LOGGED, *others):
            ratio = known.differences[own, other, name]
            tell("difference", ratio, measure=name, part=other or "log")
        tell("lift", known.lifts[own, name], measure=name)
    if own in known.lost:
        tell("weight_lost", known.lost[own])
    tell("logged_value", known.logged, measure="mean")
    tell("mean_importance", support.mean_weight)
    for metric in ("rows_agreed", "rows_rewarded", "thin_share", "clusters"):
        records.append({"metric": metric, "value": float(getattr(support, metric))})
    return [{"target": "general", "rows": known.rows} | record for record in records]


def values_of_files(labels, predictions, **options):
    """`LogValues` of the policies of a study, by files of their predictions."""
    modelled = all("q" in batches.column_names(path) for path in predictions.values())
    return log_values(
        lambda: _batches(labels, predictions, modelled),
        list(predictions),
        clusters=CLUSTERS if has_clusters(labels) else 0,
        modelled=modelled,
        **options,
    )


def has_clusters(labels):
    """Whether the rows of a log belong to users."""
    first = next(iter(batches.batches(labels, ["cluster"], 1)), None)
    return first is not None and bool(first["cluster"][0] >= 0)


def _batches(labels, predictions, modelled):
    told = ("p", "q", "v") if modelled else ("p",)
    sources = [(path, ("row", *told)) for path in predictions.values()]
    for ours, *theirs in rows_in_step([(labels, _COLUMNS), *sources]):
        yield ours | {name: np.stack([part[name] for part in theirs], axis=1) for name in told}


def values_of_log(question, rows, reading=None):
    """`LogValues` of a new log, a frame or a file, read in batches, by a `LogQuestion`."""
    return log_values(
        lambda: question.batches(rows, reading),
        list(question.facts["policies"]),
        clusters=question.clusters,
        **_options(question, "level", "thin", "anytime", "limit", "limit_at"),
    )


def values_of_parts(question, sums):
    """`LogValues` of the sums over all partitions of a log."""
    return values_of_sums(
        sums,
        list(question.facts["policies"]),
        rows_before=question.facts["labeling"]["rows_before"],
        **_options(question, "level", "anytime"),
    )


def _options(question, *names):
    bounds = question.facts["outcome"].get("low"), question.facts["outcome"].get("high")
    # Those of an older version lack some.
    known = {"anytime": 0, "limit": "none", "limit_at": 10.0} | question.facts
    return {"reward_range": bounds} | {name: known[name] for name in names}
