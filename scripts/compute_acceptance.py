import numpy as np
from counterweight.files import jobs
from counterweight.files.tables import METRICS, metrics_table, read_columns, write_table
from counterweight.numerics.groups import disclosivity, imbalance, target_shares
from counterweight.plan.components import configured
from counterweight.weighting.acceptance import realised, setting_name
from counterweight.weighting.leaf_tables import leaf_tables


def main(job):
    spec = job.params.weighting
    weigh = configured("weighting", {"name": spec["weighting"], "options": {}})
    tables, records = [], []
    for part in leaf_tables(read_columns(job.input.leaves)):
        target = target_shares(job.params.target, part.groups, part.sizes)
        base = part.mass @ part.shares
        etas = () if part.setting else spec["options"]["etas"]
        for found in weigh(part.mass, part.shares, target, etas=etas):
            setting = setting_name(part.setting, found.eta)
            leaves = len(found.mass)
            tables.append(
                {
                    "repeat": np.full(leaves, part.repeat, "int16"),
                    "setting": np.full(leaves, setting, object),
                    "leaf": np.arange(leaves, dtype="int16"),
                    "mass": found.mass,
                    "q": found.q,
                    "acceptance": found.rho,
                }
            )
            accepted = realised(found.rho, found.mass, found.shares)
            values = {
                "acceptance_rate": found.rate,
                "distance": found.distance,
                "imbalance_expected": imbalance(accepted, target),
                "disclosivity_expected": disclosivity(found.mass, found.shares, base),
            }
            records += [
                {"repeat": part.repeat, "setting": setting, "metric": metric, "value": value}
                for metric, value in values.items()
            ]
    rates = [record["value"] for record in records if record["metric"] == "acceptance_rate"]
    jobs.log.info(
        "%d settings and repeats: %.2g to %.2g of the rows accepted",
        len(rates),
        min(rates),
        max(rates),
    )
    source = f"{job.wildcards.weighting}-{job.wildcards.selector}"
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    write_table(job.output.table, columns)
    write_table(job.output.metrics, metrics_table(job.wildcards.study, source, records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
