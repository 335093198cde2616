"""The Kakadu table and its twin: first bids that are known, inferred, or halved."""

import functools
import hashlib
import re

import numpy as np
import pytest
from counterweight.datasets.kakadu import COLUMNS, DESIGNS, FILES, Kakadu
from twin_checks import digests_of_a_twin, generated, mirror, refused

refusal = functools.partial(refused, Kakadu)

HEADER = ",".join(COLUMNS)
REST = "3,1,5,5,1,1,1,4,5,1,yes,no,1,no,male,27,3,25,no"
ROWS = 40000


def person(lower, upper, answer, rest=REST):
    return f"1,{lower},{upper},{answer},{rest}"


def write(folder, *lines, header=HEADER):
    (folder / "Kakadu.csv").write_text("\n".join([header, *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    return generated(Kakadu, tmp_path_factory.mktemp("kakadu"), ROWS)


@pytest.mark.parametrize(
    ("bounds", "offer", "answer"),
    [
        ((0, 2, "nn"), 5, 0),
        ((0, 5, "nn"), 20, 0),
        ((0, 20, "nn"), 50, 0),
        ((0, 50, "nn"), 100, 0),
        ((20, 999, "yy"), 5, 1),
        ((50, 999, "yy"), 20, 1),
        ((100, 999, "yy"), 50, 1),
        ((250, 999, "yy"), 100, 1),
        ((2, 5, "ny"), 5, 0),
        ((100, 250, "ny"), 100, 1),
    ],
)
def test_the_first_bid_follows_from_the_bounds(tmp_path, bounds, offer, answer):
    frame = Kakadu.read(write(tmp_path, person(*bounds)))
    assert frame["offer"].tolist() == [offer]
    assert frame["answer"].tolist() == [answer]
    assert frame["first_known"].tolist() == [1]
    lower, upper, _ = bounds
    assert frame["accepted"].fillna(0).tolist() == [lower]
    assert frame["refused"].fillna(999).tolist() == [upper]


@pytest.mark.parametrize(("lower", "upper"), [(5, 20), (20, 50), (50, 100)])
def test_where_either_bid_may_be_the_first_they_take_turns(tmp_path, lower, upper):
    other = person(0, 2, "nn")
    line = person(lower, upper, "ny")
    frame = Kakadu.read(write(tmp_path, line, other, line, other, line))
    frame = frame[frame["first_known"] == 0]
    assert frame["offer"].tolist() == [lower, upper, lower]
    assert frame["answer"].tolist() == [1, 0, 1]
    assert frame["row"].tolist() == [0, 2, 4]


def test_columns_and_types(tmp_path):
    frame = Kakadu.read(write(tmp_path, person(0, 2, "nn")))
    middle = [name if name != "sex" else "female" for name in list(COLUMNS)[4:]]
    assert list(frame) == ["row", *middle, "offer", "answer", "first_known", "accepted", "refused"]
    assert frame["row"].dtype == np.int32
    first = frame.iloc[0]
    assert (first["female"], first["envcon"], first["vparks"], first["major"]) == (0, 1, 0, 0)
    assert frame["accepted"].isna().all()
    for name in ("", '""', "X"):
        other = Kakadu.read(
            write(tmp_path, person(0, 2, "nn"), header=HEADER.replace("rownames", name))
        )
        assert other.equals(frame)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (person(0, 2, "yn"), "column answer: 'yn' where nn, ny or yy is expected"),
        (
            person(0, 3, "nn"),
            "column upper: '3' where with this answer and this lower bound, a bid",
        ),
        (person(20, 100, "ny"), "column upper: '100' where"),
        (person(20, 999, "ny"), "column upper: '999' where"),
        (person(5, 999, "yy"), "column upper: '999' where"),
        (person(0, 2, "nn", REST.replace("27", "200")), "column age: '200' where a number from 0"),
        (person(0, 2, "nn", "6" + REST[1:]), "column recparks: '6' where a number from 1 to 5"),
        (person(0, 2, "nn", REST.replace("yes", "?")), "column envcon: '?' where yes or no"),
        (person(0, 2, "nn", REST.replace("male", "")), "column sex: '' where a value is expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, line, told):
    text = refusal(write(tmp_path, person(0, 2, "nn"), line))
    assert f"row 1 (counted from 0), {told}" in text


def test_twin_has_the_upstream_format(twin):
    lines = (twin[0] / "Kakadu.csv").read_text().split("\n")
    assert lines.pop() == ""
    assert lines.pop(0) == HEADER
    assert len(lines) == ROWS
    shape = re.compile(
        r"\d+,\d+,\d+,(nn|ny|yy)(,[1-5]){9},[1-4],(yes|no),(yes|no),[1-9],(yes|no),(fe)?male,"
        r"\d+,\d,\d+,(yes|no)"
    )
    assert all(shape.fullmatch(line) for line in lines)


def test_truth_is_the_probability_of_yes_to_the_first_bid(twin):
    _, frame, truth = twin
    first = truth["first"]
    assert set(first) == {design[0] for design in DESIGNS}
    p = 1 / (1 + np.exp(-truth["k"] * (truth["eta"] - first)))
    np.testing.assert_allclose(truth["p"], p, rtol=1e-12)
    left = (truth["worth"] >= first) - p
    for _, group in left.groupby([truth["component"], first]):
        assert abs(group.sum()) < 4.5 * np.sqrt((p * (1 - p))[group.index].sum())
    known = frame["first_known"] == 1
    np.testing.assert_array_equal(frame["offer"][known], first[known])
    np.testing.assert_array_equal(frame["answer"][known], (truth["worth"] >= first)[known])
    assert (frame["accepted"].fillna(-np.inf) <= truth["worth"]).all()
    assert (frame["refused"].fillna(np.inf) > truth["worth"]).all()


def test_halving_keeps_the_shares_of_yes_and_leaving_out_bends_them(twin):
    """In each segment and for each bid, against the known probability."""
    _, frame, truth = twin
    p = 1 / (1 + np.exp(-truth["k"] * (truth["eta"] - frame["offer"])))
    left, spread = frame["answer"].astype(float) - p, p * (1 - p)

    def scores(kept):
        by = [truth["component"][kept], frame["offer"][kept]]
        return left[kept].groupby(by).sum() / np.sqrt(spread[kept].groupby(by).sum())

    assert scores(frame["row"] >= 0).abs().max() < 4.5
    assert scores(frame["first_known"] == 1).abs().max() > 8
    halved = frame[frame["first_known"] == 0]
    assert abs((halved["answer"] == 1).mean() - 0.5) < 0.001
    assert abs(len(halved) / ROWS - 0.19) < 0.02


def test_real_file_has_the_published_counts():
    folder = mirror("kakadu")
    for name, digest in FILES.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    frame = Kakadu.read(folder)
    assert len(frame) == 1827
    assert (frame["first_known"] == 0).sum() == 63 + 69 + 76
    sure = frame[frame["first_known"] == 1].groupby("offer")["answer"]
    assert sure.size().to_dict() == {5: 459, 20: 428, 50: 343, 100: 389}
    assert sure.sum().to_dict() == {5: 321, 20: 281, 50: 187, 100: 213}
    every = frame.groupby("offer")["answer"]
    assert every.size().to_dict() == {5: 491, 20: 494, 50: 415, 100: 427}
    assert every.sum().to_dict() == {5: 353, 20: 316, 50: 225, 100: 213}
    assert frame["accepted"].isna().sum() == 608
    assert frame["refused"].isna().sum() == 941
    assert (frame["future"] == 9).sum() == 1
    assert not frame.drop(columns=["accepted", "refused"]).isna().any(axis=None)


def test_twin_is_near_the_published_means(twin):
    real, frame = Kakadu.read(mirror("kakadu")), twin[1]
    for name in list(COLUMNS)[4:]:
        name = "female" if name == "sex" else name
        spread = real[name].std()
        assert abs(real[name].mean() - frame[name].mean()) < 0.15 * spread
        values = set(real[name])
        assert {int(v) for v in frame[name]} <= {int(v) for v in values} | set(range(1, 6))
    gap = frame.groupby("offer")["answer"].mean() - real.groupby("offer")["answer"].mean()
    assert gap.abs().max() < 0.12


def test_the_twin_of_a_seed_is_the_same_in_every_version(tmp_path):
    assert digests_of_a_twin(Kakadu, tmp_path) == ["e3bec473fec4", "c4ed66701962"]
