import pandas as pd
from counterweight import jobs
from counterweight.models.training import train_repeat
from counterweight.study_data import StudyData
from counterweight.tables import MODEL, model_arrays, model_frame, read_table, write_table


def main(job):
    params = job.params
    weights = read_table(job.input.weights) if job.input.weights else None
    truth = read_table(job.input.truth) if job.input.truth else None
    data = StudyData(
        read_table(job.input.features), read_table(job.input.labels), weights, truth
    )
    starts = {
        name: {
            key: model_arrays(part)
            for key, part in read_table(path).groupby(["repeat", "target"])
            if key[0] < params.repeats
        }
        for name, path in zip(params.starts, job.input.starts, strict=True)
    }
    method = {"model": params.model, "options": params.options, "sweep": params.sweep}

    def one(repeat):
        fitted, predictions = train_repeat(
            data, method, repeat, params.targets,
            seed=params.seed, study=params.stream, starts=starts,
        )  # fmt: skip
        jobs.log.info("repeat %d of %d done", repeat + 1, params.repeats)
        return [model_frame(arrays, repeat, target) for target, arrays in fitted], predictions

    done = jobs.over_repeats(one, range(params.repeats), job.threads)
    write_table(job.output.model, pd.concat([t for models, _ in done for t in models]), MODEL)
    write_table(job.output.predictions, pd.concat([t for _, parts in done for t in parts]))


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
