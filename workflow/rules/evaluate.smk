"""Stage 6, evaluation: metrics with standard errors, for each repeat and target.

Needs: predictions, the fitted model (for what it says of its own fit), the hidden labels, and
the keep rates where the study's test rows were subsampled. Makes: one long table a method.
Studies of logged actions have a rule of their own, which streams.
"""


rule evaluate:
    input:
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        rates=branch(
            lambda wildcards: study_of(wildcards)["keep_rate"] < 1,
            then=f"{RESULTS}/{{study}}/labels.parquet",
            otherwise=[],
        ),
    output:
        f"{RESULTS}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("classification"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        metrics=PLAN["metrics"],
        protocol=lambda wildcards: chosen(study_of(wildcards)["evaluation"], "protocol"),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "evaluate.py",
            ("protocol", study_of(wildcards)["evaluation"]["protocol"]),
            *(("metric", name) for name in PLAN["metrics"]),
        ),
    script:
        "../../scripts/evaluate.py"


rule evaluate_log:
    input:
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
    output:
        f"{RESULTS}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("log"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        protocol=lambda wildcards: chosen(study_of(wildcards)["evaluation"], "protocol"),
        policy=lambda wildcards: method_of(wildcards)["options"].get("probability", ""),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "evaluate_log.py",
            ("protocol", study_of(wildcards)["evaluation"]["protocol"]),
        ),
    script:
        "../../scripts/evaluate_log.py"


rule evaluate_offers:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    output:
        f"{RESULTS}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("offers"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        protocol=lambda wildcards: chosen(study_of(wildcards)["evaluation"], "protocol"),
        offer=lambda wildcards: study_of(wildcards)["labeling"]["options"],
        dataset=lambda wildcards: (
            study_of(wildcards)["dataset"]
            if study_of(wildcards)["source"] == "simulated"
            else ""
        ),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "evaluate_offers.py",
            ("protocol", study_of(wildcards)["evaluation"]["protocol"]),
        ),
    script:
        "../../scripts/evaluate_offers.py"


rule write_offers:
    input:
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        predictions=lambda wildcards: offering(wildcards.study),
    output:
        f"{RESULTS}/{{study}}/offers.parquet",
    log:
        f"{RESULTS}/logs/offers/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/offers/{{study}}.tsv"
    wildcard_constraints:
        study=any_of("offers"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        offer=lambda wildcards: study_of(wildcards)["labeling"]["options"],
        code=code("write_offers.py"),
    script:
        "../../scripts/write_offers.py"
