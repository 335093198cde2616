"""The Slurm profile, on a real Slurm where one answers."""

import shutil
import subprocess

import pytest


def partition():
    """Name of the default partition, or None without a Slurm that answers."""
    if shutil.which("sinfo") is None:
        return None
    asked = subprocess.run(
        ["sinfo", "--noheader", "--format=%P"], capture_output=True, text=True, timeout=30
    )
    names = asked.stdout.split()
    return next((name.rstrip("*") for name in names if name.endswith("*")), None)


def test_jobs_go_through_the_queue_and_give_the_same_bytes(copied, small):
    name = partition()
    if name is None:
        pytest.skip("no Slurm answers here: start one, then run this test again")
    study = small["studies"]["curved"] | {"models": [{"model": "logistic"}]}
    config = small | {"studies": {"curved": study}}
    here, there = copied(config), copied(config)
    assert here.run().status == 0
    run = there.run("--profile", "profiles/slurm", "--default-resources", f"slurm_partition={name}")
    assert run.status == 0, run.output
    assert "SLURM jobid" in run.output
    assert there.digests(".parquet") == here.digests(".parquet")
