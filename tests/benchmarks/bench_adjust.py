"""A sample adjusted to a target: CPU seconds at equal balance, against the package `balance`.

One split of Adult: 27,000 rows at random are the target, 12,700 of the others, drawn with odds that
grow with age, education, hours and marriage, the sample; 14 columns, income left out. Each method
is told by the mean standardised difference over columns (levels of a column share its place) and
the design effect, both computed here for both packages (the peer's own account agrees for each
number and level, and leaves one level of most columns out of the mean). A method of ours is
compared with the peer's method that it stands against (ipw, cbps): it must reach as small a
difference at a design effect at most 25 % larger, or (cbps with `most_effect`) at none larger, in a
hundredth of its CPU time, and by default in half a second. Our time includes everything from data
frame to weights.

The peer needs older versions of numpy than this project, so it runs in an environment of its own,
    python -m venv peer && peer/bin/pip install balance==0.23.0
whose Python COUNTERWEIGHT_BALANCE names; it takes three to four CPU minutes, so it runs once.
The rows are the official ones if COUNTERWEIGHT_MIRROR names a folder with them, else those of a
twin, and the table says which.
"""

import json
import os
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
from counterweight.plan.components import load
from counterweight.weighting.sample import Sample
from table import Absent, Case, Timed, require

EFFECT = 1.25
SAMPLE, TARGET = 12_700, 27_000

#: What the peer's environment runs: two files in, seconds and weights of each method out.
PEER = """
import json, logging, sys, time
import pandas as pd
from balance import Sample
logging.disable(logging.WARNING)
folder = sys.argv[1]
parts = [pd.read_csv(f"{folder}/{name}.csv", dtype={"id": "str"}) for name in ("sample", "target")]
sample, target = (Sample.from_frame(part, id_column="id") for part in parts)
print(json.dumps({"pandas": pd.__version__}))
for method in ("ipw", "cbps"):
    clock = time.process_time()
    adjusted = sample.set_target(target).adjust(method=method)
    used = time.process_time() - clock
    asmd = adjusted.covars().asmd()
    table = adjusted.df
    weights = table.set_index(table["id"].astype(int))["weight"].sort_index()
    print(json.dumps({"method": method, "seconds": used, "weights": weights.tolist(),
        "before": float(asmd.loc["unadjusted", "mean(asmd)"]),
        "after": float(asmd.loc["self", "mean(asmd)"])}), flush=True)
"""


def tables(seed):
    """Sample and target."""
    rng = np.random.default_rng(seed)
    mirror = os.environ.get("COUNTERWEIGHT_MIRROR")
    with tempfile.TemporaryDirectory() as folder:
        if mirror:
            folder = Path(mirror) / "adult"
        else:
            load("dataset", "adult").generate(folder, 48842, rng)
        table = load("dataset", "adult").read(folder)
    table = table.drop(columns=["row", "part", "income"])
    texts = table.select_dtypes("str").columns
    table[texts] = table[texts].fillna("unknown")
    numbers = table.select_dtypes("number").columns
    table[numbers] = table[numbers].astype(float)
    order = rng.permutation(len(table))
    target, rest = table.iloc[order[:TARGET]], table.iloc[order[TARGET:]]
    lean = 1.7 * (
        0.03 * (rest["age"] - 38)
        + 0.12 * (rest["education-num"] - 10)
        + 0.02 * (rest["hours-per-week"] - 40)
        + 0.8 * (rest["marital-status"] == "Married-civ-spouse")
        + 0.5 * (rest["sex"] == "Male")
        - 0.5 * (rest["race"] == "Black")
    )
    chosen = np.argsort(-(lean.to_numpy() + rng.gumbel(size=len(rest))))[:SAMPLE]
    return rest.iloc[chosen].reset_index(drop=True), target.reset_index(drop=True)


@cache
def balance():
    """What the peer made of the two tables, by method; it is told of its seconds."""
    python = os.environ.get("COUNTERWEIGHT_BALANCE")
    if not python:
        raise Absent("COUNTERWEIGHT_BALANCE names no Python that has balance")
    with tempfile.TemporaryDirectory() as folder:
        for name, table in zip(("sample", "target"), tables(0), strict=True):
            table = table.assign(id=np.arange(len(table)).astype(str))
            table.to_csv(Path(folder) / f"{name}.csv", index=False)
        done = subprocess.run(
            [python, "-c", PEER, folder], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise RuntimeError(f"balance failed: {done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["method"]: line for line in lines if "method" in line}


def judged(adjusted):
    return adjusted.mean_difference_after, adjusted.design_effect


def cases():
    sample, target = tables(0)
    rows = "real" if os.environ.get("COUNTERWEIGHT_MIRROR") else "a twin"
    Sample(sample[:500]).adjust(target[:500])

    def ours(method):
        return Sample(sample).adjust(target, method=method)

    def theirs(method):
        line = balance()[method]
        return Timed(
            judged(Sample(sample).adjust(target, weights=line["weights"])), line["seconds"]
        )

    def same(mine, other):
        difference, effect = judged(mine)
        text = f"difference {mine.mean_difference_before:.4f} to {difference:.4f}, "
        text += f"design effect {effect:.3f}"
        if other is None:
            return text
        text += f" (theirs {other[0]:.4f}, {other[1]:.3f})"
        require(difference <= other[0] and effect <= EFFECT * other[1], text)
        return text

    for method in ("ipw", "cbps"):
        what = f"{method}, Adult ({rows}), {len(sample):,} rows to {len(target):,}"
        yield Case(
            stage="weighting",
            what=what,
            ours=partial(ours, method),
            peer=f"balance, {method}",
            theirs=partial(theirs, method),
            quality=same,
            seconds=0.5,
            at_most=0.01,
        )
