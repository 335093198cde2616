"""Every classifier that a study saves can be loaded, and predicts as before."""

import numpy as np
import pytest
from counterweight.models import MODELS
from counterweight.models.training import settings, train_repeat
from counterweight.numerics.rates.datasets import DataSets
from counterweight.plan.components import load, task_of
from counterweight.tables.parquet import model_arrays, model_table
from counterweight.tables.study_data import StudyData
from study_parts import stored_model

ROWS = 400
#: Options of each classifier, several where they change what is fitted.
CASES = {
    "logistic": [{}],
    "costing": [{"models": 3}, {"classifier": {"model": "gradient_boosting", "max_iter": 4}}],
    "map_adapted": [{}, {"penalty": 0.01}],
    "bickel_joint": [{"loss": "logistic"}, {"loss": "exponential"}],
    "gradient_boosting": [{"max_iter": 20}, {"max_leaf_nodes": 2, "max_iter": 3}],
    "generative": [{"components": 2, "n_init": 2}],
    "shifted_mixture": [{"iterations": 2}, {"iterations": 2, "start": "labeled", "prior_rows": 50}],
    "two_sources": [{"components": 1, "n_init": 1, "max_iter": 5}],
    "tilted": [
        {},
        {
            "classifier": {"model": "generative", "components": 2, "n_init": 2},
            "delta": {"by": "fixed", "value": 0.5, "slopes": {"b": -0.2}},
            "folds": 3,
        },
    ],
    "subsampled": [
        {"learner": learner, "correction": correction, "keep_rate": 0.5}
        for learner in ("sgd", "logistic", "boosting", "tree")
        for correction in ("spline", "prior")
    ]
    + [{"keep_rate": "balanced", "correction": "weights"}],
    "budgeted": [
        {"learner": "tree", "budget": 150, "share": "progressive", "folds": 2},
        {"learner": "tree", "correction": "odds", "share": 0.5, "budget": 100},
        {"learner": "boosting", "share": "natural", "budget": 200},
        {"learner": "logistic", "share": 0.4, "budget": 100},
    ],
    "constrained": [
        {"constraints": ["coverage(men) <= coverage(women) / kappa"], "kappa": 0.9, "steps": 2},
        {"loss": "hinge", "steps": 1},
        {"features": "fourier", "feature_count": 20, "linear_part": True, "steps": 2},
        {"features": "fourier", "feature_count": 20, "steps": 2, "standardise": False},
    ],
    "retrained": [
        {"batches": ["men", "women"], "constraints": ["churn(everyone) <= 0.1"], "steps": 2}
    ],
    "chosen": [
        {"constraints": ["coverage(men) <= coverage(women) / kappa"], "kappa": 0.9, "folds": 2},
        {
            "constraints": ["coverage(men) <= coverage(women) / kappa"],
            "kappa": 0.9,
            "folds": 2,
            "candidates": [
                {"model": "constrained", "loss": "hinge", "penalty": 0.01},
                {"model": "gradient_boosting", "max_iter": 4},
            ],
        },
    ],
    "covariance_constraint": [{"c": 0.05, "groups": ["men", "women"]}],
    "group_thresholds": [
        {"groups": ["men", "women"], "kappa": 0.9},
        {"groups": ["men", "women"], "features": "fourier", "feature_count": 15},
    ],
    "shifted_threshold": [{"constraint": "coverage(everyone) <= 0.2"}],
    "stabilised_svm": [{"constraint": "coverage(everyone) <= 0.6"}, {"anchor": 0.9}],
    "neyman_pearson": [{"target": 0.1}],
    "given_scores": [{"constraints": ["coverage(men) <= coverage(women) / kappa"], "kappa": 0.9}],
    "reductions": [
        {"constraints": ["coverage(men) <= coverage(women) / kappa"], "kappa": 0.9, "fits": 6},
        {
            "constraints": ["coverage(everyone) <= 0.3", "recall(men) >= 0.2"],
            "classifier": {"model": "gradient_boosting", "max_iter": 4},
            "fits": 5,
        },
    ],
    "exponentiated_gradient": [{"groups": ["men", "women"], "max_iter": 5}],
    "threshold_optimizer": [{"groups": ["men", "women"], "grid_size": 50}],
}
SWEPT = {
    "constrained": [{"kappa": [0.8, 1.0]}, {"feature_count": [10, 20]}, {"kappa": [0.8, 1.0]}],
    "retrained": [{"after": [1, 2]}],
    "chosen": [{"kappa": [0.8, 1.0]}],
    "covariance_constraint": [{"c": [0.0, 0.1]}],
    "group_thresholds": [{"kappa": [0.8, 1.0]}],
    "given_scores": [{"kappa": [0.8, 1.0]}],
    "shifted_threshold": [{"constraint": ["coverage(men) <= 0.3", "coverage(men) >= 0.4"]}],
    "stabilised_svm": [{"anchor": [0.2, 0.8]}],
    "neyman_pearson": [{"target": [0.1, 0.3]}],
    "reductions": [{"kappa": [0.8, 1.0]}],
    "exponentiated_gradient": [{"ratio": [0.8, 1.0]}],
    "threshold_optimizer": [{"rate": ["demographic_parity", "equal_opportunity"]}],
}
SWEPT_OPTIONS = {
    "constrained": [
        {"constraints": ["coverage(men) <= coverage(women) / kappa"], "steps": 2},
        {"features": "fourier", "steps": 1},
        {
            "constraints": ["coverage(men) <= coverage(women) / kappa"],
            "features": "fourier",
            "feature_count": 10,
            "linear_part": True,
            "steps": 1,
        },
    ]
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2))
    men = rng.random(ROWS) < 0.5
    y = (x[:, 0] + 0.5 * men + rng.normal(size=ROWS) > 0).astype(float)
    test = rng.random(ROWS) < 0.3
    selected = rng.random(ROWS) < 0.8
    role = np.select([test, selected], ["test", "labeled"], "unlabeled").astype(object)
    row = np.arange(ROWS)
    labels = {"repeat": np.zeros(ROWS, "int16"), "row": row, "role": role}
    labels |= {"selected": selected.astype("int8")}
    labels |= {f"y_{of}": np.where(selected & ~test, y, np.nan) for of in ("general", "unlabeled")}
    labels |= {"in_men": men, "in_women": ~men, "deployed": 0.3 * x[:, 1]}
    return StudyData({"row": row, "a": x[:, 0], "b": x[:, 1], "m": men * 1.0}, labels)


def trained(data, method, starts=None):
    fitted, predictions = train_repeat(
        data, method, 0, ["general"], seed=1, study="s", starts=starts
    )
    ((target, arrays),) = fitted
    # As it stands in the file of the study.
    table = model_table(arrays, 0, target)
    return model_arrays({name: table[name].to_numpy() for name in table.column_names}), predictions


def proba(data, model):
    X = data.X[data.test(0, "general")]
    if getattr(model, "ESTIMATES", False):
        # What decides by thresholds of its chances is kept as its decisions.
        yes = model.predict(X, samples=DataSets(**data.sampled(0, "general", test=True)))
        return np.column_stack([1.0 - yes, yes])
    if getattr(model, "GROUPED", False):
        return model.predict_proba(X, samples=DataSets(**data.sampled(0, "general", test=True)))
    asked = {"target": "general"} if getattr(model, "TARGETED", False) else {}
    return model.predict_proba(X, **asked)


def classifiers():
    # One of them asks hidden labels, which no study gives away.
    names = [name for name in MODELS if name != "selection_aware"]
    kinds = {name: task_of("model", name) for name in names}
    return [name for name, kind in kinds.items() if kind == "classification"]


def test_every_classifier_of_the_registry_is_tried():
    assert set(classifiers()) == set(CASES)
    swept = {name for name in CASES if hasattr(load("model", name), "SAMPLED")}
    assert swept == set(SWEPT)


@pytest.mark.parametrize("name, options", [(n, o) for n in CASES for o in CASES[n]])
def test_a_saved_classifier_predicts_as_before(data, name, options):
    if name.endswith(("gradient", "optimizer")):
        pytest.importorskip("fairlearn")
    starts = None
    if name == "shifted_mixture":
        plain = {"model": "generative", "options": CASES["generative"][0], "sweep": None}
        arrays, _ = trained(data, plain)
        starts = {start: {(0, "general"): arrays} for start in ("labeled", "unlabeled")}
    method = {"model": name, "options": options, "sweep": None}
    arrays, (predictions,) = trained(data, method, starts)
    model = stored_model(method, arrays)
    p = proba(data, model)
    np.testing.assert_array_equal(p[:, 1], predictions["p"].to_numpy())


@pytest.mark.parametrize("name, at", [(n, at) for n in SWEPT for at in range(len(SWEPT[n]))])
def test_every_point_of_a_sweep_loads(data, name, at):
    if name.endswith(("gradient", "optimizer")):
        pytest.importorskip("fairlearn")
    options = SWEPT_OPTIONS.get(name, [CASES[name][0]])[at]
    options = {key: value for key, value in options.items() if key not in SWEPT[name][at]}
    method = {"model": name, "options": options, "sweep": SWEPT[name][at]}
    arrays, predictions = trained(data, method)
    assert len(predictions) == len(settings(method["sweep"])) == 2
    for table in predictions:
        model = stored_model(method, arrays, table["setting"][0].as_py())
        np.testing.assert_array_equal(proba(data, model)[:, 1], table["p"].to_numpy())
