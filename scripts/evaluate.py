from counterweight import jobs
from counterweight.components import load
from counterweight.evaluation.evaluate import describe_fits, evaluate_predictions
from counterweight.tables import METRICS, metrics_table, read_columns, read_models, write_table


def main(job):
    metrics = {name: load("metric", name) for name in job.params.metrics}
    predictions = read_columns(job.input.predictions, categories=["target", "setting"])
    records = evaluate_predictions(predictions, read_columns(job.input.truth), metrics)
    records += describe_fits(read_models(job.input.model))
    table = metrics_table(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
