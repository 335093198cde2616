from counterweight.files import jobs
from counterweight.files.seeds import generator
from counterweight.files.streams import writing
from counterweight.files.tables import write_table
from counterweight.plan.components import load


def main(job):
    rng = generator(job.params.seed, job.params.dataset, 0, "simulate")
    dataset = load("dataset", job.params.dataset)
    if hasattr(dataset, "simulate_batches"):
        with writing(job.output.table, dataset.LAYOUT) as out:
            for frame in dataset.simulate_batches(job.params.rows, rng):
                out.write({name: frame[name].to_numpy() for name in frame})
        truth = dataset.known_values()
    else:
        frame, truth = dataset.simulate(job.params.rows, rng)
        write_table(job.output.table, frame)
    write_table(job.output.truth, truth)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"data set": snakemake.params.dataset}):
        main(snakemake)
