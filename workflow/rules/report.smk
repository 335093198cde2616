"""Stage 7, report assembly: a family's pages and tables, the index, the claims, the glossary.

Needs: every table of measurements and every figure. Makes: report.html and the pages in report/,
tables as Parquet, CSV and LaTeX, claims.parquet. When other jobs failed, `report_what_is_there` makes one
page from what is there at the end of the run.
"""

for family in families(PLAN):

    rule:
        name:
            f"page_{family}"
        input:
            **all_here(job("page", family).inputs),
        output:
            findings=job("page", family).outputs["findings"],
            config=job("page", family).outputs["config"],
            pages=report(
                job("page", family).outputs["pages"],
                caption="../report/report.rst",
                category="Pages",
            ),
            tables=job("page", family).outputs["tables"],
            tables_csv=report(
                job("page", family).outputs["tables_csv"],
                caption="../report/tables.rst",
                category="Tables",
            ),
            tables_tex=job("page", family).outputs["tables_tex"],
            search=job("page", family).outputs["search"],
        log:
            PATHS.log("page", family),
        benchmark:
            f"{RESULTS}/benchmarks/page/{family}.tsv"
        localrule: True
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=more(1000),
            runtime=more(10),
        params:
            job=spec("page", family),
        script:
            "../../scripts/page.py"


rule report:
    input:
        **all_here(job("report").inputs),
    output:
        **ledger(),
        html=report(
            f"{RESULTS}/report.html", caption="../report/report.rst", category="Pages"
        ),
        pages=report(
            job("report").outputs["pages"],
            caption="../report/report.rst",
            category="Pages",
        ),
        metrics=f"{RESULTS}/tables/metrics.parquet",
        provenance=job("report").outputs["provenance"],
        search=job("report").outputs["search"],
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    localrule: True
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=more(1000),
        runtime=more(10),
    params:
        job=spec_of("report", ""),
    script:
        "../../scripts/report.py"
