"""Rows of a table with blanks in its outcome."""

import numpy as np
import pandas as pd

ROWS = 200
TYPES = {"x": "number", "y": "number", "ok": "boolean", "word": "text", "when": "date"}


def table(**columns):
    rng = np.random.default_rng(0)
    frame = {
        "row": np.arange(ROWS, dtype="int32"),
        "x": rng.normal(size=ROWS),
        "y": np.where(rng.random(ROWS) < 0.3, np.nan, rng.integers(0, 2, ROWS).astype(float)),
        "ok": pd.array(rng.integers(0, 2, ROWS), "Int64"),
        "word": pd.Series(rng.choice(["good", "bad"], ROWS)).astype("str"),
        "when": np.arange(ROWS) / 3.0,
    }
    return pd.DataFrame(frame | columns)
