import numpy as np
from counterweight.errors import CounterweightError
from counterweight.files import jobs
from counterweight.files.tables import replacing, write_table
from counterweight.models.filters.candidates import read_candidates
from counterweight.models.filters.table import apply_filter, read_filter


def main(job):
    if not job.input.candidates:
        raise CounterweightError(
            "There is no table of candidates: name one, as in "
            "snakemake filter --config candidates=people.csv."
        )
    saved = read_filter(job.input.filter)
    frame = read_candidates(str(job.input.candidates))
    decided = apply_filter(frame, saved, job.params.seed)
    accepted = decided["accepted"]
    jobs.log.info(
        "%d of %d candidates accepted; %.1f were to be expected, and %.3g of all as in training "
        "would be %.1f",
        accepted.sum(),
        len(accepted),
        decided["probability"].sum(),
        saved.rate,
        saved.rate * len(accepted),
    )
    write_table(job.output.table, decided)
    lines = zip(
        decided["row"],
        np.where(accepted, "yes", "no"),
        decided["probability"],
        decided["leaf"],
        strict=True,
    )
    with replacing(job.output.csv) as path, open(path, "w", encoding="utf-8") as file:
        file.write("row,accepted,probability,leaf\n")
        file.writelines(f"{row},{word},{p:.9g},{leaf}\n" for row, word, p, leaf in lines)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"filter": snakemake.input.filter}):
        main(snakemake)
