"""Weights are the true density ratios, the right way up."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.importance_weights import (
    cap_weights,
    describe_weights,
    effective_sample_size,
    from_odds,
    general_weights,
    unlabeled_weights,
    weighted_mean,
)

N = 200_000


@pytest.fixture(scope="module")
def mar():
    """x standard normal, s drawn with p(s|x) = sigmoid(1 - 1.5 x): labels missing at random."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    p = 1 / (1 + np.exp(-(1 - 1.5 * x)))
    return x, p, rng.random(N) < p


@pytest.mark.parametrize(
    ("weigh", "population"), [(general_weights, "all"), (unlabeled_weights, "unlabeled")]
)
def test_weighted_means_of_the_labeled_are_those_of_the_target(mar, weigh, population):
    x, p, s = mar
    target = np.ones(N, bool) if population == "all" else ~s
    values = np.column_stack([x, x**2, np.sin(3 * x), x > 1])
    mean, error = weighted_mean(values[s], weigh(p[s], s.mean()))
    noise = np.sqrt(error**2 + values[target].var(axis=0) / target.sum())
    assert (np.abs(mean - values[target].mean(axis=0)) < 3 * noise).all()


@pytest.mark.parametrize("weigh", [general_weights, unlabeled_weights])
def test_an_inverted_ratio_would_be_caught(mar, weigh):
    x, p, s = mar
    target = x if weigh is general_weights else x[~s]
    weights = weigh(p[s], s.mean())
    inverted = 1 / np.maximum(weights, 1e-12)
    right, error = weighted_mean(x[s, None], weights)
    wrong, _ = weighted_mean(x[s, None], inverted)
    assert abs(right[0] - target.mean()) < 0.05
    assert abs(wrong[0] - target.mean()) > 20 * error[0]


def test_weights_equal_the_closed_form_density_ratio():
    """x | s=1 ~ N(0,1), x | s=0 ~ N(1,1): the ratio p(x|s=0)/p(x|s=1) is exp(x - 1/2)."""
    x = np.linspace(-3, 3, 101)
    share = 0.3
    ratio = np.exp(x - 0.5)
    p = share / (share + (1 - share) * ratio)
    np.testing.assert_allclose(unlabeled_weights(p, share), ratio, rtol=1e-12)
    np.testing.assert_allclose(general_weights(p, share), share + (1 - share) * ratio, rtol=1e-12)


def test_the_two_lemmas_are_linked():
    """The general population is the labeled and the unlabeled one: w1 = pi + (1 - pi) w2."""
    p = np.random.default_rng(1).uniform(0.01, 1, 1000)
    np.testing.assert_allclose(
        general_weights(p, 0.4), 0.4 + 0.6 * unlabeled_weights(p, 0.4), rtol=1e-12
    )


def test_constant_propensity_gives_weight_one():
    p = np.full(50, 0.25)
    np.testing.assert_allclose(general_weights(p, 0.25), 1)
    np.testing.assert_allclose(unlabeled_weights(p, 0.25), 1)


@pytest.mark.parametrize("bad", [0.0, -0.1, 1.1, np.nan])
@pytest.mark.parametrize("weigh", [general_weights, unlabeled_weights])
def test_impossible_propensities_are_refused(weigh, bad):
    with pytest.raises(CounterweightError, match=r"1 of 3 labeled rows .*first: row 1"):
        weigh([0.5, bad, 0.5], 0.5)


def test_propensity_one_has_no_unlabeled_counterpart():
    assert unlabeled_weights([0.5, 1.0], 0.5)[1] == 0
    with pytest.raises(CounterweightError, match="none looks like an unlabeled row"):
        unlabeled_weights([1.0, 1.0], 0.5)
    np.testing.assert_allclose(general_weights([1.0, 1.0], 0.5), 0.5)


@pytest.mark.parametrize("share", [0, 1, -1, np.nan])
def test_a_share_outside_the_unit_interval_is_refused(share):
    with pytest.raises(CounterweightError, match="labeled share"):
        general_weights([0.5], share)


def test_the_cap_cuts_and_counts():
    weights, capped = cap_weights([1, 5, 50, 51], 50)
    assert weights.tolist() == [1, 5, 50, 50]
    assert capped == 1
    assert cap_weights([1, 1e9], None)[1] == 0
    with pytest.raises(CounterweightError, match="above 0"):
        cap_weights([1.0], 0)


def test_effective_sample_size_of_equal_and_of_one_weight():
    assert effective_sample_size(np.full(7, 3.0)) == pytest.approx(7)
    assert effective_sample_size(np.array([1.0, 0, 0])) == pytest.approx(1)


def test_balance_is_zero_when_weights_rebuild_the_target():
    X = np.array([[0.0], [1.0]])
    target = np.array([[0.0], [1.0], [1.0], [1.0]])
    weights = np.array([0.5, 1.5])
    records = {
        r["metric"]: r["value"] for r in describe_weights(weights, weights, X, target, ["x"], 0)
    }
    assert records["balance_after"] == pytest.approx(0, abs=1e-12)
    assert records["balance_before"] == pytest.approx((0.5 - 0.75) / target.std())
    assert records["mean_weight"] == 1


def test_balance_of_rows_that_stand_for_several_is_that_of_so_many_rows():
    rng = np.random.default_rng(2)
    X, target = rng.normal(size=(60, 2)), rng.normal(0.5, 2, (90, 2))
    raw, own, stands = rng.uniform(0.2, 3, 60), rng.integers(1, 5, 60), rng.integers(1, 4, 90)
    told = describe_weights(raw, raw * own, X, target, ["a", "b"], 0, (own, stands))
    weights, rows = np.repeat(raw, own), (np.repeat(X, own, 0), np.repeat(target, stands, 0))
    plain = describe_weights(weights, weights, *rows, ["a", "b"], 0)
    for one, other in zip(told, plain, strict=True):
        if one["metric"] in ("balance_before", "balance_after"):
            assert one["value"] == pytest.approx(other["value"], abs=1e-12)


def test_odds_give_what_their_propensities_give():
    p, share = np.array([0.1, 0.4, 0.5, 0.9]), 0.3
    odds = (1 - p) / p
    for target, weigh in (("unlabeled", unlabeled_weights), ("general", general_weights)):
        np.testing.assert_allclose(from_odds(odds, share, target), weigh(p, share))
