"""Bounds that see everybody's group: exact balance, rows made up on segments, never given away."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.balanced_filter import EVERYONE, SeenGroupsClassifier, smote
from counterweight.numerics.groups import leaf_table
from counterweight.numerics.linear import fit_logistic
from counterweight.selection.group_proxies import OwnGroupProxy
from counterweight.weighting.acceptance import quadratic_acceptance


def rows(n=900, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(n, 3)) + group[:, None]
    y = (rng.random(n) < 0.2 + 0.2 * group).astype(float)
    return X, y, np.eye(3)[group]


def fitted(by, **options):
    X, y, Z = rows()
    proxy = OwnGroupProxy().fit(Z, Z, classes=[3])
    ((setting, member),) = proxy.leaves(Z)
    (made,) = quadratic_acceptance(*leaf_table(member, Z), np.full(3, 1 / 3))
    p = member @ made.rho
    chance = {EVERYONE: np.ones(len(X)), setting: p}
    coin = np.random.default_rng(1).random(len(X))
    accepted = {name: coin < one for name, one in chance.items()}
    model = SeenGroupsClassifier(by=by, **options)
    model.fit(X, y, accepted, chance=chance, Z=Z, rng=np.random.default_rng(2))
    return model, X, y, Z, p, accepted[setting]


def test_the_proxy_sorts_rows_into_their_groups_and_balances_exactly():
    _, _, Z = rows()
    proxy = OwnGroupProxy().fit(Z, Z, classes=[3], target=np.array([0.5, 0.5, 0.0]))
    again = OwnGroupProxy.from_arrays(proxy.to_arrays())
    ((_, member),) = again.leaves(Z)
    assert np.array_equal(member @ proxy.cells_, Z)
    assert proxy.describe()[1]["value"] == pytest.approx(0, abs=1e-9)


def test_combinations_that_training_rows_have_not_fall_into_no_leaf():
    Z = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]], float)
    proxy = OwnGroupProxy().fit(Z, Z, classes=[2, 2])
    ((_, member),) = proxy.leaves(np.array([[1, 0, 0, 1], [0, 1, 1, 0]], float))
    assert member.sum(axis=1).tolist() == [0, 1]


def test_weights_balance_exactly_and_are_those_of_a_weighted_regression():
    model, X, y, _, p, _ = fitted("reweighting")
    assert model.taught_[""] == pytest.approx(np.full(3, 1 / 3), abs=1e-12)
    coef, intercept, *_ = fit_logistic(X, y, p, 1e-4)
    assert model.coef_[""] == pytest.approx(coef)
    assert model.intercept_[""] == pytest.approx(intercept)
    assert model.rows_[""] == len(X)


def test_rows_that_nobody_would_accept_are_not_learned_from():
    X, y, Z = rows()
    chance = {"": np.where(Z[:, 0] == 1, 0.0, 0.2 + 0.5 * Z[:, 2])}
    model = SeenGroupsClassifier(by="reweighting")
    model.fit(X, y, {"": chance[""] > 0.3}, chance=chance, Z=Z, rng=np.random.default_rng(2))
    there = Z[:, 0] == 0
    assert model.rows_[""] == there.sum() and model.taught_[""][0] == 0
    coef, *_ = fit_logistic(X[there], y[there], chance[""][there], 1e-4)
    assert model.coef_[""] == pytest.approx(coef)


def test_sampling_learns_from_the_rows_drawn():
    model, X, y, Z, _, drawn = fitted("sampling")
    assert model.rows_[""] == drawn.sum()
    assert model.taught_[""] == pytest.approx(Z[drawn].mean(axis=0))
    assert model.coef_[""] == pytest.approx(fit_logistic(X[drawn], y[drawn], None, 1e-4)[0])


@pytest.mark.parametrize("by", ["sampling", "reweighting", "smote"])
def test_everybody_unfiltered_is_the_same_by_all_three(by):
    if by == "smote":
        pytest.importorskip("imblearn")
    model, X, y, Z, *_ = fitted(by)
    assert model.coef_[EVERYONE] == pytest.approx(fit_logistic(X, y, None, 1e-4)[0])
    assert model.taught_[EVERYONE] == pytest.approx(Z.mean(axis=0))


def test_rows_that_smote_makes_up_balance_the_groups_and_keep_their_outcomes():
    pytest.importorskip("imblearn")
    model, _, y, Z, *_ = fitted("smote")
    largest = Z.sum(axis=0).max()
    assert model.rows_[""] == pytest.approx(3 * largest, abs=6)
    assert model.taught_[""] == pytest.approx(np.full(3, 1 / 3), abs=3 / largest)


def test_smote_keeps_rows_and_makes_others_between_rows_of_the_same_cell():
    pytest.importorskip("imblearn")
    rng = np.random.default_rng(3)
    cell = np.repeat([0, 1, 2], [40, 12, 3])
    X = rng.normal(size=(55, 2)) + 10 * cell[:, None]
    goal = np.array([40, 30, 8])
    made, at = smote(X, cell, goal, 5, np.random.default_rng(4))
    assert np.bincount(cell[at]).tolist() == goal.tolist()
    kept = {tuple(np.round(row, 9)) for row in made}
    assert {tuple(np.round(row, 9)) for row in X} <= kept
    for one in (0, 1, 2):
        own, new = X[cell == one], made[cell[at] == one]
        assert (new >= own.min(axis=0) - 1e-9).all() and (new <= own.max(axis=0) + 1e-9).all()
    # Too few rows for five neighbours: repeated.
    assert {tuple(row) for row in made[cell[at] == 2]} == {tuple(row) for row in X[cell == 2]}
    same, _ = smote(X, cell, goal, 5, np.random.default_rng(4))
    assert np.array_equal(made, same)


def test_more_rows_than_can_be_learned_from_are_not_made_up():
    X, y, Z = rows(300)
    chance = {"": Z @ np.array([1e-4, 1.0, 1.0])}
    model = SeenGroupsClassifier(by="smote")
    with pytest.raises(CounterweightError, match="SMOTE would have to make"):
        model.fit(X, y, {"": np.ones(300, bool)}, chance=chance, Z=Z, rng=None)
