from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.tables import METRICS, metrics_table, read_table, write_table
from counterweight.labeling.split import describe_labels, label_rows
from counterweight.plan.components import configured


def main(job):
    params = job.params
    frame = read_table(job.input.table)
    known = read_table(job.input.known) if job.input.known else None
    recipe, outcome, rule = (
        configured(kind, getattr(params, kind)) for kind in ("features", "outcome", "labeling")
    )
    features = recipe(
        frame,
        generator(params.seed, params.stream, 0, "noise"),
        outcome=params.outcome["options"].get("column"),
    )
    labels, truth = label_rows(
        frame,
        features,
        known,
        rule,
        outcome,
        seed=params.seed,
        study=params.stream,
        repeats=params.repeats,
        test_share=params.test_share,
        targets=params.targets,
        keep_rate=params.keep_rate,
        complete=params.complete,
        informed=params.informed,
        samples=params.samples,
        test_rows=params.test_rows,
    )
    dropped = len(frame) - len(features)
    records = describe_labels(labels, truth, dropped)
    jobs.log.info("%d rows kept, %d left out by the recipe", len(features), dropped)
    write_table(job.output.features, features)
    write_table(job.output.labels, labels)
    write_table(job.output.truth, truth)
    write_table(job.output.metrics, metrics_table(job.wildcards.study, "labels", records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
