"""What a study gave away, on new rows: those that its key `score` names, as part of the run, or
`snakemake apply --config candidates=people.csv`.

Needs: the delivered file and a table of new rows. Makes: their answers, as Parquet and CSV.
"""

for study_name in STUDIES:
    if STUDIES[study_name]["score"] and job("apply", study_name):

        rule:
            name:
                f"apply_{study_name}"
            input:
                unpack(inputs_of("apply", study_name)),
            output:
                **job("apply", study_name).outputs,
            log:
                PATHS.log("apply", study_name),
            benchmark:
                f"{RESULTS}/benchmarks/apply/{study_name}.tsv"
            localrule: True
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=more(1500),
                runtime=more(30),
            params:
                job=spec_of("apply", study_name),
            script:
                "../../scripts/apply.py"


if APPLIED:

    rule apply:
        input:
            unpack(inputs_of("apply", APPLIED)),
        output:
            **job("apply", APPLIED).outputs,
        log:
            f"{RESULTS}/logs/apply.log",
        benchmark:
            f"{RESULTS}/benchmarks/apply.tsv"
        localrule: True
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=more(1500),
            runtime=more(30),
        params:
            job=spec_of("apply", APPLIED),
        script:
            "../../scripts/apply.py"
