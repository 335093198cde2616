"""Sheets of the report about dataset constraints: formatted rows of `rate_tables`."""

import numpy as np

from counterweight.evaluation.rates.asked import AT_EQUAL, RULES, equal_setting
from counterweight.reporting.page.summaries import rises, small
from counterweight.reporting.page.tables import failure_of, last_line
from counterweight.reporting.page.wording import (
    interval,
    number,
    percent,
    places_for,
    setting_label,
)
from counterweight.reporting.rates.sentences import (
    equal_sentences,
    fit_sentences,
    gap_sentences,
    held_sentences,
    relaxation_sentences,
)
from counterweight.reporting.rates.tables import Rate, RateNumbers, is_rates
from counterweight.reporting.rates.words import (
    CHURN_EXCESS,
    TEST_DISTANCE,
    TRAIN_EXCESS,
    is_share,
    measure_name,
)

#: One convex step, the hinge and the ramp, as methods that are shown side by side.
RELAXATIONS = ("ramp", "ramp_one", "hinge")


def view(metrics, name, settings, failures=()):
    """Parts of the report on one study; None for other studies.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Of the study.
    name : str
    settings : dict
    failures : iterable of dict

    Returns
    -------
    list of dict or None
        Each with ``title``, ``sentences``, and ``sheet`` (``caption``, ``head``, ``rows``,
        ``note``) or None.
    """
    if not is_rates(settings):
        return None
    numbers = RateNumbers(metrics, settings)
    parts = [
        (
            "Are the constraints kept, and at what cost?",
            held_sentences(numbers),
            held_sheet(numbers, name, list(failures)),
        ),
        (f"Error at equal {_equal_name(settings)}", equal_sentences(numbers), equal_sheet(numbers)),
        ("Ramp, one convex step, hinge", relaxation_sentences(numbers), relaxation_sheet(numbers)),
        ("Training and test side by side", gap_sentences(numbers), gap_sheet(numbers)),
        ("What the optimiser did", fit_sentences(numbers), fit_sheet(numbers)),
    ]
    return [
        {"title": title, "sentences": sentences, "sheet": sheet}
        for title, sentences, sheet in parts
        if sentences or sheet
    ]


def _equal_name(settings):
    equal = settings["protocol"]["options"].get("equal") or {}
    return measure_name(equal.get("measure", "ratio"))


def cell(text="", bracket="", grade=""):
    return {"text": text, "bracket": bracket, "grade": grade}


def _row(label, cells, group="", failed=False, reason=""):
    return {"label": label, "cells": cells, "group": group, "failed": failed, "reason": reason}


def shown(measure, value, places=None):
    """A value of a measure: shares in per cent, others as numbers of three figures."""
    if np.isnan(value):
        return "–"
    if is_share(measure):
        return percent(value, 2 if places is None else places)
    return number(value, places_for([value], 2, 3) if places is None else places)


def _estimate_cell(numbers, source, metric, setting, target="general"):
    measure = metric.measure
    mean, low, high = numbers.estimate(source, metric, setting, target)
    factor, places = (100, 2) if is_share(measure) else (1, places_for([mean], 2, 3))
    return cell(shown(measure, mean), interval(factor * low, factor * high, places))


def train_grade(numbers, source, setting):
    """Whether the training value of a method's own rule keeps what was asked."""
    excess = numbers.excess(source, setting, numbers.rule(source), "train")
    if numbers.asked["measure"] == "churn":
        return rises(excess * numbers.asks(source, setting), CHURN_EXCESS)
    return rises(excess, TRAIN_EXCESS)


def test_grade(numbers, source, setting):
    """How near the deterministic test value is to what was asked, where that binds."""
    excess = numbers.excess(source, setting, "deterministic", "general")
    if numbers.active(source, setting) and numbers.asked["form"] == "at_most_inverse":
        return small(excess, TEST_DISTANCE)
    return rises(excess, TEST_DISTANCE)


def held_sheet(numbers, study="", failures=()):
    """Asked and observed values, train and test, with the error: a row for each setting."""
    asked = numbers.asked
    measure = asked["measure"] if asked else None
    others = [name for name in numbers.measures if name != measure]
    head = ["Method and setting"]
    if asked:
        name = measure_name(measure)
        head += ["Asked"] + [
            f"{place} {name}, {rule}"
            for place in ("Training", "Test")
            for rule in ("randomised", "deterministic")
        ]
    for other in others:
        head.append(f"Test {measure_name(other)}, deterministic")
        if other == "error":
            head.append("Test error, randomised")
    rows = []
    for source in numbers.ordered():
        settings = numbers.settings_of(source)
        if not settings:
            failure = failure_of(failures, study, source, numbers.settings.get("dataset"))
            reason = last_line(failure["reason"]) if failure else "no result was found"
            rows.append(_row(numbers.label(source), [], failed=True, reason=reason))
            continue
        for place, setting in enumerate(settings):
            cells = _held_cells(numbers, source, setting) if asked else []
            for other in others:
                cells.append(_estimate_cell(numbers, source, Rate("deterministic", other), setting))
                if other == "error":
                    cells.append(
                        _estimate_cell(numbers, source, Rate("randomised", "error"), setting)
                    )
            several = len(settings) > 1 or setting
            rows.append(
                _row(
                    setting_label(setting) if several else numbers.label(source),
                    cells,
                    group=numbers.label(source) if several and not place else "",
                )
            )
    note = (
        "Mean over repeats with its 95 % interval (a single repeat: of its own test rows). "
        "Deterministic: positive where the score is above 0; randomised: positive with the "
        "probability that the ramp gives."
    )
    if asked:
        bounds = [number(100 * value, 1 if value < 0.01 else 0) for value in TRAIN_EXCESS]
        if measure == "churn":
            bounds = [number(100 * value, 1) for value in CHURN_EXCESS]
        unit = "points" if measure == "churn" else "%"
        note += (
            f" Training (by the rule that a method constrains) is good up to {bounds[0]} {unit} "
            f"beyond what was asked, fair up to {bounds[1]} {unit}; test (deterministic) is good "
            f"within {percent(TEST_DISTANCE[0], 0)} of it, fair within "
            f"{percent(TEST_DISTANCE[1], 0)}."
        )
    return {
        "caption": "What was asked and what came about.",
        "head": head,
        "rows": rows,
        "note": note,
    }


def _held_cells(numbers, source, setting):
    measure, asks = numbers.asked["measure"], numbers.asks(source, setting)
    known = not np.isnan(asks)
    cells = [cell(shown(measure, asks) if known else "–")]
    for target in ("train", "general"):
        for rule in ("randomised", "deterministic"):
            metric = Rate(rule, measure)
            if target == "general":
                found = _estimate_cell(numbers, source, metric, setting)
            else:
                found = cell(shown(measure, numbers.mean(source, metric, setting, target)))
            if known and target == "train" and rule == numbers.rule(source):
                found["grade"] = train_grade(numbers, source, setting)
            if known and target == "general" and rule == "deterministic":
                found["grade"] = test_grade(numbers, source, setting)
            cells.append(found)
    return cells


def equal_sheet(numbers):
    """The second measure at equal values of the first, with differences from the main method."""
    equal = numbers.settings["protocol"]["options"].get("equal")
    main = numbers.main()
    if not equal or main is None:
        return None
    values = [equal_setting(equal, value) for value in equal["values"]]
    name, of = measure_name(equal["measure"]), equal["of"]
    rows = []
    for source in numbers.methods:
        for rule in RULES:
            metric = Rate(AT_EQUAL[rule], of)
            if numbers.table(source, metric).empty:
                continue
            cells = [_equal_cell(numbers, source, main, metric, of, value) for value in values]
            rows.append(_row(f"{numbers.label(source)}, {rule}", cells))
    if not rows:
        return None
    repeats = numbers.repeats(main)
    return {
        "caption": f"Test {measure_name(of)} at equal observed test {name}; in brackets, minus "
        f"{numbers.label(main)} by the same rule, in points, with its 95 % interval.",
        "head": ["Method and rule", *[f"{name} {value:g}" for value in equal["values"]]],
        "rows": rows,
        "note": f"Interpolated linearly between the settings of a method within each of {repeats} "
        "repeats; nothing is extrapolated. – where fewer than half of the repeats reach the "
        f"{name}.",
    }


def _equal_cell(numbers, source, main, metric, of, value):
    series = numbers.series(source, metric, value)
    if len(series) < max(numbers.repeats(source) / 2, 1):
        return cell("–")
    bracket = ""
    if source != main:
        mean, low, high, count = numbers.difference(series, numbers.series(main, metric, value))
        if count and not np.isnan(mean):
            bracket = f"{number(100 * mean, 2, sign=True)} {interval(100 * low, 100 * high)}"
    return cell(shown(of, float(series.mean())), bracket.strip())


def relaxation_sheet(numbers):
    """Ramp after all steps, after one convex step, and hinge, at the same settings."""
    sources = [
        name for name in RELAXATIONS if name in numbers.methods and numbers.settings_of(name)
    ]
    asked = numbers.asked
    if len(sources) < 2 or asked is None:
        return None
    common = [
        setting
        for setting in numbers.settings_of(sources[0])
        if all(setting in numbers.settings_of(other) for other in sources[1:])
    ]
    if not common:
        return None
    measure = asked["measure"]
    head = ["Setting", "Asked"]
    for name in (f"test {measure_name(measure)}", "test error"):
        head += [f"{numbers.label(source)}: {name}" for source in sources]
    rows = []
    for setting in common:
        cells = [cell(shown(measure, numbers.asks(sources[0], setting)))]
        for metric in (Rate("deterministic", measure), Rate("deterministic", "error")):
            cells += [_estimate_cell(numbers, source, metric, setting) for source in sources]
        rows.append(_row(setting_label(setting) or "–", cells))
    return {
        "caption": "Deterministic rule, test rows: the ramp after all convex steps, the ramp after "
        "the first, and the hinge in place of the ramp.",
        "head": head,
        "rows": rows,
        "note": "From a start at w = 0 the first convex step is the hinge problem itself, so that "
        "the two agree there.",
    }


def gap_sheet(numbers):
    """How far constraints are broken on training and on test rows, and the gap of the error."""
    asked, rows = numbers.asked, []
    if asked is None:
        return None
    measure = asked["measure"]
    gaps = [name for name in numbers.measures if name != measure]
    for source in numbers.ordered():
        settings = [
            setting
            for setting in numbers.settings_of(source)
            if not np.isnan(numbers.asks(source, setting))
            and not np.isnan(numbers.mean(source, Rate("randomised", measure), setting, "train"))
        ]
        for place, setting in enumerate(settings):
            cells = []
            for rule in ("randomised", "deterministic"):
                for target in ("train", "general"):
                    excess = numbers.excess(source, setting, rule, target)
                    cells.append(cell(number(100 * excess, 1, sign=True) + " %"))
            for name in (measure, *gaps):
                cells.append(_gap_cell(numbers, source, name, setting))
            several = len(settings) > 1 or setting
            rows.append(
                _row(
                    setting_label(setting) if several else numbers.label(source),
                    cells,
                    group=numbers.label(source) if several and not place else "",
                )
            )
    if not rows:
        return None
    head = ["Method and setting"] + [
        f"{rule}, {place}"
        for rule in ("Randomised", "Deterministic")
        for place in ("training", "test")
    ]
    head += [f"Gap of the {measure_name(name)}" for name in (measure, *gaps)]
    return {
        "caption": f"By how much the {measure_name(measure)} is beyond what was asked, relative to "
        "it (negative: kept with room), and test minus training values of the randomised rule "
        "(shares in points) with 95 % intervals.",
        "head": head,
        "rows": rows,
        "note": "",
    }


def _gap_cell(numbers, source, name, setting):
    factor = 100 if is_share(name) else 1
    found = [factor * value for value in numbers.estimate(source, Rate("gap", name), setting)]
    return cell(number(found[0], 2, sign=True), interval(*found[1:]))


def fit_sheet(numbers):
    """Convex steps, fall of the objective, multipliers, gap and evaluations of each fit."""
    rows = []
    for source in numbers.ordered():
        steps = numbers.steps(source, "objective")
        if steps.empty:
            continue
        last = numbers.steps(source, "multiplier")
        settings = list(dict.fromkeys(steps["setting"]))
        ordered = [
            setting for setting in numbers.settings_of(source) if setting in settings
        ] or settings
        for place, setting in enumerate(ordered):
            several = len(ordered) > 1 or setting
            rows.append(
                _row(
                    setting_label(setting) if several else numbers.label(source),
                    _fit_cells(numbers, source, setting, steps, last),
                    group=numbers.label(source) if several and not place else "",
                )
            )
    if not rows:
        return None
    return {
        "caption": "Mean over repeats. The objective is that of a method's own problem, with its "
        "penalty.",
        "head": [
            "Method and setting",
            "Convex steps",
            "Objective: start",
            "After step 1",
            "End",
            "Largest rise",
            "Multipliers at the end",
            "Certified gap",
            "Evaluations a step",
            "Feasible",
        ],
        "rows": rows,
        "note": "The objective must not rise from step to step (up to 1e-9), and the gap is the "
        "proved distance from the optimum of the last convex step.",
    }


def _fit_cells(numbers, source, setting, steps, multipliers):
    own = steps[steps["setting"] == setting]
    by_step = own.groupby("step")["value"].mean()
    rise = numbers.series(source, "objective_rise", setting)
    rise = float(rise.max()) if len(rise) else np.nan
    mine = multipliers[multipliers["setting"] == setting]
    at_end = ""
    if len(mine):
        ends = mine[mine["step"] == mine.groupby("repeat")["step"].transform("max")]
        at_end = ", ".join(number(v, 3) for v in ends.groupby("part")["value"].mean())
    gap = numbers.mean(source, "final_gap", setting)
    feasible = numbers.mean(source, "feasible", setting)
    counts = own.groupby("repeat")["step"].max()
    return [
        cell(number(float(counts.mean()), 1 if counts.nunique() > 1 else 0)),
        cell(number(by_step.iloc[0], 4)),
        cell(number(by_step.iloc[min(1, len(by_step) - 1)], 4)),
        cell(
            number(
                float(
                    own[own["step"] == own.groupby("repeat")["step"].transform("max")][
                        "value"
                    ].mean()
                ),
                4,
            )
        ),
        cell(power(rise), grade="" if np.isnan(rise) else "good" if rise <= 1e-9 else "poor"),
        cell(at_end or "–"),
        cell(power(gap)),
        cell(number(numbers.mean(source, "evaluations_per_step", setting), 1)),
        cell(percent(feasible, 0)),
    ]


def power(value):
    """A small number by its order of size."""
    if np.isnan(value):
        return "–"
    if value == 0 or abs(value) >= 0.001:
        return number(value, 4)
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")
