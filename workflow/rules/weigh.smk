"""Stage 4, weight computation: importance weights of the labeled rows.

Needs: selection probabilities. Makes: one table a weighting and selection model, and its
diagnostics (effective sample size, rows at the cap, balance of each feature) as metrics. In
studies of balanced filters: the probability of acceptance in each leaf of a proxy.
"""


rule compute_weights:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        selection=f"{RESULTS}/{{study}}/selection/{{selector}}.parquet",
    output:
        table=f"{RESULTS}/{{study}}/weights/{{weighting}}-{{selector}}.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/weights_{{weighting}}-{{selector}}.parquet",
    log:
        f"{RESULTS}/logs/compute_weights/{{study}}/{{weighting}}-{{selector}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/compute_weights/{{study}}/{{weighting}}-{{selector}}.tsv"
    wildcard_constraints:
        study=any_of("classification"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        weighting=lambda wildcards: weighting_of(wildcards),
        code=lambda wildcards: code(
            "compute_weights.py", ("weighting", wildcards.weighting)
        ),
    script:
        "../../scripts/compute_weights.py"


rule compute_acceptance:
    input:
        leaves=f"{RESULTS}/{{study}}/selection/{{selector}}.leaves.parquet",
    output:
        table=f"{RESULTS}/{{study}}/weights/{{weighting}}-{{selector}}.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/weights_{{weighting}}-{{selector}}.parquet",
    log:
        f"{RESULTS}/logs/compute_acceptance/{{study}}/{{weighting}}-{{selector}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/compute_acceptance/{{study}}/{{weighting}}-{{selector}}.tsv"
    wildcard_constraints:
        study=any_of("filter"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        weighting=lambda wildcards: {
            key: weighting_of(wildcards)[key] for key in ("weighting", "options")
        },
        target=lambda wildcards: study_of(wildcards)["target"],
        code=lambda wildcards: code(
            "compute_acceptance.py", ("weighting", wildcards.weighting)
        ),
    script:
        "../../scripts/compute_acceptance.py"
