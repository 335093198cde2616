"""Rows of every type, some of them missing, and an encoder of them."""

import numpy as np
import pandas as pd
from counterweight.labeling.encoding import TabularEncoder

TYPES = {"age": "number", "paid": "boolean", "when": "date", "town": "text", "job": "text"}


def table(rows=400, seed=0):
    """Numbers, booleans, dates and texts, some missing; three towns are rare."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ulm", "Bonn", "Köln", "other"], rows, p=[0.5, 0.3, 0.15, 0.05])
    frame = pd.DataFrame(
        {
            "row": np.arange(rows, dtype=np.int32),
            "age": rng.normal(40, 12, rows),
            "paid": pd.array(rng.integers(0, 2, rows), dtype="Int64"),
            "when": 18000 + rng.random(rows) * 900,
            "town": pd.Series(town, dtype="str"),
            "job": pd.Series(rng.choice(["a", "b", "missing"], rows), dtype="str"),
        }
    )
    for column in ("age", "paid", "town"):
        frame.loc[rng.random(rows) < 0.1, column] = np.nan
    frame.loc[:2, "town"] = ["Rom", "Pisa", "Bari"]
    return frame


def fitted(frame, types=TYPES, **options):
    return TabularEncoder(**options).fit(frame, list(types), types)


def same(one, other):
    for name in ("row", "numbers", "codes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
