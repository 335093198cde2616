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
        informed=lambda wildcards: components.declared(
            "protocol",
            study_of(wildcards)["evaluation"]["protocol"],
            "INFORMED",
            False,
        ),
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


rule evaluate_filter:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        proxy=proxy_table,
        weights=weights_of,
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    output:
        f"{RESULTS}/{{study}}/metrics/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("filter"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        protocol=lambda wildcards: chosen(study_of(wildcards)["evaluation"], "protocol"),
        selector=lambda wildcards: proxy_spec(wildcards),
        target=lambda wildcards: study_of(wildcards)["target"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "evaluate_filter.py",
            ("protocol", study_of(wildcards)["evaluation"]["protocol"]),
            ("selector", proxy_spec(wildcards)["selector"]),
        ),
    script:
        "../../scripts/evaluate_filter.py"


for study_name, study_parts in STUDIES.items():
    if study_parts.get("filter"):

        rule:
            name:
                f"write_filter_{study_name}"
            input:
                table=prepared(study_parts["dataset"]),
                features=f"{RESULTS}/{study_name}/features.parquet",
                labels=f"{RESULTS}/{study_name}/labels.parquet",
                proxy=proxy_table(given_away(study_name)),
                weights=weights_of(given_away(study_name)),
                metrics=f"{RESULTS}/{study_name}/metrics/{study_parts['filter']['method']}.parquet",
            output:
                filter=f"{RESULTS}/{study_name}/filter.parquet",
                card=f"{RESULTS}/{study_name}/filter.md",
            log:
                f"{RESULTS}/logs/filter/{study_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/filter/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=1500,
                runtime=10,
            params:
                study=study_name,
                title=study_parts["title"],
                filter=study_parts["filter"],
                recipe=chosen(study_parts["features"], "recipe"),
                outcome=chosen(study_parts["outcome"], "rule"),
                labeling=chosen(study_parts["labeling"], "rule"),
                selector=proxy_spec(given_away(study_name)),
                target=study_parts["target"],
                code=code(
                    "write_filter.py",
                    ("selector", proxy_spec(given_away(study_name))["selector"]),
                ),
            script:
                "../../scripts/write_filter.py"


if FILTER_STUDY:

    rule filter:
        input:
            filter=f"{RESULTS}/{FILTER_STUDY}/filter.parquet",
            candidates=PLAN["candidates"] or [],
        output:
            table=f"{RESULTS}/filtered.parquet",
            csv=f"{RESULTS}/filtered.csv",
        log:
            f"{RESULTS}/logs/filter/candidates.log",
        benchmark:
            f"{RESULTS}/benchmarks/filter/candidates.tsv"
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=1500,
            runtime=30,
        params:
            seed=PLAN["seed"],
            code=code("apply_filter.py"),
        script:
            "../../scripts/apply_filter.py"
