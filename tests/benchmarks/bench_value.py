"""Policy values over a Parquet log, against reading it with pyarrow.

A made-up log of 10^7 rows (2 % clicks) in our own format. pyarrow reads reward, propensity and
target probability as one table; ours gives IPS and its self-normalised form with intervals, in at
most 1.5 times the time and 1 GiB. Both read on several threads, so wall-clock time counts.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from counterweight.evaluation.policy_value import value_from_parquet
from counterweight.tables import parquet
from table import Case, require

ROWS = 10_000_000
COLUMNS = ("reward", "propensity", "p")


def write_log(path, rows):
    """A log of one reward, two probabilities and a row number."""
    rng = np.random.default_rng(0)
    layout = (("row", "int32"), *((name, "float64") for name in COLUMNS))
    with parquet.writing(path, layout) as log:
        for start in range(0, rows, parquet.BATCH):
            n = min(parquet.BATCH, rows - start)
            log.write(
                {
                    "row": np.arange(start, start + n),
                    "reward": rng.random(n) < 0.02,
                    "propensity": rng.uniform(0.02, 0.9, n),
                    "p": rng.random(n),
                }
            )


def same(ours, theirs):
    """IPS of the streamed log equals that of the table in memory."""
    reward, propensity, p = (theirs[name] for name in COLUMNS)
    value = pc.mean(pc.divide(pc.multiply(reward, p), propensity)).as_py()
    apart = abs(ours["ips"].value - value) / value
    require(apart <= 1e-10, f"IPS {ours['ips'].value!r} and {value!r}")
    return f"IPS {value:.6f} of the table read, {apart:.0e} apart"


def cases():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        write_log(path, ROWS)
        yield Case(
            stage="evaluation",
            what="IPS and SNIPS with intervals, log of 10^7 rows",
            ours=lambda: value_from_parquet(path),
            peer="pyarrow, reading alone",
            theirs=lambda: pq.read_table(path, columns=list(COLUMNS)),
            quality=same,
            at_most=1.5,
            mib=1024,
            rounds=9,
            clock="wall",
        )
