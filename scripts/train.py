from counterweight.files import jobs
from counterweight.files.study_data import StudyData
from counterweight.files.tables import (
    MODEL,
    model_table,
    read_columns,
    read_models,
    stacked,
    write_table,
)
from counterweight.models.training import train_repeat


def main(job):
    params = job.params
    data = StudyData(
        read_columns(job.input.features),
        read_columns(job.input.labels),
        read_columns(job.input.weights) if job.input.weights else None,
        read_columns(job.input.truth) if job.input.truth else None,
    )
    starts = {
        name: read_models(path) for name, path in zip(params.starts, job.input.starts, strict=True)
    }
    method = {"model": params.model, "options": params.options, "sweep": params.sweep}

    def one(repeat):
        fitted, predictions = train_repeat(
            data,
            method,
            repeat,
            params.targets,
            seed=params.seed,
            study=params.stream,
            starts=starts,
            measures=params.measures,
        )
        jobs.log.info("repeat %d of %d done", repeat + 1, params.repeats)
        return [model_table(arrays, repeat, target) for target, arrays in fitted], predictions

    done = jobs.over_repeats(one, range(params.repeats), job.threads)
    write_table(job.output.model, stacked([t for models, _ in done for t in models]), MODEL)
    write_table(job.output.predictions, stacked([t for _, parts in done for t in parts]))


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
