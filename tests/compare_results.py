"""Compare what two runs measured: python tests/compare_results.py OLD NEW [--rtol 1e-9]

OLD and NEW are result folders. Every value of */metrics/*.parquet, claims.parquet and
tables/*.parquet is compared, row by row: rows are found by what they are about (study, method,
repeat, metric ...), so neither their order nor that of the columns matters; rows about the same
are numbered as they stand. Values are equal where they are the same, or, for numbers (those in
JSON texts, too), where they differ by no more than --rtol times the larger one; NaN equals NaN.

Prints what is in one folder only, which columns of which tables differ and by how much, and a
summary. Exits with status 1 when anything differs.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import item_columns
import numpy as np
import pandas as pd

PATTERNS = ("*/metrics/*.parquet", "claims.parquet", "tables/*.parquet")
#: Columns that say what a row is about; the others are what was found.
KEYS = (
    *("id", "study", "source", "method", "repeat", "target", "metric", "measure", "setting"),
    *("part", "variable", "step", "keep_rate", "item", "assignment", "group", "estimator"),
)


def canonical(table):
    """A table in the form that both sides are compared in.

    EXTEND HERE when columns change their form but not their content: bring the older form into
    the newer one (or the reverse), tell the two apart by their columns, and add new columns that
    rows are found by to `KEYS`. Packed items become typed columns (see `item_columns`); claims
    are told in other words since, so that their sentences are left out and their verdicts are
    formed anew from the outcomes of their rules, if there are any.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    DataFrame
        With the same rows in the same order.
    """
    if "rules" in table:
        rules = table["rules"].map(lambda text: json.dumps(item_columns.unpack_rules(text)))
        table = table.assign(rules=rules).drop(columns="detail", errors="ignore")
        if "verdict" in table:
            table["verdict"] = [
                _verdict(*pair) for pair in zip(table["verdict"], rules, strict=True)
            ]
        return table
    if "mean" in table and "metric" in table:
        # Tables of results before they had one form: bounds were those of the difference, if any.
        ends = {"low": "diff_low", "high": "diff_high"} if "diff" in table else {}
        names = {"mean": "estimate", "assignment": "setting", "group": "part"}
        table = table.rename(columns=names | ends)
    return item_columns.unpack_results(item_columns.unpack_items(table))


#: Verdicts as they were called before they were short.
OLD_VERDICTS = {
    "reproduced": "holds",
    "not reproduced": "does not hold",
    "not reproduced: undecided": "undecided",
}


def _verdict(verdict, rules):
    """A verdict in the words of today: what was *depends on ...* goes by the outcomes."""
    if verdict.startswith("depends on"):
        outcomes = {rule["verdict"] for rule in json.loads(rules)}
        return "depends" if "fails" in outcomes else "holds where it could be decided"
    return OLD_VERDICTS.get(verdict, verdict)


@dataclass
class Comparison:
    """What was compared and what differs."""

    lines: list = field(default_factory=list)
    files: int = 0
    same_bytes: int = 0
    differing_files: int = 0
    values: int = 0
    differing: int = 0
    largest: float = 0.0

    def summary(self):
        return (
            f"{self.files} tables in both folders, {self.same_bytes} of them with equal bytes; "
            f"{self.differing_files} differ. {self.values} values compared, {self.differing} "
            f"differ; largest relative difference {self.largest:.3g}."
        )


def compare(old, new, rtol=0.0):
    """Compare two result folders.

    Parameters
    ----------
    old, new : Path
    rtol : float
        Largest difference that counts as none, relative to the larger of two numbers.

    Returns
    -------
    Comparison
        Its ``lines`` are empty where nothing differs.
    """
    found = Comparison()
    here, there = (
        {str(path.relative_to(folder)) for pattern in PATTERNS for path in folder.glob(pattern)}
        for folder in (old, new)
    )
    if not here | there:
        found.lines.append(f"Neither {old} nor {new} has a table to compare.")
    for folder, names in ((old, here - there), (new, there - here)):
        found.lines += [f"only in {folder}: {name}" for name in sorted(names)]
    for name in sorted(here & there):
        found.files += 1
        found.same_bytes += (old / name).read_bytes() == (new / name).read_bytes()
        tables = [canonical(pd.read_parquet(folder / name)) for folder in (old, new)]
        lines = list(_differences(*tables, rtol, found))
        found.differing_files += bool(lines)
        found.lines += [f"{name}: {line}" for line in lines]
    return found


def _differences(old, new, rtol, found):
    """Sentences on what differs between two tables; the counts go into `found`."""
    for side, others, where in ((old, new, "OLD"), (new, old, "NEW")):
        only = [column for column in side.columns if column not in others.columns]
        if only:
            yield f"columns only in {where}: {', '.join(only)}"
    keys = [column for column in KEYS if column in old.columns and column in new.columns]
    sides = [_by_key(old, keys).add_suffix(" old"), _by_key(new, keys).add_suffix(" new")]
    both = sides[0].join(sides[1], how="outer")
    places = [both.pop(f"place {side}").notna().to_numpy() for side in ("old", "new")]
    for here, missing, where in ((*places, "OLD"), (*places[::-1], "NEW")):
        rows = both.index[here & ~missing]
        if len(rows):
            yield f"{len(rows)} rows only in {where}, e.g. {_shown(rows[0], keys)}"
    both = both[places[0] & places[1]]
    for column in old.columns:
        if column in keys or column not in new.columns:
            continue
        first, second = (both[f"{column} {side}"] for side in ("old", "new"))
        apart = _apart(first, second)
        found.values += len(apart)
        found.largest = max(found.largest, apart.max(initial=0.0))
        wrong = np.flatnonzero(apart > rtol)
        found.differing += len(wrong)
        if len(wrong):
            worst = wrong[np.argmax(apart[wrong])]
            yield (
                f"{column} differs in {len(wrong)} of {len(apart)} rows, by up to "
                f"{apart[worst]:.3g}: {first.iloc[worst]} is now {second.iloc[worst]} "
                f"({_shown(both.index[worst], keys)})"
            )


def _by_key(table, keys):
    """The table, indexed by its keys and the number of the row among those with equal keys."""
    number = table.groupby(keys, dropna=False).cumcount() if keys else np.arange(len(table))
    # Missing keys would never meet.
    index = table[keys].astype(object).where(table[keys].notna(), "(missing)")
    table = table.drop(columns=keys).assign(place=np.arange(len(table)))
    table.index = pd.MultiIndex.from_frame(index.assign(number=number))
    return table


def _shown(key, keys):
    """What a row is about, for a sentence; the last part of the key is the row's number."""
    named = zip(keys, key[:-1], strict=True)
    return " ".join(f"{name}={value}" for name, value in named if value != "")


def _apart(first, second):
    """Relative difference of each pair of values: 0 where they are the same, inf for texts."""
    if all(pd.api.types.is_numeric_dtype(side.dtype) for side in (first, second)):
        return _relative(first.to_numpy(float), second.to_numpy(float))
    return np.array([_apart_texts(*pair) for pair in zip(first, second, strict=True)], float)


def _relative(first, second):
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(first - second) / np.maximum(np.abs(first), np.abs(second))
    apart[(first == second) | (np.isnan(first) & np.isnan(second))] = 0.0
    return np.where(np.isnan(apart), np.inf, apart)


def _apart_texts(first, second):
    """Difference of two cells that are no numbers: of the numbers in them, where both are JSON."""
    if first == second or (pd.isna(first) and pd.isna(second)):
        return 0.0
    try:
        return _apart_parts(json.loads(first), json.loads(second))
    except (TypeError, ValueError):
        return np.inf


def _apart_parts(first, second):
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return max((_apart_parts(first[key], second[key]) for key in first), default=0.0)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return max(map(_apart_parts, first, second), default=0.0)
    if all(type(part) in (int, float) for part in (first, second)):
        return _relative(*np.array([[first], [second]], float)).item()
    return 0.0 if first == second else np.inf


def main(arguments=None):
    """Compare, print what differs, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rtol", type=float, default=0.0, help="default: exact")
    asked = parser.parse_args(arguments)
    for folder in (asked.old, asked.new):
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    found = compare(asked.old, asked.new, asked.rtol)
    print("\n".join([*found.lines, found.summary()]))
    return 1 if found.lines else 0


if __name__ == "__main__":
    sys.exit(main())
