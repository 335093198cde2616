"""The data sets around a deployed model: who is where, and how they were drawn."""

import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.labeling_rules import deployed
from sklearn.linear_model import LogisticRegression

ROWS = 24000
SIZES = {"deployed_rows": 500, "d1_rows": 8000, "d2_rows": 4000, "d3_rows": 7000}


def world(rows=ROWS, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5)) * [1, 10, 0.1, 1, 1]
    X[:, 4] = X[:, 4] > 0.5
    p = 1 / (1 + np.exp(-(X @ [1.2, 0.1, 4.0, 0.0, 1.5] - 1.8)))
    return pd.DataFrame({"row": np.arange(rows)}), X, (rng.random(rows) < p).astype(np.int8)


def draw(rows=ROWS, seed=1, **options):
    frame, X, y = world(rows)
    found = deployed(
        frame, None, np.random.default_rng(seed), features=X, outcome=y, **(SIZES | options)
    )
    return found, X, y


def test_sizes_are_as_asked_and_no_row_is_in_two_sets():
    found, _, _ = draw()
    d1, d2, d3 = found["samples"].values()
    assert list(found["samples"]) == ["d1", "d2", "d3"]
    assert [mask.sum() for mask in (d1, d2, d3)] == [8000, 4000, 7000]
    assert (d1.astype(int) + d2 + d3 + found["left_out"] == 1).all()
    assert (found["selected"] == (d1 | d2)).all()


def test_the_deployed_model_learned_from_its_own_rows_alone():
    """Its score is that of a logistic regression on 500 of the rows left out."""
    found, X, y = draw()
    learned = np.random.default_rng(1).permutation(ROWS)[:500]
    assert found["left_out"][learned].all()
    center, scale = X[learned].mean(axis=0), X[learned].std(axis=0)
    model = LogisticRegression(C=1 / (0.001 * 500), tol=1e-10, max_iter=1000)
    model.fit((X[learned] - center) / scale, y[learned])
    expected = model.decision_function((X - center) / scale)
    np.testing.assert_allclose(found["deployed"], expected, atol=1e-4)
    assert ((found["deployed"] > 0) == y).mean() > 0.75


def test_random_samples_have_the_base_rate_and_d1_is_nearer_the_boundary():
    found, _, y = draw()
    score = np.abs(found["deployed"])
    d1, d2, d3 = found["samples"].values()
    for mask in (d2, d3):
        spread = np.sqrt(y.mean() * (1 - y.mean()) / mask.sum())
        assert abs(y[mask].mean() - y.mean()) < 3 * spread
        assert abs(score[mask].mean() - score.mean()) < 3 * score.std() / np.sqrt(mask.sum())
    assert score[d1].mean() < 0.95 * score[d2].mean()
    even = draw(sharpness=0.0)[0]
    d1, near = even["samples"]["d1"], np.abs(even["deployed"])
    assert abs(near[d1].mean() - near.mean()) < 3 * near.std() / np.sqrt(d1.sum())


def test_sampling_goes_by_the_documented_odds():
    """The first row drawn out of the candidates has probability proportional to 4 p (1 - p)."""
    frame, X, y = world(60)
    chances, hits = np.zeros(60), np.zeros(60)
    for seed in range(400):
        found = deployed(
            frame,
            None,
            np.random.default_rng(seed),
            features=X,
            outcome=y,
            deployed_rows=45,
            d1_rows=1,
            d2_rows=1,
            d3_rows=1,
        )
        # Candidates are what is left after the first 47 rows of the order.
        order = np.random.default_rng(seed).permutation(60)
        p = 1 / (1 + np.exp(-found["deployed"][order[47:]]))
        chances[order[47:]] += p * (1 - p) / (p * (1 - p)).sum()
        hits += found["samples"]["d1"]
    assert (np.abs(hits - chances) < 4.5 * np.sqrt(chances)).all()


def test_same_seed_same_answer_and_another_seed_another():
    first, second, third = draw()[0], draw()[0], draw(seed=2)[0]
    assert first["deployed"].tobytes() == second["deployed"].tobytes()
    for name, mask in first["samples"].items():
        assert (mask == second["samples"][name]).all()
        assert (mask != third["samples"][name]).any()


def test_fewer_rows_scale_every_size_and_it_is_said(caplog):
    with caplog.at_level(logging.WARNING):
        found, _, _ = draw(rows=4700)
    assert "4700 rows are fewer than the 23500" in caplog.text
    assert [mask.sum() for mask in found["samples"].values()] == [1600, 800, 1400]
    score = np.abs(found["deployed"])
    assert score[found["samples"]["d1"]].mean() < score.mean()
    caplog.clear()
    draw(rows=23500)
    assert not caplog.text


def test_a_feature_without_variation_among_the_deployed_rows_counts_for_nothing():
    frame, X, y = world()
    learned = np.random.default_rng(1).permutation(ROWS)[:500]
    X[:, 3] = 100.0
    X[np.setdiff1d(np.arange(ROWS), learned), 3] = -100.0
    score = deployed(frame, None, np.random.default_rng(1), features=X, outcome=y, **SIZES)[
        "deployed"
    ]
    assert np.abs(score).max() < 30


def test_unusable_input_is_told():
    frame, X, y = world(300)
    rng = np.random.default_rng

    def refused(text, **changed):
        options = {"features": X, "outcome": y} | SIZES | changed
        with pytest.raises(CounterweightError, match=text) as caught:
            deployed(frame, None, rng(1), **options)
        assert "\n" not in str(caught.value)

    refused("all have the outcome 0", outcome=np.zeros(300, int))
    refused("leave a data set empty", d2_rows=1)
    refused("No feature varies", features=np.ones((300, 2)))
    refused("must be 0 or 1", outcome=y + 1)
    refused("Missing or infinite values", features=np.where(X > 20, np.nan, X))
    refused("300 rows but features of 200", features=X[:200])


def test_adult_is_large_enough_for_the_sizes_of_the_experiment(caplog):
    """On the real Adult rows the sizes are those asked for, and d1 is near the boundary."""
    folder = Path(os.environ.get("COUNTERWEIGHT_MIRROR", ""), "adult")
    if not os.environ.get("COUNTERWEIGHT_MIRROR") or not (folder / "adult.data").is_file():
        pytest.skip("needs the real Adult files: COUNTERWEIGHT_MIRROR names no folder of them")
    from counterweight.datasets.adult import Adult
    from counterweight.labeling.recipes import one_hot

    frame = Adult.read(folder)
    features = one_hot(frame, np.random.default_rng(1), outcome="income", drop=["part", "fnlwgt"])
    y = (frame["income"] == ">50K").to_numpy(int)
    with caplog.at_level(logging.WARNING):
        found = deployed(
            frame,
            None,
            np.random.default_rng(1),
            outcome=y,
            features=features.drop(columns="row").to_numpy(),
        )
    assert "fewer" not in caplog.text
    d1, d2, d3 = found["samples"].values()
    assert [mask.sum() for mask in (d1, d2, d3)] == [16000, 9000, 14000]
    positive, score = found["deployed"] > 0, np.abs(found["deployed"])
    assert (positive == y)[d2].mean() > 0.8
    assert np.median(score[d1]) < 0.8 * np.median(score[d2])
