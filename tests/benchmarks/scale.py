"""Every family at growing numbers of rows: time and memory by stage, and how they grow.

``python tests/benchmarks/scale.py [ROWS ...] [FAMILY ...]`` (10,000 100,000 1,000,000 and all
families where none are named) draws the tables of the examples with so many rows, runs the
workflow on them and a study of labels on a generated Adult with ten repeats, and reads the
benchmark files of the jobs. ``results/scale`` then has a folder for each size, with what was run of
it, and over all of them ``scale.csv``, ``scale.md`` and ``scale.svg``. Last come the numbers of
`counterweight.plan.stages.MEMORY` that such measurements, kept in ``tests/unit/plan/memory.csv``,
ask for.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import yaml
from counterweight.plan.stages import HELD, OF_LIBRARIES

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results" / "scale"
SIZES = (10_000, 100_000, 1_000_000)
#: Seconds from which a stage counts for how time grows: below it is the start of a process.
COUNTED = 3.0
FAMILIES = {
    "outcome": "outcome with blanks, 15 columns",
    "offers": "offers",
    "filter": "balanced filter",
    "log": "log",
    "promises": "promises",
    "repeats": "study of labels, 10 repeats",
}

#: The study that is not of a table of one's own: labels of married people, as in the paper.
REPEATS = {
    "title": "Labels of married people",
    "family": "selection_bias",
    "dataset": "adult",
    "features": {"recipe": "adult_binary", "noise": 0.25},
    "outcome": {"rule": "equals", "column": "income", "value": ">50K"},
    "labeling": {"rule": "married", "spouse_absent": False},
    "repeats": 10,
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma1"}, {"weighting": "lemma2"}],
    "models": [
        {"model": "logistic"},
        {"model": "logistic", "weights": "lemma1"},
        {"model": "logistic", "weights": "lemma2"},
        {"model": "logistic", "oracle": True},
        {"model": "gradient_boosting", "weights": "lemma1"},
        {"model": "tilted"},
    ],
}


def further(rng, rows):
    """Columns that make fifteen of the lender's nine: numbers, some blank, and levels of words."""
    tenure = rng.gamma(2, 3, rows).round(1)
    return {
        "age": rng.integers(18, 80, rows),
        "tenure": np.where(rng.random(rows) < 0.1, np.nan, tenure),
        "balance": rng.normal(2000, 900, rows).round(2),
        "usage": (rng.beta(2, 2, rows) * 100).round(1),
        "branch": rng.choice([f"branch {number}" for number in range(40)], rows),
        "product": rng.choice(["card", "car", "house", "study", "other"], rows),
    }


def drawn(rows, folder, families):
    """Write the tables of `rows` rows; the config that runs those of the families."""
    spec = importlib.util.spec_from_file_location("tables", ROOT / "examples" / "tables.py")
    examples = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(examples)
    rng = np.random.default_rng(rows)
    frames = {}
    frames["outcome"], frames["new_outcome"], _ = examples.lender(rng, rows)
    for name in ("outcome", "new_outcome"):
        frames[name] = frames[name].assign(**further(rng, len(frames[name])))
    frames["offers"], frames["new_offers"] = examples.school(rng, rows)
    frames["filter"], frames["new_filter"] = examples.panel(rng, rows)
    # As many rows as the others after the zeros are dropped.
    frames["log"], _ = examples.clicks(rng, 8 * rows)
    frames["promises"], frames["new_promises"] = examples.hiring(rng, rows)
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    questions = {
        "outcome": {
            "id": "customer",
            "outcome": {"column": "default", "positive": 1},
            "labeled": {"where": {"approved": "yes"}},
            "columns": {"ignore": ["notes"]},
        },
        "offers": {
            "id": "applicant",
            "offer": {
                **{"column": "aid", "low": 0, "high": 12, "direction": "up"},
                "revenue": {"intercept": 12, "slope": -1},
            },
            "answer": "came",
        },
        "filter": {"id": "person", "balance": ["region"], "alpha": 0.2},
        "log": {
            **{"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}},
            **{"keep_rate": 0.1, "user": "user"},
        },
        "promises": {
            "id": "candidate",
            "outcome": {"column": "did well", "positive": "yes"},
            "groups": {"women": {"sex": "Female"}, "men": {"sex": "Male"}},
            "deployed": {"column": "invited", "positive": "yes"},
            "promises": ["coverage(women) >= 0.8 * coverage(men)", "churn(everyone) <= 0.4"],
        },
    }
    for name, question in questions.items():
        question["table"] = str(folder / f"{name}.parquet")
        if f"new_{name}" in frames:
            question["score"] = str(folder / f"new_{name}.parquet")
    tables = {name: question for name, question in questions.items() if name in families}
    return {
        **({"tables": tables} if tables else {}),
        **({"studies": {"repeats": REPEATS}} if "repeats" in families else {}),
        "results": str(folder / "results"),
        "data": str(folder / "data"),
        "data_source": "generated",
        "datasets": {"adult": {"rows": rows}},
    }


def costs(results):
    """CPU seconds and largest memory by family and stage, from the benchmark files of a run."""
    found = []
    for path in sorted((results / "benchmarks").rglob("*.tsv")):
        stage, *rest = path.relative_to(results / "benchmarks").with_suffix("").parts
        study = rest[0] if rest else ""
        study = "repeats" if study == "adult" else study.removeprefix("own_table_")
        if study not in FAMILIES:
            continue
        table = pd.read_csv(path, sep="\t")
        found.append(
            {
                "family": study,
                "stage": stage,
                "cpu_seconds": pd.to_numeric(table["cpu_time"], errors="coerce").sum(),
                "wall_seconds": table["s"].sum(),
                "memory_mib": pd.to_numeric(table["max_rss"], errors="coerce").max(),
            }
        )
    how = {"cpu_seconds": "sum", "wall_seconds": "sum", "memory_mib": "max"}
    return pd.DataFrame(found).groupby(["family", "stage"], as_index=False).agg(how)


def run(rows, families):
    """Draw, run and measure one size."""
    folder = FOLDER / str(rows)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = folder / "scale.yaml"
    config.write_text(yaml.safe_dump(drawn(rows, folder, families), sort_keys=False))
    snakemake = Path(sys.executable).with_name("snakemake")
    command = [snakemake, "--cores", "1", "--quiet", "rules", "--configfile", config]
    subprocess.run(command, cwd=ROOT, check=True)
    found = costs(folder / "results").assign(rows=rows)
    kept = FOLDER / f"{rows}.csv"
    if kept.exists():
        before = pd.read_csv(kept)
        found = pd.concat([before[~before["family"].isin(families)], found])
    found.to_csv(kept, index=False)


def grown(table):
    """Exponents of time and memory in the rows, between the two largest sizes of each stage.

    Seconds and memory are of the largest.
    """
    found = []
    for (family, stage), part in table.groupby(["family", "stage"], sort=False):
        part = part.sort_values("rows")
        last = part.iloc[-1]
        line = {"family": family, "stage": stage, "rows": last.rows, "seconds": last.cpu_seconds}
        line |= {"mib": last.memory_mib, "time": np.nan, "memory": np.nan}
        if len(part) > 1 and last.cpu_seconds >= COUNTED:
            before = part.iloc[-2]
            factor = np.log(last.rows / before.rows)
            line["time"] = np.log(last.cpu_seconds / max(before.cpu_seconds, 1e-9)) / factor
            line["memory"] = np.log(last.memory_mib / before.memory_mib) / factor
        found.append(line)
    return pd.DataFrame(found)


def needed(told):
    """`counterweight.plan.stages.MEMORY` by measured jobs (``stage, rows, columns, mib``).

    Of each stage the least numbers by which every job has enough: those of the first rows by tables
    of about `HELD`, those of further ones by larger tables. Of fewer rows the libraries take most.
    """
    found = {}
    for stage, part in told.groupby("stage"):
        own = part["mib"] * 2**20 / 10**6 - OF_LIBRARIES
        few = part["rows"].clip(upper=HELD) * part["columns"] / 10**6
        many = (part["rows"] - HELD).clip(lower=0) * part["columns"] / 10**6
        held, larger = part["rows"].between(HELD / 2, 1.1 * HELD), part["rows"] > 1.1 * HELD
        first = max(np.ceil((own / few)[held].max()), 0)
        further = max(np.ceil(((own - first * few) / many)[larger].max()), 0)
        found[stage] = int(first), int(further)
    return found


def written(table):
    """CSV, table for the documentation, and figure."""
    table.to_csv(FOLDER / "scale.csv", index=False)
    lines = [
        "| family | stage | rows | CPU s | MiB | exponent of time | of memory |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for item in grown(table).itertuples():
        grows = [f"{value:.2f}" if np.isfinite(value) else "" for value in (item.time, item.memory)]
        lines.append(
            f"| {FAMILIES[item.family]} | {item.stage} | {item.rows:,} | {item.seconds:.1f} | "
            f"{item.mib:.0f} | {grows[0]} | {grows[1]} |"
        )
    (FOLDER / "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    sums = table.groupby(["family", "rows"], as_index=False).agg(
        {"cpu_seconds": "sum", "memory_mib": "max"}
    )
    for axis, column, label in (
        (axes[0], "cpu_seconds", "CPU seconds, all stages"),
        (axes[1], "memory_mib", "MiB, largest job"),
    ):
        for family, part in sums.groupby("family", sort=False):
            axis.loglog(part["rows"], part[column], marker="o", label=FAMILIES[family])
        axis.set(xlabel="rows", title=label)
        axis.grid(alpha=0.3)
    axes[0].legend(frameon=False, fontsize=8)
    with matplotlib.rc_context({"svg.hashsalt": "scale"}):
        figure.savefig(FOLDER / "scale.svg", metadata={"Date": None})
    print("\n".join(lines))


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word in FAMILIES] or list(FAMILIES)
    sizes = [int(float(word)) for word in sys.argv[1:] if word not in FAMILIES] or SIZES
    FOLDER.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        run(size, chosen)
    written(pd.concat(map(pd.read_csv, sorted(FOLDER.glob("[0-9]*.csv"))), ignore_index=True))
    print(needed(pd.read_csv(ROOT / "tests" / "unit" / "plan" / "memory.csv")))
