import numpy as np
from counterweight.files import jobs
from counterweight.files.study_data import StudyData, by_repeat
from counterweight.files.tables import METRICS, metrics_table, read_columns, write_table
from counterweight.plan.components import load
from counterweight.weighting.diagnostics import cap_weights, describe_weights


def main(job):
    spec = job.params.weighting
    weigh = load("weighting", spec["weighting"])
    data = StudyData(read_columns(job.input.features), read_columns(job.input.labels))
    tables, records = [], []
    for repeat, part in by_repeat(read_columns(job.input.selection)).items():
        labeled = data.role(repeat, "labeled")
        raw = weigh(part["p"][labeled], data.selected_share(repeat), **spec["options"])
        weights, capped = cap_weights(raw, spec["max_weight"])
        jobs.log.info("repeat %d: %d of %d rows at the cap", repeat, capped, len(weights))
        tables.append((part["repeat"][labeled], part["row"][labeled], weights))
        target = ~data.role(repeat, "test") & ~(labeled & (spec["target"] == "unlabeled"))
        found = describe_weights(
            raw,
            weights,
            data.X[data.positions(repeat, labeled)],
            data.X[data.positions(repeat, target)],
            data.names,
            capped,
        )
        records += [{"repeat": repeat, "target": spec["target"]} | record for record in found]
    source = f"{job.wildcards.weighting}-{job.wildcards.selector}"
    columns = map(np.concatenate, zip(*tables, strict=True))
    write_table(job.output.table, dict(zip(("repeat", "row", "weight"), columns, strict=True)))
    write_table(job.output.metrics, metrics_table(job.wildcards.study, source, records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
