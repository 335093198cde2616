"""What each column of a table of one's own was taken for, as a folded table of its page."""

from counterweight.reporting.page.blocks import Cell, Head, Link, Row, Sentence, Table
from counterweight.reporting.wording import number, percent

#: Doubts that are told one by one.
MOST = 5
_HEADS = (
    Head("Column"),
    Head("Taken for"),
    Head("Type"),
    Head("Missing"),
    Head("Values"),
    Head("Why, and what was made of it"),
)


def column_table(numbers):
    """The column report of the study's table, or None where it has none.

    Parameters
    ----------
    numbers : counterweight.reporting.numbers.StudyNumbers
        Of a study whose data set is a table of one's own.
    """
    report = _report(numbers)
    if report is None:
        return None
    name = _name(numbers)
    rows = tuple(Row(fact["column"], _cells(fact)) for fact in report)
    link = Link("The column report as CSV", name)
    fold = f"What each of the {len(rows)} columns was taken for"
    return Table("Columns of the table", _HEADS, rows, csv=link, fold=fold)


def column_doubts(numbers):
    """What in the table should be looked at before the answers are believed, as sentences.

    Parameters
    ----------
    numbers : counterweight.reporting.numbers.StudyNumbers

    Returns
    -------
    list of Sentence
        Empty where nothing is doubtful.
    """
    doubts = [fact for fact in _report(numbers) or () if fact.get("doubt")]
    told = [f"Look at the column {fact['column']}: {fact['doubt']}." for fact in doubts[:MOST]]
    if len(doubts) > MOST:
        told.append(
            f"{len(doubts) - MOST} more columns should be looked at: see their table below."
        )
    return [Sentence(text, "warning") for text in _leaks(numbers) + told]


def _leaks(numbers):
    """What was left out, or kept as asked, though it tells what no feature may tell."""
    leaks = [fact for fact in _report(numbers) or () if fact["leak"]]
    said = []
    for use, begin, end in (
        (
            "left out",
            "Left out, and not learned from",
            ". A column that is rightly known before can be named under columns.keep.",
        ),
        ("feature", "Kept as asked, though these numbers may then be too good", "."),
    ):
        told = [f"{fact['column']} ({fact['leak']})" for fact in leaks if fact["use"] == use]
        more = [f"{len(told) - MOST} more"] * (len(told) > MOST)
        if told:
            said.append(f"{begin}: {'; '.join(told[:MOST] + more)}{end}")
    return said


def _name(numbers):
    return f"tables/{numbers.plan['dataset']}.columns.csv"


def _report(numbers):
    """The column report, a record for each column; None where the study has none."""
    import pandas as pd

    path = numbers.results / _name(numbers)
    if not numbers.plan.get("column_report", True):
        return None
    if numbers.plan["source"] != "own" or not path.exists():
        return None
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def _cells(fact):
    levels, pooled = int(fact["levels"]), int(fact["pooled"])
    said = [*dict.fromkeys([fact["why"], fact["made"], fact.get("doubt")])]
    if levels:
        said.append(f"{levels} levels" + (f", {pooled} rare ones share one" if pooled else ""))
    return (
        Cell(fact["role"] or fact["use"]),
        Cell(fact["type"]),
        Cell(percent(float(fact["missing"])) if float(fact["missing"]) else "0 %"),
        Cell(number(float(fact["distinct"]), 0)),
        Cell("; ".join(filter(None, said))),
    )
