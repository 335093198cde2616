"""Runs a script of the workflow as Snakemake does, on a job spec."""

import runpy
from pathlib import Path
from types import SimpleNamespace

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class Files(list):
    """Files of a job: by role, and as a list."""

    def __init__(self, files):
        super().__init__(files.values())
        self.__dict__.update(files)


def run_script(stage, run, given, inputs, outputs, log, uses=(), **wildcards):
    """Run ``scripts/{stage}.py``; a job that fails raises SystemExit and tells why in its log.

    Parameters
    ----------
    stage : str
    run : str
        ``module:function`` of the job, without ``counterweight.``.
    given : dict
    inputs, outputs : dict of str to path
    log : path
    uses : sequence of (str, str)
    """
    spec = {"run": f"counterweight.{run}", "given": given, "uses": uses, "code": ""}
    job = SimpleNamespace(
        input=Files(inputs),
        output=Files(outputs),
        params=SimpleNamespace(job=spec),
        threads=1,
        log=[str(log)],
        wildcards=Wildcards(wildcards),
    )
    runpy.run_path(str(SCRIPTS / f"{stage}.py"), {"snakemake": job}, run_name="__main__")


class Wildcards(dict):
    """Wildcards of a job, as a dict and by attribute."""

    __getattr__ = dict.__getitem__
