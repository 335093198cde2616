"""Speed and memory of the predictive choice model, on one thread.

Algorithm 1 of Noor et al. (2014) on 18 simulated segments (9,000 rows, J = 1 to 25, 10 random
starts for each J, tolerance 1e-6 for a row) must take less than 90 s, and EM with 10 segments
must grow no faster than the rows, from 10^4 to 10^6: time and memory per row at most 1.5 times
those at the smallest size that is not dominated by fixed costs (10^5 rows for memory).
Exits with status 1 when beyond a limit. Times are CPU times. A million new people must be priced
by three segments (soft, with intervals) in less than 20 s, also where a number moves their
thresholds, and get offers under a capacity and a
budget in less than 10 s. Where R and its package flexmix are installed, the same mixture of 18
segments is fitted by it once, from one start; where not, that is said.

Call: python tests/benchmarks/bench_choice.py [seed]
"""

import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow"))

from counterweight.datasets.generated.segments import EighteenSegments  # noqa: E402
from counterweight.labeling.features.encoder import Encoder  # noqa: E402
from counterweight.models.choice.delivered.saved import SavedOffers  # noqa: E402
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel  # noqa: E402
from counterweight.models.choice.search import Search  # noqa: E402
from counterweight.models.choice.steps import ChoiceRows, climb  # noqa: E402

SECONDS = 90.0
GROWTH = 1.5
STEPS = 10
SEGMENTS = 10
PEOPLE, PRICED, ALLOTTED = 1_000_000, 20.0, 10.0
#: One EM run of flexmix from random starting classes.
FLEXMIX = """
if (!requireNamespace("flexmix", quietly = TRUE)) { cat("absent"); quit() }
suppressMessages(library(flexmix))
d <- read.csv(commandArgs(TRUE)[1]); set.seed(1)
time <- system.time(found <- flexmix(~ 1, data = d, k = 18, control = list(tolerance = 1e-6),
  model = list(FLXMCmvnorm(cbind(x1, x2) ~ 1, diagonal = FALSE),
               FLXMRglm(cbind(y, 1 - y) ~ t, family = "binomial"))))
cat(time[["user.self"]], as.numeric(logLik(found)), found@k)
"""


def algorithm_one(seed):
    """Seconds of Algorithm 1, and the number of segments found."""
    table, _ = EighteenSegments.simulate(9000, np.random.default_rng(seed))
    X = table[["x1", "x2"]].to_numpy()
    model = PredictiveChoiceModel(most_components=25, restarts=10, tolerance=1e-6)
    clock = time.process_time()
    model.fit(X, table.offer_uniform, table.answer_uniform, rng=np.random.default_rng(seed))
    return time.process_time() - clock, model.n_components_


def rows_of(n, rng):
    """Rows of 18 segments, `n` of them, standardised, with offers and answers."""
    table, _ = EighteenSegments.simulate(9000, rng)
    chosen = rng.integers(len(table), size=n)
    X = table[["x1", "x2"]].to_numpy()[chosen] + rng.normal(0, 0.1, (n, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, table.offer_uniform.to_numpy()[chosen], table.answer_uniform.to_numpy()[chosen]


def fixed_steps(n, seed):
    """Seconds of a fixed number of EM steps with the data laid out anew, and peak bytes."""
    rng = np.random.default_rng(seed)
    X, t, y = rows_of(n, rng)
    rule = {"floor": 1e-3, "minimum_rows": 4.0, "tolerance": 0.0, "iterations": STEPS}
    search = Search(ChoiceRows(X[:5000], t[:5000], y[:5000]), rng, restarts=1, **rule)
    start = search.random(SEGMENTS)
    clock = time.process_time()
    climb(ChoiceRows(X, t, y), start, **rule)
    seconds = time.process_time() - clock
    tracemalloc.start()
    climb(ChoiceRows(X, t, y), start, **(rule | {"iterations": 1}))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak


def flexmix(seed):
    """What R's flexmix takes for one start on the same rows, in a sentence."""
    if shutil.which("Rscript") is None:
        return "flexmix: skipped, R is not installed"
    table, _ = EighteenSegments.simulate(9000, np.random.default_rng(seed))
    table = table.rename(columns={"offer_uniform": "t", "answer_uniform": "y"})
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "d.csv", Path(folder) / "f.R"
        table[["x1", "x2", "t", "y"]].to_csv(data, index=False)
        script.write_text(FLEXMIX)
        run = subprocess.run(["Rscript", script, data], capture_output=True, text=True, check=False)
    if run.returncode or run.stdout.strip() == "absent":
        last = (run.stderr.strip().splitlines() or ["it is not installed"])[-1]
        return f"flexmix: skipped, {last}"
    seconds, value, found = run.stdout.split()
    return f"flexmix: {seconds} s for one start, log-likelihood {value}, {found} segments left"


def a_million(seed, moved=False):
    """CPU seconds to price a million people, and to allot offers to them under two limits.

    Their thresholds move with a third number, or not; then there are no limits.
    """
    rng = np.random.default_rng(seed)
    centres, eta, k = [[0, 0], [4, 0], [0, 4]], [0.3, 0.55, 0.7], [8, 12, 10]

    def people(n):
        own = rng.integers(3, size=n)
        x = np.array(centres)[own] + rng.normal(size=(n, 2))
        t = rng.random(n)
        z = rng.normal(size=n)
        odds = np.array(k)[own] * (t - np.array(eta)[own] - 0.08 * moved * z)
        frame = pd.DataFrame(x, columns=["a", "b"])
        frame = frame.assign(z=z) if moved else frame
        return frame, t, rng.random(n) < 1 / (1 + np.exp(-odds))

    frame, t, y = people(3000)
    encoder = Encoder(()).fit(frame)
    offer = {"low": 0, "high": 1, "direction": "up", "revenue": None, "column": "aid"}
    saved = SavedOffers.fitted(
        encoder.transform(frame),
        t,
        y.astype(float),
        encoder,
        method={
            "model": "predictive_choice",
            "options": {"components": 3, "restarts": 3}
            | ({"thresholds": "additive"} if moved else {}),
        },
        setting="soft",
        offer=offer,
        rng=rng,
    )
    new = people(PEOPLE)[0]
    clock = time.process_time()
    saved.optimal_offers(new)
    priced, clock = time.process_time() - clock, time.process_time()
    if moved:
        return priced, 0.0
    saved.allot(new, capacity=PEOPLE / 5, budget=PEOPLE / 20)
    return priced, time.process_time() - clock


def main(seed):
    """Run all, print the table, and return the exit status."""
    fixed_steps(1000, seed)
    table = [(n, *fixed_steps(n, seed)) for n in (10**4, 10**5, 10**6)]
    print(f"EM, {SEGMENTS} segments, {STEPS} steps")
    print(f"{'rows':>9} {'seconds':>9} {'us/row':>9} {'MB':>9} {'bytes/row':>10}")
    for n, seconds, peak in table:
        print(f"{n:9d} {seconds:9.3f} {seconds / n * 1e6:9.3f} {peak / 1e6:9.1f} {peak / n:10.0f}")
    time_growth = max(row[1] / row[0] for row in table) / (table[0][1] / table[0][0])
    memory_growth = (table[2][2] / table[2][0]) / (table[1][2] / table[1][0])
    print(
        f"time per row grows {time_growth:.2f} times, memory {memory_growth:.2f} (limit {GROWTH})"
    )
    seconds, found = algorithm_one(seed)
    print(f"Algorithm 1: {seconds:.1f} s (limit {SECONDS:.0f}), {found} segments of 18 found")
    priced, allotted = a_million(seed)
    print(
        f"A million people: priced in {priced:.1f} s (limit {PRICED:.0f}), under limits in", end=""
    )
    print(f" {allotted:.1f} s (limit {ALLOTTED:.0f})")
    apart, _ = a_million(seed, moved=True)
    print(f"A million people with moving thresholds: {apart:.1f} s (limit {PRICED:.0f})")
    print(flexmix(seed))
    fine = time_growth <= GROWTH and memory_growth <= GROWTH and seconds <= SECONDS
    fine = fine and max(priced, apart) <= PRICED and allotted <= ALLOTTED
    return 0 if fine else 1


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        status = main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    sys.exit(status)
