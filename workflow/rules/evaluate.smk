"""Stage 6, evaluation: metrics with standard errors, for each repeat and target.

Needs: predictions, the fitted model (for what it says of its own fit), what is hidden, and
the keep rates where the study's test rows were subsampled. Makes: one long table a method.
"""


rule evaluate:
    input:
        unpack(inputs_of("evaluate")),
    output:
        metrics=f"{PLACE}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("evaluate", 1500),
        runtime=more(30),
    params:
        job=spec_of("evaluate"),
    script:
        "../../scripts/evaluate.py"
