"""Places of rows among others: by hand, by pairs, and what a row moves."""

import numpy as np
import pytest
from counterweight.numerics import ranking
from counterweight.numerics.ranking import (
    ScoreWindows,
    auc_estimate,
    bin_rows,
    first_of_each,
    moves_of_auc,
    placements,
    places,
    rising_order,
    tails_of,
    upper_end,
)


def scored(rows=60, seed=0, digits=1):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=rows).round(digits)
    return score, rng.random(rows) < 0.4, rng.choice([0.5, 1.0, 3.0], rows)


def test_a_row_stands_right_to_those_below_it_and_half_of_its_ties():
    score, positive, weight = scored()
    auc, place = placements(positive, score, weight)
    for row in range(len(score)):
        others = positive != positive[row]
        right = score[row] > score[others] if positive[row] else score[row] < score[others]
        right = right + 0.5 * (score[row] == score[others])
        assert place[row] == pytest.approx(np.average(right, weights=weight[others]))
    assert auc == pytest.approx(np.average(place[positive], weights=weight[positive]))
    assert auc == pytest.approx(np.average(place[~positive], weights=weight[~positive]))
    assert auc == pytest.approx(auc_estimate(positive, score, weight).value)


@pytest.mark.parametrize("by", ["chances", "scores"])
def test_what_a_row_moves_is_the_derivative_of_the_expected_auc(by):
    p = np.array([0.1, 0.4, 0.4, 0.8, 0.9])
    score = np.array([3.0, 1.0, 2.0, 2.0, 5.0]) if by == "scores" else None
    told = p if score is None else score
    above = (told[:, None] > told) + 0.5 * (told[:, None] == told)

    def auc(ones, zeros):
        return ones @ above @ zeros / ones.sum() / zeros.sum()

    up, down = moves_of_auc(p, score)
    for row, unit in enumerate(np.eye(5) * 1e-6):
        slope = (auc(p + unit, 1 - p) - auc(p - unit, 1 - p)) / 2e-6
        assert up[row] == pytest.approx(5 * slope, abs=1e-6)
        slope = (auc(p, 1 - p + unit) - auc(p, 1 - p - unit)) / 2e-6
        assert down[row] == pytest.approx(5 * slope, abs=1e-6)


def test_distinct_scores_have_the_rows_of_the_others_below_and_up_to_them():
    rare, common = np.array([1.0, 2.0, 2.0, 4.0]), np.array([0.0, 2.0, 2.0, 3.0])
    first, left, right = places(rare, common)
    assert (first.tolist(), left.tolist(), right.tolist()) == ([0, 1, 3], [1, 1, 4], [1, 3, 4])
    _, left, right = places(rare, common + 0.5)
    assert left is right and left.tolist() == [1, 1, 4]


def test_sums_of_weights_go_up_with_the_values():
    values, weight = np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 2.0])
    ordered, running = rising_order(values, weight)
    assert ordered.tolist() == [1, 2, 3] and running.tolist() == [1, 3, 8]
    assert rising_order(values, None)[1].tolist() == [1, 2, 3]
    distinct, middle = first_of_each(np.array([1.0, 1.0, 4.0]), np.array([0.5, 1.5, 2.5]))
    assert distinct.tolist() == [1, 4] and middle.tolist() == [1.0, 2.5]


def test_the_upper_end_leaves_out_no_more_weight_than_is_spared():
    values, weight = np.array([4.0, 1.0, 3.0, 2.0]), np.array([1.0, 4.0, 2.0, 3.0])
    for spared, end in ((0, 4), (0.9, 4), (1.5, 3), (2.9, 3), (3.5, 2), (7, 1), (99, 1)):
        assert upper_end(values, weight, spared) == end, spared


def test_bins_have_equal_weight_and_equal_values_one_bin():
    p = np.random.default_rng(1).permutation(np.arange(100.0))
    place, weight = bin_rows(p, None, 4)
    assert weight.tolist() == [25] * 4 and (place == p // 25).all()
    place, weight = bin_rows(p, np.where(p < 50, 3.0, 1.0), 4)
    assert weight == pytest.approx([50] * 4, abs=3.0)
    assert weight.sum() == 200 and (np.diff(place[np.argsort(p)]) >= 0).all()
    place, weight = bin_rows(np.zeros(9), None, 3)
    assert len(np.unique(place)) == 1 and weight.sum() == 9


@pytest.mark.parametrize("heavy", [False, True])
def test_windows_around_scores_have_the_share_of_the_weight_that_is_asked(heavy):
    rng = np.random.default_rng(2)
    score = np.sort(rng.normal(size=5000))
    weight = rng.choice([1.0, 4.0], 5000) if heavy else np.ones(5000)
    windows = ScoreWindows(score, weight)
    effective = weight.sum() ** 2 / (weight @ weight)
    share = max(ranking.WINDOW_ROWS / effective, effective**-0.2 / 2)
    assert ranking.LEAST_SHARE < share < ranking.LARGEST_SHARE
    np.testing.assert_allclose(windows.total / weight.sum(), share, rtol=0.02)
    for at in (0, 100, -1):
        inside = slice(windows.start[at], windows.stop[at])
        assert windows.total[at] == pytest.approx(weight[inside].sum())
        own = weight[inside].sum() ** 2 / (weight[inside] ** 2).sum()
        assert windows.effective[at] == pytest.approx(own)
        mean = np.average(score[inside], weights=weight[inside])
        assert windows.mean(score)[at] == pytest.approx(mean)
    # Around the middle as much lies on either side, and at the ends windows stay within.
    middle = len(windows.score) // 2
    below = weight[windows.start[middle] : np.searchsorted(score, windows.score[middle])].sum()
    assert below == pytest.approx(windows.total[middle] / 2, rel=0.02)
    assert windows.start[0] == 0 and windows.stop[-1] == 5000
    assert (np.diff(windows.score) > 0).all() and len(windows.score) == ranking.POINTS


def test_rows_with_one_score_stand_or_fall_together():
    score = np.repeat([0.0, 1.0, 2.0], [400, 200, 400])
    windows = ScoreWindows(score, np.ones(1000))
    assert {*windows.start} <= {0, 400, 600} and {*windows.stop} <= {400, 600, 1000}
    few = ScoreWindows(np.arange(8.0), np.ones(8))
    assert few.total.max() <= 8 * ranking.LARGEST_SHARE + 1


def test_a_long_tail_is_told_by_the_means_between_its_quantiles():
    rng = np.random.default_rng(3)
    squares = rng.permutation(np.arange(1.0, 1001))
    found = tails_of(squares, np.ones(1000))
    ends = (ranking.TAILS * 1000).round().astype(int)
    rising = np.sort(squares)
    means = [rising[a:b].mean() / rising.mean() for a, b in zip(ends, ends[1:], strict=False)]
    np.testing.assert_allclose(found, means, rtol=5e-3)
    np.testing.assert_allclose(tails_of(7 * squares, np.full(1000, 3.0)), found, rtol=1e-9)
    assert tails_of(np.zeros(9), np.ones(9)).tolist() == [1.0] * (len(ranking.TAILS) - 1)
