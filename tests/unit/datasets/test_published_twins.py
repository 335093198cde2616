"""Twins of published data sets: the upstream format, as many rows as asked, the same again."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared, load

TWINNED = (
    *("adult", "ca_housing", "bank_marketing", "open_bandit", "natural_park", "kakadu", "a9a"),
)


def rng(seed=5):
    return np.random.default_rng(seed)


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
