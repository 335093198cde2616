"""Predicted coverage of rehearsals against the true one, in worlds whose truth is known.

    python tests/benchmarks/rehearsed.py FAMILY [tables] [copies] [fresh]

draws tables of a world; on each it makes copies and counts in how many the interval held the truth,
then makes the answer on fresh tables of that world and counts the same. FAMILY is log, user (a log
whose rows belong to users), thin (few rewards), filter (copies alone), or blanks (600 rows).
"""

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "unit"), str(ROOT / "examples")]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import tables  # noqa: E402
from counterweight.plan.tasks import jobs_of_answer  # noqa: E402
from counterweight.tables.parquet import METRICS, metrics_table, read_table, write_table  # noqa: E402
from delivering import Own  # noqa: E402

#: Rows of a table of blanks.
ROWS = 600
LOG = {"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}}
LOG |= {"keep_rate": 0.1}
FILTER = {"id": "person", "balance": ["region"], "alpha": 0.25}
BLANKS = {"id": "customer", "outcome": {"column": "default", "positive": 1}}
BLANKS |= {"labeled": {"where": {"approved": "yes"}}, "columns": {"ignore": ["notes"]}}


def drawn(family, rng):
    """A table of a world, its config, and the truth of each part, None where nobody knows it."""
    if family in ("log", "user", "thin"):
        frame, truth = tables.clicks(rng, 1500 if family == "thin" else 6000)
        return frame, LOG | ({"user": "user"} if family == "user" else {}), {"new": truth["new"]}
    if family == "filter":
        return tables.panel(rng, 4000)[0], FILTER, {"what a leaf tells": None}
    frame, _, truth = tables.lender(rng, ROWS * 6 // 5)
    hidden = frame.loc[frame["default"].isna(), "customer"]
    rate = truth.set_index("customer")["default"].loc[hidden].mean()
    return frame, BLANKS, {"unlabeled": rate}


def answered(frame, entry):
    """A study of a table, run up to what it delivers."""
    own = Own(Path(tempfile.mkdtemp()), frame, entry)
    for stage, _ in jobs_of_answer(own.plan, own.study, own.at):
        made = own.run(*stage)
        if stage[0] == "evaluate":
            table = metrics_table("mine", stage[1], made)
            write_table(own.at.metrics(stage[1]), table, METRICS)
    return own


def ends(own, family):
    """Interval of a study's answer."""
    if family == "blanks":
        records = read_table(own.at.metrics("delivered"))
        records = records[records["part"].eq("unlabeled") & records["metric"].eq("target_rate")]
        return tuple(
            records[records["variable"].eq(end)]["value"].iloc[0] for end in ("low", "high")
        )
    line = pd.read_csv(f"{own.at.folder}/values.csv").query("policy == 'new'").iloc[0]
    return line["low"], line["high"]


def predicted(own, copies):
    """Share of copies in which the interval of a part held the truth."""
    found = pd.concat(
        [read_table(own.run("rehearse", f"assumed_{k}")["table"]) for k in range(copies)]
    )
    wide = found.pivot_table("value", ["part", "step"], "metric")
    within = wide["rehearsed_truth"].between(wide["rehearsed_low"], wide["rehearsed_high"])
    return within[wide["rehearsed_high"].notna()].groupby("part").mean()


def main(family="log", count=4, copies=40, fresh=150):
    """Print predicted and true coverage, and CPU seconds."""
    start, shares = time.process_time(), []
    for number in range(int(count)):
        frame, entry, truth = drawn(family, np.random.default_rng([17, number]))
        told = {"copies": int(copies), "scenarios": ["assumed"]}
        own = answered(frame, entry | {"rehearse": told})
        shares.append(predicted(own, int(copies))[[*truth]].to_numpy())
    spent, held = time.process_time() - start, []
    for number in range(int(fresh)):
        frame, entry, truth = drawn(family, np.random.default_rng([18, number]))
        low, high = ends(answered(frame, entry), family)
        held += [low <= value <= high for value in truth.values()]
    shares, true = np.ravel(shares), np.mean(held) if held else np.nan
    error = np.sqrt(true * (1 - true) / max(len(held), 1))
    print(
        f"{family}: predicted {shares.mean():.3f} ({copies} copies, {len(shares)} tables: "
        f"{np.round(shares, 2).tolist()}), true {true:.3f} +- {error:.3f} over {fresh} tables; "
        f"{spent / len(shares):.0f} CPU s a table"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
