from counterweight.files import jobs
from counterweight.files.tables import read_arrow, read_columns, write_table
from counterweight.models.choice.training import offers_table


def main(job):
    table = offers_table(
        read_arrow(job.input.predictions), read_columns(job.input.labels), job.params.offer
    )
    jobs.log.info("offers for %d people", len(table["row"]))
    write_table(job.output[0], table)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
