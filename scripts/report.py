import os

from counterweight.files import jobs
from counterweight.reporting.page.assemble import assemble


def main(job):
    results = os.path.dirname(job.output.html)
    assemble(job.params.shown, job.params.chains, job.input.claims, results)
    jobs.log.info("wrote %s", job.output.html)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0]):
        main(snakemake)
