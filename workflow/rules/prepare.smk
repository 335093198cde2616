"""Stage 1, prepare: raw files to one typed table a data set, nulls for what is missing.

Needs: raw files (downloaded or generated). Makes: {data}/prepared/{dataset}.parquet; twins in
{data}/prepared/generated/. A table of the user's own is read from where it is. Simulated data sets have no raw files: `simulate` draws their table.
"""

for dataset_name, dataset_plan in PLAN["datasets"].items():
    if dataset_plan["source"] == "simulated":

        rule:
            name:
                f"simulate_{dataset_name}"
            output:
                table=prepared(dataset_name),
                truth=known_truth(dataset_name),
            log:
                f"{RESULTS}/logs/simulate/{dataset_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/simulate/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=500,
                runtime=10,
            params:
                dataset=dataset_name,
                rows=dataset_plan["rows"],
                seed=PLAN["seed"],
                code=code("simulate.py", ("dataset", dataset_name)),
            script:
                "../../scripts/simulate.py"

    elif dataset_plan["source"] == "own":

        rule:
            name:
                f"read_{dataset_name}"
            input:
                dataset_plan["path"],
            output:
                table=prepared(dataset_name),
            log:
                f"{RESULTS}/logs/prepare/{dataset_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/prepare/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=2000,
                runtime=20,
            params:
                dataset=dataset_name,
                code=code("read_own.py", ("dataset", dataset_name)),
            script:
                "../../scripts/read_own.py"

    else:

        rule:
            name:
                f"prepare_{dataset_name}"
            input:
                raw_files(dataset_name),
            output:
                table=prepared(dataset_name),
            log:
                f"{RESULTS}/logs/prepare/{dataset_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/prepare/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=1000,
                runtime=10,
            params:
                dataset=dataset_name,
                digests=(
                    dataset_plan["files"]
                    if dataset_plan["source"] == "download"
                    else {}
                ),
                code=code("prepare.py", ("dataset", dataset_name)),
            script:
                "../../scripts/prepare.py"
