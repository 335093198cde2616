"""Values of policies as tables to give away: one line a policy and estimator, and comparisons."""

import math

from counterweight.evaluation.values.log_values import LOGGED

VALUES = (
    ("policy", "string"),
    ("estimator", "string"),
    ("value", "float64"),
    ("low", "float64"),
    ("high", "float64"),
    ("standard_error", "float64"),
    ("gain", "float64"),
    ("gain_low", "float64"),
    ("gain_high", "float64"),
    ("lift", "float64"),
    ("lift_low", "float64"),
    ("lift_high", "float64"),
    ("rows", "int64"),
    ("rows_rewarded", "int64"),
    ("effective_rows", "float64"),
    ("largest_weight", "float64"),
    ("largest_share", "float64"),
    ("mean_weight", "float64"),
    ("mean_weight_low", "float64"),
    ("mean_weight_high", "float64"),
    ("thin_share", "float64"),
    ("support", "string"),
    ("rests_on", "string"),
)
COMPARISONS = (
    ("policy", "string"),
    ("other", "string"),
    ("estimator", "string"),
    ("difference", "float64"),
    ("low", "float64"),
    ("high", "float64"),
    ("standard_error", "float64"),
    ("verdict", "string"),
)
#: What the policy that made the log is called.
OF_LOG = "the log's own"


def tables_of(known):
    """Values and comparisons of a log as two tables.

    Parameters
    ----------
    known : counterweight.evaluation.values.log_values.LogValues

    Returns
    -------
    values, comparisons : dict of str to list
        Layouts `VALUES` and `COMPARISONS`; the first line of the values is of the policy that
        made the log, and the estimator that answers go by comes first. ``gain`` is the value
        minus that policy's, paired; ``verdict`` is better, worse or open.
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
            weight = support.mean_weight
            gain, lift = known.differences[policy, LOGGED, name], known.lifts[policy, name]
            values.append(
                {
                    "policy": policy,
                    "estimator": name,
                    **_interval(known.values[policy, name]),
                    "gain": gain.value,
                    "gain_low": gain.low,
                    "gain_high": gain.high,
                    "lift": lift.value,
                    "lift_low": lift.low,
                    "lift_high": lift.high,
                    "rows": known.rows,
                    "rows_rewarded": support.rows_rewarded,
                    "effective_rows": support.effective_rows,
                    "largest_weight": support.largest_weight,
                    "largest_share": support.largest_share,
                    "mean_weight": weight.value,
                    "mean_weight_low": weight.low,
                    "mean_weight_high": weight.high,
                    "thin_share": support.thin_share,
                    "support": support.flag,
                    "rests_on": rests_on(support, known.estimators[0] == "ips"),
                }
            )
    pairs = sorted(known.differences, key=lambda pair: known.estimators.index(pair[2]))
    for policy, other, name in pairs:
        one = known.differences[policy, other, name]
        comparisons.append(
            {
                "policy": policy,
                "other": other or OF_LOG,
                "estimator": name,
                "difference": one.value,
                "low": one.low,
                "high": one.high,
                "standard_error": one.standard_error,
                "verdict": verdict(one),
            }
        )
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
    names = ("value", "low", "high", "standard_error")
    return {name: getattr(one, name) for name in names}


def _columns(rows, layout):
    empty = {"string": "", "float64": math.nan, "int64": 0}
    return {name: [row.get(name, empty[kind]) for row in rows] for name, kind in layout}


def write_tables(output, values, comparisons):
    """Write both tables as Parquet and CSV.

    Parameters
    ----------
    output
        With paths: ``values_parquet``, ``values_csv``, and so for ``comparisons``.
    values, comparisons : dict of str to list
        From `tables_of`.
    """
    from counterweight.files.gifts import write_csv
    from counterweight.files.tables import write_table

    for name, columns, layout in (
        ("values", values, VALUES),
        ("comparisons", comparisons, COMPARISONS),
    ):
        write_table(getattr(output, f"{name}_parquet"), columns, layout)
        write_csv(getattr(output, f"{name}_csv"), columns)
