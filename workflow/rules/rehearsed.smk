"""What the copies of a rehearsal say together.

Needs: a file a copy. Makes: one table of measurements.
"""

for study_name in STUDIES:
    if job("rehearsed", study_name):

        rule:
            name:
                f"rehearsed_{study_name}"
            input:
                unpack(inputs_of("rehearsed", study_name)),
            output:
                **job("rehearsed", study_name).outputs,
            log:
                PATHS.log("rehearsed", study_name),
            benchmark:
                f"{RESULTS}/benchmarks/rehearsed/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=more(800),
                runtime=more(10),
            params:
                job=spec_of("rehearsed", study_name),
            script:
                "../../scripts/rehearsed.py"
