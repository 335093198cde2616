"""Coins of persons: the keyed hash by hand, uniform, unrelated by purpose and key."""

import hashlib
import hmac

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.coins import (
    VARIABLE,
    canonical_ids,
    key_of_plan,
    own_key,
    person_uniforms,
)


def test_a_coin_is_the_hash_written_out_by_hand():
    message = b"\0" * 7 + b"\x03" + b"007" + b"\0" * 7 + b"\x01" + b"p"
    told = hmac.new(b"secret", message, hashlib.sha256).digest()
    found = person_uniforms(b"secret", ["007"], "p", 2)
    for k in range(2):
        word = int.from_bytes(told[8 * k : 8 * k + 8], "big")
        assert found[k, 0] == (word >> 11) / 2**53


def test_coins_are_uniform_and_unrelated_by_key_purpose_and_number():
    ids = [str(at) for at in range(20_000)]
    first = person_uniforms(b"a", ids, "x", 4)
    assert first.min() >= 0 and first.max() < 1
    others = [person_uniforms(b"b", ids, "x")[0], person_uniforms(b"a", ids, "y")[0]]
    every = np.vstack([first, others])
    # Largest gap of the distribution function: 1.95 / sqrt(n) is passed once in a thousand.
    places = (np.arange(len(ids)) + 0.5) / len(ids)
    assert np.abs(np.sort(every, axis=1) - places).max() < 2.2 / np.sqrt(len(ids))
    assert np.abs(np.corrcoef(every) - np.eye(6)).max() < 4.5 / np.sqrt(len(ids))


def test_lengths_keep_ids_and_purposes_apart():
    assert person_uniforms(b"k", ["ab"], "c") != person_uniforms(b"k", ["a"], "bc")


@pytest.mark.parametrize(
    "values, texts",
    [
        ([7, 10], ["7", "10"]),
        ([7.0, 2.5], ["7", "2.5"]),
        (["007", " 7 "], ["007", "7"]),
        (["e\u0301", "x"], ["\u00e9", "x"]),
        (pd.array([1, 2], dtype="Int64"), ["1", "2"]),
    ],
)
def test_an_id_is_one_text_however_it_is_stored(values, texts):
    assert canonical_ids(values) == texts


def test_ids_that_tell_nobody_or_stand_twice_are_refused():
    for values in (["a", None], ["a", ""], ["a", float("nan")], ["a", pd.NA]):
        with pytest.raises(CounterweightError, match="1 of 2 rows"):
            canonical_ids(values)
    with pytest.raises(CounterweightError, match="1 rows whose id stood before .7."):
        canonical_ids([7, "7", 8])


def test_plans_go_by_the_key_of_configs_and_those_of_an_earlier_version_go_on(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    made = key_of_plan(None)
    assert made.digest == own_key("filter.key").digest == key_of_plan("filter.key").digest
    before = own_key("collect.key")
    assert key_of_plan(None).digest == before.digest != made.digest
