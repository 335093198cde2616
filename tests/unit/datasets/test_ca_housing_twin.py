"""The twin of California Housing: the upstream format, and a truth that is true."""

import re

import numpy as np
import pytest
from counterweight.datasets.ca_housing import COAST, STRIP, CaHousing
from twin_checks import assert_probability, generated

ROWS = 30000


@pytest.fixture(scope="module")
def housing(tmp_path_factory):
    return generated(CaHousing, tmp_path_factory.mktemp("housing"), ROWS)


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
