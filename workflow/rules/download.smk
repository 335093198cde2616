"""Stage 1, dataset download: upstream bytes, checked against pinned SHA-256 digests.

Needs: the network, or a mirror folder (data_mirror, COUNTERWEIGHT_MIRROR), or files put by
hand where they belong: `update` keeps Snakemake from deleting those before the job looks at
them. Makes: {data}/raw/{dataset}/... With data_source: generated, twins in the upstream format.
"""

for dataset_name in PLAN["datasets"]:
    if job("download", dataset_name):

        rule:
            name:
                f"download_{dataset_name}"
            output:
                **downloaded(dataset_name),
            log:
                PATHS.log("download", dataset_name),
            benchmark:
                f"{RESULTS}/benchmarks/download/{dataset_name}.tsv"
            localrule: True
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=more(1500),
                runtime=more(60),
            params:
                job=spec("download", dataset_name),
            script:
                "../../scripts/download.py"
