"""What each column of a table of one's own was taken for, as a folded table of its page."""

from counterweight.reporting.page.blocks import Cell, Head, Link, Row, Table
from counterweight.reporting.wording import number, percent

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
    import pandas as pd

    name = f"tables/{numbers.plan['dataset']}.columns.csv"
    path = numbers.folder.parent / name
    if numbers.plan["source"] != "own" or not path.exists():
        return None
    report = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    rows = tuple(Row(fact["column"], _cells(fact)) for fact in report)
    link = Link("The column report as CSV", name)
    fold = f"What each of the {len(rows)} columns was taken for"
    return Table("Columns of the table", _HEADS, rows, csv=link, fold=fold)


def _cells(fact):
    levels, pooled = int(fact["levels"]), int(fact["pooled"])
    said = [fact["why"], fact["made"]]
    if levels:
        said.append(f"{levels} levels" + (f", {pooled} rare ones share one" if pooled else ""))
    return (
        Cell(fact["role"] or fact["use"]),
        Cell(fact["type"]),
        Cell(percent(float(fact["missing"])) if float(fact["missing"]) else "0 %"),
        Cell(number(float(fact["distinct"]), 0)),
        Cell("; ".join(filter(None, said))),
    )
