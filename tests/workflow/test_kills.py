"""SIGKILL at any moment, of Snakemake or of a job: the next run ends in the same bytes.

Three moments here; `make faults` tries twenty (COUNTERWEIGHT_KILLS).
"""

import os
import random
import signal
import subprocess
import sys

import psutil
import pytest

KILLS = int(os.environ.get("COUNTERWEIGHT_KILLS", "3"))
SUFFIXES = (".parquet", ".csv", ".svg", ".html", ".yaml")


@pytest.mark.parametrize("number", range(KILLS))
def test_a_run_that_is_killed_ends_in_the_same_bytes(alone, copied, number):
    lines, chance = len(alone.first.output.splitlines()), random.Random(number)
    copy, victim = copied(alone.config), ("snakemake", "job")[number % 2]
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    run = subprocess.Popen(
        command, cwd=copy.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    end = chance.randrange(1, lines)
    for at, _ in enumerate(run.stdout):
        # A job that is to be killed must be there: the first that is, from that line on.
        jobs = [] if at < end else psutil.Process(run.pid).children(recursive=True)
        if at >= end and (jobs or victim == "snakemake"):
            hit = run.pid if victim == "snakemake" else chance.choice(jobs).pid
            os.kill(hit, signal.SIGKILL)
            break
    run.stdout.read()
    run.wait()
    copy.run("--unlock")
    again = copy.run()
    assert again.status == 0, again.output
    assert copy.digests(*SUFFIXES) == alone.digests(*SUFFIXES)
    assert not list(copy.folder.rglob("*.unfinished"))
