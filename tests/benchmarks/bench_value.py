"""Speed and memory of policy values over a Parquet log, against reading it with pyarrow.

Writes a made-up log of 10^7 rows (2 % clicks) in our own format, then times, alternating,
pyarrow reading reward, propensity and target probability as one table, and
``value_from_parquet`` giving IPS and its self-normalised form with intervals. The best time
of each counts: other work on the machine only ever adds. A child process of its own tells
the peak memory. Exits with status 1 when ours takes more than 1.5 times as long, or more than
1 GiB. Call: python tests/benchmarks/bench_value.py [rows]
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.evaluation.values.estimates import value_from_parquet  # noqa: E402
from counterweight.files import streams  # noqa: E402

ROWS = 10_000_000
ROUNDS = 9
RATIO = 1.5
MEMORY = 1024
COLUMNS = ("reward", "propensity", "p")


def write_log(path, rows):
    """A log of one reward, two probabilities and a row number."""
    rng = np.random.default_rng(0)
    layout = (("row", "int32"), *((name, "float64") for name in COLUMNS))
    with streams.writing(path, layout) as log:
        for start in range(0, rows, streams.BATCH):
            n = min(streams.BATCH, rows - start)
            log.write(
                {
                    "row": np.arange(start, start + n),
                    "reward": rng.random(n) < 0.02,
                    "propensity": rng.uniform(0.02, 0.9, n),
                    "p": rng.random(n),
                }
            )


def seconds(action):
    """Wall-clock time of one call."""
    clock = time.perf_counter()
    action()
    return time.perf_counter() - clock


def main(rows):
    """Run both, print what they did, and return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.parquet")
        write_log(path, rows)
        print(f"{rows} rows, {path.stat().st_size / 2**20:.0f} MiB")
        reading, ours = [], []
        for _ in range(ROUNDS):
            reading.append(seconds(lambda: pq.read_table(path, columns=list(COLUMNS))))
            ours.append(seconds(lambda: value_from_parquet(path)))
        child = subprocess.run(
            [sys.executable, __file__, "--memory", str(path)],
            capture_output=True,
            text=True,
            check=True,
        )
    memory = float(child.stdout)
    ratio = min(ours) / min(reading)
    for name, times in (("pyarrow", reading), ("Counterweight", ours)):
        print(f"{name:13s} best {min(times):.3f} s, median {np.median(times):.3f} s")
    print(
        f"ratio {ratio:.2f} (at most {RATIO} wanted); median ratio "
        f"{np.median(np.divide(ours, reading)):.2f}"
    )
    print(f"peak memory {memory:.0f} MiB (at most {MEMORY} wanted)")
    return 0 if ratio <= RATIO and memory <= MEMORY else 1


def measure(path):
    """Print the peak memory of this process, in MiB, after the estimates."""
    value_from_parquet(path)
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike getrusage, it does not count what the parent held when it forked.
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()).group(1)
        print(int(peak) / 2**10)
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(peak / (2**20 if sys.platform == "darwin" else 2**10))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        measure(sys.argv[2])
        sys.exit(0)
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS))
