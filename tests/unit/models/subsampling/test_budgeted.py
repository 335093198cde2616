"""Training rows bought by class on a budget."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.subsampling import budgeted, learners
from counterweight.models.subsampling.budgeted import FACTOR, STEPS, BudgetedClassifier, Pool, beam


def _rows(n=3000, seed=0, intercept=-2.0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = 1 / (1 + np.exp(-(intercept + 1.5 * X[:, 0] - X[:, 1])))
    return X, (rng.random(n) < p).astype(int)


def _fit(X, y, keys=None, seed=3, **options):
    return BudgetedClassifier(**options).fit(X, y, rng=np.random.default_rng(seed), keys=keys)


class _FirstFeature:
    """A learner that costs nothing: the buying does not depend on what learns."""

    converged_ = True

    def fit(self, X, y, weight, rng):
        return self

    def score(self, X):
        return 1 / (1 + np.exp(-X[:, 0]))

    def out_of_range(self, X):
        return 0.0


def test_progressive_sampling_never_exceeds_its_budget(monkeypatch):
    """And every row it looked at is one it learns from, in 200 pools of any shape."""
    monkeypatch.setattr(learners, "new_learner", lambda name, min_samples_leaf: _FirstFeature())
    rng = np.random.default_rng(0)
    for trial in range(200):
        n = int(rng.integers(20, 1500))
        y = (rng.random(n) < rng.choice([0.01, 0.1, 0.5, 0.9])).astype(int)
        y[:2] = 0, 1
        X = rng.normal(size=(n, 2)) + y[:, None] * rng.random()
        model = BudgetedClassifier(
            budget=int(rng.integers(4, 600)),
            share="progressive",
            folds=2,
            criterion=["auc", "error"][trial % 2],
        )
        looked_at = set()
        rows = Pool.rows

        def watched(pool, zeros, ones, looked_at=looked_at, rows=rows):
            bought = rows(pool, zeros, ones)
            looked_at.update(bought.tolist())
            return bought

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pool, "rows", watched)
            model.fit(X, y, rng=np.random.default_rng(trial))
        assert model.rows_bought_ == min(model.budget, n), trial
        assert len(looked_at) == model.rows_bought_, trial
        assert model.budget_excess_ <= 0
        assert 0 < model.chosen_share_ < 1


def test_progressive_sampling_grows_by_its_factor():
    X, y = _rows(20_000)
    model = _fit(X, y, budget=1600, share="progressive")
    assert model.steps_[:, 0].tolist() == [1600 // FACTOR**k for k in range(STEPS, 0, -1)]
    assert np.isclose(model.chosen_share_, model.steps_[-1, 1], atol=0.01)
    for before, after in zip(model.steps_[:-1, 1], model.steps_[1:, 1], strict=True):
        low, high = beam(before, False, 100, np.array([1e9, 1e9]))
        assert low - 0.01 <= after <= high + 0.01


def test_a_move_to_the_edge_of_the_beam_leaves_room_for_all_rows_bought():
    for best in np.linspace(0.01, 0.99, 99):
        low, high = beam(best, False, 100, np.array([1e9, 1e9]))
        assert high * 1 <= low * FACTOR + 1e-12
        assert (1 - low) * 1 <= (1 - high) * FACTOR + 1e-12


def test_progressive_sampling_finds_the_share_that_the_criterion_wants():
    """A class that is 2 % of the rows: AUC wants many of it, the error few."""
    X, y = _rows(30_000, intercept=-5.5, d=8)
    shares = {
        criterion: [
            _fit(X, y, share="progressive", criterion=criterion, seed=s).chosen_share_
            for s in range(5)
        ]
        for criterion in ("auc", "error")
    }
    assert np.mean(shares["auc"]) > 0.2 > 0.1 > np.mean(shares["error"])


def test_the_natural_share_is_that_of_the_pool():
    X, y = _rows()
    model = _fit(X, y, budget=500, share="natural")
    assert abs(model.chosen_share_ - y.mean()) <= 0.5 / 500
    assert model.rows_bought_ == 500 and model.budget_excess_ == 0


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5, 0.75])
def test_a_share_is_bought_exactly(share):
    X, y = _rows(8000)
    model = _fit(X, y, budget=400, share=share)
    assert model.chosen_share_ == share and model.rows_bought_ == 400


def test_a_share_that_the_pool_cannot_give_is_told(caplog):
    X, y = _rows(1000, intercept=-4.0)
    model = _fit(X, y, budget=500, share=0.9)
    assert model.rows_bought_ == 500
    assert model.chosen_share_ == y.sum() / 500
    assert "too few of a class for a share of 0.9" in caplog.text
    _fit(X, y, budget=1001, share="natural")
    assert "A budget of 1001 rows buys all 1000 training rows." in caplog.text


def test_samples_of_a_class_are_nested_and_free_of_row_order():
    keys = np.random.default_rng(0).permutation(50_000)[:2000]
    y = (np.random.default_rng(1).random(2000) < 0.3).astype(int)
    pool = Pool(y, keys, 11)
    small, large = set(pool.rows(50, 50)), set(pool.rows(300, 60))
    assert small < large and len(large) == 360
    order = np.random.default_rng(2).permutation(2000)
    other = Pool(y[order], keys[order], 11)
    assert set(keys[order][other.rows(300, 60)]) == set(keys[pool.rows(300, 60)])
    assert y[pool.rows(0, 60)].all() and not y[pool.rows(60, 0)].any()


@pytest.mark.parametrize("share", ["natural", "progressive", "oversampled", "all", 0.5])
def test_the_order_of_the_rows_does_not_change_the_fit(share):
    X, y = _rows(800)
    keys = np.random.default_rng(1).permutation(9000)[:800]
    order = np.random.default_rng(2).permutation(800)
    one = _fit(X, y, keys, budget=200, share=share)
    other = _fit(X[order], y[order], keys[order], budget=200, share=share)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_all_and_oversampled_take_every_row_and_report_no_excess():
    X, y = _rows(1000)
    for share, wanted in (("all", y.mean()), ("oversampled", 0.5)):
        model = _fit(X, y, budget=100, share=share)
        assert model.rows_bought_ == 1000 and model.chosen_share_ == wanted
        assert np.size(model.to_arrays()["budget_excess"]) == 0


@pytest.mark.parametrize("correction", ["counts", "odds"])
def test_all_rows_need_no_correction_not_even_a_rounding_error(correction):
    X, y = _rows(1001)
    model = _fit(X, y, share="all", correction=correction)
    assert np.array_equal(model.predict_proba(X)[:, 1], model.learner_.score(X))


def test_oversampling_repeats_the_rarer_class_only():
    y = np.r_[np.zeros(90, int), np.ones(10, int)]
    for labels in (y, 1 - y):
        rows = budgeted._repeats(labels, np.random.default_rng(0))
        assert len(rows) == 80 and (labels[rows] == labels[-1]).all()


def test_probabilities_are_corrected_to_the_base_rate_of_the_pool():
    X, y = _rows(30_000, intercept=-3.0)
    for share in (0.1, 0.5, 0.8):
        model = _fit(X, y, budget=2000, share=share, learner="logistic")
        assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.015
        raw = model.learner_.score(X)
        odds = (1 - share) / share * y.mean() / (1 - y.mean())
        assert np.allclose(model.predict_proba(X)[:, 1], odds * raw / (odds * raw + 1 - raw))


def test_counts_in_a_leaf_are_corrected_as_weiss_and_provost_print_them():
    """1:1 bought from 1:5: o is 5, and a leaf is positive from five times as many ones up."""
    X = np.repeat([[0.0], [1.0]], [1000, 200], axis=0)
    X[900:1000], X[1000:1010] = 1.0, 0.0
    y = np.repeat([0, 1], [1000, 200])
    model = _fit(X, y, budget=400, share=0.5, min_samples_leaf=20)
    bought = budgeted.Pool(y, np.arange(1200), int(np.random.default_rng(3).integers(2**62))).rows(
        200, 200
    )
    for x in (0.0, 1.0):
        here = bought[X[bought, 0] == x]
        ones, zeros = int(y[here].sum()), int((y[here] == 0).sum())
        wanted = (ones + 1) / (ones + 5 * zeros + 2)
        assert np.isclose(model.predict_proba([[x]])[0, 1], wanted)
        odds = _fit(X, y, budget=400, share=0.5, min_samples_leaf=20, correction="odds")
        wanted = (ones + 1) / (ones + 1 + 5 * (zeros + 1))
        assert np.isclose(odds.predict_proba([[x]])[0, 1], wanted)


def test_a_budget_beyond_the_pool_buys_the_pool():
    X, y = _rows(100)
    model = _fit(X, y, budget=1000, share="natural")
    assert model.rows_bought_ == 100 and model.budget_excess_ == -900
    whole = _fit(X, y, budget=1000, share="all")
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_swept_numbers_are_stored():
    X, y = _rows(500)
    for share in ("natural", "progressive", "oversampled", 0.3):
        model = _fit(X, y, budget=100, share=share)
        assert set(model.SWEPT) <= set(model.to_arrays())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(100, int)}, "of one class, 1"),
        ({"share": 1.5}, "above 0 and below 1, or one of natural.*, not 1.5"),
        ({"share": "some"}, "share must be .*, not 'some'"),
        ({"criterion": "loss"}, "criterion must be one of auc, error"),
        ({"correction": "some"}, "correction must be one of counts, odds"),
        ({"budget": 2}, "budget must be a whole number at least 4"),
        ({"budget": 10.5}, "budget must be a whole number .*, not 10.5"),
        ({"budget": "x"}, "budget must be .*, not 'x'"),
        ({"folds": 1}, "folds must be .*, not 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be .*, not 0"),
        ({"keys": np.zeros(100, int)}, "more than once"),
    ],
)
def test_bad_input_is_told_in_a_sentence(change, message):
    X, y = _rows(100)
    with pytest.raises(CounterweightError, match=message):
        _fit(X, **({"y": y} | change))


def test_weights_are_refused():
    X, y = _rows(100)
    with pytest.raises(CounterweightError, match="takes no sample weights"):
        BudgetedClassifier().fit(X, y, np.ones(100), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("ones", "size", "counts"),
    [
        (3.0, 10, (7, 3)),
        (3.5, 10, (6, 4)),
        (0.0, 10, (9, 1)),  # one of each class at least
        (10.0, 10, (1, 9)),
        (50.0, 60, (40, 20)),  # not more than there are
        (1.0, 105, (100, 5)),
    ],
)
def test_a_set_has_both_classes_and_no_more_than_there_are(ones, size, counts):
    pool = object.__new__(Pool)
    pool.available = np.array([100, 20])
    np.testing.assert_array_equal(pool.counts(ones, size), counts)


def test_candidates_are_corrected_from_the_share_that_their_parts_have(monkeypatch):
    seen, score = [], BudgetedClassifier._score

    def kept(self, model, share, X):
        seen.append((share, model))
        return score(self, model, share, X)

    monkeypatch.setattr(BudgetedClassifier, "_score", kept)
    X, y = _rows(800)
    _fit(X, y, budget=120, learner="tree", share="progressive")
    shares = np.array([share for share, _ in seen])
    assert len(seen) > 10 and ((shares >= 0) & (shares <= 1)).all() and np.ptp(shares) > 0.05
