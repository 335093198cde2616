"""``python -m counterweight.init my.csv > mine.yaml``: begins the config of a table of one's own.

It reads the table, writes what each column looks like, and leaves the questions open. Columns that
could have a part in a question stand in its lines, by what they hold and never by their names.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
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
# offer: {{column: {offer}, direction: down}}{offers}   # up: more say yes the more it is
# answer: {answer}{answers}

# Which policy would earn more than the logged one? (rewards, chances of what was done)
# reward: {reward}{rewards}
# propensity: {propensity}{propensities}
# policies: {{new: {policy}}}
# keep_rate: 0.01                       # if rows without reward were kept at a rate

# How good are predictions of a reward that the table holds? (rewards, and predictions of them)
# reward: {reward}
# predictions: {{old: {old}, new: {new}}}

# How to collect a sample that is balanced over groups, without asking for them?
# balance: [{balance}]{balances}
# alpha: 0.1

# A classifier that keeps promises about groups (with outcome above):
# groups: {{first: {{{group}: {first}}}, second: {{{group}: {second}}}}}
# promises: ["coverage(first) >= 0.8 * coverage(second)"]

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
    answers = _answers(table.frame, report)
    # What is to be foretold stands behind what foretells it, most often.
    proposed = answers[-1:] + _two_words(report, behind=answers[-1:])
    said = [_outcome(fact, table.frame[fact.column]) for fact in proposed]
    asked = [f"# outcome: {one}   # has no blanks: for promises, below" for one in said]
    blank = _outcomes(table, report)
    asked = blank or asked or ["# outcome: {column: default, positive: 1}"]
    outcome = None if blank or not said else proposed[0].column
    lines = [_line(fact) for fact in report[:MOST]]
    if len(report) > MOST:
        lines.append(f"#   and {len(report) - MOST} more")
    parts = _parts(table.frame, report, answers, outcome)
    questions = QUESTIONS.format(blank="\n".join(asked), **parts)
    return head + "# Columns:\n" + "\n".join(lines) + "\n" + questions


def _answers(frame, report):
    """Columns of 0 and 1 without blanks."""
    numbers = (fact for fact in report if fact.type in ("number", "boolean"))
    full = (fact for fact in numbers if fact.use == "feature" and not fact.missing)
    return [fact for fact in full if set(frame[fact.column]) == {0, 1}]


def _two_words(report, behind):
    """The last column of two words without blanks, in a list, if it stands behind some columns."""
    at = max(map(report.index, behind), default=-1)
    later = (fact for fact in report[at + 1 :] if fact.type == "text" and fact.use == "feature")
    sure = (fact for fact in later if not fact.missing and not fact.doubt)
    return [fact for fact in sure if fact.distinct == 2][-1:]


def _parts(frame, report, answers, outcome):
    """Words of the questions: columns that could have each part, or words that stand for one.

    `outcome` is the one proposed for promises, whose groups are those of another column.

    An answer is 0 or 1, a propensity above 0 and at most 1, a reward often 0 and never below; a
    group has few values, and one of several that not everybody told comes first to be balanced. Of
    offers the one that tells the first answer most comes first.
    """
    full = [fact for fact in report if fact.use == "feature" and not fact.missing]
    numbers = [fact for fact in full if fact.type in ("number", "boolean")]
    values = {fact.column: frame[fact.column].to_numpy(float) for fact in numbers}
    answers = [fact.column for fact in answers]
    shares, rewards, tells = [], [], {}
    for name, column in values.items():
        if name in answers or (column.min() >= 0 and np.mean(column == 0) >= 0.3):
            rewards.append(name)
        if column.min() >= 0 and column.max() <= 1 and name not in answers:
            shares.append(name)
    for fact in numbers if answers else []:
        if 3 <= fact.distinct <= max(len(frame) / 10, 3) and fact.column not in shares:
            tells[fact.column] = np.corrcoef(values[fact.column], values[answers[0]])[0, 1] ** 2
    offers = sorted(tells, key=tells.get, reverse=True)
    groups = [fact.column for fact in full if 2 <= fact.distinct <= 9]
    apart = [name for name in groups if name != outcome] or groups or ["sex"]
    some = [fact for fact in report if fact.use == "feature" and fact.missing >= 0.02]
    some = [fact for fact in some if fact.type == "text" and 2 <= fact.distinct <= 9]
    # One of two values may be the outcome.
    told = [fact.column for fact in some if fact.distinct > 2]
    two = [fact.column for fact in some if fact.distinct == 2]
    levels = sorted(frame[apart[0]].unique().tolist()) if groups else ["Female", "Male"]
    levels = [int(one) if isinstance(one, float) and one.is_integer() else one for one in levels]
    chances = [name for name in shares if (values[name] > 0).all()]
    made = {}
    for one, many, found, absent in (
        ("offer", "offers", offers, "price"),
        ("answer", "answers", answers, "bought"),
        ("reward", "rewards", rewards, "clicked"),
        ("propensity", "propensities", chances, "p"),
        ("balance", "balances", told + groups + two, "sex"),
    ):
        others = listed([_yaml(name) for name in found[1:PROPOSED]])
        made |= {one: _yaml(found[0] if found else absent), many: others and f"   # or {others}"}
    old, new = (shares + ["p_old", "p_new"])[:2] if len(shares) != 1 else (shares[0], "p_new")
    made |= {"old": _yaml(old), "new": _yaml(new), "group": _yaml(apart[0])}
    made["policy"] = next((_yaml(one) for one in shares if one not in chances[:1]), "p_new")
    return made | {"first": _yaml(levels[0]), "second": _yaml(levels[1])}


def _outcomes(table, report):
    """Lines for each column that may be the outcome, `PROPOSED` at most; the rest is named.

    Those of two values stand before those with a code besides, and mostly blank ones first: who is
    asked for an outcome lacks it in more rows than a feature has blanks.
    Which of several is the outcome, and which came of it, the table does not say; so columns that
    would give one away are named below it.
    """
    from counterweight.labeling.column_report import column_report, secrets_of

    made = {}
    asked = [one for one in report if 0.02 <= one.missing <= 0.98 and one.use == "feature"]
    for fact in sorted(asked, key=lambda one: (one.distinct, -round(one.missing, 2))):
        if fact.distinct in (2, 3):
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
    if others := list(made)[PROPOSED:]:
        lines.append(f"#   or {listed(others)}, of two classes and with blanks, too")
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
    """A text as YAML has it on one line, between braces, too."""
    asked = '"' if set(str(text)) & set("?,[]{}\n") else None
    how = {"default_flow_style": True, "allow_unicode": True, "width": sys.maxsize}
    return yaml.safe_dump([text], default_style=asked, **how).strip()[1:-1]


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
