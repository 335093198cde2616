"""Off-policy value of offers: against known truths."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.offer_value import (
    Against,
    OfferDensity,
    against_direction,
    answers_together,
    best_single,
    chance_of_draws,
    drawn_density,
    drawn_value,
    offer_density,
    offer_value,
    single_choices,
    window_rule,
)
from scipy.special import expit

ETA, K = (0.35, 0.65), 8.0


def logged(seed, rows=1500, policy="uniform"):
    """Two kinds of people, logged offers, and a policy with its true value."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    t = rng.random(rows)
    if policy == "biased":
        t = expit(X[:, 0] + rng.normal(size=rows))
    elif policy == "levels":
        t = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], size=rows)
    eta = np.where(X[:, 1] > 0, *ETA)
    answer = (rng.random(rows) < expit(K * (t - eta))).astype(int)
    asked = np.clip(0.55 + 0.1 * X[:, 1], 0.1, 0.9)
    if policy == "levels":
        asked = np.round((asked - 0.1) / 0.2) * 0.2 + 0.1
    return X, t, answer, asked, float(np.mean(expit(K * (asked - eta)) * (1 - asked)))


def test_intervals_cover_the_true_value_of_uniform_logs():
    covered = {"ips": [], "snips": []}
    gaps, smoothing = [], []
    for seed in range(60):
        X, t, answer, policy, truth = logged(seed)
        value = offer_value(t, answer, policy, offer_density(X, t, "uniform"))
        for name, hits in covered.items():
            estimate = getattr(value, name)
            hits.append(estimate.low <= truth <= estimate.high)
        gaps.append((value.snips.value - truth, value.snips.standard_error))
        smoothing.append(value.smoothing)
    assert all(np.mean(hits) >= 0.88 for hits in covered.values())
    bias, error = np.mean(gaps, axis=0)
    # What the window does to the value is small beside the standard error, and is told.
    assert abs(bias) < 0.5 * error
    assert 0 < np.mean(smoothing) < 0.5 * error


@pytest.mark.parametrize("policy", ["uniform", "biased", "levels"])
def test_an_estimated_density_finds_the_value(policy):
    found = []
    for seed in range(6):
        X, t, answer, asked, truth = logged(seed, 2000, policy)
        value = offer_value(t, answer, asked, offer_density(X, t))
        found.append((value.ips.value / truth, value.snips.value / truth))
        assert value.rows_unsupported < 0.02 * len(t)
    assert np.abs(np.mean(found, axis=0) - 1).max() < 0.08


def test_acceptance_that_does_not_depend_on_the_offer_is_found_without_bias():
    """Then smoothing does nothing, and SNIPS of answers all alike is exact."""
    X, t, _, policy, _ = logged(0)
    value = offer_value(
        t, np.ones(len(t), int), policy, offer_density(X, t, "uniform"), revenue=(1.0, 0.0)
    )
    assert value.snips.value == pytest.approx(1.0) and value.smoothing == pytest.approx(0.0)
    assert value.ips.value == pytest.approx(1.0, abs=4 * value.ips.standard_error)


def test_the_window_is_cut_at_the_ends_of_the_range():
    density = OfferDensity(np.linspace(0, 1, 11), None, np.full((3, 10), 0.1))
    low, high = np.array([-0.1, 0.2, 0.95]), np.array([0.1, 0.4, 1.2])
    assert np.allclose(density.between(low, high), [0.1, 0.2, 0.05])


def test_levels_count_as_such_and_uniform_ones_have_equal_probability():
    X, t, answer, policy, _ = logged(1, policy="levels")
    density = offer_density(X, t, "uniform")
    assert np.allclose(density.levels, [0.1, 0.3, 0.5, 0.7, 0.9])
    assert (density.probability == 0.2).all()
    value = offer_value(t, answer, policy, density)
    match = np.isclose(t, policy)
    assert value.rows_matched == match.sum() and value.bandwidth == 0
    assert value.ips.value == pytest.approx(np.mean(5 * match * answer * (1 - policy)))


def test_offers_that_hardly_vary_give_no_support_and_are_told(caplog):
    X, _, _, _, _ = logged(2)
    t = np.clip(0.3 + 0.1 * X[:, 0], 0, 1)
    answer = (np.random.default_rng(0).random(len(t)) < t).astype(int)
    value = offer_value(t, answer, np.full(len(t), 0.9), offer_density(X, t))
    assert value.rows_unsupported > 0.95 * len(t)
    assert "cannot be learned from this log" in caplog.text
    constant = np.full(len(t), 0.4)
    value = offer_value(constant, answer, constant + 0.3, offer_density(X, constant))
    assert value.ips is None and value.snips is None and value.rows_matched == 0
    assert value.rows_unsupported == len(t)
    same = offer_value(constant, answer, constant, offer_density(X, constant))
    assert same.snips.value == pytest.approx(0.6 * answer.mean())


def test_noise_does_not_pass_for_a_policy_but_a_policy_is_found():
    X, t, *_ = logged(3)
    by_chance = offer_density(X, t)
    assert by_chance.probability.std(axis=0).max() < 0.03
    followed = offer_density(X, expit(2 * X[:, 0]))
    bins = followed.bins(expit(2 * X[:, 0]))
    own = followed.probability[np.arange(len(X)), bins]
    assert np.median(own) > 0.6
    assert np.allclose(followed.probability.sum(axis=1), 1)


def test_the_same_log_gives_the_same_density():
    X, t, *_ = logged(4, 400)
    X[::9, 0] = np.nan
    first, second = offer_density(X, t), offer_density(X, t)
    assert np.array_equal(first.probability, second.probability)
    assert np.isfinite(first.probability).all()


def test_the_window_narrows_with_the_rows():
    rng = np.random.default_rng(0)
    small, large = rng.random(1000), rng.random(32000)
    assert window_rule(small) / window_rule(large) == pytest.approx(2, rel=0.05)
    assert window_rule(small) == pytest.approx(1.06 * small.std() / 1000**0.2)


def test_what_does_not_fit_together_is_told():
    X, t, answer, policy, _ = logged(5, 100)
    density = offer_density(X, t, "uniform")
    with pytest.raises(CounterweightError, match="same rows"):
        offer_value(t[:9], answer[:9], policy[:9], density)
    with pytest.raises(CounterweightError, match="finite"):
        offer_value(t, answer, np.where(policy > 0.5, np.nan, policy), density)


def test_features_or_nothing_say_how_past_offers_were_made():
    X, t, answer, policy, _ = logged(5, 400)
    assert offer_value(t, answer, policy) == offer_value(t, answer, policy, drawn_density(t))
    by_features = offer_value(t, answer, policy, offer_density(X, t))
    assert offer_value(t, answer, policy, X) == by_features
    with pytest.raises(CounterweightError, match="same rows"):
        offer_value(t, answer, policy, X[:9])


PRICES = np.array([0.125, 0.5, 0.75, 0.875])


def priced(seed, asked, rows=1000):
    """Four levels by known chances, a policy of one offer each to two kinds, its true value."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows) < 0.5
    chance = np.where(kind[:, None], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])
    at = (rng.random(rows)[:, None] > chance.cumsum(axis=1)).sum(axis=1)
    eta = np.where(kind, *ETA)
    answer = (rng.random(rows) < expit(K * (PRICES[at] - eta))).astype(int)
    edges = np.array([-0.05, 0.3, 0.6, 0.8, 0.95])
    policy = np.where(kind, *asked)
    truth = np.mean(
        [expit(K * (one - own)) * (1 - one) for one, own in zip(asked, ETA, strict=True)]
    )
    return PRICES[at], answer, policy, OfferDensity(edges, PRICES, chance), truth


@pytest.mark.parametrize("asked", [(0.5, 0.75), (0.3, 0.6), (0.7, 0.86)])
def test_values_at_levels_cover_and_between_levels_bounds_do_so_too(asked):
    hits, lengths, values = {"ips": [], "snips": []}, [], []
    for seed in range(1000, 1400):
        t, answer, policy, density, truth = priced(seed, asked)
        value = offer_value(t, answer, policy, density)
        for name, own in hits.items():
            estimate = getattr(value, name)
            own.append(estimate.low <= truth <= estimate.high)
        values.append((value.ips.value, value.snips.value))
        lengths.append([getattr(value, one).high - getattr(value, one).low for one in hits])
        assert value.rows_between == (0 if asked[0] in PRICES else 1000) and not value.rows_beyond
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / 400)
    assert all(np.mean(own) >= least for own in hits.values())
    if asked[0] in PRICES:
        # As long as intervals that know the variance of the estimate, but for a quarter.
        known = 2 * 1.96 * np.std(values, axis=0)
        assert (np.mean(lengths, axis=0) <= 1.25 * known).all()


def test_beyond_the_levels_no_value_is_given(caplog):
    t, answer, policy, density, _ = priced(0, (0.9, 0.5))
    value = offer_value(t, answer, policy, density)
    assert value.ips is None and value.snips is None
    assert value.rows_beyond == int((policy > 0.875).sum()) and "not told" in caplog.text


def test_the_interpolation_is_linear_and_the_ends_are_those_of_the_levels():
    t, answer, policy, density, _ = priced(1, (0.6, 0.6))
    value = offer_value(t, answer, policy, density)
    below, above = (
        offer_value(t, answer, np.full(len(t), one), density, revenue=(0.4, 0.0))
        for one in (0.5, 0.75)
    )
    assert value.ips.value == pytest.approx(0.6 * below.ips.value + 0.4 * above.ips.value)
    assert value.ips.low == pytest.approx(min(below.ips.low, value.ips.low))
    assert value.snips.low <= below.snips.low + 1e-12
    assert value.snips.high >= above.snips.high - 1e-12


def test_the_test_of_chance_has_uniform_p_and_sees_mean_and_spread():
    found = []
    for seed in range(300):
        rng = np.random.default_rng([11, seed])
        X = np.column_stack([rng.normal(size=(200, 4)), np.eye(5)[rng.integers(5, size=200)]])
        found.append(chance_of_draws(X, rng.exponential(size=200)))
    assert 0.015 <= np.mean(np.array(found) < 0.05) <= 0.085
    rng = np.random.default_rng(12)
    X, noise = rng.normal(size=(800, 3)), rng.normal(size=800)
    assert chance_of_draws(X, 0.2 * X[:, 0] + noise) < 1e-3
    assert chance_of_draws(X, 0.3 * X[:, 1] ** 2 + noise) < 1e-3
    assert chance_of_draws(X, np.exp(0.4 * X[:, 2]) * noise) < 1e-3
    X[::7, 0] = np.nan
    assert chance_of_draws(X, noise) > 1e-3
    assert chance_of_draws(np.ones((50, 2)), noise[:50]) == 1.0


@pytest.mark.parametrize("levels", [0, 27, 5])
def test_values_of_drawn_offers_hold_the_truth_whatever_the_model_says(levels):
    """The policy's, and one offer's for all; the model thinks that acceptance is a half."""
    held, runs = np.zeros(3), 60
    for seed in range(runs):
        rng = np.random.default_rng([13, levels, seed])
        x, t = rng.normal(size=1500), rng.random(1500)
        offers = np.linspace(0, 1, levels) if levels else t
        t = offers[rng.integers(levels, size=1500)] if levels else t
        y = (rng.random(1500) < expit(6 * (t - 0.5) + x)).astype(float)
        policy = np.where(x > 0, 0.25, 0.75)
        density, half = drawn_density(t), np.full(1500, 0.5)
        found = drawn_value(t, y, policy, half, half, density, (1.0, -0.5))
        fresh = np.random.default_rng(1).normal(size=200_000)
        best = np.where(fresh > 0, 0.25, 0.75)
        truth = np.mean(expit(6 * (best - 0.5) + fresh) * (1 - 0.5 * best))
        for at, one in enumerate((found.ips, found.snips, found.doubly_robust)):
            held[at] += one.low <= truth <= one.high
    assert (held / runs >= 0.88).all() and held.max() <= runs


def test_neighbouring_levels_are_one_window_where_there_are_many():
    rng = np.random.default_rng(14)
    t = np.linspace(0, 1, 27)[rng.integers(27, size=2800)]
    y = (rng.random(2800) < expit(5 * (t - 0.5))).astype(float)
    for density in (drawn_density(t), offer_density(np.zeros((2800, 1)), t)):
        found = offer_value(t, y, np.full(2800, 13 / 26), density)
        assert found.rows_matched > 250 and found.rows_between == 0
        assert found.snips.high - found.snips.low < 0.12
        assert found.snips.low <= 0.25 <= found.snips.high
    few = np.linspace(0, 1, 5)[rng.integers(5, size=2800)]
    assert offer_value(few, y, np.full(2800, 0.4), drawn_density(few)).rows_between == 2800


def test_one_offer_for_all_is_near_the_one_that_earns_most():
    grid = np.linspace(0, 1, 1001)
    earned = expit(8 * (grid - 0.5)) * (1 - 0.8 * grid)
    for levels in (0, 11):
        rng = np.random.default_rng([15, levels])
        t = rng.random(4000) if not levels else rng.integers(levels, size=4000) / (levels - 1)
        y = (rng.random(4000) < expit(8 * (t - 0.5))).astype(float)
        found = best_single(t, y, (1.0, -0.8), single_choices(t))
        assert np.interp(found, grid, earned) > 0.98 * earned.max()
    assert best_single(t, y, (1.0, -0.8), np.array([0.1, 0.6])) == 0.6


def test_many_columns_of_noise_do_not_make_random_offers_look_chosen():
    """At most a third of the rows may be explained, so that enough are left to be wrong."""
    rng = np.random.default_rng(11)
    t = rng.random(60)
    assert 0 <= chance_of_draws(rng.normal(size=(60, 100)), t) <= 1
    chosen = rng.normal(size=(60, 1))
    assert chance_of_draws(chosen, chosen[:, 0] + 0.1 * t) < 1e-6
    # Fewer than ten rows, and columns that never vary, tell nothing.
    assert chance_of_draws(chosen[:9], chosen[:9, 0]) == 1 == chance_of_draws(np.ones((60, 2)), t)


def test_units_of_features_do_not_matter_to_whether_offers_were_drawn_at_random():
    rng = np.random.default_rng(8)
    X, t = rng.normal(size=(200, 3)), rng.random(200)
    by_last = t + 0.1 * X[:, 2]
    far = X * [1e6, 1.0, 1e-6]
    assert chance_of_draws(far, t) == pytest.approx(chance_of_draws(X, t), rel=1e-6) != 0
    assert chance_of_draws(far, by_last) == pytest.approx(chance_of_draws(X, by_last), rel=1e-6)
    assert chance_of_draws(far, by_last) < 0.01 < chance_of_draws(far, t)


@pytest.mark.parametrize("levels", [[0.2], [0.1, 0.5], [0.0, 0.2, 0.9]])
def test_each_level_lies_in_a_bin_of_its_own_and_the_outer_ones_in_the_middle(levels):
    t = np.repeat(levels, 40)
    density = offer_density(np.zeros((len(t), 1)), t, "uniform")
    edges = density.edges
    assert (np.diff(edges) > 0).all() and len(edges) == len(levels) + 1
    assert (edges[:-1] < levels).all() and (levels < edges[1:]).all()
    assert edges[0] + edges[1] == pytest.approx(2 * levels[0])
    assert edges[-1] + edges[-2] == pytest.approx(2 * levels[-1])
    assert density.bins(t).tolist() == np.repeat(np.arange(len(levels)), 40).tolist()


@pytest.mark.parametrize("few", [False, True])
def test_answers_that_go_against_the_direction_are_told_whatever_else_moves_them(few):
    """`few`: one of 50 gets another offer than all others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    t = (rng.random(2000) < 0.02) * 1.0 if few else rng.random(2000)
    sure = np.nan_to_num(X[:, 0])
    wrong = rng.random(2000) < expit(2 * sure + 3 - 6 * t)
    found = against_direction(X, t, wrong, 40 - 10 * t, random=True)
    above = 40 - 10 * t > (40 - 10 * t).mean()
    assert found == Against((40 - 10 * t).mean(), wrong[above].mean(), wrong[~above].mean(), True)
    assert found.above > found.others and f"{100 * found.above:.1f} % were" in found.words("down")
    for said, other in (("down", "up"), ("up", "down")):
        words = found.words(said)
        assert f"offer.direction: {said}:" in words and f"Say direction: {other}," in words
        assert "alike by the columns" not in words
        assert "alike by the columns" in found._replace(random=False).words(said)
    assert against_direction(X, t, rng.random(2000) < expit(2 * sure - 3 + 6 * t), t) is None
    assert against_direction(X[:15], t[:15], wrong[:15], t[:15]) is None


def test_no_direction_is_doubted_by_chance_or_where_columns_explain_it():
    rng = np.random.default_rng(4)
    for _ in range(40):
        X, t = rng.normal(size=(300, 4)), rng.random(300)
        assert against_direction(X, t, rng.random(300) < 0.5, t) is None
    assert against_direction(X, np.full(300, 0.5), rng.random(300) < 0.5, t) is None
    # Who is sure to buy was asked for more: acceptance rises with the price, among equals not.
    sure = rng.normal(size=3000)
    t = expit(-3 * sure + rng.normal(size=3000))
    y = rng.random(3000) < expit(4 * sure + 2 * t)
    assert against_direction(np.empty((3000, 0)), t, y, 1 - t) is not None
    assert against_direction(sure[:, None], t, y, 1 - t) is None


@pytest.mark.parametrize("rows", [2, 8])
def test_answers_of_rows_alike_that_go_together_are_told(rows):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))
    X[rng.random(200) < 0.1, 0] = np.nan
    p, who = 0.2 + 0.6 * rng.random(200), np.repeat(np.arange(200), rows)
    same = rng.random(200) < p
    found = answers_together(X[who], same[who], p[who])
    assert found.rows == len(who) and found.correlation == pytest.approx(1)
    assert f"{len(who)} rows are alike" in found.words()
    # Half of the answers are another's: a quarter of the pairs are of one.
    mixed = np.where(rng.random(len(who)) < 0.5, same[who], rng.random(len(who)) < p[who])
    if rows == 8:
        found = answers_together(X[who], mixed, p[who])
        assert found.correlation == pytest.approx(0.25, abs=0.08)
    # The order of rows is none of a person's.
    order = rng.permutation(len(who))
    again = answers_together(X[who][order], mixed[order], p[who][order])
    assert (again is None) == (answers_together(X[who], mixed, p[who]) is None)
    assert again is None or again == pytest.approx(answers_together(X[who], mixed, p[who]))


def test_independent_answers_of_rows_alike_and_rows_unlike_are_not_told():
    rng = np.random.default_rng(6)
    for rows in (1, 2, 5):
        for _ in range(40):
            X, who = rng.normal(size=(150, 2)), np.repeat(np.arange(150), rows)
            p = rng.uniform(0.05, 0.95, 150)[who]
            assert answers_together(X[who], rng.random(len(who)) < p, p) is None
    # Few kinds of many rows are people of a level, not rows of a person.
    level = rng.integers(3, size=900)
    assert answers_together(level[:, None], level == 1, np.full(900, 1 / 3)) is None
