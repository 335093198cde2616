"""Protocol: values of policies from a log of one's own, whose truth nobody knows; as tables, too.

Files are read in step, a batch of rows at a time; see `counterweight.evaluation.values.log_values`
for the estimators.
"""

import math

import numpy as np

from counterweight.evaluation.options import LEVEL
from counterweight.evaluation.values.log_values import LOGGED, log_values
from counterweight.files import streams
from counterweight.fragments import Choice, Integer, Number
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.log_files import rows_in_step

KIND = "log"
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
_RATIO = ("value", "low", "high", "standard_error")
_NUMBERS = (
    *_RATIO,
    *(f"{name}{end}" for name in ("gain", "lift") for end in ("", "_low", "_high")),
)
_SUPPORT = ("effective_rows", "largest_weight", "largest_share")
_WEIGHT = ("mean_weight", "mean_weight_low", "mean_weight_high", "thin_share")
#: Layouts of the tables.
VALUES = (
    *((name, "string") for name in ("policy", "estimator")),
    *((name, "float64") for name in _NUMBERS),
    *((name, "int64") for name in ("rows", "rows_rewarded")),
    *((name, "float64") for name in (*_SUPPORT, *_WEIGHT)),
    *((name, "string") for name in ("support", "rests_on")),
)
COMPARISONS = (
    *((name, "string") for name in ("policy", "other", "estimator")),
    *((name, "float64") for name in ("difference", "low", "high", "standard_error")),
    ("verdict", "string"),
)
#: What the policy that made the log is called.
OF_LOG = "the log's own"


def own_values(labels, predictions, others, **options):
    """Records of the value of one policy in one study.

    Parameters
    ----------
    labels : str or Path
        Parquet of ``labeling.log_files.label_log`` of a log of one's own.
    predictions : str or Path
        Parquet with ``row`` and ``p``, the probability that the policy gives the logged action,
        perhaps with ``q`` and ``v`` of a reward model; rows as in `labels`.
    others : dict of str to path
        Predictions of other policies that this one is compared with, by method.
    **options
        Of `log_values.log_values`: `OPTIONS`, ``reward_range`` and ``rows_before``.

    Returns
    -------
    list of dict
        For ``tables.metrics_table``; target ``general``; ``part`` says what a difference is from,
        ``log`` for the policy that made the log.

    Raises
    ------
    CounterweightError
        When the files are of different rows.
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
    modelled = all("q" in streams.column_names(path) for path in predictions.values())
    return log_values(
        lambda: _batches(labels, predictions, modelled),
        list(predictions),
        clusters=CLUSTERS if has_clusters(labels) else 0,
        modelled=modelled,
        **options,
    )


def has_clusters(labels):
    """Whether the rows of a log belong to users."""
    first = next(iter(streams.batches(labels, ["cluster"], 1)), None)
    return first is not None and bool(first["cluster"][0] >= 0)


def _batches(labels, predictions, modelled):
    told = ("p", "q", "v") if modelled else ("p",)
    sources = [(path, ("row", *told)) for path in predictions.values()]
    for ours, *theirs in rows_in_step([(labels, _COLUMNS), *sources]):
        yield ours | {name: np.stack([part[name] for part in theirs], axis=1) for name in told}


def tables_of(known):
    """Values and comparisons of a log (`LogValues`) as two tables, dicts of str to list.

    Layouts `VALUES` and `COMPARISONS`; the first line of the values is of the policy that made the
    log, and the estimator that answers go by comes first. ``gain`` is the value minus that
    policy's, paired; ``verdict`` is better, worse or open.
    """
    values, comparisons = [], []
    mine = {"policy": OF_LOG, "estimator": "mean", "rows": known.rows, "support": "good"}
    mine |= _interval(known.logged) | {"rows_rewarded": known.nonzero}
    mine |= {"rests_on": f"{known.nonzero} rows with a reward of {known.rows}"}
    mine |= {"effective_rows": known.effective_rows, "largest_weight": 1.0, "mean_weight": 1.0}
    values.append(mine)
    for policy in dict.fromkeys(policy for policy, _ in known.values):
        for name in known.estimators:
            support = known.support[policy, name]
            gain, lift = known.differences[policy, LOGGED, name], known.lifts[policy, name]
            line = {"policy": policy, "estimator": name, "rows": known.rows}
            line |= _interval(known.values[policy, name]) | _told("gain", gain)
            line |= _told("lift", lift) | _told("mean_weight", support.mean_weight)
            line |= {key: getattr(support, key) for key in (*_SUPPORT, "rows_rewarded")}
            line |= {"thin_share": support.thin_share, "support": support.flag}
            line["rests_on"] = rests_on(support, known.estimators[0] == "ips")
            values.append(line)
    pairs = sorted(known.differences, key=lambda pair: known.estimators.index(pair[2]))
    for policy, other, name in pairs:
        one = known.differences[policy, other, name]
        line = {"policy": policy, "other": other or OF_LOG, "estimator": name}
        line |= _interval(one) | {"difference": one.value, "verdict": verdict(one)}
        comparisons.append(line)
    return _columns(values, VALUES), _columns(comparisons, COMPARISONS)


def verdict(one):
    """better, worse or open: by which side of 0 an interval lies on."""
    return "better" if one.low > 0 else "worse" if one.high < 0 else "open"


def rests_on(support, subsampled=False):
    """What a value rests on, in words; `subsampled` logs have a keep rate that may be wrong."""
    rate = ", or the keep rate is not right" if subsampled else ""
    users = f" of about {support.clusters} users" if support.clusters else ""
    said = (
        f"{support.rows_rewarded} rows with a reward among {support.rows_agreed} of {support.rows} "
        f"rows{users} whose action the policy may take; as much as {support.effective_rows:.0f} "
        "rows that count alike"
    )
    weight = support.mean_weight.value
    return (
        said
        + {
            "good": "",
            "thin": f": few carry it, one row alone {support.largest_share:.1%} of it",
            "outside": f": the weights average {weight:.3g}, so some {1 - weight:.0%} of what the "
            f"policy does is not in the log (or the propensities are too high{rate})",
            "doubtful": f": the weights average {weight:.3g} and not 1, so the propensities are "
            f"too low, or the policy's probabilities are not those of the logged actions{rate}",
        }[support.flag]
    )


def _interval(one):
    return {name: getattr(one, name) for name in _RATIO}


def _told(name, one):
    return {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}


def _columns(rows, layout):
    empty = {"string": "", "float64": math.nan, "int64": 0}
    return {name: [row.get(name, empty[kind]) for row in rows] for name, kind in layout}


def write_tables(output, values, comparisons):
    """Write both tables of `tables_of` as Parquet and CSV, to ``values_parquet`` and so on."""
    from counterweight.files.gifts import write_csv
    from counterweight.files.tables import write_table

    for name, columns, layout in (
        ("values", values, VALUES),
        ("comparisons", comparisons, COMPARISONS),
    ):
        write_table(getattr(output, f"{name}_parquet"), columns, layout)
        write_csv(getattr(output, f"{name}_csv"), columns)
