"""Made-up studies of offers: plan, metrics and files by the names of the protocol."""

import numpy as np
import pandas as pd
import report_example as example
from counterweight.models.choice.offer_model import acceptance
from counterweight.plan.components import load
from counterweight.plan.measures import shared, table
from counterweight.tables.parquet import metrics_table, model_table, write_table

FAMILY = "predictive_choice"
METHODS = (
    "predictive_choice",
    "offer_logistic",
    "logitboost",
    "logistic_tree",
    "logitboost-components",
    "logistic_tree-components",
)
#: Methods of the two studies that claims of starts and of plain classifiers go by.
MORE = {
    "three_segments": (
        "offer_naive_bayes",
        "offer_tree",
        "predictive_choice-random",
        "predictive_choice-regression",
    ),
    "eighteen_segments": ("offer_naive_bayes", "offer_tree"),
}
#: Label and role of each method, as its component declares them.
KNOWN = {
    "predictive_choice": ("Choice model", "main"),
    "offer_logistic": ("Logistic regression", "baseline"),
    "logitboost": ("LogitBoost", "peer"),
    "logistic_tree": ("Logistic model tree", "peer"),
    "logitboost-components": ("LogitBoost (by component)", "bound"),
    "logistic_tree-components": ("Logistic model tree (by component)", "bound"),
    "offer_naive_bayes": ("Naive Bayes", "peer"),
    "offer_tree": ("Classification tree", "peer"),
    "predictive_choice-random": ("Choice model, random starts alone", "peer"),
    "predictive_choice-regression": ("Choice model, starts by lines alone", "peer"),
}
ETA, K = (0.15, 0.90, 0.50), (8.0, 15.0, 5.0)
RMSE = {
    "hard": 0.101,
    "soft": 0.091,
    "offer_logistic": 0.23,
    "logitboost": 0.226,
    "logistic_tree": 0.214,
    "logitboost-components": 0.02,
    "logistic_tree-components": 0.03,
    "offer_naive_bayes": 0.25,
    "offer_tree": 0.24,
}
VARIABLES = ("imbalance", "overlap", "eta", "k")
STUDIES = {
    "three_segments": "Three segments",
    "three_segments_biased": "Three segments, biased offers",
    "three_segments_deterministic": "Three segments, one offer each",
    **{f"imbalance_{name}": f"{name} % accept" for name in ("02", "10", "50")},
    "eighteen_segments": "18 segments",
    "admissions": "Admissions",
    "admissions_noisy": "Admissions, noisy",
    "admissions_noisier": "Admissions, noisier",
}
SURVEYS = {"natural_park": "Natural Park", "kakadu": "Kakadu"}


def components_of(name):
    return 18 if name == "eighteen_segments" else 20 if name.startswith("admissions") else 3


def method(name, repeats):
    told = name.endswith("components")
    options = {"per_component": True} if told else {}
    label, role = KNOWN[name]
    return example.method(
        name, repeats=repeats, oracle=told, options=options, label=label, role=role
    )


def study(name, title, source="simulated", **changes):
    survey = name in SURVEYS
    repeats = 6 if survey else 5
    named = METHODS[:4] if survey else (*METHODS, *MORE.get(name, ()))
    offer = {"low": 0.0, "high": 1.0, "direction": "up", "revenue": None}
    if survey:
        offer = {"low": 0.0, "high": 100.0, "direction": "down", "revenue": None}
    figures = ["curves", "model_order", "enrolment"] + ["segments"] * (not survey)
    return {
        "title": title,
        "family": FAMILY,
        "dataset": name,
        "source": source,
        "repeats": repeats,
        "test_share": 0.3 if survey else 0.0,
        "targets": ["general"],
        "baseline": "offer_logistic",
        "main": "predictive_choice",
        "measures": {**table()["metric"], **table()["protocol offers"]},
        "methods": [method(one, repeats) for one in named],
        "selectors": [],
        "weightings": [],
        "tables": [{"target": "general", "title": ""}],
        "figures": figures,
        "sheets": load("task", "offers").PAGE,
        "keep_rate": 1.0,
        "columns": ["rmse", "log_loss"],
        "offer": offer,
        "given_away": {"method": "predictive_choice", "setting": "hard"},
        "protocol": {"name": "offers", "options": {"least_spread": 0.05}},
        **changes,
    }


def plan(source="download"):
    studies = {name: study(name, title) for name, title in STUDIES.items()}
    studies |= {name: study(name, title, source) for name, title in SURVEYS.items()}
    return {
        "title": "Counterweight",
        "data_source": source,
        "version": "0.1",
        "seed": 1,
        "measures": shared(),
        "studies": studies,
    }


def metrics(plan, seed=0):
    rng = np.random.default_rng(seed)
    frames = []
    for name, settings in plan["studies"].items():
        for one in settings["methods"]:
            records = [
                record | {"repeat": repeat, "target": "general"}
                for repeat in range(settings["repeats"])
                for record in _records(name, one["id"], rng)
            ]
            frames.append(metrics_table(name, one["id"], records).to_pandas())
        sizes = {"rows_train": 1500, "rows_test": 0, "rows_all": 1500}
        if name.startswith("admissions") or name in SURVEYS:
            sizes = {"rows_train": 2852, "rows_test": 803, "rows_all": 3655}
        records = [
            {"repeat": repeat, "metric": metric, "value": float(value)}
            for repeat in range(settings["repeats"])
            for metric, value in sizes.items()
        ]
        frames.append(metrics_table(name, "labels", records).to_pandas())
    return pd.concat(frames, ignore_index=True)


def _records(name, source, rng):
    survey, model = name in SURVEYS, source.startswith("predictive_choice")
    for way in ("hard", "soft") if model else ("",):
        level = RMSE[way or source] + rng.normal(0, 0.001)
        for metric, value in _totals(name, source, way, rng).items():
            error = 12.0 if metric == "enrolment_actual" else 3.0 if "snips" in metric else np.nan
            yield {
                "metric": metric,
                "setting": way,
                "value": value,
                "standard_error": error,
                "rows": 803,
            }
        for metric, value in (("log_loss", 0.4 + level), ("brier", level), ("auc", 0.9 - level)):
            yield {"metric": metric, "setting": way, "value": value}
        if way == "hard":
            steeper = 0.02 + rng.normal(0, 1e-3)
            yield {"metric": "steeper_change", "setting": way, "value": steeper}
        if survey:
            for metric, value in (
                ("best_offer", 30.0),
                ("best_offer_low", 24.0),
                ("best_offer_high", 36.0),
            ):
                yield {"metric": metric, "setting": way, "value": value + rng.normal(0, 0.5)}
            continue
        yield {"metric": "rmse", "setting": way, "value": level}
        if name.startswith("admissions"):
            yield {"metric": "rmse_test", "setting": way, "value": level + 0.01}
        yield from _by_component(name, source, way, level, rng)
    if model:
        yield from _of_model(name, rng)
    if not survey:
        for way, floor in (("hard", 0.098), ("soft", 0.088)):
            yield {"metric": "rmse_floor", "setting": way, "value": floor + rng.normal(0, 2e-4)}


def _totals(name, source, way, rng):
    actual, earned = 202 + rng.normal(0, 3), 141 + rng.normal(0, 2)
    off = {"hard": 1.01, "soft": 0.995}.get(way, 0.93) + rng.normal(0, 0.004)
    lost = 0.85 if name.endswith("deterministic") else 1.0
    found = {
        "enrolment_predicted": 202 * off,
        "enrolment_actual": actual,
        "revenue_predicted": 141 * off,
        "revenue_actual": earned,
        "enrolment_claimed": 255.0 * off,
        "revenue_claimed": 172 * off,
        "revenue_ips": 160.0,
        "revenue_ips_low": 130.0,
        "revenue_ips_high": 190.0,
        "revenue_snips": 158.0,
        "revenue_snips_low": 140.0,
        "revenue_snips_high": 176.0,
    }
    if way:
        found |= {"offer_variation": 0.4 * name.startswith("admissions")}
        for total in (
            "enrolment_predicted",
            "revenue_predicted",
            "enrolment_claimed",
            "revenue_claimed",
        ):
            found |= {f"{total}_low": 0.9 * found[total], f"{total}_high": 1.1 * found[total]}
    if name not in SURVEYS:
        found |= {
            "enrolment_true": 202.0,
            "revenue_true": 141.0,
            "revenue_best_possible": 180.0,
            "enrolment_optimal_true": 240.0 * lost + rng.normal(0, 0.1),
            "revenue_optimal_true": 170.0 * lost + rng.normal(0, 0.1),
            "enrolment_error": abs(off - 1),
            "revenue_error": abs(off - 1),
        }
    return found


def _by_component(name, source, way, level, rng):
    for j in range(components_of(name)):
        factor = (0.8, 1.15, 0.9)[j % 3]
        yield {
            "metric": "rmse_component",
            "setting": way,
            "part": str(j),
            "value": factor * level + rng.normal(0, 0.001),
        }
    for j in range(components_of(name)):
        known = {"eta": ETA[j % 3], "k": K[j % 3], "imbalance": 0.1, "overlap": 0.3}
        for name_of, value in known.items():
            if source == "predictive_choice" and way == "hard":
                yield {"metric": f"component_{name_of}", "part": str(j), "value": value}
    if name != "eighteen_segments":
        return
    for kind, names in (
        ("with_overlap", VARIABLES),
        ("without_overlap", ("imbalance", "eta", "k")),
    ):
        place = {"setting": way, "part": kind}
        yield place | {"metric": "regression_r2", "value": 0.33}
        yield place | {"metric": "regression_adjusted_r2", "value": 0.12}
        for variable in names:
            for metric, value in (
                ("beta", 0.2),
                ("coefficient", 0.1),
                ("p", 0.3),
                ("low", -0.1),
                ("high", 0.3),
            ):
                yield place | {
                    "metric": f"regression_{metric}",
                    "variable": variable,
                    "value": value + rng.normal(0, 0.01),
                }


def _of_model(name, rng):
    true = components_of(name)
    yield {"metric": "components_chosen", "value": float(true)}
    for metric, value in (
        ("kl", 0.005 + rng.normal(0, 2e-4)),
        ("converged", 1.0),
        ("likelihood_drop", 0.0),
        ("closed_form_gap", 1e-9),
        ("slopes_at_bound", float(name == "kakadu")),
        ("monotone_active", 0.0),
        ("one_answer_segments", 0.0),
    ):
        yield {"metric": metric, "value": value}
    yield {"metric": "log_likelihood", "value": -5000.0}
    for j in range(1, true + 6):
        gained = 1500 * (1 - np.exp(-3.0 * min(j, true) / true)) + 4 * max(j - true, 0)
        start = -5000 + rng.normal(0, 20)
        yield {"metric": "log_likelihood", "step": j, "value": start + gained}
        yield {"metric": "mdl", "step": j, "value": 5000 - gained + 20 * j}


def files(folder, offer, seed=3, points=400, offers="uniform"):
    """Write the files of a study of three segments that the figures read."""
    rng = np.random.default_rng(seed)
    means = np.array([[-4.0, 3.5], [0.0, 0.0], [2.8, -0.4]])
    spread = np.array(
        [[[1.0, 0.24], [0.24, 0.64]], [[1.2, 0.4], [0.4, 0.6]], [[0.8, -0.27], [-0.27, 1.0]]]
    )
    component = np.repeat(np.arange(3), points)
    x = means[component] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(spread)[component], rng.standard_normal((3 * points, 2))
    )
    t = rng.random(3 * points)
    if offers == "narrow":
        t = np.clip(np.array(ETA)[component] + 0.08 * rng.standard_normal(3 * points), 0, 1)
    width = offer["high"] - offer["low"]
    made = offer["low"] + width * t if offer["direction"] == "up" else offer["high"] - width * t
    answer = rng.random(3 * points) < acceptance(
        t, np.array(ETA)[component], np.array(K)[component]
    )
    row = np.arange(3 * points, dtype="int32")
    repeat = np.zeros(3 * points, "int16")
    write_table(folder / "features.parquet", {"row": row, "x1": x[:, 0], "x2": x[:, 1]})
    write_table(
        folder / "labels.parquet",
        {
            "repeat": repeat,
            "row": row,
            "role": np.full(3 * points, "train"),
            "offer": made,
            "t": t,
            "answer": answer.astype("int8"),
        },
    )
    write_table(
        folder / "truth.parquet",
        {
            "repeat": repeat,
            "row": row,
            "answer": answer.astype("int8"),
            "component": component.astype("int16"),
        },
    )
    write_table(
        folder / "predictions" / "predictive_choice.parquet",
        {
            "repeat": repeat,
            "row": row,
            "setting": np.full(3 * points, "hard"),
            "segment": component.astype("int16"),
        },
    )
    arrays = {
        "weights": np.array([0.4, 0.33, 0.27]),
        "means": means + 0.1,
        "covariances": spread,
        "eta": np.array(ETA),
        "k": np.array(K),
        "features_used": np.array([0, 1]),
    }
    write_table(
        folder / "models" / "predictive_choice.parquet",
        model_table(arrays, 0, "general").to_pandas(),
    )
