"""Shares of three and more classes by label shift: known worlds, two classes, what does not fit."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.tilt import class_shares, estimate_delta, shares_differ

CENTERS = np.array([[0, 0], [1.6, 0.3], [0.2, 1.7]])
LABELED, TARGET = np.array([0.5, 0.3, 0.2]), np.array([0.15, 0.25, 0.6])


def drawn(rows, shares, rng):
    y = rng.choice(3, rows, p=shares)
    return CENTERS[y] + rng.normal(size=(rows, 2)), y


def told(x, sharper=1.0):
    """Classes as a model of the labeled has them; too sure of itself where `sharper` is not 1."""
    logs = -((x[:, None] - CENTERS) ** 2).sum(axis=2) / 2 + np.log(LABELED)
    p = np.exp(sharper * (logs - logs.max(axis=1, keepdims=True)))
    return p / p.sum(axis=1, keepdims=True)


def test_shares_and_their_intervals_are_those_of_the_world():
    """Of a model that is too sure of itself; both ways differ by chance alone."""
    held, gaps, chances = {"em": [], "moments": []}, {"em": [], "moments": []}, []
    for seed in range(120):
        rng = np.random.default_rng([seed, 3])
        (x, y), (x_target, _) = drawn(500, LABELED, rng), drawn(800, TARGET, rng)
        found = [class_shares(told(x, 1.7), y, told(x_target, 1.7), by=by) for by in held]
        for one in found:
            held[one.by].append((one.low <= TARGET) & (one.high >= TARGET))
            gaps[one.by].append((one.shares - TARGET) / one.standard_error)
        chances.append(shares_differ(*found))
    for by in held:
        assert 0.92 <= np.mean(held[by]) <= 0.98
        assert 0.85 <= np.std(gaps[by]) <= 1.15
        assert np.abs(np.mean(gaps[by], axis=0)).max() < 0.3
    # A chance is below .1 in a tenth of right worlds.
    assert 0.02 <= np.mean(np.array(chances) < 0.1) <= 0.2


@pytest.mark.parametrize(("share", "draws"), [(0.0, 60), (0.02, 80)])
def test_intervals_of_rare_classes_hold_their_share_and_are_never_of_width_0(share, draws):
    """Where the estimate often ends at 0, or moments go below it."""
    shares, held = np.array([share, 0.25, 0.75 - share]), {"em": [], "moments": []}
    for seed in range(draws):
        rng = np.random.default_rng([seed, 8])
        (x, y), (x_target, _) = drawn(200, LABELED, rng), drawn(300, shares, rng)
        for by in held:
            one = class_shares(told(x), y, told(x_target), by=by)
            assert (one.low >= 0).all() and (one.low < one.high).all() and (one.high <= 1).all()
            assert (one.low <= np.maximum(one.shares, 0) + 1e-6).all()
            held[by].append((one.low <= shares) & (shares <= one.high))
    for by in held:
        assert np.mean(held[by], axis=0).min() >= 0.9, by


def test_two_classes_are_those_of_delta():
    rng = np.random.default_rng(1)
    (x, y), (x_target, _) = drawn(700, LABELED, rng), drawn(900, TARGET, rng)
    p, p_target = told(x)[:, 0], told(x_target)[:, 0]
    one = (y == 0).astype(int)
    delta = estimate_delta(p, one, p_target, by="em", fitted=False)
    both = [np.column_stack([1 - part, part]) for part in (p, p_target)]
    two = class_shares(both[0], one, both[1], calibrate=False)
    assert two.shares[1] == pytest.approx(delta.rate, abs=1e-6)
    # Delta's error is of the rows at hand, this one's of where they come from.
    spread = np.hypot(delta.rate_error, np.sqrt(delta.rate * (1 - delta.rate) / len(x_target)))
    assert two.standard_error[1] == pytest.approx(spread, rel=0.05)


def test_probabilities_of_target_rows_have_the_shares_as_their_means():
    rng = np.random.default_rng(2)
    (x, y), (x_target, y_target) = drawn(3_000, LABELED, rng), drawn(5_000, TARGET, rng)
    p, p_target = told(x, 0.6), told(x_target, 0.6)
    one = class_shares(p, y, p_target)
    q = one.probabilities(p_target)
    np.testing.assert_allclose(q.mean(axis=0), one.shares, atol=1e-9)
    np.testing.assert_allclose(one.shares.sum(), 1)
    own = np.arange(len(y_target))
    plain = -np.log(p_target[own, y_target]).mean()
    assert -np.log(q[own, y_target]).mean() < plain - 0.1
    # As Bayes has it, who knows the world.
    best = told(x_target) * TARGET / LABELED
    best /= best.sum(axis=1, keepdims=True)
    assert -np.log(q[own, y_target]).mean() == pytest.approx(
        -np.log(best[own, y_target]).mean(), abs=0.02
    )


def test_moments_solve_their_equation():
    p = np.eye(3)[[0, 0, 0, 1, 1, 2, 2, 2, 1, 0]]
    y = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2, 2])
    p_target = np.eye(3)[[0, 1, 2, 2, 2]]
    one = class_shares(p, y, p_target, by="moments")
    true_by_told = np.array([[2 / 2, 1 / 3, 1 / 5], [0, 2 / 3, 1 / 5], [0, 0, 3 / 5]])
    np.testing.assert_allclose(true_by_told @ one.shares, [0.2, 0.2, 0.6], atol=1e-12)


@pytest.mark.parametrize(("rows", "told"), [(8, "chance does that"), (8_000, "are not alike")])
def test_a_share_below_0_is_chance_unless_it_is_far_below(rows, told):
    """In the target fewer rows are foretold as class 2 than there would be of the others alone."""
    told_as = np.tile([0, 0, 0, 2, 1, 1, 1, 2, 2, 2, 2, 0], rows // 4)
    y = np.tile([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], rows // 4)
    target = np.eye(3)[np.tile([0, 1], 2 * rows)]
    found = class_shares(np.eye(3)[told_as], y, target, by="moments")
    assert found.shares[2] < 0 and told in found.told[0]


def test_other_features_of_a_class_are_no_label_shift():
    rng = np.random.default_rng(3)
    (x, y), (x_target, _) = drawn(4_000, LABELED, rng), drawn(4_000, LABELED, rng)
    x_target = np.where(x_target > 1, x_target + 1.5, x_target)
    pair = [class_shares(told(x), y, told(x_target), by=by) for by in ("em", "moments")]
    assert shares_differ(*pair) < 0.01


def test_a_class_that_is_not_there_ends_at_zero_and_is_told():
    rng = np.random.default_rng(4)
    (x, y), (x_target, _) = drawn(2_000, LABELED, rng), drawn(400, [0.0, 1.0, 0.0], rng)
    one = class_shares(told(x), y, told(x_target))
    assert one.shares[2] < 0.05 and one.shares.sum() == pytest.approx(1)
    if one.shares.min() < 1e-9:
        assert "a share of 0" in one.told[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"p": np.full((4, 3), 0.5)}, "a sum of 1"),
        ({"p": np.full((4, 2), 0.5)}, "found the shapes"),
        ({"y": [0, 1, 2, 3]}, "numbers 0 to 2"),
        ({"y": [0, 1, 1, 0]}, "No labeled row is of class 2"),
        ({"by": "hope"}, "choose em or moments"),
        ({"by": "moments", "p": np.full((4, 3), 1 / 3)}, "choose by: em"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(change, says):
    p = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    given = {"p": p, "y": [0, 1, 2, 0], "p_target": p} | change
    with pytest.raises(CounterweightError, match=says) as error:
        class_shares(**given)
    assert "\n" not in str(error.value)
