"""The AUC of a ranking on few of its rows: exact counts against rows, unbiasedness, the bound."""

import inspect

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation import metrics
from counterweight.evaluation import predictions as module
from counterweight.evaluation.predictions import Ranking, ranking_resamples
from counterweight.numerics.ranking import agarwal_bound, auc_estimate
from counterweight.plan import components
from records import where


def made_up(seed=0, n=3000, share=0.15, digits=6):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    p = (1 / (1 + np.exp(-rng.normal(size=n) - 1.2 * y))).round(digits)
    predictions = {
        "repeat": np.zeros(n, int),
        "row": np.arange(n),
        "p": p,
        "target": (np.zeros(n, int), ["general"]),
        "setting": (np.zeros(n, int), [""]),
    }
    return predictions, {"repeat": np.zeros(n, int), "row": np.arange(n), "y_general": y}


def ranked(*made):
    """A ranking of made-up rows, their labels and their scores."""
    predictions, truth = made_up(*made)
    y, p = truth["y_general"], predictions["p"]
    return Ranking.of(y, p), y, p


@pytest.fixture(scope="module")
def records():
    found = ranking_resamples(
        *made_up(), {"auc": metrics.auc}, seed=1, stream="made_up.logistic", resamples=1000
    )
    return {(r["metric"], *where(r)): r for r in found}


@pytest.mark.parametrize("digits", [1, 6])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_counts_by_place_give_the_estimate_of_the_rows(digits, share):
    ranking, y, p = ranked(3, 400, share, digits)
    found = ranking.moments(ranking.counts(True), ranking.counts(False))
    whole = auc_estimate(y, p)
    assert ranking.rows == 400
    # Places are the distinct scores of the rarer class, so that they are as few as can be.
    rarer = y == (share < 0.5)
    assert ranking.rare.sum() == rarer.sum() < 200 and len(ranking.rare) == len({*p[rarer]})
    assert found.value[0] == pytest.approx(whole.value, abs=1e-12)
    assert np.sqrt(found.variance[0]) == pytest.approx(whole.standard_error, abs=1e-12)
    low, high = module.auc_interval(found)
    assert (low[0], high[0]) == pytest.approx((whole.low, whole.high), abs=1e-10)


@pytest.mark.parametrize("digits", [1, 6])
@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("positive", [True, False])
def test_the_auc_alone_is_that_of_the_moments(digits, share, positive):
    """Where one class is thinned out and the other is the same for all."""
    ranking = ranked(3, 400, share, digits)[0]
    own, other = ranking.counts(positive), ranking.counts(not positive)
    kept = np.random.default_rng(4).binomial(own, 0.5, (7, len(own)))
    every = np.broadcast_to(other, (7, len(other)))
    sides, all_sides = ((kept, one)[:: 1 if positive else -1] for one in (other, every))
    found = ranking.auc(*sides)
    assert found == pytest.approx(ranking.moments(*all_sides).value, abs=1e-14)
    assert found.std() > 0.001


@pytest.mark.parametrize("digits", [1, 6])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_drawn_rows_have_the_mean_and_variance_of_the_population(digits, share):
    ranking, y, p = ranked(4, 300, share, digits)
    values = ranking.draw(3, 5, 20_000, np.random.default_rng(0))
    assert values.mean() == pytest.approx(ranking.value, abs=4 * values.std() / np.sqrt(20_000))
    pairs = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    # Variance of a two-sample U-statistic by its components.
    one, two, both = pairs.mean(1).var(), pairs.mean(0).var(), pairs.var()
    expected = (4 * one + 2 * two + both) / 15
    assert values.var() == pytest.approx(expected, rel=0.06)


def test_records_are_those_of_the_contract(records):
    for name in ("auc_bias", "auc_spread"):
        places = [place for metric, *place in records if metric == name]
        rates = (1.0, 0.1, 0.01)
        rated = [[part, rate] for part in ("zeros", "positives") for rate in rates]
        assert places == [*rated, ["one pair"]]
    for name in ("auc_deviation", "auc_deviation_quantile", "agarwal_bound", "bound_violated"):
        settings = [place[0] for metric, *place in records if metric == name]
        assert len(settings) == 14 and {"N=400,rho=0.5", "N=100,rho=0.03125"} <= set(settings)
    assert ("auc",) in records
    assert all(r["repeat"] == 0 and r["target"] == "general" for r in records.values())


def test_rejection_of_either_class_is_unbiased_even_down_to_one_pair(records):
    for (name, *_), record in records.items():
        if name == "auc_bias":
            assert abs(record["value"]) <= 3.5 * record["standard_error"]
    assert records["auc_bias", "zeros", 1.0]["value"] == 0.0
    spreads = [records["auc_spread", "zeros", rate]["value"] for rate in (1.0, 0.1, 0.01)]
    assert spreads == sorted(spreads) and spreads[0] == 0.0
    assert records["auc_spread", "one pair"]["value"] > 10 * spreads[1]


def test_intervals_hold_the_populations_auc(records):
    for rate in (1.0, 0.1, 0.01):
        assert 0.93 <= records["auc_covered", "zeros", rate]["value"] <= 0.98


def test_the_bound_holds_and_deviation_and_bound_are_least_at_one_half(records):
    shares = (0.03125, 0.0625, 0.125, 0.25, 0.5, 0.75, 0.875)
    for budget in (100, 400):
        by_name = {
            name: [records[name, f"N={budget},rho={share}"]["value"] for share in shares]
            for name in ("auc_deviation", "auc_deviation_quantile", "agarwal_bound")
        }
        assert all(np.argmin(values) == 4 for values in by_name.values())
        for share in shares:
            assert records["bound_violated", f"N={budget},rho={share}"]["value"] <= 0.05
        assert by_name["agarwal_bound"][3] == agarwal_bound(budget // 4, 3 * budget // 4)


def test_numbers_depend_on_the_seed_and_the_stream_alone():
    arguments = (*made_up(1, 500), {})
    small = {"resamples": 20, "budgets": [50], "shares": [0.5]}
    one, same, other = (
        ranking_resamples(*arguments, seed=1, stream=stream, **small) for stream in "aab"
    )
    assert one == same
    assert one != other


def test_resamples_without_a_row_are_drawn_again_and_counted():
    found = ranking_resamples(
        *made_up(2, 200), {}, seed=1, stream="s", keep_rates=[0.01], resamples=200, budgets=[]
    )
    by_name = {(r["metric"], *where(r)): r["value"] for r in found}
    assert by_name["resamples_redrawn", "positives", 0.01] > 100
    assert np.isfinite(by_name["auc_bias", "positives", 0.01])


def test_one_class_and_hopeless_rates_are_told():
    predictions, truth = made_up(2, 200)
    with pytest.raises(CounterweightError, match="All 200 rows to evaluate are of class 0"):
        ranking_resamples(
            predictions, truth | {"y_general": np.zeros(200, int)}, {}, seed=1, stream="s"
        )
    with pytest.raises(CounterweightError, match="use larger rates or more rows"):
        ranking_resamples(predictions, truth, {}, seed=1, stream="s", keep_rates=[1e-9])


def test_options_are_literal_and_their_defaults_those_of_the_function():
    parameters = inspect.signature(ranking_resamples).parameters
    for name, fragment in components.options("protocol", "ranking_resamples").items():
        default = parameters[name].default
        assert fragment["default"] == (list(default) if isinstance(default, tuple) else default)
