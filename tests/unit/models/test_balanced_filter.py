"""Classifiers on filtered rows: who is accepted, what is fitted, what is told."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.balanced_filter import (
    EVERYONE,
    BalancedFilter,
    accept_probability,
    acceptances,
    filtered,
    row_uniforms,
    train_filter_repeat,
)
from counterweight.numerics.geometry import interpolated_rows
from counterweight.numerics.linear import fit_logistic
from counterweight.tables.study_data import StudyData
from sklearn.base import clone


class TwoLeaves:
    """A proxy whose leaves are the signs of the first feature; alpha 0 has one leaf."""

    settings_ = ("alpha=0", "alpha=0.5")

    def leaves(self, X):
        right = (X[:, 0] > 0).astype(float)
        yield "alpha=0", np.ones((len(X), 1))
        yield "alpha=0.5", np.column_stack([1 - right, right])


class Plain(TwoLeaves):
    settings_ = ("",)

    def leaves(self, X):
        yield "", list(super().leaves(X))[1][1]


def rows(n=900, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1, 10, 0.1, 3])[:d] + 5 * (np.arange(d) > 0)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - 0.05 * X[:, 1]))).astype(float)


def data(n=900, seed=0, outcome=True, order=None):
    X, y = rows(n, seed=seed)
    role = np.where(np.random.default_rng(seed + 1).random(n) < 0.3, "test", "train")
    features = {"row": np.arange(n)} | {f"x{j}": X[:, j] for j in range(X.shape[1])}
    hidden = np.where(role == "test", np.nan, y) if outcome else np.full(n, np.nan)
    labels = {
        "repeat": np.zeros(n, int),
        "row": np.arange(n),
        "role": role.astype(object),
        "group_g": np.where(X[:, 0] > 0.3, "a", "b").astype(object),
        "y_general": hidden,
    }
    return StudyData(features, labels)


def train(study, proxy=None, acceptance=None, model="balanced_filter", **options):
    acceptance = acceptance or {"alpha=0": np.ones(1), "alpha=0.5": np.array([0.25, 1.0])}
    if model == "balanced_filter":
        options = {"settings": [0, 0.5], **options}
    return train_filter_repeat(
        study,
        {"model": model, "options": options},
        0,
        proxy=proxy or TwoLeaves(),
        acceptance=acceptance,
        seed=3,
        study="s",
    )


def test_a_feature_with_one_value_among_accepted_rows_is_called_by_its_name(caplog):
    caplog.set_level("INFO", "counterweight")
    study = data()
    study.X[:, 2] = 4.0
    train(study, model="seen_groups")
    told = [one.getMessage() for one in caplog.records if "has one value" in one.getMessage()]
    assert len(told) == 1 and told[0].startswith("Feature x2 has one value in the ")


def test_options_agree_with_the_defaults():
    parameters = inspect.signature(BalancedFilter).parameters
    assert {name: schema["default"] for name, schema in BalancedFilter.OPTIONS.items()} == {
        name: list(p.default) if name == "settings" else p.default for name, p in parameters.items()
    }


def test_the_fit_is_that_of_logistic_regression_on_the_accepted_rows():
    X, y = rows()
    X = np.column_stack([X, np.ones(len(X))])
    kept = X[:, 0] + X[:, 2] > 5.0
    model = BalancedFilter(l2=1e-6).fit(X, y, {EVERYONE: np.ones(len(X), bool), "s": kept})
    for name, mask in ((EVERYONE, np.ones(len(X), bool)), ("s", kept)):
        coef, intercept, _, _ = fit_logistic(X[mask], y[mask], l2=1e-6)
        wanted = 1 / (1 + np.exp(-(X @ coef + intercept)))
        np.testing.assert_allclose(model.predict(X)[name], wanted, atol=2e-3)
        assert model.converged_[name] and model.coef_[name][-1] == 0
    assert model.rows_ == {EVERYONE: len(X), "s": kept.sum()}


def test_the_gradient_vanishes_at_the_fit():
    X, y = rows()
    kept = X[:, 0] > 0
    model = BalancedFilter(l2=1e-3).fit(X, y, {EVERYONE: np.ones(len(X), bool), "s": kept})
    scale = X.std(axis=0)
    slope = (model.predict(X[kept])["s"] - y[kept]) @ (X[kept] - X.mean(axis=0)) / scale
    np.testing.assert_allclose(slope / kept.sum() + 1e-3 * model.coef_["s"] * scale, 0, atol=1e-4)
    assert (model.predict(X[kept])["s"] - y[kept]).mean() == pytest.approx(0, abs=1e-4)


def test_units_of_the_features_do_not_matter():
    X, y = rows()
    everyone = {EVERYONE: np.ones(len(X), bool)}
    plain = BalancedFilter().fit(X, y, everyone).predict(X)[EVERYONE]
    units = np.array([1e-3, 7.0, 1e4, 1.0])
    other = BalancedFilter().fit(X * units + 3, y, everyone).predict(X * units + 3)[EVERYONE]
    np.testing.assert_allclose(plain, other, atol=1e-4)


def test_rows_without_an_outcome_teach_nothing_but_are_counted():
    X, y = rows()
    blank = np.where(np.arange(len(y)) % 3 == 0, np.nan, y)
    here = ~np.isnan(blank)
    one = BalancedFilter().fit(X, blank, {"s": np.ones(len(X), bool)})
    two = BalancedFilter().fit(X, blank, {"s": here})
    np.testing.assert_array_equal(one.coef_["s"], two.coef_["s"])
    assert one.rows_["s"] == len(X) and two.rows_["s"] == here.sum()


def test_one_class_gives_no_classifier_and_is_counted_and_told(caplog):
    study = data()
    study.labels[0]["y_general"][study.X[:, 0] > 0] = 1.0
    arrays, predictions = train(study, acceptance={"alpha=0.5": np.array([0.0, 1.0])})
    assert arrays["no_classifier", "alpha=0.5"] == 1 and ("coefficient", "alpha=0.5") not in arrays
    assert set(predictions["setting"].to_pylist()) == {EVERYONE}
    assert "not both outcomes at alpha=0.5 (" in caplog.text


def test_nothing_is_trained_without_a_classifier_or_an_outcome():
    for study, options in ((data(), {"classifier": "none"}), (data(outcome=False), {})):
        arrays, predictions = train(study, **options)
        assert predictions.num_rows == 0 and predictions.column_names[0] == "repeat"
        assert set(arrays) == {("rows_accepted", s) for s in (EVERYONE, "alpha=0", "alpha=0.5")}


def test_alpha_zero_is_everyone():
    arrays, predictions = train(data())
    np.testing.assert_array_equal(arrays["coefficient", "alpha=0"], arrays["coefficient", EVERYONE])
    assert predictions.column_names == ["repeat", "row", "setting", "p"]


def test_settings_beside_the_grid_of_the_filter_are_told(caplog):
    _, predictions = train(data(), settings=[0.17])
    assert set(predictions["setting"].to_pylist()) == {EVERYONE}
    assert "none of the settings 0.17 is on the grid of the filter (alpha=0, " in caplog.text


def test_only_settings_of_the_grid_are_trained():
    model = BalancedFilter(settings=[0, 0.3, 1])
    grid = [f"alpha={a / 20:g}" for a in range(21)]
    assert model.requested(grid) == ["alpha=0", "alpha=0.3", "alpha=1"]
    assert model.requested(["eta=0.25", "eta=1"]) == ["eta=1"] and model.requested([""]) == [""]
    arrays, _ = train(data(), settings=[0.5])
    assert ("rows_accepted", "alpha=0") not in arrays


def test_the_draw_accepts_by_the_probability_of_the_leaf():
    study = data(40000)
    arrays, _ = train(study, classifier="none")
    right = study.X[study.labels[0]["role"] == "train", 0] > 0
    expected = 0.25 * (~right).sum() + right.sum()
    spread = np.sqrt(0.25 * 0.75 * (~right).sum())
    assert abs(arrays["rows_accepted", "alpha=0.5"] - expected) < 4 * spread
    assert arrays["rows_accepted", "alpha=0"] == len(right)


def test_methods_share_the_draws_of_the_rows():
    np.testing.assert_array_equal(row_uniforms(1, "s", 0, 5), row_uniforms(1, "s", 0, 5))
    assert not np.array_equal(row_uniforms(1, "s", 0, 5), row_uniforms(1, "s", 1, 5))
    study = data()
    less, _ = train(study, acceptance={"alpha=0.5": np.array([0.2, 0.5])}, classifier="none")
    more, _ = train(study, acceptance={"alpha=0.5": np.array([0.2, 0.6])}, classifier="none")
    assert more["rows_accepted", "alpha=0.5"] > less["rows_accepted", "alpha=0.5"]


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_noise_on_the_leaf_is_that_of_the_replaced_memberships(eta):
    rng = np.random.default_rng(0)
    M, rho = rng.dirichlet(np.ones(4), 50), rng.random(4)
    np.testing.assert_allclose(
        accept_probability(M, eta, rho), interpolated_rows(M, eta) @ rho, atol=1e-14
    )


def test_settings_of_weights_and_proxy_must_agree():
    X = rows()[0]
    half = np.array([0.5, 1.0])
    assert [s for s, *_ in filtered(Plain(), X, {"eta=0": half, "eta=0.5": half})] == [
        "eta=0",
        "eta=0.5",
    ]
    with pytest.raises(CounterweightError, match="3 leaves at alpha=0.5 and the proxy 2"):
        list(filtered(TwoLeaves(), X, {"alpha=0.5": np.ones(3)}))
    with pytest.raises(CounterweightError, match="alpha=0.7, which the proxy has not"):
        list(filtered(TwoLeaves(), X, {"alpha=0.7": half}))


def test_acceptances_are_read_by_leaf_whatever_their_order():
    table = {
        "repeat": np.array([0, 0, 0, 1, 1]),
        "leaf": np.array([1, 0, 0, 1, 0]),
        "setting": np.array(["a", "a", "b", "a", "a"], object),
        "acceptance": np.array([0.1, 0.2, 0.3, 0.4, 0.5]),
    }
    found = acceptances(table)
    assert {r: {s: v.tolist() for s, v in own.items()} for r, own in found.items()} == {
        0: {"a": [0.2, 0.1], "b": [0.3]},
        1: {"a": [0.5, 0.4]},
    }


def test_parameters_are_those_of_scikit_learn_without_importing_it():
    model = BalancedFilter(l2=0.5)
    assert clone(model).get_params() == model.get_params() and clone(model) is not model
    assert repr(model) == "BalancedFilter(l2=0.5)" and repr(BalancedFilter()).endswith("()")
    assert model.set_params(classifier="none") is model and model.classifier == "none"
    with pytest.raises(CounterweightError, match="BalancedFilter has no parameter 'Ridge'"):
        model.set_params(Ridge=1)
    code = (
        "import sys, counterweight.models.balanced_filter, counterweight.tasks.filters\n"
        "import counterweight.models.balanced_filter\n"
        "import counterweight.evaluation.filter_evaluation\n"
        "import counterweight.selection.split_tree\n"
        "assert not {'sklearn', 'scipy.optimize', 'imblearn', 'pandas'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
