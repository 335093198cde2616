"""Figures as files: each in two widths with the numbers it draws; their titles in one table."""

from pathlib import Path

import pandas as pd

from counterweight.files.jobs import log
from counterweight.files.tables import read_table, replacing, write_table
from counterweight.plan.components import load
from counterweight.reporting.charts import style
from counterweight.reporting.numbers import StudyNumbers

#: What ``figures.parquet`` of a study tells of each of its figures.
TITLES = (("figure", "string"), ("title", "string"), ("alt", "string"))
#: Ends of the names of a figure's files: wide, narrow, what it draws.
ENDINGS = (".svg", "-narrow.svg", ".csv")
COLUMNS = ["panel", "series", "item", "at", "value", "low", "high", "measures"]


class Drawing:
    """A finished figure.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    title : str
        The finding, or what is drawn where nothing is decided.
    alt : str
        What is drawn, in some ten words.
    points : pandas.DataFrame
        Every number drawn: ``panel, series, item`` (a named place: a method, group, leaf), ``at``
        (a place along an option), ``value, low, high`` in the units of the axis, and
        ``measures``, what the axis says.
    """

    def __init__(self, figure, title, alt, points=()):
        self.figure, self.title, self.alt = figure, title, alt
        self.points = pd.DataFrame(points, columns=COLUMNS)


def blank(message):
    """A figure that says why there is nothing to draw."""
    figure = style.empty_figure(1.2)
    figure.set_layout_engine("none")
    figure.text(0.5, 0.5, message, ha="center", va="center", color=style.GREY, wrap=True)
    return Drawing(figure, message, message)


def drawn(name, study):
    """A figure of a study in its wide and its narrow form, as two `Drawing`.

    Parameters
    ----------
    name : str
        In the registry of figures.
    study : counterweight.reporting.numbers.StudyNumbers
    """
    draw = load("figure", name)
    with style.look():
        wide = draw(study)
        with style.narrow():
            return wide, draw(study)


def files_of(folder, figure):
    """Paths of the wide SVG, the narrow one and the CSV of a figure."""
    return [folder / f"{figure}{end}" for end in ENDINGS]


def draw_study(study, folder, figures=None):
    """Draw figures of a study into a folder: see `files_of`, and ``figures.parquet``.

    Parameters
    ----------
    study : counterweight.reporting.numbers.StudyNumbers
    folder : Path
    figures : sequence of str, optional
        All figures of the study; others that were drawn before keep their files.
    """
    known = folder / "figures.parquet"
    titles = read_table(known).set_index("figure").to_dict("index") if known.exists() else {}
    for name in study.plan["figures"] if figures is None else figures:
        wide, narrow = drawn(name, study)
        texts = style.svg_text(wide.figure), style.svg_text(narrow.figure), _csv(wide.points)
        for path, text in zip(files_of(folder, name), texts, strict=True):
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        titles[name] = {"title": wide.title, "alt": wide.alt}
        log.info("%s: drew %s", study.name, name)
    rows = [{"figure": name} | titles[name] for name in study.plan["figures"] if name in titles]
    write_table(known, pd.DataFrame(rows), TITLES)


def _csv(points):
    """As many digits as a reader can use; columns that say nothing are left out."""
    used = [name for name in points if not (points[name].isna() | (points[name] == "")).all()]
    return points[used].to_csv(index=False, float_format="%.6g", lineterminator="\n")


def draw(job):
    """Draw the figures of a study: stage draw."""
    given = job.given
    metrics = pd.concat([read_table(path) for path in job.input.metrics], ignore_index=True)
    folder = Path(job.output[0]).parent
    draw_study(StudyNumbers(given["study"], given["shown"], metrics, folder.parent), folder)
