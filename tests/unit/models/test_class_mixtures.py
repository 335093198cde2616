"""Shifted mixture model: identities of inertia, plain EM, the general prediction."""

import ast
import inspect

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models import class_mixtures
from counterweight.models.class_mixtures import GenerativeClassifier, ShiftedMixtureClassifier
from counterweight.numerics.emissions import Layout
from counterweight.tables.parquet import model_arrays, model_table
from scipy.stats import multivariate_normal

SHARE = 0.4
KINDS = ["priors", "weights", "means", "covariances"]
FITTED = {"priors": "prior_", "weights": "weights_", "means": "means_"} | {
    "covariances": "covariances_"
}


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.4).astype(int)
    X = rng.normal(size=(600, 2)) + np.where(y[:, None] == 1, [2.0, 0.0], [0.0, 1.0])
    hidden = rng.normal(size=(700, 2)) * 1.3 + np.where(
        rng.random((700, 1)) < 0.6, [2.5, 0.5], [0.3, 1.5]
    )
    options = {"components": 2, "n_init": 3, "max_iter": 50}
    labeled = GenerativeClassifier(**options).fit(X, y, rng=rng)
    weighted = GenerativeClassifier(**options).fit(X, y, np.exp(X[:, 0] / 2), rng=rng)
    starts = {"labeled": labeled.to_arrays(), "unlabeled": weighted.to_arrays()}
    return X, hidden, starts, labeled, weighted


def _fit(case, **options):
    X, hidden, starts, *_ = case
    return ShiftedMixtureClassifier(**options).fit(
        X, X_unlabeled=hidden, starts=starts, selected_share=SHARE
    )


def _naive_step(hidden, model):
    """One EM iteration over (class, component), by the definition."""
    n = len(hidden)
    joint = np.empty((n, 2, 2))
    for y in range(2):
        for c in range(2):
            normal = multivariate_normal(model.means_[y, c], model.covariances_[y, c])
            joint[:, y, c] = model.prior_[y] * model.weights_[y, c] * normal.pdf(hidden)
    z = joint / joint.sum(axis=(1, 2), keepdims=True)
    means = np.empty((2, 2, 2))
    covariances = np.empty((2, 2, 2, 2))
    for y in range(2):
        for c in range(2):
            means[y, c] = z[:, y, c] @ hidden / z[:, y, c].sum()
            apart = hidden - means[y, c]
            covariances[y, c] = (z[:, y, c] * apart.T) @ apart / z[:, y, c].sum()
    by_class = z.sum(axis=2)
    weights = z.sum(axis=0) / by_class.sum(axis=0)[:, None]
    return by_class.mean(axis=0), weights, means, covariances, np.log(joint.sum((1, 2))).mean()


def test_starts_can_be_read_without_importing():
    tree = ast.parse(inspect.getsource(class_mixtures))
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "STARTS_BY_NAME"
    }
    told = {"model": "generative", "weights": "lemma2", "unless": {"start": "labeled"}}
    assert constants["STARTS_BY_NAME"]["shifted_mixture"]["unlabeled"] == told


@pytest.mark.parametrize(
    "options",
    [
        {"inertia": 1.0, "iterations": 7},
        {"inertia": 0.0, "iterations": 7, "reading": "step"},
        {"inertia": 0.5, "iterations": 0},
    ],
)
def test_full_inertia_is_the_unshifted_model(case, options):
    model = _fit(case, **options)
    hidden, weighted = case[1], case[4]
    np.testing.assert_allclose(
        model.predict_proba(hidden), weighted.predict_proba(hidden), atol=1e-10
    )
    assert model.decisions_moved_ == 0
    np.testing.assert_allclose(
        model.unlabeled_log_likelihood_, model.unlabeled_log_likelihood_[0], rtol=1e-12
    )


def test_no_inertia_is_plain_em(case):
    hidden, model = case[1], case[4]
    for count in (1, 2, 3):
        prior, weights, means, covariances, value = _naive_step(hidden, model)
        model = _fit(case, inertia=0.0, iterations=count)
        np.testing.assert_allclose(model.prior_, prior, rtol=1e-9)
        np.testing.assert_allclose(model.weights_, weights, rtol=1e-9)
        np.testing.assert_allclose(model.means_, means, rtol=1e-9)
        np.testing.assert_allclose(model.covariances_, covariances, rtol=1e-8, atol=1e-10)
        assert model.unlabeled_log_likelihood_[count - 1] == pytest.approx(value, rel=1e-11)


def test_inertia_moves_each_parameter_by_its_share(case):
    hidden, start = case[1], case[4]
    target = _naive_step(hidden, start)[:4]
    for reading, step in (("keep", 0.3), ("step", 0.7)):
        model = _fit(case, inertia=0.7, iterations=1, reading=reading)
        for name, new in zip(("prior", "weights", "means", "covariances"), target, strict=True):
            old = getattr(start, f"{name}_")
            np.testing.assert_allclose(
                getattr(model, f"{name}_"), old + step * (new - old), rtol=1e-9, atol=1e-9
            )


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_named_parameters_move(case, kind):
    model, start = _fit(case, inertia=0.0, iterations=3, shifts=kind), case[4]
    for name, attribute in FITTED.items():
        same = np.allclose(getattr(model, attribute), getattr(start, attribute), atol=1e-10)
        assert same == (name != kind)


@pytest.mark.parametrize("shifts", ["all", *KINDS, ["priors", "means"], ["weights", "covariances"]])
def test_without_inertia_the_likelihood_never_falls(case, shifts):
    model = _fit(case, inertia=0.0, iterations=25, shifts=shifts)
    values = model.unlabeled_log_likelihood_
    assert values.shape == (26,)
    assert np.diff(values).min() >= -1e-12
    assert values[-1] > values[0]
    assert model.log_likelihood_falls_ == 0


def test_logged_likelihood_is_that_of_the_model(case):
    hidden = case[1]
    model = _fit(case, inertia=0.9, iterations=4)
    joint = model.joint_log_density(hidden)
    value = np.logaddexp(joint[:, 0], joint[:, 1]).mean()
    assert model.unlabeled_log_likelihood_[-1] == pytest.approx(value, rel=1e-11)
    decided = joint[:, 1] > joint[:, 0]
    before = case[4].predict_proba(hidden)[:, 1] > 0.5
    assert model.decisions_moved_ == np.mean(decided != before)


def test_general_prediction_is_the_sum_over_both_populations(case):
    X, _, _, labeled, _ = case
    model = _fit(case)
    seen = np.exp(labeled.joint_log_density(X))
    hidden = np.exp(model.joint_log_density(X))
    joint = SHARE * seen + (1 - SHARE) * hidden
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, "general"), expected, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(X), hidden / hidden.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_path_gives_what_separate_fits_give(case):
    _, hidden, starts, *_ = case
    path = ShiftedMixtureClassifier.path(
        hidden, starts=starts, selected_share=SHARE, iterations=[5, 0, 2], inertia=0.5
    )
    counts = []
    for count, model in path:
        counts.append(count)
        single = _fit(case, inertia=0.5, iterations=count)
        np.testing.assert_array_equal(model.means_, single.means_)
        np.testing.assert_array_equal(
            model.unlabeled_log_likelihood_, single.unlabeled_log_likelihood_
        )
        assert model.decisions_moved_ == single.decisions_moved_
        assert model.iterations == count
    assert counts == [0, 2, 5]


def test_stored_model_predicts_the_same(case):
    X = case[0]
    model = _fit(case)
    arrays = model_arrays(model_table(model.to_arrays(), 3, "unlabeled").to_pandas())
    again = ShiftedMixtureClassifier.from_arrays(arrays)
    for target in ("unlabeled", "general"):
        np.testing.assert_array_equal(
            again.predict_proba(X, target), model.predict_proba(X, target)
        )
    np.testing.assert_array_equal(again.unlabeled_log_likelihood_, model.unlabeled_log_likelihood_)
    assert again.decisions_moved_ == model.decisions_moved_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inertia": 1.2}, "inertia must be a number at least 0 and at most 1, not 1.2"),
        ({"iterations": -1}, "iterations must be"),
        ({"shifts": "mean"}, "shifts: mean is not a kind"),
        ({"shifts": []}, "shifts: an empty list"),
        ({"reading": "both"}, "reading must be"),
    ],
)
def test_bad_options_are_explained(case, options, message):
    with pytest.raises(CounterweightError, match=message):
        _fit(case, **options)


def test_bad_input_is_explained(case):
    X, hidden, starts, *_ = case
    model = ShiftedMixtureClassifier()
    given = {"X_unlabeled": hidden, "starts": starts, "selected_share": SHARE}
    with pytest.raises(CounterweightError, match="takes no row weights"):
        model.fit(X, None, np.ones(len(X)), **given)
    with pytest.raises(CounterweightError, match="needs the fitted unlabeled start"):
        model.fit(X, **(given | {"starts": {"labeled": starts["labeled"]}}))
    with pytest.raises(CounterweightError, match="share of labeled rows"):
        model.fit(X, **(given | {"selected_share": 1.0}))
    with pytest.raises(CounterweightError, match="both need the same features"):
        model.fit(X[:, :1], **given)
    with pytest.raises(CounterweightError, match="Missing or infinite"):
        model.fit(X, **(given | {"X_unlabeled": np.full_like(hidden, np.nan)}))
    with pytest.raises(CounterweightError, match="target must be"):
        _fit(case).predict_proba(X, "labeled")


def _divergence(start, model):
    """Kullback-Leibler divergence of a model from a start, class and component included."""
    total = 0.0
    for y in range(2):
        for c in range(2):
            old = start.prior_[y] * start.weights_[y, c]
            new = model.prior_[y] * model.weights_[y, c]
            precision = np.linalg.inv(model.covariances_[y, c])
            apart = model.means_[y, c] - start.means_[y, c]
            ratio = precision @ start.covariances_[y, c]
            gaussian = np.trace(ratio) + apart @ precision @ apart
            gaussian -= np.linalg.slogdet(ratio)[1] + len(apart)
            total += old * (np.log(old / new) + gaussian / 2)
    return total


def test_a_start_with_many_rows_stays_and_with_none_is_em(case):
    hidden, start = case[1], case[4]
    options = {"inertia": 0.0, "iterations": 10}
    held = _fit(case, prior_rows=1e12, **options)
    np.testing.assert_allclose(held.predict_proba(hidden), start.predict_proba(hidden), atol=1e-8)
    free, plain = _fit(case, prior_rows=0, **options), _fit(case, **options)
    np.testing.assert_array_equal(free.means_, plain.means_)
    between = _fit(case, prior_rows=float(len(hidden)), **options)
    gaps = [_divergence(start, model) for model in (held, between, plain)]
    assert gaps[0] < 1e-9 < gaps[1] < gaps[2]


@pytest.mark.parametrize("shifts", ["all", "priors", ["means", "covariances"]])
def test_adaptation_never_lowers_the_penalised_likelihood(case, shifts):
    n, start, rows = len(case[1]), case[4], 150.0
    values = []
    for count in range(15):
        options = {"inertia": 0.0, "iterations": count, "shifts": shifts}
        model = _fit(case, prior_rows=rows, **options)
        penalty = rows * _divergence(start, model)
        values.append(n * model.unlabeled_log_likelihood_[-1] - penalty)
    assert np.diff(values).min() >= -1e-9
    assert values[-1] > values[0]


def test_from_the_labeled_fit_the_priors_follow_prior_shift(case):
    """Saerens et al.'s EM on the labeled classifier's own posteriors, iteration by iteration."""
    X, hidden, starts, labeled, _ = case
    ratio = labeled.predict_proba(hidden) / labeled.prior_
    prior = labeled.prior_
    for _ in range(6):
        z = ratio * prior
        prior = (z / z.sum(axis=1, keepdims=True)).mean(axis=0)
    options = {"start": "labeled", "inertia": 0.0, "iterations": 6, "shifts": "priors"}
    only = {"labeled": starts["labeled"]}
    model = ShiftedMixtureClassifier(**options).fit(
        X, X_unlabeled=hidden, starts=only, selected_share=SHARE
    )
    np.testing.assert_allclose(model.prior_, prior, rtol=1e-9)
    np.testing.assert_allclose(model.means_, labeled.means_, rtol=1e-12)


def test_prior_shift_is_recovered_where_it_holds():
    rng = np.random.default_rng(1)
    y, hidden_y = rng.random(3000) < 0.6, rng.random(6000) < 0.2
    X, hidden = (rng.normal(size=(len(v), 2)) + 1.5 * v[:, None] for v in (y, hidden_y))
    labeled = GenerativeClassifier(components=1, n_init=1).fit(X, y.astype(int), rng=rng)
    model = ShiftedMixtureClassifier(
        start="labeled", inertia=0.0, iterations=200, shifts="priors"
    ).fit(X, X_unlabeled=hidden, starts={"labeled": labeled.to_arrays()}, selected_share=1 / 3)
    assert model.prior_[1] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
def test_categories_shift_with_the_means(covariance):
    rng = np.random.default_rng(3)
    y, hidden_y = (rng.random(n) < 0.5 for n in (1500, 3000))
    layout = Layout.of(5, [(2, 3, 4)])

    def rows(label, chance):
        code = np.where(rng.random(len(label)) < chance[label.astype(int)], 2, 0)
        code = np.where(rng.random(len(label)) < 0.2, 1, code)
        numbers = rng.normal(size=(len(label), 2)) + 2.0 * label[:, None]
        return np.hstack([numbers, np.eye(3)[code]])

    X = rows(y, np.array([0.1, 0.6]))
    hidden = rows(hidden_y, np.array([0.3, 0.9]))
    fitted = GenerativeClassifier(components=1, n_init=1, covariance=covariance)
    fitted.fit(X, y.astype(int), rng=rng, categories=layout)
    starts = {"labeled": fitted.to_arrays()}
    options = {"start": "labeled", "inertia": 0.0, "iterations": 100}
    given = {"X_unlabeled": hidden, "starts": starts, "selected_share": 1 / 3}
    model = ShiftedMixtureClassifier(**options).fit(X, **given)
    expected = [[0.7 * 0.8, 0.2, 0.3 * 0.8], [0.1 * 0.8, 0.2, 0.9 * 0.8]]
    np.testing.assert_allclose(model.mixtures_.shares[:, 0], expected, atol=0.05)
    assert np.mean(model.predict(hidden) == hidden_y) > 0.9
    if covariance == "diagonal":
        assert not np.triu(model.covariances_[:, 0], 1).any()
    arrays = model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    again = ShiftedMixtureClassifier.from_arrays(arrays)
    for target in ("unlabeled", "general"):
        np.testing.assert_array_equal(
            again.predict_proba(X, target), model.predict_proba(X, target)
        )
    with pytest.raises(CounterweightError, match="or other categories"):
        plain = GenerativeClassifier(components=1, n_init=1).fit(X[:, :2], y.astype(int), rng=rng)
        both = starts | {"unlabeled": plain.to_arrays()}
        ShiftedMixtureClassifier().fit(X, **(given | {"starts": both}))


def test_the_start_counts_as_rows_like_it():
    # Rows (1, 0), (3, 2) and (2, 5), (2, 7): four of each of two components, half of their mass.
    rows = np.array([[[1.0, 0.0], [3.0, 2.0]], [[2.0, 5.0], [2.0, 7.0]]])
    means, covariances = rows.mean(axis=1), np.array([np.cov(one.T, ddof=0) for one in rows])
    shares = np.array([[0.25, 0.75], [0.5, 0.5]])
    told = class_mixtures._start_moments(np.full(2, 0.5), means, covariances, shares, 8)
    total, first, second, counts = told
    assert total == pytest.approx([4, 4])
    assert first == pytest.approx(2 * rows.sum(axis=1))
    assert second == pytest.approx(2 * np.einsum("kni,knj->kij", rows, rows))
    assert counts == pytest.approx(4 * shares)


def test_starts_that_are_not_given_are_fitted_by_the_weights_of_unlabeled_rows():
    rng = np.random.default_rng(3)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 2)) + y[:, None]
    # Rows without a label that are those with one: all weights are alike.
    same = {
        start: ShiftedMixtureClassifier(components=1, iterations=3, start=start).fit(
            X, y, X_unlabeled=X, rng=np.random.default_rng(0)
        )
        for start in ("lemma2", "labeled")
    }
    assert same["labeled"].selected_share_ == 0.5
    p = [model.predict_proba(X) for model in same.values()]
    np.testing.assert_allclose(*p, atol=1e-6)
    labeled = GenerativeClassifier(1).fit(X, y, rng=np.random.default_rng(0))
    starts = {"labeled": labeled.to_arrays()}
    given = ShiftedMixtureClassifier(components=1, iterations=3, start="labeled").fit(
        X, X_unlabeled=X, starts=starts
    )
    np.testing.assert_allclose(given.predict_proba(X), p[1], rtol=1e-9)
    # Where rows to the right are left unlabeled, the start is of more such rows.
    right = np.vstack([X + [2.0, 0.0], X + [2.0, 0.0]])
    begun = ShiftedMixtureClassifier(components=1, iterations=0).fit(
        X, y, X_unlabeled=right, rng=np.random.default_rng(0)
    )
    assert begun.selected_share_ == pytest.approx(1 / 3)
    assert (begun.means_[:, 0, 0] > labeled.mixtures_.means[:, 0, 0] + 0.3).all()
    with pytest.raises(CounterweightError, match="requires y to be passed"):
        ShiftedMixtureClassifier().fit(X, X_unlabeled=X)
