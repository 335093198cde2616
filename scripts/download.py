import os

from counterweight.datasets.download.fetch import fetch
from counterweight.files import jobs


def main(job):
    params = job.params
    # A name may begin with a folder, so the data set's folder is what stands before it.
    folder = job.output[0].removesuffix(next(iter(params.files)))
    fetch(
        params.dataset,
        params.files,
        params.sources,
        os.path.normpath(folder),
        mirror=os.environ.get("COUNTERWEIGHT_MIRROR") or None,
    )


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0]):
        main(snakemake)
