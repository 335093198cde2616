"""Regions where nobody has an outcome: one column's, and kinds by their chance of a label."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.no_outcomes import (
    BY_CHANCE,
    EmptyRanges,
    Ends,
    identified_records,
    least_chance,
)
from counterweight.weighting.overlap import RARE, Support
from scipy.special import expit


def _cut(X, hidden_where, rng, share=0.6):
    """Labeled and unlabeled rows: none labeled where it is said, others by chance."""
    labeled = (rng.random(len(X)) < share) & ~hidden_where
    return X[labeled], X[~labeled]


def test_the_edge_is_the_labeled_extreme_and_the_run_is_as_long_as_chance_forbids():
    labeled = np.arange(50.0)[:, None]
    # Half of the rows are labeled: beyond two ends, K rows have none by chance with 2^-K.
    least = int(np.ceil(np.log2(2 * 2 / BY_CHANCE)))
    for run in (least - 1, least):
        inside = np.linspace(0, 49, 50 - run)
        unlabeled = np.r_[inside, np.full(run, 60.0)][:, None]
        found = EmptyRanges.find(labeled, unlabeled, [0])
        assert len(found.column) == (run == least)
    assert (found.low[0], found.high[0]) == (49.0, np.inf)
    assert found.hold(np.array([[49.0], [49.1], [0.0]])).tolist() == [-1, 0, -1]
    np.testing.assert_array_equal(found.nearest([[70.0], [3.0]]), [[49.0], [3.0]])


@pytest.mark.parametrize("kind", ["tail", "integer", "gap"])
def test_rows_beyond_a_cut_are_unsupported_and_told_the_edge(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 6))
    if kind == "integer":
        X[:, 2] = rng.integers(0, 6, 3000)
    x = X[:, 2]
    beyond = {"tail": x < -1, "integer": x >= 4, "gap": (x > 0) & (x < 0.3)}[kind]
    seen, hidden = _cut(X, beyond, rng)
    names = [*"ab", "income", *"def"]
    support = Support().fit(seen, rng=rng, names=names, unlabeled=hidden)
    told = support.reason(X[beyond])
    edge = {
        "tail": f"below {seen[:, 2].min():.6g}",
        "integer": "above 3",
        "gap": f"between {seen[seen[:, 2] <= 0, 2].max():.6g} and ",
    }[kind]
    named = np.array([one.startswith(f"income {edge}") for one in told])
    assert named.mean() >= 0.98 and told[named][0].endswith("nobody there has an outcome")
    assert support.outside(X[~beyond]).mean() <= 0.03
    moved = support.nearest(X)
    assert EmptyRanges.hold(support.empty_, moved).max() == -1
    # Features are kept as normal scores, so those of the nearest row are back to a few digits.
    assert support.outside(moved).mean() <= 0.001
    clipped = np.clip(X, seen.min(axis=0), seen.max(axis=0))
    inside = ~support.outside(X) & (clipped == X).all(axis=1)
    np.testing.assert_array_equal(moved[inside], X[inside])
    again = Support.from_arrays(support.to_arrays())
    np.testing.assert_array_equal(again.reason(X), support.reason(X))


@pytest.mark.parametrize("d", [5, 100])
def test_labels_hidden_at_random_leave_no_empty_range(d):
    rng = np.random.default_rng(d)
    found = 0
    for share in (0.1, 0.5, 0.9):
        X = np.column_stack([rng.normal(size=(1000, d)), rng.poisson(2, size=(1000, d))])
        seen, hidden = _cut(X, np.zeros(1000, bool), rng, share)
        found += len(EmptyRanges.find(seen, hidden, np.arange(2 * d)).column)
    assert found == 0


def test_a_cut_that_few_outcomes_cross_is_found_by_the_chance_of_a_label():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 4))
    beyond = X[:, 0] + X[:, 1] > 1
    p = np.where(beyond, 0.01, 0.6)
    s = rng.random(4000) < p
    # Scores that order the rows as a good selector does, with some error.
    score = expit(6 * (1 - X[:, 0] - X[:, 1]) + rng.normal(scale=0.2, size=4000))
    chance = score[s], score[~s]
    support = Support().fit(X[s], rng=rng, unlabeled=X[~s], chance=chance)
    outside = support.outside(X, score)
    assert outside[beyond].mean() >= 0.9 and outside[~beyond].mean() <= 0.03
    assert (support.reason(X, score) == RARE).any()
    assert support.outside(X)[beyond].mean() < 0.5
    again = Support.from_arrays(support.to_arrays())
    assert again.least_chance_ == support.least_chance_ > 0
    with pytest.raises(CounterweightError, match="chances of them are given"):
        Support().fit(X[s], rng=rng, chance=(score, score))
    with pytest.raises(CounterweightError, match="4000 rows have 3 chances"):
        support.outside(X, score[:3])


@pytest.mark.parametrize("side", [1, -1])
def test_a_tail_that_few_outcomes_reach_is_told(side):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(1000, 5))
    X[:, 4] = np.round(X[:, 4])  # many rows at each value
    for k in (1, 4):
        beyond = side * X[:, k] > 0.6
        s = rng.random(1000) < np.where(beyond, 0.0, 0.5)
        s[rng.choice(np.flatnonzero(beyond & (side * X[:, k] < 1.2)), 3, replace=False)] = True
        found = EmptyRanges.find(X[s], X[~s], np.arange(5))
        held = found.hold(X[~s]) >= 0
        assert held[beyond[~s]].mean() > 0.9 and held[~beyond[~s]].mean() < 0.01
        assert found.scarce.sum() == 1 and found.column[found.scarce] == [k]
        told = found.words([*"abcde"])[found.scarce]
        side_of = "above" if side > 0 else "below"
        assert told[0].startswith(f"{'abcde'[k]} {side_of} ")
        assert told[0].endswith("hardly anybody there has an outcome")
        assert (EmptyRanges.hold(found, found.nearest(X)) == -1).all()
        again = EmptyRanges.of(vars(found))
        np.testing.assert_array_equal(again.words([*"abcde"]), found.words([*"abcde"]))
        before = {name: values for name, values in vars(found).items() if name != "scarce"}
        assert not EmptyRanges.of(before).scarce.any()


def test_both_ends_are_searched_alike():
    rng = np.random.default_rng(14)
    found = 0
    for _ in range(20):
        X = np.round(rng.normal(size=(1500, 3)), int(rng.integers(0, 4)))
        low, high = np.quantile(X[:, 0], [0.2, 0.85])
        s = rng.random(1500) < np.where((X[:, 0] < low) | (X[:, 0] > high), 0.01, 0.5)
        one = EmptyRanges.find(X[s], X[~s], np.arange(3))
        other = EmptyRanges.find(-X[s], -X[~s], np.arange(3))
        ends = sorted(zip(one.column, one.low, one.high, one.scarce, strict=True))
        turned = sorted(zip(other.column, -other.high, -other.low, other.scarce, strict=True))
        assert ends == turned
        found += one.scarce.sum()
    assert found >= 10


def test_a_value_in_a_gap_goes_to_its_nearer_end():
    gap = EmptyRanges(np.zeros(1, int), np.array([2.0]), np.array([10.0]), np.zeros(1, bool))
    moved = gap.nearest([[2.0], [3.0], [6.0], [6.5], [9.0], [10.0], [11.0]])
    np.testing.assert_array_equal(moved[:, 0], [2, 2, 2, 10, 10, 10, 11])


def test_a_tail_with_as_many_outcomes_as_a_tenth_is_none():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(4000, 1))
    beyond = X[:, 0] > 0.6
    s = rng.random(4000) < np.where(beyond, 0.05, 0.5)
    assert not EmptyRanges.find(X[s], X[~s], [0]).scarce.any()


def test_few_outcomes_are_asked_for_half_the_proof():
    # Ten of 800 with a label at the lowest score, of 10,800 of whom every second has one: the
    # bound is 2.1 %, above .05 and below .1 of the share of all.
    p, other = np.r_[np.full(10, 0.1), np.full(5390, 0.5)], np.r_[np.full(790, 0.1), [0.5] * 4610]
    assert least_chance(p, other) == 0.1
    fewer = np.r_[np.full(390, 0.1), [0.5] * 5010]
    assert least_chance(p, fewer) == least_chance(p, fewer, 9) == -np.inf
    assert least_chance(p, fewer, 10) == 0.1


def test_chances_without_use_for_the_label_give_no_threshold():
    rng = np.random.default_rng(6)
    for n in (100, 2000):
        for share in (0.05, 0.5):
            s = rng.random(n) < share
            p = rng.random(n)
            assert least_chance(p[s], p[~s]) == -np.inf


def test_the_threshold_by_hand():
    # 100 rows with the score .1 without a label, 100 of .5 with: 3 % at most at 95 %.
    assert least_chance(np.full(100, 0.5), np.full(200, 0.1)) == 0.1
    # Of 20 rows without, up to 14 % may have one.
    assert least_chance(np.full(100, 0.5), np.full(20, 0.1)) == -np.inf


def test_columns_in_another_order_have_the_same_ranges():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(1000, 5))
    seen, hidden = _cut(X, X[:, 3] > 0.5, rng)
    order, rows = np.array([4, 2, 3, 0, 1]), rng.permutation(len(seen))
    one = EmptyRanges.find(seen, hidden, np.arange(5))
    other = EmptyRanges.find(seen[rows][:, order], hidden[:, order], np.arange(5))
    assert one.column.tolist() == order[other.column].tolist() == [3]
    np.testing.assert_array_equal(one.low, other.low)


def records_of(design, supported, known=0.3, share=0.4, exact=False):
    """By part and variable, with the worst ends: hidden rows of mean .5 and interval .4 to .6."""
    expected = np.linspace(0.2, 0.8, len(design))
    near = expected - 0.1, expected + 0.1
    ends = Ends(expected, np.array(supported), np.array(design), (0.0, 1.0), near, None)
    told, worst = identified_records(
        ends, known, share, lambda mask: (0.5, 0.05, 0.4, 0.6), "target_mean", exact
    )
    return {
        (one["metric"], one.get("part", ""), one.get("variable", "")): one for one in told
    }, worst


def test_what_rests_on_data_has_a_mean_and_the_rest_bounds_by_hand():
    told, worst = records_of([1.0, 1.0, 2.0], [True, True, False])
    # Half of the hidden weight, of .4 of all, is beyond the data.
    value = {key: one["value"] for key, one in told.items()}
    assert value["supported_share", "", ""] == pytest.approx(0.8)
    for variable, end in (("", 0.5), ("low", 0.4), ("high", 0.6)):
        assert value["target_mean", "supported", variable] == pytest.approx((0.3 + 0.2 * end) / 0.8)
    error = told["target_mean", "supported", ""]["standard_error"]
    assert error == pytest.approx(0.2 * 0.05 / 0.8)
    low, high = 0.3 + 0.2 * 0.4, 0.3 + 0.2 * 0.6
    assert worst == pytest.approx((low, high + 0.2))
    assert value["target_bounds", "worst", "low"] == pytest.approx(low)
    assert value["target_bounds", "worst", "high"] == pytest.approx(high + 0.2)
    gamma = next(part for _, part, _ in told if part.startswith("gamma"))
    assert value["target_bounds", gamma, "low"] == pytest.approx(low + 0.2 * 0.7)
    assert value["target_bounds", gamma, "high"] == pytest.approx(high + 0.2 * 0.9)
    assert value["unsupported_headline", "", ""] == 1
    assert not any(part == "slope" for _, part, _ in told)


def test_little_beyond_the_data_makes_no_headline_and_nothing_no_bounds():
    told, worst = records_of([8.0, 8.0, 1.0], [True, True, False])
    assert told["unsupported_headline", "", ""]["value"] == 0 and worst is None
    # More than a fifth of the rows without an outcome do, however few these are among all.
    for share, weight, far in ((0.02, 8.1, 0), (0.02, 7.9, 1), (0.5, 8.1, 1), (0.2, 8.1, 0)):
        told, worst = records_of([weight, 2.0], [True, False], 0.0, share)
        assert told["unsupported_headline", "", ""]["value"] == far == (worst is not None)
    for design, on, exact in (([1.0, 2.0], [True, True], False), ([1.0, 9.0], [True, False], True)):
        told, worst = records_of(design, on, exact=exact)
        assert len(told) == 1 and worst is None
    # Where nothing rests on data there is no mean of what does, and bounds are all there is.
    told, worst = records_of([1.0, 1.0], [False, False], known=0.0, share=1.0)
    assert ("target_mean", "supported", "") not in told and worst == pytest.approx((0.0, 1.0))
