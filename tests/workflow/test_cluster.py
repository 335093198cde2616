"""Beyond one machine: Slurm where one answers, any queue, object storage, an image."""

import getpass
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

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


#: Module of the executor that a profile names.
PLUGINS = {"slurm": "slurm", "generic": "cluster_generic"}


@pytest.fixture
def twice(copied, alone):
    """A local run of one study, and a copy of it that is to run elsewhere."""
    return alone, copied(alone.config)


@pytest.fixture
def slurm():
    """Arguments of a run through the Slurm at hand."""
    name = partition()
    if name is None:
        pytest.skip("no Slurm answers here: start one, then run this test again")
    return ("--profile", "profiles/slurm", "--default-resources", f"slurm_partition={name}")


@pytest.fixture
def slurm_of_ones_own(slurm):
    """The same, only where all nodes are this machine: others' jobs and nodes are left alone."""
    if {*asked("sinfo", "--noheader", "--Node", "--format=%o").split()} - {
        "127.0.0.1",
        "localhost",
    }:
        pytest.skip("the Slurm that answers has other machines: jobs and nodes are not touched")
    yield slurm
    asked("scancel", "--user", getpass.getuser())


def test_jobs_go_through_the_queue_and_give_the_same_bytes(slurm, twice):
    here, there = twice
    planned = there.plan()
    run = there.run(*slurm)
    assert run.status == 0, run.output
    submitted = run.output.count("has been submitted with SLURM jobid")
    assert 0 < submitted < len(planned), "jobs are submitted in groups"
    assert there.digests(".parquet") == here.digests(".parquet")


@pytest.mark.parametrize("profile", ["slurm", "generic"])
def test_methods_and_weights_are_submitted_in_groups(copied, small, profile):
    pytest.importorskip(f"snakemake_executor_plugin_{PLUGINS[profile]}")
    run = copied(small).run("--dry-run", "--profile", f"profiles/{profile}")
    assert run.status == 0, run.output
    for rule in ("train", "evaluate", "select", "weigh"):
        # Jobs of a group stand indented below it.
        assert f"\n    rule {rule}:" in run.output and f"\nrule {rule}:" not in run.output
    assert "\nrule label:" in run.output


#: Of a queue of one machine: submits in the background, asks whether it ended and how.
QUEUE = {
    "queue/submit.sh": '#!/bin/sh\n( sh "$1" > /dev/null 2>&1; echo $? > queue/$$ ) & echo $$\n',
    "queue/status.sh": "#!/bin/sh\n[ -f queue/$1 ] || { echo running; exit; }\n"
    "[ $(cat queue/$1) = 0 ] && echo success || echo failed\n",
}


def test_jobs_go_through_any_queue_by_its_commands(twice):
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    here, there = twice
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


def test_a_snakemake_that_begins_scripts_otherwise_gives_the_same_bytes(twice):
    here, there = twice
    there.replace(
        "Snakefile",
        "import os\n",
        "import os\nfrom snakemake.script import PythonScript\nown = PythonScript.execute_script\n"
        "PythonScript.execute_script = lambda self, file, edit=False: own(self, file, edit)\n",
    )
    run = there.run()
    assert run.status == 0 and "begins scripts in a way that is not known here" in run.output
    assert there.digests(".parquet") == here.digests(".parquet")


def asked(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout


def awaited(run, what, of=""):
    """The first answer of ``what`` that is not empty, while the run goes on."""
    for _ in range(3000):
        if found := what():
            return found
        assert run.poll() is None, f"the run ended before {of}"
        time.sleep(0.1)
    raise AssertionError(f"nothing came of {of}")


def at_work():
    """Numbers of the jobs that Slurm runs at the moment."""
    return asked("squeue", "--noheader", "--states=RUNNING", "--format=%A").split()


def test_a_cancelled_job_and_a_lost_node_cost_nothing_but_time(slurm_of_ones_own, twice):
    here, there = twice
    with there.begun(*slurm_of_ones_own) as run:
        (first, *_) = awaited(run, at_work, "a job that could be cancelled")
        asked("scancel", first)
        (node,) = set(asked("sinfo", "--noheader", "--Node", "--format=%N").split())
        awaited(run, lambda: set(at_work()) - {first}, "a job on the node that is lost")
        asked("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        awaited(run, lambda: not at_work(), "the loss of the node")
        asked("scontrol", "update", f"nodename={node}", "state=resume")
        assert run.wait(timeout=900) == 0, there.said()
    assert there.digests(".parquet") == here.digests(".parquet")


def test_a_killed_submitter_and_too_little_memory_cost_nothing_but_time(slurm_of_ones_own, twice):
    here, there = twice
    with there.begun(*slurm_of_ones_own) as run:
        awaited(run, at_work, "a job")
        os.killpg(run.pid, signal.SIGKILL)
    # As the page on clusters says: what is still in the queue goes before the next run.
    (name,) = set(re.findall(r"SLURM run ID: (\S+)", there.said()))
    asked("scancel", "--name", name)
    assert there.run("--unlock").status == 0
    little = [f"{rule}:mem_mb=200 * attempt" for rule in ("train", "evaluate")]
    again = there.run(*slurm_of_ones_own, "--set-resources", *little)
    assert again.status == 0, again.output
    assert "Trying to restart" in again.output, "200 MB were enough"
    assert there.digests(".parquet") == here.digests(".parquet")


@pytest.fixture(scope="module")
def bucket():
    """Arguments of a run whose files are in an S3 server of this machine, and its client."""
    for name in ("boto3", "moto", "flask_cors", "snakemake_storage_plugin_s3"):
        pytest.importorskip(name)
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    place, key = f"http://{host}:{port}", "of-the-test"
    client = boto3.client(
        "s3",
        endpoint_url=place,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=key,
    )
    client.create_bucket(Bucket="counterweight")
    arguments = ("--default-storage-provider", "s3", "--storage-s3-endpoint-url", place)
    arguments += ("--storage-s3-access-key", key, "--storage-s3-secret-key", key)
    yield (*arguments, "--storage-s3-region", "us-east-1"), client
    server.stop()


def in_storage(client, prefix):
    """SHA-256 of every Parquet file below a prefix, by path."""
    listed = client.get_paginator("list_objects_v2").paginate(
        Bucket="counterweight", Prefix=f"{prefix}/"
    )
    keys = [item["Key"] for page in listed for item in page.get("Contents", [])]
    return {
        key.removeprefix(f"{prefix}/"): hashlib.sha256(
            client.get_object(Bucket="counterweight", Key=key)["Body"].read()
        ).hexdigest()
        for key in keys
        if key.endswith((".parquet", ".csv", ".html"))
    }


@pytest.mark.parametrize("shared", ["all", "none"])
def test_object_storage_gets_the_same_bytes(bucket, twice, shared):
    here, there = twice
    given, client = bucket
    arguments = (*given, "--default-storage-prefix", f"s3://counterweight/{shared}")
    if shared == "none":
        arguments += ("--shared-fs-usage", "none")
    run = there.run(*arguments)
    assert run.status == 0, run.output
    assert f"s3://counterweight/{shared}/results/report.html" in run.output
    assert in_storage(client, shared) == here.digests(".parquet", ".csv", ".html")
    assert not there.digests(".parquet"), "nothing is left where Snakemake runs"
    if shared == "all":
        assert not there.plan(*arguments), "what is in storage is known to be there"


#: The base that an image is built on here, and what the builder is told beside it.
BASE, TOLD = (os.environ.get(f"COUNTERWEIGHT_IMAGE_{name}", "") for name in ("BASE", "OPTIONS"))


def built(*arguments):
    """What Buildah says; its storage and isolation are those of the environment."""
    call = ["buildah", *arguments]
    return subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True, timeout=1800).stdout


@pytest.fixture
def container(twice):
    """A container of an image of the recipe, built here."""
    if not BASE:
        pytest.skip("builds for minutes: name an image with Python in COUNTERWEIGHT_IMAGE_BASE")
    if shutil.which("buildah") is None:
        pytest.skip("no buildah here: install it, then run this test again")
    root, image = Path(__file__).resolve().parents[2], "localhost/counterweight-of-the-test"
    recipe = ("--file", root / "envs" / "Containerfile", "--build-arg", f"BASE={BASE}")
    built("build", *recipe, "--tag", image, *TOLD.split(), root)
    name = built("from", "--pull-never", image).strip()
    yield name
    built("rm", name)
    built("rmi", image)


def test_a_run_in_the_image_gives_the_same_bytes(container, twice):
    here, there = twice
    place = ("--volume", f"{there.folder}:/work", "--workingdir", "/work")
    built("run", *place, container, "snakemake", "--cores", "2", "--logger", "counterweight")
    assert there.digests(".parquet", ".html") == here.digests(".parquet", ".html")
