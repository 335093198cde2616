from counterweight.tables.jobs import running
from counterweight.tables.parquet import METRICS, metrics_table, write_table

if __name__ == "__main__":
    with running(snakemake) as job:
        study, source = snakemake.wildcards.study, snakemake.wildcards.selector
        write_table(job.output.metrics, metrics_table(study, source, job.run()), METRICS)
