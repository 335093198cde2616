"""Kernel mean matching: CPU seconds and memory at 12,800 x 14,300 rows, and what is left unmatched.

Two normal populations of 12 features, one shifted. Ours must take at most a minute and 2 GiB on one
core. The peers skada and adapt solve the same program with matrices of rows by rows, so each is
given as many rows as it manages in 300 seconds, doubling from 500; where one is not installed the
output says so. Squared moment distances are computed here, by blocks, with one kernel for all.
Exits with status 1 when beyond a limit.

Call: python tests/benchmarks/bench_matching.py [seed]
"""

import os
import resource
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.weighting.ratios.kernel_mean_matching import matching_weights, median_distance  # noqa: E402
from counterweight.weighting.rows import Rows  # noqa: E402

SECONDS, BYTES, LIMIT = 60, 2 << 30, 300
SIZES = (12_800, 14_300)


def tables(m, n, seed):
    rng = np.random.default_rng(seed)
    shift = np.r_[0.8, -0.5, np.zeros(10)]
    X, goal = rng.normal(size=(m, 12)), rng.normal(size=(n, 12)) + shift
    both = np.concatenate([X, goal])
    return ((part - both.mean(axis=0)) / both.std(axis=0) for part in (X, goal))


def kernel(A, B, width):
    squared = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(squared, 0) / (2 * width**2))


def distance(X, goal, b, width):
    """Squared moment distance, less what no weight changes and plus it."""
    parts = [slice(at, at + 500) for at in range(0, max(len(X), len(goal)), 500)]
    own = sum(b[p] @ (kernel(X[p], X, width) @ b) for p in parts) / len(X) ** 2
    cross = sum(b[p] @ kernel(X[p], goal, width).sum(axis=1) for p in parts)
    same = sum(kernel(goal[p], goal, width).sum() for p in parts) / len(goal) ** 2
    return own - 2 * cross / len(X) / len(goal) + same


def ours(X, goal, width):
    rows = Rows(X, None, goal, np.random.default_rng(0))
    return matching_weights(rows, target="unlabeled")


def skada(X, goal, width):
    from skada import KMMReweightDensityAdapter

    adapter = KMMReweightDensityAdapter(kernel="rbf", gamma=1 / (2 * width**2))
    both, domain = np.concatenate([X, goal]), np.r_[np.ones(len(X)), -2 * np.ones(len(goal))]
    adapter.fit(both, sample_domain=domain.astype(int))
    return np.asarray(adapter.compute_weights(both, sample_domain=domain.astype(int)))[: len(X)]


def adapt(X, goal, width):
    from adapt.instance_based import KMM

    model = KMM(Xt=goal, kernel="rbf", gamma=1 / (2 * width**2), verbose=0, random_state=0)
    return np.asarray(model.fit_weights(X, goal))


def main(seed=0):
    good = True
    X, goal = tables(*SIZES, seed)
    width = median_distance(np.concatenate([X, goal]), np.random.default_rng(0))
    clock = time.process_time()
    weights = ours(X, goal, width)
    used = time.process_time() - clock
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = distance(X, goal, np.ones(len(X)), width)
    after = distance(X, goal, weights, width)
    print(
        f"ours: {len(X)} x {len(goal)} rows, {used:.1f} s, {memory / 2**20:.0f} MiB, "
        f"squared distance {before:.3g} to {after:.3g}"
    )
    good &= used <= SECONDS and memory <= BYTES
    for peer in (skada, adapt):
        size, last = 500, 0.0
        while size <= SIZES[0] and last < LIMIT / 8:
            X, goal = tables(size, size, seed)
            width = median_distance(np.concatenate([X, goal]), np.random.default_rng(0))
            clock = time.process_time()
            try:
                weights = peer(X, goal, width)
            except ImportError:
                print(f"{peer.__name__}: not installed, left out")
                break
            except (MemoryError, ValueError, ArithmeticError) as error:
                print(f"{peer.__name__}: gives up at {size} rows ({error})")
                break
            last = time.process_time() - clock
            mine = ours(X, goal, width)
            found = [distance(X, goal, b, width) for b in (np.ones(size), weights, mine)]
            print(
                f"{peer.__name__}: {size} x {size} rows, {last:.1f} s, squared distance "
                f"{found[0]:.3g} to {found[1]:.3g}; ours {found[2]:.3g}"
            )
            size *= 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
