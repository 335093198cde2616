"""Learners of rows by name: estimates by hand, and what is stored of them says all."""

import numpy as np
import pytest
from counterweight.models.subsampling.learners import (
    Averaged,
    ConstantModel,
    StochasticGradient,
    Tree,
    _cuts,
    log_odds_of,
    new_learner,
    stored_learner,
)
from scipy.special import logit

NAMES = ("sgd", "logistic", "boosting", "tree")
RNG = np.random.default_rng(4)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)


def fitted(name, weight=None, seed=0):
    return new_learner(name).fit(X, Y, weight, np.random.default_rng(seed))


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_is_what_is_stored_of_it(name):
    one = fitted(name)
    again = stored_learner(name, one.numbers())
    np.testing.assert_array_equal(again.score(X), one.score(X))
    np.testing.assert_allclose(again.margin(X), one.margin(X))
    both = Averaged([one, fitted(name, seed=1)])
    stored = stored_learner(name, both.numbers())
    np.testing.assert_array_equal(stored.score(X), both.score(X))
    assert len(stored.members) == 2 and stored.converged_ is all([one.converged_])


def test_an_average_is_that_of_its_members_on_each_scale():
    members = [fitted("sgd", seed) for seed in (None, np.linspace(0.5, 2, 300))]
    both = Averaged(members)
    for name in ("score", "margin", "out_of_range"):
        one, other = (getattr(member, name)(X) for member in members)
        np.testing.assert_allclose(getattr(both, name)(X), (one + other) / 2)
    members[1].converged_ = False
    assert not both.converged_


def test_leaves_of_a_tree_have_smoothed_shares():
    """One column of two values: leaves of 3 ones and 1 zero, and of 1 one and 4 zeros."""
    rows, y = np.repeat([0.0, 1.0], [4, 5])[:, None], np.array([1, 1, 1, 0, 1, 0, 0, 0, 0])
    tree = Tree().fit(rows, y, None, np.random.default_rng(0))
    assert tree.score([[0.0], [1.0]]) == pytest.approx([4 / 6, 2 / 7])
    assert tree.score([[0.0], [1.0]], over_sampling=3.0) == pytest.approx([4 / 8, 2 / 15])
    # On the threshold a row goes to the left.
    assert tree.score([[0.5], [0.5 + 1e-6]]) == pytest.approx([4 / 6, 2 / 7])
    weighted = Tree().fit(rows, y, np.full(9, 2.0), np.random.default_rng(0))
    assert weighted.score([[0.0], [1.0]]) == pytest.approx([7 / 10, 3 / 12])
    for label in (0, 1):
        alone = Tree().fit(rows, np.full(9, label), None, np.random.default_rng(0))
        assert alone.score(rows) == pytest.approx(np.full(9, (9 * label + 1) / 11))
    # Leaves have two rows or more unless told otherwise.
    single = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 0, 1])
    assert (
        len(np.unique(Tree(1).fit(*single, None, np.random.default_rng(0)).score(single[0]))) == 2
    )
    pair = Tree(2).fit(*single, None, np.random.default_rng(0)).score(single[0])
    assert pair[5] == pytest.approx(2 / 4)


def test_rows_of_one_class_have_their_smoothed_share():
    assert ConstantModel(np.ones(3), np.ones(3)).score(np.zeros((2, 1))).tolist() == [0.8, 0.8]
    model = ConstantModel(np.array([0.0, 0.0]), np.array([4.0, 4.0]))
    assert model.constant_ == 0.1 and not model.converged_ and model.out_of_range(X) == 0
    assert model.margin(X)[0] == pytest.approx(logit(0.1))
    assert stored_learner("tree", model.numbers()).constant_ == 0.1


def test_log_odds_end_before_0_and_1():
    assert log_odds_of([0.0, 0.25, 1.0]) == pytest.approx([logit(1e-9), logit(0.25), -logit(1e-9)])


def test_the_descent_is_near_least_squares_and_counts_what_leaves_the_range():
    model = fitted("sgd")
    design = np.column_stack([X, np.ones(300)])
    best = np.linalg.lstsq(design, Y, rcond=None)[0]
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], best, atol=0.1)
    raw = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.raw(X), raw)
    assert model.out_of_range(X) == ((raw < 0) | (raw > 1)).mean() > 0
    np.testing.assert_array_equal(model.score(X), np.clip(raw, 0, 1))
    ends = StochasticGradient().use({"coef": [1.0], "intercept": 0.0})
    assert ends.out_of_range(np.array([[0.0], [1.0]])) == 0 and ends.converged_
    assert ends.out_of_range(np.array([[-0.1], [1.1], [0.5], [0.6]])) == 0.5


def test_shifts_and_units_of_columns_do_not_move_the_descent():
    one = fitted("sgd").score(X)
    moved = StochasticGradient().fit(1000 * X + 7, Y, None, np.random.default_rng(0))
    np.testing.assert_allclose(moved.score(1000 * X + 7), one, atol=1e-9)
    # A constant column has no say.
    wide = np.column_stack([X, np.full(300, 3.0)])
    model = StochasticGradient().fit(wide, Y, None, np.random.default_rng(0))
    assert model.coef_[3] == 0


def test_weights_that_overshoot_are_told():
    model = StochasticGradient().fit(X, Y, np.full(300, 1e300), np.random.default_rng(0))
    assert not model.converged_ and np.isfinite(model.raw(X)).all()


def test_bins_lie_between_few_values_and_at_quantiles_of_many():
    assert _cuts(np.array([3.0, 1.0, 1.0, 2.0])).tolist() == [1.5, 2.5]
    assert len(_cuts(np.arange(255.0))) == 254 and _cuts(np.arange(255.0))[0] == 0.5
    many = np.arange(1021.0)
    assert _cuts(many) == pytest.approx(np.arange(1, 255) * 4.0)
    assert len(_cuts(np.zeros(9))) == 0
