"""A small made-up run in the layouts of the contract: plan, metrics, files of one study."""

import numpy as np
import pandas as pd
import pytest
from counterweight.evaluation.hidden_labels import sweep_records, turn_records
from counterweight.numerics.sensitivity import SweptMean, accuracy_parts, brier_parts
from counterweight.plan.components import load
from counterweight.plan.measures import shared
from counterweight.reporting import claims
from counterweight.reporting.numbers import TABLE
from counterweight.tables.parquet import METRICS, metrics_table, model_table, write_table

TARGETS = ("general", "unlabeled")
WEIGHTINGS = (
    *(("lemma1", "general"), ("lemma2", "unlabeled")),
    *(("lemma1_tempered", "general"), ("lemma2_tempered", "unlabeled")),
)
ACCURACY = {
    "logistic": 0.735,
    "logistic-lemma1": 0.743,
    "logistic-lemma2": 0.741,
    "logistic-lemma1-known": 0.744,
    "logistic-lemma1-logistic_raw": 0.739,
    "logistic-lemma1-gradient_boosting": 0.742,
    "logistic-oracle": 0.806,
    "generative": 0.738,
    "generative-lemma1": 0.752,
    "generative-lemma2": 0.755,
    "generative-oracle": 0.79,
    "shifted_mixture": 0.765,
    "shifted_mixture-step": 0.766,
    "shifted_mixture-converged": 0.70,
    "generative-separate": 0.737,
    "generative-redrawn": 0.7381,
    "trees_of_x": 0.80,
    "trees_of_x_and_s": 0.83,
    "bickel_joint": 0.74,
    "bickel_joint-exponential": 0.742,
}
MEASURED = (
    *("accuracy", "balanced_accuracy", "auc", "log_loss", "brier", "converged", "components_held"),
    *("swept_rate", "swept_accuracy", "swept_brier", "turns_at", "gamma_of_truth"),
    *("effective_sample_size", "largest_weight", "mean_weight", "rows_capped", "share_extreme"),
)
MODELS = {name: name.split("-")[0] for name in ACCURACY}


def decided(asked, metrics, plan):
    """Claims with their verdicts by id, and not how many draws of the repeats have the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "REDRAWS", 0)
        return claims.decide(asked, metrics, plan).set_index("id")


def holds(table):
    """Whether a table of results has the one form, and its intervals hold what they are of."""
    assert list(table.columns) == [name for name, _ in TABLE]
    assert not table[[name for name, kind in TABLE if kind == "string"]].isna().any(axis=None)
    for name, low, high in (("estimate", "low", "high"), ("diff", "diff_low", "diff_high")):
        told = table[table[low].notna()]
        assert len(told) or name == "diff"
        assert (told[low] <= told[name]).all() and (told[name] <= told[high]).all()
    shares = table[table["unit"] == "share"]
    inside = shares["low"].isna() | (shares["low"] >= -1) & (shares["high"] <= 1)
    return bool(inside.all() and (table.loc[table["n"] == 2, "low"].isna()).all())


def method(name, **changes):
    model, *rest = name.split("-")
    return {
        "id": name,
        "model": model,
        "oracle": "oracle" in rest,
        "role": "bound" if "oracle" in rest else "baseline" if name == "logistic" else "method",
        "label": name.replace("_", " ").replace("-", ", "),
        "options": {},
        "values": {},
        "weights": next((word for word in rest if word.startswith("lemma")), None),
        "selector": None,
        "sweep": None,
        "repeats": 10,
        **changes,
    }


def study(source, names, **changes):
    selectors = ["logistic", "gradient_boosting", "gaussian_mixture", "logistic_raw", "known"]
    return {
        "title": "A study",
        "family": "selection_bias",
        "dataset": "adult",
        "source": source,
        "repeats": 10,
        "test_share": 0.4,
        "targets": list(TARGETS),
        "baseline": "logistic",
        "main": "logistic-lemma1",
        "question": "",
        "captions": {},
        "labels": {},
        "measures": {name: one for name, one in shared().items() if name in MEASURED},
        "columns": ["accuracy", "balanced_accuracy", "auc", "log_loss", "brier"],
        "keep_rate": 1.0,
        "methods": [method(name) for name in names],
        "selectors": [{"id": name, "oracle": name == "known"} for name in selectors],
        "weightings": [
            {
                "id": f"{weighting}-{selector}",
                "weighting": weighting,
                "selector": selector,
                "max_weight": 50.0,
                "target": target,
            }
            for weighting, target in WEIGHTINGS
            for selector in ("logistic", "logistic_raw", "known")
        ]
        + [
            {
                "id": weighting,
                "weighting": weighting,
                "selector": None,
                "max_weight": 50.0,
                "target": "general",
            }
            for weighting in (
                "kernel_mean_matching",
                "rosset_label_only",
                "rosset",
                "rosset_general",
            )
        ],
        "tables": [],
        "figures": [],
        "sheets": load("task", "classification").PAGE,
        **changes,
    }


def plan(source="download"):
    names = [name for name in ACCURACY if "known" not in name]
    mar = [
        "logistic",
        "logistic-lemma1",
        "logistic-lemma2",
        "logistic-lemma1-known",
        "logistic-oracle",
        "generative",
        "generative-lemma1",
        "generative-oracle",
        "trees_of_x",
        "trees_of_x_and_s",
    ]
    sweep = {
        "inertia": [0.99, 0.9, 0.5, 0.0],
        "iterations": [1, 5, 25],
        "shifts": ["all", "priors", "weights", "means", "covariances"],
    }

    def tables(first):
        return [
            {"title": f"Table {first}", "target": "general"},
            {"title": f"Table {first + 1}", "target": "unlabeled"},
        ]

    def swept():
        return method("shifted_mixture-sweep", sweep=sweep, repeats=3)

    adult = study(source, names, title="Adult: only married people are labeled", tables=tables(1))
    coast = study(
        source,
        names,
        title="California Housing: only the northern coast is labeled",
        dataset="ca_housing",
        tables=tables(3),
    )
    for one in (adult, coast):
        one["methods"].append(swept())
        one["draws"] = {"generative": ["generative", "generative-redrawn"]}
    return {
        "title": "Counterweight",
        "data_source": source,
        "version": "0.1",
        "seed": 1,
        "measures": shared(),
        "studies": {
            "adult_married": adult,
            "ca_coastal": coast,
            "ca_coastal_derived": study(source, names[:3], dataset="ca_housing"),
            "adult_married_exact": study(source, ["logistic", "logistic-oracle"]),
            "adult_married_numeric": study(source, names),
            "adult_by_outcome": study(source, names[:2]),
            "adult_mar": study(source, mar),
            "curved": study(
                "simulated", mar, dataset="curved", title="Curved boundary", figures=["boundary"]
            ),
            "straight": study("simulated", mar, dataset="straight", title="Straight boundary"),
        },
    }


def metrics(plan, seed=0):
    """Metrics of a plan; made once for each kind of data, so change a copy only."""
    kind = (plan["data_source"], seed)
    if kind not in _made:
        _made[kind] = _metrics(plan, seed)
    return _made[kind]


_made = {}


def _metrics(plan, seed):
    rng = np.random.default_rng(seed)
    frames = [pd.DataFrame(columns=[name for name, _ in METRICS])]
    for name, settings in plan["studies"].items():
        for one in settings["methods"]:
            frames.append(
                metrics_table(name, one["id"], list(_method_records(one, rng, name))).to_pandas()
            )
        frames.append(metrics_table(name, "labels", list(_label_records(rng))).to_pandas())
        for one in settings["selectors"]:
            frames.append(metrics_table(name, one["id"], list(_selection_records(rng))).to_pandas())
        for one in settings["weightings"]:
            frames.append(
                metrics_table(name, one["id"], list(_weight_records(one, rng))).to_pandas()
            )
    return pd.concat(frames[1:], ignore_index=True)


def _accuracy(one, target, rng, name):
    level = ACCURACY.get(one["id"], 0.76)
    if name == "straight" and one["model"] == "logistic":
        level = 0.806
    if name in ("curved", "straight", "adult_mar") and "trees" in one["id"]:
        return 0.82
    if name == "curved" and "lemma1" in one["id"]:
        level = 0.806
    return level - 0.02 * (target == "unlabeled") + rng.normal(0, 0.002)


_FITS = (("converged", 1.0), ("components_held", 0.0), ("components_small", 0.0))


def _method_records(one, rng, name):
    for repeat in range(one["repeats"]):
        for target in TARGETS:
            common = {"repeat": repeat, "target": target, "rows": 5000, "standard_error": 0.006}
            if one["sweep"]:
                yield from _sweep_records(one["sweep"], common, rng)
                continue
            accuracy = _accuracy(one, target, rng, name)
            for metric, value in (
                ("accuracy", accuracy),
                ("balanced_accuracy", accuracy - 0.03),
                ("auc", accuracy + 0.06),
                ("log_loss", 1.1 - accuracy),
                ("brier", 0.5 * (1.05 - accuracy)),
            ):
                yield {**common, "metric": metric, "value": value}
            if one["id"] in ("logistic", "logistic-lemma1"):
                yield from ({**common, **record} for record in _swept_records(one["id"], repeat))
            if name == "curved":
                told = {
                    "metric": "decided_otherwise",
                    "value": 0.01 if "lemma1" in one["id"] else 0.1,
                }
                yield {**common, **told}
            for metric, value in _FITS:
                for step in range(3) if one["model"] == "generative" else (None,):
                    yield {**common, "metric": metric, "step": step, "value": value}
            if one["model"] == "bickel_joint":
                curvature = 1e-4 if "exponential" in one["id"] else -0.01
                yield {**common, "metric": "least_curvature", "value": curvature}
            if one["model"] == "shifted_mixture":
                last = 40 if "converged" in one["id"] else 5
                speed = 0.2 if "converged" in one["id"] else 0.01
                for step in range(last + 1):
                    yield {
                        **common,
                        "metric": "log_likelihood",
                        "step": step,
                        "value": -12.3 + (1 - np.exp(-speed * step)),
                    }
                for metric, value in (("decisions_moved", 0.03), ("moved_right", 0.2)):
                    yield {**common, "metric": metric, "value": value + rng.normal(0, 0.002)}


def _swept_records(name, repeat):
    """By Γ: bounds of accuracy and Brier score, of one method of the rate."""
    rng = np.random.default_rng(repeat)
    p, q = rng.random((2, 200))
    parts = {"swept_accuracy": accuracy_parts(q), "swept_brier": brier_parts(q)}
    parts |= {"swept_rate": (1.0, 0.0)} if name == "logistic" else {}
    for metric, (slope, base) in parts.items():
        mean = SweptMean(p, slope, base)
        yield from sweep_records(metric, mean.sweep())
        yield {"metric": "gamma_of_truth", "part": metric, "value": 2.0 + repeat / 10}
        if metric == "swept_rate":
            yield from turn_records("rate", mean, 0.01)
    if name == "logistic":
        yield {"metric": "swept_rate", "variable": "truth", "value": 0.3}


def _sweep_records(sweep, common, rng):
    for inertia in sweep["inertia"]:
        for iterations in sweep["iterations"]:
            for order, shifts in enumerate(sweep["shifts"]):
                setting = f"inertia={inertia},iterations={iterations},shifts={shifts}"
                moved = (1 - inertia**iterations) / (1 + order)
                yield {
                    **common,
                    "metric": "accuracy",
                    "setting": setting,
                    "value": 0.755 + 0.02 * moved - 0.05 * moved**2 + rng.normal(0, 0.001),
                }
                yield {
                    **common,
                    "metric": "unlabeled_log_likelihood",
                    "setting": setting,
                    "value": -12.3 + 0.8 * moved,
                }


def _label_records(rng):
    for repeat in range(10):
        shift = rng.integers(-40, 40)
        for metric, value in (
            ("rows_labeled", 12798 + shift),
            ("rows_unlabeled", 14342 - shift),
            ("rows_test", 18092),
            ("rows_all", 45232),
        ):
            yield {"repeat": repeat, "metric": metric, "value": float(value)}
        for target in TARGETS:
            for part, value in (
                ("labeled", 0.45),
                ("unlabeled", 0.07),
                ("test", 0.25),
                ("all", 0.25),
            ):
                yield {
                    "repeat": repeat,
                    "target": target,
                    "metric": "positive_share",
                    "part": part,
                    "value": value + rng.normal(0, 0.002),
                }


def _selection_records(rng):
    for repeat in range(10):
        yield {"repeat": repeat, "metric": "auc", "value": 0.82 + rng.normal(0, 0.002)}
        yield {"repeat": repeat, "metric": "share_extreme", "value": 0.01}
        for part in range(10):
            predicted = (part + 0.5) / 10
            yield {
                "repeat": repeat,
                "metric": "calibration_predicted",
                "part": str(part),
                "value": predicted,
            }
            yield {
                "repeat": repeat,
                "metric": "calibration_observed",
                "part": str(part),
                "value": predicted + rng.normal(0, 0.02),
            }
        for part in range(20):
            for which, level in (
                ("labeled", 0.02 + 0.003 * part),
                ("unlabeled", 0.08 - 0.003 * part),
            ):
                yield {
                    "repeat": repeat,
                    "metric": f"overlap_{which}",
                    "part": str(part),
                    "value": level,
                }


def _weight_records(one, rng):
    raw = "raw" in one["id"]
    for repeat in range(10):
        common = {"repeat": repeat, "target": one["target"], "rows": 12798}
        for metric, value in (
            ("effective_sample_size", 4000.0 if raw else 8100.0),
            ("largest_weight", 50.0),
            ("largest_uncapped", 180.0),
            ("rows_capped", 12.0),
            ("rows_zero", 0.0),
            ("mean_weight", 1.2 if raw else 1.01),
        ):
            yield {**common, "metric": metric, "value": value + 0.001 * rng.normal()}
        for order, feature in enumerate(("age", "education_num", "hours_per_week", "income")):
            before = 0.4 - 0.25 * order
            after = before * (0.4 if raw else 0.08)
            for metric, value in (
                ("balance_before", before),
                ("balance_after", after),
                ("balance_z", rng.normal(0, 0.5) + 4 * ("tempered" in one["id"])),
            ):
                yield {**common, "metric": metric, "part": feature, "value": value}


def boundary_files(folder, rows=2000, seed=3):
    """Write the files of a study of generated points that the boundary figure reads."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, (rows, 2))
    row = np.arange(rows, dtype="int32")
    p_positive = 1 / (1 + np.exp(-3 * (x[:, 1] - 0.5 * x[:, 0] ** 2 + 1.5)))
    p_selected = 1 / (1 + np.exp(-1.5 * x[:, 0]))
    y = (rng.random(rows) < p_positive).astype("int8")
    selected = (rng.random(rows) < p_selected).astype("int8")
    write_table(folder / "features.parquet", {"row": row, "x1": x[:, 0], "x2": x[:, 1]})
    write_table(
        folder / "truth.parquet",
        {
            "repeat": np.zeros(rows, "int16"),
            "row": row,
            "y_general": y,
            "y_unlabeled": y,
            "p_positive": p_positive,
            "p_selected": p_selected,
        },
    )
    role = np.where(row % 5 < 2, "test", np.where(selected == 1, "labeled", "unlabeled"))
    write_table(
        folder / "labels.parquet",
        {"repeat": np.zeros(rows, "int16"), "row": row, "role": role, "selected": selected},
    )
    for name, coef, intercept in (
        ("logistic", (-1.0, 1.0), 0.3),
        ("logistic-lemma1", (0.1, 1.2), 0.0),
        ("logistic-oracle", (0.0, 1.3), 0.0),
    ):
        frame = model_table({"coef": coef, "intercept": intercept}, 0, "general").to_pandas()
        write_table(folder / "models" / f"{name}.parquet", frame)
