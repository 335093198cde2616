"""Naive Bayes and trees of the answer, and starting curves by lines: known truths."""

import numpy as np
import pytest
from counterweight.models.choice.baselines import OfferNaiveBayes, OfferTree
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.pricing import Curves, pricer
from counterweight.models.choice.search import Search
from counterweight.models.choice.steps import ChoiceRows


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 2)), rng.random(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-6 * (t - 0.5) - X[:, 0]))).astype(float)
    return X, t, y


def test_naive_bayes_is_that_of_scikit_learn():
    from sklearn.naive_bayes import GaussianNB

    X, t, y = people()
    Z = np.column_stack([X, t])
    p = OfferNaiveBayes().fit(X, y, t).predict_acceptance(X, t)
    np.testing.assert_allclose(p, GaussianNB().fit(Z, y).predict_proba(Z)[:, 1], rtol=1e-8)
    # A column that has nearly one value for each answer has the least variance, by the largest.
    X = np.column_stack([1e3 * X[:, 0], y + 0.02 * X[:, 1]])
    Z = np.column_stack([X, t])
    p = OfferNaiveBayes().fit(X, y, t).predict_acceptance(X[:, :] * [1, 0] + [0, 0.5], t)
    rows = np.column_stack([X[:, 0], np.full(len(X), 0.5), t])
    theirs = GaussianNB(var_smoothing=1e-9).fit(Z, y).predict_proba(rows)[:, 1]
    np.testing.assert_allclose(p, theirs, rtol=1e-6)


def test_a_tree_is_that_of_scikit_learn_with_smoothed_leaves():
    from sklearn.tree import DecisionTreeClassifier

    X, t, y = people()
    Z = np.column_stack([X, t])
    seed = int(np.random.default_rng(3).integers(2**31))
    asked = {"criterion": "entropy", "min_samples_leaf": 30, "random_state": seed}
    theirs = DecisionTreeClassifier(**asked).fit(Z, y)
    model = OfferTree(min_samples_leaf=30).fit(X, y, t, rng=np.random.default_rng(3))
    new, offers, _ = people(200, 1)
    rows = np.bincount(theirs.apply(Z))
    share = theirs.predict_proba(np.column_stack([new, offers]))[:, 1]
    count = rows[theirs.apply(np.column_stack([new, offers]))]
    p = model.predict_acceptance(new, offers)
    np.testing.assert_allclose(p, (share * count + 0.5) / (count + 1), rtol=1e-12)


@pytest.mark.parametrize("kind", [OfferNaiveBayes, OfferTree])
def test_stored_ones_predict_the_same_and_oracles_hold_a_model_a_component(kind):
    X, t, y = people()
    component = (X[:, 1] > 0.8).astype(int)
    alone = kind().fit(X, y, t)
    # Priced by a search: log-odds are no line in the offer.
    assert isinstance(pricer(alone, ""), Curves)
    apart = kind(per_component=True).fit(X, y, t, component=component)
    own = kind().fit(X[component == 1], y[component == 1], t[component == 1])
    one = np.ones(len(X), int)
    said = apart.predict_acceptance(X, t, component=one)
    np.testing.assert_array_equal(said, own.predict_acceptance(X, t))
    for model, told in ((alone, None), (apart, component)):
        again = kind.from_arrays(model.to_arrays())
        asked = {} if told is None else {"component": told}
        np.testing.assert_array_equal(
            again.predict_acceptance(X, t, **asked), model.predict_acceptance(X, t, **asked)
        )


def test_a_group_of_one_kind_of_answer_gets_one_probability():
    X, t, y = people(60)
    component = np.repeat([0, 1], 30)
    y[:30] = 1.0
    for kind in (OfferNaiveBayes, OfferTree):
        model = kind(per_component=True).fit(X, y, t, component=component)
        p = model.predict_acceptance(X, t, component=np.zeros(60, int))
        np.testing.assert_allclose(p, 30.5 / 31)


def test_starting_curves_by_lines_are_least_squares_of_each_segment():
    X, t, y = people()
    rule = {"floor": 1e-3, "minimum_rows": 4.0, "tol": 0.0, "iterations": 1}
    data = ChoiceRows(X, t, y)
    search = Search(data, np.random.default_rng(0), n_init=1, curves="regression", **rule)
    members = np.zeros((len(search.points), 2))
    members[:300, 0] = members[300:, 1] = 1.0
    u, answers = search.answers
    for own, curve in zip((slice(0, 300), slice(300, None)), search._lines(members), strict=True):
        slope, height = np.polyfit(u[own], answers[own], 1)
        np.testing.assert_allclose(curve, [4 * (height - 0.5), 4 * slope], rtol=1e-9)
    options = {"components": 1, "n_init": 1, "moves": False}
    lines, plain = (
        PredictiveChoiceModel(**options, curves=curves).fit(X, y, t, rng=np.random.default_rng(0))
        for curves in ("regression", "random")
    )
    # One segment has one optimum.
    assert lines.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-6)
