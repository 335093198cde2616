"""``python -m counterweight.init my.csv > mine.yaml``: begins the config of a table of one's own.

It reads the table, writes what each column looks like, and leaves the questions open.
"""

import argparse
import sys
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError, listed

#: Columns beyond which the rest is not listed one by one.
MOST = 60
#: Columns at most that are proposed as the outcome.
PROPOSED = 4

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
# columns: {{ignore: [], keep: [], text: [], numbers: [], dates: [], missing: []}}
"""


def beginning(path):
    """The text of a config for a table, file or folder: YAML, a comment for each column."""
    from counterweight.datasets.own_table import read_typed
    from counterweight.labeling.column_report import column_report

    table = read_typed(path, absent="name your table", ask=False)
    report = column_report(table.frame, table.types, table.made, {}, doubts=table.doubts)
    ids = [fact.column for fact in report if fact.use == "left out" and " id" in fact.why]
    head = HEAD.format(
        table=Path(path).name,
        rows=len(table.frame),
        columns=len(report),
        path=_yaml(str(path)),
        id=f"id: {_yaml(ids[0])}" if ids else "# id: the column that says who a row is",
    )
    asked = _outcomes(table, report) or ["# outcome: {column: default, positive: 1}"]
    lines = [_line(fact) for fact in report[:MOST]]
    if len(report) > MOST:
        lines.append(f"#   and {len(report) - MOST} more")
    return (
        head + "# Columns:\n" + "\n".join(lines) + "\n" + QUESTIONS.format(blank="\n".join(asked))
    )


def _outcomes(table, report):
    """Lines for each column that may be the outcome, the first `PROPOSED` of them.

    Which of several is the outcome, and which came of it, the table does not say; so columns that
    would give one away are named below it.
    """
    from counterweight.labeling.column_report import column_report, secrets_of

    made = {}
    for fact in report:
        if 0.02 <= fact.missing <= 0.98 and fact.distinct in (2, 3) and fact.use == "feature":
            made[fact.column] = _outcome(fact, table.frame[fact.column])
    made = {name: said for name, said in made.items() if said}
    lines = []
    for name, said in list(made.items())[:PROPOSED]:
        roles = {"outcome": yaml.safe_load(said)}
        told = {"secrets": secrets_of(table.frame, table.types, roles)}
        facts = column_report(table.frame, table.types, table.made, {"outcome": name}, **told)
        leaks = [fact.column for fact in facts if fact.leak]
        lines.append(f"# outcome: {said}")
        if leaks:
            lines.append(
                f"#   LOOK: {listed(leaks)} would give {name} away. If one of them is the outcome, "
                f"ask for it, and {name} may be what came of it."
            )
    return lines


def _outcome(fact, values):
    """What could be said of a column as the outcome; "" of one that has three classes.

    Which of two words is the 1 nobody can guess.
    """
    from counterweight.labeling.column_report import UNKNOWN
    from counterweight.labeling.columns import like_codes

    there = sorted(values.dropna().unique())
    text = fact.type == "text"
    codes = [one for one in there if (one.lower() in UNKNOWN if text else like_codes([one])[0])]
    first, *others = [one for one in there if one not in codes] if len(there) > 2 else there
    if len(others) != 1:
        return ""
    said = [f"column: {_yaml(fact.column)}"]
    if fact.type == "boolean":
        said += ["positive: yes"]
    elif text:
        said += [f"positive: {_yaml(first)}", f"negative: {_yaml(others[0])}"]
    else:
        said += [f"positive: {others[0]:g}"]
    if len(there) > 2:
        said += [f"missing: {_yaml(codes[0]) if text else f'{codes[0]:g}'}"]
    return f"{{{', '.join(said)}}}" + "   # or the other way round" * text


def _line(fact):
    """A comment on one column."""
    parts = [fact.type, f"{fact.distinct:,} values"]
    if fact.missing:
        parts.append(f"{100 * fact.missing:.3g} % missing")
    parts += [text for text in (fact.made, fact.use if fact.use != "feature" else "") if text]
    parts += [fact.why] if fact.why else []
    parts = [part for part in parts if part != fact.doubt]
    parts += [f"TO BE LOOKED AT: {fact.doubt}"] if fact.doubt else []
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
