"""What a study gives away: offers, a filter with its card.

Needs: what its method fitted, and the labels. Makes: files of the study's own folder, by its task.
"""

for study_name in STUDIES:
    if job("deliver", study_name):

        rule:
            name:
                f"deliver_{study_name}"
            input:
                unpack(inputs_of("deliver", study_name)),
            output:
                **job("deliver", study_name).outputs,
            log:
                PATHS.log("deliver", study_name),
            benchmark:
                f"{RESULTS}/benchmarks/deliver/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=needed("deliver", 1500, study_name),
                runtime=more(10),
            params:
                job=spec_of("deliver", study_name),
            script:
                "../../scripts/deliver.py"
