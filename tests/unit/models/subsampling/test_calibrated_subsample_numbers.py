"""Numbers by a learner of encoded rows, calibrated by parts left out in turn."""

import numpy as np
import pandas as pd
import pytest
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.subsampling.calibrated_subsample import CalibratedNumbers

TYPES = {"size": "number", "kind": "text"}


def made(n=500, seed=0):
    """Rewards that are mostly 0, and rise with the size as no line does."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    frame = pd.DataFrame({"size": size, "kind": rng.choice(["a", "b"], n)})
    y = np.where(rng.random(n) < 0.4, np.exp(1.5 * size), 0.0)
    return TabularEncoder().fit(frame, list(TYPES), TYPES).encode(frame), y


@pytest.fixture(scope="module", params=["linear"])
def fitted(request):
    rows, y = made()
    own = CalibratedNumbers(request.param, bins=8)
    return rows, y, own.fit(rows, y, rng=np.random.default_rng(1))


def test_answers_rise_with_the_raw_score_between_means_of_what_was_paid(fitted):
    rows, y, model = fitted
    raw, p = model.raw(rows), model.predict(rows)
    np.testing.assert_array_equal(p, model.answers(raw))
    order = np.argsort(raw, kind="stable")
    assert (np.diff(p[order]) >= 0).all() and (np.diff(model.means_) >= 0).all()
    # Beyond the last knots answers stay where these are.
    ends = model.answers([model.knots_[0] - 9, model.knots_[-1] + 9])
    assert ends.tolist() == [model.means_[0], model.means_[-1]]
    # Its mean is that of the rewards, which parts that were left out tell without favour.
    assert p.mean() == pytest.approx(y.mean(), abs=3 * y.std() / np.sqrt(len(y)))


def test_contributions_are_those_of_the_learner_and_arrays_bring_it_back(fitted):
    rows, _, model = fitted
    score, base, parts = model.contributions(rows)
    np.testing.assert_allclose(score, model.raw(rows), atol=1e-9)
    np.testing.assert_allclose(base + parts.sum(axis=1), score, atol=1e-8)
    again = CalibratedNumbers.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.learner == model.learner
    asked = CalibratedNumbers().set_params(**model.get_params())
    assert (asked.learner, asked.bins) == (model.learner, 8)


def test_weights_are_of_the_calibration_and_have_no_scale(fitted):
    rows, y, model = fitted
    fit = {"rng": np.random.default_rng(1)}
    twos = CalibratedNumbers(model.learner, bins=8).fit(rows, y, np.full(len(y), 2.0), **fit)
    np.testing.assert_allclose(twos.means_, model.means_, rtol=1e-9)
    # Of rows paid more that count more it is told more.
    weight = np.where(y > 0, 3.0, 1.0)
    more = CalibratedNumbers(model.learner, bins=8).fit(
        rows, y, weight, rng=np.random.default_rng(1)
    )
    np.testing.assert_allclose(more.raw(rows), model.raw(rows))
    expected = np.average(y, weights=weight)
    assert np.average(more.predict(rows), weights=weight) == pytest.approx(expected, rel=0.2)
    assert more.predict(rows).mean() > 1.2 * model.predict(rows).mean()
