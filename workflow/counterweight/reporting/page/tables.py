"""Tables of the report as tidy frames: numbers only, formatting is the report's."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.metrics.intervals import normal_interval, paired_interval
from counterweight.reporting.filters.tables import filter_table
from counterweight.reporting.offers.tables import offer_table
from counterweight.reporting.page.wording import LOSSES, method_label, setting_label

#: Metrics that a results table shows where the plan does not name them; the first is the headline.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")
LAYOUT = (
    "study",
    "target",
    "method",
    "label",
    "oracle",
    "metric",
    "mean",
    "sd",
    "diff",
    "low",
    "high",
    "n",
    "printed",
    "status",
    "reason",
)
VALUE_LAYOUT = (
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


def columns_of(settings):
    """Metrics of a study's results table; the first is its headline."""
    return tuple(settings.get("columns") or COLUMNS)


def is_log(settings):
    """Whether a study is about a log of actions rather than about labels."""
    return settings.get("task") == "log"


def is_offers(settings):
    """Whether a study is about offers and answers to them."""
    return settings.get("task") == "offers"


def is_filter(settings):
    """Whether a study is about filters that balance groups."""
    return settings.get("task") == "filter"


def best_of(rows, metric):
    """Index of the best mean in a table of one metric; None where there is no mean."""
    means = rows["mean"].dropna()
    if means.empty:
        return None
    return means.idxmin() if metric in LOSSES else means.idxmax()


def failure_of(failures, study, source, dataset=None):
    """The failure that explains why a source of a study has no result, or None.

    The source's own failure comes first, then one of its study, then one of the
    data set that the study needs (``study`` empty, ``source`` its name).

    Parameters
    ----------
    failures : iterable of dict
        With ``study``, ``source``, ``stage``, ``reason``, ``log``.
    """
    own = failures_of(failures, study, dataset)
    named = [
        failure for failure in own if source in (failure["source"], *failure.get("affects", ()))
    ]
    return (named or own or [None])[0]


def failures_of(failures, study, dataset=None):
    """Failures of a study and of the data set that it needs; the study's own first."""
    own = [failure for failure in failures if failure["study"] == study]
    shared = [
        failure
        for failure in failures
        if dataset and not failure["study"] and failure["source"] == dataset
    ]
    return own + shared


def last_line(text):
    """The line of a log that says what went wrong: the last error, else the last line."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    for line in reversed(lines):
        if line.startswith("ERROR: ") and line != "ERROR: unexpected error":
            return line.removeprefix("ERROR: ")
    return lines[-1] if lines else "no reason was logged"


def by_repeat(metrics, study, source, target, metric, item=""):
    """Values of one metric as a Series indexed by repeat, NaN dropped."""
    rows = metrics[
        (metrics["study"] == study)
        & (metrics["source"] == source)
        & (metrics["target"] == target)
        & (metrics["metric"] == metric)
        & (metrics["item"] == item)
    ]
    return rows.set_index("repeat")["value"].dropna().sort_index()


def results_table(metrics, plan, study, target, printed=(), failures=()):
    """One table of results: methods in plan order, one row for each method and metric.

    The metrics are the study's ``columns``. A swept method has a row for each of its
    settings (one row if it failed), but where the study draws the sensitivity figure, which
    shows them all.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.files.tables.METRICS`.
    plan : dict
    study, target : str
    printed : iterable of dict
        Figures of the paper: study, target, metric, source, value.
    failures : iterable of dict

    Returns
    -------
    pandas.DataFrame
        Columns `LAYOUT`. ``mean`` and ``sd`` are over repeats, ``diff`` with ``low`` and
        ``high`` is the mean difference from the study's baseline on the same splits
        with its corrected interval, all in the metric's own unit. ``status`` is ``ok``
        or ``failed``; a failed method keeps its rows, with ``reason``.

    Raises
    ------
    CounterweightError
        When the plan has no such study.
    """
    settings = _settings(plan, study)
    in_print = {
        (entry["source"], entry["metric"]): entry["value"]
        for entry in printed
        if entry["study"] == study and entry["target"] == target
    }
    columns = columns_of(settings)
    own = metrics[
        (metrics["study"] == study)
        & (metrics["target"] == target)
        & metrics["metric"].isin(columns)
        & metrics["value"].notna()
    ]
    measured = {
        key: part.set_index("repeat")["value"].sort_index()
        for key, part in own.groupby(["source", "item", "metric"], sort=False)
    }
    nothing = pd.Series(dtype=float)
    baseline = settings.get("baseline", "logistic")
    rows = []
    shown = []
    for method in settings["methods"]:
        if not method.get("sweep"):
            shown.append((method, ""))
        elif "sensitivity" not in (settings.get("figures") or ()):
            items = own.loc[own["source"] == method["id"], "item"].unique()
            shown += [(method, item) for item in items] or [(method, "")]
    for method, item in shown:
        values = {metric: measured.get((method["id"], item, metric), nothing) for metric in columns}
        status, reason = "ok", ""
        if all(series.empty for series in values.values()):
            status, reason = "failed", _reason(failures, study, method["id"], settings)
        for metric in columns:
            series = values[metric]
            diff = low = high = np.nan
            if method["id"] != baseline:
                difference = (series - measured.get((baseline, "", metric), nothing)).dropna()
                diff, low, high = paired_interval(difference, settings["test_share"])
            rows.append(
                {
                    "study": study,
                    "target": target,
                    "method": f"{method['id']} {item}".strip(),
                    "label": ", ".join(filter(None, [method_label(method), setting_label(item)])),
                    "oracle": bool(method.get("oracle")),
                    "metric": metric,
                    "mean": series.mean() if len(series) else np.nan,
                    "sd": series.std(ddof=1) if len(series) > 1 else np.nan,
                    "diff": diff,
                    "low": low,
                    "high": high,
                    "n": len(series),
                    "printed": in_print.get((method["id"], metric), np.nan),
                    "status": status,
                    "reason": reason,
                }
            )
    return pd.DataFrame(rows, columns=list(LAYOUT))


def _settings(plan, study):
    if study not in plan["studies"]:
        raise CounterweightError(
            f"There is no study {study!r} in the plan; it has {listed(plan['studies'])}."
        )
    return plan["studies"][study]


def _reason(failures, study, source, settings):
    failure = failure_of(failures, study, source, settings.get("dataset"))
    return last_line(failure["reason"]) if failure else "no result was found"


def split_item(item):
    """``("ips", 0.1)`` from ``"ips l=0.1"``; None where an item is no such pair."""
    estimator, found, rate = item.rpartition(" l=")
    try:
        return (estimator, float(rate)) if found else None
    except ValueError:
        return None


def value_table(metrics, plan, study, target="general", failures=()):
    """Values of policies: one row for each method, estimator and keep rate.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.files.tables.METRICS`, with the metrics of the protocol
        ``policy_value``.
    plan : dict
    study, target : str
    failures : iterable of dict

    Returns
    -------
    pandas.DataFrame
        Columns `VALUE_LAYOUT`. ``value`` with ``low`` and ``high`` is the estimate from
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
    settings = _settings(plan, study)
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
        found = [
            pair
            for name in ("whole_value", "value")
            if name in parts
            for pair in map(split_item, parts[name]["item"].unique())
            if pair
        ]
        if not found:
            reason = _reason(failures, study, method["id"], settings)
            rows.append(place | {"status": "failed", "reason": reason})
            continue
        for estimator, rate in sorted(dict.fromkeys(found), key=lambda pair: -pair[1]):
            rows.append(place | _value_row(parts, estimator, rate, settings["test_share"]))
    table = pd.DataFrame(rows, columns=list(VALUE_LAYOUT))
    order = {name: k for k, name in enumerate(dict.fromkeys(table["estimator"]))}
    place = {method["id"]: k for k, method in enumerate(settings["methods"])}
    keys = [table["method"].map(place), table["estimator"].map(order), -table["keep_rate"]]
    return table.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _value_row(parts, estimator, rate, test_share):
    """The numbers of one estimator at one keep rate, from one method's metrics by name."""

    def rows_of(name):
        rows = parts.get(name)
        if rows is None:
            return pd.DataFrame(columns=["repeat", "value", "standard_error", "rows"])
        items = [item for item in rows["item"].unique() if split_item(item) == (estimator, rate)]
        return rows[rows["item"].isin(items)]

    def single(name):
        rows = rows_of(name)
        if rows.empty and rate == 1 and name in parts:
            rows = parts[name][parts[name]["item"] == estimator]
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


def offers_table(metrics, plan, study, target="general", printed=(), failures=()):
    """The table of a study of offers; see `counterweight.reporting.offers.tables`."""
    settings = _settings(plan, study)
    return offer_table(
        metrics,
        settings,
        study,
        target,
        printed,
        lambda source: _reason(failures, study, source, settings),
    )


def reasons_of(failures, study, settings):
    """Why each method of a study would have no result, by its id."""
    return {one["id"]: _reason(failures, study, one["id"], settings) for one in settings["methods"]}


def table_of(metrics, plan, study, target, printed=(), failures=()):
    """The table of a study for one target: of policy values, offers, filters, or results."""
    settings = _settings(plan, study)
    if is_log(settings):
        return value_table(metrics, plan, study, target, failures)
    if is_offers(settings):
        return offers_table(metrics, plan, study, target, printed, failures)
    if is_filter(settings):
        return filter_table(
            metrics, settings, study, lambda source: _reason(failures, study, source, settings)
        )
    return results_table(metrics, plan, study, target, printed, failures)


def all_tables(metrics, plan, printed=(), failures=()):
    """Every table of the plan: ``{(study, target): frame}`` in plan order."""
    return {
        (name, target): table_of(metrics, plan, name, target, printed, failures)
        for name, study in plan["studies"].items()
        for target in study["targets"]
    }
