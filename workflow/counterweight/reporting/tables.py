"""Tables of the report as tidy frames: numbers only, formatting is the report's."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.intervals import paired_interval
from counterweight.reporting.wording import method_label

#: Metrics that a results table shows, in its order of columns.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")
LAYOUT = (
    "study", "target", "method", "label", "oracle", "metric", "mean", "sd", "diff", "low",
    "high", "n", "printed", "status", "reason",
)  # fmt: skip


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

    A swept method has a row for each of its settings, but where the study draws the
    sensitivity figure, which shows them all.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.tables.METRICS`.
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
    if study not in plan["studies"]:
        raise CounterweightError(
            f"There is no study {study!r} in the plan; it has {listed(plan['studies'])}."
        )
    settings = plan["studies"][study]
    in_print = {
        (entry["source"], entry["metric"]): entry["value"]
        for entry in printed
        if entry["study"] == study and entry["target"] == target
    }
    own = metrics[
        (metrics["study"] == study)
        & (metrics["target"] == target)
        & metrics["metric"].isin(COLUMNS)
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
            shown += [(method, item) for item in items]
    for method, item in shown:
        values = {metric: measured.get((method["id"], item, metric), nothing) for metric in COLUMNS}
        status, reason = "ok", ""
        if all(series.empty for series in values.values()):
            status = "failed"
            failure = failure_of(failures, study, method["id"], settings.get("dataset"))
            reason = last_line(failure["reason"]) if failure else "no result was found"
        for metric in COLUMNS:
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
                    "label": f"{method_label(method)} {item}".strip(),
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


def all_tables(metrics, plan, printed=(), failures=()):
    """Every results table of the plan: ``{(study, target): frame}`` in plan order."""
    return {
        (name, target): results_table(metrics, plan, name, target, printed, failures)
        for name, study in plan["studies"].items()
        for target in study["targets"]
    }
