"""Stage 5, model training: one job a study and method, all repeats inside.

Needs: features, labels, the method's weights, and the fitted models that it begins from; an
oracle also gets what is hidden. Makes: parameters and predictions of the test rows.
"""


rule train:
    input:
        unpack(inputs_of("train")),
    output:
        model=f"{PLACE}/{{study}}/models/{{method}}.parquet",
        predictions=f"{PLACE}/{{study}}/predictions/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/train/{{study}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/train/{{study}}/{{method}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("train", 1500),
        runtime=more(60),
    params:
        job=spec_of("train"),
    script:
        "../../scripts/train.py"
