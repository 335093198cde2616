"""What a study gave away, on new rows: `snakemake apply --config candidates=people.csv`.

Needs: the delivered file and a table of new rows. Makes: their answers, as Parquet and CSV.
"""

if APPLIED:

    rule apply:
        input:
            **job("apply", APPLIED).inputs,
        output:
            **job("apply", APPLIED).outputs,
        log:
            f"{RESULTS}/logs/apply.log",
        benchmark:
            f"{RESULTS}/benchmarks/apply.tsv"
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=1500,
            runtime=30,
        params:
            job=spec("apply", APPLIED),
        script:
            "../../scripts/apply.py"
