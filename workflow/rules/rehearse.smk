"""Rehearsals: the whole answer of a study on synthetic copies of its table, with known truth.

Needs: what a study delivers, and what its table was labeled and selected by. Makes: a file a copy
of answers and truths.
"""


rule rehearse:
    input:
        unpack(inputs_of("rehearse")),
    output:
        table=f"{PLACE}/{{study}}/rehearsal/{{rehearsal}}.parquet",
    log:
        f"{RESULTS}/logs/rehearse/{{study}}/{{rehearsal}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rehearse/{{study}}/{{rehearsal}}.tsv"
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=needed("rehearse", 1500),
        runtime=more(30),
    params:
        job=spec_of("rehearse"),
    script:
        "../../scripts/rehearse.py"
