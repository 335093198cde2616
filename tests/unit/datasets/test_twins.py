"""Generated data: the upstream format, and a truth that is true."""

import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.adult import COLUMNS, Adult
from counterweight.datasets.ca_housing import COAST, STRIP, CaHousing
from counterweight.datasets.simulated_points import Curved, Straight
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared, load
from twin_checks import assert_probability, generated, mirror

ROWS = 30000
TWINNED = (
    *("adult", "ca_housing", "bank_marketing", "open_bandit", "natural_park", "kakadu", "a9a"),
)


def rng(seed=5):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    return generated(Adult, tmp_path_factory.mktemp("adult"), ROWS)


@pytest.fixture(scope="module")
def housing(tmp_path_factory):
    return generated(CaHousing, tmp_path_factory.mktemp("housing"), ROWS)


def married(frame):
    return frame["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"]).to_numpy()


@pytest.mark.parametrize("name", TWINNED)
def test_same_seed_gives_the_same_bytes_and_rows_are_as_asked(tmp_path, name):
    dataset, files = load("dataset", name), declared("dataset", name, "FILES")

    def digests(folder, rows, seed):
        dataset.generate(folder, rows, rng(seed))
        assert len(dataset.read(folder)) == rows
        assert len(pd.read_parquet(folder / "truth.parquet")) == rows
        made = sorted(path for path in folder.rglob("*") if path.is_file())
        assert {str(path.relative_to(folder)) for path in made} == {*files, "truth.parquet"}
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in made]

    first = digests(tmp_path / "a", 301, 1)
    assert first == digests(tmp_path / "b", 301, 1)
    assert first != digests(tmp_path / "c", 301, 2)
    digests(tmp_path / "d", 17, 1)
    digests(tmp_path / "e", dataset.LEAST, 1)
    with pytest.raises(
        CounterweightError, match=f"{dataset.NAME} needs at least {dataset.LEAST} rows"
    ):
        dataset.generate(tmp_path / "f", dataset.LEAST - 1, rng())


def test_adult_twin_has_the_upstream_format(adult):
    folder, _, _ = adult
    train = (folder / "adult.data").read_text()
    test = (folder / "adult.test").read_text()
    assert test.startswith("|1x3 Cross validator\n")
    assert train.endswith("K\n\n")
    assert test.endswith("K.\n\n")
    train, test = train.split("\n")[:-2], test.split("\n")[1:-2]
    assert (len(train), len(test)) == (ROWS * 2 // 3, ROWS // 3)
    shape = ", ".join({"integer": r"\d+", "text": "[^, ]+"}[kind] for kind in COLUMNS.values())
    shape = re.compile(shape.removesuffix("[^, ]+") + r"(<=|>)50K")
    assert all(shape.fullmatch(line) for line in train)
    assert all(line[-1] == "." and shape.fullmatch(line[:-1]) for line in test)


def test_adult_twin_is_near_the_published_shares(adult):
    _, frame, _ = adult
    positive = (frame["income"] == ">50K").to_numpy()
    assert abs(positive.mean() - 0.239) < 0.02
    assert abs(married(frame).mean() - 0.459) < 0.03
    assert abs(positive[married(frame)].mean() - 0.446) < 0.03
    assert abs(positive[~married(frame)].mean() - 0.064) < 0.02
    assert abs((frame["capital-gain"] == 0).mean() - 0.917) < 0.02
    assert abs((frame["capital-loss"] == 0).mean() - 0.953) < 0.01
    assert abs(frame["workclass"].isna().mean() - 0.057) < 0.01
    assert abs(frame["native-country"].isna().mean() - 0.018) < 0.005
    assert (frame["occupation"].isna() >= frame["workclass"].isna()).all()
    assert frame["marital-status"].nunique() == 7


def test_adult_twin_relationship_follows_marriage_and_sex(adult):
    _, frame, _ = adult
    husband = married(frame) & (frame["sex"] == "Male")
    wife = married(frame) & (frame["sex"] == "Female")
    assert ((frame["relationship"] == "Husband") == husband).all()
    assert ((frame["relationship"] == "Wife") == wife).all()


def test_adult_truth_is_the_probability_of_marriage_and_of_income(adult):
    _, frame, truth = adult
    selected, positive = married(frame), (frame["income"] == ">50K").to_numpy()
    assert truth["row"].tolist() == frame["row"].tolist()
    assert_probability(truth["p_selected"], selected)
    assert_probability(truth["p_positive"], positive)
    assert_probability(truth["p_positive_married"][selected], positive[selected])
    assert_probability(truth["p_positive_unmarried"][~selected], positive[~selected])
    assert_probability(truth["p_spouse_absent"], frame["marital-status"] == "Married-spouse-absent")


def test_adult_selection_is_not_at_random(adult):
    _, _, truth = adult
    assert (truth["p_positive_married"] > truth["p_positive_unmarried"]).all()
    mixed = (
        truth["p_selected"] * truth["p_positive_married"]
        + (1 - truth["p_selected"]) * truth["p_positive_unmarried"]
    )
    np.testing.assert_allclose(truth["p_positive"], mixed, rtol=0, atol=1e-12)


def test_adult_twin_uses_only_words_of_the_real_files(adult):
    real, twin = Adult.read(mirror("adult")), adult[1]
    for name, kind in COLUMNS.items():
        if kind == "text":
            assert set(twin[name].dropna()) <= set(real[name].dropna())
    assert (
        real.groupby("education")["education-num"].first().to_dict()
        == twin.groupby("education")["education-num"].first().to_dict()
    )


def test_housing_twin_has_the_upstream_format(housing):
    folder, _, _ = housing
    lines = (folder / "cal_housing.data").read_text().split("\n")
    assert lines.pop() == ""
    shape = re.compile(",".join([r"-?\d+\.\d{6}"] * 9))
    assert len(lines) == ROWS
    assert all(shape.fullmatch(line) for line in lines)


def test_housing_twin_lies_in_california_and_keeps_the_caps(housing):
    _, frame, _ = housing
    assert frame["latitude"].between(32.5, 42).all()
    assert frame["longitude"].between(-124.5, -114.2).all()
    assert frame["housingMedianAge"].between(1, 52).all()
    assert frame["medianHouseValue"].between(14999, 500001).all()
    assert frame["medianIncome"].between(0.4999, 15.0001).all()
    assert abs((frame["latitude"] > 36).mean() - 0.4275) < 0.02
    counts = frame[["totalRooms", "totalBedrooms", "population", "households"]]
    assert (counts % 1 == 0).all(axis=None)
    assert (counts >= 1).all(axis=None)


def test_housing_truth_is_the_probability_of_a_high_value_and_of_the_north_coast(housing):
    _, frame, truth = housing
    value = frame["medianHouseValue"]
    coast = np.interp(frame["latitude"], *COAST)
    zone = (frame["latitude"] > 36) & (frame["longitude"] <= coast + STRIP)
    assert_probability(truth["p_positive"], value > value.median())
    assert_probability(truth["p_north_coast"], zone)


def test_housing_labels_are_not_at_random(housing):
    """Given p(y = 1 | features), the north coast still has more high values."""
    _, frame, truth = housing
    coast = np.interp(frame["latitude"], *COAST)
    zone = (frame["latitude"] > 36) & (frame["longitude"] <= coast + STRIP)
    left = (frame["medianHouseValue"] > frame["medianHouseValue"].median()) - truth["p_positive"]
    error = left[zone].std() / np.sqrt(zone.sum())
    assert left[zone].mean() > 4 * error


@pytest.mark.parametrize(("name", "dataset"), [("curved", Curved), ("straight", Straight)])
def test_simulated_truth_is_true(name, dataset):
    assert declared("dataset", name, "SIMULATED", False) is True
    frame, truth = dataset.simulate(ROWS, rng())
    assert list(frame) == ["row", "x1", "x2", "label"]
    assert list(truth) == ["row", "p_positive", "p_selected"]
    assert truth["p_selected"].between(0.03, 0.97).all()
    assert_probability(truth["p_positive"], frame["label"])
    again, _ = dataset.simulate(ROWS, rng())
    assert frame.equals(again)
    slope = np.polyfit(frame["x1"], np.log(truth["p_selected"] / (1 - truth["p_selected"])), 1)
    np.testing.assert_allclose(slope, [1.6, 0.0], atol=1e-9)


def logistic_fit(x, y, weights):
    """Coefficients and their covariance (sandwich), by Newton steps."""
    design = np.column_stack([np.ones(len(x)), x])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        hessian = (design * (weights * p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(hessian, design.T @ (weights * (y - p)))
        beta += step
        if np.abs(step).max() < 1e-12:
            break
    scores = design * (weights * (y - p))[:, None]
    inverse = np.linalg.inv(hessian)
    return beta, inverse @ (scores.T @ scores) @ inverse


@pytest.mark.parametrize("dataset", [Curved, Straight])
def test_true_weights_bring_logistic_regression_back(dataset):
    """Labeled rows mislead it on `curved` only; weights 1/p(s=1|x) undo that (Lemma 1)."""
    frame, truth = dataset.simulate(ROWS, rng())
    x, y = frame[["x1", "x2"]].to_numpy(), frame["label"].to_numpy()
    p = truth["p_selected"].to_numpy()
    s = rng(6).random(ROWS) < p
    target, spread = logistic_fit(x, y, np.ones(ROWS))
    biased, biased_spread = logistic_fit(x[s], y[s], np.ones(s.sum()))
    weighted, weighted_spread = logistic_fit(x[s], y[s], 1 / p[s])

    def distance(beta, covariance):
        gap = beta - target
        return gap @ np.linalg.solve(covariance + spread, gap)

    assert distance(weighted, weighted_spread) < 20, "chi-squared with 3 degrees of freedom"
    assert (distance(biased, biased_spread) < 20) == (dataset is Straight)
    if dataset is Straight:
        np.testing.assert_allclose(target, [0.0, -2.0, 2.0], atol=0.15)


def test_one_gaussian_per_class_is_misled_on_straight():
    frame, truth = Straight.simulate(ROWS, rng())
    x, y = frame[["x1", "x2"]].to_numpy(), frame["label"].to_numpy()
    s = rng(6).random(ROWS) < truth["p_selected"]

    def log_odds(rows):
        scores = []
        for label in (0, 1):
            part = x[rows & (y == label)]
            mean, covariance = part.mean(axis=0), np.cov(part.T)
            whitened = np.linalg.solve(np.linalg.cholesky(covariance), (x - mean).T)
            scores.append(
                np.log(len(part) / rows.sum())
                - 0.5 * np.linalg.slogdet(covariance)[1]
                - 0.5 * (whitened**2).sum(axis=0)
            )
        return scores[1] - scores[0]

    moved = (log_odds(np.ones(ROWS, dtype=bool)) > 0) != (log_odds(np.asarray(s)) > 0)
    assert moved.mean() > 0.05, "the boundary moves with the labeling"
