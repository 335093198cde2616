"""A small study of a filter: people, a fitted proxy, its acceptance, and the saved filter."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from counterweight.delivery.final_filters import describe_held_out, saved_filter
from counterweight.labeling.recipes import as_is, one_hot
from counterweight.numerics.coins import key_of_seed
from counterweight.numerics.groups import leaf_table, memberships
from counterweight.selection.group_proxies import RegressionProxy, TreeProxy
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.weighting.acceptance import quadratic_acceptance

RECIPE = {
    "name": "one_hot",
    "options": {"drop": ["group", "person"], "max_categories": 3, "noise": 0.0},
}
GROUPS = ["blue", "green", "red"]
SEED = 3


def people(n=1500, seed=0):
    """A prepared table: a number with holes, a rare category, a missing one, a flat column."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    age = rng.normal(40 + 5 * group, 8).round()
    town = rng.choice(list("ABCDE"), n, p=[0.4, 0.3, 0.2, 0.07, 0.03])
    home = np.where(rng.random(n) < 0.2 + 0.3 * group, "own", "rent")
    frame = pd.DataFrame({"row": np.arange(n, dtype="int32"), "age": age, "town": town})
    frame["income"] = rng.lognormal(3 + group / 3, 0.5, n)
    frame["home"] = pd.Series(home, dtype="str").mask(rng.random(n) < 0.05)
    frame["age"] = frame["age"].mask(rng.random(n) < 0.1)
    frame["flat"] = 1.0
    frame["group"] = np.array(GROUPS)[group]
    frame["person"] = [f"p{at}" for at in range(n)]
    return frame


def study(proxy, setting, recipe=None, frame=None):
    """The tables of a study of one repeat, with a filter fitted on its training rows."""
    frame = people() if frame is None else frame
    recipe = recipe or RECIPE
    make = {"one_hot": one_hot, "as_is": as_is}[recipe["name"]]
    features = make(frame, np.random.default_rng(0), **recipe["options"])
    X, test = features.drop(columns="row").to_numpy(), np.arange(len(frame)) % 3 == 0
    Z = memberships([frame["group"]], [GROUPS])
    proxy.fit(X[~test], Z[~test], classes=[3], rng=np.random.default_rng(0))
    eta = [float(setting[4:])] if setting.startswith("eta=") else ()
    for name, member in proxy.leaves(X[~test]):
        if name in ("", setting):
            (weighed,) = quadratic_acceptance(
                *leaf_table(member, Z[~test]), np.full(3, 1 / 3), etas=eta
            )
    rho = weighed.rho
    return SimpleNamespace(
        frame=frame,
        X=X,
        Z=Z,
        test=test,
        proxy=proxy,
        weighed=weighed,
        setting=setting,
        parts=dict(
            frame=frame,
            features={name: features[name].to_numpy() for name in features},
            labels={
                "repeat": np.zeros(len(frame), int),
                "row": frame["row"].to_numpy(),
                "role": np.where(test, "test", "train").astype(object),
                "group_group": np.where(test, None, frame["group"].to_numpy(object)),
            },
            arrays=proxy.to_arrays(),
            weights={
                "repeat": np.zeros(len(rho), int),
                "acceptance": rho,
                "setting": np.full(len(rho), setting, object),
                "leaf": np.arange(len(rho)),
            },
            metrics={
                "repeat": np.zeros(1, int),
                "metric": np.array(["imbalance"], object),
                "target": np.array(["test"], object),
                "setting": np.array([setting], object),
                "part": np.array([""], object),
                "value": np.array([0.123]),
            },
            selector={
                RegressionProxy: "regression_proxy",
                TreeProxy: "tree_proxy",
                SplitTreeProxy: "split_tree",
            }[type(proxy)],
            recipe=recipe,
            outcome=None,
            target=None,
            facts={
                "study": "towns",
                "title": "Towns",
                "method": "m",
                "setting": setting,
                "repeat": 0,
                "id": "person",
                "key": key_of_seed(SEED).digest,
            },
        ),
    )


CASES = {
    "tree": (TreeProxy, {"max_depth": 4}, "eta=0"),
    "noise": (RegressionProxy, {}, "eta=0.3"),
    "split": (
        SplitTreeProxy,
        {"alphas": [0.0, 0.1, 0.3], "min_weight_fraction_leaf": 0.05},
        "alpha=0.3",
    ),
    "trees": (
        SplitTreeProxy,
        {"alphas": [0.0, 0.3], "min_weight_fraction_leaf": 0.05, "hypotheses": "trees"},
        "alpha=0.3",
    ),
    "stump": (SplitTreeProxy, {"alphas": [0.0, 0.1], "min_weight_fraction_leaf": 0.05}, "alpha=0"),
}


def case(name, folder):
    """The study of a case, with its filter saved in a folder."""
    kind, given, setting = CASES[name]
    found = study(kind(**given), setting)
    found.saved = saved_filter(**found.parts)
    held = found.frame[found.test].reset_index(drop=True)
    describe_held_out(found.saved, held, found.Z[found.test], np.random.default_rng(1), 0.95)
    found.path = folder / "filter.parquet"
    found.saved.save(found.path)
    return found
