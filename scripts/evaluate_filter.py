from counterweight.files import jobs
from counterweight.files.study_data import by_repeat
from counterweight.files.tables import (
    METRICS,
    metrics_table,
    read_columns,
    read_models,
    write_table,
)
from counterweight.models.filters.training import FilterData, acceptances
from counterweight.plan.components import configured, load


def main(job):
    params = job.params
    data = FilterData(
        *(read_columns(getattr(job.input, name)) for name in ("features", "labels", "truth"))
    )
    kind = load("selector", params.selector["selector"])
    fitted = read_models(job.input.proxy)
    accepted = acceptances(read_columns(job.input.weights))
    models = read_models(job.input.model)
    predictions = by_repeat(read_columns(job.input.predictions))
    protocol = configured("protocol", params.protocol)

    def one(repeat):
        return protocol(
            data,
            lambda number: kind.from_arrays(fitted[number, ""], data.names),
            accepted,
            models,
            predictions,
            target=params.target,
            seed=params.seed,
            stream=params.stream,
            repeats=[repeat],
        )

    done = jobs.over_repeats(one, sorted(repeat for repeat, _ in models), job.threads)
    records = [record for part in done for record in part]
    jobs.log.info("%d measurements", len(records))
    table = metrics_table(job.wildcards.study, job.wildcards.method, records)
    write_table(job.output[0], table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
