"""What proxies share: the table of leaves, names of settings, what brings a target near."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import geometry
from counterweight.plan.components import options
from counterweight.selection.group_proxies import (
    Proxy,
    leaf_columns,
    leaf_tables,
    reach_sentence,
    setting_of,
)


def draw(seed, leaves, groups, spread=0.5):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.full(groups, spread), leaves)
    return rng.dirichlet(np.ones(leaves)), A, rng


def test_leaf_tables_return_what_leaf_columns_wrote():
    mass, A, _ = draw(4, 3, 5)
    one = leaf_columns(0, "alpha=0.1", mass, A, list("abcde"), ["race", "sex"], [3, 2])
    two = leaf_columns(0, "alpha=1", mass[:2], A[:2], list("abcde"), ["race", "sex"], [3, 2])
    first, second = leaf_tables({key: np.concatenate([one[key], two[key]]) for key in one})
    assert (first.setting, second.setting, len(second.mass)) == ("alpha=0.1", "alpha=1", 2)
    assert (first.groups, first.sizes) == (list("abcde"), [3, 2])
    np.testing.assert_array_equal(first.shares, A)
    np.testing.assert_array_equal(first.mass, mass)


def test_settings_of_noise_have_short_names():
    assert setting_of("eta", 0.1 + 0.2) == "eta=0.3"
    assert setting_of("alpha", 0.05) == "alpha=0.05"
    assert options("weighting", "quadratic")["etas"]["default"] == []


def test_it_is_said_how_far_the_target_is_and_which_setting_reaches_it():
    settings = ["alpha=0", "alpha=0.1", "alpha=0.2", "alpha=0.3"]
    told = reach_sentence(settings, [0.5, 0.2, 0.2, 0.0], [False, False, False, True])
    assert "0.500 from alpha=0, 0.200 from alpha=0.1; alpha=0.3 is the first" in told
    assert "no setting" in reach_sentence(settings[:2], [0.5, 0.2], [False, False])
    assert "0.500" in reach_sentence([""], [0.5], [0.0])
    far = reach_sentence(settings[:2], [0.5, 0.2], [False, False], 0.6543)
    assert far.endswith("no setting reaches it (no filter can whose alpha is below 0.654)")
    assert "below" not in reach_sentence(settings, [0.5, 0.2, 0.2, 0], [0, 0, 0, 1], 0.654)
    base, target = np.array([0.7, 0.2, 0.1]), np.full(3, 1 / 3)
    least = np.abs(base - target).max()
    assert geometry.imbalance_floor(base, target, least, [3]) < 1e-12
    assert geometry.imbalance_floor(base, target, least - 1e-3, [3]) > 1e-4
    assert reach_sentence([""], [0.0], [1.0]) == "the target is within reach"


class Halves(Proxy):
    settings_ = ("",)

    def __init__(self, cut=0.0, names=()):
        self.cut, self.names = cut, names

    def fit(self, X, y, *, classes=None, target=None, rng=None):
        options = {"cut": {"type": "number", "minimum": 0}, "names": {"type": "array"}}
        self.Z_, self.sizes_ = self._begin(X, y, classes, options)
        return self


def test_groups_may_be_labels_or_memberships():
    X, words = np.arange(8.0)[:, None], np.array(list("abcabcab"))
    labels = Halves().fit(X, words)
    told = Halves(names="any").fit(X, labels.Z_, classes=[3])
    np.testing.assert_array_equal(labels.Z_, np.array([list("abc")] * 8) == words[:, None])
    np.testing.assert_array_equal(told.Z_, labels.Z_)
    assert labels.sizes_ == told.sizes_ == [3] and labels.n_features_in_ == 1
    for given, said in (
        ((X, None), "requires y to be passed"),
        ((X[:1], words[:1]), "1 sample"),
        ((X[:7], words), "7 rows of features but 8 of groups"),
    ):
        with pytest.raises(CounterweightError, match=said):
            Halves().fit(*given)
    with pytest.raises(CounterweightError, match="cut must be a number at least 0, not -1"):
        Halves(cut=-1).fit(X, words)
    assert Halves().fit(X[:2], words[:2]).sizes_ == [2], "two rows are enough"
