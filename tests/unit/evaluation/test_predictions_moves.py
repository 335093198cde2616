"""Decisions that a model moved, against those of the model it began from."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import accuracy
from counterweight.evaluation.predictions import describe_moves, evaluate_predictions


def predictions(*p, settings=("",), targets=("unlabeled",), first=0):
    """One block for each p, of rows from `first`: all of repeat 0."""
    size = [len(values) for values in p]
    at = np.repeat(np.arange(len(p)), size)
    return {
        "repeat": np.zeros(sum(size), "int16"),
        "row": np.concatenate([first + np.arange(n) for n in size]).astype("int32"),
        "p": np.concatenate(p),
        "target": (at % len(targets), list(targets)),
        "setting": (at // len(targets), list(settings)),
    }


def truth(y):
    y = np.asarray(y)
    return {
        "repeat": np.zeros(len(y), "int16"),
        "row": np.arange(len(y), dtype="int32"),
        "y_unlabeled": y,
        "y_general": 1 - y,
    }


@pytest.mark.parametrize(
    ("y", "net"), [([1, 1, 1, 0, 0], 1.0), ([0, 0, 1, 0, 0], -1.0), ([1, 0, 1, 0, 0], 0.0)]
)
def test_moved_decisions_are_right_after_minus_right_before(y, net):
    before = predictions(np.array([0.2, 0.1, 0.9, 0.3, 0.4]))
    after = predictions(np.array([0.7, 0.5, 0.8, 0.4, 0.1]))  # the first two moved to yes
    (record,) = describe_moves(after, before, truth(y), "unlabeled")
    assert record["metric"] == "moved_right"
    assert (record["value"], record["rows"]) == (net, 2)


def test_the_net_gain_times_the_share_moved_is_the_gain_of_accuracy():
    rng = np.random.default_rng(3)
    y, old, new = rng.integers(0, 2, 500), rng.random(500), rng.random(500)
    before, after, known = predictions(old), predictions(new), truth(y)
    (record,) = describe_moves(after, before, known, "unlabeled")
    gained = [
        next(
            r["value"]
            for r in evaluate_predictions(p, known, {"a": accuracy})
            if r["metric"] == "a"
        )
        for p in (after, before)
    ]
    share = record["rows"] / 500
    assert record["value"] * share == pytest.approx(gained[0] - gained[1], abs=1e-12)


def test_each_setting_is_told_by_itself_and_other_targets_are_not():
    p = np.array([0.2, 0.8])
    after = predictions(p, p, 1 - p, p, settings=("a=1", "a=2"), targets=("general", "unlabeled"))
    before = predictions(p, 1 - p, targets=("general", "unlabeled"))
    found = describe_moves(after, before, truth([0, 1]), "unlabeled")
    assert [(r["setting"], r["value"]) for r in found] == [("a=1", 1.0), ("a=2", 1.0)]
    assert {r["target"] for r in found} == {"unlabeled"}


def test_nothing_is_told_where_nothing_moved():
    p = predictions(np.array([0.2, 0.8]))
    assert describe_moves(p, p, truth([0, 1]), "unlabeled") == []


def test_predictions_of_other_rows_are_refused():
    p = np.array([0.2, 0.8])
    with pytest.raises(CounterweightError, match="begun from"):
        describe_moves(predictions(p), predictions(p, first=5), truth([0, 1]), "unlabeled")
