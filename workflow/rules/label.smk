"""Stage 2, biased labeling split: features, who is labeled, train and test rows.

Needs: a prepared table. Makes: features, labels (what may be seen) and truth (what is hidden;
only evaluation and oracle methods read it), and their sizes as metrics. What is hidden depends on
the task: outcomes, answers, groups; of logged actions, what a policy was worth.
"""


rule label:
    input:
        unpack(inputs_of("label")),
    output:
        features=f"{PLACE}/{{study}}/features.parquet",
        labels=f"{PLACE}/{{study}}/labels.parquet",
        truth=f"{PLACE}/{{study}}/truth.parquet",
        metrics=f"{PLACE}/{{study}}/metrics/labels.parquet",
    log:
        f"{RESULTS}/logs/label/{{study}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/label/{{study}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("label", 1300),
        runtime=more(20),
    params:
        job=spec_of("label"),
    script:
        "../../scripts/label.py"
