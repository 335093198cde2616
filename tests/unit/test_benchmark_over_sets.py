"""Ranks, tests and shares over data sets against published numbers and closed forms."""

import numpy as np
import pytest
from counterweight import benchmark
from scipy import stats

#: AUC of four methods on 14 data sets, with ties and one data set that all have right.
AUC = np.round(np.random.default_rng(14).beta(8, 2, (14, 4)), 2)
AUC[3], AUC[5, 1] = 1.0, AUC[5, 2]


def test_ranks_sum_to_the_same_in_every_set_and_ties_share_theirs():
    ranked = benchmark.ranks(AUC, "more")
    assert (ranked.sum(axis=1) == 10).all()
    assert ranked[3].tolist() == [2.5] * 4 and ranked[5, 1] == ranked[5, 2]
    assert (benchmark.ranks(-AUC, "less") == ranked).all()


def test_no_answer_ranks_last_and_ranks_do_not_see_scale():
    values = np.array([[0.3, np.nan, 0.1], [0.5, 0.2, np.nan]])
    assert benchmark.ranks(values).tolist() == [[2, 3, 1], [2, 1, 3]]
    assert benchmark.ranks(values, "more").tolist() == [[1, 3, 2], [1, 2, 3]]
    assert (benchmark.ranks(1000 * AUC - 5) == benchmark.ranks(AUC)).all()


def test_friedmans_test_is_scipys_in_its_f_form():
    found = benchmark.friedman(benchmark.ranks(AUC))
    theirs = stats.friedmanchisquare(*AUC.T)
    assert found.chi_square == pytest.approx(theirs.statistic, rel=1e-12)
    assert found.f == pytest.approx(13 * found.chi_square / (14 * 3 - found.chi_square))


def test_friedmans_test_of_equal_methods_is_one_and_of_ever_equal_order_is_zero():
    assert benchmark.friedman(np.full((6, 3), 2.0)).p == 1
    assert benchmark.friedman(np.tile([1.0, 2.0, 3.0], (6, 1))).p == 0


def test_critical_differences_are_the_published_ones():
    # Demšar (2006), section 3.2.2 and table 5: four classifiers on 14 data sets; ten of them.
    assert benchmark.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert benchmark.critical_difference(4, 14, 0.1) == pytest.approx(1.12, abs=0.005)
    factor = np.sqrt(10 * 11 / (6 * 30))
    assert benchmark.critical_difference(10, 30) / factor == pytest.approx(3.164, abs=0.001)
    # Of two methods: the sign test's normal law.
    q = benchmark.critical_difference(2, 50) / np.sqrt(2 * 3 / (6 * 50))
    assert q == pytest.approx(1.960, abs=0.001)


def test_holms_chances_step_down():
    found = benchmark.holm([0.01, 0.04, 0.03, 0.005])
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benchmark.holm([0.9, 0.6]).tolist() == [1.0, 1.0]
    assert benchmark.holm([0.02]).tolist() == [0.02]


def test_tests_of_pairs_are_scipys_and_zero_differences_say_nothing():
    differences = AUC[:, 0] - AUC[:, 3]
    theirs = stats.wilcoxon(differences, zero_method="pratt").pvalue
    assert benchmark.signed_ranks(differences) == theirs
    assert benchmark.signed_ranks([0.0, 0.0]) == 1
    assert benchmark.signs([-1.0] * 11 + [0.0] + [2.0] * 2)[:3] == (11, 1, 2)
    p = benchmark.signs([-1.0] * 11 + [0.0] + [2.0] * 2)[3]
    assert p == pytest.approx(stats.binomtest(11, 13).pvalue)
    assert benchmark.signs([0.0])[3] == 1


def test_a_share_is_0_for_the_plain_one_and_1_for_the_one_that_lost_nothing():
    rng = np.random.default_rng(1)
    equal = rng.uniform(0.3, 0.5, 20)
    plain = equal + rng.uniform(0.1, 0.3, 20)
    assert benchmark.recovered(plain, plain, equal) == (0, 0, 0)
    assert benchmark.recovered(plain, equal, equal) == pytest.approx((1, 1, 1))
    half = benchmark.recovered(plain, (plain + equal) / 2, equal)
    assert half == pytest.approx((0.5, 0.5, 0.5))
    share, low, high = benchmark.recovered(plain, equal - 0.1, equal)
    assert low < share < high and low > 1
    # Units do not count.
    assert benchmark.recovered(9 * plain, 9 * (equal - 0.1), 9 * equal) == pytest.approx(
        (share, low, high)
    )


def test_there_is_no_share_where_nothing_was_lost():
    rng = np.random.default_rng(2)
    equal = rng.uniform(0.3, 0.5, 20)
    plain = equal + rng.normal(0, 0.1, 20)
    plain += (equal - plain).mean()
    assert np.isnan(benchmark.recovered(plain, equal, equal)).all()
    assert np.isnan(benchmark.recovered([0.5, 0.6], [0.4, 0.5], [0.4, 0.5])).all()


def test_intervals_of_shares_hold_the_truth_as_often_as_they_say():
    rng, held = np.random.default_rng(3), 0
    for _ in range(300):
        lost = rng.gamma(4, 0.05, 25)
        won = 0.4 * lost + rng.normal(0, 0.05, 25)
        _, low, high = benchmark.recovered(lost, lost - won, np.zeros(25))
        held += low <= 0.4 <= high
    assert 0.91 <= held / 300 <= 0.985
