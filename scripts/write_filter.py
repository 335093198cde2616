import numpy as np
from counterweight.files import jobs
from counterweight.files.tables import read_columns, read_models, read_table, replacing
from counterweight.models.filters.card import card
from counterweight.models.filters.table import saved_filter, write_filter


def main(job):
    params = job.params
    chosen = params.filter
    proxies = read_models(job.input.proxy)
    saved = saved_filter(
        read_table(job.input.table),
        read_columns(job.input.features),
        read_columns(job.input.labels),
        proxies[chosen["repeat"], ""],
        read_columns(job.input.weights),
        read_columns(job.input.metrics),
        selector=params.selector["selector"],
        recipe=params.recipe,
        outcome=params.outcome["options"].get("column"),
        target=params.target,
        facts={"study": params.study, "title": params.title} | chosen,
    )
    write_filter(job.output.filter, saved)
    with replacing(job.output.card) as path:
        path.write_text(card(saved), encoding="utf-8")
    jobs.log.info(
        "%s at %s: %d leaves, %.3g of the training rows accepted, largest shift %.3f",
        chosen["method"],
        chosen["setting"] or "its only setting",
        len(saved.mass),
        saved.rate,
        np.abs(saved.shifts).max(),
    )


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"study": snakemake.params.study}):
        main(snakemake)
