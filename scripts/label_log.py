from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.tables import METRICS, metrics_table, write_table
from counterweight.labeling.logs import label_log
from counterweight.plan.components import configured


def main(job):
    params = job.params
    recipe, outcome, rule = (
        configured(kind, getattr(params, kind)) for kind in ("features", "outcome", "labeling")
    )
    outputs = {name: getattr(job.output, name) for name in ("features", "labels", "truth")}
    records = label_log(
        job.input.table,
        job.input.known or None,
        outputs,
        recipe=recipe,
        outcome=outcome,
        rule=rule,
        rng=generator(params.seed, params.stream, 0, "noise"),
        reward=params.outcome["options"].get("column"),
    )
    counts = {record["metric"]: record["value"] for record in records}
    jobs.log.info("%d rows of the log, %d on policy", counts["rows_log"], counts["rows_on_policy"])
    write_table(job.output.metrics, metrics_table(job.wildcards.study, "labels", records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
