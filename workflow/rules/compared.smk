"""What the data sets of a benchmark say together: ranks, shares, tests.

Needs: the measurements of every data set. Makes: tables as CSV.
"""

for benchmark_name in BENCHMARKS.names:

    rule:
        name:
            f"compared_{benchmark_name}"
        input:
            **BENCHMARKS.job("compared", benchmark_name).inputs,
        output:
            **BENCHMARKS.job("compared", benchmark_name).outputs,
        log:
            PATHS.log("compared", benchmark_name),
        benchmark:
            f"{RESULTS}/benchmarks/compared/{benchmark_name}.tsv"
        conda:
            ENVIRONMENT
        threads: 1
        resources:
            mem_mb=more(800),
            runtime=more(10),
        params:
            job=spec_of("compared", benchmark_name),
        script:
            "../../scripts/compared.py"
