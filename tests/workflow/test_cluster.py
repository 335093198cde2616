"""Cluster profiles: Slurm's where one answers, any queue's by its commands."""

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


#: Of a queue of one machine: submits in the background, asks whether it ended and how.
QUEUE = {
    "queue/submit.sh": '#!/bin/sh\n( sh "$1" > /dev/null 2>&1; echo $? > queue/$$ ) & echo $$\n',
    "queue/status.sh": "#!/bin/sh\n[ -f queue/$1 ] || { echo running; exit; }\n"
    "[ $(cat queue/$1) = 0 ] && echo success || echo failed\n",
}


def test_jobs_go_through_any_queue_by_its_commands(copied, small):
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    study = small["studies"]["curved"] | {"models": [{"model": "logistic"}]}
    config = small | {"studies": {"curved": study}}
    here, there = copied(config), copied(config)
    assert here.run().status == 0
    (there.folder / "queue").mkdir()
    for name, text in QUEUE.items():
        (there.folder / name).write_text(text)
        (there.folder / name).chmod(0o755)
    run = there.run(
        *("--profile", "profiles/generic", "--latency-wait", "5"),
        *("--cluster-generic-submit-cmd", "queue/submit.sh"),
        *("--cluster-generic-status-cmd", "queue/status.sh"),
        *("--seconds-between-status-checks", "1"),
    )
    assert run.status == 0, run.output
    assert list((there.folder / "queue").glob("[0-9]*")), "nothing went through the queue"
    assert there.digests(".parquet") == here.digests(".parquet")
