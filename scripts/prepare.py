import os

from counterweight import jobs
from counterweight.components import load
from counterweight.datasets.download import verify
from counterweight.tables import write_table


def main(job):
    folder = os.path.dirname(job.input[0])
    verify(folder, job.params.digests)
    frame = load("dataset", job.params.dataset).read(folder)
    jobs.log.info("%s: %d rows, %d columns", job.params.dataset, len(frame), frame.shape[1])
    write_table(job.output.table, frame)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
