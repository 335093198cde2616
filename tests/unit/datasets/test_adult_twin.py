"""The twin of Adult: the upstream format, and a truth that is true."""

import re

import numpy as np
import pytest
from counterweight.datasets.adult import COLUMNS, Adult
from twin_checks import assert_probability, generated, mirror

ROWS = 30000


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    return generated(Adult, tmp_path_factory.mktemp("adult"), ROWS)


def married(frame):
    return frame["marital-status"].isin(["Married-civ-spouse", "Married-AF-spouse"]).to_numpy()


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
