"""Stage 1, columns: what each column of a table of one's own is, and why.

Needs: its typed table. Makes: the column report, which labeling and all later stages go by
({results}/prepared/{dataset}.columns.parquet), and the same for people to read as CSV.
"""

for dataset_name in PLAN["datasets"]:
    if job("columns", dataset_name):

        rule:
            name:
                f"columns_{dataset_name}"
            input:
                unpack(inputs_of("columns", dataset_name)),
            output:
                **job("columns", dataset_name).outputs,
            log:
                PATHS.log("columns", dataset_name),
            benchmark:
                f"{RESULTS}/benchmarks/columns/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=needed("columns", 2000, dataset_name),
                runtime=more(20),
            params:
                job=spec_of("columns", dataset_name),
            script:
                "../../scripts/columns.py"
