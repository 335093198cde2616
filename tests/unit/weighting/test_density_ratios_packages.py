"""Ratios of other packages: what a missing one says; that what is there answers of each row."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.density_ratios import OPTIONS_BY_NAME, WAYS, peer_weights


def rows(seed=0, count=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    s = rng.random(count) < 1 / (1 + np.exp(-X[:, 0]))
    return SimpleNamespace(X_labeled=X[s], X_unlabeled=X[~s])


def test_every_way_can_be_asked_for():
    assert OPTIONS_BY_NAME["peer_ratio"]["by"]["enum"] == [*WAYS]


@pytest.mark.parametrize("by", WAYS)
def test_a_package_that_is_not_installed_is_told(by, monkeypatch):
    package = WAYS[by][0]
    for name in {package, package.partition(".")[0]}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CounterweightError, match=r"pip install 'counterweight\[peers\]'"):
        peer_weights(rows(), by=by)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 0.0])
def test_weights_that_are_none_are_refused(monkeypatch, weight):
    class Way:
        def __init__(self, **options):
            pass

        def fit_weights(self, source, target):
            return np.full(len(source), weight)

    monkeypatch.setitem(sys.modules, "adapt.instance_based", SimpleNamespace(ULSIF=Way))
    with pytest.raises(CounterweightError, match="not all finite"):
        peer_weights(rows(), by="adapt_ulsif")


def test_features_are_standardised_by_those_that_rows_stand_for(monkeypatch):
    seen = {}

    class Way:
        def __init__(self, **options):
            pass

        def fit_weights(self, source, target):
            seen.update(source=source, target=target)
            return np.arange(1.0, 1 + len(source))

    monkeypatch.setitem(sys.modules, "adapt.instance_based", SimpleNamespace(ULSIF=Way))
    given = rows()
    for target, size in (("general", 300), ("unlabeled", len(given.X_unlabeled))):
        weights = peer_weights(given, by="adapt_ulsif", target=target)
        assert weights.mean() == pytest.approx(1) and len(weights) == len(given.X_labeled)
        assert len(seen["target"]) == size
        assert seen["target"].mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
        assert seen["target"].std(axis=0) == pytest.approx([1, 1])


@pytest.mark.parametrize("by", ["skada_density", "skada_nearest", "skada_discriminator"])
@pytest.mark.skipif(importlib.util.find_spec("skada") is None, reason="skada is not installed")
def test_weights_of_skada_have_mean_one(by):
    weights = peer_weights(rows(), by=by)
    assert weights.mean() == pytest.approx(1) and (weights >= 0).all()
