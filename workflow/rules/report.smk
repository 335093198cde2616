"""Stage 7, report assembly: figures, tables, claims and one self-contained page.

Needs: every table of measurements. Makes: figures a study, tables as Parquet and CSV,
claims.parquet, report.html. When other jobs failed, `report_what_is_there` makes the page from
what is there at the end of the run.
"""

import json
import subprocess

from counterweight.reporting.plan import report_plan

SHOWN = report_plan(PLAN)
CLAIMS = sorted(str(path) for path in (LIBRARY / "claims").glob("*.yaml"))
TEMPLATES = sorted((LIBRARY / "counterweight" / "reporting" / "templates").glob("*"))
TABLES = [
    f"{RESULTS}/tables/{study}-{target}"
    for study, parts in STUDIES.items()
    for target in parts["targets"]
]

for study_name, study_parts in STUDIES.items():
    if study_parts["figures"]:

        rule:
            name:
                f"draw_{study_name}"
            input:
                measurements([study_name]),
                features=f"{RESULTS}/{study_name}/features.parquet",
                labels=f"{RESULTS}/{study_name}/labels.parquet",
                truth=f"{RESULTS}/{study_name}/truth.parquet",
            output:
                [
                    report(
                        f"{RESULTS}/{study_name}/figures/{figure}.svg",
                        caption="../report/figure.rst",
                        category=study_parts["title"],
                        labels={"study": study_name, "figure": figure},
                    )
                    for figure in study_parts["figures"]
                ],
            params:
                study=study_name,
                shown=SHOWN["studies"][study_name],
                results=RESULTS,
                code=code("draw.py", *(("figure", figure) for figure in study_parts["figures"])),
            log:
                f"{RESULTS}/logs/draw/{study_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/draw/{study_name}.tsv"
            threads: 1
            resources:
                mem_mb=1000,
                runtime=10,
            conda:
                ENVIRONMENT
            script:
                "../../scripts/draw.py"


rule report:
    input:
        measurements(),
        drawn(),
        claims=CLAIMS,
        schema=str(LIBRARY / "schemas" / "claims.schema.yaml"),
    output:
        html=report(f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"),
        claims=f"{RESULTS}/claims.parquet",
        claims_csv=report(
            f"{RESULTS}/claims.csv", caption="../report/claims.rst", category="Claims"
        ),
        metrics=f"{RESULTS}/tables/metrics.parquet",
        tables=[f"{table}.parquet" for table in TABLES],
        tables_csv=[
            report(f"{table}.csv", caption="../report/tables.rst", category="Tables")
            for table in TABLES
        ],
    params:
        shown=SHOWN,
        chains=chains(),
        results=RESULTS,
        code=code("report.py", files=TEMPLATES),
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        ENVIRONMENT
    script:
        "../../scripts/report.py"


def report_what_is_there():
    """Make the page from what is there, and mark it so that the next run makes it anew.

    Snakemake takes an existing output for a finished one. Its record of the page is dropped and
    the page dated before every input, so a later run never mistakes it for the whole one.
    """
    page = Path(RESULTS) / "report.html"
    given = {"shown": SHOWN, "chains": chains(), "claims": CLAIMS, "results": RESULTS}
    try:
        made = subprocess.run(
            [sys.executable, "-m", "counterweight.reporting.assemble"],
            input=json.dumps(given),
            text=True,
        )
        if made.returncode == 0:
            workflow.persistence.cleanup_metadata(str(page))
            os.utime(page, (1, 1))
        else:
            print(f"The report of what is there could not be made; see the logs in {RESULTS}/logs.")
    except OSError as error:
        print(f"The report of what is there could not be made: {error}")
