"""Speed of the weighted AUC with its interval against scikit-learn's AUC, which has none.

Same arrays of 10^7 scores, one thread, one run: the two are timed in turn, each first every
other time, and the medians of wall and CPU time are compared. Unweighted, with one weight a
class (rejected zeros) and with a weight for each row; scores of 8 and 4 bytes; classes of 5 %
and 50 % positives. The values must agree to 1e-12. Peak memory is what each call allocates
beyond its arguments. Exits with status 1 when ours is slower in either time anywhere.

Call: python tests/benchmarks/bench_auc.py [rows] [rounds]
"""

import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.numerics.ranking import auc_estimate  # noqa: E402

WEIGHTS = ("none", "by class", "by row")


def timed(call):
    """Result of a call, its wall time and its CPU time."""
    wall, used = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - wall, time.process_time() - used


def peak(call):
    """Most memory that a call holds, in bytes."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def compare(y, score, weight, rounds):
    """Median times and peak memory of both, and whether ours is no slower."""

    def ours():
        return auc_estimate(y, score, weight).value

    def theirs():
        return roc_auc_score(y, score, sample_weight=weight)

    times = {ours: [], theirs: []}
    for turn in range(rounds):
        values = []
        for call in (ours, theirs)[:: 1 if turn % 2 else -1]:
            value, *taken = timed(call)
            times[call].append(taken)
            values.append(value)
        if abs(values[0] - values[1]) > 1e-12:
            raise SystemExit(f"The values differ: {values}")
    medians = [np.median(times[call], axis=0) for call in (ours, theirs)]
    memory = [peak(call) / len(y) for call in (ours, theirs)]
    return *medians, memory, bool((medians[0] <= medians[1]).all())


def main(rows, rounds):
    """Run all cases, print a table, and return the exit status."""
    rng = np.random.default_rng(0)
    # Imports and first calls are not timed.
    auc_estimate([0, 1], [0.0, 1.0])
    roc_auc_score([0, 1], [0.0, 1.0])
    print(f"{rows} scores, median of {rounds} rounds; seconds, and bytes for each row")
    print(
        f"{'positives':>9} {'scores':>8} {'weights':>9}   {'wall':>6} {'sklearn':>7}   {'CPU':>6} "
        f"{'sklearn':>7}   {'memory':>6} {'sklearn':>7}"
    )
    good = True
    for share in (0.05, 0.5):
        y = (rng.random(rows) < share).astype(int)
        weights = (None, np.where(y == 1, 1.0, 10.0), rng.random(rows) + 0.5)
        for dtype in (np.float64, np.float32):
            score = (rng.normal(size=rows) + y).astype(dtype)
            for name, weight in zip(WEIGHTS, weights, strict=True):
                ours, theirs, memory, fast = compare(y, score, weight, rounds)
                good &= fast
                print(
                    f"{share:9.0%} {np.dtype(dtype).name:>8} {name:>9}   {ours[0]:6.2f} "
                    f"{theirs[0]:7.2f}   {ours[1]:6.2f} {theirs[1]:7.2f}   {memory[0]:6.1f} "
                    f"{memory[1]:7.1f}" + ("" if fast else "   SLOWER"),
                    flush=True,
                )
    return 0 if good else 1


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        status = main(
            int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7,
            int(sys.argv[2]) if len(sys.argv) > 2 else 3,
        )
    sys.exit(status)
