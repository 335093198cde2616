from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.tables import METRICS, metrics_table, read_table, write_table
from counterweight.labeling.offered import LABELS, describe_offers, label_offers
from counterweight.plan.components import configured


def main(job):
    params = job.params
    frame = read_table(job.input.table)
    known = read_table(job.input.known) if job.input.known else None
    recipe, outcome, rule = (
        configured(kind, getattr(params, kind)) for kind in ("features", "outcome", "labeling")
    )
    answer = params.outcome["options"].get("column")
    rng = generator(params.seed, params.stream, 0, "noise")
    features = recipe(frame, rng, outcome=answer)
    labels, truth = label_offers(
        frame,
        features,
        known,
        rule,
        outcome,
        seed=params.seed,
        study=params.stream,
        repeats=params.repeats,
        test_share=params.test_share,
        answer=answer,
    )
    dropped = len(frame) - int((rule(frame)["kept"] & frame["row"].isin(features["row"])).sum())
    records = describe_offers(labels, truth, dropped)
    jobs.log.info("%d rows with offers and answers, %d left out", len(frame) - dropped, dropped)
    write_table(job.output.features, features)
    write_table(job.output.labels, labels, LABELS)
    write_table(job.output.truth, truth)
    write_table(job.output.metrics, metrics_table(job.wildcards.study, "labels", records), METRICS)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
