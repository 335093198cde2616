"""The Natural Park table and its twin."""

import functools
import hashlib
import re

import numpy as np
import pytest
from counterweight.datasets.natural_park import COLUMNS, DESIGNS, FILES, NaturalPark
from twin_checks import digests_of_a_twin, generated, mirror, refused

refusal = functools.partial(refused, NaturalPark)

HEADER = ",".join(COLUMNS)
LINES = (
    "1,6,18,3,yy,1,female,2",
    "2,48,120,24,yn,2,male,1",
    "3,24,48,12,ny,6,female,8",
    "4,12,24,6,nn,5,male,1",
)


def write(folder, *lines, header=HEADER, end="\n"):
    (folder / "NaturalPark.csv").write_bytes(end.join([header, *(lines or LINES), ""]).encode())
    return folder


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return generated(NaturalPark, tmp_path_factory.mktemp("park"), 20000)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_first_bid_and_answer_are_the_offer(tmp_path, end):
    frame = NaturalPark.read(write(tmp_path, end=end))
    assert frame["row"].tolist() == [0, 1, 2, 3]
    assert frame["row"].dtype == np.int32
    assert frame["offer"].tolist() == [6, 48, 24, 12]
    assert frame["answer"].tolist() == [1, 1, 0, 0]
    assert frame["second_offer"].tolist() == [18, 120, 12, 6]
    assert frame["second_answer"].tolist() == [1, 0, 1, 0]
    assert frame["female"].tolist() == [1, 0, 1, 0]
    assert list(frame)[1:4] == ["age", "female", "income"]


@pytest.mark.parametrize("name", ["", '""', "X", '"rownames"', "rowid"])
def test_the_index_may_have_another_name(tmp_path, name):
    other = NaturalPark.read(write(tmp_path, header=HEADER.replace("rownames", name)))
    assert other.equals(NaturalPark.read(write(tmp_path)))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("yn", "y", "column answers: 'y' where nn, ny, yn or yy is expected"),
        ("male,1", "man,1", "column sex: 'man' where female or male is expected"),
        ("2,male,1", "7,male,1", "column age: '7' where a class from 1 to 6"),
        ("male,1", "male,9", "column income: '9' where a class from 1 to 8"),
        ("male,1", "male,", "column income: "),
        ("120", "48", "column bidh: '48' where a bid after yes above the first bid"),
        ("24", "50", "column bid1: '48' where a first bid above the one after no"),
        ("24", "-1", "column bidl: '-1' where a bid above 0"),
        ("male,1", "male", "column income: "),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, old, new, told):
    text = refusal(write(tmp_path, LINES[0], LINES[1].replace(old, new, 1)))
    assert f"NaturalPark.csv, row 1 (counted from 0), {told}" in text


def test_twin_has_the_upstream_format(twin):
    lines = (twin[0] / "NaturalPark.csv").read_text().split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == HEADER
    shape = re.compile(r"\d+,\d+,\d+,\d+,[ny][ny],[1-6],(fe)?male,[1-8]")
    assert all(shape.fullmatch(line) for line in lines)
    bids = {tuple(map(int, line.split(",")[1:4])) for line in lines}
    assert bids == set(DESIGNS)
    assert [int(line.split(",")[0]) for line in lines] == list(range(1, 20001))


def test_truth_is_the_probability_of_yes(twin):
    _, frame, truth = twin
    p, answer = truth["p"], frame["answer"].astype(float)
    assert truth["row"].tolist() == frame["row"].tolist()
    expected = 1 / (1 + np.exp(-truth["k"] * (truth["eta"] - frame["offer"])))
    np.testing.assert_allclose(p, expected, rtol=1e-12)
    for _, group in (answer - p).groupby([truth["component"], frame["offer"]]):
        spread = np.sqrt((p * (1 - p))[group.index].sum())
        assert abs(group.sum()) < 4.5 * spread
    assert (answer == (truth["worth"] >= frame["offer"])).all()
    assert (frame["second_answer"] == (truth["worth"] >= frame["second_offer"])).all()


def test_the_first_bid_says_nothing_of_the_person_and_the_second_does(twin):
    _, frame, truth = twin
    for name in ("age", "female", "income"):
        assert abs(np.corrcoef(frame[name].astype(float), frame["offer"])[0, 1]) < 0.03
    assert abs(np.corrcoef(truth["component"], frame["offer"])[0, 1]) < 0.03
    assert np.corrcoef(truth["component"], frame["second_offer"])[0, 1] > 0.1


def test_real_file_has_the_published_counts(twin):
    folder = mirror("natural_park")
    for name, digest in FILES.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    frame = NaturalPark.read(folder)
    assert len(frame) == 312
    assert frame.groupby("offer").size().to_dict() == {6: 76, 12: 77, 24: 82, 48: 77}
    assert frame.groupby("offer")["answer"].sum().to_dict() == {6: 50, 12: 43, 24: 42, 48: 36}
    assert not frame.isna().any(axis=None)
    for name in ("age", "female", "income"):
        assert abs(frame[name].mean() - twin[1][name].mean()) < 0.25
        assert set(twin[1][name]) <= set(range(9))


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(NaturalPark, tmp_path) == ["b17f7c003f2c", "5669ec63130f"]
