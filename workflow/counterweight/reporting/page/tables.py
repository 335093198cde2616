"""Tables of the report as tidy frames: numbers only, formatting is the report's."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.metrics.intervals import paired_interval
from counterweight.plan.components import reference
from counterweight.reporting.page.wording import LOSSES, method_label, setting_label

#: Metrics that a results table shows where the plan does not name them; the first is the headline.
COLUMNS = ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier")
LAYOUT = (
    "study",
    "target",
    "method",
    "setting",
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


def columns_of(settings):
    """Metrics of a study's results table; the first is its headline."""
    return tuple(settings.get("columns") or COLUMNS)


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


def whole(metrics):
    """Rows of a table of measurements that are of no part and of no step of a series."""
    return metrics[(metrics["part"] == "") & metrics["step"].isna()]


def by_repeat(metrics, study, source, target, metric, setting=""):
    """Values of one metric at a setting as a Series indexed by repeat, NaN dropped."""
    rows = metrics[
        (metrics["study"] == study)
        & (metrics["source"] == source)
        & (metrics["target"] == target)
        & (metrics["metric"] == metric)
        & (metrics["setting"] == setting)
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
    settings = study_settings(plan, study)
    in_print = {
        (entry["source"], entry["metric"]): entry["value"]
        for entry in printed
        if entry["study"] == study and entry["target"] == target
    }
    columns = columns_of(settings)
    own = whole(
        metrics[
            (metrics["study"] == study)
            & (metrics["target"] == target)
            & metrics["metric"].isin(columns)
            & metrics["value"].notna()
        ]
    )
    measured = {
        key: part.set_index("repeat")["value"].sort_index()
        for key, part in own.groupby(["source", "setting", "metric"], sort=False)
    }
    nothing = pd.Series(dtype=float)
    baseline = settings.get("baseline", "logistic")
    rows = []
    shown = []
    for method in settings["methods"]:
        if not method.get("sweep"):
            shown.append((method, ""))
        elif "sensitivity" not in (settings.get("figures") or ()):
            known = own.loc[own["source"] == method["id"], "setting"].unique()
            shown += [(method, setting) for setting in known] or [(method, "")]
    for method, setting in shown:
        values = {
            metric: measured.get((method["id"], setting, metric), nothing) for metric in columns
        }
        status, reason = "ok", ""
        if all(series.empty for series in values.values()):
            status, reason = "failed", reason_of(failures, study, method["id"], settings)
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
                    "method": method["id"],
                    "setting": setting,
                    "label": ", ".join(
                        filter(None, [method_label(method), setting_label(setting)])
                    ),
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


def study_settings(plan, study):
    """The part of the plan of a study; a sentence where there is none of this name."""
    if study not in plan["studies"]:
        raise CounterweightError(
            f"There is no study {study!r} in the plan; it has {listed(plan['studies'])}."
        )
    return plan["studies"][study]


def reason_of(failures, study, source, settings):
    """Why a source of a study has no result, in one line."""
    failure = failure_of(failures, study, source, settings.get("dataset"))
    return last_line(failure["reason"]) if failure else "no result was found"


def reasons_of(failures, study, settings):
    """Why each method of a study would have no result, by its id."""
    return {
        one["id"]: reason_of(failures, study, one["id"], settings) for one in settings["methods"]
    }


def sheet_of(settings, which):
    """A function that makes a part of a study's page, as the plan names it.

    Parameters
    ----------
    settings : dict
        The study's part of the plan, with ``sheets``: ``module:function`` by part.
    which : str
        ``table``, called with metrics, plan, study, target, printed figures and failures, or
        ``sections``, called with a `counterweight.reporting.page.sections.StudyPage`.
    """
    return reference(settings["sheets"][which])


def all_tables(metrics, plan, printed=(), failures=()):
    """Every table of the plan: ``{(study, target): frame}`` in plan order."""
    return {
        (name, target): sheet_of(study, "table")(metrics, plan, name, target, printed, failures)
        for name, study in plan["studies"].items()
        for target in study["targets"]
    }
