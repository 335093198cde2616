"""Stage 1, dataset download: upstream bytes, checked against pinned SHA-256 digests.

Needs: the network, or a mirror folder (data_mirror, COUNTERWEIGHT_MIRROR), or files put by
hand where they belong: `update` keeps Snakemake from deleting those before the job looks at
them. Makes: {data}/raw/{dataset}/... With data_source: generated, twins in the upstream format.
"""

for dataset_name, dataset_plan in PLAN["datasets"].items():
    if dataset_plan["source"] == "download":

        rule:
            name:
                f"download_{dataset_name}"
            output:
                [update(path) for path in raw_files(dataset_name)],
            log:
                f"{RESULTS}/logs/download/{dataset_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/download/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=500,
                runtime=60,
            params:
                dataset=dataset_name,
                files=components.declared("dataset", dataset_name, "FILES"),
                sources=components.declared("dataset", dataset_name, "SOURCES"),
                code=code("download.py"),
            script:
                "../../scripts/download.py"

    elif dataset_plan["source"] == "generated":

        rule:
            name:
                f"generate_{dataset_name}"
            output:
                raw_files(dataset_name),
                truth=f"{DATA}/generated/{dataset_name}/truth.parquet",
            log:
                f"{RESULTS}/logs/generate/{dataset_name}.log",
            benchmark:
                f"{RESULTS}/benchmarks/generate/{dataset_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=1500,
                runtime=30,
            params:
                dataset=dataset_name,
                rows=dataset_plan["rows"],
                seed=PLAN["seed"],
                code=code("generate.py", ("dataset", dataset_name)),
            script:
                "../../scripts/generate.py"
