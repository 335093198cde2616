from counterweight import jobs
from counterweight.components import load
from counterweight.seeds import generator
from counterweight.tables import write_table


def main(job):
    rng = generator(job.params.seed, job.params.dataset, 0, "simulate")
    frame, truth = load("dataset", job.params.dataset).simulate(job.params.rows, rng)
    write_table(job.output.table, frame)
    write_table(job.output.truth, truth)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
