"""Stage 1, prepare: raw files to one typed table a data set, nulls for what is missing.

Needs: raw files (downloaded or generated). Makes: {data}/prepared/{dataset}.parquet; twins in
{data}/prepared/generated/. A table of the user's own is read from where it is; simulated data sets
have no raw files, and their table is drawn.
"""

for dataset_name in PLAN["datasets"]:

    rule:
        name:
            f"prepare_{dataset_name}"
        input:
            unpack(inputs_of("prepare", dataset_name)),
        output:
            **job("prepare", dataset_name).outputs,
        log:
            PATHS.log("prepare", dataset_name),
        benchmark:
            f"{RESULTS}/benchmarks/prepare/{dataset_name}.tsv"
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=needed("prepare", 2000, dataset_name),
            runtime=more(20),
        params:
            job=spec_of("prepare", dataset_name),
        script:
            "../../scripts/prepare.py"
