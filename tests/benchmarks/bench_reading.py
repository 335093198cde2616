"""Speed of reading a raw file with all its checks, against pandas' parser alone.

Bank Marketing's twin of 10^5 rows. The checks of header, quotes and fields are vectorised, so that
reading takes a few times as long as the parser. The best of three times of each counts. Exits with
status 1 when ours takes more than 10 times as long and .2 s.

Call: python tests/benchmarks/bench_reading.py [rows]
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.datasets.bank_marketing import BankMarketing  # noqa: E402

ROWS = 100_000


def seconds(read):
    """Best wall-clock time of three calls."""
    times = []
    for _ in range(3):
        clock = time.perf_counter()
        read()
        times.append(time.perf_counter() - clock)
    return min(times)


def main(rows):
    """Time both, print the times, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        BankMarketing.generate(folder, rows, np.random.default_rng(5))
        alone = seconds(lambda: pd.read_csv(folder / "bank-full.csv", sep=";"))
        checked = seconds(lambda: BankMarketing.read(folder))
    print(f"{rows} rows: parser alone {alone:.3f} s, with all checks and types {checked:.3f} s")
    return 0 if checked < 10 * alone + 0.2 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
