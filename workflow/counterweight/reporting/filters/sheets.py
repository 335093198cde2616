"""Sheets of the report about studies of balanced filtering: formatted rows."""

import math

import numpy as np

from counterweight.reporting.filters.tables import (
    EVERYONE,
    TARGETS,
    main_method,
    methods_of,
    setting_value,
)
from counterweight.reporting.offers.sheets import cell
from counterweight.reporting.page.summaries import grade, rises
from counterweight.reporting.page.wording import (
    chance_text,
    interval,
    listing,
    number,
    percent,
    setting_label,
)

#: Share of the way from no filter to the floor: good, fair from.
WAY = (2 / 3, 1 / 3)
#: Test disclosivity above alpha: good, fair up to.
OVER = (0.02, 0.05)
#: Loss of accuracy against training on everyone: good, fair up to.
LOST = (0.005, 0.02)
ROWS = {"train": "training rows", "test": "test rows"}
_LONG = 16
#: Budget at which proxies are compared in the first sheet and in words.
MIDDLE = 0.2
#: Settings of the sheets about single groups, leaves and bounds.
_FEW = (0.0, 0.1, 0.2, 0.4)


def sheets(results, reasons):
    """Every sheet that there are numbers for.

    Parameters
    ----------
    results : counterweight.reporting.filters.tables.FilterResults
    reasons : dict of str to str
        Why a method has no result, by its id.

    Returns
    -------
    list of dict
        ``caption``, ``head``, ``rows`` (as in `counterweight.reporting.offers.sheets`), ``note``
        and ``long``: what to fold a long sheet under, or empty.
    """
    made = [
        overview_sheet(results, reasons),
        balance_sheet(results),
        groups_sheet(results),
        classifier_sheet(results),
        bound_sheet(results),
        proxies_sheet(results),
    ]
    made = [sheet for sheet in made if sheet and sheet["rows"]]
    for sheet in made:
        rows = len(sheet["rows"])
        words = sheet["caption"].rstrip(".")
        sheet["long"] = f"{words} ({rows} rows)" if rows > _LONG else ""
    return made


def _row(label, cells, group=""):
    return {
        "label": label,
        "oracle": False,
        "failed": False,
        "reason": "",
        "group": group,
        "cells": cells,
    }


def estimate_cell(estimate, places=3, factor=1.0, grade=""):
    """A mean with its interval below."""
    if not estimate.known:
        return cell("–")
    low, high = factor * estimate.low, factor * estimate.high
    return cell(number(factor * estimate.mean, places), interval(low, high, places), grade)


def grouped(rows):
    """Rows of ``(group, label, cells)``, the group told at its first row only."""
    last = None
    for group, label, cells in rows:
        yield _row(label, cells, group if group != last else "")
        last = group


_HEAD = [
    "Imbalance, train",
    "Floor",
    "Imbalance, test",
    "Floor",
    "Way to it",
    "Disclosivity, train",
    "Test",
    "Large leaves",
    "Beyond",
    "Accepted",
    "Rows collected",
    "Leaves",
]


def overview_sheet(results, reasons):
    """Every proxy at one setting: trees near alpha 0.2, others as they were trained."""
    rows = []
    for name, label in methods_of(results.plan):
        if not results.option(name):
            reason = reasons.get(name, "no result was found")
            rows.append(_row(label, []) | {"failed": True, "reason": reason})
            continue
        setting = results.at(name, MIDDLE if results.option(name) == "alpha" else 0.0)
        text = f"{label}, {setting_label(setting)}"
        rows.append(_row(text, _balance_cells(results, name, setting)))
    start = [
        f"{number(results.start(target).mean, 3)} on {ROWS[target]}"
        for target in TARGETS
        if results.start(target).known
    ]
    note = (
        "Imbalance: distance of the groups' shares among the accepted from the wanted shares"
        + (f"; before filtering {listing(start)}" if start else "")
        + ". Floor: the least that any filter of this disclosivity can have. Way to it: how far "
        "from no filter to the floor on test rows; good from two thirds, fair from one. Large "
        "leaves: disclosivity over leaves with about 30 test rows or more; in smaller ones shares "
        "are mostly chance. Beyond: disclosivity on test rows above α; good up to "
        f"{OVER[0]:g}, fair up to {OVER[1]:g}; a proxy without α promises nothing. Accepted: share "
        "of the training rows, rows collected: their expected number. Brackets: 95 % intervals "
        "over repeats."
    )
    return {
        "caption": f"The proxies near α = {MIDDLE:g}; without α as trained (η = 0).",
        "head": ["Proxy", *_HEAD],
        "rows": rows,
        "note": note,
    }


def balance_sheet(results):
    """How balanced, how disclosive and how large the filtered sample is, by setting."""
    lines = [
        (label, setting_label(setting), _balance_cells(results, name, setting))
        for name, label in methods_of(results.plan)
        for _, setting in results.chosen(name)
    ]
    return {
        "caption": "The same at other settings",
        "head": ["Setting", *_HEAD],
        "rows": list(grouped(lines)),
        "note": "",
    }


def way_grade(value):
    return grade(value, *WAY)


def over_grade(value):
    return rises(value, OVER)


def _balance_cells(results, name, setting):
    def of(metric, target):
        return results.get(name, metric, target, setting)

    way, over = results.way(name, setting, "test"), results.over(name, setting)
    promised = results.option(name) == "alpha"
    size = of("collected", "train") if of("collected", "train").known else of("collected", "test")
    rate = of("acceptance_rate", "train")
    rate = rate if rate.known else of("acceptance_rate", "test")
    leaves = of("leaves", "train") if of("leaves", "train").known else of("leaves", "test")
    shown = results.in_print(name, "leaves", "train", setting)
    return [
        estimate_cell(of("imbalance", "train")),
        cell(number(of("floor", "train").mean, 3)),
        estimate_cell(of("imbalance", "test")),
        cell(number(of("floor", "test").mean, 3)),
        cell(percent(way, 0), grade=way_grade(way)),
        estimate_cell(of("disclosivity", "train")),
        estimate_cell(of("disclosivity", "test")),
        cell(number(of("disclosivity_large", "test").mean, 3)),
        cell(number(over, 3, sign=True), grade=over_grade(over)) if promised else cell("no limit"),
        cell(chance_text(rate.mean)),
        cell(number(size.mean, 0)),
        cell(number(leaves.mean, 1), "" if math.isnan(shown) else f"in print {number(shown, 0)}"),
    ]


def groups_sheet(results):
    """Shares of the groups before and after filtering, with the gain."""
    name, groups = main_method(results, "relaxed", "alpha_beta"), results.groups()
    if name is None or not groups:
        return None
    settings = _few(results, name, "group_share")
    if not settings:
        return None
    head = ["Group", "Wanted", "Before, train", "Before, test"]
    for setting in settings:
        label = setting_label(setting)
        head += [f"{label}, train", f"{label}, test", "Gain, test"]
    rows = []
    for group in groups:
        cells = [cell(percent(results.share_wanted(group)))]
        cells += [
            cell(percent(results.get("labels", "group_share", target, part=group).mean, 2))
            for target in TARGETS
        ]
        for setting in settings:
            cells += [
                estimate_cell(results.get(name, "group_share", target, setting, group), 2, 100.0)
                for target in TARGETS
            ]
            gain = results.get(name, "group_gain", "test", setting, group)
            shown = results.in_print(name, "group_gain", "test", setting, group)
            cells.append(
                cell(
                    "–" if not gain.known else f"× {number(gain.mean, 2)}",
                    "" if math.isnan(shown) else f"in print × {number(shown, 1)}",
                )
            )
        rows.append(_row(group, cells))
    label = dict(methods_of(results.plan))[name]
    return {
        "caption": f"Shares of the groups before and after filtering, in per cent ({label}).",
        "head": head,
        "rows": rows,
        "note": "Gain: share among the accepted test rows over that among all test rows; mean over "
        "repeats.",
    }


def _few(results, name, metric, target="test"):
    """Settings of a sheet with few columns, by what was measured at them."""
    measured = results.measured_at(name, metric, target)
    known = [pair for pair in results.settings(name) if pair[1] in measured]
    wanted = [setting for value, setting in known if any(abs(value - few) < 1e-9 for few in _FEW)]
    if results.option(name) == "alpha" and len(wanted) > 1:
        return [setting for setting in wanted if setting_value(setting)[1] > 0]
    places = np.unique(np.linspace(0, len(known) - 1, 3).round().astype(int)) if known else []
    return [known[place][1] for place in places]


def trained_settings(results, name):
    """Settings at which a classifier was trained, those that sheets show."""
    return [setting for _, setting in results.chosen(name, "accuracy", "test")]


def classifier_sheet(results):
    """The classifier that is trained on the accepted rows, beside one trained on all rows."""
    rows, told = [], False
    for name, label in methods_of(results.plan):
        settings = trained_settings(results, name)
        if not settings:
            continue
        base = results.get(name, "accuracy", "test", EVERYONE)
        if base.known and not told:
            told = True
            rows.append(_row("All training rows", _classifier_cells(results, name, EVERYONE), ""))
        rows += grouped(
            (label, setting_label(setting), _classifier_cells(results, name, setting))
            for setting in settings
        )
    return {
        "caption": "Accuracy on test rows of a classifier trained on the accepted rows, in per "
        "cent.",
        "head": [
            "Trained on",
            "Accuracy",
            "Beyond all rows",
            "Worst group",
            "Beyond all rows",
            "Which group",
            "Rows",
        ],
        "rows": rows,
        "note": "Beyond all rows: mean difference over repeats from the classifier trained on all "
        f"training rows, in points; good from {number(-100 * LOST[0], 1)}, fair from "
        f"{number(-100 * LOST[1], 0)}. The paper leaves open what a balanced sample does to a "
        "classifier.",
    }


def difference_from_everyone(results, name, metric, setting):
    """Mean difference of a metric on test rows from the classifier of all rows; NaN if unknown."""
    mine, base = (results.get(name, metric, "test", one).mean for one in (setting, EVERYONE))
    return mine - base


def _classifier_cells(results, name, setting):
    cells = []
    for metric in ("accuracy", "accuracy_worst"):
        change = difference_from_everyone(results, name, metric, setting)
        cells.append(estimate_cell(results.get(name, metric, "test", setting), 1, 100.0))
        if setting == EVERYONE or math.isnan(change):
            cells.append(cell(""))
        else:
            cells.append(cell(number(100 * change, 1, sign=True), grade=rises(-change, LOST)))
    groups = {
        group: results.get(name, "accuracy_group", "test", setting, group).mean
        for group in results.groups()
    }
    groups = {group: value for group, value in groups.items() if not math.isnan(value)}
    worst = min(groups, key=groups.get) if groups else "–"
    accepted = results.get(name, "rows_accepted", "test", setting)
    if not accepted.known:
        accepted = results.get(name, "rows_accepted", "train", setting)
    return [*cells, cell(worst), cell(number(accepted.mean, 0))]


def vacuous(results, name, setting):
    """What Theorem 3 says nothing about at a setting: disclosivity, imbalance, both or none.

    No disclosivity is above 1; and an imbalance that no filter has as well is no promise.
    """
    disclosed = results.get(name, "bound_disclosivity", "test", setting).mean >= 1
    unbalanced = (
        results.get(name, "bound_imbalance", "test", setting).mean >= results.start("test").mean
    )
    return [what for what, said in (("disclosivity", disclosed), ("imbalance", unbalanced)) if said]


def bound_sheet(results):
    """Measured change from training to test rows beside the bound of Theorem 3."""
    lines = []
    for name, label in methods_of(results.plan):
        if results.option(name) != "alpha":
            continue
        for _, setting in results.chosen(name, "bound_disclosivity", "test"):
            nothing = vacuous(results, name, setting)
            cells = [
                estimate_cell(results.get(name, "excess_disclosivity", "test", setting)),
                estimate_cell(results.get(name, "disclosivity", "test", setting)),
                cell(number(results.get(name, "bound_disclosivity", "test", setting).mean, 3)),
                estimate_cell(results.get(name, "excess_imbalance", "test", setting)),
                estimate_cell(results.get(name, "imbalance", "test", setting)),
                cell(number(results.get(name, "bound_imbalance", "test", setting).mean, 3)),
                cell(f"nothing on {' and '.join(nothing)}" if nothing else "holds something"),
            ]
            lines.append((label, setting_label(setting), cells))
    return {
        "caption": "From training to test rows: what was measured, and what Theorem 3 promises.",
        "head": [
            "Setting",
            "Disclosivity, test − train",
            "On test",
            "Bound",
            "Imbalance, test − train",
            "On test",
            "Bound",
            "What the bound says",
        ],
        "rows": list(grouped(lines)),
        "note": "The bound holds with 95 % probability for the smallest leaf's number of rows and "
        "the VC dimension of the splits. It says nothing on disclosivity from 1 on, and nothing "
        "on imbalance from that of no filter on.",
    }


def proxies_sheet(results):
    """Size of the fitted proxies, and how far the wanted shares are from their hull."""
    known = [one["id"] for one in results.plan.get("selectors", ())]
    names = (
        ("leaves", 1),
        ("height", 1),
        ("splits", 1),
        ("distance", 3),
        ("disclosivity", 3),
        ("disclosivity_nodes", 3),
    )
    lines, told = [], set()
    for name in known:
        settings = results.chosen_of_selector(name)
        for setting in settings:
            cells = []
            for metric, places in names:
                value = results.get(name, metric, "", setting)
                cells.append(cell(number(value.mean, places)))
                told |= {metric} if value.known else set()
            hit = results.get(name, "attribute_accuracy", "", setting)
            if not hit.known:
                hit = results.get(name, "attribute_accuracy", "train", setting)
            told |= {"attribute_accuracy"} if hit.known else set()
            cells.append(cell(percent(hit.mean) if hit.known else ""))
            label = setting_label(setting) if setting else "as trained"
            lines.append((name.replace("_", " "), label, cells))
    keep = [
        k for k, (metric, _) in enumerate((*names, ("attribute_accuracy", 1))) if metric in told
    ]
    titles = (
        "Leaves",
        "Height",
        "Splits",
        "Distance of the hull",
        "Disclosivity",
        "Of all nodes",
        "Guesses the group",
    )
    lines = [(group, label, [cells[k] for k in keep]) for group, label, cells in lines]
    return {
        "caption": "The fitted proxies: mean over repeats, training rows.",
        "head": ["Setting", *(titles[k] for k in keep)],
        "rows": list(grouped(lines)),
        "note": "Distance of the hull: from the wanted shares to the nearest mixture of leaves; at "
        "0 a perfectly balanced sample can be drawn. Of all nodes: the largest disclosivity of "
        "any tree on the way, inner nodes included. Guesses the group: accuracy of the attribute "
        "classifier that naive and QP proxies are made of.",
    }
