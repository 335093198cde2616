"""What the tests of the published data sets and their twins share."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared


def mirror(name):
    """Folder with the real files of a data set; a test that has none is skipped."""
    root, files = os.environ.get("COUNTERWEIGHT_MIRROR"), declared("dataset", name, "FILES")
    folder = Path(root or "", name)
    if not root or not all((folder / file).is_file() for file in files):
        pytest.skip("needs the real files: COUNTERWEIGHT_MIRROR names no folder that has them")
    return folder


def generated(dataset, folder, rows):
    """A twin: its folder, its table, and what is known of it."""
    dataset.generate(folder, rows, np.random.default_rng(5))
    return folder, dataset.read(folder), pd.read_parquet(folder / "truth.parquet")


def digests_of_a_twin(dataset, folder):
    """Digests of the files of a twin of 700 rows and of its truth, to 9 decimals."""
    dataset.generate(folder, 700, np.random.default_rng(1))
    truth = pd.read_parquet(folder / "truth.parquet").round(9) + 0.0
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix != ".parquet"]
    parts = [*files, truth.to_numpy(float).tobytes()]
    return [hashlib.sha256(part).hexdigest()[:12] for part in parts]


def assert_probability(p, outcome):
    """The outcome's share equals the mean of p within 4 sd, overall and in tenths of p."""
    p, outcome = np.asarray(p, dtype=float), np.asarray(outcome, dtype=float)
    tenths = np.searchsorted(np.quantile(p, np.linspace(0.1, 0.9, 9)), p)
    for group in [np.ones(len(p), dtype=bool), *(tenths == tenth for tenth in range(10))]:
        spread = np.sqrt((p * (1 - p))[group].sum())
        assert abs((outcome - p)[group].sum()) < 4 * spread + 1e-9


def refused(dataset, folder):
    """What is said of files that are refused: one sentence."""
    with pytest.raises(CounterweightError) as caught:
        dataset.read(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)
