import os

from counterweight import jobs
from counterweight.datasets.download import fetch


def main(job):
    params = job.params
    fetch(
        params.dataset, params.files, params.sources, os.path.dirname(job.output[0]),
        mirror=os.environ.get("COUNTERWEIGHT_MIRROR") or None,
    )  # fmt: skip


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0]):
        main(snakemake)
