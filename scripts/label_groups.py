from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.tables import METRICS, metrics_table, read_table, write_table
from counterweight.labeling.sensitive import describe_groups, label_groups
from counterweight.plan.components import configured


def main(job):
    params = job.params
    frame = read_table(job.input.table)
    recipe, outcome, rule = (
        configured(kind, getattr(params, kind)) for kind in ("features", "outcome", "labeling")
    )
    rng = generator(params.seed, params.stream, 0, "noise")
    features = recipe(frame, rng, outcome=params.outcome["options"].get("column"))
    labels, truth = label_groups(
        frame,
        features,
        rule,
        outcome,
        seed=params.seed,
        study=params.stream,
        repeats=params.repeats,
        test_share=params.test_share,
    )
    dropped = len(frame) - int((labels["repeat"] == 0).sum())
    records = describe_groups(labels, truth, dropped, params.target)
    jobs.log.info("%d rows with a group, %d left out", len(frame) - dropped, dropped)
    write_table(job.output.features, features)
    write_table(job.output.labels, labels)
    write_table(job.output.truth, truth)
    write_table(job.output.metrics, metrics_table(job.wildcards.study, "labels", records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
