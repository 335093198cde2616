import pandas as pd
from counterweight import jobs
from counterweight.components import load
from counterweight.study_data import StudyData
from counterweight.tables import METRICS, metrics_frame, read_table, write_table
from counterweight.weighting.diagnostics import cap_weights, describe_weights


def main(job):
    spec = job.params.weighting
    weigh = load("weighting", spec["weighting"])
    data = StudyData(read_table(job.input.features), read_table(job.input.labels))
    selection = read_table(job.input.selection)
    tables, records = [], []
    for repeat, part in selection.groupby("repeat"):
        labeled = data.role(repeat, "labeled")
        p = part["p"].to_numpy()[labeled]
        raw = weigh(p, data.selected_share(repeat), **spec["options"])
        weights, capped = cap_weights(raw, spec["max_weight"])
        jobs.log.info("repeat %d: %d of %d rows at the cap", repeat, capped, len(weights))
        tables.append(data.labels[repeat].loc[labeled, ["repeat", "row"]].assign(weight=weights))
        target = ~data.role(repeat, "test") & ~(labeled & (spec["target"] == "unlabeled"))
        found = describe_weights(
            raw, weights, data.X[data.positions(repeat, labeled)],
            data.X[data.positions(repeat, target)], data.names, capped,
        )  # fmt: skip
        records += [{"repeat": repeat, "target": spec["target"]} | record for record in found]
    source = f"{job.wildcards.weighting}-{job.wildcards.selector}"
    write_table(job.output.table, pd.concat(tables))
    frame = metrics_frame(job.wildcards.study, source, records)
    write_table(job.output.metrics, frame, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
