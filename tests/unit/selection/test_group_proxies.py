import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.boosted_trees import end_nodes
from counterweight.numerics.groups import leaf_table
from counterweight.plan.components import options
from counterweight.selection.group_proxies import RegressionProxy, TreeProxy, joint_cells
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.tables.parquet import model_arrays, model_table
from sklearn.base import clone

PROXIES = [RegressionProxy(), TreeProxy(max_depth=6), TreeProxy(min_weight_fraction_leaf=0.05)]


def world(n=3000, seed=0):
    """Three groups by two features, and one that tells nothing; sex by the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1, 10, 1, 1] + [0, 50, 0, 0]
    scores = np.column_stack([X[:, 0], -X[:, 0], (X[:, 1] - 50) / 10]) * 2
    group = (scores + rng.gumbel(size=(n, 3))).argmax(axis=1)
    sex = (X[:, 2] + rng.logistic(size=n) > 0).astype(int)
    return X, np.eye(3)[group], np.eye(2)[sex]


def stored(proxy):
    table = model_table(proxy.to_arrays(), 0, "")
    return type(proxy).from_arrays(model_arrays(table.to_pandas()))


@pytest.mark.parametrize("proxy", PROXIES)
def test_memberships_are_one_leaf_a_row_and_survive_storage(proxy):
    X, Z, _ = world()
    proxy.fit(X, Z, classes=[3])
    ((setting, member),) = proxy.leaves(X)
    assert setting == "" and list(proxy.settings_) == [""]
    assert set(np.unique(member)) == {0.0, 1.0} and (member.sum(axis=1) == 1).all()
    assert (member.sum(axis=0) > 0).all()
    new = world(seed=1)[0]
    ((_, again),) = stored(proxy).leaves(new)
    ((_, direct),) = proxy.leaves(new)
    np.testing.assert_array_equal(again, direct)


@pytest.mark.parametrize("proxy", PROXIES)
def test_description_is_that_of_the_leaves(proxy):
    X, Z, _ = world()
    values = {r["metric"]: r["value"] for r in proxy.fit(X, Z, classes=[3]).describe()}
    ((_, member),) = proxy.leaves(X)
    mass, A = leaf_table(member, Z)
    assert values["leaves"] == len(mass)
    assert values["disclosivity"] == np.abs(A - Z.mean(axis=0)).max()
    assert values["reached"] == (values["distance"] < 1e-6)


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_same_fit_gives_the_same_numbers(proxy):
    X, Z, _ = world()
    first = {name: np.array(v) for name, v in proxy.fit(X, Z, classes=[3]).to_arrays().items()}
    for name, values in proxy.fit(X, Z, classes=[3]).to_arrays().items():
        np.testing.assert_array_equal(values, first[name])


def test_regression_finds_the_minimum_of_its_loss():
    X, Z, _ = world()
    proxy = RegressionProxy(tol=1e-14).fit(X, Z, classes=[3])
    scores = X @ proxy.coef_ + proxy.intercept_
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    residual = p / p.sum(axis=1, keepdims=True) - Z
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    gradient = standard.T @ residual / len(X) + 1e-4 * proxy.coef_ * X.std(axis=0)[:, None]
    assert np.abs(gradient).max() < 1e-5 and np.abs(residual.mean(axis=0)).max() < 1e-5
    assert proxy.converged_


def test_regression_recovers_the_coefficients_of_the_world():
    X, Z, _ = world(60_000)
    coef = RegressionProxy(l2=1e-8, tol=1e-12).fit(X, Z, classes=[3]).coef_
    contrast = coef - coef.mean(axis=1, keepdims=True)
    truth = np.array([[2, -2, 0], [0, 0, 0.2], [0, 0, 0], [0, 0, 0]], float)
    truth -= truth.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        contrast * [[1], [10], [1], [1]], truth * [[1], [10], [1], [1]], atol=0.06
    )


def test_regression_does_not_depend_on_units_or_on_constant_features():
    X, Z, _ = world()
    leaf = RegressionProxy().fit(X, Z, classes=[3]).leaf(X)
    other = np.column_stack([X * [1e6, 1e-6, 3, 1] + [0, 5, 0, 0], np.full(len(X), 0.1)])
    proxy = RegressionProxy().fit(other, Z, classes=[3])
    assert (proxy.leaf(other) == leaf).mean() > 0.999
    assert (proxy.coef_[-1] == 0).all()


def test_tree_with_enough_depth_predicts_groups_that_features_tell():
    X, Z, _ = world()
    told = np.column_stack([X, Z @ [1, 2, 3]])
    proxy = TreeProxy().fit(told, Z, classes=[3])
    np.testing.assert_array_equal(proxy.cells_[proxy.leaf(told)], Z)
    values = {r["metric"]: r["value"] for r in proxy.describe()}
    assert values["splits"] == 2 and values["reached"] == 1


def test_tree_keeps_its_depth_and_smallest_node():
    X, Z, _ = world()
    proxy = TreeProxy(max_depth=3, min_weight_fraction_leaf=0.1).fit(X, Z, classes=[3])
    told = (proxy.nodes_[name] for name in ("feature", "threshold", "left", "right"))
    rows = np.bincount(end_nodes(X.astype(np.float32), *told))
    assert rows[rows > 0].min() >= 0.1 * len(X) and 2 < (rows > 0).sum() <= 8


def test_tree_rules_lead_each_row_to_its_leaf():
    X, Z, _ = world(300)
    proxy = TreeProxy(max_depth=4).fit(X, Z, classes=[3])
    nodes = proxy.nodes_
    for row, leaf in zip(X.astype(np.float32), proxy.leaf(X), strict=True):
        at = 0
        while nodes["leaf"][at] < 0:
            low = row[nodes["feature"][at]] <= nodes["threshold"][at]
            at = nodes["left" if low else "right"][at]
        assert nodes["leaf"][at] == leaf


@pytest.mark.parametrize("proxy", PROXIES)
def test_several_classes_are_predicted_together(proxy):
    X, race, sex = world()
    Z = np.hstack([race, sex])
    proxy.fit(X, Z, classes=[3, 2])
    assert proxy.cells_.shape[1] == 5
    assert (proxy.cells_[:, :3].sum(axis=1) == 1).all()
    assert (proxy.cells_[:, 3:].sum(axis=1) == 1).all()
    cells, which = joint_cells(Z, [3, 2])
    assert len(cells) == 6
    np.testing.assert_array_equal(cells[which], Z)


def test_bad_input_is_told_in_a_sentence():
    X, Z, _ = world(50)
    with pytest.raises(CounterweightError, match="Missing or infinite"):
        RegressionProxy().fit(np.where(X > 60, np.nan, X), Z, classes=[3])
    with pytest.raises(CounterweightError, match="no training row"):
        TreeProxy().fit(X, np.column_stack([Z, np.zeros(50)]), classes=[4])
    with pytest.raises(CounterweightError, match="50 rows of features but 49"):
        TreeProxy().fit(X, Z[:-1], classes=[3])
    with pytest.raises(CounterweightError, match="features"):
        TreeProxy().fit(X, Z, classes=[3]).leaf(X[:, :2])


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        (RegressionProxy(l2=-1), "l2 must be a number above 0, not -1"),
        (RegressionProxy(max_iter=0), "whole number at least 1"),
        (TreeProxy(max_depth=0), "whole number at least 1 and at most 30"),
        (TreeProxy(min_weight_fraction_leaf=2), "at most 0.5"),
    ],
)
def test_wrong_options_are_told(proxy, said):
    X, Z, _ = world(50)
    with pytest.raises(CounterweightError, match=said):
        proxy.fit(X, Z, classes=[3])


def test_a_proxy_is_cloned_with_its_options():
    for proxy in (RegressionProxy(l2=0.3), TreeProxy(max_depth=3), SplitTreeProxy()):
        again = clone(proxy)
        assert type(again) is type(proxy) and again.get_params() == proxy.get_params()


def test_options_and_constructors_agree():
    for name, kind in (("regression_proxy", RegressionProxy), ("tree_proxy", TreeProxy)):
        defaults = kind.__init__.__kwdefaults__ or dict(
            zip(kind.__init__.__code__.co_varnames[1:], kind.__init__.__defaults__, strict=True)
        )
        assert defaults == {key: part["default"] for key, part in options("selector", name).items()}
