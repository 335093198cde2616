"""Stage 3, selection-model fitting: calibrated p(s=1|x) of every training and test row.

Needs: features and labels. Makes: one table a selection model, the fitted model, and its diagnostics
as metrics. In studies of balanced filters the model is a proxy, and the table is that of its leaves
and the groups in each of them.
"""


rule select:
    input:
        unpack(inputs_of("select")),
    output:
        table=f"{PLACE}/{{study}}/selection/{{selector}}.parquet",
        model=f"{PLACE}/{{study}}/selection/{{selector}}.model.parquet",
        metrics=f"{PLACE}/{{study}}/metrics/selection_{{selector}}.parquet",
    log:
        f"{RESULTS}/logs/select/{{study}}/{{selector}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/select/{{study}}/{{selector}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("select", 1500),
        runtime=more(60),
    params:
        job=spec_of("select"),
    script:
        "../../scripts/select.py"
