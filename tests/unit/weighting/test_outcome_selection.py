"""Rosset's moments: b recovered where its model holds, weights the right way up."""

from dataclasses import replace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.importance_weights import Rows
from counterweight.weighting.outcome_selection import (
    _moment_fit,
    label_only_influence,
    label_only_weights,
    moment_influence,
    moment_weights,
    refuse_refuted,
)
from scipy.special import expit

NAMES = ("chosen", "first", "second")


def world(n, b, c, seed, shift=True):
    """Rows with p(s=1|x,y) = sigma(0.2 + b y + c chosen); other features tell y, not s."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < expit(X @ [0.5, 1.5, -1.0] - 0.3)).astype(float)
    p = expit(0.2 + b * y + c * X[:, 0])
    s = rng.random(n) < p
    return X, y, s, p


def rows_of(X, y, s):
    return Rows(X[s], y[s], X[~s], names=NAMES)


@pytest.mark.parametrize("b", [-1.5, 0.0, 1.0])
@pytest.mark.parametrize("c", [0.0, 0.8])
def test_b_is_recovered_within_three_standard_errors(b, c):
    X, y, s, _ = world(20_000, b, c, 0)
    rows = rows_of(X, y, s)
    moment_weights(rows, features=["chosen"], moments="squares")
    found, error = rows.facts["label_effect"]
    assert 0 < error < 0.3
    assert abs(found - b) < 3 * error


def test_standard_errors_are_those_of_repeated_worlds():
    found = []
    for seed in range(60):
        X, y, s, _ = world(3000, -1.0, 0.5, seed)
        rows = rows_of(X, y, s)
        moment_weights(rows, features=["chosen"], moments="squares")
        found.append(rows.facts["label_effect"])
    value, error = np.array(found).T
    assert abs(value.mean() + 1) < 3 * value.std() / np.sqrt(60) + 0.02
    assert 0.7 < np.median(error) / value.std() < 1.4


@pytest.mark.parametrize("target", ["general", "unlabeled"])
def test_weights_are_the_inverse_probabilities(target):
    X, y, s, p = world(20_000, -1.2, 0.6, 1)
    rows = rows_of(X, y, s)
    weights = moment_weights(rows, target=target, features=["chosen"])
    odds = 1 / p[s] - 1
    truth = odds if target == "unlabeled" else 1 + odds
    assert np.corrcoef(np.log(weights), np.log(truth))[0, 1] > 0.95
    assert weights.mean() == pytest.approx(1, abs=0.03)
    whom = ~s if target == "unlabeled" else slice(None)
    assert np.average(y[s], weights=weights) == pytest.approx(y[whom].mean(), abs=0.04)


@pytest.mark.parametrize("weigh", [label_only_weights, moment_weights])
@pytest.mark.parametrize("target", ["general", "unlabeled"])
def test_by_the_label_alone(weigh, target):
    """Label shift holds: selection by y only. The rate and b are the true ones."""
    X, y, s, _ = world(20_000, -1.5, 0.0, 2)
    rows = rows_of(X, y, s)
    weights = weigh(rows, target=target)
    assert len(np.unique(weights.round(9))) == 2
    b = np.atleast_1d(rows.facts["label_effect"])[0]
    assert b == pytest.approx(-1.5, abs=0.15)
    whom = ~s if target == "unlabeled" else slice(None)
    assert np.average(y[s], weights=weights) == pytest.approx(y[whom].mean(), abs=0.03)
    assert weights.mean() == pytest.approx(1, abs=0.03)


def test_the_papers_equation_for_one_feature():
    """sum over s=1 of exp(-b y_i) (mean x0 - x_i) = 0, and e^a = sum exp(-b y) / #{s=0}."""
    X, y, s, _ = world(4000, -1.0, 0.0, 3)
    X = X[:, 1:2]
    rows = Rows(X[s], y[s], X[~s], names=("only",))
    weights = label_only_weights(rows, target="unlabeled")
    b = rows.facts["label_effect"]
    tilt = np.exp(-b * y[s])
    assert abs(tilt @ (X[~s].mean() - X[s, 0])) < 1e-8 * tilt.sum()
    np.testing.assert_allclose(weights, tilt / tilt.mean(), rtol=1e-9)
    general = moment_weights(rows, target="unlabeled")
    np.testing.assert_allclose(general, weights, rtol=1e-5)


def test_a_rate_beyond_the_ends_stays_positive():
    X, y, s, _ = world(500, 0.0, 0.0, 4)
    far = Rows(X[s], y[s], X[~s] + [0, -5, 5], names=NAMES)
    weights = label_only_weights(far, target="unlabeled")
    assert (weights > 0).all() and np.average(y[s], weights=weights) < 0.01


def test_what_cannot_be_is_told():
    X, y, s, _ = world(300, 0.0, 0.0, 5)
    rows = rows_of(X, y, s)
    with pytest.raises(CounterweightError, match="by age, which is no feature; features are cho"):
        moment_weights(rows, features=["age"])
    with pytest.raises(CounterweightError, match="3 equations for 4 unknowns"):
        moment_weights(rows, features=list(NAMES))


def test_the_error_of_weights_by_the_label_has_that_of_the_rate_in_it():
    """Of the mean outcome, 400 tables of the same law differ by as much as the jackknife says."""
    found, told = [], []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y, other = rng.random(400) < 0.4, rng.random(300) < 0.2
        X, U = (rng.normal(size=(len(part), 2)) + 1.5 * part[:, None] for part in (y, other))
        rows, residual = Rows(X, y.astype(float), U), y - 0.3
        weight = label_only_weights(rows, target="unlabeled")
        found.append(np.average(residual, weights=weight))
        if seed < 40:
            (parts,) = label_only_influence(rows, residual, np.ones(400), most=50.0)
            told.append(parts @ parts)
    assert np.sqrt(np.mean(told)) == pytest.approx(np.std(found), rel=0.1)


def test_the_error_of_weights_by_moments_has_that_of_the_moments_in_it():
    rng = np.random.default_rng(5)
    y, other = rng.random(600) < 0.4, rng.random(500) < 0.2
    X, U = (rng.normal(size=(len(part), 2)) + 1.5 * part[:, None] for part in (y, other))
    design, residual = np.ones(600), y - 0.3
    alone = Rows(X, y.astype(float), U, names=("a", "b"))
    (parts,) = moment_influence(alone, residual, design, most=50.0)
    (label,) = label_only_influence(alone, residual, design, most=50.0)
    assert np.sqrt(parts @ parts) == pytest.approx(np.sqrt(label @ label), rel=0.25)
    # Where selection may go by a feature, too, the outcome's effect is less sure.
    (beside,) = moment_influence(alone, residual, design, most=50.0, features=["a"])
    assert beside @ beside > parts @ parts


def refused(rows, called="rosset", **options):
    try:
        refuse_refuted(rows, called, **options)
    except CounterweightError as error:
        return str(error)
    return ""


def by_features(n, seed):
    """As `world`, with three features more; who has a label goes by the second and fourth."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = (rng.random(n) < expit(X @ [0.5, 1.5, -1.0, 0.5, 0, 0] - 0.3)).astype(float)
    s = rng.random(n) < expit(0.3 - 0.8 * X[:, 1] + 0.6 * X[:, 3])
    names = tuple("abcdef")
    return Rows(X[s], y[s], X[~s], names=names), y[~s].mean()


def test_moments_that_no_weights_meet_refute_them():
    told, off = [], []
    for seed in range(20):
        rows, truth = by_features(1000, seed)
        weight = moment_weights(rows, target="unlabeled", features=["a"])
        off.append(abs(np.average(rows.y_labeled, weights=weight) - truth))
        told.append(refused(rows, features=["a"]))
    assert np.mean(off) > 0.1 and all(told)
    assert "goes by the outcome and a alone, and the table speaks against it" in told[0]
    # Named, they are no assumption; by the outcome alone there is another one to refute.
    assert not refused(rows, features=["b", "d"])
    label = refused(rows, "rosset_label_only")
    assert label.startswith("weights: rosset_label_only supposes") and "the outcome alone" in label


def test_moments_refute_nothing_where_selection_is_as_they_suppose():
    chances, held = [], []
    for seed in range(400):
        X, y, s, _ = world(1500, -1.0, 0.5, seed)
        rows = rows_of(X, y, s)
        chances.append(_moment_fit(rows, ["chosen"], "squares").tested()[1])
        held.append(refused(rows, features=["chosen"], moments="squares"))
    # The chance of as much is one: it is below a tenth in a tenth of the tables.
    assert np.mean(np.array(chances) < 0.1) == pytest.approx(0.1, abs=3 * 0.015)
    assert np.mean([bool(one) for one in held]) <= 0.01


def test_as_many_moments_as_unknowns_test_nothing():
    X, y, s, _ = world(1000, 0.0, 1.0, 7)
    rows = Rows(X[s, :2], y[s], X[~s, :2], names=NAMES[:2])
    assert np.isnan(_moment_fit(rows, ["chosen"], "means").tested()[1])
    assert not refused(rows, features=["chosen"])


def test_a_text_column_stands_for_all_its_levels():
    rng = np.random.default_rng(7)
    n = 4000
    y = (rng.random(n) < 0.4).astype(float)
    at, x = rng.integers(0, 3, n), rng.normal(size=(n, 2)) + y[:, None]
    s = rng.random(n) < 1 / (1 + np.exp(-(0.3 - y + np.array([-0.8, 0.0, 0.8])[at])))
    X = np.column_stack([x, *(1.0 * (at == k) for k in range(3))])
    names = ("first", "second", "part=a", "part=b", "part=c")
    made = [
        moment_weights(Rows(X[s], y[s], X[~s], names=names), features=features, target="unlabeled")
        for features in (["part"], ["part=a", "part=c"], ["part=a", "part=b", "part=c"])
    ]
    np.testing.assert_allclose(made[1], made[0], rtol=1e-6)
    np.testing.assert_allclose(made[2], made[0], rtol=1e-6)
    error = np.sqrt(0.24 * made[0] @ made[0]) / made[0].sum()
    assert abs(np.average(y[s], weights=made[0]) - y[~s].mean()) < 4 * error
    with pytest.raises(CounterweightError, match="goes by part=d, which is no feature"):
        moment_weights(Rows(X[s], y[s], X[~s], names=names), features=["part=d"])


@pytest.mark.parametrize("influence", [label_only_influence, moment_influence])
def test_rows_of_a_group_are_left_out_together(influence):
    X, y, s, _ = world(600, 0.5, 0.4 if influence is moment_influence else 0.0, 3)
    one, residual = rows_of(X, y, s), np.random.default_rng(0).normal(size=s.sum())
    place = np.r_[np.flatnonzero(s), np.flatnonzero(~s)]
    told = {} if influence is label_only_influence else {"features": ["chosen"]}

    def error(rows, residual):
        (part,) = influence(rows, residual, np.ones(len(residual)), most=50.0, **told)
        return np.sqrt(part @ part)

    single = error(replace(one, group=place), residual)
    times = [np.repeat(part, 4, axis=0) for part in (X[s], y[s], X[~s])]
    rows = Rows(*times, names=NAMES, group=np.repeat(place, 4))
    found, again = (
        _moment_fit(part, **({"features": (), "moments": "means"} | told)).tested()
        for part in (one, rows)
    )
    assert again == pytest.approx(found, rel=0.02)
    assert error(rows, np.repeat(residual, 4)) == pytest.approx(single, rel=1e-6)
    assert error(replace(rows, group=None), np.repeat(residual, 4)) < 0.8 * single
