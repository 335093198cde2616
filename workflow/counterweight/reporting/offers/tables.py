"""Tables of studies of offers as tidy frames: numbers only, formatting is the report's."""

import numpy as np
import pandas as pd

from counterweight.evaluation.metrics.intervals import paired_interval
from counterweight.reporting.page.wording import method_label

#: Ways to use a model of segments: the curve of the likeliest one, or the mean over all.
ASSIGNMENTS = ("hard", "soft", "")
#: What is told of each method and assignment, in order; the first is the headline.
MEASURED = (
    "rmse",
    "rmse_floor",
    "rmse_test",
    "rmse_floor_test",
    "log_loss",
    "brier",
    "auc",
    "enrolment_predicted",
    "enrolment_predicted_low",
    "enrolment_predicted_high",
    "enrolment_actual",
    "enrolment_true",
    "revenue_predicted",
    "revenue_predicted_low",
    "revenue_predicted_high",
    "revenue_actual",
    "revenue_true",
    "best_offer",
    "best_offer_low",
    "best_offer_high",
    "enrolment_claimed",
    "enrolment_claimed_low",
    "enrolment_claimed_high",
    "enrolment_optimal_true",
    "enrolment_best_possible",
    "revenue_claimed",
    "revenue_claimed_low",
    "revenue_claimed_high",
    "revenue_optimal_true",
    "revenue_best_possible",
    "revenue_ips",
    "revenue_ips_low",
    "revenue_ips_high",
    "revenue_snips",
    "revenue_snips_low",
    "revenue_snips_high",
    "enrolment_error",
    "revenue_error",
    "single_offer",
    "single_offer_acceptance",
    "single_offer_revenue",
    "offer_variation",
    "regression_r2",
    "regression_adjusted_r2",
)
#: Told of a method whatever the assignment.
OF_METHOD = ("components_chosen", "kl")
#: Of these, what is of the true parameters, and of no method.
FLOORS = ("rmse_floor", "rmse_floor_test")
#: Of these, what is of a regression of the errors by component.
OF_REGRESSION = ("regression_r2", "regression_adjusted_r2")
#: Told of each true component.
OF_COMPONENT = ("component_imbalance", "component_overlap", "component_eta", "component_k")
#: Told of each variable of a regression.
OF_VARIABLE = (
    "regression_beta",
    "regression_coefficient",
    "regression_p",
    "regression_low",
    "regression_high",
)
#: Told of each true component or segment, by assignment.
BY_COMPONENT = ("rmse_component", "rmse_component_test", "offer_spread")
LAYOUT = (
    "study",
    "target",
    "method",
    "label",
    "oracle",
    "assignment",
    "metric",
    "part",
    "variable",
    "mean",
    "sd",
    "low",
    "high",
    "n",
    "printed",
    "status",
    "reason",
)


def is_oracle(method):
    """Whether a method sees what nobody knows, such as the true component."""
    return bool(method.get("oracle")) or bool((method.get("options") or {}).get("per_component"))


def assignments_of(own):
    """Assignments that a method was judged with, in order."""
    judged = own["metric"].isin(("log_loss", "enrolment_predicted", "rmse"))
    known = set(own.loc[judged, "setting"])
    return [name for name in ASSIGNMENTS if name in known]


def printed_figures(printed, study):
    """Figures in print of a study, by ``(source, setting, part, metric)``."""
    return {
        (entry["source"], entry.get("setting", ""), entry.get("part", ""), entry["metric"]): entry[
            "value"
        ]
        for entry in printed
        if entry["study"] == study
    }


def offer_table(metrics, settings, study, target="general", printed=(), reason_of=None):
    """What was measured in a study of offers, one row for each number.

    Parameters
    ----------
    metrics : pandas.DataFrame
        In the layout `counterweight.files.tables.METRICS`.
    settings : dict
        The study's part of the plan.
    study, target : str
    printed : iterable of dict
        See `printed_figures`.
    reason_of : callable, optional
        ``reason_of(method id)``: why a method has no result.

    Returns
    -------
    pandas.DataFrame
        Columns `LAYOUT`. ``assignment`` is hard, soft or empty. ``part`` is empty, the true
        component (of ``rmse_component`` and `OF_COMPONENT`; from 0), the segment (of
        ``offer_spread``), or the kind of a regression, with its ``variable``. ``mean``
        and ``sd`` are over repeats, ``low`` and ``high`` the 95 % interval of the mean. A method
        without results keeps a row of its headline with status ``failed`` and its reason.
    """
    own = metrics[
        (metrics["study"] == study) & (metrics["target"] == target) & metrics["value"].notna()
    ]
    in_print = printed_figures(printed, study)
    rows = []
    for method in settings["methods"]:
        mine = own[own["source"] == method["id"]]
        place = {
            "study": study,
            "target": target,
            "method": method["id"],
            "label": method_label(method),
            "oracle": is_oracle(method),
        }
        held = assignments_of(mine)
        if not held:
            reason = reason_of(method["id"]) if reason_of else "no result was found"
            rows.append(
                place
                | {
                    "assignment": "",
                    "metric": MEASURED[0],
                    "part": "",
                    "variable": "",
                    "mean": np.nan,
                    "sd": np.nan,
                    "low": np.nan,
                    "high": np.nan,
                    "n": 0,
                    "printed": np.nan,
                    "status": "failed",
                    "reason": reason,
                }
            )
            continue
        # What is of one size of a model among others stands in the table of all measurements.
        mine = mine[mine["step"].isna()]
        keys = ["metric", "setting", "part", "variable"]
        for (metric, setting, part, variable), rows_of_it in mine.groupby(keys, sort=False):
            if not _is_told(metric, setting, held):
                continue
            values = rows_of_it.set_index("repeat")["value"].sort_index()
            mean, low, high = paired_interval(values, settings["test_share"])
            shown = in_print.get((method["id"], setting, part, metric), np.nan)
            rows.append(
                place
                | {
                    "assignment": setting,
                    "metric": metric,
                    "part": part,
                    "variable": variable,
                    "mean": mean,
                    "sd": values.std(ddof=1) if len(values) > 1 else np.nan,
                    "low": low,
                    "high": high,
                    "n": len(values),
                    "printed": shown,
                    "status": "ok",
                    "reason": "",
                }
            )
    table = pd.DataFrame(rows, columns=list(LAYOUT))
    return table.iloc[np.lexsort(_order(table, settings)[::-1])].reset_index(drop=True)


def _is_told(metric, setting, held):
    """Whether the table has a metric of a setting; `held` are the method's assignments."""
    if metric in OF_METHOD:
        return setting == ""
    if metric in OF_COMPONENT:
        return True
    if metric in (*FLOORS, *OF_REGRESSION, *OF_VARIABLE, *BY_COMPONENT):
        return setting in ASSIGNMENTS
    return metric in MEASURED and setting in held


def _order(table, settings):
    metrics = (*OF_METHOD, *MEASURED, *OF_COMPONENT, *BY_COMPONENT, *OF_VARIABLE)
    ranks = {name: rank for rank, name in enumerate(metrics)}
    methods = {method["id"]: rank for rank, method in enumerate(settings["methods"])}
    ways = {name: rank for rank, name in enumerate(ASSIGNMENTS)}
    numbers = pd.to_numeric(table["part"], errors="coerce").fillna(-1.0)
    return [
        table["method"].map(methods),
        table["assignment"].map(ways),
        table["metric"].map(ranks),
        numbers,
        table["part"].rank(method="dense"),
        table["variable"].rank(method="dense"),
    ]


def rows_of(table):
    """Method and assignment pairs of a table, in order, each with its part of it.

    Yields
    ------
    method : str
    assignment : str
    part : pandas.DataFrame
        Rows of the method and assignment; of all of a failed method.
    """
    for method, mine in table.groupby("method", sort=False):
        if (mine["status"] == "failed").all():
            yield method, "", mine
            continue
        judged = mine[mine["metric"].isin(("log_loss", "enrolment_predicted", "rmse"))]
        for assignment in ASSIGNMENTS:
            if assignment in set(judged["assignment"]):
                yield method, assignment, mine[mine["assignment"] == assignment]


def mean_of(table, metric, part="", column="mean", variable=""):
    """One number of (some rows of) a table; NaN where it was not measured."""
    there = (table["metric"] == metric) & (table["part"] == part) & (table["variable"] == variable)
    values = table.loc[there, column]
    return float(values.iloc[0]) if len(values) else np.nan


def floor_of(table, method, assignment):
    """RMSE of the true parameters, where only the component of a row is unknown."""
    mine = table[(table["method"] == method) & (table["assignment"] == (assignment or "soft"))]
    return mean_of(mine, "rmse_floor")


def gains(part):
    """Gain of revenue and enrolment by the best offers: claimed, and true.

    As in the paper, the claim is compared with what was earned in fact; the truth with its
    own expectation at the historical offers.

    Returns
    -------
    dict of str to float
        Shares: ``revenue_claimed, revenue_true, revenue_possible, enrolment_claimed,
        enrolment_true``; NaN where unknown.
    """
    found = {}
    for total in ("revenue", "enrolment"):
        actual, true = (mean_of(part, f"{total}_{name}") for name in ("actual", "true"))
        for name, top, base in (
            ("claimed", "claimed", actual),
            ("true", "optimal_true", true),
            ("possible", "best_possible", true),
        ):
            value = mean_of(part, f"{total}_{top}")
            found[f"{total}_{name}"] = value / base - 1 if base else np.nan
    return found
