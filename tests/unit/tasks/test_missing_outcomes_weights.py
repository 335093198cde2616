"""A table of one's own with any weighting: chosen by one key, computed, learned with, saved."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.tables.parquet import read_columns
from delivering import delivered, people

#: What a weighting needs to be told beside its name.
TOLD = {"rosset": {"features": ["age"], "moments": "squares"}, "heckman": {"exclusion": "age"}}
WEIGHTINGS = [
    name
    for name in components.registry("weighting")
    if components.task_of("weighting", name) == "classification"
]
SMALL = {
    "models": [{"model": "logistic"}, {"model": "logistic", "weights": "chosen"}],
    "selection": [{"selector": "logistic"}],
}


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_each_weighting_gives_weights_of_mean_one(name, tmp_path):
    entry = {"weights": {"weighting": name, "name": "chosen"} | TOLD.get(name, {})}
    own, _ = delivered(tmp_path, people(400, 3), target="unlabeled", study=SMALL, **entry)
    (identity,) = own.study["weightings"]
    spec = own.study["weightings"][identity]
    if "target" in spec["options"]:
        assert spec["target"] == "unlabeled"
    weights = read_columns(own.at.weights(identity))["weight"]
    assert (weights >= 0).all() and weights.std() > 0
    assert weights.mean() == pytest.approx(1)


def test_by_name_alone(tmp_path):
    own, _ = delivered(
        tmp_path,
        people(400, 4),
        weights="kernel_mean_matching",
        study={"models": [{"model": "logistic", "weights": "kernel_mean_matching"}]},
    )
    weights = read_columns(own.at.weights("kernel_mean_matching"))["weight"]
    assert np.ptp(weights) > 0


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"weights": "kernel_matching"}, "There is no weighting 'kernel_matching'; choose one of"),
        (
            {"weights": "bickel", "target": {"margins": {"age": {"mean": 40}}}},
            "weights cannot be combined with a target of its own",
        ),
        ({"weights": {"weighting": "bickel", "l22": 1}}, "did you mean 'l2'"),
    ],
)
def test_what_cannot_be_is_told(entry, sentence, tmp_path):
    with pytest.raises(CounterweightError, match=sentence):
        delivered(tmp_path, people(100, 5), **entry)
