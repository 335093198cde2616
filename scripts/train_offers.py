from counterweight.files import jobs
from counterweight.files.tables import MODEL, model_table, read_columns, stacked, write_table
from counterweight.models.choice.training import OfferData, train_offers_repeat


def main(job):
    params = job.params
    data = OfferData(
        read_columns(job.input.features),
        read_columns(job.input.labels),
        read_columns(job.input.truth) if job.input.truth else None,
    )
    method = {"model": params.model, "options": params.options}

    def one(repeat):
        arrays, predictions = train_offers_repeat(
            data,
            method,
            repeat,
            offer=params.offer,
            seed=params.seed,
            study=params.stream,
            bootstrap=params.bootstrap,
        )
        jobs.log.info("repeat %d of %d done", repeat + 1, params.repeats)
        return model_table(arrays, repeat, "general"), predictions

    done = jobs.over_repeats(one, range(params.repeats), job.threads)
    write_table(job.output.model, stacked([table for table, _ in done]), MODEL)
    write_table(job.output.predictions, stacked([table for _, table in done]))


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
