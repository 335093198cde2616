"""Stage 3, selection-model fitting: calibrated p(s=1|x) of every training and test row.

Needs: features and labels. Makes: one table a selection model, and its diagnostics as metrics.
In studies of balanced filters the model is a proxy: its leaves and the groups in each of them.
"""


rule fit_selection:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=branch(
            lambda wildcards: selector_of(wildcards)["oracle"],
            then=f"{RESULTS}/{{study}}/truth.parquet",
            otherwise=[],
        ),
    output:
        table=f"{RESULTS}/{{study}}/selection/{{selector}}.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/selection_{{selector}}.parquet",
    log:
        f"{RESULTS}/logs/fit_selection/{{study}}/{{selector}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fit_selection/{{study}}/{{selector}}.tsv"
    wildcard_constraints:
        study=any_of("classification"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        selector=lambda wildcards: selector_of(wildcards),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "fit_selection.py", ("selector", selector_of(wildcards)["selector"])
        ),
    script:
        "../../scripts/fit_selection.py"


rule fit_proxy:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
    output:
        table=f"{RESULTS}/{{study}}/selection/{{selector}}.parquet",
        leaves=f"{RESULTS}/{{study}}/selection/{{selector}}.leaves.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/selection_{{selector}}.parquet",
    log:
        f"{RESULTS}/logs/fit_proxy/{{study}}/{{selector}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fit_proxy/{{study}}/{{selector}}.tsv"
    wildcard_constraints:
        study=any_of("filter"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        selector=lambda wildcards: selector_of(wildcards),
        target=lambda wildcards: study_of(wildcards)["target"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "fit_proxy.py", ("selector", selector_of(wildcards)["selector"])
        ),
    script:
        "../../scripts/fit_proxy.py"
