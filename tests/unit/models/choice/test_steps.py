"""EM steps of the predictive choice model: against libraries and against themselves."""

import numpy as np
import pytest
from counterweight.models.choice.steps import (
    HALVINGS,
    LEAST_SLOPE,
    MOST_SLOPE,
    ChoiceRows,
    Choices,
    Prior,
    climb,
    curve_step,
    few_steps,
    fit_curves,
)
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LogisticRegression

RULE = {"floor": 1e-3, "minimum_rows": 4.0}


def answers(rng, n, eta=0.4, k=6.0):
    t = rng.random(n)
    return t, (rng.random(n) < expit(k * (t - eta))).astype(int)


def batch(rng, k, r, d):
    root = rng.normal(size=(k, r, d, d)) * 0.4 + np.eye(d)
    return Choices(
        rng.dirichlet(np.ones(k), r).T,
        rng.normal(size=(k, r, d)),
        root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(d),
        np.stack([rng.normal(size=(k, r)), rng.uniform(1, 12, (k, r))], axis=-1),
        np.empty((k, r, 0)),
    )


def test_choice_step_equals_a_librarys_weighted_logistic_regression():
    rng = np.random.default_rng(0)
    t, y = answers(rng, 800)
    weights = rng.random((5, 800)) ** 3
    ours = fit_curves(t, y, weights)
    for row, (position, slope) in zip(weights, ours, strict=True):
        library = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000, solver="newton-cholesky")
        library.fit(t[:, None], y, row)
        assert slope == pytest.approx(library.coef_[0, 0], abs=1e-6)
        assert position - slope / 2 == pytest.approx(library.intercept_[0], abs=1e-6)


def test_bounds_are_met_exactly():
    rng = np.random.default_rng(1)
    t, y = answers(rng, 400)
    falling, rising = (
        fit_curves(t, 1 - y, np.ones((1, 400)))[0],
        fit_curves(t, t > 0.5, np.ones(400)),
    )
    assert falling[1] == pytest.approx(LEAST_SLOPE, abs=1e-12)
    # With no slope to speak of, the position is the log odds of the mean answer.
    assert expit(falling[0]) == pytest.approx(1 - y.mean(), abs=1e-3)
    assert rising[0, 1] == pytest.approx(MOST_SLOPE, abs=1e-9)
    one = fit_curves(t, np.ones(400), np.ones(400))[0]
    assert np.isfinite(one).all() and expit(one[0]) > 1 - 1e-6


def test_prior_pulls_where_offers_do_not_vary():
    rng = np.random.default_rng(2)
    t = np.full(300, 0.5)
    y = (rng.random(300) < 0.7).astype(int)
    prior = Prior(np.array([0.0, 7.0]), np.array([0.25, 0.04]))
    position, slope = fit_curves(t, y, np.ones(300), prior=prior)[0]
    assert slope == pytest.approx(7.0, abs=1e-6)
    gradient = (y - expit(position)).sum() - 0.25 * position
    assert gradient == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_log_likelihood_and_moments_are_those_of_the_definition(missing):
    rng = np.random.default_rng(3)
    n, d, k, r = 300, 3, 4, 2
    rows = rng.normal(size=(n, d))
    t, y = answers(rng, n)
    models = batch(rng, k, r, d)
    weights = rng.integers(0, 3, n).astype(float)
    holes = rows.copy()
    if missing:
        holes[rng.random((n, d)) < 0.2] = np.nan
        holes[0] = np.nan
    data = ChoiceRows(holes, t, y, weights)
    found = data.expectation(models, entropy=True)
    for restart in range(r):
        joint = np.zeros((n, k))
        for j in range(k):
            mean, covariance = models.means[j, restart], models.covariances[j, restart]
            position, slope = models.curves[j, restart]
            for i in range(n):
                o = ~np.isnan(holes[i])
                joint[i, j] = np.log(models.weights[j, restart])
                if o.any():
                    joint[i, j] += multivariate_normal(mean[o], covariance[np.ix_(o, o)]).logpdf(
                        holes[i, o]
                    )
            p = expit(position + slope * (t - 0.5))
            joint[:, j] += np.log(np.where(y == 1, p, 1 - p))
        total = logsumexp(joint, axis=1)
        assert found.log_likelihood[restart] == pytest.approx(weights @ total, rel=1e-12)
        gamma = np.exp(joint - total[:, None])
        entropy = -(weights[:, None] * gamma * np.log(gamma)).sum()
        assert found.entropy[restart] == pytest.approx(entropy, rel=1e-9)
        gamma *= weights[:, None]
        np.testing.assert_allclose(found.moments[:, restart, 0], gamma.sum(axis=0), rtol=1e-9)
        p = expit(models.curves[:, restart, 0] + np.outer(t - 0.5, models.curves[:, restart, 1]))
        expected = (gamma * (y[:, None] - p)).sum(axis=0)
        np.testing.assert_allclose(found.gradient[:, restart, 0], expected, atol=1e-9)
        if not missing:
            np.testing.assert_allclose(found.moments[:, restart, 1:4], gamma.T @ rows, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_objective_never_falls(seed):
    rng = np.random.default_rng(seed)
    n = 600
    rows = np.concatenate([rng.normal(-1, 1, (n // 2, 2)), rng.normal(1, 1, (n // 2, 2))])
    t, y = answers(rng, n, *((0.9, 25.0) if seed % 2 else (0.4, 6.0)))
    if seed % 3 == 0:
        rows[rng.random(rows.shape) < 0.15] = np.nan
    if seed == 4:
        t = np.round(t)
    prior = Prior(np.zeros(2), np.ones(2)) if seed == 5 else None
    data = ChoiceRows(rows, t, y, rng.random(n))
    done = climb(data, batch(rng, 5, 8, 2), tol=1e-7, iterations=300, prior=prior, **RULE)
    for path in np.array(done.history).T:
        path = path[~np.isnan(path)]
        assert np.diff(path).min() >= -1e-10 * abs(path[-1])
    assert (done.parameters.curves[..., 1] >= LEAST_SLOPE * (1 - 1e-9)).all()
    assert all(np.isfinite(values).all() for values in done.parameters)


@pytest.mark.parametrize("seed", range(4))
def test_foretold_steps_come_to_the_optimum_of_em_in_fewer_steps(seed):
    rng = np.random.default_rng(20 + seed)
    n = 1500
    rows = rng.normal(size=(n, 2)) + 1.5 * rng.integers(0, 3, (n, 1))
    data = ChoiceRows(rows, *answers(rng, n))
    # From near an optimum, or starts would part on the way to different ones.
    start = climb(data, batch(rng, 3, 3, 2), tol=1e-5, iterations=300, **RULE).parameters
    ways = {"tol": 1e-11, "iterations": 100_000} | RULE
    plain, ahead = climb(data, start, brief=True, **ways), climb(data, start, **ways)
    assert plain.converged.all() and ahead.converged.all()
    assert (ahead.last >= plain.last - 1e-6 * n).all()
    assert ahead.iterations.sum() <= 0.6 * plain.iterations.sum()


def test_models_of_a_batch_do_not_touch_each_other_and_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1000, 2))
    data = ChoiceRows(rows, *answers(rng, 1000))
    models = batch(rng, 3, 4, 2)
    together = climb(data, models, tol=1e-6, iterations=50, **RULE)
    alone = climb(data, models.at([2]), tol=1e-6, iterations=50, **RULE)
    np.testing.assert_allclose(together.last[2], alone.last[0], rtol=1e-10)
    monkeypatch.setattr("counterweight.models.choice.steps.BLOCK", 1000)
    smaller = climb(data, models, tol=1e-6, iterations=50, **RULE)
    np.testing.assert_allclose(together.last, smaller.last, rtol=1e-10)


def test_values_missing_at_random_leave_the_gaussian_right():
    rng = np.random.default_rng(6)
    n = 20_000
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    rows = rng.multivariate_normal([0, 0], covariance, n)
    # The second feature is missing where the first is high: its seen mean is far too low.
    rows[rows[:, 0] > 0, 1] = np.nan
    data = ChoiceRows(rows, *answers(rng, n))
    start = Choices(
        np.ones((1, 1)),
        np.zeros((1, 1, 2)),
        np.eye(2)[None, None],
        np.array([[[0.0, 1.0]]]),
        np.empty((1, 1, 0)),
    )
    found = climb(data, start, tol=1e-9, iterations=500, **RULE).parameters
    np.testing.assert_allclose(found.means[0, 0], [0, 0], atol=0.04)
    np.testing.assert_allclose(found.covariances[0, 0], covariance, atol=0.05)
    assert np.nanmean(rows[:, 1]) < -0.5


def test_weights_of_each_model_count_rows():
    rng = np.random.default_rng(7)
    rows, (t, y) = rng.normal(size=(200, 2)), answers(rng, 200)
    models = batch(rng, 2, 1, 2)
    drawn = rng.integers(0, 3, (2, 200)).astype(float)
    both = Choices(*(np.repeat(values, 2, axis=1) for values in models))
    data = ChoiceRows(rows, t, y)
    together = few_steps(data.reweighted(drawn), both, 3, **RULE)
    for number in range(2):
        repeated = np.repeat(np.arange(200), drawn[number].astype(int))
        alone = few_steps(ChoiceRows(rows[repeated], t[repeated], y[repeated]), models, 3, **RULE)
        np.testing.assert_allclose(together.means[:, number], alone.means[:, 0], atol=1e-9)
        np.testing.assert_allclose(together.curves[:, number], alone.curves[:, 0], atol=1e-9)


def test_answers_have_the_chances_of_their_curves():
    t, y = np.array([0.1, 0.4, 0.9]), np.array([0.0, 1.0, 1.0])
    data = ChoiceRows(np.zeros((3, 1)), t, y)
    curves = np.array([[-1.0, 4.0], [0.5, 12.0]])
    p = 1 / (1 + np.exp(-(curves[:, 0] + curves[:, 1] * (t[:, None] - 0.5))))
    expected = np.log(np.where(y[:, None] == 1, p, 1 - p))
    np.testing.assert_allclose(data.log_answer(curves), expected, rtol=1e-12)
    moved = data.moved(np.array([0.1, 0.0, -0.1]))
    np.testing.assert_allclose(moved.t, [0.0, 0.4, 1.0])
    assert moved.offered is data.t
    np.testing.assert_allclose(moved.groups[0].offers[1], moved.t - 0.5)


def test_a_prior_is_that_of_normal_positions_and_slopes():
    prior = Prior(np.array([1.0, 7.0]), np.array([0.25, 4.0]))
    curves = np.random.default_rng(1).normal(size=(3, 2, 2)) + prior.mean
    density = norm(prior.mean, prior.precision**-0.5).logpdf(curves).sum(axis=(0, 2))
    constant = 3 * norm(prior.mean, prior.precision**-0.5).logpdf(prior.mean).sum()
    np.testing.assert_allclose(prior.log_density(curves), density - constant)


@pytest.mark.parametrize("prior", [None, Prior(np.array([0.5, 6.0]), np.array([0.3, 0.05]))])
def test_a_step_is_the_best_of_its_quadratic_within_the_bounds(prior):
    """Held against every point of a grid over what bounds and stride leave."""
    rng, stride = np.random.default_rng(3), (1.0, 2.0)
    edges = 0
    for _ in range(40):
        root = rng.normal(size=(2, 2))
        H = root @ root.T + 0.05 * np.eye(2)
        curves = np.array([rng.uniform(-3, 3), rng.uniform(LEAST_SLOPE, 4)])
        gradient = 3 * rng.normal(size=2)
        step = curve_step(curves, gradient, H[[0, 0, 1], [0, 1, 1]], prior, stride)
        pulled = gradient.copy()
        if prior is not None:
            pulled -= prior.precision * (curves - prior.mean)
            H = H + np.diag(prior.precision)
        low = np.maximum([-30.0, LEAST_SLOPE] - curves, -np.array(stride))
        high = np.minimum([30.0, MOST_SLOPE] - curves, stride)
        assert (low - 1e-12 <= step).all() and (step <= high + 1e-12).all()
        grid = np.stack(np.meshgrid(*np.linspace(low, high, 41).T), axis=-1).reshape(-1, 2)

        def gain(s, H=H, pulled=pulled):
            return s @ pulled - 0.5 * np.einsum("...i,ij,...j", s, H, s)

        assert gain(step) >= gain(grid).max() - 1e-6
        edges += np.isclose(step, low).any() or np.isclose(step, high).any()
    assert 5 < edges < 40


def test_the_gradient_of_a_fit_is_the_pull_of_its_prior():
    rng = np.random.default_rng(6)
    t, y = answers(rng, 500, k=3.0)
    weights = rng.uniform(0.5, 2.0, (3, 500))
    prior = Prior(np.array([0.5, 9.0]), np.array([3.0, 2.0]))
    fitted = fit_curves(t, y, weights, prior=prior)
    for (position, slope), own in zip(fitted, weights, strict=True):
        rest = own * (y - expit(position + slope * (t - 0.5)))
        pulled = prior.precision * (np.array([position, slope]) - prior.mean)
        assert np.array([rest.sum(), rest @ (t - 0.5)]) == pytest.approx(pulled, abs=1e-6)


def test_steps_in_single_precision_are_those_in_double():
    rng = np.random.default_rng(3)
    t, y = answers(rng, 5000)
    data, parameters = ChoiceRows(rng.normal(size=(5000, 3)), t, y), batch(rng, 4, 2, 3)
    one, other = data.expectation(parameters), data.single().expectation(parameters)
    np.testing.assert_allclose(other.log_likelihood, one.log_likelihood, rtol=1e-6)
    scale = np.abs(one.moments).max()
    np.testing.assert_allclose(other.moments, one.moments, atol=1e-5 * scale)
    np.testing.assert_allclose(other.gradient, one.gradient, atol=1e-3)
    assert other.moments.dtype == other.gradient.dtype == np.float64


@pytest.mark.parametrize("single", [False, True])
def test_segments_that_are_far_from_a_row_leave_no_number_below_the_least_normal_one(single):
    rng = np.random.default_rng(4)
    t, y = answers(rng, 400)
    parameters = batch(rng, 3, 2, 1)
    away = np.linspace(0, 60, 3)[:, None, None]
    parameters = parameters._replace(
        means=np.broadcast_to(away, (3, 2, 1)), covariances=np.ones((3, 2, 1, 1))
    )
    data = ChoiceRows(rng.uniform(-5, 65, (400, 1)), t, y)
    with np.errstate(under="raise"):
        found = (data.single() if single else data).expectation(parameters)
    # A row's share of all segments is one, also where two of them are far.
    assert found.moments[..., 0].sum(axis=0) == pytest.approx([400, 400])


def test_a_fit_ends_with_the_first_step_that_is_none(monkeypatch):
    rng = np.random.default_rng(8)
    t, y = answers(rng, 400)
    weights, made = rng.uniform(0.5, 2.0, (2, 400)), []
    best = fit_curves(t, y, weights)
    assert np.abs(best).max() > 1

    def counted(*asked):
        made.append(curve_step(*asked))
        return made[-1]

    monkeypatch.setattr("counterweight.models.choice.steps.curve_step", counted)
    np.testing.assert_allclose(fit_curves(t, y, weights, best, tol=1e-6), best, atol=1e-9)
    assert len(made) == 1
    # From afar Newton's method doubles the digits at each step.
    np.testing.assert_allclose(fit_curves(t, y, weights, tol=1e-6), best, atol=1e-9)
    assert len(made) < 1 + 12


def test_a_step_that_never_pays_is_halved_so_often_and_undone():
    rng = np.random.default_rng(9)
    start, asked = batch(rng, 2, 1, 1), []

    class Stubborn(ChoiceRows):
        """Any curves but the first are worse."""

        def expectation(self, parameters, **how):
            asked.append(parameters.curves)
            same = np.allclose(parameters.curves, start.curves, rtol=0, atol=1e-12)
            found = super().expectation(parameters, **how)
            return found._replace(log_likelihood=np.array([0.0 if same else -9.0]))

    data = Stubborn(rng.normal(size=(60, 1)), *answers(rng, 60))
    done = climb(data, start, tol=0.0, iterations=1, **RULE)
    np.testing.assert_allclose(done.parameters.curves, start.curves, atol=1e-12)
    away = np.array([np.abs(one - start.curves).max() for one in asked])
    np.testing.assert_allclose(away[2 : HALVINGS + 1] / away[1], 0.5 ** np.arange(1, HALVINGS))
    assert away[0] == 0 < away[1] and len(asked) <= HALVINGS + 3
    np.testing.assert_allclose(away[HALVINGS + 1 :], 0.0, atol=1e-12)
