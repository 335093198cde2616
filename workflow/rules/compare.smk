"""Benchmarks: every study of a benchmark on one data set, a job each.

Needs: typed tables; drawn ones are drawn in the job. Makes: a table of measurements a data set,
and what it cost, which no two runs have alike.
"""

for benchmark_name in BENCHMARKS.names:
    for set_name in BENCHMARKS.sets(benchmark_name):

        rule:
            name:
                f"compare_{benchmark_name}_{set_name}"
            input:
                **BENCHMARKS.job("compare", benchmark_name, set_name).inputs,
            output:
                **BENCHMARKS.job("compare", benchmark_name, set_name).outputs,
            log:
                PATHS.log("compare", benchmark_name, set_name),
            benchmark:
                f"{RESULTS}/benchmarks/compare/{benchmark_name}/{set_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=more(1500),
                runtime=more(30),
            params:
                job=spec_of("compare", benchmark_name, set_name),
            script:
                "../../scripts/compare.py"
