import os

from counterweight.datasets.download.fetch import verify
from counterweight.files import jobs
from counterweight.files.tables import write_table
from counterweight.plan.components import declared, load


def main(job):
    # A name may begin with a folder, so the data set's folder is what stands before it.
    first = next(iter(declared("dataset", job.params.dataset, "FILES")))
    folder = os.path.normpath(job.input[0].removesuffix(first))
    verify(folder, job.params.digests)
    frame = load("dataset", job.params.dataset).read(folder)
    jobs.log.info("%s: %d rows, %d columns", job.params.dataset, len(frame), frame.shape[1])
    write_table(job.output.table, frame)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
