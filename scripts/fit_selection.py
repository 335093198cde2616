import numpy as np
from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.study_data import StudyData
from counterweight.files.tables import METRICS, metrics_table, read_columns, write_table
from counterweight.plan.components import load
from counterweight.selection.crossfit import describe_selection, selection_probabilities


def main(job):
    spec = job.params.selector
    truth = read_columns(job.input.truth) if job.input.truth else None
    data = StudyData(read_columns(job.input.features), read_columns(job.input.labels), truth=truth)

    def one(repeat):
        labels = data.labels[repeat]
        test = data.role(repeat, "test")
        p, share, converged = np.empty(len(test)), 0.0, True
        if spec["oracle"]:
            p[:] = data.truth[repeat]["p_selected"]
        else:
            selected = labels["selected"][~test]
            p[~test], p[test], share, converged = selection_probabilities(
                load("selector", spec["selector"])(**spec["options"]),
                data.X[data.positions(repeat, ~test)],
                selected,
                data.X[data.positions(repeat, test)],
                generator(job.params.seed, job.params.stream, repeat, "selection"),
                calibration=spec["calibration"],
                n_folds=spec["folds"],
            )
        weight = 1.0 / labels["keep_rate"][test]
        records = describe_selection(p[test], labels["selected"][test], weight)
        records += [
            {"metric": "converged", "value": float(converged)},
            {"metric": "isotonic_share", "value": share},
        ]
        jobs.log.info("repeat %d: AUC of s %.3f", repeat, records[0]["value"])
        table = {name: labels[name] for name in ("repeat", "row", "role")} | {"p": p}
        return table, [record | {"repeat": repeat} for record in records]

    done = jobs.over_repeats(one, data.labels, job.threads)
    tables = [table for table, _ in done]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    write_table(job.output.table, columns)
    records = [record for _, part in done for record in part]
    table = metrics_table(job.wildcards.study, job.wildcards.selector, records)
    write_table(job.output.metrics, table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
