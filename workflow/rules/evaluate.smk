"""Stage 6, evaluation: metrics with standard errors, for each repeat and target.

Needs: predictions, the fitted model (for what it says of its own fit), the hidden labels.
Makes: one long table a method.
"""


rule evaluate:
    input:
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
    output:
        f"{RESULTS}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        metrics=PLAN["metrics"],
        code=code("evaluate.py", *(("metric", name) for name in PLAN["metrics"])),
    script:
        "../../scripts/evaluate.py"
