"""Selectors: the model that made the labels is found, and boosting only where it pays."""

import logging
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import DenseRows, TabularEncoder
from counterweight.numerics import linear
from counterweight.selection import selectors
from counterweight.selection.mixture_selector import GaussianMixtureSelector
from counterweight.selection.selectors import (
    BetterOfTwoSelector,
    GradientBoostingSelector,
    LogisticSelector,
    selected,
)
from counterweight.tables.parquet import read_columns
from scipy.special import expit, logit


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


def test_all_folds_share_one_choice():
    X, _, s = rows(curved=True)
    model, rng = BetterOfTwoSelector(), np.random.default_rng(1)
    assert model.settled(X, s, rng) is True
    fitted = model.fit(X[:2000], s[:2000], rng=rng, shared=False)
    assert isinstance(fitted.model_, LogisticSelector)
    before = rng.bit_generator.state
    assert isinstance(model.fit(X, s, rng=rng, shared=True).model_, GradientBoostingSelector)
    assert rng.bit_generator.state == before, "nothing is drawn where all rows are taken"


@pytest.mark.parametrize("share", [0.5, 0.03])
def test_boosting_of_drawn_rows_has_the_odds_of_all(monkeypatch, share):
    monkeypatch.setattr(selectors, "FITTED_ROWS", 4000)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40_000, 2))
    p = expit(np.log(share / (1 - share)) + np.sin(2 * X[:, 0]) - np.abs(X[:, 1]))
    s = (rng.random(len(X)) < p).astype(int)
    model = BetterOfTwoSelector().fit(X, s, rng=rng, shared=True)
    found = model.predict_proba(X)[:, 1]
    whole = GradientBoostingSelector().fit(X, s).predict_proba(X)[:, 1]
    # Its mean is that of all rows, and its odds are as near to the truth as 4,000 rows can be.
    assert found.mean() == pytest.approx(s.mean(), rel=0.1)
    error = np.abs(logit(found) - logit(p)).mean()
    assert error < 3 * np.abs(logit(whole) - logit(p)).mean()


def test_rows_are_drawn_alike_from_both_classes_as_far_as_they_reach():
    for counts, kept in (
        ((900, 100), (100, 100)),
        ((990, 10), (190, 10)),
        ((500, 500), (100, 100)),
        ((10, 990), (10, 190)),
    ):
        y = np.repeat([0, 1], counts)
        rows, rate = selectors._drawn(y, 200, np.random.default_rng(0))
        assert tuple(np.bincount(y[rows])) == kept
        np.testing.assert_allclose(rate, np.divide(kept, counts))
        assert len(np.unique(rows)) == len(rows)
    rows, rate = selectors._drawn(y, 1000, None)
    np.testing.assert_array_equal(rows, np.arange(1000))
    np.testing.assert_array_equal(rate, 1)


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


@pytest.mark.parametrize(("most", "asked"), [(500, 500), (1500, 1500), (1501, 1500)])
def test_the_choice_asks_so_many_rows_at_most(monkeypatch, most, asked):
    X, _, s = rows(1500, curved=True)
    seen, both = [], selectors._both
    monkeypatch.setattr(selectors, "ASKED_ROWS", most)
    monkeypatch.setattr(selectors, "_both", lambda count: seen.append(count) or both(count))
    BetterOfTwoSelector().settled(X, s, np.random.default_rng(0))
    assert seen == [asked]


@pytest.mark.parametrize("curved", [False, True])
def test_of_rows_made_on_demand_no_more_are_made_than_a_fit_takes(monkeypatch, curved):
    X, _, s = rows(6000, curved=curved)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 1, "x", "y")})
    types = {"a": "number", "b": "number", "c": "text"}
    encoded = TabularEncoder().fit(frame, [*types], types).encode(frame)
    for module, name in (
        (selectors, "FITTED_ROWS"),
        (selectors, "ASKED_ROWS"),
        (linear, "HELD_ROWS"),
    ):
        monkeypatch.setattr(module, name, 1000)

    def chances(X, given):
        rng = np.random.default_rng(5)
        return selectors.selection_probabilities(BetterOfTwoSelector(), X, s, X[:given], rng)

    p, new, share, _ = chances(encoded.dense(), 0)
    made, dense = [], type(encoded).dense
    monkeypatch.setattr(type(encoded), "dense", lambda own: made.append(len(own)) or dense(own))
    found, _, of_map, _ = chances(DenseRows(encoded), 0)
    np.testing.assert_array_equal(found, p)
    assert of_map == share and len(new) == 0 and 0 < max(made) <= 1000
    # Nobody is new: the fit to all rows, which nothing would be asked of, is not made.
    fits = []
    fit = BetterOfTwoSelector.fit
    told = lambda own, *rest, **named: fits.append(own) or fit(own, *rest, **named)  # noqa: E731
    monkeypatch.setattr(BetterOfTwoSelector, "fit", told)
    chances(DenseRows(encoded), 0)
    assert len(fits) == 5
    assert len(chances(DenseRows(encoded), 30)[1]) == 30 and len(fits) == 11


@pytest.mark.parametrize("least", [8, 9])
def test_with_fewer_unlabeled_rows_than_the_least_all_have_the_same_chance(tmp_path, least):
    rng = np.random.default_rng(3)
    s, truth = np.repeat([1, 0], [12, 8]), rng.uniform(0.2, 0.9, 20)
    labels = {"repeat": np.zeros(20, "int32"), "row": np.arange(20), "role": np.full(20, "train")}
    labels |= {"selected": s, "keep_rate": np.ones(20)}
    data = SimpleNamespace(
        labels={0: labels},
        truth={0: {"p_selected": truth}},
        role=lambda repeat, name: labels["role"] == name,
        names=[],
    )
    output = SimpleNamespace(table=tmp_path / "table.parquet", model=tmp_path / "model.parquet")
    given = {"selector": {"selector": "logistic", "oracle": True}}
    job = SimpleNamespace(given=given, output=output, log=logging.getLogger(), threads=1)
    records = selected(job, data, least)
    p = read_columns(output.table)["p"]
    np.testing.assert_allclose(p, truth if least == 8 else np.full(20, 0.6), rtol=1e-12)
    shares = [one["value"] for one in records if one["metric"] == "isotonic_share"]
    assert shares == ([0.0] if least == 8 else [])
