import os

from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.plan.components import load


def main(job):
    folder = os.path.dirname(job.output.truth)
    rng = generator(job.params.seed, job.params.dataset, 0, "generate")
    load("dataset", job.params.dataset).generate(folder, job.params.rows, rng)
    jobs.log.info("%s: %d generated rows", job.params.dataset, job.params.rows)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
