"""Stage 2, biased labeling split: features, who is labeled, train and test rows.

Needs: a prepared table. Makes: features, labels (what may be seen) and truth (what is hidden;
only evaluation and oracle methods read it), and their sizes as metrics. With keep_rate below 1
the test rows are a log that lost a part of its zeros. Studies of logged actions have a rule of
their own, which streams: who logged each row takes the place of who is labeled. In studies of
balanced filters the sensitive groups of the test rows are what is hidden.
"""


rule label:
    input:
        table=lambda wildcards: prepared(study_of(wildcards)["dataset"]),
        known=lambda wildcards: known_truth(study_of(wildcards)["dataset"]),
    output:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/labels.parquet",
    log:
        f"{RESULTS}/logs/label/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/label/{{study}}.tsv"
    wildcard_constraints:
        study=any_of("classification"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        dataset=lambda wildcards: study_of(wildcards)["dataset"],
        features=lambda wildcards: chosen(study_of(wildcards)["features"], "recipe"),
        outcome=lambda wildcards: chosen(study_of(wildcards)["outcome"], "rule"),
        labeling=lambda wildcards: chosen(study_of(wildcards)["labeling"], "rule"),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        repeats=lambda wildcards: study_of(wildcards)["repeats"],
        test_share=lambda wildcards: study_of(wildcards)["test_share"],
        targets=lambda wildcards: study_of(wildcards)["targets"],
        keep_rate=lambda wildcards: study_of(wildcards)["keep_rate"],
        complete=lambda wildcards: components.declared(
            "labeling", study_of(wildcards)["labeling"]["rule"], "COMPLETE", False
        ),
        informed=lambda wildcards: components.declared(
            "labeling", study_of(wildcards)["labeling"]["rule"], "FEATURES", False
        ),
        samples=lambda wildcards: study_of(wildcards)["samples"],
        test_rows=lambda wildcards: study_of(wildcards)["test_rows"],
        code=lambda wildcards: code(
            "label.py",
            ("features", study_of(wildcards)["features"]["recipe"]),
            ("outcome", study_of(wildcards)["outcome"]["rule"]),
            ("labeling", study_of(wildcards)["labeling"]["rule"]),
        ),
    script:
        "../../scripts/label.py"


rule label_log:
    input:
        table=lambda wildcards: prepared(study_of(wildcards)["dataset"]),
        known=lambda wildcards: known_truth(study_of(wildcards)["dataset"]),
    output:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/labels.parquet",
    log:
        f"{RESULTS}/logs/label/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/label/{{study}}.tsv"
    wildcard_constraints:
        study=any_of("log"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        features=lambda wildcards: chosen(study_of(wildcards)["features"], "recipe"),
        outcome=lambda wildcards: chosen(study_of(wildcards)["outcome"], "rule"),
        labeling=lambda wildcards: chosen(study_of(wildcards)["labeling"], "rule"),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        code=lambda wildcards: code(
            "label_log.py",
            ("features", study_of(wildcards)["features"]["recipe"]),
            ("outcome", study_of(wildcards)["outcome"]["rule"]),
            ("labeling", study_of(wildcards)["labeling"]["rule"]),
        ),
    script:
        "../../scripts/label_log.py"


rule label_offers:
    input:
        table=lambda wildcards: prepared(study_of(wildcards)["dataset"]),
        known=lambda wildcards: known_truth(study_of(wildcards)["dataset"]),
    output:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/labels.parquet",
    log:
        f"{RESULTS}/logs/label/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/label/{{study}}.tsv"
    wildcard_constraints:
        study=any_of("offers"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        features=lambda wildcards: chosen(study_of(wildcards)["features"], "recipe"),
        outcome=lambda wildcards: chosen(study_of(wildcards)["outcome"], "rule"),
        labeling=lambda wildcards: chosen(study_of(wildcards)["labeling"], "rule"),
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        repeats=lambda wildcards: study_of(wildcards)["repeats"],
        test_share=lambda wildcards: study_of(wildcards)["test_share"],
        code=lambda wildcards: code(
            "label_offers.py",
            ("features", study_of(wildcards)["features"]["recipe"]),
            ("outcome", study_of(wildcards)["outcome"]["rule"]),
            ("labeling", study_of(wildcards)["labeling"]["rule"]),
        ),
    script:
        "../../scripts/label_offers.py"


rule label_groups:
    input:
        table=lambda wildcards: prepared(study_of(wildcards)["dataset"]),
    output:
        features=f"{RESULTS}/{{study}}/features.parquet",
        labels=f"{RESULTS}/{{study}}/labels.parquet",
        truth=f"{RESULTS}/{{study}}/truth.parquet",
        metrics=f"{RESULTS}/{{study}}/metrics/labels.parquet",
    log:
        f"{RESULTS}/logs/label/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/label/{{study}}.tsv"
    wildcard_constraints:
        study=any_of("filter"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        features=lambda wildcards: chosen(study_of(wildcards)["features"], "recipe"),
        outcome=lambda wildcards: chosen(study_of(wildcards)["outcome"], "rule"),
        labeling=lambda wildcards: chosen(study_of(wildcards)["labeling"], "rule"),
        target=lambda wildcards: study_of(wildcards)["target"],
        seed=PLAN["seed"],
        stream=lambda wildcards: study_of(wildcards)["stream"],
        repeats=lambda wildcards: study_of(wildcards)["repeats"],
        test_share=lambda wildcards: study_of(wildcards)["test_share"],
        code=lambda wildcards: code(
            "label_groups.py",
            ("features", study_of(wildcards)["features"]["recipe"]),
            ("outcome", study_of(wildcards)["outcome"]["rule"]),
            ("labeling", study_of(wildcards)["labeling"]["rule"]),
        ),
    script:
        "../../scripts/label_groups.py"
