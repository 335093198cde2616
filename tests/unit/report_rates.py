"""Made-up studies on dataset constraints: plan and metrics by the contract's names."""

import numpy as np
import pandas as pd
import report_example as example
from counterweight.evaluation.rates import RULES, at_equal, paper_cases
from counterweight.plan.components import load
from counterweight.plan.measures import measure_labels, of_rates, shared
from counterweight.tables.parquet import metrics_table, numbers_of

FAMILY = "dataset_constraints"
KAPPAS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)
TARGETS = (0.03, 0.035, 0.04, 0.045, 0.05, 0.055, 0.06)
COVARIANCES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
RATIOS = (1, 1.25, 1.5, 2, 3, 4)
STEPS = 8
#: Method: how much it errs beyond the ramp, the least ratio that it reaches, its sweep.
FAIR = {
    "svm": (0.0, None, None),
    "ramp": (0.0, 1.0, {"kappa": list(KAPPAS)}),
    "ramp_one": (0.004, 1.1, {"kappa": list(KAPPAS)}),
    "hinge": (0.01, 0.7, {"kappa": list(KAPPAS)}),
    "zafar": (0.008, 1.7, {"c": list(COVARIANCES)}),
    "shifted": (0.03, 1.0, {"kappa": list(KAPPAS)}),
    "thresholds": (0.001, 1.0, {"kappa": list(KAPPAS)}),
    "fairlearn_gradient": (0.0005, 1.0, {"kappa": list(KAPPAS)}),
    "fairlearn_thresholds": (0.002, 1.0, None),
    "ramp_zero": (0.0, 1.0, {"kappa": [0.5, 1.0]}),
    "ramp_svm_start": (0.001, 1.0, {"kappa": [0.5]}),
    "ramp_cutting": (0.0, 1.0, {"kappa": [0.5, 1.0]}),
}
FREE = 3.4
_CONSTRAINED = ("svm", "ramp", "hinge")
RULED = ("zafar", "shifted", "thresholds")
SEXES = "coverage(male) <= coverage(female) / kappa"
CHURN = ("recall(d2) >= deployed_recall(d2)", "churn(d3) <= target")


def method(name, sweep=None, constraints=(), **changes):
    """A method of the plan; its options are those of its model that tests look at."""
    model, options = name, {}
    if name.startswith(_CONSTRAINED):
        model, options = "constrained", {"constraints": list(constraints), "kappa": None}
    if name == "shifted" and constraints:
        options = {"constraint": constraints[0], "kappa": None}
    if name == "thresholds":
        options = {"kappa": None}
    return example.method(name, model=model, sweep=sweep) | {
        "label": name.replace("_", " ").capitalize(),
        "role": {"svm": "baseline", "zafar": "peer"}.get(name, "method"),
        "rule": "deterministic" if name in RULED else "randomised",
        "options": options,
        **changes,
    }


def study(title, methods, options, **changes):
    measured = {"evaluation": {"options": options}, "measures": {}}
    return {
        "title": title,
        "family": FAMILY,
        "dataset": "a9a",
        "source": "download",
        "repeats": 5,
        "test_share": 0.333,
        "targets": ["general"],
        "baseline": "svm",
        "methods": methods,
        "selectors": [],
        "weightings": [],
        "tables": [],
        "figures": [],
        "sheets": load("task", "classification").PAGE,
        "keep_rate": 1.0,
        "columns": ["accuracy", "auc"],
        "protocol": {"name": "rates", "options": options},
        "measures": shared() | of_rates(measured),
        "labels": {"measure": measure_labels(measured)},
        **changes,
    }


def fair_study(title="a9a: as many women as men", **changes):
    options = {
        "measures": {"error": "error(everyone)", "ratio": "coverage(male) / coverage(female)"},
        "equal": {"measure": "ratio", "of": "error", "values": list(RATIOS)},
    }
    apart = {"ramp_one": {"steps": 1}, "hinge": {"loss": "hinge"}}
    methods = [
        method(name, sweep, () if name == "svm" else (SEXES,))
        for name, (_, _, sweep) in FAIR.items()
    ]
    for one in methods:
        one["options"] |= apart.get(one["id"], {})
    return study(
        title, methods, options, figures=["fairness", "asked_ratio", "multipliers"], **changes
    )


def churn_study(title="Adult: few answers may change", **changes):
    measures = {"error": "error(d1 | d2)", "churn": "churn(d3)", "recall": "recall(d2)"}
    methods = [
        method("svm"),
        method("shifted", None, CHURN[:1]),
        method("ramp", {"target": list(TARGETS)}, CHURN),
    ]
    return study(
        title,
        methods,
        {"measures": measures, "sign_test": True, "sequence": "target"},
        dataset="adult",
        baseline="shifted",
        figures=["churn", "multipliers"],
        **changes,
    )


def plan(**changes):
    studies = {"fairness_sex": fair_study(**changes), "churn": churn_study(**changes)}
    return {
        "title": "Counterweight",
        "data_source": "download",
        "version": "0.1",
        "seed": 1,
        "measures": shared(),
        "studies": studies,
    }


def metrics(plan, seed=0):
    rng = np.random.default_rng(seed)
    frames = []
    for name, settings in plan["studies"].items():
        make = fair_records if name.startswith("fairness") else churn_records
        for one in settings["methods"]:
            records = list(make(one, settings["repeats"], rng))
            frames.append(metrics_table(name, one["id"], records).to_pandas())
        labels = [
            {"metric": "rows_test", "value": 16281.0, "repeat": repeat}
            for repeat in range(settings["repeats"])
        ]
        for sample, rows, positives in (("male", 32650, 9918), ("female", 16192, 1769)):
            for repeat in range(settings["repeats"]):
                place = {"part": sample, "repeat": repeat}
                labels.append(place | {"metric": "sample_rows", "value": float(rows)})
                labels.append(place | {"metric": "sample_positives", "value": float(positives)})
        frames.append(metrics_table(name, "labels", labels).to_pandas())
    return pd.concat(frames, ignore_index=True)


def _settings(one):
    if not one["sweep"]:
        return [("", None)]
    ((option, values),) = one["sweep"].items()
    return [(f"{option}={value}", value) for value in values]


def fair_records(one, repeats, rng):
    """Error falls with the ratio as 0.15 + 0.016 (1 - ratio / 3.4)^2 for a ratio below 3.4."""
    harm, least, sweep = FAIR[one["id"]]
    yield from _bounds(one)
    for repeat in range(repeats):
        points = []
        for setting, value in _settings(one):
            asked = FREE
            if sweep and "kappa" in sweep:
                asked = min(1 / value, FREE)
            elif sweep:
                asked = least + (FREE - least) * (value / COVARIANCES[-1]) ** 0.7
            elif least:
                asked = least
            train = max(asked, least or 0)
            ratio = train * (1 + rng.normal(0, 0.02))
            error = 0.15 + 0.016 * max(0.0, 1 - train / FREE) ** 2 + harm + rng.normal(0, 5e-4)
            values = {
                ("error", "deterministic"): error,
                ("error", "randomised"): error + 0.003,
                ("ratio", "deterministic"): ratio * 0.99,
                ("ratio", "randomised"): ratio,
            }
            yield from _both(repeat, setting, values, {"error": -0.002, "ratio": train - ratio})
            yield from _fitted(one, repeat, setting, active=train < FREE, rng=rng)
            points.append((values["ratio", "deterministic"], error, ratio, error + 0.003))
        if len(points) > 3:
            slope = {"metric": "asked_slope_deterministic", "value": 1 + rng.normal(0, 0.01)}
            yield {"target": "general", "repeat": repeat} | slope
        for k, rule in enumerate(RULES):
            x, y = [p[2 * k] for p in points], [p[2 * k + 1] for p in points]
            for value, found in zip(RATIOS, at_equal(x, y, RATIOS), strict=True):
                if np.isfinite(found):
                    yield {
                        "target": "general",
                        "repeat": repeat,
                        "setting": f"ratio={value:g}",
                        "metric": f"{rule}_at_equal",
                        "measure": "error",
                        "value": found,
                    }


def _both(repeat, setting, values, gaps):
    """Test and training rows, and the gap of the randomised rule: test minus training."""
    place = {"repeat": repeat, "setting": setting, "rows": 16281}
    for (name, rule), value in values.items():
        of = place | {"measure": name}
        yield of | {"target": "general", "metric": rule, "value": value, "standard_error": 0.003}
        yield of | {"target": "train", "metric": rule, "value": value + gaps[name]}
        if rule == "randomised":
            yield of | {"target": "general", "metric": "gap", "value": -gaps[name]}
    options = numbers_of(setting)
    for name, asks in (("ratio", "kappa"), ("churn", "target")):
        if asks in options and (name, "deterministic") in values:
            wanted = 1 / options[asks] if asks == "kappa" else options[asks]
            for rule in RULES:
                yield place | {
                    "target": "general",
                    "metric": f"asked_excess_{rule}",
                    "value": values[name, rule] / wanted - 1,
                }
    error = values.get(("error", "deterministic"))
    yield place | {"target": "general", "metric": "accuracy", "value": 1 - error}
    yield place | {"target": "general", "metric": "auc", "value": 0.9}


def _fitted(one, repeat, setting, active, rng):
    if one["model"] != "constrained":
        return
    steps = 1 if one["id"] in ("svm", "ramp_one") else STEPS
    place = {"target": "general", "repeat": repeat, "setting": setting}
    level = next(iter(numbers_of(setting).values()), 0.0)
    objective = 0.18 + 0.01 * level + (0.32 - 0.01 * level) * 0.2 ** np.arange(steps + 1)
    for t, value in enumerate(objective):
        yield place | {"metric": "objective", "step": t, "value": value}
    numbers = {
        "final_objective": objective[-1],
        "objective_rise": np.diff(objective).max(),
        "late_fall": (objective[min(5, steps)] - objective[-1]) / (objective[0] - objective[-1]),
        "late_share": 0.01,
        "final_gap": 3e-6,
        "largest_gap": 9e-6,
        "evaluations": 12.0 * steps,
        "evaluations_per_step": 12.0,
        "feasible": 1.0,
        "coefficient_norm": 3.0,
        "steps_rising": 0.0,
    }
    if one["id"] != "svm":
        for t in range(1, steps + 1):
            value = active * (0.05 + 0.05 * level * (1 - 0.5**t)) + rng.normal(0, 1e-4)
            yield place | {"metric": "multiplier", "step": t, "part": "0", "value": value}
        for t in range(steps + 1):
            yield place | {"metric": "violation", "step": t, "part": "0", "value": -1e-7}
        numbers |= {"largest_violation": -1e-7, "final_violation": -1e-7, "steps_violated": 0.0}
    for metric, value in numbers.items():
        yield place | {"metric": metric, "value": float(value)}


def _bounds(one):
    if one["model"] == "constrained":
        for metric in ("bound_gap", "bound_excess"):
            yield {"target": "general", "part": "steps", "metric": metric, "value": 0.0}


def churn_records(one, repeats, rng):
    for repeat in range(repeats):
        for setting, target in _settings(one):
            churn = 0.055 if target is None else 0.2 * target + 0.012
            error = 0.187 if target is None else 0.182 + rng.normal(0, 3e-4)
            values = {
                ("error", "deterministic"): error,
                ("error", "randomised"): error + 0.006,
                ("churn", "deterministic"): churn,
                ("churn", "randomised"): (target or 0.05) + 2e-3,
                ("recall", "deterministic"): 0.6,
                ("recall", "randomised"): 0.59,
            }
            gaps = {"error": -0.004, "churn": -2e-3, "recall": 0.01}
            yield from _both(repeat, setting, values, gaps)
            yield from _fitted(one, repeat, setting, active=target is not None, rng=rng)
            place = {"target": "general", "repeat": repeat, "setting": setting}
            yield place | {"metric": "labels_needed", "value": 100.0 + repeat}
        for name, value in (("error", 0.19), ("churn", 0.0), ("recall", 0.605)):
            yield {
                "target": "general",
                "repeat": repeat,
                "metric": "deployed",
                "measure": name,
                "value": value,
            }
    yield from paper_cases()
