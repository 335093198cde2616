"""The drawn figures of a study as blocks of its page."""

from pathlib import Path

from counterweight.files.tables import read_table
from counterweight.reporting.page import blocks


def drawings(folder, name, plan, results=None):
    """Figures of a study that were drawn, in the order of its plan.

    Parameters
    ----------
    folder : str or Path
        With the files of `counterweight.reporting.charts.drawing.draw_study`.
    name : str
        The study.
    plan : dict
        Its part of the plan, with ``figures`` and their ``captions``.
    results : str or Path, optional
        Folder of results, for links to the numbers of a figure; no links without it.

    Yields
    ------
    counterweight.reporting.page.blocks.Figure
    """
    folder = Path(folder)
    titles = folder / "figures.parquet"
    known = read_table(titles).set_index("figure").to_dict("index") if titles.exists() else {}
    for figure in plan["figures"]:
        if figure not in known:
            continue
        data = None
        if results is not None:
            data = blocks.Link(
                "The numbers drawn, as CSV", f"{plan.get('folder', name)}/figures/{figure}.csv"
            )
        yield blocks.Figure(
            figure,
            known[figure]["title"],
            plan["captions"][figure],
            known[figure]["alt"],
            (folder / f"{figure}.svg").read_text(encoding="utf-8"),
            (folder / f"{figure}-narrow.svg").read_text(encoding="utf-8"),
            data,
        )
