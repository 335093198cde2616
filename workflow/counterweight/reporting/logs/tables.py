"""Tables of studies of logs as tidy frames: numbers only, formatting is the report's."""

import numpy as np
import pandas as pd

from counterweight.evaluation.metrics.intervals import normal_interval, paired_interval
from counterweight.reporting.page.tables import reason_of, study_settings
from counterweight.reporting.page.wording import method_label

LAYOUT = (
    "study",
    "target",
    "method",
    "label",
    "estimator",
    "keep_rate",
    "value",
    "low",
    "high",
    "typical",
    "typical_low",
    "typical_high",
    "truth",
    "truth_low",
    "truth_high",
    "bias",
    "bias_low",
    "bias_high",
    "shift",
    "shift_low",
    "shift_high",
    "spread",
    "coverage",
    "coverage_whole",
    "missing",
    "rows",
    "effective_rows",
    "largest_weight",
    "n",
    "status",
    "reason",
)


def value_table(metrics, plan, study, target="general", printed=(), failures=()):
    """Values of policies: one row for each method, estimator and keep rate.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.files.tables.METRICS`, with the metrics of the protocol
        ``policy_value``.
    plan : dict
    study, target : str
    printed : iterable of dict
        Not used: no paper prints a value of a policy.
    failures : iterable of dict

    Returns
    -------
    pandas.DataFrame
        Columns `LAYOUT`. ``value`` with ``low`` and ``high`` is the estimate from
        the whole log where it was made at this rate, ``typical`` the mean over resamplings
        with the normal 95 % interval of their root mean square standard error, ``truth``
        the value that they should find, with its own 95 % interval (of width 0 where it is
        known by construction). ``bias`` is the mean over resamplings of estimate minus
        truth with the t interval of that mean, ``shift`` that of estimate minus estimate from
        all rows of the same resampling, ``spread`` the sd of the estimates,
        ``coverage`` the share of their intervals that hold the truth, ``coverage_whole``
        the share that hold the value of the whole log (of a bootstrap), ``missing`` the
        number of resamplings without an estimate, ``n`` those with one; ``rows`` is the mean
        number of rows used. A failed method keeps one row, with ``reason``.

    Raises
    ------
    CounterweightError
        When the plan has no such study.
    """
    settings = study_settings(plan, study)
    own = metrics[
        (metrics["study"] == study) & (metrics["target"] == target) & metrics["value"].notna()
    ]
    rows = []
    for method in settings["methods"]:
        place = {
            "study": study,
            "target": target,
            "method": method["id"],
            "label": method_label(method),
            "estimator": "",
            "n": 0,
            "status": "ok",
            "reason": "",
        }
        parts = dict(list(own[own["source"] == method["id"]].groupby("metric", sort=False)))
        pairs = [
            pair
            for name in ("whole_value", "value")
            if name in parts
            for pair in _pairs(parts[name])
        ]
        if not pairs:
            reason = reason_of(failures, study, method["id"], settings)
            rows.append(place | {"status": "failed", "reason": reason})
            continue
        for estimator, rate in sorted(dict.fromkeys(pairs), key=lambda pair: -pair[1]):
            rows.append(place | _value_row(parts, estimator, rate, settings["test_share"]))
    table = pd.DataFrame(rows, columns=list(LAYOUT))
    order = {name: k for k, name in enumerate(dict.fromkeys(table["estimator"]))}
    place = {method["id"]: k for k, method in enumerate(settings["methods"])}
    keys = [table["method"].map(place), table["estimator"].map(order), -table["keep_rate"]]
    return table.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _pairs(rows):
    """Estimators and keep rates of rows that have both, in order."""
    known = rows.loc[rows["keep_rate"].notna(), ["measure", "keep_rate"]].drop_duplicates()
    return list(known.itertuples(index=False, name=None))


def _value_row(parts, estimator, rate, test_share):
    """The numbers of one estimator at one keep rate, from one method's metrics by name."""

    def rows_of(name):
        rows = parts.get(name)
        if rows is None:
            return pd.DataFrame(columns=["repeat", "value", "standard_error", "rows"])
        return rows[(rows["measure"] == estimator) & (rows["keep_rate"] == rate)]

    def single(name):
        rows = rows_of(name)
        if rows.empty and rate == 1 and name in parts:
            rows = parts[name]
            rows = rows[(rows["measure"] == estimator) & rows["keep_rate"].isna()]
        return float(rows["value"].iloc[0]) if len(rows) else np.nan

    truth = parts.get("truth", pd.DataFrame(columns=["value", "standard_error"]))
    known = error = np.nan
    if len(truth):
        known, error = float(truth["value"].iloc[0]), float(truth["standard_error"].iloc[0])
    truth_low, truth_high = normal_interval(known, error) if error == error else (known, known)
    values, errors = (rows_of(name)["value"] for name in ("value", "error"))
    bias, bias_low, bias_high = paired_interval(errors, test_share)
    rows = rows_of("value")
    typical = float(values.mean()) if len(values) else np.nan
    typical_error = float(np.sqrt((rows["standard_error"].astype(float) ** 2).mean()))
    typical_low, typical_high = normal_interval(typical, typical_error)
    moved = rows_of("subsampling_error")["value"]
    shift, shift_low, shift_high = paired_interval(moved, test_share)
    covered, whole = (rows_of(name)["value"] for name in ("covered", "covered_whole"))
    return {
        "estimator": estimator,
        "keep_rate": rate,
        "value": single("whole_value"),
        "low": single("whole_low"),
        "high": single("whole_high"),
        "typical": typical,
        "typical_low": typical_low,
        "typical_high": typical_high,
        "truth": known,
        "truth_low": truth_low,
        "truth_high": truth_high,
        "bias": bias,
        "bias_low": bias_low,
        "bias_high": bias_high,
        "shift": shift,
        "shift_low": shift_low,
        "shift_high": shift_high,
        "spread": float(values.std(ddof=1)) if len(values) > 1 else np.nan,
        "coverage": float(covered.mean()) if len(covered) else np.nan,
        "coverage_whole": float(whole.mean()) if len(whole) else np.nan,
        "missing": single("values_missing"),
        "rows": float(rows["rows"].mean()) if len(rows) else np.nan,
        "effective_rows": single("effective_rows"),
        "largest_weight": single("largest_weight"),
        "n": len(errors),
    }
