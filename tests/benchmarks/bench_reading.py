"""Reading a raw file with all its checks and types, against pandas' parser alone.

Bank Marketing's twin. The checks of header, quotes and fields are vectorised, so that reading
takes a few times as long as the parser.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from counterweight.datasets.bank_marketing import BankMarketing
from table import Case, require

ROWS = 100_000


def same(ours, theirs):
    """The numbers of both tables are equal, but for what ours takes for missing."""
    numbers = theirs.select_dtypes("number").columns.intersection(ours.columns)
    for name in numbers:
        known = ours[name].notna().to_numpy()
        require((ours[name][known] == theirs[name][known]).all(), f"{name} differs")
    return f"{len(numbers)} columns of numbers equal"


def cases():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        BankMarketing.generate(folder, ROWS, np.random.default_rng(5))
        yield Case(
            stage="datasets",
            what=f"Bank Marketing, {ROWS:,} rows",
            ours=lambda: BankMarketing.read(folder),
            peer="pandas.read_csv, no checks",
            theirs=lambda: pd.read_csv(folder / "bank-full.csv", sep=";"),
            quality=same,
            at_most=10,
        )
