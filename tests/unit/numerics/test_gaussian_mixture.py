"""The EM engine: exact identities, invariances, known truths."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import gaussian_mixture
from counterweight.numerics.emissions import gaussian_log_density
from counterweight.numerics.gaussian_mixture import (
    ClassMixtures,
    fit_class_mixtures,
    fit_mixture,
    posterior,
)
from counterweight.numerics.mixture_steps import QuadraticRows, maximisation
from scipy.stats import multivariate_normal

TRUE_WEIGHTS = np.array([0.5, 0.3, 0.2])
TRUE_MEANS = np.array([[0.0, 0.0], [5.0, 1.0], [-2.0, 6.0]])
TRUE_COVARIANCES = np.array(
    [[[1.0, 0.5], [0.5, 1.0]], [[0.5, 0.0], [0.0, 2.0]], [[2.0, -0.7], [-0.7, 0.6]]]
)


def _known(n, seed=0):
    rng = np.random.default_rng(seed)
    component = rng.choice(3, n, p=TRUE_WEIGHTS)
    factor = np.linalg.cholesky(TRUE_COVARIANCES)
    noise = rng.standard_normal((n, 2))
    return TRUE_MEANS[component] + np.einsum("nij,nj->ni", factor[component], noise)


def _rough(n=600, d=3, seed=1):
    """Skewed, correlated rows that no small mixture fits well."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, 1.0, (n, d)) @ rng.normal(size=(d, d))
    return X + 10.0


def _responsibilities(n, k, n_init, seed=2):
    values = np.random.default_rng(seed).random((n_init, n, k))
    return values / values.sum(axis=2, keepdims=True)


def _ordered(mixture):
    order = np.argsort(mixture.weights)
    return mixture.weights[order], mixture.means[order], mixture.covariances[order]


def _assert_same(one, other, rtol=1e-8, atol=1e-8):
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=rtol)
    for a, b in zip(_ordered(one), _ordered(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("minimum_rows", [0, None, 160])
def test_integer_weights_equal_repeated_rows(minimum_rows):
    X = _rough()
    counts = np.random.default_rng(3).integers(0, 4, len(X))
    start = _responsibilities(len(X), 3, 2)
    weighted = fit_mixture(
        X, 3, sample_weight=counts, responsibilities=start, minimum_rows=minimum_rows, max_iter=60
    )
    repeated = fit_mixture(
        np.repeat(X, counts, axis=0),
        3,
        responsibilities=np.repeat(start, counts, axis=1),
        minimum_rows=minimum_rows,
        max_iter=60,
    )
    assert weighted.updates_held == repeated.updates_held
    if minimum_rows == 160:
        assert weighted.updates_held > 0
    _assert_same(weighted, repeated)
    np.testing.assert_allclose(
        weighted.restart_log_likelihood, repeated.restart_log_likelihood, rtol=1e-8
    )


def test_one_component_is_the_weighted_mean_and_covariance():
    X = _rough()
    weights = np.random.default_rng(4).random(len(X))
    mixture = fit_mixture(X, 1, sample_weight=weights, n_init=2, rng=np.random.default_rng(0))
    mean = np.average(X, axis=0, weights=weights)
    covariance = np.cov(X.T, aweights=weights, ddof=0)
    np.testing.assert_allclose(mixture.means[0], mean, rtol=1e-10)
    np.testing.assert_allclose(mixture.covariances[0], covariance, rtol=1e-9)
    expected = weights @ multivariate_normal(mean, covariance).logpdf(X)
    assert mixture.log_likelihood == pytest.approx(expected, rel=1e-10)


def test_log_likelihood_is_that_of_the_returned_parameters():
    X = _rough()
    weights = np.random.default_rng(5).random(len(X))
    mixture = fit_mixture(X, 3, sample_weight=weights, n_init=3, rng=np.random.default_rng(0))
    assert weights @ mixture.log_density(X) == pytest.approx(mixture.log_likelihood, rel=1e-11)
    assert mixture.history[-1] == mixture.log_likelihood
    # So are those on the way: with a tolerance that ends it earlier, the way is the same.
    early = fit_mixture(
        X, 3, sample_weight=weights, n_init=3, rng=np.random.default_rng(0), tol=0.1
    )
    assert early.history[-1] == pytest.approx(weights @ early.log_density(X), rel=1e-6)
    np.testing.assert_allclose(early.history, mixture.history[: len(early.history)], rtol=1e-9)
    assert mixture.log_likelihood == mixture.restart_log_likelihood.max()


def test_densities_are_those_of_the_normal_distribution():
    X = _known(50)
    values = gaussian_log_density(X, TRUE_MEANS, TRUE_COVARIANCES)
    for c in range(3):
        expected = multivariate_normal(TRUE_MEANS[c], TRUE_COVARIANCES[c]).logpdf(X)
        np.testing.assert_allclose(values[:, c], expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_log_likelihood_never_falls(seed):
    X = _rough(seed=seed)
    weights = np.random.default_rng(seed).random(len(X))
    mixture = fit_mixture(
        X, 5, sample_weight=weights, n_init=4, rng=np.random.default_rng(seed), tol=1e-9
    )
    assert len(mixture.history) > 10
    assert np.diff(mixture.history).min() >= -1e-10 * abs(mixture.log_likelihood)


def test_log_likelihood_never_falls_when_components_are_held():
    X = _rough(400)
    mixture = fit_mixture(X, 4, n_init=1, rng=np.random.default_rng(1), minimum_rows=90, tol=1e-9)
    assert mixture.updates_held > 0
    assert 1 <= mixture.components_small <= min(mixture.updates_held, len(mixture.weights))
    assert np.diff(mixture.history).min() >= -1e-10 * abs(mixture.log_likelihood)
    assert mixture.weights.sum() == pytest.approx(1, abs=1e-12)


def test_log_likelihood_never_falls_at_the_covariance_floor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X[:200, 1] = 1.5
    mixture = fit_mixture(X, 3, n_init=4, rng=rng, tol=1e-10, reg_covar=1e-3, minimum_rows=0)
    scaled = mixture.covariances / np.outer(X.std(axis=0), X.std(axis=0))
    assert np.linalg.eigvalsh(scaled).min() == pytest.approx(1e-3, rel=1e-6)
    assert np.diff(mixture.history).min() >= -1e-10 * abs(mixture.log_likelihood)


def test_order_of_rows_does_not_matter():
    X = _rough()
    start = _responsibilities(len(X), 3, 2)
    order = np.random.default_rng(7).permutation(len(X))
    one = fit_mixture(X, 3, responsibilities=start, max_iter=80)
    other = fit_mixture(X[order], 3, responsibilities=start[:, order], max_iter=80)
    _assert_same(one, other)


def test_order_of_components_does_not_matter():
    X = _rough()
    start = _responsibilities(len(X), 3, 2)
    one = fit_mixture(X, 3, responsibilities=start, max_iter=80)
    other = fit_mixture(X, 3, responsibilities=start[:, :, [2, 0, 1]], max_iter=80)
    _assert_same(one, other)
    np.testing.assert_allclose(one.means[[2, 0, 1]], other.means, rtol=1e-7)


def test_order_of_features_does_not_matter():
    X = _rough()
    start = _responsibilities(len(X), 3, 2)
    order = [2, 0, 1]
    one = fit_mixture(X, 3, responsibilities=start, max_iter=80)
    other = fit_mixture(X[:, order], 3, responsibilities=start, max_iter=80)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-9)
    np.testing.assert_allclose(one.means[:, order], other.means, rtol=1e-7)
    np.testing.assert_allclose(
        one.covariances[:, order][:, :, order], other.covariances, rtol=1e-6, atol=1e-8
    )


def test_affine_map_of_the_rows_maps_the_mixture():
    X = _rough()
    matrix = np.array([[2.0, 0.3, 0.0], [0.0, 0.5, 1.0], [-1.0, 0.0, 4.0]])
    shift = np.array([100.0, -3.0, 0.0])
    start = _responsibilities(len(X), 3, 1)
    options = {"responsibilities": start, "tol": 0.0, "max_iter": 40}
    one = fit_mixture(X, 3, **options)
    other = fit_mixture(X @ matrix.T + shift, 3, **options)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-7)
    np.testing.assert_allclose(other.means, one.means @ matrix.T + shift, rtol=1e-7)
    np.testing.assert_allclose(
        other.covariances, matrix @ one.covariances @ matrix.T, rtol=1e-6, atol=1e-8
    )
    jacobian = len(X) * np.log(abs(np.linalg.det(matrix)))
    assert other.log_likelihood == pytest.approx(one.log_likelihood - jacobian, rel=1e-10)


def test_known_mixture_is_recovered():
    X = _known(20000)
    mixture = fit_mixture(X, 3, n_init=8, rng=np.random.default_rng(0))
    order = [int(np.argmin(((mixture.means - m) ** 2).sum(axis=1))) for m in TRUE_MEANS]
    assert sorted(order) == [0, 1, 2]
    # Four standard errors of a share, a mean and a covariance of the smallest component.
    np.testing.assert_allclose(mixture.weights[order], TRUE_WEIGHTS, atol=0.015)
    np.testing.assert_allclose(mixture.means[order], TRUE_MEANS, atol=0.1)
    np.testing.assert_allclose(mixture.covariances[order], TRUE_COVARIANCES, atol=0.2)
    truth = gaussian_log_density(X, TRUE_MEANS, TRUE_COVARIANCES) + np.log(TRUE_WEIGHTS)
    assert mixture.log_likelihood >= np.logaddexp.reduce(truth, axis=1).sum()


def test_agrees_with_scikit_learn_from_the_same_start():
    from sklearn.mixture import GaussianMixture

    X = _known(2000, seed=3)
    start = _responsibilities(len(X), 3, 1)

    class Started(GaussianMixture):
        def _initialize_parameters(self, X, random_state, **_):
            self._initialize(X, start[0])

    theirs = Started(3, tol=1e-12, max_iter=2000, reg_covar=0).fit(X)
    ours = fit_mixture(X, 3, responsibilities=start, tol=1e-13)
    assert ours.log_likelihood == pytest.approx(theirs.score(X) * len(X), rel=1e-9)
    np.testing.assert_allclose(ours.weights, theirs.weights_, rtol=1e-6)
    np.testing.assert_allclose(ours.means, theirs.means_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.covariances, theirs.covariances_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("block", [7, 64, 5000])
def test_blocks_do_not_change_the_result(block):
    X = _rough()
    options = {"n_init": 3, "max_iter": 30}
    one = fit_mixture(X, 3, rng=np.random.default_rng(0), **options)
    other = fit_mixture(X, 3, rng=np.random.default_rng(0), block=block, **options)
    _assert_same(one, other)


def test_features_made_anew_each_time_change_nothing(monkeypatch):
    X = _rough()
    one = fit_mixture(X, 3, n_init=2, rng=np.random.default_rng(0))
    monkeypatch.setattr(
        "counterweight.numerics.mixture_steps.QuadraticRows.__init__.__defaults__", (1024, 0)
    )
    other = fit_mixture(X, 3, n_init=2, rng=np.random.default_rng(0))
    np.testing.assert_allclose(one.means, other.means, rtol=1e-8)


def test_rows_of_weight_zero_change_nothing():
    X = _rough()
    extra = np.vstack([X, np.full((40, 3), 1e6)])
    weights = np.r_[np.ones(len(X)), np.zeros(40)]
    one = fit_mixture(X, 3, n_init=3, rng=np.random.default_rng(0))
    other = fit_mixture(extra, 3, sample_weight=weights, n_init=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(one.means, other.means)


def test_component_with_few_rows_is_kept_and_the_others_share_the_rest():
    X = _rough(300)
    first = fit_mixture(X, 3, n_init=1, rng=np.random.default_rng(0))
    far = np.array([0.1, 0.5, 0.4])
    start = type(first)(far, first.means + [[1e3], [0], [0]], first.covariances)
    mixture = fit_mixture(X, 3, start=start, max_iter=5, tol=0.0)
    assert mixture.updates_held == 5
    assert mixture.components_small == 1
    assert mixture.weights[0] == pytest.approx(0.1, abs=1e-14)
    np.testing.assert_allclose(mixture.means[0], start.means[0], rtol=1e-12)
    np.testing.assert_allclose(mixture.covariances[0], start.covariances[0], rtol=1e-12)
    assert mixture.weights[1:].sum() == pytest.approx(0.9, abs=1e-14)


def test_start_from_a_fitted_mixture_stays_there():
    X = _known(2000)
    first = fit_mixture(X, 3, n_init=4, rng=np.random.default_rng(0), tol=1e-12)
    again = fit_mixture(X, 3, start=first, tol=1e-9)
    assert again.n_iter == 1
    _assert_same(first, again, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "n_init"), [(600, 3), (600, 8), (12_000, 8)])
def test_the_same_seed_gives_the_same_bytes(rows, n_init):
    X = _rough(rows)
    one, other = (fit_mixture(X, 3, n_init=n_init, rng=np.random.default_rng(9)) for _ in range(2))
    assert one.means.tobytes() == other.means.tobytes()
    assert one.history.tobytes() == other.history.tobytes()


@pytest.mark.parametrize("rows", [2_000, 12_000])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_ends_where_plain_em_does(rows, seed):
    X, weights = _known(rows, seed), np.random.default_rng(seed).gamma(1.0, 1.0, rows)
    options = {"sample_weight": weights, "n_init": 10, "tol": 1e-9}
    plain = fit_mixture(X, 3, rng=np.random.default_rng(1), screen=False, **options)
    fast = fit_mixture(X, 3, rng=np.random.default_rng(1), **options)
    more = gaussian_mixture.STARTS_ON_SAMPLE if rows > 3_000 else 1
    assert len(plain.restart_log_likelihood) == 10
    assert len(fast.restart_log_likelihood) == 10 * more
    assert fast.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-7)
    # Those that were not run on have values of all rows, too, in the units of the rows.
    middle = np.median(plain.restart_log_likelihood)
    assert np.median(fast.restart_log_likelihood) == pytest.approx(middle, rel=1e-3)


@pytest.mark.parametrize("rows", [2_000, 12_000])
def test_what_a_search_ends_with_is_told_of_all_rows(rows):
    X, weights = _rough(rows), np.random.default_rng(3).gamma(1.0, 1.0, rows)
    made = fit_mixture(X, 4, sample_weight=weights, n_init=8, rng=np.random.default_rng(0))
    assert made.log_likelihood == made.restart_log_likelihood.max() == made.history[-1]
    assert weights @ made.log_density(X) == pytest.approx(made.log_likelihood, rel=1e-10)
    assert np.diff(made.history).min() >= -1e-10 * abs(made.log_likelihood)
    assert len(made.history) == made.n_iter + 1
    assert made.converged


def test_rows_are_drawn_by_weight():
    weights = np.r_[np.full(500, 2.0), np.full(500, 0.5), np.zeros(10), 300.0]
    counts = [
        gaussian_mixture._drawn(weights, 310, np.random.default_rng(seed)) for seed in range(400)
    ]
    assert {count.sum() for count in counts} <= {309.0, 310.0, 311.0}
    expected = weights * 310 / weights.sum()
    assert (np.abs(counts - expected) < 1).all()
    # A row is drawn once or not: four standard errors of a share of 400 draws.
    np.testing.assert_allclose(np.mean(counts, axis=0), expected, atol=4 * 0.5 / 20)


def test_extrapolated_steps_save_most_of_the_way_of_plain_em():
    X = _rough(800)
    start = _responsibilities(len(X), 3, 1)
    made = fit_mixture(X, 3, responsibilities=start, tol=1e-12)
    mixture, steps = fit_mixture(X, 3, responsibilities=start, max_iter=1), 1
    # One step at a time no third is extrapolated.
    while mixture.log_likelihood < made.log_likelihood - 1e-6 and steps < 3 * made.n_iter:
        mixture, steps = fit_mixture(X, 3, start=mixture, max_iter=1), steps + 1
    assert steps == 3 * made.n_iter


def test_single_precision_log_likelihood_is_corrected_for_rounding():
    X = _rough(4000, d=4)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = QuadraticRows(X, np.ones(len(X)))
    moments = rows.random_moments(3, 2, np.random.default_rng(0))
    parameters = maximisation(moments, None, None, 1e-6)
    exact, rough = (rows.expectation(parameters, kind) for kind in (np.float64, np.float32))
    np.testing.assert_allclose(rough.log_likelihood, exact.log_likelihood, rtol=1e-7)
    np.testing.assert_allclose(rough.moments, exact.moments, rtol=1e-4, atol=0.01)


def test_running_out_of_iterations_is_reported():
    mixture = fit_mixture(_rough(), 4, n_init=2, rng=np.random.default_rng(0), max_iter=3)
    assert not mixture.converged
    assert mixture.n_iter == 3
    assert len(mixture.history) == 4


def _fit(X=None, k=2, **options):
    return fit_mixture(_rough(100) if X is None else X, k, rng=np.random.default_rng(0), **options)


def _with(value, at=(3, 1)):
    X = _rough(100)
    X[at] = value
    return X


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _fit(k=40), "needs at least 240 rows .* there are 100"),
        (lambda: _fit(X=_with(2.0, (slice(None), 1))), "Feature number 1 is constant"),
        (
            lambda: _fit(X=_with(2.0, (slice(None), 1)), feature_names=["a", "hours", "c"]),
            "Feature hours is constant",
        ),
        (lambda: _fit(X=_with(np.nan)), "1 rows of feature number 1"),
        (lambda: _fit(X=_with(np.inf)), "Missing or infinite"),
        (lambda: _fit(X=np.zeros(4)), "rows by features"),
        (lambda: _fit(X=np.zeros((0, 3))), "rows by features"),
        (lambda: _fit(sample_weight=np.zeros(100)), "All 100 weights are 0"),
        (lambda: _fit(sample_weight=-np.ones(100)), "100 of 100 weights are negative"),
        (lambda: _fit(sample_weight=np.full(100, np.nan)), "not finite"),
        (lambda: _fit(sample_weight=np.ones(7)), "7 weights for 100 rows"),
        (lambda: _fit(tol=-1.0), "tol must be"),
        (lambda: _fit(k=0), "components must be"),
        (lambda: _fit(n_init=0), "n_init must be"),
        (lambda: _fit(max_iter=0), "max_iter must be"),
        (lambda: _fit(reg_covar=0.0), "reg_covar must"),
        (lambda: _fit(responsibilities=np.ones((2, 3, 4))), "Responsibilities must have"),
        (lambda: fit_mixture(_rough(100), 2), "give rng"),
    ],
)
def test_bad_input_is_explained(call, message):
    with pytest.raises(CounterweightError, match=message):
        call()


def test_the_units_of_the_features_do_not_move_the_stop():
    X = _rough()
    fits = [
        fit_mixture(X * scale, 3, n_init=3, rng=np.random.default_rng(1))
        for scale in (1e-8, 1.0, 1e8)
    ]
    assert len({fit.n_iter for fit in fits}) == 1
    for fit, scale in zip(fits, (1e-8, 1.0, 1e8), strict=True):
        assert fit.log_likelihood + X.size * np.log(scale) == pytest.approx(fits[1].log_likelihood)


@pytest.fixture(scope="module")
def two_classes():
    rng = np.random.default_rng(8)
    X, y = _known(500, 8), rng.integers(0, 2, 500)
    return X + 2.0 * y[:, None], y, rng.uniform(0.5, 2.0, 500)


def test_one_gaussian_a_class_is_quadratic_discriminant_analysis(two_classes):
    X, y, weight = two_classes
    mixtures, fitted, value = fit_class_mixtures(
        X, y, 1, sample_weight=weight, rng=np.random.default_rng(0), minimum_rows=0
    )
    share = np.array([weight[y == label].sum() for label in (0, 1)]) / weight.sum()
    np.testing.assert_allclose(mixtures.prior, share)
    joint = np.column_stack(
        [
            np.log(share[label])
            + multivariate_normal(
                np.average(X[y == label], axis=0, weights=weight[y == label]),
                np.cov(X[y == label].T, aweights=weight[y == label], ddof=0),
            ).logpdf(X)
            for label in (0, 1)
        ]
    )
    np.testing.assert_allclose(mixtures.joint_log_density(X), joint, rtol=1e-7)
    assert value == pytest.approx(weight @ joint[np.arange(len(y)), y])
    odds = np.exp(joint[:, 1] - joint[:, 0])
    np.testing.assert_allclose(posterior(joint)[:, 1], odds / (1 + odds))
    np.testing.assert_allclose(posterior(joint).sum(axis=1), 1)
    assert len(fitted) == 3 and mixtures.width == 2


@pytest.mark.parametrize("separate", [False, True])
def test_classes_of_several_components_are_kept_as_arrays(two_classes, separate):
    X, y, _ = two_classes
    mixtures, fitted, value = fit_class_mixtures(
        X, y, 3, rng=np.random.default_rng(0), separate=separate, n_init=2, max_iter=20
    )
    assert len(fitted) == 3 - separate
    again = ClassMixtures.from_arrays(mixtures.to_arrays())
    np.testing.assert_array_equal(again.joint_log_density(X), mixtures.joint_log_density(X))
    assert value == pytest.approx(mixtures.joint_log_density(X)[np.arange(len(y)), y].sum())
    if separate:
        return
    # The mixture of all rows is where both began, and it is refused where it does not fit.
    same, _, _ = fit_class_mixtures(
        X, y, 3, rng=np.random.default_rng(5), base=fitted[0], n_init=2, max_iter=20
    )
    np.testing.assert_allclose(same.means, mixtures.means)
    with pytest.raises(CounterweightError, match=r"has the shape \(3, 2\), not \(2, 2\)"):
        fit_class_mixtures(X, y, 2, rng=np.random.default_rng(5), base=fitted[0])


def test_a_class_without_weight_is_no_class(two_classes):
    X, y, _ = two_classes
    with pytest.raises(CounterweightError, match="No labeled row .* has the label 1"):
        fit_class_mixtures(X, y, 1, sample_weight=1.0 - y, rng=np.random.default_rng(0))
