"""Made-up studies of the family on subsampled logs: plan and metrics by the contract's names."""

import numpy as np
import pandas as pd
import report_example as example
from counterweight.plan import measures
from counterweight.plan.components import load
from counterweight.plan.measures import shared
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.sheets import build
from counterweight.tables.parquet import metrics_table

FAMILY = "subsampled_evaluation"
RATES = (1.0, 0.5, 0.1, 0.01)
SWEPT = (1.0, 0.1, 0.01, 0.001)
ESTIMATORS = {
    "ips": "IPS",
    "ips_lost": "IPS without the count",
    "snips": "SNIPS",
    "dr": "Doubly robust",
}
RESAMPLINGS = 12
LEARNERS = ("sgd", "logistic", "boosting")
CORRECTIONS = ("weights", "spline", "prior", "none")
BUDGET = {
    "natural": "natural",
    "balanced": 0.5,
    "balanced-odds": 0.5,
    "progressive": "progressive",
    "progressive-error": "progressive",
    "oversampled": "oversampled",
    "all": "all",
}
SHARES = (0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 0.875)
COLUMNS = ["brier", "calibration_error", "log_loss", "auc"]


def study(title, methods, source="download", **changes):
    return {
        "title": title,
        "family": FAMILY,
        "dataset": "bank_marketing",
        "source": source,
        "repeats": 5,
        "test_share": 0.4,
        "targets": ["general"],
        "baseline": methods[0]["id"],
        "methods": methods,
        "selectors": [],
        "weightings": [],
        "tables": [],
        "figures": [],
        "sheets": load("task", "classification").PAGE,
        "keep_rate": 1.0,
        "measures": measures.shared(),
        "labels": {"measure": ESTIMATORS},
        "columns": COLUMNS,
        "protocol": {"name": "metrics", "options": {}},
        **changes,
    }


def log_study(title, names, model, **changes):
    methods = [example.method(name, model=model, repeats=1) for name in names]
    return study(
        title,
        methods,
        sheets=load("task", "log").PAGE,
        columns=["value"],
        test_share=0.0,
        repeats=1,
        protocol={"name": "policy_value", "options": {"resample": "split"}},
        figures=["value", "ratio_bias"],
        **changes,
    )


def swept_study(title, **changes):
    methods = [example.method("logistic", model="logistic", repeats=5)]
    methods += [
        example.method(
            f"{learner}-{correction}",
            model="subsampled",
            label=f"{learner.upper()}, {correction}",
            options={"learner": learner, "correction": correction},
            repeats=5,
            sweep={"keep_rate": list(SWEPT)},
        )
        for learner in LEARNERS
        for correction in CORRECTIONS
    ]
    methods += [
        example.method(
            f"{learner}-balanced",
            model="subsampled",
            label=f"{learner.upper()}, balanced",
            options={"learner": learner, "correction": "prior", "keep_rate": "balanced"},
            repeats=5,
        )
        for learner in LEARNERS[1:]
    ]
    return study(title, methods, figures=["keep_rates", "reliability"], swept=True, **changes)


def budget_study(title, **changes):
    kind = {"model": "budgeted", "repeats": 5}
    methods = [
        example.method(f"tree-{name}", label=name, options={"budget": 1000, "share": share}, **kind)
        for name, share in BUDGET.items()
    ]
    swept = {"sweep": {"share": list(SHARES)}, "options": {"budget": 1000}}
    methods.append(example.method("tree-shares", label="shares", **swept, **kind))
    columns = ["auc", "accuracy", "balanced_accuracy", "brier"]
    return study(title, methods, columns=columns, figures=["shares"], swept=True, **changes)


def ranking_study(title, **changes):
    protocol = {"name": "ranking_resamples", "options": {"budgets": [100, 400], "delta": 0.05}}
    methods = [example.method("logistic", repeats=5)]
    return study(
        title,
        methods,
        protocol=protocol,
        columns=["auc", "brier"],
        figures=["deviation"],
        **changes,
    )


def studies(source="download"):
    kept = [example.method("logistic", repeats=5)]
    weighted = [example.method("logistic-lemma1", repeats=5)]
    plain = [example.method("sgd-plain", model="subsampled", repeats=5)]
    made = {"source": source}
    generated = {"source": "simulated", "dataset": "rare_clicks"}
    return {
        "bandit_men_thompson": log_study(
            "Open Bandit, men: the uniform log values Thompson sampling",
            ["imitated_policy"],
            "imitated_policy",
            dataset="open_bandit",
            **made,
        ),
        "logged_value": log_study(
            "Generated log: two policies of known value",
            ["stochastic", "deterministic"],
            "column_policy",
            **generated,
        ),
        "bank_ranking": ranking_study("Bank: the AUC of one ranking", **made),
        "clicks_ranking": ranking_study("Rare clicks: the AUC of one ranking", **generated),
        "bank_subsampled": swept_study("Bank: training on subsampled rows", **made),
        "clicks_subsampled": swept_study("Rare clicks: training on subsampled rows", **generated),
        "bank_budget": budget_study("Bank: which rows to buy", **made),
        "adult_budget": budget_study("Adult: which rows to buy", **made),
        "clicks_budget": budget_study("Rare clicks: which rows to buy", **generated),
        "bank_kept": study(
            "Bank: a tenth of the zero test rows", kept + plain, keep_rate=0.1, **made
        ),
        "adult_kept": study(
            "Adult: a tenth of the zero test rows", kept + weighted, keep_rate=0.1, **made
        ),
        "adult_married": study("Adult", kept + weighted, family="selection_bias", **made),
    }


def plan(source="download"):
    return {
        "title": "Counterweight",
        "data_source": source,
        "version": "0.1",
        "seed": 1,
        "measures": shared(),
        "studies": studies(source),
    }


def metrics(plan, seed=0):
    rng = np.random.default_rng(seed)
    frames = []
    for name, settings in plan["studies"].items():
        for one in settings["methods"]:
            make = _classification
            if settings["sheets"] is load("task", "log").PAGE:
                make = _value
            records = list(make(one, settings, rng))
            frames.append(metrics_table(name, one["id"], records).to_pandas())
        records = list(_labels(settings))
        frames.append(metrics_table(name, "labels", records).to_pandas())
    return pd.concat(frames, ignore_index=True)


def _labels(settings):
    numbers = {"rows_all": 45211.0, "rows_test": 18084.0}
    if settings["sheets"] is load("task", "log").PAGE:
        place = {"target": "general", "part": "log", "standard_error": 0.0001, "rows": 452949}
        yield place | {"metric": "reward_mean", "value": 0.009}
    if settings["sheets"] is load("task", "log").PAGE:
        numbers = {
            "rows_log": 452949.0,
            "rows_on_policy": 4077727.0,
            "rows_nonzero": 2285.0,
            "rows_all": 4530676.0,
            "smallest_propensity": 0.01,
        }
    for metric, value in numbers.items():
        yield {"metric": metric, "value": value}


def _value(one, settings, rng):
    truth, error = 0.0050, 0.00002
    if one["id"] in ("stochastic", "deterministic"):
        truth, error = 0.012, 0.0
    place = {"target": "general"}
    yield place | {"metric": "truth", "value": truth, "standard_error": error, "rows": 4077727}
    yield place | {"metric": "rows_unsupported", "value": 0.0, "rows": 452949}
    for rate, value in ((1.0, 200.0), (0.5, 100.5), (0.1, 20.9)):
        yield place | {"metric": "rows_per_nonzero", "keep_rate": rate, "value": value}
    yield place | {"metric": "rows_per_nonzero", "part": "dropped", "value": 1.0}
    for estimator in ESTIMATORS:
        for rate in RATES:
            wide = 0.0003 * (1 + 0.4 * (estimator != "ips") * (1 / rate) ** 0.4)
            at = place | {"measure": estimator, "keep_rate": rate}
            whole = place | {"measure": estimator, "rows": 452949}
            middle = truth + 0.3 * wide
            for metric, value in (
                ("whole_value", middle),
                ("whole_low", middle - 1.9 * wide),
                ("whole_high", middle + 2.1 * wide),
                ("effective_rows", 2e5),
                ("largest_weight", 30.0),
            ) * (rate == 1):
                yield whole | {"metric": metric, "value": value}
            yield at | {"metric": "values_missing", "value": float(rate == 0.01)}
            for repeat in range(RESAMPLINGS):
                found = truth + rng.normal(0, wide)
                for metric, value in (
                    ("value", found),
                    ("error", found - truth),
                    ("covered", float(abs(found - truth) < 1.96 * wide)),
                    ("subsampling_error", 0.1 * wide),
                ):
                    yield at | {
                        "metric": metric,
                        "repeat": repeat,
                        "value": value,
                        "rows": 5000,
                        "standard_error": wide,
                    }
                if one["id"] == "imitated_policy":
                    yield at | {"metric": "covered_whole", "repeat": repeat, "value": 1.0}
    for repeat in range(RESAMPLINGS):
        for metric in ("drop_zero_change", "zero_details_change"):
            yield place | {"metric": metric, "repeat": repeat, "value": 0.0}
        for mean in ("reward", "importance"):
            yield place | {
                "metric": "identity_gap",
                "measure": mean,
                "keep_rate": 0.1,
                "repeat": repeat,
                "value": rng.normal(0, 0.002),
            }
    for repeat in range(20):
        for n in (250, 500, 1000, 2000):
            bias = 9 / n + rng.normal(0, 1e-4)
            at = place | {"setting": f"n={n}", "repeat": repeat}
            yield at | {"metric": "ratio_bias", "value": bias}
            yield at | {"metric": "ratio_bias_times_n", "value": n * bias}


def _levels(one, setting, rng):
    """Brier, calibration error and AUC of a method at a setting: worse with fewer rows."""
    _, _, rest = one["id"].partition("-")
    harm = {"weights": 0.006, "spline": 0.001, "prior": 0.002, "none": 0.05}.get(rest, 0.0)
    lost = harm * (1 - np.log10(setting.get("keep_rate", 1.0)) - 1)
    auc = 0.79 - 0.3 * lost - 0.02 * (setting.get("share", 0.5) - 0.5) ** 2
    auc += {"natural": -0.03, "shares": -0.005}.get(rest, 0.0) + rng.normal(0, 0.001)
    accuracy = 0.88 + {"natural": 0.015}.get(rest, 0.0) - 0.05 * setting.get("share", 0.5)
    brier = 0.085 + lost - 0.001 * (rest == "spline") + rng.normal(0, 2e-4)
    error = 0.02 + lost - 0.012 * (rest == "spline") + rng.normal(0, 5e-4)
    return {
        "brier": brier,
        "calibration_error": error,
        "log_loss": 3.2 * brier,
        "auc": auc,
        "accuracy": accuracy + rng.normal(0, 0.001),
        "balanced_accuracy": 0.7,
    }


def _classification(one, settings, rng):
    sweep = one["sweep"] or {"": [None]}
    ((option, values),) = sweep.items()
    for repeat in range(one["repeats"]):
        place = {"target": "general", "repeat": repeat, "rows": 18084, "standard_error": 0.002}
        for value in values:
            setting = f"{option}={value}" if option else ""
            levels = _levels(one, {option: value} if option else {}, rng)
            for metric, level in levels.items():
                yield place | {"metric": metric, "setting": setting, "value": level}
            yield from _fitted(one, place, setting, value, rng)
        if settings["keep_rate"] < 1:
            for metric, number in (
                ("rows_kept", 3700.0),
                ("effective_rows", 2900.0),
                ("largest_keep_weight", 1 / settings["keep_rate"]),
            ):
                yield place | {"metric": metric, "value": number}
        if settings["protocol"]["name"] == "ranking_resamples":
            yield from _ranking(place, rng)


def _fitted(one, place, setting, value, rng):
    if one["model"] == "budgeted":
        for metric, number in (
            ("rows_bought", 1000.0),
            ("budget_excess", 0.0),
            ("chosen_share", 0.375),
        ):
            yield place | {"metric": metric, "setting": setting, "value": number}
    if one["model"] == "subsampled":
        yield place | {"metric": "converged", "setting": setting, "value": 1.0}
        lost = "none" in one["id"] and value is not None and value < 1
        told = {"setting": setting, "part": "top 1", "value": 1 + 5 * lost + rng.normal(0, 0.01)}
        yield place | {"metric": "predicted_over_observed"} | told
        if "spline" in one["id"]:
            yield place | {"metric": "spline_gap", "setting": setting, "value": 0.001}
        for k in range(10):
            predicted = (k + 0.5) / 20
            off = 0.3 * ("none" in one["id"]) * (value is not None and value < 1)
            for metric, number in (
                ("predicted", min(predicted * (1 + 2 * off), 1.0)),
                ("observed", predicted + rng.normal(0, 0.004)),
            ):
                yield place | {
                    "metric": f"reliability_{metric}",
                    "setting": setting,
                    "part": str(k),
                    "value": number,
                }


def _ranking(place, rng):
    for part, rate, spread in (
        ("zeros", 1.0, 0.0),
        ("zeros", 0.1, 0.004),
        ("zeros", 0.01, 0.013),
        ("positives", 0.1, 0.01),
        ("one pair", None, 0.38),
    ):
        at = place | {"part": part, "keep_rate": rate}
        yield at | {"metric": "auc_bias", "value": rng.normal(0, spread / 30)}
        yield at | {"metric": "auc_spread", "value": spread}
        if part == "zeros":
            yield at | {"metric": "auc_covered", "value": 0.95 + rng.normal(0, 0.004)}
    for budget in (100, 400):
        for rho in SHARES:
            at = place | {"setting": f"N={budget},rho={rho}"}
            bound = np.sqrt(np.log(40) / (2 * rho * (1 - rho) * budget))
            for metric, value in (
                ("auc_deviation", 0.3 * bound + rng.normal(0, 1e-4)),
                ("auc_deviation_quantile", 0.6 * bound),
                ("agarwal_bound", bound),
                ("bound_violated", 0.001),
            ):
                yield at | {"metric": metric, "value": value}


def measured(study, **sources):
    """Metrics of one study from records by source; the target is the general one."""
    frames = [
        metrics_table(
            study, source.replace("__", "-"), [{"target": "general", **one} for one in records]
        ).to_pandas()
        for source, records in sources.items()
    ]
    return pd.concat(frames, ignore_index=True)


def at(metric, values, setting="", **keys):
    return [
        {"metric": metric, "setting": setting, "repeat": repeat, "value": value, **keys}
        for repeat, value in enumerate(values)
    ]


def numbers_of(settings, **sources):
    return StudyNumbers("s", settings, measured("s", **sources))


def rows_of(sheet, numbers, **keys):
    """Rows of a sheet: their texts by label and head."""
    table = build(sheet, numbers, **keys)
    heads = [head.text for head in table.head[1:]]
    return {row.label: dict(zip(heads, row.cells, strict=True)) for row in table.rows if row.cells}
