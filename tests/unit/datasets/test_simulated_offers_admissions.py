"""Simulated admissions: the paper's magnitudes, a deterministic policy, a truth that is true."""

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.simulated_offers import (
    FEATURES,
    SEGMENTS,
    SMOOTH_SLOPE,
    Admissions,
    SmoothAdmissions,
    aid,
    folded,
    smooth_threshold,
)
from counterweight.errors import CounterweightError
from scipy.special import expit

KINDS = ("policy", "noisy", "noisier")


@pytest.fixture(scope="module")
def drawn():
    return Admissions.simulate(29240, np.random.default_rng(3))


def test_rows_worlds_parts_and_columns(drawn):
    frame, truth = drawn
    offers = [f"{what}_{kind}" for kind in KINDS for what in ("offer", "answer")]
    assert list(frame) == ["row", "world", "part", *FEATURES, *offers]
    assert list(truth) == ["row", "world", "component", "eta", "k"]
    sizes = frame.groupby(["world", "part"]).size().unstack()
    assert sizes["train"].tolist() == [2852] * 8
    assert sizes["test"].tolist() == [803] * 8
    assert frame["row"].tolist() == truth["row"].tolist() == list(range(29240))
    assert truth["component"].nunique() == len(SEGMENTS) == 20
    assert not frame.isna().any(axis=None)
    for rows in (0, 3654, 803):
        with pytest.raises(CounterweightError, match="multiple of 3655"):
            Admissions.simulate(rows, np.random.default_rng(1))


def test_same_seed_same_rows_and_fewer_worlds_are_the_first(drawn):
    frame, truth = drawn
    fewer, known = Admissions.simulate(3655, np.random.default_rng(3))
    assert fewer.equals(frame[:3655])
    assert known.equals(truth[:3655])


def test_magnitudes_are_those_of_the_paper(drawn):
    """Table 9: 202 of 803 enrol, with revenue 140.96; in expectation over the worlds."""
    frame, truth = drawn
    p = expit(truth["k"] * (frame["offer_policy"] - truth["eta"]))
    assert 803 * p.mean() == pytest.approx(202, abs=6)
    assert 803 * (p * (1 - frame["offer_policy"])).mean() == pytest.approx(141, abs=4)
    assert 0.23 < frame["answer_policy"].mean() < 0.27


def test_the_historical_policy_is_a_function_of_x_that_hardly_varies_in_a_segment(drawn):
    frame, truth = drawn
    x = frame[list(FEATURES)].to_numpy()
    np.testing.assert_array_equal(frame["offer_policy"], aid(x))
    within = frame["offer_policy"].groupby(truth["component"]).std()
    assert within.max() < 0.03
    wider = [frame[f"offer_{kind}"].groupby(truth["component"]).std().min() for kind in KINDS]
    assert wider[1] > 3 * within.max()
    assert wider[2] > 1.5 * wider[1]
    better = x.copy()
    better[:, [1, 3]] += [0.1, 0.3]
    assert (aid(better) >= aid(x)).all()
    richer = x * [1, 1, 1.2, 1]
    assert (aid(richer) <= aid(x)).all()


def test_offers_stay_in_range_without_gathering_at_the_bounds(drawn):
    frame, _ = drawn
    for kind in KINDS:
        offers = frame[f"offer_{kind}"]
        assert offers.between(0, 1).all()
        assert not offers.isin([0.0, 1.0]).any()
    np.testing.assert_allclose(folded(np.array([-0.2, 0.3, 1.2, -1.1])), [0.2, 0.3, 0.8, 0.9])


def test_answers_follow_the_true_choices(drawn):
    frame, truth = drawn
    for kind in KINDS:
        p = expit(truth["k"] * (frame[f"offer_{kind}"] - truth["eta"])).to_numpy()
        left = np.bincount(truth["component"], frame[f"answer_{kind}"] - p)
        assert (np.abs(left) < 5 * np.sqrt(np.bincount(truth["component"], p * (1 - p)))).all()


def test_people_follow_the_mixture(drawn):
    frame, truth = drawn
    mixture = Admissions.mixture(0)
    assert mixture["weights"].sum() == pytest.approx(1)
    assert sum(segment[0] for segment in SEGMENTS) == 1000
    shares = np.bincount(truth["component"]) / len(truth)
    error = np.sqrt(mixture["weights"] * (1 - mixture["weights"]) / len(truth))
    assert (np.abs(shares - mixture["weights"]) < 4.5 * error).all()
    x = frame[list(FEATURES)].to_numpy()
    for j in range(20):
        here = x[truth["component"] == j]
        spread = np.sqrt(np.diag(mixture["covariances"][j]))
        assert (
            np.abs(here.mean(axis=0) - mixture["means"][j]) < 5 * spread / len(here) ** 0.5
        ).all()
        np.testing.assert_allclose(here.std(axis=0), spread, rtol=5 / np.sqrt(2 * len(here)))
    bounds = (x[:, 1] >= 4) | (x[:, 2] <= 100) | (x[:, 3] <= 0) | (x[:, 3] >= 10)
    assert bounds.mean() < 0.001


def test_smooth_admissions_have_the_same_applicants_and_no_segments():
    frame, truth = Admissions.simulate(3655, np.random.default_rng(0))
    smooth, known = SmoothAdmissions.simulate(3655, np.random.default_rng(0))
    same = ["part", *FEATURES, "offer_policy", "offer_noisy", "offer_noisier"]
    pd.testing.assert_frame_equal(frame[same], smooth[same])
    assert list(known) == ["row", "world", "eta", "k"] and (known["k"] == SMOOTH_SLOPE).all()
    x = smooth[list(FEATURES)].to_numpy()
    np.testing.assert_allclose(known["eta"], smooth_threshold(x))
    assert not hasattr(SmoothAdmissions, "mixture")
    # As many enrol as in the paper's setting, about, and thresholds fill the range.
    assert 0.1 < smooth["answer_policy"].mean() < 0.45
    assert known["eta"].nunique() == 3655 and np.ptp(known["eta"]) > 0.4
    p = expit(SMOOTH_SLOPE * (smooth["offer_noisier"] - known["eta"]))
    assert abs((smooth["answer_noisier"] - p).mean()) < 4 * np.sqrt((p * (1 - p)).sum()) / 3655
