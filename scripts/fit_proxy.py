import pyarrow as pa
from counterweight import jobs
from counterweight.components import load
from counterweight.errors import listed
from counterweight.seeds import generator
from counterweight.selection.groups import group_names, leaf_table, memberships
from counterweight.study_data import StudyData
from counterweight.tables import (  # fmt: skip
    METRICS, MODEL, metrics_table, model_table, read_columns, stacked, write_table,
)  # fmt: skip
from counterweight.weighting.acceptance import leaf_columns, target_shares


def main(job):
    spec = job.params.selector
    data = StudyData(read_columns(job.input.features), read_columns(job.input.labels))
    columns = [name for name in data.labels[0] if name.startswith("group_")]
    classes = [name.removeprefix("group_") for name in columns]
    seen = {  # Test rows have no group here; every group has training rows in every repeat.
        repeat: [part[name][part["role"] == "train"] for name in columns]
        for repeat, part in data.labels.items()
    }
    names, groups = group_names(seen[0], classes)
    sizes = [len(block) for block in names]
    target = target_shares(job.params.target, groups, sizes)

    def one(repeat):
        X = data.X[data.positions(repeat, data.role(repeat, "train"))]
        Z = memberships(seen[repeat], names)
        rng = generator(job.params.seed, job.params.stream, repeat, "selection")
        proxy = load("selector", spec["selector"])(**spec["options"])
        proxy.fit(X, Z, classes=sizes, target=target, rng=rng)
        tables = [
            leaf_columns(repeat, setting, *leaf_table(member, Z), groups, classes, sizes)
            for setting, member in proxy.leaves(X)
        ]
        records = [record | {"repeat": repeat, "rows": len(X)} for record in proxy.describe()]
        values = {(r["metric"], r["item"]): r["value"] for r in records}
        far = [f"{s or 'it'} ({values['distance', s]:.3f})" for s in proxy.settings_
               if not values["reached", s]]  # fmt: skip
        jobs.log.info("repeat %d: %d settings; the target is out of reach, at the distance given, "
                      "for %s", repeat, len(tables), listed(far, 30) or "none")  # fmt: skip
        return model_table(proxy.to_arrays(), repeat, ""), tables, records

    done = jobs.over_repeats(one, data.labels, job.threads)
    write_table(job.output.table, stacked([model for model, _, _ in done]), MODEL)
    tables = [table for _, parts, _ in done for table in parts]
    write_table(job.output.leaves, stacked([pa.table(table) for table in tables]))
    records = [record for _, _, part in done for record in part]
    table = metrics_table(job.wildcards.study, job.wildcards.selector, records)
    write_table(job.output.metrics, table, METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
