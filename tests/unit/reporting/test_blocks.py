"""What the jobs of a run cost, from the benchmark files that Snakemake keeps."""

import csv

from counterweight.reporting.blocks import COSTS, write_costs

COLUMNS = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def benchmark(folder, name, seconds, memory, cpu):
    path = folder / "benchmarks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{COLUMNS}{seconds}\t0:00:01\t{memory}\t1\t1\t1\t0\t0\t1\t{cpu}\n")


def test_costs_are_sums_by_rule_and_study_and_the_largest_memory(tmp_path):
    benchmark(tmp_path, "train/adult/logistic.tsv", 2.0, 150.5, 1.5)
    benchmark(tmp_path, "train/adult/svm.tsv", 3.0, 90.0, 2.5)
    benchmark(tmp_path, "train/bank/logistic.tsv", 1.0, 80.0, 1.0)
    benchmark(tmp_path, "label/adult.tsv", 0.4, "NA", "-")
    benchmark(tmp_path, "report.tsv", 4.0, 300.0, 3.5)
    write_costs(tmp_path)
    with (tmp_path / COSTS).open(newline="") as lines:
        rows = [list(row.values()) for row in csv.DictReader(lines, delimiter="\t")]
    assert rows == [
        ["label", "adult", "1", "0.0", "0.4", "0.0"],
        ["report", "", "1", "3.5", "4.0", "300.0"],
        ["train", "adult", "2", "4.0", "5.0", "150.5"],
        ["train", "bank", "1", "1.0", "1.0", "80.0"],
    ]
