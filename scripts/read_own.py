from counterweight.files import jobs
from counterweight.files.tables import write_table
from counterweight.plan.components import load


def main(job):
    frame = load("dataset", job.params.dataset).read(job.input[0])
    jobs.log.info("%s: %d rows, %d columns", job.input[0], len(frame), frame.shape[1])
    write_table(job.output.table, frame)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
