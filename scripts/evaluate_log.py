from counterweight.evaluation.metrics.evaluate import describe_fits
from counterweight.files import jobs
from counterweight.files.tables import METRICS, metrics_table, read_models, write_table
from counterweight.plan.components import load


def main(job):
    params = job.params
    records = load("protocol", params.protocol["name"])(
        job.input.labels,
        job.input.predictions,
        job.input.truth,
        policy=params.policy,
        seed=params.seed,
        stream=params.stream,
        **params.protocol["options"],
    )
    jobs.log.info("%d measurements", len(records))
    records += describe_fits(read_models(job.input.model))
    table = metrics_table(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
