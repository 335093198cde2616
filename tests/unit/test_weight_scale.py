"""Weights of a fit mean the same on any scale: every model of the registry that takes them."""

import inspect

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import TabularEncoder
from counterweight.plan import components

N = 240
#: Quick settings, and options without a default.
OPTIONS = {
    "generative": {"components": 6, "n_init": 2},
    "constrained": {"steps": 2, "constraints": ["coverage(everyone) <= 0.4"]},
    "retrained": {"steps": 2, "batches": ["left", "right"]},
    "covariance_constraint": {"groups": ["left", "right"], "c": 0.1},
    "group_thresholds": {"groups": ["left", "right"]},
    "shifted_threshold": {"constraint": "coverage(everyone) <= 0.4"},
    "neyman_pearson": {"target": 0.2},
    "reductions": {"fits": 6, "constraints": ["coverage(everyone) <= 0.4"]},
    "exponentiated_gradient": {"groups": ["left", "right"]},
    "threshold_optimizer": {"groups": ["left", "right"]},
}
#: Weights are counts of rows there: a row of weight two is two rows, told of by its own tests.
COUNTING = ("predictive_choice",)
#: Those that refuse weights other than equal ones.
REFUSING = ("budgeted", "exponentiated_gradient", "threshold_optimizer")


def weighted(name):
    component = components.load("model", name)
    told = inspect.signature(component.fit).parameters if hasattr(component, "fit") else {}
    begins = components.declared("model", name, "STARTS")
    takes = {"sample_weight", "weight"} & {*told}
    return takes and not begins and name not in COUNTING


MODELS = [name for name in components.registry("model") if weighted(name)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
    return X, y, np.exp(rng.normal(size=N))


def predictions(name, X, y, weight):
    """Predictions for the rows of a fit with these weights."""
    component, rng = components.load("model", name), np.random.default_rng(1)
    kind = components.task_of("model", name)
    model = component(**OPTIONS.get(name, {}))
    if kind == "missing_outcomes":
        frame = pd.DataFrame({"row": np.arange(N), "a": X[:, 0], "b": X[:, 1]})
        encoded = TabularEncoder(max_levels=50).fit(
            frame, ["a", "b"], {"a": "number", "b": "number"}
        )
        encoded = encoded.encode(frame)
        return model.fit(encoded, y.astype(float), weight, rng=rng).predict(encoded)
    if hasattr(component, "SAMPLED"):
        sides = {"left": X[:, 1] < 0, "right": X[:, 1] >= 0}
        told = {"members": sides, "deployed": X[:, 1]}
        samples = component.SAMPLED(X=X, y=y, weight=weight, **told)
        grouped = {"samples": samples} if getattr(component, "GROUPED", False) else {}
        return model.fit(samples=samples, rng=rng).predict_proba(X, **grouped)[:, 1]
    extra = {"X_unlabeled": X[::-1] + 0.3} if getattr(component, "UNLABELED", False) else {}
    return model.fit(X, y, weight, rng=rng, **extra).predict_proba(X)[:, 1]


@pytest.mark.parametrize("name", MODELS)
def test_predictions_do_not_depend_on_the_scale_of_weights(name, rows):
    X, y, weight = rows
    if name in REFUSING:
        with pytest.raises(CounterweightError, match="takes no (sample )?weights"):
            predictions(name, X, y, weight)
        return
    first = predictions(name, X, y, weight)
    assert np.ptp(first) > 0
    for scale in (0.3, 7.0):
        again = predictions(name, X, y, scale * weight)
        np.testing.assert_allclose(again, first, rtol=0, atol=1e-8)
