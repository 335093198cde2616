from pathlib import Path

import pandas as pd
from counterweight.files import jobs
from counterweight.files.tables import read_table
from counterweight.reporting.page.assemble import draw_study


def main(job):
    tables = [path for path in job.input if "/metrics/" in path]
    metrics = pd.concat([read_table(path) for path in tables], ignore_index=True)
    folder = Path(job.output[0]).parents[1]
    draw_study(job.params.study, job.params.shown, metrics, folder.parent)


if __name__ == "__main__":
    with jobs.logged(snakemake.log[0], {"study": snakemake.params.study}):
        main(snakemake)
