from counterweight.files import jobs
from counterweight.files.tables import (
    MODEL,
    model_table,
    read_columns,
    read_models,
    stacked,
    write_table,
)
from counterweight.models.filters.training import FilterData, acceptances, train_filter_repeat
from counterweight.plan.components import load


def main(job):
    params = job.params
    data = FilterData(read_columns(job.input.features), read_columns(job.input.labels))
    proxies = read_models(job.input.proxy)
    accepted = acceptances(read_columns(job.input.weights))
    kind = load("selector", params.selector["selector"])
    method = {"model": params.model, "options": params.options}

    def one(repeat):
        arrays, predictions = train_filter_repeat(
            data,
            method,
            repeat,
            proxy=kind.from_arrays(proxies[repeat, ""], data.names),
            acceptance=accepted[repeat],
            seed=params.seed,
            study=params.stream,
        )
        jobs.log.info("repeat %d of %d done", repeat + 1, params.repeats)
        return model_table(arrays, repeat, ""), predictions

    done = jobs.over_repeats(one, range(params.repeats), job.threads)
    write_table(job.output.model, stacked([table for table, _ in done]), MODEL)
    write_table(job.output.predictions, stacked([table for _, table in done]))


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
