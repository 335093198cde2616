"""Stage 7, report assembly: tables, claims and one self-contained page.

Needs: every table of measurements and every figure. Makes: tables as Parquet and CSV,
claims.parquet, report.html. When other jobs failed, `report_what_is_there` makes the page from
what is there at the end of the run.
"""


rule report:
    input:
        **job("report").inputs,
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
        job=spec("report"),
    script:
        "../../scripts/report.py"
