"""Rows that resemble nobody labeled; overlap and balance."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import DenseRows, TabularEncoder
from counterweight.numerics import linear
from counterweight.weighting.overlap import (
    CORNER_SHARE,
    CUTS,
    LEAST_SPREAD,
    Corners,
    Support,
    _upper_corner,
    overlap,
)
from scipy.special import expit
from scipy.stats import multivariate_normal, norm


@pytest.fixture
def rng():
    """The same numbers in each test."""
    return np.random.default_rng(7)


class World:
    """Numbers and levels that depend on each other; a corner of two numbers is never labeled."""

    def __init__(self, kind, d, rng):
        self.kind, self.rng = kind, rng
        self.numbers = max(2, (2 * d) // 3)
        turn = np.eye(self.numbers)
        if kind == "correlated":
            turn += 0.6 * rng.normal(size=turn.shape)
            turn[:2] = np.eye(2, self.numbers)
            turn /= np.sqrt((turn**2).sum(axis=1, keepdims=True))
        self.turn = turn
        self.tastes = [
            rng.normal(size=(self.numbers, rng.integers(1, 4))) for _ in range(d - self.numbers)
        ]
        # One level more than is ever drawn.
        self.sizes = [taste.shape[1] + 2 for taste in self.tastes]
        blocks = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.onehot = np.concatenate([np.full(self.numbers, -1), blocks]).astype(int)
        push = rng.normal(size=self.numbers)
        push[:2] = np.abs(push[:2])
        self.push = 1.2 * push / np.linalg.norm(push)

    def draw(self, n):
        """Numbers (n, ...), levels, and the chance of a label."""
        Z = self.rng.normal(size=(n, self.numbers)) @ self.turn.T
        levels = [
            np.argmax(
                np.column_stack([np.zeros(n), 0.7 * Z @ taste])
                + self.rng.gumbel(size=(n, taste.shape[1] + 1)),
                axis=1,
            )
            for taste in self.tastes
        ]
        p = expit(Z @ self.push - 0.3) * ~self.corner(Z)
        if self.kind == "heavy":
            Z = np.column_stack([Z[:, :2], np.sinh(1.2 * Z[:, 2:])])
        return Z, levels, p

    @staticmethod
    def corner(Z):
        return (Z[:, 0] > 1) & (Z[:, 1] > 1)

    def encoded(self, Z, levels):
        made = [np.eye(size)[level] for size, level in zip(self.sizes, levels, strict=True)]
        return np.column_stack([Z, *made])


@pytest.mark.parametrize("kind", ["plain", "correlated", "heavy"])
@pytest.mark.parametrize("d", [2, 6, 20])
def test_rows_outside_are_flagged_and_rows_inside_are_not(kind, d):
    caught = {name: [] for name in ("inside", "corner", "cluster", "range", "level")}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        world = World(kind, d, rng)
        Z, levels, p = world.draw(4000)
        seen = rng.random(4000) < p
        support = Support().fit(
            world.encoded(Z, levels)[seen], 1 / p[seen], rng=rng, onehot=world.onehot
        )
        new, new_levels, _ = world.draw(8000)
        outside, corner = support.outside(world.encoded(new, new_levels)), world.corner(new)
        caught["inside"].append(outside[~corner].mean())
        caught["corner"].append(outside[corner].mean())
        new, new_levels = new[:500], [level[:500] for level in new_levels]
        spread = np.subtract(*np.quantile(Z[seen], [0.9, 0.1], axis=0)) / 2.56
        away = rng.normal(size=world.numbers)
        away *= 10 * spread / np.linalg.norm(away)
        caught["cluster"].append(support.outside(world.encoded(new + away, new_levels)).mean())
        low, high = Z[seen].min(axis=0), Z[seen].max(axis=0)
        k = rng.integers(world.numbers)
        far = new.copy()
        far[:, k] = high[k] + (high[k] - low[k]) * rng.uniform(1, 2, 500)
        caught["range"].append(support.outside(world.encoded(far, new_levels)).mean())
        if world.sizes:
            new_levels[0] = np.full(500, world.sizes[0] - 1)
            caught["level"].append(support.outside(world.encoded(new, new_levels)).mean())
    print(kind, d, {name: np.round(shares, 3) for name, shares in caught.items()})
    assert np.mean(caught.pop("inside")) <= 0.05
    for name, shares in caught.items():
        assert not shares or np.mean(shares) >= 0.95, name


def _small(rng, n=1500):
    X = np.column_stack([rng.normal(size=(n, 2)), np.eye(3)[rng.integers(0, 3, n)]])
    return X[~((X[:, 0] > 1) & (X[:, 1] > 1))]


def test_reasons_name_what_is_furthest_out(rng):
    X = _small(rng)
    names = ["income", "age", "town=A", "town=B", "town=C"]
    support = Support().fit(
        X[X[:, 4] == 0], rng=rng, onehot=np.array([-1, -1, 0, 0, 0]), names=names
    )
    rows = np.array(
        [
            [0.0, 0.0, 1, 0, 0],
            [0.0, 20.0, 1, 0, 0],
            [-30.0, 9.0, 0, 1, 0],
            [0.0, 0.0, 0, 0, 1],
            [1.6, 1.6, 0, 1, 0],
            [0.0, 0.0, 0, 0, 0],
        ]
    )
    reasons = support.reason(rows)
    assert reasons[5] == "town, a value never seen"
    assert reasons[0] == "" and reasons[1] == "age" and reasons[2] == "income"
    assert reasons[3] == "town=C"
    assert set(reasons[4].split(" with ")) == {"income", "age"}
    np.testing.assert_array_equal(support.outside(rows), reasons != "")


def test_order_units_and_batches_do_not_matter(rng):
    X = _small(rng)
    support = Support().fit(X, rng=np.random.default_rng(1))
    new = 2 * _small(rng, 20_000)
    new[:, 2:] /= 2
    whole = support.outside(new)
    assert 0.02 < whole.mean() < 0.5
    order = rng.permutation(len(new))
    np.testing.assert_array_equal(support.outside(new[order]), whole[order])
    np.testing.assert_array_equal(support.outside(new[:7]), whole[:7])
    stretch = np.array([1000.0, 0.001, 1, 1, 1])
    other = Support().fit(X * stretch, rng=np.random.default_rng(1))
    assert np.mean(other.outside(new * stretch) == whole) > 0.999


def test_saved_support_is_the_same(rng):
    X = _small(rng)
    for onehot in (None, np.array([-1, -1, 0, 0, 0]), np.array([0, 0, 1, 1, 1], bool)):
        support = Support().fit(X, rng=rng, onehot=onehot)
        again = Support.from_arrays(support.to_arrays())
        new = 2 * _small(rng)
        np.testing.assert_array_equal(support.outside(new), again.outside(new))
        np.testing.assert_array_equal(support.reason(new), again.reason(new))


def test_constant_columns_levels_only_and_few_rows(rng):
    flat = np.column_stack([rng.normal(size=50), np.full(50, 7.0)])
    support = Support().fit(flat, rng=rng, onehot=np.zeros(2, bool))
    assert support.reason(np.array([[0.0, 9.0]]))[0] == "number 1"
    levels = np.eye(4)[rng.integers(0, 3, 200)]
    support = Support().fit(levels, rng=rng, onehot=np.zeros(4, int))
    np.testing.assert_array_equal(support.outside(np.eye(4)), [False, False, False, True])
    assert support.outside(np.zeros((1, 4)))[0]
    assert len(support.outside(np.zeros((0, 4)))) == 0
    with pytest.raises(CounterweightError, match="Only 5 rows are labeled"):
        Support().fit(flat[:5], rng=rng)


def test_overlap_counts_unlabeled_rows_below_the_labeled():
    p = np.concatenate([np.linspace(0.2, 0.9, 701), np.full(30, 0.1), np.full(70, 0.5)])
    s = np.arange(801) < 701
    found = overlap(p, s)
    assert found["below"] == pytest.approx(0.3)
    assert 0.2 < found["least"] < 0.21
    assert found["labeled"].sum() == pytest.approx(1) and len(found["edges"]) == 21
    assert overlap(p, s, np.where(p == 0.1, 0, 1.0))["below"] == 0
    with pytest.raises(CounterweightError, match="both labeled and unlabeled"):
        overlap(p, np.ones(801, bool))


def test_overlap_of_a_few_rows_by_hand():
    p = np.array([0.2, 0.4, 0.8, 0.1, 0.2, 0.5])
    s = np.array([True, True, True, False, False, False])
    found = overlap(p, s, np.array([1.0, 1, 2, 3, 2, 1]), bins=2)
    assert found["least"] == 0.2
    # A row at the least of the labeled is not below it.
    assert found["below"] == pytest.approx(3 / 6)
    np.testing.assert_allclose(found["edges"], [0, 0.5, 1])
    np.testing.assert_allclose(found["labeled"], [0.5, 0.5])
    np.testing.assert_allclose(found["unlabeled"], [5 / 6, 1 / 6])


def test_the_corner_of_two_normals_is_scipys():
    rng = np.random.default_rng(0)
    h, k = rng.normal(size=(2, 20))
    for rho in (-0.7, 0.0, 0.5):
        below = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        truth = [below.cdf([-a, -b]) for a, b in zip(h, k, strict=True)]
        found = _upper_corner(h[:, None], k[:, None], np.array([rho]))[:, 0]
        np.testing.assert_allclose(found, truth, atol=1e-4)
        known = _upper_corner(h[:, None], k[:, None], np.array([rho]), 0.1)[:, 0]
        np.testing.assert_array_equal(known[found >= 0.1], found[found >= 0.1])
        assert (known < 0.1).sum() == (found < 0.1).sum() and (known == 0).any()


def test_rows_on_the_edge_of_a_corner_are_not_in_it():
    pad = np.full(CUTS - 1, 2.0)
    corners = Corners(
        *(np.array([k]) for k in (0, 1)),
        *(np.array([sign]) for sign in (1.0, -1.0)),
        np.r_[1.0, pad][None],
        np.r_[0.5, np.full(CUTS - 1, 0.25)][None],
    )
    Z = np.array([[1.5, -0.5], [1.5, -0.6], [1.0, -0.6], [2.5, -0.3], [2.5, -0.25], [2.0, -0.3]])
    assert corners.hold(Z)[:, 0].tolist() == [False, True, False, True, False, False]


def test_an_empty_corner_is_as_strong_as_the_rows_that_would_lie_there():
    """Related scores leave a corner empty by themselves; unrelated ones with a hole do not."""
    rng = np.random.default_rng(1)
    numbers = np.array([-1, -1])
    related = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 4000).astype(np.float32)
    assert Corners.find(related, numbers, 64)[1].max(initial=0) < 20
    plain = rng.normal(size=(4000, 2)).astype(np.float32)
    plain = plain[~((plain[:, 0] > 1) & (plain[:, 1] > 1))]
    found, strength = Corners.find(plain, numbers, 64)
    best = int(np.argmax(strength))
    # Without those rows the others are somewhat related, which explains a part of the hole.
    assert 0.4 < strength[best] / (len(plain) * norm.sf(1) ** 2) < 1
    assert {found.sign_first[best], found.sign_second[best]} == {1.0}


def test_corners_of_curved_relations_hold_few_rows_of_the_same_law():
    """Between columns that go together in curves many a corner is empty, and which is by chance."""

    def drawn(rng, n):
        t, noise = rng.normal(size=(n, 3)), 0.5 * rng.normal(size=(n, 3))
        curved = t[:, 0] ** 2 + noise[:, 0], np.exp(t[:, 1]) * (1 + t[:, 0] ** 2)
        other = noise[:, 1] - np.abs(t[:, 1]), t[:, 1] * t[:, 2]
        return np.column_stack([t[:, 0], *curved, *other, t[:, 2] ** 2 + t[:, 0] + noise[:, 2]])

    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        support = Support().fit(drawn(rng, 400), rng=rng)
        new = drawn(rng, 2000)
        shares.append(support.corners_.hold(support._scores(new)).any(axis=1).mean())
    assert np.mean(shares) <= CORNER_SHARE


def test_left_out_distances_are_those_of_a_fit_without_the_row(rng):
    """Of rows that are no extreme of a column, by covariances computed one by one."""
    X = rng.normal(size=(60, 7)) @ rng.normal(size=(7, 7))
    support = Support().fit(X, rng=np.random.default_rng(0))
    Z = support._scores(X).astype(float)
    found = support._mahalanobis_left_out(Z, Z)
    for row in range(len(Z)):
        others = np.delete(Z, row, axis=0)
        spread = np.cov(others, rowvar=False) + LEAST_SPREAD * np.eye(7)
        v = Z[row] - others.mean(axis=0)
        np.testing.assert_allclose(found[row], v @ np.linalg.solve(spread, v), rtol=1e-6)


def test_the_nearest_reference_is_the_one_that_distances_one_by_one_have(rng):
    X = rng.normal(size=(50, 4))
    support = Support().fit(X, rng=np.random.default_rng(0))
    Z, others = support._scores(rng.normal(size=(20, 4))), support.reference_
    apart = np.square(Z[:, None].astype(float) - others).sum(axis=2)
    np.testing.assert_allclose(support._nearest(Z), apart.min(axis=1), atol=1e-4)
    # Without the nearest it is the next.
    own = apart.argmin(axis=1)
    np.testing.assert_allclose(support._nearest(Z, own), np.sort(apart)[:, 1], atol=1e-4)


def test_a_row_that_alone_is_an_extreme_is_beyond_the_others_when_left_out():
    X = np.arange(20.0)[:, None]
    X[-1] = 36.0
    support = Support().fit(X, rng=np.random.default_rng(0))
    Z = support._scores(X)
    moved, beyond = support._left_out(X, np.arange(20), Z)
    # The others range from 0 to 18, so 36 is one range beyond, and -19 .. 0 not at all.
    assert beyond[-1] == pytest.approx(1.0) and beyond[0] == pytest.approx(1 / 35)
    ends = support.values_[0][[0, -1]]
    np.testing.assert_allclose(moved[-1, 0], ends[1] + (ends[1] - ends[0]), rtol=1e-6)
    np.testing.assert_array_equal(moved[1:-1], Z[1:-1])


def _law(kind, d, rng):
    """A function that draws rows of one law."""
    turn = np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d)
    load = rng.normal(size=(3, d))

    def draw(n):
        X = rng.normal(size=(n, d))
        if kind == "skewed":
            return np.exp(X)
        if kind == "correlated":
            return X @ turn
        if kind == "onehot":
            return np.column_stack([np.eye(5)[rng.integers(0, 5, n)] for _ in range(d // 5)])
        if kind == "mixed":
            X += rng.normal(size=(n, 3)) @ load
            X[:, ::3] = np.exp(X[:, ::3] / 2)
            X[:, 1::3] = np.clip(np.round(X[:, 1::3]), -2, 2)
        return X

    return draw


@pytest.mark.parametrize("kind", ["normal", "skewed", "correlated", "onehot", "mixed"])
@pytest.mark.parametrize("d", [20, 300])
def test_new_rows_of_the_same_law_are_not_flagged_whatever_the_columns(kind, d):
    rng = np.random.default_rng([d, len(kind)])
    draw = _law(kind, d, rng)
    onehot = np.repeat(np.arange(d // 5), 5) if kind == "onehot" else np.full(d, -1)
    support = Support().fit(draw(570), rng=rng, onehot=onehot)
    new = draw(3000)
    assert support.outside(new).mean() <= 0.03
    if kind != "onehot":
        spread = new.std(axis=0)
        assert support.outside(new + 8 * spread * rng.choice([-1, 1], d)).mean() >= 0.95


def test_codes_never_seen_are_flagged_and_numbers_between_are_not(rng):
    X = np.column_stack([rng.choice([1, 2, 4, 7], 400), rng.normal(size=400)])
    support = Support().fit(X, rng=rng, names=["code", "income"])
    new = np.array([[3.0, 0], [5, 0], [8, 0], [2.5, 0], [4, 0]])
    told = ["code, a value never seen"] * 3
    assert support.reason(new).tolist() == [*told, "", ""]
    again = Support.from_arrays(support.to_arrays())
    assert again.reason(new).tolist() == support.reason(new).tolist()
    # A value that few rows have leaves others likely.
    X[0, 0] = 9
    rare = Support().fit(X, rng=rng, names=["code", "income"])
    assert told[0] not in rare.reason(new)


def test_support_of_1_0_0_is_read(rng):
    X = _small(rng)
    saved = Support().fit(X, rng=rng).to_arrays()
    later = {k for k in saved if k in ("range", "least_chance") or k.startswith(("codes", "empty"))}
    assert later >= {"range", "least_chance", "empty_low"}
    old = Support.from_arrays({k: saved[k] for k in saved.keys() - later})
    assert old.reason(np.array([[0.0, 20, 1, 0, 0]]), np.ones(1)).tolist() == ["number 1"]


def test_rows_made_on_demand_are_supported_as_all_of_them_at_once(rng, monkeypatch):
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"])
    frame.loc[::9, "a"] = np.nan
    frame["code"] = rng.integers(0, 4, 3000).astype(float)
    frame["city"] = rng.choice(["Bonn", "Trier", "Ulm"], 3000)
    types = dict.fromkeys(("a", "b", "c", "code"), "number") | {"city": "text"}
    encoder = TabularEncoder().fit(frame, [*types], types)
    encoded = encoder.encode(frame)
    X = encoded.dense()
    labeled = rng.random(3000) < expit(1 - X[:, encoder.dense_names.index("b")])
    blocks = [
        encoder.names.index(f.column) if f.kind == "category" else -1 for f in encoder.features_
    ]
    made = []
    for rows in (X, DenseRows(encoded)):
        monkeypatch.setattr(linear, "HELD_ROWS", 700)
        taken = rows.take if hasattr(rows, "encoded") else rows.__getitem__
        told = {"unlabeled": taken(~labeled), "onehot": np.array(blocks)}
        made.append(Support().fit(taken(labeled), rng=np.random.default_rng(3), **told).to_arrays())
    assert made[0].keys() == made[1].keys()
    for name, values in made[0].items():
        np.testing.assert_array_equal(made[1][name], values, err_msg=name)


def test_rows_of_a_group_count_once(rng):
    """A handful of neighbours without an outcome is no kind that nobody of has one."""
    person = np.repeat(np.arange(300), 6)
    X = np.column_stack([rng.normal(size=300)[person], rng.normal(size=len(person))])
    seen = (rng.random(300) < 0.5)[person]
    told = {"unlabeled": X[~seen]}
    groups = person[seen], person[~seen]
    by_rows, by_group = (
        Support().fit(X[seen], rng=np.random.default_rng(0), **told, **more)
        for more in ({}, {"group": groups})
    )
    assert by_rows.outside(X[~seen]).mean() > 0.1
    assert by_group.outside(X[~seen]).mean() < 0.04
    beyond = X[~seen] + [9.0, 0.0]
    far = Support().fit(X[seen], rng=rng, unlabeled=beyond, group=groups)
    assert far.outside(beyond).mean() > 0.9
