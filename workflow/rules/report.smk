"""Stage 7, report assembly: figures, tables, claims and one self-contained page.

Needs: every table of measurements. Makes: figures a study, tables as Parquet and CSV,
claims.parquet, report.html. When other jobs failed, `report_what_is_there` makes the page from
what is there at the end of the run.
"""

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
                proxies=[
                    f"{RESULTS}/{study_name}/selection/{selector}.parquet"
                    for selector in study_parts["selectors"]
                    if study_parts["task"] == "filter"
                ],
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
            log:
                f"{RESULTS}/logs/draw/{study_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/draw/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=1000,
                runtime=10,
            params:
                study=study_name,
                shown=SHOWN["studies"][study_name],
                code=code(
                    "draw.py",
                    *(("figure", figure) for figure in study_parts["figures"]),
                ),
            script:
                "../../scripts/draw.py"


rule report:
    input:
        measurements(),
        drawn(),
        claims=CLAIMS,
        schema=os.path.relpath(LIBRARY / "schemas" / "claims.schema.yaml"),
    output:
        html=report(
            f"{RESULTS}/report.html", caption="../report/report.rst", category="Report"
        ),
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
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        shown=SHOWN,
        chains=chains(),
        code=code("report.py", files=TEMPLATES, modules=sheet_modules(SHOWN)),
    script:
        "../../scripts/report.py"
