"""Stage 5, model training: one job a study and method, all repeats inside.

Needs: features, labels, the method's weights, and the fitted models that it begins from; an
oracle also gets the hidden labels. Makes: parameters and predictions of the test rows. In a
study of logged actions a method is a policy: its prediction is the probability that it gives to
the action that was logged.
"""


rule train:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        weights=weights_of,
        starts=starts_of,
        truth=branch(
            lambda wildcards: method_of(wildcards)["oracle"],
            then=f"{RESULTS}/{{study}}/truth.parquet",
            otherwise=[],
        ),
    output:
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/train/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("classification"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        model=lambda wildcards: method_of(wildcards)["model"],
        options=lambda wildcards: method_of(wildcards)["options"],
        sweep=lambda wildcards: method_of(wildcards)["sweep"],
        starts=lambda wildcards: list(method_of(wildcards)["starts"]),
        repeats=lambda wildcards: method_of(wildcards)["repeats"],
        targets=lambda wildcards: study_of(wildcards)["targets"],
        measures=lambda wildcards: study_of(wildcards)["evaluation"]["options"].get(
            "measures"
        ),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "train.py", ("model", method_of(wildcards)["model"])
        ),
    script:
        "../../scripts/train.py"


rule train_policy:
    input:
        table=lambda wildcards: prepared(study_of(wildcards)["dataset"]),
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
    output:
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/train/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("log"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        model=lambda wildcards: method_of(wildcards)["model"],
        options=lambda wildcards: method_of(wildcards)["options"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "train_policy.py", ("model", method_of(wildcards)["model"])
        ),
    script:
        "../../scripts/train_policy.py"


rule train_offers:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=branch(
            lambda wildcards: method_of(wildcards)["options"].get("per_component"),
            then=f"{RESULTS}/{{study}}/truth.parquet",
            otherwise=[],
        ),
    output:
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/train/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("offers"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        model=lambda wildcards: method_of(wildcards)["model"],
        options=lambda wildcards: method_of(wildcards)["options"],
        repeats=lambda wildcards: method_of(wildcards)["repeats"],
        offer=lambda wildcards: study_of(wildcards)["labeling"]["options"],
        bootstrap=lambda wildcards: study_of(wildcards)["bootstrap"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "train_offers.py", ("model", method_of(wildcards)["model"])
        ),
    script:
        "../../scripts/train_offers.py"


rule train_filter:
    input:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        proxy=proxy_table,
        weights=weights_of,
    output:
        model=f"{RESULTS}/{{study}}/models/{{method}}.parquet",
        predictions=f"{RESULTS}/{{study}}/predictions/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/train/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{study}}/{{method}}.tsv"
    wildcard_constraints:
        study=any_of("filter"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        model=lambda wildcards: method_of(wildcards)["model"],
        options=lambda wildcards: method_of(wildcards)["options"],
        selector=lambda wildcards: proxy_spec(wildcards),
        target=lambda wildcards: study_of(wildcards)["target"],
        repeats=lambda wildcards: method_of(wildcards)["repeats"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "train_filter.py",
            ("model", method_of(wildcards)["model"]),
            ("selector", proxy_spec(wildcards)["selector"]),
        ),
    script:
        "../../scripts/train_filter.py"
