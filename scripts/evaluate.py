from counterweight import jobs
from counterweight.components import load
from counterweight.evaluation.evaluate import describe_fits, evaluate_predictions
from counterweight.tables import METRICS, metrics_frame, read_table, write_table


def main(job):
    metrics = {name: load("metric", name) for name in job.params.metrics}
    records = evaluate_predictions(
        read_table(job.input.predictions), read_table(job.input.truth), metrics
    )
    records += describe_fits(read_table(job.input.model))
    frame = metrics_frame(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], frame, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
