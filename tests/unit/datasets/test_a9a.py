"""The a9a table and its twin: bits, blocks, places of errors, a truth that is true."""

import functools
import hashlib
import re

import numpy as np
import pytest
from counterweight.datasets import a9a
from counterweight.datasets.a9a import BLOCKS, FEATURES, FILES, OPTIONAL, A9a
from twin_checks import digests_of_a_twin, generated, mirror, refused

refusal = functools.partial(refused, A9a)

ROWS = 30000
NAMES = [f"x{number}" for number in range(1, FEATURES + 1)]
NUMBERS = (3, 11, 14, 19, 39, 42, 55, 64, 67, 73, 75, 76, 80, 83)
GOOD = "-1 " + " ".join(f"{number}:1" for number in NUMBERS) + " "
OTHER = "+1 1:1 18:1 22:1 36:1 40:1 47:1 61:1 71:1 72:1 74:1 77:1 82:1 123:1 "


def write(folder, *lines, test=(GOOD,), end="\n"):
    for file, part in (("a9a", lines or (GOOD, OTHER)), ("a9a.t", test)):
        (folder / file).write_bytes("".join(line + end for line in part).encode())
    return folder


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return generated(A9a, tmp_path_factory.mktemp("a9a"), ROWS)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_types_and_order(tmp_path, end):
    frame = A9a.read(write(tmp_path, GOOD, "", OTHER.strip(), end=end))
    assert list(frame) == ["row", "label", *NAMES, "part"]
    assert frame["row"].dtype == np.int32
    assert set(frame[["label", *NAMES]].dtypes) == {np.dtype("int8")}
    assert str(frame["part"].dtype) == "str"
    assert frame["label"].tolist() == [0, 1, 0]
    assert frame["part"].tolist() == ["train", "train", "test"]
    assert frame["row"].tolist() == [0, 1, 2]
    assert tuple(np.flatnonzero(frame.loc[0, NAMES].to_numpy(int)) + 1) == NUMBERS
    assert frame.loc[1, "x123"] == 1


def test_a_part_without_the_last_feature_has_its_column_all_the_same(tmp_path):
    frame = A9a.read(write(tmp_path, GOOD))
    assert frame["x123"].tolist() == [0, 0]


@pytest.mark.parametrize("label", ["0", "2", "-3"])
def test_other_labels_are_told(tmp_path, label):
    text = refusal(write(tmp_path, GOOD, GOOD.replace("-1 ", f"{label} ", 1)))
    assert f"a9a, row 1 (counted from 0): {label} where a label, +1 or -1, is expected" in text


def test_words_that_are_no_features_are_told(tmp_path):
    for word in ("1x:1", "11", ":1", "0:1", "124:1"):
        text = refusal(write(tmp_path, test=(GOOD, GOOD.replace(" 11:1", f" {word}"))))
        assert "a9a.t is not in its published format (" in text
    assert "a9a is not there" in refusal(tmp_path / "nowhere")


def test_rows_without_one_feature_of_each_block_are_told(tmp_path):
    text = refusal(write(tmp_path, GOOD, "-1 "))
    assert "row 1 (counted from 0) has 0 of the features 1 to 5 (age) where 1 is expected" in text
    text = refusal(write(tmp_path, GOOD, GOOD.replace(" 73:1", "")))
    assert "row 1 (counted from 0) has 0 of the features 72 to 73 (sex) where 1 is expected" in text
    text = refusal(write(tmp_path, GOOD.replace(" 83:1", " 83:1 84:1")))
    assert "has 2 of the features 83 to 123 (native-country) where at most 1 is expected" in text
    for number in (11, 55, 83):
        assert len(A9a.read(write(tmp_path, GOOD.replace(f" {number}:1", "")))) == 2


def test_twin_has_the_upstream_format(twin):
    shape = re.compile(r"[+-]1( [1-9][0-9]{0,2}:1){11,14} ")
    sizes = []
    for file in FILES:
        lines = (twin[0] / file).read_bytes().decode("ascii").split("\n")
        assert lines.pop() == ""
        assert all(shape.fullmatch(line) for line in lines)
        sizes.append(len(lines))
    assert sizes == [ROWS * 2 // 3, ROWS // 3]


def test_twin_has_every_feature_and_the_blocks(twin):
    values = twin[1][NAMES].to_numpy()
    assert values.any(axis=0).all()
    assert list(BLOCKS.values())[0][0] == 1
    assert list(BLOCKS.values())[-1][1] == FEATURES
    for name, (low, high) in BLOCKS.items():
        count = values[:, low - 1 : high].sum(axis=1)
        assert set(count) == ({0, 1} if name in OPTIONAL else {1})
    education = values[:, 18:34].argmax(axis=1)
    assert (np.array(a9a.YEARS)[education] == values[:, 34:39].argmax(axis=1)).all()


def test_truth_is_the_probability_of_the_label(twin):
    """The documented log odds; and the label's share is the mean of p in tenths of p."""
    _, frame, truth = twin
    p = truth["p_positive"].to_numpy()
    score = a9a.INTERCEPT + frame[NAMES].to_numpy(float) @ np.array(a9a.EFFECTS)
    np.testing.assert_allclose(np.log(p / (1 - p)), score, rtol=0, atol=1e-9)
    selected = 1 / (1 + np.exp(-(0.6 + 0.8 * frame["x40"] - 0.5 * frame["x39"])))
    np.testing.assert_allclose(truth["p_selected"], selected, rtol=1e-12)
    assert truth["row"].tolist() == frame["row"].tolist()
    tenths = np.searchsorted(np.quantile(p, np.linspace(0.1, 0.9, 9)), p)
    for tenth in range(10):
        group = tenths == tenth
        spread = np.sqrt((p * (1 - p))[group].sum())
        assert abs((frame["label"].to_numpy() - p)[group].sum()) < 4 * spread


def test_twin_is_near_the_published_shares(twin):
    frame = twin[1]
    for column, share, positive in (
        ("x73", 0.669, 0.304),
        ("x72", 0.332, 0.109),
        ("x39", 0.248, 0.481),
    ):
        has = frame[column] == 1
        assert abs(has.mean() - share) < 0.02
        assert abs(frame["label"][has].mean() - positive) < 0.03
    assert abs(frame["label"].mean() - 0.239) < 0.015


def test_twin_is_near_the_real_file_in_every_feature(twin):
    real = A9a.read(mirror("a9a"))
    difference = np.abs(real[NAMES].mean() - twin[1][NAMES].mean())
    assert difference.max() < 0.025


def test_real_files_have_the_published_counts_and_digests():
    folder = mirror("a9a")
    for file, expected in FILES.items():
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == expected
    frame = A9a.read(folder)
    train = frame["part"] == "train"
    assert (train.sum(), (~train).sum()) == (32561, 16281)
    assert (frame["label"][train].sum(), frame["label"][~train].sum()) == (7841, 3846)
    assert np.bincount(frame[NAMES].to_numpy().sum(axis=1))[11:].tolist() == [46, 2753, 821, 45222]
    assert frame["x123"].sum() == frame["x123"][train].sum() == 1


def test_real_rows_are_those_of_adult():
    folder = mirror("a9a")
    if not (folder.parent / "adult" / "adult.data").is_file():
        pytest.skip("needs the real Adult files beside those of a9a")
    from counterweight.datasets.adult import Adult

    frame, adult = A9a.read(folder), Adult.read(folder.parent / "adult")
    assert (frame["label"] == (adult["income"] == ">50K")).all()
    assert (frame["x73"] == (adult["sex"] == "Male")).all()
    assert (frame["x72"] == (adult["sex"] == "Female")).all()
    assert (frame["x39"] == (adult["education-num"] >= 13)).all()
    assert (frame["x40"] == (adult["marital-status"] == "Married-civ-spouse")).all()


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(A9a, tmp_path) == ["5aaf781b0a5d", "9beb20fdc5dd", "2463c2def6e0"]
