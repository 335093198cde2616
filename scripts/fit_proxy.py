import pyarrow as pa
from counterweight.files import jobs, tables
from counterweight.files.seeds import generator
from counterweight.files.study_data import StudyData
from counterweight.numerics.groups import group_names, leaf_table, memberships, target_shares
from counterweight.plan.components import load
from counterweight.weighting.leaf_tables import leaf_columns, reach_sentence


def main(job):
    spec = job.params.selector
    data = StudyData(tables.read_columns(job.input.features), tables.read_columns(job.input.labels))
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
        leaves = [
            leaf_columns(repeat, setting, *leaf_table(member, Z), groups, classes, sizes)
            for setting, member in proxy.leaves(X)
        ]
        records = [record | {"repeat": repeat, "rows": len(X)} for record in proxy.describe()]
        values = {(r["metric"], r["setting"]): r["value"] for r in records}
        reach = [[values[key, s] for s in proxy.settings_] for key in ("distance", "reached")]
        told = reach_sentence(proxy.settings_, *reach, abs(Z.mean(axis=0) - target).max())
        jobs.log.info("repeat %d: %d settings; %s", repeat, len(leaves), told)
        return tables.model_table(proxy.to_arrays(), repeat, ""), leaves, records

    done = jobs.over_repeats(one, data.labels, job.threads)
    models, leaves, records = zip(*done, strict=True)
    leaves = [pa.table(part) for parts in leaves for part in parts]
    tables.write_table(job.output.table, tables.stacked(models), tables.MODEL)
    tables.write_table(job.output.leaves, tables.stacked(leaves))
    records = [record for part in records for record in part]
    table = tables.metrics_table(job.wildcards.study, job.wildcards.selector, records)
    tables.write_table(job.output.metrics, table, tables.METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
