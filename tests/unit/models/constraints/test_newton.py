"""Distinct rows: merged, sparse, centred, with a penalised bias; sums along Newton steps."""

import numpy as np
import pytest
from counterweight.models.constraints import newton as solvers
from counterweight.models.constraints.convex_step import ConvexStep, start_state
from counterweight.models.constraints.majorisation import minimise_rates
from counterweight.models.constraints.newton import (
    DistinctRows,
    LineSums,
    Smooth,
    _searched,
    newton,
)
from rate_problems import PENALTY, problem
from scipy import sparse


def test_dense_and_sparse_agree():
    X, positive, negative, bounds = problem(3, 2)
    X[np.abs(X) < 0.7] = 0
    fits = [
        minimise_rates(A, positive, negative, bounds, penalty=PENALTY)
        for A in (X, sparse.csr_matrix(X), sparse.csc_matrix(X))
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coefficient, fits[0].coefficient, atol=1e-9)
        np.testing.assert_allclose(fit.objective, fits[0].objective, atol=1e-9)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_merged_rows_give_what_all_rows_give(kind):
    X, positive, negative, bounds = problem(4, 2, repeats=True)
    X = np.round(X)
    merged, kept = DistinctRows(kind(X)), DistinctRows(kind(X), merge=False)
    assert merged.shape[0] == len(np.unique(X, axis=0)) < kept.shape[0]
    dense = merged.matrix if isinstance(merged.matrix, np.ndarray) else merged.matrix.toarray()
    np.testing.assert_array_equal(dense[merged.group][:, :-1], X)
    one, two = (
        minimise_rates(rows, positive, negative, bounds, penalty=PENALTY) for rows in (merged, kept)
    )
    np.testing.assert_allclose(one.objective, two.objective, atol=1e-9)
    np.testing.assert_allclose(one.coefficient, two.coefficient, atol=1e-7)


def test_weights_equal_repeated_rows():
    X, positive, negative, bounds = problem(5, 1)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = minimise_rates(X, positive * times, negative * times, bounds * 2.5, penalty=PENALTY)
    repeated = minimise_rates(
        *(np.repeat(A, times, axis=axis) for A, axis in ((X, 0), (positive, 1), (negative, 1))),
        bounds * 2.5,
        penalty=PENALTY,
    )
    np.testing.assert_allclose(weighted.objective, repeated.objective, atol=1e-9)
    np.testing.assert_allclose(weighted.coefficient, repeated.coefficient, atol=1e-8)


def test_centred_rows_are_dense_rows_less_their_means():
    rng = np.random.default_rng(1)
    X = (rng.random((200, 6)) < 0.2) * rng.random((200, 6))
    centre = X.mean(axis=0)
    held = DistinctRows(sparse.csr_matrix(X), merge=False, centre=centre)
    plain = DistinctRows(X - centre, merge=False)
    w, r, weight = rng.normal(size=plain.shape[1]), rng.normal(size=200), rng.random(200)
    np.testing.assert_allclose(held.scores(w), plain.scores(w), atol=1e-12)
    np.testing.assert_allclose(held.combine(r), plain.combine(r), atol=1e-12)
    np.testing.assert_allclose(held.gram(weight), plain.gram(weight), atol=1e-12)
    assert held.square == pytest.approx(plain.square)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_products_of_distinct_rows_are_those_of_their_matrix(form):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (30, 4)).astype(float)
    rows = DistinctRows(form(X))
    whole = np.column_stack([X, np.ones(30)])
    first = np.unique(whole, axis=0, return_index=True)[1]
    held = whole[np.sort(first)]
    assert rows.shape == held.shape and rows.features == 4
    np.testing.assert_array_equal(whole, held[rows.group])
    assert rows.square == pytest.approx((whole**2).sum() / 30)
    weight, w = rng.random(len(held)), rng.normal(size=held.shape[1])
    weight[3] = 0.0
    np.testing.assert_allclose(rows.scores(w), held @ w)
    np.testing.assert_allclose(rows.combine(weight), held.T @ weight)
    np.testing.assert_allclose(rows.gram(weight), held.T @ (weight[:, None] * held))
    costs = rng.random((2, 30))
    np.testing.assert_allclose(rows.merge(costs) @ rows.scores(w), costs @ (whole @ w))
    np.testing.assert_array_equal(rows.regularisation(0.7), np.full(5, 0.7))
    chosen, more = rng.random(len(held)) < 0.5, rng.normal(size=(2, held.shape[1]))
    part = np.vstack([held[chosen], more])
    np.testing.assert_allclose(rows.part(chosen, more).scores(w), part @ w)


@pytest.mark.parametrize("columns, few", [(20, 1000), (200, 1000), (20, 10), (200, 10)])
def test_normal_matrices_of_sparse_rows_are_those_of_dense_ones(columns, few, monkeypatch):
    monkeypatch.setattr(solvers, "BLOCK", few)
    rng = np.random.default_rng(2)
    X = (rng.random((300, columns)) < 0.1) * rng.random((300, columns))
    weight = rng.normal(size=300) * (rng.random(300) < 0.5)
    held, centre = np.column_stack([X, np.ones(300)]), X.mean(axis=0)
    rows = DistinctRows(sparse.csr_matrix(X), merge=False)
    for own in (weight, np.abs(weight)):
        np.testing.assert_allclose(rows.gram(own), held.T @ (own[:, None] * held), atol=1e-10)
    moved = held - np.append(centre, 0.0)
    centred = DistinctRows(sparse.csr_matrix(X), merge=False, centre=centre)
    np.testing.assert_allclose(
        centred.gram(weight), moved.T @ (weight[:, None] * moved), atol=1e-10
    )
    assert ("_pairs" in vars(rows)) is (few == 10)
    monkeypatch.setattr(solvers, "MOST_PAIRS", 1)
    other = DistinctRows(sparse.csr_matrix(X), merge=False)
    np.testing.assert_allclose(other.gram(weight), rows.gram(weight), atol=1e-10)


def smooth_step(sharpness=3.0, m=2, form=np.asarray):
    """A convex step of m constraints, smoothed around a state, and its start."""
    X, positive, negative, bounds = problem(5, m)
    rows = DistinctRows(form(X))
    constant = -np.append(0.0, bounds)
    step = ConvexStep(rows, positive, negative, constant, rows.regularisation(PENALTY))
    rng = np.random.default_rng(0)
    w = rng.normal(size=rows.shape[1])
    state = start_state(step, w, rng.random(m))
    state.above, state.below = rng.random((2, rows.shape[0]))
    around = state.above, state.below, state.multipliers
    return Smooth(step, *around, sharpness, np.full(m, 5.0), 0.01, np.full(m, 3.0)), w


def test_derivatives_of_a_smooth_step_are_those_of_its_value():
    smooth, w = smooth_step()
    rows = smooth.step.rows
    f = rows.scores(w)
    value, *at = smooth.at(f, w)
    sums = smooth.hinge_sums(*at)
    gradient, hessian = smooth.gradient(w, at[2], sums), smooth.hessian(at[2], sums)
    for k, line in enumerate(np.eye(len(w)) * 1e-6):
        ahead = smooth.at(rows.scores(w + line), w + line)
        assert (ahead[0] - value) / 1e-6 == pytest.approx(gradient[k], rel=1e-3, abs=1e-5)
        there = smooth.gradient(w + line, ahead[3], smooth.hinge_sums(*ahead[1:]))
        change = (there - gradient) / 1e-6
        np.testing.assert_allclose(change, hessian[k], rtol=1e-2, atol=1e-3)
    move = np.ones(len(w))
    along = smooth.along(w, move, rows.scores(move), *at)
    assert along == pytest.approx(gradient @ move)
    assert smooth.lost(gradient) == pytest.approx(gradient @ gradient / (2 * PENALTY))


def test_newton_ends_where_the_gradient_is_0_and_says_so():
    smooth, w = smooth_step(sharpness=8.0)
    rows = smooth.step.rows
    w, f, above, below, v, count, done = newton(smooth, w, rows.scores(w), 1e-12, 50)
    np.testing.assert_allclose(f, rows.scores(w), atol=1e-12)
    assert done and 0 < count < 50
    sums = smooth.hinge_sums(above, below, v)
    assert np.abs(smooth.gradient(w, v, sums)).max() < 1e-6
    few = newton(smooth, np.zeros(len(w)), np.zeros(len(f)), 1e-12, 1)
    assert few[5] <= 1 and not few[6]


@pytest.mark.parametrize("length", [0.02, 1.0, 30.0])
def test_a_search_ends_where_the_slope_has_fallen_to_a_fifth(length):
    smooth, w = smooth_step(sharpness=6.0)
    rows = smooth.step.rows
    f = rows.scores(w)
    now = smooth.at(f, w)
    move = -length * smooth.gradient(w, now[3], smooth.hinge_sums(*now[1:]))
    df = rows.scores(move)
    share, trial = _searched(smooth, w, f, move, df, now)
    there, g = w + share * move, f + share * df
    assert trial[0] == pytest.approx(smooth.at(g, there)[0]) and trial[0] <= now[0]
    slope = smooth.along(there, move, df, *trial[1:])
    first = smooth.along(w, move, df, *now[1:])
    assert 0 < share <= 1
    assert abs(slope) <= 0.2 * abs(first) or (share == 1 and slope <= 0)


def test_a_solver_looks_at_the_upper_triangle_and_refuses_what_is_not_positive():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(9, 4))
    matrix, sums = A.T @ A, rng.normal(size=(4, 2))
    upper = np.triu(matrix) + np.tril(rng.normal(size=(4, 4)), -1)
    np.testing.assert_allclose(solvers.solver(upper)(sums), np.linalg.solve(matrix, sums))
    with pytest.raises(np.linalg.LinAlgError, match="column 2"):
        solvers.solver(np.diag([1.0, -1.0, 1.0]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_sums_kept_along_steps_are_those_of_all_rows(form, monkeypatch):
    monkeypatch.setattr(solvers, "LEAST_COLUMNS", 1)
    smooth, w = smooth_step(sharpness=2.0, form=form)
    rows, rng = smooth.step.rows, np.random.default_rng(6)
    kept, f = smooth.hinge_sums(*smooth.at(rows.scores(w), w)[1:]), rows.scores(w)
    kept.matrix(np.ones(2))
    assert kept.keeps is (form is np.asarray)
    crossed = []
    for size in (1e-3, 0.02, 0.02, 3.0, 0.02):
        move = size * rng.normal(size=len(w))
        w, f, before = w + move, f + rows.scores(move), kept.bent
        now = smooth.at(f, w)[1:]
        kept.go(np.array(now[:2]), now[2], move, rows.scores(move))
        crossed.append((kept.bent != before).any(axis=0).mean())
        anew, v = smooth.hinge_sums(*now), now[2]
        np.testing.assert_allclose(smooth.gradient(w, v, kept), smooth.gradient(w, v, anew))
        np.testing.assert_allclose(smooth.hessian(v, kept), smooth.hessian(v, anew), atol=1e-9)
    assert 0 < crossed[1] < 0.3 < crossed[3]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_sums_of_lines_and_parts_follow_the_terms_that_change(form, monkeypatch):
    monkeypatch.setattr(solvers, "LEAST_COLUMNS", 1)
    rng = np.random.default_rng(8)
    rows = DistinctRows(form(rng.integers(0, 3, (80, 4)) + 0.25), merge=False)
    terms = rng.normal(size=(2, 80))
    whole = np.column_stack([rows.scores(line) for line in np.eye(5)])
    assert (rows.by_row is None) is (form is sparse.csr_matrix)
    kept, w = LineSums(rows), rng.normal(size=5)
    for changed in (80, 3, 0, 60):
        terms = terms.copy()
        terms[:, rng.permutation(80)[:changed]] += 1.0
        np.testing.assert_allclose(kept.at(terms), terms @ whole, atol=1e-12)
        near = rng.random(80) < 0.4
        far = np.where(near, 0.0, terms) @ whole
        part = np.vstack([whole[near], far])
        np.testing.assert_allclose(kept.part(near, terms).scores(w), part @ w, atol=1e-12)
        np.testing.assert_allclose(kept.part(near, terms).gram(np.ones(len(part))), part.T @ part)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_far_from_bending_may_be_put_together(form):
    smooth, w = smooth_step(sharpness=60.0, form=form)
    rows = smooth.step.rows
    f = rows.scores(w)
    # Around slopes that rows have there, so that what is far has no curvature of its own.
    smooth.above, smooth.below = smooth.slopes(f)
    near = smooth.near(f)
    assert 0 < near.sum() < len(f) / 2
    part = smooth.reduced(near, f, LineSums(rows))
    for there in (w, w * (1 + 1e-4)):
        whole, some = (
            smooth.at(rows.scores(there), there),
            part.at(part.step.rows.scores(there), there),
        )
        assert some[0] == pytest.approx(whole[0], rel=1e-9)
        np.testing.assert_allclose(some[3], whole[3], atol=1e-9)
        slopes = [
            one.gradient(there, at[3], one.hinge_sums(*at[1:]))
            for one, at in ((smooth, whole), (part, some))
        ]
        np.testing.assert_allclose(*slopes, atol=1e-9)
