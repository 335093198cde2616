"""The California Housing table: types, and errors that name the place."""

import numpy as np
from counterweight.datasets.ca_housing import COLUMNS, CaHousing
from twin_checks import digests_of_a_twin, mirror, refused

LINE = (
    "-122.230000,37.880000,41.000000,880.000000,129.000000,322.000000,126.000000,8.325200,"
    "452600.000000"
)


def refusal(folder, *lines):
    (folder / "cal_housing.data").write_text("\n".join([*lines, ""]))
    return refused(CaHousing, folder)


def test_columns_types_and_order(tmp_path):
    (tmp_path / "cal_housing.data").write_text(LINE + "\n" + LINE.replace("41.0", "52.0") + "\n")
    frame = CaHousing.read(tmp_path)
    assert list(frame) == ["row", *COLUMNS]
    assert frame["row"].dtype == np.int32
    assert set(frame.drop(columns="row").dtypes) == {np.dtype("float64")}
    assert frame["housingMedianAge"].tolist() == [41.0, 52.0]
    assert frame["longitude"][0] == -122.23


def test_real_file_has_the_published_counts():
    frame = CaHousing.read(mirror("ca_housing"))
    assert len(frame) == 20640
    assert not frame.isna().any(axis=None)
    assert (frame["medianHouseValue"] == 500001).sum() == 965
    assert (frame["housingMedianAge"] == 52).sum() == 1273


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(CaHousing, tmp_path) == ["6754c1a013c3", "2e60e340cd12"]
