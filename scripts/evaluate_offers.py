from counterweight.files import jobs
from counterweight.files.tables import (
    METRICS,
    metrics_table,
    read_columns,
    read_models,
    write_table,
)
from counterweight.plan.components import load


def main(job):
    params = job.params
    # Only simulated data sets know the mixture that drew their rows.
    known = load("dataset", params.dataset) if params.dataset else None
    records = load("protocol", params.protocol["name"])(
        read_columns(job.input.predictions, categories=["setting"]),
        read_columns(job.input.labels),
        read_columns(job.input.truth),
        read_models(job.input.model),
        read_columns(job.input.features),
        offer=params.offer,
        mixture=getattr(known, "mixture", None),
        seed=params.seed,
        stream=params.stream,
        **params.protocol["options"],
    )
    jobs.log.info("%d measurements", len(records))
    table = metrics_table(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
