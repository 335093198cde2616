from counterweight.evaluation.metrics.evaluate import describe_fits
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
    metrics = {name: load("metric", name) for name in job.params.metrics}
    predictions = read_columns(job.input.predictions, categories=["target", "setting"])
    evaluate = load("protocol", job.params.protocol["name"])
    options = dict(job.params.protocol["options"])
    if job.input.rates:
        options["rates"] = read_columns(job.input.rates, ["repeat", "row", "keep_rate"])
    models = read_models(job.input.model)
    if job.params.informed:
        options["models"] = models
    records = evaluate(
        predictions,
        read_columns(job.input.truth),
        metrics,
        seed=job.params.seed,
        stream=job.params.stream,
        **options,
    )
    records += describe_fits(models)
    table = metrics_table(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
