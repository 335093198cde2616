"""Sheets of the report about studies of offers, made from `offer_tables`: formatted rows."""

import numpy as np

from counterweight.reporting.offers.tables import (
    OF_COMPONENT,
    OF_VARIABLE,
    floor_of,
    gains,
    mean_of,
    rows_of,
)
from counterweight.reporting.page.summaries import rises, small
from counterweight.reporting.page.wording import interval, number, percent, places_for

#: RMSE over that of the true parameters, and relative optimism of a revenue: good, fair up to.
FLOOR_RATIO = (0.10, 0.25)
OPTIMISM = (0.05, 0.10)
#: How far below it an RMSE can hardly be but by offers that tell the segment.
_FAR_BELOW = 0.15
_PRINTED_NAMES = (("predictive_choice", "PCM"), ("logistic_tree", "LMT"), ("logitboost", "LR"))
_VARIABLES = {"imbalance": "imbalance", "overlap": "overlap", "eta": "η", "k": "k"}


def sheets(table, settings, metrics):
    """Every sheet of a study of offers that there are numbers for.

    Parameters
    ----------
    table : pandas.DataFrame
        From `counterweight.reporting.offers.tables.offer_table`.
    settings : dict
    metrics : pandas.DataFrame
        Of the study: how many test rows there are.

    Returns
    -------
    list of dict
        ``caption``, ``head``, ``rows`` (``label``, ``oracle``, ``failed``, ``reason``,
        ``group``, ``cells``: ``text``, ``bracket``, ``grade``) and ``note``.
    """
    tested = has_test_rows(metrics)
    found = [accuracy_sheet(table)]
    if tested or not knows_truth(table):
        found.append(totals_sheet(table, tested))
    found += [gains_sheet(table, settings, tested), component_sheet(table), regression_sheet(table)]
    return [{"long": "", **sheet} for sheet in found if sheet and sheet["rows"]]


def has_test_rows(metrics):
    rows = metrics[(metrics["source"] == "labels") & (metrics["metric"] == "rows_test")]
    return bool((rows["value"] > 0).any())


def knows_truth(table):
    """Whether the true chances of acceptance are known."""
    return bool((table["metric"].eq("rmse") & table["mean"].notna()).any())


def row_label(label, assignment):
    return f"{label}, {assignment}" if assignment else label


def cell(text, bracket="", grade=""):
    return {"text": text, "bracket": bracket, "grade": grade}


def _row(part, assignment, cells, group=""):
    first = part.iloc[0]
    return {
        "label": row_label(first["label"], assignment),
        "oracle": bool(first["oracle"]),
        "failed": first["status"] == "failed",
        "reason": first["reason"],
        "group": group,
        "cells": cells,
    }


def _plain_row(label, cells, group=""):
    return {
        "label": label,
        "oracle": False,
        "failed": False,
        "reason": "",
        "group": group,
        "cells": cells,
    }


def _with_sd(part, metric, places=3, factor=1.0):
    mean, sd = factor * mean_of(part, metric), factor * mean_of(part, metric, column="sd")
    text = number(mean, places)
    return cell(text if np.isnan(sd) else f"{text} ({number(sd, places)})")


def _measured(table, *metrics):
    return bool((table["metric"].isin(metrics) & table["mean"].notna()).any())


def _in_print(table, metric):
    return bool((table["metric"].eq(metric) & table["printed"].notna()).any())


def _print_cell(part, metric, places):
    value = mean_of(part, metric, column="printed")
    return cell("" if np.isnan(value) else number(value, places))


def ratio(table, method, assignment):
    """RMSE over that of the true parameters, minus 1; NaN for an oracle."""
    mine = table[(table["method"] == method) & (table["assignment"] == assignment)]
    if mine.empty or mine["oracle"].any():
        return np.nan
    floor = floor_of(table, method, assignment)
    return mean_of(mine, "rmse") / floor - 1 if floor else np.nan


def floor_grade(above):
    """Grade of an RMSE relative to that of the true parameters.

    None is given well below: then past offers tell the segment, and errors at these offers
    say nothing of others.
    """
    return "" if above < -_FAR_BELOW else rises(above, FLOOR_RATIO)


def accuracy_sheet(table):
    """How far predicted chances are from the true ones, or from the answers."""
    truth, new = knows_truth(table), _measured(table, "rmse_test")
    printed = _in_print(table, "rmse")
    head = ["Method"]
    if truth:
        head += ["RMSE"] + ["In print"] * printed + ["RMSE of the true parameters", "Above it"]
        head += ["RMSE, new people"] * new
    head += ["Log loss", "Brier score", "AUC"]
    rows = []
    for method, way, part in rows_of(table):
        cells = []
        if truth:
            above = ratio(table, method, way)
            floor = np.nan if part["oracle"].any() else floor_of(table, method, way)
            cells.append(_with_sd(part, "rmse"))
            if printed:
                cells.append(_print_cell(part, "rmse", 3))
            cells.append(cell(number(floor, 3)))
            text = "–" if np.isnan(above) else number(100 * above, 0, sign=True) + " %"
            cells.append(cell(text, grade=floor_grade(above)))
            if new:
                cells.append(_with_sd(part, "rmse_test"))
        cells += [_with_sd(part, metric) for metric in ("log_loss", "brier", "auc")]
        rows.append(_row(part, way, cells))
    caption = "Mean (sd) over repeats: error of the predicted chance of acceptance"
    caption += " at the historical offers" if truth else ", judged by the answers"
    note = ""
    if truth:
        note = (
            "The error of the true parameters is the floor: only the segment of a person is "
            f"unknown to them. Good: up to {percent(FLOOR_RATIO[0], 0)} above it; fair: up to "
            f"{percent(FLOOR_RATIO[1], 0)}."
        )
    return {"caption": caption + ".", "head": head, "rows": rows, "note": note}


def _money_places(table):
    values = table.loc[table["metric"].isin(("revenue_predicted", "revenue_claimed")), "mean"]
    return places_for([values.abs().max()] if values.notna().any() else [], 0, 5)


def _bounded(part, metric, places):
    """A mean with the mean ends of its interval within repeats, else its sd over repeats."""
    low, high = mean_of(part, f"{metric}_low"), mean_of(part, f"{metric}_high")
    if np.isnan(low):
        return _with_sd(part, metric, places)
    return cell(number(mean_of(part, metric), places), interval(low, high, places))


def totals_sheet(table, tested):
    """Expected enrolment and revenue at the historical offers beside what came about."""
    places, truth = _money_places(table), knows_truth(table)
    head, kinds = ["Method"], []
    for total, digits in (("enrolment", 1), ("revenue", places)):
        name = total.capitalize()
        printed = _in_print(table, f"{total}_predicted")
        kinds.append((total, digits, printed))
        head += [f"{name} predicted"] + ["In print"] * printed + [f"{name} actual"]
        head += [f"{name} true"] * truth
    rows = []
    for _, way, part in rows_of(table):
        if part["status"].eq("failed").all():
            continue
        cells = []
        for total, digits, printed in kinds:
            cells.append(_bounded(part, f"{total}_predicted", digits))
            if printed:
                cells.append(_print_cell(part, f"{total}_predicted", 2))
            cells.append(_with_sd(part, f"{total}_actual", digits))
            if truth:
                cells.append(_with_sd(part, f"{total}_true", digits))
        rows.append(_row(part, way, cells))
    people = "test rows" if tested else "training rows"
    note = "Predicted: mean with the mean ends of the bootstrap interval, or (sd) over repeats."
    if truth:
        note += " True: the expectation under the true curves; actual adds chance."
    return {
        "caption": f"Totals over the {people} at the historical offers.",
        "head": head,
        "rows": rows,
        "note": note,
    }


def gains_sheet(table, settings, tested):
    """What the best offers promise, what they bring, and what logged offers say of them."""
    if not _measured(table, "revenue_claimed"):
        return None
    places, truth = _money_places(table), _measured(table, "revenue_optimal_true")
    offered, logged = _measured(table, "best_offer"), _measured(table, "revenue_snips")
    unit = (settings.get("offer") or {}).get("unit", "")
    head = ["Method"] + [f"Best offer{f', {unit}' if unit else ''}"] * offered
    for total in ("enrolment", "revenue"):
        name = total.capitalize()
        head += [f"{name} claimed"] + ["In print"] * _in_print(table, f"{total}_claimed")
        head += [f"{name} true"] * truth
    head += ["Best possible"] * truth + ["Gain claimed"]
    head += ["Gain true", "Claim above truth"] * truth
    head += ["IPS"] * (logged and not truth) + ["SNIPS"] * logged
    head += ["Claim above SNIPS"] * (logged and not truth)
    rows = []
    for _, way, part in rows_of(table):
        if part["status"].eq("failed").all():
            continue
        found, cells = gains(part), []
        if offered:
            cells.append(_bounded(part, "best_offer", 2))
        for total, digits in (("enrolment", 1), ("revenue", places)):
            cells.append(_bounded(part, f"{total}_claimed", digits))
            if _in_print(table, f"{total}_claimed"):
                cells.append(_print_cell(part, f"{total}_claimed", 2))
            if truth:
                cells.append(_with_sd(part, f"{total}_optimal_true", digits))
        if truth:
            cells.append(_with_sd(part, "revenue_best_possible", places))
        cells.append(_gain(found["revenue_claimed"]))
        if truth:
            above = optimism(part)
            cells += [_gain(found["revenue_true"]), _gain(above, small(above, OPTIMISM))]
        if logged and not truth:
            cells.append(_bounded(part, "revenue_ips", places))
        if logged:
            cells.append(_bounded(part, "revenue_snips", places))
        if logged and not truth:
            above = optimism(part, "revenue_snips")
            cells.append(_gain(above, small(above, OPTIMISM)))
        rows.append(_row(part, way, cells))
    people = "test rows" if tested else "training rows"
    note = (
        "Claimed: by the method's own curves; the gain of revenue is over the actual one, as in "
        "the paper."
    )
    if truth:
        note += (
            " True: the same offers under the true curves; the gain is over the expected revenue "
            "of the historical offers. Best possible: with the true curve of each person known."
        )
    if logged:
        note += (
            f" {'SNIPS' if truth else 'IPS and SNIPS'}: from logged answers to offers near the "
            "best ones, with the mean ends of the 95 % interval, by no model of the answers."
        )
    if offered:
        note += " Best offer: median over people, with quartiles."
    note += (
        f" A claim is good within {percent(OPTIMISM[0], 0)}, fair within {percent(OPTIMISM[1], 0)}."
    )
    return {
        "caption": f"Totals over the {people} with each method's best offers.",
        "head": head,
        "rows": rows,
        "note": note,
    }


def _gain(value, grade=""):
    text = "–" if np.isnan(value) else number(100 * value, 1, sign=True) + " %"
    return cell(text, grade=grade)


def optimism(part, against="revenue_optimal_true"):
    """Claimed revenue of the best offers over what they bring, minus 1."""
    truth = mean_of(part, against)
    return mean_of(part, "revenue_claimed") / truth - 1 if truth else np.nan


def components_of(table):
    """True components that errors are told of, in order."""
    return sorted(table.loc[table["metric"] == "rmse_component", "part"].unique(), key=int)


def component_sheet(table):
    """Tables 3 and 4: what each true component is like, and each method's error on it."""
    components = components_of(table)
    if not components:
        return None
    errors = table[table["metric"] == "rmse_component"]
    pairs = [
        (part.iloc[0]["label"], method, way)
        for method, way, part in rows_of(table)
        if ((errors["method"] == method) & (errors["assignment"] == way)).any()
    ]
    known = [name for name in OF_COMPONENT if _measured(table, name)]
    names = {
        "component_imbalance": "Imbalance",
        "component_overlap": "Overlap",
        "component_eta": "η",
        "component_k": "k",
    }
    rows = []
    for component in components:
        cells = []
        for name in known:
            own = (table["metric"] == name) & (table["part"] == component)
            value = table.loc[own, "mean"].mean()
            cells.append(cell(number(value, 1 if name == "component_k" else 3)))
        for _, method, way in pairs:
            mine = errors[(errors["method"] == method) & (errors["assignment"] == way)]
            value = mean_of(mine, "rmse_component", component)
            shown = mean_of(mine, "rmse_component", component, "printed")
            cells.append(
                cell(number(value, 3), "" if np.isnan(shown) else f"in print {number(shown, 3)}")
            )
        rows.append(_plain_row(str(int(component) + 1), cells))
    return {
        "caption": "RMSE on the people of each true component, mean over repeats.",
        "head": [
            "Component",
            *(names[name] for name in known),
            *(row_label(label, way) for label, _, way in pairs),
        ],
        "rows": rows,
        "note": "Imbalance: (1/2 − share that accepts)². Methods of one model for each component "
        "are told the component of everybody, also of new people.",
    }


def printed_regression_of(method):
    """Name under which the paper prints the regression of a method, or None."""
    return next((name for model, name in _PRINTED_NAMES if method.startswith(model)), None)


def wanted_regression(method):
    """Kind of regression that the paper prints for a method."""
    kind = "with_overlap" if method.startswith("predictive_choice") else "without_overlap"
    return kind


def regression_sheet(table):
    """Tables 5 to 7: what the error on a component depends on."""
    from counterweight.evaluation.offers.regressions import PRINTED_R2, PRINTED_REGRESSIONS

    rows = []
    for method, way, part in rows_of(table):
        # Without the component, LR and LMT are not what the paper's Tables 6 and 7 are about.
        if not _is_print(part):
            continue
        kind, first = wanted_regression(method), True
        name = printed_regression_of(method)
        own = part[part["metric"].isin(OF_VARIABLE) & (part["part"] == kind)]
        in_print = PRINTED_REGRESSIONS.get(name, {})
        order = {variable: place for place, variable in enumerate(_VARIABLES)}
        for variable in sorted(set(own["variable"]), key=lambda name: order.get(name, 9)):
            beta, p, *ends = (
                mean_of(own, f"regression_{what}", kind, variable=variable)
                for what in ("beta", "p", "low", "high")
            )
            shown = in_print.get(variable)
            cells = [
                cell(number(beta, 3)),
                cell(number(shown[0], 3) if shown else ""),
                cell(number(p, 3)),
                cell(number(shown[1], 3) if shown else ""),
                cell(interval(*ends, 3)),
                cell(interval(*shown[2:], 3) if shown else ""),
            ]
            group = row_label(part.iloc[0]["label"], way) if first else ""
            if first:
                group += _r2(part, kind, PRINTED_R2.get(name), name)
            rows.append(_plain_row(_VARIABLES.get(variable, variable), cells, group))
            first = False
    return {
        "caption": "Multiple regression of a method's RMSE by component on what the component is "
        "like; means over repeats.",
        "head": [
            "Variable",
            "Standardised coefficient",
            "In print",
            "p",
            "In print",
            "Interval of the coefficient",
            "In print",
        ],
        "rows": rows,
        "note": "The figures in print follow from the paper's Table 4. Its R² for LMT is the "
        "adjusted one; the plain one is .654.",
    }


def _is_print(part):
    method = part.iloc[0]["method"]
    return method.startswith("predictive_choice") or bool(part.iloc[0]["oracle"])


def _r2(part, kind, printed, name):
    plain, adjusted = (
        mean_of(part, metric, kind) for metric in ("regression_r2", "regression_adjusted_r2")
    )
    text = f": R² {number(plain, 3)}, adjusted {number(adjusted, 3)}"
    if printed is not None:
        text += f" (in print {number(printed, 3)}{', adjusted' if name == 'LMT' else ''})"
    return text
