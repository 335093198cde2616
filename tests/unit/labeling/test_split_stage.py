"""What a labeling job writes, all repeats at once or one at a time."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.split import write_repeats, write_rows


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"row": np.arange(n, dtype="int32"), "a": rng.normal(size=n), "y": rng.integers(0, 2, n)}
    )


def test_a_repeat_at_a_time_gives_the_bytes_of_all_at_once(tmp_path):
    rows = 60_000  # three repeats fill more than one row group
    features = table(rows)

    def repeats():
        for repeat in range(3):
            rng = np.random.default_rng(repeat)
            labels = pd.DataFrame(
                {"repeat": np.full(rows, repeat, "int16"), "row": features["row"]}
            )
            labels["role"] = rng.choice(["labeled", "test"], rows)
            seen = pd.Series(rng.integers(0, 2, rows), dtype="Int8")
            labels["y_general"] = seen.where(labels["role"] == "labeled")
            truth = labels[["repeat", "row"]].assign(y_general=seen, p=rng.random(rows))
            kept = rng.random(rows) < 0.9
            yield labels[kept], truth[kept]

    def job(folder):
        names = ("features", "labels", "truth")
        output = SimpleNamespace(**{name: folder / f"{name}.parquet" for name in names})
        return SimpleNamespace(output=output)

    whole = [pd.concat(part, ignore_index=True) for part in zip(*repeats(), strict=True)]
    write_rows(job(tmp_path / "whole"), features, *whole)
    told = write_repeats(job(tmp_path / "parts"), features, repeats(), lambda *both: map(len, both))
    assert [list(lengths) for lengths in told] == [[len(a), len(b)] for a, b in repeats()]
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "parts" / file.name).read_bytes()


def test_a_repeat_that_fails_leaves_no_labels(tmp_path):
    def repeats():
        yield table(), table()
        raise CounterweightError("no classifier can be learned")

    output = SimpleNamespace(features=tmp_path / "f", labels=tmp_path / "l", truth=tmp_path / "t")
    with pytest.raises(CounterweightError):
        write_repeats(SimpleNamespace(output=output), table(), repeats(), lambda *_: None)
    assert {path.name for path in tmp_path.iterdir()} == {"f"}
