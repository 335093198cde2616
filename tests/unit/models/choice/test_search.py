"""Starts of the search keep moments, and the number of segments is that of least length."""

import numpy as np
import pytest
from counterweight.models.choice import search
from counterweight.models.choice.offer_model import acceptance
from counterweight.models.choice.search import Search, Sizes
from counterweight.models.choice.steps import ChoiceRows, Choices, fit_curves
from counterweight.numerics.emissions import SMOOTHING, Emission

RULE = {"floor": 1e-3, "minimum_rows": 4.0, "prior": None}


def crowds(n=900, seed=0, codes=None):
    """Two crowds of people with a curve each."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % 3 == 0
    X = rng.normal(size=(n, 2)) + np.where(own, 2.5, -1.0)[:, None]
    t = rng.random(n)
    y = (rng.random(n) < acceptance(t, np.where(own, 0.7, 0.3), 10.0)).astype(float)
    emission = None if codes is None else Emission(2, (3,))
    return ChoiceRows(X, t, y, np.ones(n), codes, emission), own


def searching(data, **more):
    asked = {"n_init": 3, "tol": 1e-6, "iterations": 200} | RULE | more
    return Search(data, np.random.default_rng(0), **asked)


@pytest.fixture(scope="module")
def found():
    data, _ = crowds()
    made = searching(data)
    return data, made, made.up_to(3)


def moments(batch):
    """Mean and covariance of the mixture of a batch, (R, d) and (R, d, d)."""
    w = batch.weights / batch.weights.sum(axis=0)
    mean = np.einsum("kr,krd->rd", w, batch.means)
    gap = batch.means - mean
    spread = batch.covariances + gap[..., :, None] * gap[..., None, :]
    return mean, np.einsum("kr,krde->rde", w, spread)


def test_random_starts_are_shares_and_curves_within_bounds():
    data, own = crowds()
    made = searching(data, n_init=4).random(2)
    assert made.weights.shape == (2, 4) and made.means.shape == (2, 4, 2)
    np.testing.assert_allclose(made.weights.sum(axis=0), 1.0)
    assert (made.curves[..., 1] >= search.LEAST_SLOPE).all()
    # k-means finds the crowds, each of them with its members' moments, a bit of the whole added.
    order = made.means[..., 0].argsort(axis=0)
    means = np.take_along_axis(made.means, order[..., None], axis=0)
    known = np.stack([data.rows[~own].mean(axis=0), data.rows[own].mean(axis=0)])
    assert np.abs(means - known[:, None]).max() < 0.2
    weights = np.take_along_axis(made.weights, order, axis=0)
    assert np.abs(weights - np.array([[2 / 3], [1 / 3]])).max() < 0.03
    assert np.abs(np.diagonal(made.covariances, axis1=-2, axis2=-1) - 1).max() < 0.35


def test_curves_by_regression_are_lines_at_the_middle():
    data, _ = crowds()
    made = searching(data, curves="regression")
    made.answers = (np.array([-0.4, -0.1, 0.2, 0.5]), np.array([0.1, 0.25, 0.4, 0.55]))
    # y = .3 + .5 u: log-odds 4 (.3 - 1/2) at the middle, slope 4 / 2.
    np.testing.assert_allclose(made._lines(np.ones((4, 1)))[0], [-0.8, 2.0], atol=1e-9)


def test_splits_and_merges_keep_the_moments(found):
    data, made, best = found
    mean, spread = (of[0] for of in moments(best[2].parameters))
    split = made.splits(2)
    assert split.weights.shape == (3, 4)
    np.testing.assert_allclose(split.weights.sum(axis=0), 1.0)
    np.testing.assert_allclose(moments(split)[0], np.tile(mean, (4, 1)), atol=1e-9)
    # Along its axis a half-segment keeps 1 - .64 * .8 of the variance; .64 is between the halves.
    c = int(best[2].parameters.weights[:, 0].argmax())
    values, vectors = np.linalg.eigh(best[2].parameters.covariances[c, 0])
    own = vectors[:, -1] @ split.covariances[c, 0] @ vectors[:, -1]
    assert own == pytest.approx(values[-1] * (1 - 0.8 * 0.64))
    gap = split.means[c, 0] - split.means[2, 0]
    assert abs(gap @ vectors[:, -1]) == pytest.approx(1.6 * np.sqrt(values[-1]))
    assert split.weights[c, 0] == split.weights[2, 0]
    merged = made.merges(2)
    assert merged.weights.shape == (1, 3)
    np.testing.assert_allclose(moments(merged)[0][0], mean, atol=1e-9)
    np.testing.assert_allclose(moments(merged)[1][0], spread, atol=1e-9)
    # The others leave one out, first the smaller.
    order = np.argsort(best[2].parameters.weights[:, 0])
    left = best[2].parameters.means[order[::-1], 0]
    np.testing.assert_allclose(merged.means[0, 1:], left)


def test_the_nearest_pair_is_that_of_least_cost():
    data, _ = crowds()
    w, eye = np.full(3, 1 / 3), np.tile(np.eye(2), (3, 1, 1))
    means = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 0.0]])
    curves, none = np.tile([0.0, 5.0], (3, 1)), np.empty((3, 0))
    made = searching(data)
    assert made._near_pairs(w, means, eye, curves, none)[0].tolist() == [0, 1]
    # Where features are alike the curves tell, and so do shares of levels.
    same = np.zeros((3, 2))
    apart = np.array([[-4.0, 5.0], [4.0, 5.0], [4.2, 5.0]])
    assert made._near_pairs(w, same, eye, apart, none)[0].tolist() == [1, 2]
    shares = np.array([[0.9, 0.1], [0.1, 0.9], [0.85, 0.15]])
    assert made._near_pairs(w, same, eye, curves, shares)[0].tolist() == [0, 2]


def test_the_shortest_description_has_the_crowds(found):
    data, _, best = found
    logs = [best[j].log_likelihood for j in (1, 2, 3)]
    assert logs[0] < logs[1] < logs[2] + 1e-6
    sizes = Sizes(data, best, RULE, lambda j: j * 8 - 1, None, 0)
    np.testing.assert_allclose(
        sizes.mdl, -np.array(logs) + 0.5 * np.log(900) * np.array([7, 15, 23])
    )
    sizes.choose()
    assert sizes.chosen == 2
    sizes.length = sizes.mdl[1]
    before = sizes.mdl.copy()
    sizes.spare(2)
    np.testing.assert_allclose(sizes.mdl, before - np.log(900))


def test_one_segment_is_the_pooled_curve(found):
    data, _, best = found
    pooled = fit_curves(data.t, data.y, data.row_weights)[0]
    np.testing.assert_allclose(best[1].parameters.curves[0, 0], pooled, rtol=1e-3)
    np.testing.assert_allclose(best[1].parameters.means[0, 0], data.rows.mean(axis=0), atol=1e-9)


def test_a_category_that_tells_nothing_is_left_out_and_priced_alone():
    rng = np.random.default_rng(3)
    _, own = crowds()
    noise = rng.integers(3, size=(900, 1)).astype(np.int32)
    data, _ = crowds(codes=noise)
    made = searching(data)
    best = made.up_to(2)
    features = type("F", (), {"categories": np.array([0]), "numbers": np.array([0, 1])})
    sizes = Sizes(data, best, RULE, lambda j: j * 10 - 1, features, 0)
    sizes.chosen = 2
    assert sizes.gains.shape == (2, 1) and sizes.gains[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert sizes.gains[1, 0] < -3 and sizes.useless().tolist() == [0]
    counts = np.bincount(noise[:, 0])
    alone = (counts * np.log(counts / 900)).sum() - 0.5 * np.log(900) * 2
    assert sizes.marginal([0]) == pytest.approx(alone)
    features.numbers = np.array([])
    assert sizes.useless().tolist() == []
    # Levels that are the crowds are worth more than they cost.
    told, _ = crowds(codes=np.where(own, 2, noise[:, 0] % 2)[:, None].astype(np.int32))
    best = searching(told).up_to(2)
    assert Sizes(told, best, RULE, lambda j: j, features, 0).gains[1, 0] > 100


def test_levels_are_parted_by_how_they_answer():
    rng = np.random.default_rng(4)
    codes = rng.integers(3, size=(900, 1)).astype(np.int32)
    data, _ = crowds(codes=codes)
    made = searching(data)
    made.order = np.array([0.3, -0.2, 0.1])
    one = Choices(
        np.ones((1, 1)),
        np.zeros((1, 1, 2)),
        np.eye(2)[None, None],
        np.array([[[0.0, 5.0]]]),
        np.array([[[0.25, 0.35, 0.4]]]),
    )
    (new,) = made._level_splits(one)
    # The levels 0 and 2 answer more: .65 of the segment; a tenth is left to the other side.
    np.testing.assert_allclose(new.weights, [0.65, 0.35])
    np.testing.assert_allclose(new.curves, [[0.5, 5.0], [-0.5, 5.0]])
    np.testing.assert_allclose(new.shares[0], np.array([0.25, 0.035, 0.4]) / 0.685)
    np.testing.assert_allclose(new.shares[1], np.array([0.025, 0.35, 0.04]) / 0.415)
    # Of two categories each is parted by its own levels.
    made.emission, made.order = Emission(2, (3, 2)), np.array([0.3, -0.2, 0.1, 0.1, 0.4])
    both = one._replace(shares=np.array([[[0.25, 0.35, 0.4, 0.7, 0.3]]]))
    first, second = made._level_splits(both)
    np.testing.assert_allclose(first.weights, [0.65, 0.35])
    np.testing.assert_allclose(second.weights, [0.3, 0.7])
    np.testing.assert_allclose(second.shares[0, 3:], np.array([0.07, 0.3]) / 0.37)
    np.testing.assert_allclose(second.shares[:, :3], [[0.25, 0.35, 0.4]] * 2)
    made.emission, made.order = Emission(2, (3,)), made.order[:3]
    assert SMOOTHING == 0.5 and made.points.shape[1] == 5
    # The indicators of a category have the variance of one number together.
    assert np.square(made.points[:, 2:]).mean(axis=0).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("selection", ["observed", "complete"])
def test_the_score_is_the_log_likelihood_less_the_doubt_where_it_is_completed(selection):
    data, _ = crowds()
    best = searching(data, selection=selection).up_to(2)[2]
    curves = best.parameters.curves[:, 0]
    logs = data.log_joint(best.parameters) + data.log_answer(curves)
    log_likelihood = np.logaddexp(*logs.T).sum()
    assert best.log_likelihood == pytest.approx(log_likelihood)
    share = np.exp(logs - np.logaddexp(*logs.T)[:, None])
    doubt = -(share * np.log(np.maximum(share, 1e-300))).sum()
    assert doubt > 1
    expected = log_likelihood - doubt * (selection == "complete")
    assert best.score == pytest.approx(expected)


def test_one_start_has_the_moments_of_all_with_a_bit_of_them_added():
    """One cluster of n rows: (n S + (d + 1) (S + S / 1000)) / (n + d + 1)."""
    data, _ = crowds(300)
    made = searching(data).random(1)
    spread = np.cov(data.rows.T, bias=True)
    np.testing.assert_allclose(made.means[0], np.tile(data.rows.mean(axis=0), (3, 1)))
    expected = (300 * spread + 3 * 1.001 * spread) / 303
    np.testing.assert_allclose(made.covariances[0, 0], expected, rtol=1e-9)
    assert (made.weights == 1).all()


def test_pairs_cost_what_their_merger_loses():
    """Runnalls' bound, the loss of levels, and that of curves at three offers, by hand."""
    rng = np.random.default_rng(4)
    w, means = rng.dirichlet(np.ones(4)), rng.normal(size=(4, 2))
    root = rng.normal(size=(4, 2, 2))
    covariances = root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(2)
    curves, shares = rng.normal(size=(4, 2)) * (1, 5), rng.dirichlet(np.ones(3), 4)

    def cost(i, j):
        both = w[i] + w[j]
        si, sj, gap = w[i] / both, w[j] / both, means[i] - means[j]
        joint = si * covariances[i] + sj * covariances[j] + si * sj * np.outer(gap, gap)
        logs = [np.log(np.linalg.det(one)) for one in (joint, covariances[i], covariances[j])]
        total = 0.5 * (both * logs[0] - w[i] * logs[1] - w[j] * logs[2])
        mixed = si * shares[i] + sj * shares[j]
        total -= both * mixed @ np.log(mixed)
        total += w[i] * shares[i] @ np.log(shares[i]) + w[j] * shares[j] @ np.log(shares[j])
        p, q = (
            1 / (1 + np.exp(-(c[0] + c[1] * np.array([-0.25, 0, 0.25])))) for c in curves[[i, j]]
        )
        r = si * p + sj * q
        return total + 0.5 * both * np.mean(si * sj * (p - q) ** 2 / (r * (1 - r)))

    data, _ = crowds(60)
    found = searching(data)._near_pairs(w, means, covariances, curves, shares).tolist()
    costs = [cost(i, j) for i, j in found]
    assert len(found) == 6 and costs == sorted(costs)


def test_covariances_have_the_form_that_was_asked_for():
    data, _ = crowds(60)
    made = searching(data)
    given = np.array([[[2.0, 0.5], [0.5, 1.0]], [[4.0, -1.0], [-1.0, 3.0]]])
    weights = np.array([0.25, 0.75])
    np.testing.assert_allclose(made._shaped(given, weights), given)
    for kind, expected in (
        ("diagonal", given * np.eye(2)),
        ("tied", np.tile(0.25 * given[0] + 0.75 * given[1], (2, 1, 1))),
    ):
        made.emission = Emission(2, covariance=kind)
        np.testing.assert_allclose(made._shaped(given, weights), expected)


@pytest.mark.parametrize("seed", range(5))
def test_seeds_are_of_different_places_as_long_as_there_are_some(seed):
    places = np.array([[1.0, 2.0], [3.0, 0.0], [-2.0, 1.0], [0.0, 4.0]])
    looked = Search.__new__(Search)
    looked.points, looked.point_weights = np.repeat(places, [9, 1, 2, 5], axis=0), np.ones(17)
    looked.rng = np.random.default_rng(seed)
    found = looked._seeds(4, (looked.points**2).sum(axis=1))
    assert {*map(tuple, found)} == {*map(tuple, places)}


def test_a_better_model_of_the_chosen_size_is_as_much_shorter_as_it_is_likelier(found):
    data, _, best = found
    sizes = Sizes(data, dict(best), RULE, lambda j: j * 8 - 1, None, 0)
    sizes.choose()
    sizes.length, logs, mdl = 1000.0, sizes.logs.copy(), sizes.mdl.copy()
    own = best[2]
    told = {"iterations": [4], "converged": [True], "held": [1], "last": [own.score + 3.0]}
    run = type("Run", (), told | {"parameters": own.parameters.at([0])})
    sizes.settle(run, own.log_likelihood + 2.5)
    np.testing.assert_allclose(sizes.logs - logs, [0.0, 2.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(sizes.mdl - mdl, [0.0, -2.5, 0.0], atol=1e-9)
    assert sizes.length == pytest.approx(997.5)
    now = sizes.best[2]
    assert now.log_likelihood == own.log_likelihood + 2.5 and now.converged
    assert (now.iterations, now.held) == (own.iterations + 4, own.held + 1)
    assert now.history[-1] == own.score + 3.0 and sizes.best[1] is best[1]


def test_where_everybody_stands_is_nobodys_business_for_pairs():
    rng, (data, _) = np.random.default_rng(5), crowds(60)
    root = rng.normal(size=(5, 2, 2))
    spread = root @ np.swapaxes(root, 1, 2) + np.eye(2)
    w, means = rng.dirichlet(np.ones(5)), rng.normal(size=(5, 2))
    asked, made = (spread, np.tile([0.0, 5.0], (5, 1)), np.empty((5, 0))), searching(data)
    for away in (30.0, -30.0):
        moved = made._near_pairs(w, means + [away, -away], *asked)
        np.testing.assert_array_equal(moved, made._near_pairs(w, means, *asked))
