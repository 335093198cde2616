from counterweight.files import jobs
from counterweight.files.streams import writing
from counterweight.files.tables import MODEL, model_table, write_table
from counterweight.models.policies.log_rows import log_rows
from counterweight.plan.components import load


def main(job):
    policy = load("model", job.params.model)(**job.params.options)

    def rows():
        return log_rows(job.input.features, job.input.labels, job.input.table, policy.columns)

    policy.fit(rows())
    with writing(job.output.predictions, policy.layout) as out:
        for part in rows():
            out.write({"row": part["row"]} | policy.predict(part))
    jobs.log.info("predicted %d rows", out.rows)
    write_table(job.output.model, model_table(policy.to_arrays(), 0, "general"), MODEL)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], snakemake.wildcards):
        main(snakemake)
