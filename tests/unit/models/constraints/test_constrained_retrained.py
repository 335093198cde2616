"""Models that follow each other: each held to the one before, on the rows so far alone."""

import numpy as np
import pytest
from counterweight import ConstrainedClassifier, RetrainedClassifier
from counterweight.errors import CounterweightError
from counterweight.evaluation.rates import evaluate_rates
from counterweight.numerics.rates import DataSets

BATCHES = ("spring", "summer", "autumn")
OPTIONS = {
    "batches": BATCHES,
    "constraints": ["churn(everyone) <= target"],
    "target": 0.04,
    "repair": "none",
}


@pytest.fixture(scope="module")
def samples():
    """What pays changes from batch to batch."""
    rng = np.random.default_rng(3)
    X, batch = rng.standard_normal((900, 3)), np.repeat([0, 1, 2], 300)
    odds = 2 * X[:, 0] * (batch == 0) + 2 * X[:, 1] * (batch > 0) + 0.5 * X[:, 2]
    y = (odds + rng.logistic(size=900) > 0).astype(int)
    return DataSets(X, y, None, {name: batch == k for k, name in enumerate(BATCHES)})


@pytest.fixture(scope="module")
def sequence(samples):
    settings = [OPTIONS | {"after": k} for k in (1, 2, 3)]
    return RetrainedClassifier.fit_sweep(settings, samples, np.random.default_rng(0))


def decided(model, X):
    return model.decision_function(X) > 0


def test_each_model_keeps_its_bound_against_the_one_before(samples, sequence):
    for k in (1, 2):
        before, after = sequence[k - 1], sequence[k]
        rows = np.arange(900) < 300 * (k + 1)
        X, signs = samples.X[rows], np.where(decided(before, samples.X[rows]), 1, -1)
        changed = np.where(
            signs > 0, 1 - after.predict_proba(X)[:, 1], after.predict_proba(X)[:, 1]
        )
        assert changed.mean() <= 0.04 + 1e-9
        free = RetrainedClassifier(batches=BATCHES, after=k + 1).fit(samples=samples)
        assert (decided(free, X) != (signs > 0)).mean() > 0.08


def test_the_first_is_the_fit_to_the_first_batch_alone(samples, sequence):
    first = samples.members["spring"]
    plain = ConstrainedClassifier().fit(samples.X[first], samples.y[first])
    np.testing.assert_allclose(sequence[0].coef_, plain.coef_, rtol=1e-12)


def test_only_models_that_had_constraints_stand_beside_a_rule_that_looks_at_nobody(sequence):
    assert [model.trivial_ is None for model in sequence] == [True, False, False]
    told = [[np.isnan(check.excess) for check in model.constraint_checks_] for model in sequence]
    # By both rules.
    assert told == [[True, True], [False, False], [False, False]]


def test_batches_to_come_are_not_looked_at(samples, sequence):
    other = DataSets(samples.X.copy(), samples.y.copy(), None, samples.members)
    other.X[600:] = 5.0
    other.y[600:] = 1 - other.y[600:]
    again = RetrainedClassifier(**OPTIONS, after=2).fit(samples=other, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(again.coef_, sequence[1].coef_)


def test_a_sweep_is_the_same_as_one_by_one(samples, sequence):
    alone = RetrainedClassifier(**OPTIONS).fit(samples=samples, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(alone.coef_, sequence[2].coef_)
    assert len(sequence[1].fitted_on(samples)) == 600


def test_test_rows_compare_each_setting_with_the_one_before():
    p = np.array([[0.9, 0.1, 0.2, 0.8], [0.9, 0.7, 0.2, 0.8], [0.1, 0.7, 0.2, 0.1]])
    names = [f"after={k}" for k in (1, 2, 3)]
    rows = np.tile(np.arange(4), 3)
    predictions = {
        "repeat": np.zeros(12, int),
        "row": rows,
        "p": p.ravel(),
        "target": (np.zeros(12, int), ["general"]),
        "setting": (np.repeat([0, 1, 2], 4), names),
    }
    truth = {
        "repeat": np.zeros(4, int),
        "row": np.arange(4),
        "y_general": np.array([1.0, 0.0, 0.0, 1.0]),
    }
    measures = {"churn": "churn(everyone)"}
    found = {}
    for sequence in (None, "after"):
        records = evaluate_rates(predictions, truth, {}, measures=measures, sequence=sequence)
        found[sequence] = [one["value"] for one in records if one["metric"] == "deterministic"]
    assert np.isnan(found[None]).all()
    np.testing.assert_allclose(found["after"], [np.nan, 0.25, 0.5])


def test_batches_that_are_not_there_are_told(samples):
    with pytest.raises(CounterweightError, match="winter"):
        RetrainedClassifier(batches=("spring", "winter")).fit(samples=samples)
    with pytest.raises(CounterweightError, match="there are 3 batches"):
        RetrainedClassifier(batches=BATCHES, after=4).fit(samples=samples)
