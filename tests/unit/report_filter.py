"""Made-up studies of balanced filtering: plan, metrics and files by the names of the contract."""

import copy
import functools

import numpy as np
import pandas as pd
import report_example as example
from counterweight.numerics.geometry import imbalance_floor
from counterweight.numerics.groups import memberships
from counterweight.plan.components import load
from counterweight.plan.measures import shared
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.tables.parquet import metrics_table, model_table, write_table

FAMILY = "balanced_filtering"
MEASURES = shared()
SELECTORS = {
    "regression": "regression_proxy",
    "tree": "tree_proxy",
    "alpha_beta": "split_tree",
    "relaxed": "split_tree",
    "alpha_beta_deep": "split_tree",
    "relaxed_deep": "split_tree",
    "alpha_beta_paper": "split_tree",
    "alpha_beta_fixed": "split_tree",
    "printed": "split_tree",
}
#: Selector, weighting, and how far each method gets on training and on test rows.
METHODS = {
    "naive_regression": ("regression", "equal", 0.1, 0.1),
    "naive_tree": ("tree", "equal", 0.5, 0.3),
    "naive_tree_kept": ("tree", "equal_kept", 0.45, 0.25),
    "qp_regression": ("regression", "quadratic", 0.1, 0.1),
    "qp_tree": ("tree", "quadratic", 0.8, 0.5),
    "qp_tree_kept": ("tree", "quadratic_kept", 0.75, 0.5),
    "alpha_beta": ("alpha_beta", "quadratic", 0.7, 0.6),
    "relaxed": ("relaxed", "relaxed", 0.8, 0.65),
    "alpha_beta_deep": ("alpha_beta_deep", "quadratic", 0.9, 0.5),
    "relaxed_deep": ("relaxed_deep", "relaxed", 0.95, 0.5),
    "alpha_beta_paper": ("alpha_beta_paper", "quadratic", 0.75, 0.55),
    "alpha_beta_fixed": ("alpha_beta_fixed", "quadratic", 0.6, 0.5),
    "printed": ("printed", "quadratic", 0.5, 0.4),
}
RACES = {
    "Amer-Indian-Eskimo": 0.0096,
    "Asian-Pac-Islander": 0.0311,
    "Black": 0.0959,
    "Other": 0.0083,
    "White": 0.8551,
}
JOBS = {
    "admin.": 0.1144,
    "blue-collar": 0.2153,
    "entrepreneur": 0.0329,
    "housemaid": 0.0274,
    "management": 0.2092,
    "retired": 0.0501,
    "self-employed": 0.0349,
    "services": 0.0919,
    "student": 0.0207,
    "technician": 0.168,
    "unemployed": 0.0288,
    "missing": 0.0064,
}
SEXES = {"Female": 0.33, "Male": 0.67}
SCHOOLING = {"3": 0.5, "4": 0.3, "6": 0.2}
GROUPS = {
    "adult_filter": {"race": RACES},
    "bank_filter": {"job": JOBS},
    "adult_filter_two": {"race": RACES, "sex": SEXES},
    "bank_filter_target": {"job": JOBS},
    "kakadu_filter": {"schooling": SCHOOLING},
}
TITLES = {
    "adult_filter": "Adult: balance over race",
    "bank_filter": "Bank Marketing: balance over job",
    "adult_filter_two": "Adult: balance over race and sex",
    "bank_filter_target": "Bank Marketing: other shares wanted",
    "kakadu_filter": "Kakadu: balance over schooling",
}
FIGURES = ("tradeoff", "frontier", "proportions", "heatmap", "tree")
ALPHAS = sorted([*(round(0.05 * k, 10) for k in range(21)), 0.82, 0.97])
ETAS = [round(0.1 * k, 10) for k in range(11)]
LEAVES = 4


def study(name, source="download", repeats=3, **changes):
    classes = GROUPS[name]
    weightings = dict.fromkeys(
        (weighting, selector) for selector, weighting, *_ in METHODS.values()
    )
    return {
        "title": TITLES[name],
        "family": FAMILY,
        "dataset": name.partition("_")[0],
        "source": source,
        "repeats": repeats,
        "test_share": 1 / 3,
        "targets": ["general"],
        "baseline": "alpha_beta",
        "sheets": load("task", "filter").PAGE,
        "keep_rate": 1.0,
        "columns": ["imbalance"],
        "measures": MEASURES,
        "methods": [
            example.method(
                one,
                model="balanced_filter",
                label=one,
                repeats=repeats,
                selector=selector,
                weights=weighting,
            )
            for one, (selector, weighting, *_) in METHODS.items()
        ],
        "selectors": [
            {"id": one, "oracle": False, "selector": kind} for one, kind in SELECTORS.items()
        ],
        "weightings": [
            {
                "id": f"{weighting}-{selector}",
                "weighting": weighting,
                "selector": selector,
                "max_weight": 50.0,
                "target": "general",
            }
            for weighting, selector in weightings
        ],
        "tables": [{"target": "general", "title": ""}],
        "figures": list(FIGURES),
        "main": "alpha_beta",
        "filter": {
            "group": list(classes),
            "target": None,
            "given": None,
            "swept": {one: _option(one) for one in METHODS},
            "limit": "alpha",
        },
        "protocol": {"name": "filtering", "options": {}},
        **changes,
    }


def plan(source="download", repeats=5):
    return {
        "title": "Counterweight",
        "data_source": source,
        "version": "0.1",
        "seed": 1,
        "measures": MEASURES,
        "studies": {name: study(name, source, repeats) for name in GROUPS},
    }


def base_of(name):
    """Names of the groups, their shares, and the number of groups of each class."""
    classes = GROUPS[name]
    several = len(classes) > 1
    names = [
        f"{column}={group}" if several else group
        for column, groups in classes.items()
        for group in groups
    ]
    r = np.concatenate([np.array(list(g.values())) / sum(g.values()) for g in classes.values()])
    return names, r, [len(groups) for groups in classes.values()]


def metrics(plan, seed=0):
    rng = np.random.default_rng(seed)
    frames = []
    for name, settings in plan["studies"].items():
        frames.append(metrics_table(name, "labels", list(_labels(name, settings))).to_pandas())
        # Accepted training rows are as far from the wanted shares as the hull of the leaves is.
        hulls = {}
        for one in settings["methods"]:
            records = [
                record | {"repeat": repeat}
                for repeat in range(settings["repeats"])
                for record in _records(name, one["id"], repeat, rng)
            ]
            selector, weighting, *_ = METHODS[one["id"]]
            for record in records:
                if (record["metric"], record.get("target")) == ("imbalance", "train"):
                    at_setting = (record["repeat"], record["setting"])
                    hulls.setdefault(f"{weighting}-{selector}", {})[at_setting] = record["value"]
            frames.append(metrics_table(name, one["id"], records).to_pandas())
        for kind, records_of in (("selectors", _of_selector), ("weightings", _of_weighting)):
            for one in settings[kind]:
                records = [
                    record | {"repeat": repeat}
                    for repeat in range(settings["repeats"])
                    for record in records_of(one["id"], repeat, hulls)
                ]
                frames.append(metrics_table(name, one["id"], records).to_pandas())
    return pd.concat(frames, ignore_index=True)


def _uniform(sizes):
    return np.concatenate([np.full(size, 1 / size) for size in sizes])


def _labels(name, settings):
    names, r, sizes = base_of(name)
    for repeat in range(settings["repeats"]):
        for metric, value in (
            ("rows_train", 30000.0),
            ("rows_test", 15000.0),
            ("rows_dropped", 0.0),
            ("groups", float(len(names))),
        ):
            yield {"repeat": repeat, "metric": metric, "value": value}
        for target in ("train", "test"):
            place = {"repeat": repeat, "target": target}
            start = float(np.linalg.norm(r - _uniform(sizes)))
            yield place | {"metric": "starting_imbalance", "value": start}
            for group, share in zip(names, r, strict=True):
                yield place | {"metric": "group_share", "part": group, "value": share}


def _option(method):
    return "alpha" if method.startswith(("alpha", "relaxed", "printed")) else "eta"


def _settings(method):
    option, trees = _option(method), _option(method) == "alpha"
    grid = ALPHAS if trees else ETAS
    return [(value, f"{option}={value:g}", value if trees else 1 - value) for value in grid]


@functools.cache
def _floor(name, disclosed):
    """The same for all repeats, and for the training rows as for the test rows."""
    _, r, sizes = base_of(name)
    return imbalance_floor(r, _uniform(sizes), disclosed, sizes)


def _records(name, method, repeat, rng):
    names, r, sizes = base_of(name)
    U = _uniform(sizes)
    start = float(np.linalg.norm(r - U))
    selector, _, fit, general = METHODS[method]
    trees = _option(method) == "alpha"
    for value, setting, strength in _settings(method):
        disclosed = strength * (0.98 if trees else 0.9 * fit)
        floors = {}
        for target, reach in (("train", fit), ("test", general)):
            wiggle = 0.0 if strength == 0 else rng.normal(0, 0.002)
            shown = disclosed if target == "train" else disclosed * 1.02 + abs(wiggle)
            floor = _floor(name, disclosed)
            floors[target] = imbalance = max(start - reach * (start - floor) + wiggle, floor)
            mixed = U + (r - U) * imbalance / start
            found = {
                "disclosivity": shown,
                "disclosivity_rows": 300.0,
                "imbalance": imbalance,
                "imbalance_drawn": imbalance + 0.001,
                "floor": floor,
                "acceptance_rate": 1 - 0.9 * strength,
                "collected": 15000 * (1.1 - strength),
                "leaves": 1.0 + round(6 * strength) if trees else 5.0,
            }
            for metric, number in found.items():
                yield {"metric": metric, "setting": setting, "target": target, "value": number}
            for group, share, before in zip(names, mixed, r, strict=True):
                place = {"setting": setting, "part": group, "target": target}
                yield place | {"metric": "group_share", "value": share}
                yield place | {"metric": "group_gain", "value": share / before}
        test = {
            "excess_disclosivity": shown - disclosed,
            "excess_imbalance": floors["test"] - floors["train"],
        }
        if trees:
            test |= {"bound_disclosivity": value + 0.4, "bound_imbalance": start + 0.3}
        for metric, number in test.items():
            yield {"metric": metric, "setting": setting, "target": "test", "value": number}
        if repeat == 0:
            yield from _leaves(names, r, U, setting, strength, method)
        if value in (0.0, 0.1, 0.2, 0.4):
            yield from _classifier(names, setting, strength, rng)
    yield from _classifier(names, "everyone", 0.0, rng)


def _leaves(names, r, U, setting, strength, method):
    count = LEAVES if strength and _option(method) == "alpha" else 1
    for leaf in range(count):
        share = r + strength * (U - r) * (leaf / max(count - 1, 1))
        for target in ("train", "test"):
            place = {"target": target, "setting": setting, "part": str(leaf)}
            for group, value in zip(names, share, strict=True):
                yield place | {"metric": "leaf_share", "variable": group, "value": value}
            yield place | {"metric": "leaf_mass", "value": 1 / count}
            yield place | {"metric": "leaf_acceptance", "value": (leaf + 1) / count}


def _classifier(names, setting, strength, rng):
    place = {"target": "test", "setting": setting, "rows": 15000}
    accuracy = 0.85 - 0.05 * strength + rng.normal(0, 5e-4)
    yield place | {
        "metric": "accuracy",
        "setting": setting,
        "value": accuracy,
        "standard_error": 0.003,
    }
    yield place | {"metric": "accuracy_worst", "setting": setting, "value": accuracy - 0.05}
    yield place | {"metric": "rows_accepted", "setting": setting, "value": 15000 * (1.1 - strength)}
    for place_of, group in enumerate(names):
        yield place | {
            "metric": "accuracy_group",
            "part": group,
            "value": accuracy - 0.05 + 0.005 * place_of,
        }


def _of_selector(selector, repeat, hulls):
    if SELECTORS[selector] != "split_tree":
        for metric, value in (
            ("leaves", 5.0),
            ("distance", 0.4),
            ("disclosivity", 0.6),
            ("attribute_accuracy", 0.86),
            ("attribute_majority", 0.855),
        ):
            yield {"metric": metric, "value": value}
        return
    yield {"metric": "lemma3_case", "value": 1.05}
    hull = next(hull for name, hull in hulls.items() if name.partition("-")[2] == selector)
    for alpha in ALPHAS:
        place = {"setting": f"alpha={alpha:g}"}
        for metric, value in (
            ("leaves", 1.0 + round(6 * alpha)),
            ("height", float(round(4 * alpha))),
            ("splits", float(round(6 * alpha))),
            ("distance", hull[repeat, f"alpha={alpha:g}"]),
            ("disclosivity", 0.98 * alpha),
            ("disclosivity_nodes", 0.98 * alpha),
            ("split_shrink", 0.85),
            ("reached", 0.0),
            ("lemma3_splits", 1.0),
            ("lemma3_shrink", 0.8),
            ("beyond_budget", 0.005),
        ):
            yield place | {"metric": metric, "value": value}


def _of_weighting(weighting, repeat, hulls):
    selector = weighting.partition("-")[2]
    trees = SELECTORS[selector] == "split_tree"
    for _, setting, strength in _settings("alpha" if trees else "eta"):
        distance = hulls[weighting][repeat, setting]
        for metric, value in (
            ("acceptance_rate", 1 - 0.9 * strength),
            ("distance", distance),
            ("imbalance_expected", distance),
            ("hull_gap", 1e-12),
            ("disclosivity_expected", strength),
        ):
            yield {"metric": metric, "setting": setting, "value": value}


def files(folder, name, rows=1500, seed=5, selector="alpha_beta"):
    """Write a fitted proxy and the features of a study, which the figure of a tree reads."""
    rng = np.random.default_rng(seed)
    names, r, sizes = base_of(name)
    if len(sizes) > 1:
        raise ValueError("made for one class of groups")
    group = np.array(names, dtype=object)[rng.choice(len(names), rows, p=r)]
    Z = memberships([group], [names])
    X = rng.standard_normal((rows, 3)) + Z @ rng.standard_normal((len(names), 3))
    X = np.column_stack([X, rng.random(rows) < 0.4]).astype(float)
    proxy = SplitTreeProxy(alphas=[0.0, 0.2, 1.0]).fit(X, Z, classes=sizes, rng=rng)
    columns = ("age", "hours_per_week", "years_of_education", "marital_status=Never-married")
    write_table(
        folder / "features.parquet",
        {"row": np.arange(rows, dtype="int32"), **dict(zip(columns, X.T, strict=True))},
    )
    write_table(
        folder / "selection" / f"{selector}.model.parquet",
        model_table(proxy.to_arrays(), 0, "").to_pandas(),
    )
    return proxy


def at(metric, values, setting="", target="", **keys):
    return [
        {
            "metric": metric,
            "setting": setting,
            "repeat": repeat,
            "value": value,
            "target": target,
            **keys,
        }
        for repeat, value in enumerate(values)
    ]


def measured(**sources):
    return pd.concat(
        [metrics_table("s", name, records).to_pandas() for name, records in sources.items()],
        ignore_index=True,
    )


def settings_of(name="adult_filter", methods=("alpha_beta",), given=None, target=None, **changes):
    settings = study(name, **changes)
    settings["methods"] = [one for one in settings["methods"] if one["id"] in methods]
    settings["filter"] |= {"given": given, "target": target}
    return settings


def renamed(settings, metrics, methods, groups):
    """The same study with other ids of methods and other groups, by dicts of both."""
    settings = copy.deepcopy(settings)
    for one in settings["methods"]:
        one |= {"id": methods[one["id"]], "label": methods[one["label"]]}
    for key in ("main", "baseline"):
        settings[key] = methods[settings[key]]
    facts = settings["filter"]
    facts["swept"] = {methods[name]: option for name, option in facts["swept"].items()}
    if facts["given"]:
        facts["given"] = facts["given"] | {"method": methods[facts["given"]["method"]]}
    if facts["target"]:
        facts["target"] = {groups[name]: share for name, share in facts["target"].items()}
    of_methods = metrics["target"] != ""  # proxies may have the name of a method
    source = metrics["source"].where(~of_methods, metrics["source"].replace(methods))
    named = {column: metrics[column].replace(groups) for column in ("part", "variable")}
    return settings, metrics.assign(source=source, **named)


def small():
    """Two groups, one method, two repeats, alpha 0 and 0.2, all numbers written down."""
    labels = []
    for target in ("train", "test"):
        labels += at("starting_imbalance", [0.5, 0.5], target=target)
        labels += at("group_share", [0.8, 0.8], "", target, part="a")
        labels += at("group_share", [0.2] * 2, "", target, part="b")
    mine = []
    for target, imbalance, disclosed in (
        ("train", [0.2, 0.3], [0.2, 0.2]),
        ("test", [0.3, 0.4], [0.22, 0.24]),
    ):
        for setting, values, shown in (
            ("alpha=0", [0.5, 0.5], [0.0, 0.0]),
            ("alpha=0.2", imbalance, disclosed),
        ):
            mine += at("imbalance", values, setting, target) + at(
                "disclosivity", shown, setting, target
            )
            mine += at("acceptance_rate", [0.4, 0.6], setting, target)
            mine += at("collected", [400, 600], setting, target) + at(
                "leaves", [3, 4], setting, target
            )
        mine += at("floor", [0.5, 0.5], "alpha=0", target)
        mine += at("floor", [0.25, 0.25], "alpha=0.2", target)
        for group, share in (("a", 0.6), ("b", 0.4)):
            mine += at("group_share", [share] * 2, "alpha=0.2", target, part=group)
            mine += at(
                "group_gain",
                [share / (0.8 if group == "a" else 0.2)] * 2,
                "alpha=0.2",
                target,
                part=group,
            )
    mine += at("bound_disclosivity", [1.2, 1.3], "alpha=0.2", "test")
    mine += at("bound_imbalance", [2.0, 2.2], "alpha=0.2", "test")
    mine += at("excess_disclosivity", [0.02, 0.04], "alpha=0.2", "test")
    mine += at("excess_imbalance", [0.1, 0.1], "alpha=0.2", "test")
    for setting, accuracy in (("everyone", 0.85), ("alpha=0.2", 0.84)):
        mine += at("accuracy", [accuracy] * 2, setting, "test")
        mine += at("accuracy_worst", [accuracy - 0.1] * 2, setting, "test")
        mine += at("accuracy_group", [accuracy - 0.1] * 2, setting, "test", part="b")
        mine += at("accuracy_group", [accuracy] * 2, setting, "test", part="a")
        mine += at("rows_accepted", [500.0] * 2, setting, "train")
    return measured(labels=labels, alpha_beta=mine)
