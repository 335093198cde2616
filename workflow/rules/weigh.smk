"""Stage 4, weight computation: importance weights of the labeled rows.

Needs: the rows, and what the selection model says where a weighting goes by it. Makes: one table a
weighting (and selection model), and its diagnostics (effective sample size, rows at the cap,
balance of each feature) as metrics. In studies of balanced filters: the probability of acceptance
in each leaf of a proxy.
"""


rule weigh:
    input:
        unpack(inputs_of("weigh")),
    output:
        table=f"{PLACE}/{{study}}/weights/{{weighting}}.parquet",
        metrics=f"{PLACE}/{{study}}/metrics/weights_{{weighting}}.parquet",
    log:
        f"{RESULTS}/logs/weigh/{{study}}/{{weighting}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/weigh/{{study}}/{{weighting}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("weigh", 800),
        runtime=more(10),
    params:
        job=spec_of("weigh"),
    script:
        "../../scripts/weigh.py"
