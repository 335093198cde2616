"""Policy values beside vw-estimators: same values, time, and coverage of intervals of few clicks.

Draws small logs of six expected clicks whose policies' values are known. vw-estimators is no
dependency: where it is not installed this says so and ends well. Exits with status 1 where values
differ by more than rounding. Call: python tests/benchmarks/bench_peers_of_values.py [logs]
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.evaluation.values.log_values import log_values  # noqa: E402

ROWS, CHANCE = 600, 0.01
LOGGING, TARGET = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


def a_log(rng):
    """Rewards, propensities and target probabilities; every policy is worth `CHANCE`."""
    action = rng.choice(3, size=ROWS, p=LOGGING)
    return (rng.random(ROWS) < CHANCE).astype(float), LOGGING[action], TARGET[action]


def ours(reward, propensity, target):
    ones = np.ones(len(reward))
    batch = {"reward": reward, "propensity": propensity, "keep_rate": ones, "weight": ones}
    known = log_values(
        lambda: [batch | {"p": target[:, None]}], ["new"], reward_range=(0, 1)
    )  # fmt: skip
    return known.values["new", "ips"], known.values["new", "snips"]


def main(logs):
    """Compare, print, and return the exit status."""
    try:
        from estimators.bandits import cressieread, ips, snips
    except ImportError:
        print("skipped: vw-estimators is not installed (pip install vw-estimators)")
        return 0
    rng, held, spent, worst = np.random.default_rng(0), np.zeros(2), np.zeros(2), 0.0
    for _ in range(logs):
        rows = a_log(rng)
        begun = time.process_time()
        mine = ours(*rows)
        spent[0] += time.process_time() - begun
        begun = time.process_time()
        theirs = ips.Estimator(), snips.Estimator()
        likely = cressieread.Interval(0, 1 / LOGGING.min())
        for r, p, t in zip(*(part.tolist() for part in rows), strict=True):
            for one in (*theirs, likely):
                one.add_example(p, r, t)
        low, high = likely.get()
        spent[1] += time.process_time() - begun
        for one, other in zip(mine, theirs, strict=True):
            worst = max(worst, abs(one.value - other.get()) / max(abs(other.get()), 1e-12))
        held += [mine[0].low <= CHANCE <= mine[0].high, low <= CHANCE <= high]
    print(f"{logs} logs of {ROWS} rows, {ROWS * CHANCE:.0f} expected clicks, known value {CHANCE}")
    print(f"largest relative difference of values {worst:.1e}")
    for name, share, time_ in zip(
        ("Counterweight", "vw-estimators"), held / logs, spent, strict=True
    ):
        print(
            f"{name:13s} 95 % intervals hold {share:.3f}; {1000 * time_ / logs:.1f} ms of CPU a log"
        )
    return int(worst > 1e-9)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
