"""Selectors: the model that made the labels is found, and boosting only where it pays."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.selection.selectors import (
    BetterOfTwoSelector,
    GaussianMixtureSelector,
    GradientBoostingSelector,
    LogisticSelector,
)
from scipy.special import expit


def rows(n=4000, seed=0, curved=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    p = expit(6 * X[:, 0] * X[:, 1]) if curved else expit(0.5 + X[:, 0] - 2 * X[:, 1])
    return X, p, (rng.random(n) < p).astype(int)


def test_a_logistic_labeling_is_found_again():
    X, p, s = rows(20_000)
    model = LogisticSelector().fit(X, s)
    np.testing.assert_allclose([model.intercept_, *model.coef_], [0.5, 1, -2], atol=0.1)
    chance = model.predict_proba(X)
    np.testing.assert_array_equal(chance.sum(axis=1), 1)
    assert np.abs(chance[:, 1] - p).max() < 0.05
    np.testing.assert_array_equal(model.predict(X), chance[:, 1] >= 0.5)


@pytest.mark.parametrize("curved", [False, True])
def test_the_better_of_two_is_boosting_where_a_line_will_not_do(curved):
    X, p, s = rows(curved=curved)
    model = BetterOfTwoSelector().fit(X, s, rng=np.random.default_rng(1))
    assert isinstance(model.model_, GradientBoostingSelector) == curved
    np.testing.assert_array_equal(model.predict_proba(X), model.model_.predict_proba(X))
    assert model.converged_
    if not curved:
        assert model.model_.l2 == 1 / len(s), "the penalty is that of one row"


def test_few_rows_of_a_class_are_not_split_to_try_boosting():
    X, _, s = rows(300, curved=True)
    s[np.flatnonzero(s)[20:]] = 0
    model = BetterOfTwoSelector().fit(X, s, rng=np.random.default_rng(0))
    assert isinstance(model.model_, LogisticSelector)


def test_two_gaussians_give_the_posterior_of_bayes():
    rng = np.random.default_rng(2)
    s = (rng.random(6000) < 0.3).astype(int)
    X = rng.normal(size=(6000, 1)) + 2.0 * s[:, None]
    model = GaussianMixtureSelector(components=1, n_init=1)
    shared = model.prepare(X, np.random.default_rng(0))
    fitted = model.fit(X, s, rng=np.random.default_rng(0), shared=shared)
    log_odds = np.log(0.3 / 0.7) + 2 * X[:, 0] - 2
    assert np.abs(fitted.predict_proba(X)[:, 1] - expit(log_odds)).max() < 0.05
    assert fitted.converged_


def test_labels_are_of_both_kinds_and_boosting_counts_its_trees():
    X, _, s = rows(400)
    assert GradientBoostingSelector(max_iter=7).fit(X, s).n_iter_ == 7
    for model in (LogisticSelector(), GradientBoostingSelector(), BetterOfTwoSelector()):
        with pytest.raises(CounterweightError, match="class"):
            model.fit(X, np.ones(400))
