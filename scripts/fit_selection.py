import numpy as np
import pandas as pd
from counterweight import jobs
from counterweight.components import load
from counterweight.seeds import generator
from counterweight.selection.crossfit import describe_selection, selection_probabilities
from counterweight.study_data import StudyData
from counterweight.tables import METRICS, metrics_frame, read_table, write_table


def main(job):
    spec = job.params.selector
    truth = read_table(job.input.truth) if job.input.truth else None
    data = StudyData(read_table(job.input.features), read_table(job.input.labels), truth=truth)

    def one(repeat):
        labels = data.labels[repeat]
        test = data.role(repeat, "test")
        p, share, converged = np.empty(len(labels)), 0.0, True
        if spec["oracle"]:
            p[:] = data.truth[repeat]["p_selected"]
        else:
            selected = labels["selected"].to_numpy()[~test]
            p[~test], p[test], share, converged = selection_probabilities(
                load("selector", spec["selector"])(**spec["options"]),
                data.X[data.positions(repeat, ~test)], selected,
                data.X[data.positions(repeat, test)],
                generator(job.params.seed, job.params.stream, repeat, "selection"),
                calibration=spec["calibration"], n_folds=spec["folds"],
            )  # fmt: skip
        records = describe_selection(p[test], labels["selected"].to_numpy()[test])
        records += [
            {"metric": "converged", "value": float(converged)},
            {"metric": "isotonic_share", "value": share},
        ]
        jobs.log.info("repeat %d: AUC of s %.3f", repeat, records[0]["value"])
        table = labels[["repeat", "row", "role"]].assign(p=p)
        return table, [record | {"repeat": repeat} for record in records]

    done = jobs.over_repeats(one, data.labels, job.threads)
    write_table(job.output.table, pd.concat([table for table, _ in done]))
    records = [record for _, part in done for record in part]
    frame = metrics_frame(job.wildcards.study, job.wildcards.selector, records)
    write_table(job.output.metrics, frame, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
