"""Saved models: what is written is what is read, and nothing else is taken for one."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.files import gifts
from counterweight.files.gifts import read_gift, write_gift
from counterweight.models.saved import load


def test_a_gift_comes_back_as_it_was(tmp_path):
    arrays = {
        "scalar": np.array(np.pi),
        "vector": np.array([0.1, -0.0, 1e-308]),
        "cube": np.random.default_rng(0).normal(size=(2, 3, 4)),
        "nothing": np.empty((0, 3)),
    }
    facts = {"words": ["ä", 'a "b"'], "third": 1 / 3, "none": None, "nested": {"a": [1, 2]}}
    write_gift(tmp_path / "model.parquet", "scores", facts, arrays)
    gift = read_gift(tmp_path / "model.parquet")
    assert gift.kind == "scores" and gift.facts == facts
    assert {*gift.versions} >= {"counterweight", "numpy", "scikit-learn"}
    for name, values in arrays.items():
        assert gift.arrays[name].shape == values.shape
        assert gift.arrays[name].tobytes() == values.tobytes()


def test_the_same_gift_has_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_gift(tmp_path / name, "scores", {"x": 1}, {"y": np.arange(3.0)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_facts_that_json_has_no_form_for_leave_nothing_behind(tmp_path):
    with pytest.raises(ValueError):
        write_gift(tmp_path / "model.parquet", "scores", {"x": float("nan")}, {})
    assert not list(tmp_path.iterdir())


def test_another_form_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(gifts, "FORMAT", 99)
    write_gift(tmp_path / "model.parquet", "scores", {}, {})
    monkeypatch.undo()
    with pytest.raises(CounterweightError, match="form 99.*reads the form 1: load it with that"):
        load(tmp_path)


def test_what_is_no_saved_model_is_refused(tmp_path):
    from counterweight.files.tables import write_table

    with pytest.raises(CounterweightError, match="is not there: name the folder of a study"):
        load(tmp_path)
    write_table(tmp_path / "other.parquet", {"a": [1, 2]})
    with pytest.raises(CounterweightError, match="is no saved model: name the file model.parquet"):
        load(tmp_path / "other.parquet")
    write_gift(tmp_path / "model.parquet", "oracle bones", {}, {})
    with pytest.raises(CounterweightError, match="'oracle bones', which this version does not"):
        load(tmp_path)
