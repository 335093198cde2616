"""Components of numbers and categories: marginals, exact steps, planted truths."""

import itertools

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.class_mixtures import GenerativeClassifier
from counterweight.numerics.emissions import Emission, Layout, log_sum_exp, mixed_log_density
from counterweight.numerics.gaussian_mixture import ClassMixtures, Mixture, fit_mixture
from counterweight.tables.parquet import model_arrays, model_table
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

#: Two numbers, a category of three levels in columns of their own, one of codes 0 to 3.
LAYOUT = Layout((0, 1), ((2, 3, 4), (5,)), (3, 4))
#: And two more of codes: fewer than three categories do not identify the segments.
MORE = Layout((0, 1), ((2, 3, 4), (5,), (6,), (7,)), (3, 4, 3, 4))
BY_SEGMENT = (
    np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
    np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]),
)


def _planted(n=3000, seed=0, missing=0.0, more=False):
    """Two segments that only the categories tell apart, and the segment of each row."""
    rng = np.random.default_rng(seed)
    segment = (rng.random(n) < 0.4).astype(int)
    one, other = (_drawn(rng, shares[segment]) for shares in BY_SEGMENT)
    numbers = rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + [3.0, -1.0]
    X = np.column_stack([numbers, np.eye(3)[one], other])
    if more:
        X = np.column_stack([X, *(_drawn(rng, shares[segment]) for shares in BY_SEGMENT)])
    for columns in ([0], [1], [2, 3, 4], *([at] for at in range(5, X.shape[1]))):
        X[np.ix_(rng.random(n) < missing, columns)] = np.nan
    return X, segment


def _bayes(X, layout):
    """The segment by the true shares."""
    joint = np.tile(np.log([0.6, 0.4]), (len(X), 1))
    for at, codes in enumerate(layout.split(X)[1].T):
        shares = np.column_stack([BY_SEGMENT[at % 2], [1.0, 1.0]])
        with np.errstate(divide="ignore"):
            joint += np.log(shares[:, codes]).T
    return joint[:, 1] > joint[:, 0]


def _drawn(rng, shares):
    return (rng.random(len(shares))[:, None] > np.cumsum(shares, axis=1)).sum(axis=1)


def _responsibilities(n, k, n_init, seed=2):
    values = np.random.default_rng(seed).random((n_init, n, k))
    return values / values.sum(axis=2, keepdims=True)


def _mixture(k=3, seed=4):
    rng = np.random.default_rng(seed)
    shares = np.hstack([rng.dirichlet(np.ones(levels), k) for levels in LAYOUT.levels])
    factor = rng.normal(size=(k, 2, 2))
    covariances = factor @ np.swapaxes(factor, 1, 2) + np.eye(2)
    means = rng.normal(size=(k, 2))
    return Mixture(rng.dirichlet(np.ones(k)), means, covariances, shares=shares, layout=LAYOUT)


def test_density_is_the_normal_times_the_shares():
    X, mixture = _planted(40)[0], _mixture()
    numbers, codes = LAYOUT.split(X)
    for j in range(3):
        normal = multivariate_normal(mixture.means[j], mixture.covariances[j]).logpdf(numbers)
        told = mixture.shares[j, codes[:, 0]] * mixture.shares[j, 3 + codes[:, 1]]
        expected = normal + np.log(told)
        np.testing.assert_allclose(mixture.component_log_density(X)[:, j], expected, rtol=1e-11)


def test_a_missing_category_is_the_sum_over_its_levels():
    X, mixture = _planted(20)[0], _mixture()
    every = []
    for level in range(4):
        X[:, 5] = level
        every.append(mixture.log_density(X))
    X[:, 5] = np.nan
    np.testing.assert_allclose(mixture.log_density(X), np.logaddexp.reduce(every), rtol=1e-11)


def test_a_missing_number_is_the_integral_over_it():
    X, mixture = _planted(5)[0], _mixture()
    grid = np.linspace(-40, 40, 8001)
    for row in X:
        filled = np.tile(row, (len(grid), 1))
        filled[:, 1] = grid
        integral = np.trapezoid(np.exp(mixture.log_density(filled)), grid)
        row[1] = np.nan
        assert mixture.log_density(row[None])[0] == pytest.approx(np.log(integral), rel=1e-8)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
def test_log_likelihood_of_an_e_step_is_that_of_the_densities(covariance):
    X, _ = _planted(500, missing=0.2)
    weights = np.random.default_rng(0).random(len(X))
    mixture = fit_mixture(
        X,
        3,
        sample_weight=weights,
        responsibilities=_responsibilities(len(X), 3, 2),
        layout=LAYOUT,
        covariance=covariance,
        max_iter=20,
    )
    assert weights @ mixture.log_density(X) == pytest.approx(mixture.log_likelihood, rel=1e-10)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_penalised_log_likelihood_never_falls(covariance, missing):
    X, _ = _planted(600, missing=missing)
    weights = np.random.default_rng(1).random(len(X)) * 2
    mixture = fit_mixture(
        X,
        4,
        sample_weight=weights,
        responsibilities=_responsibilities(len(X), 4, 3),
        layout=LAYOUT,
        covariance=covariance,
        tol=1e-10,
        max_iter=300,
        minimum_rows=40,
    )
    assert len(mixture.history) > 10
    assert np.diff(mixture.history).min() >= -1e-10 * abs(mixture.log_likelihood)
    assert mixture.history[-1] > mixture.history[0]


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
def test_integer_weights_equal_repeated_rows(covariance):
    X, _ = _planted(300, missing=0.1)
    counts = np.random.default_rng(3).integers(0, 4, len(X))
    start = _responsibilities(len(X), 2, 1)
    options = {"layout": LAYOUT, "covariance": covariance, "max_iter": 30}
    one = fit_mixture(X, 2, sample_weight=counts, responsibilities=start, **options)
    other = fit_mixture(
        np.repeat(X, counts, axis=0),
        2,
        responsibilities=np.repeat(start, counts, axis=1),
        **options,
    )
    for name in ("weights", "means", "covariances", "shares"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-9)


def test_without_a_category_it_is_the_gaussian_mixture():
    X = _planted(500)[0][:, :2]
    start = _responsibilities(len(X), 2, 2)
    plain = fit_mixture(X, 2, responsibilities=start, max_iter=50)
    mixed = fit_mixture(X, 2, responsibilities=start, max_iter=50, layout=Layout.of(2))
    assert mixed.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-10)
    np.testing.assert_allclose(mixed.covariances, plain.covariances, rtol=1e-7)


def test_one_component_is_means_variances_and_smoothed_shares():
    X, _ = _planted(400)
    weights = np.random.default_rng(4).random(len(X))
    numbers, codes = LAYOUT.split(X)
    fits = {
        covariance: fit_mixture(
            X,
            1,
            sample_weight=weights,
            rng=np.random.default_rng(0),
            n_init=1,
            layout=LAYOUT,
            covariance=covariance,
        )
        for covariance in ("full", "diagonal", "tied")
    }
    matrix = np.cov(numbers.T, aweights=weights, ddof=0)
    counts = [np.bincount(codes[:, at], weights, levels) + 0.5 for at, levels in ((0, 3), (1, 4))]
    shares = np.concatenate([count / count.sum() for count in counts])
    for covariance, mixture in fits.items():
        expected = np.diag(np.diag(matrix)) if covariance == "diagonal" else matrix
        np.testing.assert_allclose(mixture.covariances[0], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mixture.shares[0], shares, rtol=1e-10)


def test_missing_numbers_of_one_gaussian_are_those_of_maximum_likelihood():
    """Monotone missing values: the second number regresses on the first (Anderson 1957)."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 2 * x + rng.normal(size=400)
    y[x > 0.3] = np.nan
    mixture = fit_mixture(
        np.column_stack([x, y]), 1, rng=rng, n_init=1, layout=Layout.of(2), tol=1e-14, max_iter=5000
    )
    there = ~np.isnan(y)
    slope, constant = np.polyfit(x[there], y[there], 1)
    rest = np.mean((y[there] - constant - slope * x[there]) ** 2)
    np.testing.assert_allclose(mixture.means[0], [x.mean(), constant + slope * x.mean()], rtol=1e-5)
    variance = rest + slope**2 * x.var()
    expected = [[x.var(), slope * x.var()], [slope * x.var(), variance]]
    np.testing.assert_allclose(mixture.covariances[0], expected, rtol=1e-4)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_planted_segments_of_categories_are_recovered(missing, covariance):
    X, segment = _planted(8000, missing=missing, more=True)
    options = {"layout": MORE, "covariance": covariance}
    mixture = fit_mixture(X, 2, rng=np.random.default_rng(0), n_init=4, **options)
    order = np.argsort(-mixture.weights)
    np.testing.assert_allclose(mixture.weights[order], [0.6, 0.4], atol=0.03)
    expected = np.hstack([*BY_SEGMENT, *BY_SEGMENT])
    np.testing.assert_allclose(mixture.shares[order], expected, atol=0.04)
    joint = mixture.component_log_density(X) + np.log(mixture.weights)
    told = joint[:, order[1]] > joint[:, order[0]]
    assert np.mean(told == segment) > np.mean(_bayes(X, MORE) == segment) - 0.005


def test_gaussians_alone_cannot_see_those_segments():
    X, segment = _planted(3000)
    numbers = fit_mixture(X[:, :2], 2, rng=np.random.default_rng(0), n_init=4)
    joint = numbers.component_log_density(X[:, :2]) + np.log(numbers.weights)
    right = np.mean((joint[:, 1] > joint[:, 0]) == segment)
    assert max(right, 1 - right) < 0.7


@pytest.mark.parametrize(
    ("covariance", "expected"), [("full", 2 + 3 * 12), ("diagonal", 2 + 3 * 9), ("tied", 30 - 1)]
)
def test_parameters_are_counted(covariance, expected):
    """Three components of two numbers and of 3 + 4 levels; full: 2 + 3 (2 + 3 + 5)."""
    count = Emission(2, (3, 4), covariance).parameter_count(3)
    matrix = {"full": 9, "diagonal": 6, "tied": 3}[covariance]
    assert count == 2 + 3 * (2 + 5) + matrix


def test_layouts_are_read_and_kept():
    layout = Layout.of(6, [(2, 4), (5,)], flags=[(0, 5)])
    assert layout.numbers == (0, 1, 3)
    assert layout.levels == (2, 2)
    assert Layout.from_arrays(layout.to_arrays()) == layout
    X = np.array([[1.0, 2, 0, 3, 1, 0], [1, 2, 1, 3, 0, 1], [1, 2, 0, 3, 0, np.nan]])
    numbers, codes = layout.split(X)
    assert codes.tolist() == [[1, 0], [0, 1], [-1, -1]]
    assert np.isnan(numbers[:, 0]).tolist() == [False, True, False]


@pytest.mark.parametrize("wrong", [0.25, -1.0, 4.0])
def test_noise_on_a_category_is_refused(wrong):
    X, _ = _planted(50)
    X[3, 5] = wrong
    with pytest.raises(CounterweightError, match="declared a category of 4 levels but is none"):
        LAYOUT.split(X)


def test_other_wrong_rows_are_refused():
    X, _ = _planted(50)
    X[:, 0] = 1.0
    with pytest.raises(CounterweightError, match="Feature number 0 is constant"):
        fit_mixture(X, 1, rng=np.random.default_rng(0), layout=LAYOUT)
    X[0, 0] = np.inf
    with pytest.raises(CounterweightError, match="infinite"):
        LAYOUT.split(X)
    with pytest.raises(CounterweightError, match="6 columns"):
        LAYOUT.split(X[:, :4])
    with pytest.raises(CounterweightError, match="different ones"):
        Layout.of(3, [(0, 1), (1,)])
    with pytest.raises(CounterweightError, match="covariance must be"):
        Emission(2, (), "round")


def test_rows_with_nothing_but_categories():
    X, segment = _planted(4000, more=True)
    layout = Layout((), ((0, 1, 2), (3,), (4,), (5,)), MORE.levels)
    mixture = fit_mixture(X[:, 2:], 2, rng=np.random.default_rng(0), n_init=4, layout=layout)
    joint = mixture.component_log_density(X[:, 2:]) + np.log(mixture.weights)
    right = np.mean((joint[:, 1] > joint[:, 0]) == segment)
    assert max(right, 1 - right) > np.mean(_bayes(X, MORE) == segment) - 0.01


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
def test_search_on_a_sample_ends_where_plain_em_does(covariance):
    X, _ = _planted(12_000)
    options = {"n_init": 5, "tol": 1e-10, "layout": LAYOUT, "covariance": covariance}
    one = fit_mixture(X, 2, rng=np.random.default_rng(0), screen=True, **options)
    other = fit_mixture(X, 2, rng=np.random.default_rng(0), screen=False, **options)
    assert len(one.restart_log_likelihood) > len(other.restart_log_likelihood) == 5
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=1e-7)
    sizes = [len(levels) for levels in np.split(one.shares[0], LAYOUT.offsets[1:-1])]
    assert sizes == list(LAYOUT.levels)
    sums = np.add.reduceat(one.shares, LAYOUT.offsets[:-1], axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_classes_of_categories_are_told_apart_and_stored():
    X, segment = _planted(3000)
    y = (np.random.default_rng(0).random(len(X)) < np.where(segment, 0.9, 0.1)).astype(int)
    model = GenerativeClassifier(components=2, n_init=3)
    model.fit(X, y, rng=np.random.default_rng(0), categories=LAYOUT)
    assert np.mean(model.predict(X) == y) > 0.85
    arrays = model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    again = GenerativeClassifier.from_arrays(arrays)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    hidden = X.copy()
    hidden[:, 2:] = np.nan
    p = model.predict_proba(hidden)
    # What is left of the density is that of the numbers, which tell nothing.
    assert np.abs(p[:, 1] - y.mean()).mean() < 0.1


def test_diagonal_classes_without_a_category_are_stored():
    X = _planted(500)[0][:, :2]
    y = (X[:, 0] > 3).astype(int)
    model = GenerativeClassifier(components=1, n_init=1, covariance="diagonal")
    model.fit(X, y, rng=np.random.default_rng(0))
    arrays = model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    again = ClassMixtures.from_arrays(arrays)
    np.testing.assert_array_equal(again.joint_log_density(X), model.joint_log_density(X))
    for matrix in model.covariances_[:, 0]:
        np.testing.assert_array_equal(matrix, np.diag(np.diag(matrix)))


def test_naive_bayes_is_one_component_of_categories():
    """Bayes' rule with independent categories, by counting."""
    X, segment = _planted(500)
    layout = Layout((), ((0, 1, 2), (3,)), (3, 4))
    model = GenerativeClassifier(components=1, n_init=1)
    model.fit(X[:, 2:], segment, rng=np.random.default_rng(0), categories=layout)
    _, codes = layout.split(X[:, 2:])
    joint = np.tile(np.log(np.bincount(segment) / len(segment)), (len(X), 1))
    for label, (at, levels) in itertools.product((0, 1), ((0, 3), (1, 4))):
        counts = np.bincount(codes[segment == label, at], minlength=levels) + 0.5
        joint[:, label] += np.log(counts / counts.sum())[codes[:, at]]
    np.testing.assert_allclose(model.joint_log_density(X[:, 2:]), joint, rtol=1e-10)


def test_densities_of_rows_without_numbers_are_those_of_the_shares():
    codes = np.array([[0], [1], [-1]])
    shares = np.array([[0.25, 0.75]])
    found = mixed_log_density(
        np.empty((3, 0)), codes, np.empty((1, 0)), np.empty((1, 0, 0)), shares, np.array([0, 2])
    )
    np.testing.assert_allclose(np.exp(found[:, 0]), [0.25, 0.75, 1.0])


def test_a_missing_number_counts_by_its_mean_where_covariances_are_diagonal():
    """Ten rows of which the second of three numbers is not known, and a category of two."""
    means, variances = np.array([[1.0, -2.0, 3.0]]), np.array([[0.5, 0.25, 2.0]])
    own = Mixture(np.ones(1), means, variances[:, :, None] * np.eye(3))
    moments = np.array([[10.0, 4.0, 5.0, 6.0, 7.0, 8.0, 2.0]])
    found = Emission(3, (2,), "diagonal").completed(moments, own, np.array([0, 2]))
    second = 10 * (4 + 0.25)
    assert found[0] == pytest.approx([10.0, 4.0, -20.0, 5.0, 6.0, second, 7.0, 8.0, 2.0])


def test_a_sum_of_exponentials_is_that_of_a_library_however_far_its_terms_are():
    values = -np.random.default_rng(6).uniform(0, 900, (500, 3))
    values[:4] = [[-np.inf, -np.inf, -np.inf], [np.inf, 0, 1], [-np.inf, 2, -800], [np.nan, 0, 0]]
    expected = logsumexp(values, axis=1)
    with np.errstate(under="raise"):
        np.testing.assert_allclose(log_sum_exp(values), expected, rtol=1e-15)
