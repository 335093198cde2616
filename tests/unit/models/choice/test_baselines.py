"""The baselines' design, and logistic regression with and without interactions."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.baselines import OPTIONS_BY_NAME, OfferLogistic
from counterweight.models.choice.logitboost import LogisticTree, LogitBoost
from counterweight.numerics.linear import fit_logistic
from scipy.special import expit, logit
from sklearn.base import clone

MODELS = (OfferLogistic, LogitBoost, LogisticTree)


def drawn(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(rows, 2)), rng.random(rows)
    p = expit(6 * (t - 0.5) + X[:, 0])
    component = rng.integers(2, size=rows)
    return X, t, (rng.random(rows) < p).astype(int), p, component


def test_without_interactions_it_is_logistic_regression_on_x_and_t():
    X, t, y, _, _ = drawn()
    model = OfferLogistic().fit(X, y, t)
    coef, intercept, _, _ = fit_logistic(np.column_stack([X, t]), y)
    expected = expit(np.column_stack([X, t]) @ coef + intercept)
    assert np.allclose(model.predict_acceptance(X, t), expected, atol=1e-12)


def test_slopes_differ_between_people_only_with_interactions():
    X, t, y, _, _ = drawn()
    zero, one = np.zeros(len(t)), np.ones(len(t))
    spread = []
    for interactions in (False, True):
        model = OfferLogistic(interactions=interactions).fit(X, y, t)
        slope = logit(model.predict_acceptance(X, one)) - logit(model.predict_acceptance(X, zero))
        spread.append(np.ptp(slope))
    assert spread[0] < 1e-8 and spread[1] > 0.1


@pytest.mark.parametrize("model", MODELS)
def test_an_oracle_is_one_model_for_each_component(model):
    X, t, y, _, component = drawn(600)
    options = {"iterations": 5} if model is LogitBoost else {}
    both = model(per_component=True, **options)
    both.fit(X, y, t, rng=np.random.default_rng(1), component=component)
    p = both.predict_acceptance(X, t, component=component)
    rows = component == 0
    alone = model(**options).fit(X[rows], y[rows], t[rows], rng=np.random.default_rng(1))
    assert np.allclose(p[rows], alone.predict_acceptance(X[rows], t[rows]), atol=1e-8)
    with pytest.raises(CounterweightError, match="does not know"):
        both.predict_acceptance(X, t)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("oracle", [False, True])
def test_a_stored_model_predicts_the_same(model, oracle):
    from counterweight.tables.parquet import model_arrays, model_table

    X, t, y, _, component = drawn(600)
    X[::7, 1] = np.nan
    asked = {"component": component} if oracle else {}
    fitted = model(interactions=True, per_component=oracle).fit(X, y, t, **asked)
    stored = model_arrays(model_table(fitted.to_arrays(), 0, "general").to_pandas())
    again = model.from_arrays(stored)
    p = fitted.predict_acceptance(X, t, **asked)
    assert np.array_equal(p, again.predict_acceptance(X, t, **asked))
    assert np.isfinite(p).all() and fitted.design_.cells_filled_ == len(X[::7])


def test_a_missing_value_has_a_coefficient_of_its_own():
    rng = np.random.default_rng(3)
    X, t = rng.normal(size=(20000, 1)), rng.random(20000)
    gone = rng.random(20000) < 0.3
    p = np.where(gone, 0.8, 0.3)
    y = (rng.random(20000) < p).astype(int)
    X[gone] = np.nan
    said = OfferLogistic().fit(X, y, t).predict_acceptance(X, t)
    assert abs(said[gone].mean() - 0.8) < 0.02 and abs(said[~gone].mean() - 0.3) < 0.02


@pytest.mark.parametrize("model", MODELS)
def test_one_kind_of_answer_is_counted_and_gives_a_finite_probability(model, caplog):
    X, t, y, _, component = drawn(300)
    y[component == 1] = 1
    fitted = model(per_component=True).fit(X, y, t, component=component)
    p = fitted.predict_acceptance(X, t, component=component)
    count = (component == 1).sum()
    assert fitted.one_answer_models_ == 1 and "one kind of answer" in caplog.text
    assert np.allclose(p[component == 1], (count + 0.5) / (count + 1))


@pytest.mark.parametrize("model", MODELS)
def test_rows_of_an_unseen_component_are_counted(model):
    X, t, y, _, component = drawn(300)
    fitted = model(per_component=True).fit(X, y, t, component=component)
    p = fitted.predict_acceptance(X[:3], t[:3], component=np.full(3, 9))
    assert fitted.rows_unseen_component_ == 3
    assert np.allclose(p, (y.sum() + 0.5) / (len(y) + 1))


@pytest.mark.parametrize("model", MODELS)
def test_defaults_are_those_of_the_options(model):
    import importlib
    import inspect

    names = {OfferLogistic: "offer_logistic", LogitBoost: "logitboost"}
    options = importlib.import_module(model.__module__).OPTIONS_BY_NAME[
        names.get(model, "logistic_tree")
    ]
    defaults = {
        name: parameter.default for name, parameter in inspect.signature(model).parameters.items()
    }
    own = {name: option["default"] for name, option in options.items()}
    assert defaults == own | {"random_state": 0}
    changed = model(interactions=True)
    assert clone(changed).get_params() == changed.get_params() == defaults | {"interactions": True}
    assert repr(changed) == f"{model.__name__}(interactions=True)"


def test_bad_input_is_told():
    X, t, y, _, _ = drawn(50)
    with pytest.raises(CounterweightError, match=r"outside \[0, 1\]"):
        OfferLogistic().fit(X, y, t + 1)
    with pytest.raises(CounterweightError, match="infinity in feature number 0"):
        OfferLogistic().fit(np.where(X[0, 0] == X, np.inf, X), y, t)
    with pytest.raises(CounterweightError, match="is expecting 2 features"):
        OfferLogistic().fit(X, y, t).predict_acceptance(X[:, :1], t)
    assert OPTIONS_BY_NAME["offer_logistic"]["l2"]["default"] == 1e-6
