"""Logs in partitions: sums of each, by a job of its own.

Needs: one file of a log. Makes: sums over its rows, which stage 2 merges.
"""


rule sum:
    input:
        unpack(inputs_of("sum")),
    output:
        sums=f"{PLACE}/{{study}}/sums/{{part}}.parquet",
    log:
        f"{RESULTS}/logs/sum/{{study}}/{{part}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/sum/{{study}}/{{part}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=more(800),
        runtime=more(60),
    params:
        job=spec_of("sum"),
    script:
        "../../scripts/sum.py"
