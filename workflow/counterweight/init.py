"""``python -m counterweight.init my.csv > mine.yaml``: begins the config of a table of one's own.

It reads the table, writes what each column looks like, and leaves the questions open.
"""

import argparse
import sys
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError

#: Columns beyond which the rest is not listed one by one.
MOST = 60

HEAD = """\
# What to ask of {table} ({rows:,} rows, {columns} columns). Take the # from one question, put your
# columns in, and run: make mine CONFIG=mine.yaml
table: {path}
{id}
"""

QUESTIONS = """
# What would the outcome be where it is blank? (an outcome with blanks: refused, not yet known)
{blank}
# labeled: {{where: {{approved: yes}}}}     # default: where the outcome is there
# score: new.csv                        # new rows, answered too

# Which offer earns most from each person? (offers that were made, answers to them)
# offer: {{column: price, direction: down}}
# answer: bought

# Which policy would earn more than the logged one? (rewards, chances of what was done)
# reward: clicked
# propensity: p
# policies: {{new: p_new}}
# keep_rate: 0.01                       # if rows without reward were kept at a rate

# How good are predictions of a reward that the table holds? (rewards, and predictions of them)
# reward: clicked
# predictions: {{old: p_old, new: p_new}}

# How to collect a sample that is balanced over groups, without asking for them?
# balance: [sex]
# alpha: 0.1

# A classifier that keeps promises about groups (with outcome above):
# groups: {{women: {{sex: Female}}, men: {{sex: Male}}}}
# promises: ["coverage(women) >= 0.8 * coverage(men)"]

# Roles that you may add: weight (design weights), time and group (for honest splits).
# columns: {{ignore: [], keep: [], text: [], numbers: [], dates: []}}
"""


def beginning(path):
    """The text of a config for a table.

    Parameters
    ----------
    path : str
        CSV or Parquet file, or a folder of them.

    Returns
    -------
    str
        YAML, a comment for each column.

    Raises
    ------
    CounterweightError
        When the table cannot be read.
    """
    from counterweight.datasets.own_table import read_typed
    from counterweight.labeling.own.column_report import column_report

    table = read_typed(path, absent="name your table")
    report = column_report(table.frame, table.types, table.made, {})
    ids = [fact.column for fact in report if fact.use == "left out" and " id" in fact.why]
    head = HEAD.format(
        table=Path(path).name,
        rows=len(table.frame),
        columns=len(report),
        path=_yaml(str(path)),
        id=f"id: {_yaml(ids[0])}" if ids else "# id: the column that says who a row is",
    )
    blanks = [
        fact
        for fact in report
        if 0.02 <= fact.missing <= 0.98 and fact.distinct == 2 and fact.use == "feature"
    ]
    column = blanks[0].column if blanks else "default"
    blank = f"# outcome: {{column: {_yaml(column)}, positive: 1}}"
    lines = [_line(fact) for fact in report[:MOST]]
    if len(report) > MOST:
        lines.append(f"#   and {len(report) - MOST} more")
    return head + "# Columns:\n" + "\n".join(lines) + "\n" + QUESTIONS.format(blank=blank)


def _line(fact):
    """A comment on one column."""
    parts = [fact.type, f"{fact.distinct:,} values"]
    if fact.missing:
        parts.append(f"{100 * fact.missing:.3g} % missing")
    parts += [text for text in (fact.made, fact.use if fact.use != "feature" else "") if text]
    parts += [fact.why] if fact.why else []
    return f"#   {fact.column}: {'; '.join(parts)}".replace("\n", " ")


def _yaml(text):
    """A text as YAML has it on one line."""
    return yaml.safe_dump(text, default_flow_style=True, allow_unicode=True).split("\n")[0]


def main(arguments=None):
    """Print the beginning of a config; see the module."""
    parser = argparse.ArgumentParser(prog="python -m counterweight.init", description=__doc__)
    parser.add_argument("table", help="CSV or Parquet file, or a folder of them")
    given = parser.parse_args(arguments)
    try:
        print(beginning(given.table), end="")
    except CounterweightError as error:
        sys.exit(f"ERROR: {error}")


if __name__ == "__main__":
    main()
