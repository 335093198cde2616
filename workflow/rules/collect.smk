"""Which labels to buy next: rows drawn with known chances.

Needs: what the study's fits say of every row, the secret key, and labels that came back. Makes: the
rows to label (collect.csv), the chances of all rows (plan.parquet), and what interval to expect.
"""

for study_name in STUDIES:
    if job("collect", study_name):

        rule:
            name:
                f"collect_{study_name}"
            input:
                unpack(inputs_of("collect", study_name)),
            output:
                **job("collect", study_name).outputs,
            log:
                PATHS.log("collect", study_name),
            benchmark:
                f"{RESULTS}/benchmarks/collect/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=needed("collect", 1500, study_name),
                runtime=more(10),
            params:
                job=spec_of("collect", study_name),
            script:
                "../../scripts/collect.py"
