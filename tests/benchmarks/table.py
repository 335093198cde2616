"""One table of speed: each stage against its peer, in the same run, with equal quality.

    python tests/benchmarks/table.py [PART ...] [--rounds N]

A part is a module ``bench_PART.py`` of this folder with a function ``cases()`` that yields `Case`s.
In every round ours and the peer run one after the other, each first every other time, on one
thread; both results go to the case's check of quality, which says what was compared, or fails.
A peer that is not installed is left out with the reason. Medians, and the smallest and largest
of all rounds, go to ``results/bench/bench.csv`` and ``bench.md``. Exits with status 1 where
quality is not equal, or a limit is passed.
"""

import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import importlib  # noqa: E402
import math  # noqa: E402
import resource  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "workflow")]

PARTS = (
    *("reading", "mixture", "matching", "adjust", "auc", "value", "peers_of_values"),
    *("choice", "filter", "promises", "constraints", "unlabeled", "collected"),
)
FOLDER = ROOT / "results" / "bench"


class Absent(Exception):
    """Raised by a peer that is not here; the message says why."""


class Unequal(Exception):
    """Raised by a check of quality; the message says what differs."""


class Timed(NamedTuple):
    """A result that knows its own seconds: of a part of a call, of another process, of print."""

    result: Any
    seconds: float


@dataclass
class Case:
    """A line of the table.

    Attributes
    ----------
    stage, what, peer : str
        `peer` is empty where a line has limits only.
    ours, theirs : callable
        No arguments; any result, or `Timed`. `theirs` may raise `Absent`.
    quality : callable
        ``quality(our_result, their_result)`` returns what was compared, in words, or raises
        `Unequal`; the second is None where there is no peer.
    at_most : float
        Largest median time of ours as a multiple of the peer's.
    seconds, mib : float
        Largest median time of ours, and largest memory of the process, data included.
    rounds : int
    clock : {"CPU", "wall"}
        Child processes count in both.
    """

    stage: str
    what: str
    ours: Callable
    quality: Callable
    peer: str = ""
    theirs: Callable | None = None
    at_most: float = math.inf
    seconds: float = math.inf
    mib: float = math.inf
    rounds: int = 3
    clock: str = "CPU"


def require(truth, sentence):
    """Raise `Unequal` with a sentence unless something is true."""
    if not truth:
        raise Unequal(sentence)


def _largest_memory(anew=False):
    """Largest resident memory in MiB since it was begun anew; nan where it is not told."""
    try:
        if anew:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def timed(call, clock="CPU"):
    """Result of a call, its seconds, and the largest MiB of this process, data included."""

    def now():
        if clock == "wall":
            return time.perf_counter()
        child = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + child.ru_utime + child.ru_stime

    _largest_memory(anew=True)
    begun = now()
    found = call()
    seconds = now() - begun
    mib = _largest_memory()
    if isinstance(found, Timed):
        return *found, mib
    return found, seconds, mib


def measured(case, rounds=None):
    """The line of a case: its figures, what was compared, and what became of it."""
    times, mib, said, absent, wrong = {"ours": [], "peer": []}, [], "", "", ""
    for turn in range(rounds or case.rounds):
        results = {"ours": None, "peer": None}
        for who in ("ours", "peer")[:: 1 if turn % 2 else -1]:
            call = case.ours if who == "ours" else case.theirs
            if call is None or (who == "peer" and absent):
                continue
            try:
                results[who], seconds, held = timed(call, case.clock)
            except Absent as reason:
                absent = str(reason)
                continue
            times[who].append(seconds)
            if who == "ours":
                mib.append(held)
        try:
            said = case.quality(results["ours"], results["peer"])
        except Unequal as reason:
            wrong = str(reason)
            break
    line = {"stage": case.stage, "what": case.what, "peer": case.peer, "clock": case.clock}
    line["rounds"] = len(times["ours"])
    for who, seconds in times.items():
        every = seconds or [math.nan]
        line |= {f"{who}_median": np.median(every), f"{who}_least": min(every)}
        line[f"{who}_most"] = max(every)
    line["ratio"] = line["ours_median"] / line["peer_median"]
    line |= {"at_most": case.at_most, "mib": max(mib)}
    passed = [
        f"{name} {value:.3g} (at most {limit:g})"
        for name, value, limit in (
            ("ratio", line["ratio"], case.at_most),
            ("seconds", line["ours_median"], case.seconds),
            ("MiB", line["mib"], case.mib),
        )
        if value > limit
    ]
    line["quality"] = wrong or said
    line["verdict"] = "quality differs" if wrong else "beyond " + ", ".join(passed)
    if not wrong and not passed:
        line["verdict"] = f"peer skipped: {absent}" if absent else "kept"
    line["good"] = not wrong and not passed
    return line


def _spread(line, who):
    """Median, and smallest and largest where there are several, in three digits."""
    middle, least, most = line[f"{who}_median"], line[f"{who}_least"], line[f"{who}_most"]
    if math.isnan(middle):
        return ""
    return f"{middle:.3g}" + (f" [{least:.3g}, {most:.3g}]" if most > least else "")


def markdown(lines):
    """The table for people."""
    head = ("stage", "what", "ours, s", "peer", "peer, s", "ratio", "MiB", "quality", "limits")
    text = [head, ["---"] * len(head)]
    for line in lines:
        ratio = "" if math.isnan(line["ratio"]) else f"{line['ratio']:.3g}"
        mib = "" if math.isnan(line["mib"]) else f"{line['mib']:.0f}"
        wall = " (wall)" if line["clock"] == "wall" else ""
        text.append(
            [line["stage"], line["what"] + wall, _spread(line, "ours"), line["peer"]]
            + [_spread(line, "peer"), ratio, mib, line["quality"], line["verdict"]]
        )
    return "".join(f"| {' | '.join(cells)} |\n" for cells in text)


def main(parts=PARTS, rounds=None, folder=FOLDER):
    """Run the parts, print and write the table, and return the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for part in parts:
        for case in importlib.import_module(f"bench_{part}").cases():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lines.append({"part": part} | measured(case, rounds))
            print(markdown(lines[-1:]).splitlines()[-1], flush=True)
            pd.DataFrame(lines).to_csv(folder / "bench.csv", index=False)
            (folder / "bench.md").write_text(markdown(lines), encoding="utf-8")
    bad = [line for line in lines if not line["good"]]
    print(f"{len(lines)} lines, {len(bad)} not kept: {folder / 'bench.md'}")
    return int(bool(bad))


if __name__ == "__main__":
    from threadpoolctl import threadpool_limits

    # The parts import these names from `table`, not from the script that runs.
    sys.modules["table"] = sys.modules["__main__"]
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    asked.add_argument("--rounds", type=int, help="of every case, instead of its own number")
    told = asked.parse_args()
    for unknown in set(told.parts) - set(PARTS):
        asked.error(f"there is no part {unknown!r}: choose from {', '.join(PARTS)}")
    with threadpool_limits(limits=1):
        status = main(told.parts or PARTS, told.rounds)
    sys.exit(status)
