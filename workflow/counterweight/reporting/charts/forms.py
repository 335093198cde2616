"""What figures are made of: their look, and the forms that are called with data.

A `Canvas` has panels in a grid, one below the other in the narrow form. A `Panel` draws lines along
an option with intervals and bands, dots with intervals in rows, bars, clouds of points, cells of a
heat map, and writes down what it draws: the figure and its CSV have the same numbers. `draw` makes
the files of a study: SVG with the same bytes for one figure, in two widths.

Backgrounds are transparent. Only the colours named here are drawn, paler ones by opacity, so that
a dark page can put others in their place.
"""

import contextlib
import contextvars
import hashlib
import html
import io
import math
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as Outline

from counterweight.plan.components import load
from counterweight.reporting.numbers import StudyNumbers, read_tables
from counterweight.reporting.wording import (  # noqa: F401  (figures find their words here)
    axis_of,
    capital,
    hovered,
    joined_words,
    number,
    places_for,
    span,
    told,
)
from counterweight.tables.jobs import log
from counterweight.tables.parquet import finite_or_blank, read_table, replacing, write_table

#: Okabe and Ito's palette, told apart under all common forms of colour blindness.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PURPLE, SKY = "#D55E00", "#CC79A7", "#56B4E9"
INK, GREY, PALE, PAPER = "#222222", "#6B6B6B", "#D9D9D9", "#FFFFFF"
#: Words are written in INK, GREY, BLUE and this darker red: contrast with white is 5 or more.
RED_TEXT = "#A84600"
#: Light to dark, for ordered settings.
ORDERED = ("#8FBEDC", "#4A97C9", "#1F6FA8", "#0B3C61")
#: Most of a colour under a number, so that the number can be read on it, light or dark.
STRONGEST = 0.45
#: Inches of the two widths: a page, and a telephone.
WIDE, NARROW = 7.0, 3.6
_page_width = contextvars.ContextVar("width", default=WIDE)

_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "counterweight",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 8.5,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "path.simplify_threshold": 0.4,
    **{f"{axis}tick.color": GREY for axis in "xy"},
    **{f"{axis}tick.labelcolor": INK for axis in "xy"},
    **{f"{axis}tick.labelsize": 8 for axis in "xy"},
    **{f"{axis}tick.major.width": 0.6 for axis in "xy"},
    **dict.fromkeys(("text.color", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
}


def figure_look():
    """Context in which figures are drawn and saved."""
    return matplotlib.rc_context(_SETTINGS)


@contextlib.contextmanager
def narrow():
    """Context in which figures are as wide as a telephone."""
    token = _page_width.set(NARROW)
    try:
        yield
    finally:
        _page_width.reset(token)


def page_width():
    return _page_width.get()


def is_narrow():
    return page_width() == NARROW


def lower(height):
    """A height in inches, less of it on a telephone, where panels stand below each other."""
    return 0.55 * height if is_narrow() else height


def empty_figure(height):
    return Figure(figsize=(page_width(), height), layout="constrained")


def svg_text(figure):
    """A figure as SVG text: no date, no random ids, so the same bytes every time.

    Coordinates have two digits, and what no reader of the file needs is left out.
    """
    none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with figure_look():
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata=none)
    text = buffer.getvalue()
    for pattern, put in _SHORTER.items():
        text = re.sub(pattern, put, text, flags=re.DOTALL)
    text = _with_values(text, getattr(figure, "told", ()))
    # A clip is named by what it clips, as rounded: the layout's last bits differ between runs.
    for name, area in re.findall(r'<clipPath id="(\w+)">(.*?)</clipPath>', text):
        text = text.replace(name, "p" + hashlib.sha256(area.encode()).hexdigest()[:10])
    return text


#: How parts of a figure are marked whose values are shown on hover.
_TOLD = "told-"


def _with_values(text, told):
    """An SVG text in which marks show their values on hover: `told` has the texts of each part."""
    for k, words in enumerate(told):
        before, _, after = text.partition(f'<g id="{_TOLD}{k}">')
        marks = re.findall(r"<use [^>]*/>", after.split("</g>", 1)[0])[: len(words)]
        kind, said = ("use", iter(words)) if len(marks) == len(words) else ("path", iter(words[:1]))

        def with_title(mark, kind=kind, said=said):
            title = next(said, None)
            if title is None:
                return mark[0]
            return f"<{kind} {mark[1]}><title>{html.escape(title, quote=False)}</title></{kind}>"

        text = f"{before}<g>{re.sub(rf'<{kind} ([^>]*)/>', with_title, after, count=len(words))}"
    return text


def _rounded(attribute):
    """The coordinates of an attribute, which is on one line, with two digits at most."""
    text = re.sub(r"\s+", " ", attribute[0])
    text = re.sub(r"-?\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"(?<=[MLCQ]) | (?=[z\"])", "", text)


#: What is shortened in an SVG file, in this order; never the words in it.
_SHORTER = {
    r"<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>": "",
    r' transform="rotate\(-0[^"]*"| id="(?!C\d)[a-z][\w.]*_\d+"|font-family: [^;"]*; ': "",
    r' (?:d|x|y|width|height|transform)="[^"]*"': _rounded,
    r"(?<=>)\s+(?=<)": "",
    "<svg ": "<svg font-family=\"'DejaVu Sans', Verdana, sans-serif\" ",
}


# Figures as files: each in two widths with the numbers it draws; their titles in one table.


#: What ``figures.parquet`` of a study tells of each of its figures.
TITLES = tuple((name, "string") for name in ("figure", "title", "alt", "caption"))
#: Ends of the names of a figure's files: wide, narrow, what it draws.
ENDINGS = (".svg", "-narrow.svg", ".csv")
COLUMNS = ["panel", "series", "item", "at", "value", "low", "high", "measures"]


class Drawing:
    """A finished figure: its title says what was found, ``alt`` in some ten words what is drawn.

    ``caption`` stands where not all of the declared one is drawn. ``points``, all numbers drawn: a
    frame of ``panel, series, item`` (a named place: a method, group, leaf), ``at`` (a place along
    an option), ``value, low, high`` in the units of the axis, ``measures``, what the axis says.
    """

    def __init__(self, figure, title, alt, points=(), caption=""):
        self.figure, self.title, self.alt, self.caption = figure, title, alt, caption
        self.points = pd.DataFrame(points, columns=COLUMNS)


def blank(message):
    """A figure that says why there is nothing to draw."""
    figure = empty_figure(1.2)
    figure.set_layout_engine("none")
    figure.text(0.5, 0.5, message, ha="center", va="center", color=GREY, wrap=True)
    return Drawing(figure, message, message)


def drawn(name, study):
    """A figure of a study, by its name in the registry, in its wide and its narrow form."""
    draw = load("figure", name)
    with figure_look():
        wide = draw(study)
        with narrow():
            return wide, draw(study)


def draw_study(study, folder, figures=None):
    """Draw figures of a study (by default all) into a folder: files of each, ``figures.parquet``.

    Others that were drawn before keep their files.
    """
    known = folder / "figures.parquet"
    titles = read_table(known).set_index("figure").to_dict("index") if known.exists() else {}
    for name in study.plan["figures"] if figures is None else figures:
        wide, narrow = drawn(name, study)
        # As many digits as a reader can use; columns that say nothing are left out.
        blank = wide.points.isna() | (wide.points == "")
        points = finite_or_blank(wide.points.loc[:, ~blank.all()])
        points = points.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        texts = svg_text(wide.figure), svg_text(narrow.figure), points
        for end, text in zip(ENDINGS, texts, strict=True):
            with replacing(folder / f"{name}{end}") as temporary:
                temporary.write_text(text, encoding="utf-8")
        titles[name] = {"title": wide.title, "alt": wide.alt, "caption": wide.caption}
        log.info("%s: drew %s", study.name, name)
    rows = [{"figure": name} | titles[name] for name in study.plan["figures"] if name in titles]
    write_table(known, pd.DataFrame(rows, columns=[one for one, _ in TITLES]).fillna(""), TITLES)


def draw(job):
    """Draw the figures of a study: stage draw."""
    given, folder = job.given, Path(job.output[0]).parent
    metrics = read_tables(job.input.metrics)
    draw_study(StudyNumbers(given["study"], given["shown"], metrics, folder.parent), folder)


# What figures are made of: panels of lines along an option, of rows, bars, clouds and cells.

DASHED, DOTTED = (0, (4, 2)), (0, (1, 1.6))
#: Populations and rows, in print.
TARGETS = {"general": "everyone", "unlabeled": "the unlabeled", "train": "training rows"}
TARGETS |= {"test": "test rows"}
#: Inches that a letter takes, and a key in a legend beside its text.
_LETTER, _KEY = 0.062, 0.5
#: Inches that a tree goes in by level, and of a line of its text.
_INDENT, _LINE = 0.24, 0.155
#: Inches for the names of rows beside panels.
BESIDE = 2.3
#: Widths of the middle half of the values of rows beyond which a scale is not stretched.
FAR = 4


class Look(NamedTuple):
    """Colour, marker ("" for none) and line of a series; hollow markers are filled with paper."""

    colour: str = BLUE
    marker: str = "o"
    dash: object = "-"
    hollow: bool = False

    def marks(self, **options):
        face = PAPER if self.hollow else self.colour
        known = {"marker": self.marker, "color": self.colour, "markerfacecolor": face}
        return known | {"linestyle": self.dash} | options


MAIN, BASELINE = Look(), Look(INK, "D")
BOUND, OTHER = Look(GREY, "o", hollow=True), Look(ORDERED[1])
LIMIT = Look(INK, "", DASHED)
#: Rows of one panel at most.
MOST_ROWS = 10
_OTHERS = (ORANGE, GREEN, RED, PURPLE, SKY, GREY)
#: Looks of series that have no role, in turn; the same with the main look first.
TURNS = [
    Look(*look, "-", hollow)
    for hollow in (False, True)
    for look in zip(_OTHERS, "^svDP<", strict=True)
]
SERIES = [MAIN, *TURNS]


def looks(study):
    """Looks of methods by role and order: the same in every figure of a study."""
    turn = iter(TURNS * 9)
    known = {one["id"]: role_look(study, one["id"]) for one in study.methods()}
    return {source: next(turn) if look is OTHER else look for source, look in known.items()}


def role_look(study, source):
    """Look of a method by its role alone, for figures that name methods beside their rows."""
    if source == study.main:
        return MAIN
    if source == study.baseline:
        return BASELINE
    return BOUND if study.role(source) == "bound" else OTHER


class Canvas:
    """A figure with its panels, in a grid, one below the other in the narrow form.

    `titles` are those of the panels, in a row or in rows, `height` the inches of a row or of each.
    `x` is said once below, `y` on the left of each row (one text, or one for each row); `grid` has
    the axes with grid lines: x, y, both. With `pairs` the narrow form has two columns (turned if
    there were more). `sharex` and `sharey` are those of `matplotlib.figure.Figure.subplots`.

    ``panels`` has each `Panel` by row and column as asked for, whatever the form, ``all`` in one
    list.
    """

    def __init__(self, titles, height=2.2, x="", y="", grid="y", *, pairs=False, **shared):
        titles = [titles] if isinstance(titles[0], str) else titles
        heights = [height] * len(titles) if isinstance(height, int | float) else list(height)
        ys = [y] * len(titles) if isinstance(y, str) else y
        rows = [[(r, c) for c in range(len(row))] for r, row in enumerate(titles)]
        turned = is_narrow() and pairs and len(titles[0]) > 2
        if turned:
            rows = [list(column) for column in zip(*rows, strict=True)]
            swapped = {"row": "col", "col": "row"}
            shared = {key: swapped.get(value, value) for key, value in shared.items()}
        elif is_narrow() and not pairs:
            rows = [[place] for row in rows for place in row]
        sizes = [heights[row[0][0]] for row in rows]
        self.figure, self.points, self.keys = empty_figure(sum(sizes) + 0.5), [], {}
        self.figure.told = self.told = []
        least, made = math.lcm(*map(len, rows)), {}
        spec = self.figure.add_gridspec(len(rows), least, height_ratios=sizes)
        for k, row in enumerate(rows):
            for c, (r, place) in enumerate(row):
                same = {True: rows[0][0], "row": row[0], "col": rows[0][min(c, len(rows[0]) - 1)]}
                near = {key: same.get(value) for key, value in shared.items()}
                beside = {key: made[one].ax for key, one in near.items() if one in made}
                width = least // len(row)
                ax = self.figure.add_subplot(spec[k, c * width : (c + 1) * width], **beside)
                if shared.get("sharex") in (True, "col"):
                    ax.tick_params(labelbottom=k == len(rows) - 1)
                if shared.get("sharey") in (True, "row"):
                    ax.tick_params(labelleft=not c)
                panel = made[r, place] = Panel(self, ax, titles[r][place], ys[r] or x, not c)
                ax.set_title(_wrapped(panel.name, page_width() / len(row) - 0.35, 1.1))
                ax.set_ylabel(ys[r] if turned or not c else "")
                ax.grid(axis=grid, color=PALE, linewidth=0.5)
                ax.set_axisbelow(True)
        self.figure.supxlabel(x, fontsize=8.5)
        self.panels = [[made[r, c] for c in range(len(row))] for r, row in enumerate(titles)]
        self.all = [panel for row in self.panels for panel in row]

    def rows(self, labels, panels=None, marks=1):
        """Name rows of so many marks from the top: beside them, above each one if narrow."""
        panels, lift = panels or self.all, 0.28 if marks == 1 else 0.4
        each = page_width() if is_narrow() else (page_width() - BESIDE) / len(panels)
        for panel in panels:
            panel.items = labels
            panel.ax.set_title(_wrapped(panel.name, each - 0.1, 1.1))
            panel.ax.tick_params(axis="y", length=0)
            panel.ax.grid(visible=False, axis="y")
            panel.ax.grid(axis="x", color=PALE, linewidth=0.5)
            panel.ax.spines["left"].set_visible(False)
            panel.ax.set_ylim(len(labels) - 0.4, -0.7 if is_narrow() else -0.6)
            if is_narrow():
                panel.ax.set_yticks([])
                paper = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.4}
                where = {"transform": panel.ax.get_yaxis_transform(), "va": "bottom"}
                for place, label in enumerate(labels):
                    panel.ax.text(0, place - lift, label, fontsize=8, bbox=paper, **where)
            elif panel.first:
                panel.ax.set_yticks(range(len(labels)), [_wrapped(one, BESIDE) for one in labels])

    def drawing(self, title, alt, caption=""):
        """The finished `counterweight.reporting.charts.forms.Drawing`, with a legend."""
        for panel in self.all:
            panel.cut()
        if self.keys:
            widest = min(max(map(len, self.keys)), 44)
            columns = max(1, int(page_width() / (widest * _LETTER + _KEY)))
            names = [_wrapped(name, 44 * _LETTER) for name in self.keys]
            space = {"handlelength": 1.8, "columnspacing": 1.3, "ncols": min(columns, len(names))}
            self.figure.legend(self.keys.values(), names, loc="outside upper center", **space)
        return Drawing(self.figure, title, alt, self.points, caption)


class Panel:
    """One pair of axes. Methods draw, and write down what they drew."""

    def __init__(self, canvas, ax, name, measures, first):
        self.canvas, self.ax, self.name, self.measures = canvas, ax, name, measures
        self.items, self.first = (), first  # of its row, as it is drawn
        self.dots, self.uprights = [], []

    def note(self, series, value, item="", at=math.nan, low=math.nan, high=math.nan):
        """Write down a number that is drawn: a row of the figure's CSV."""
        if not math.isnan(value):
            row = (self.name, series, item, at, value, low, high, self.measures)
            self.canvas.points.append(row)

    def hover(self, artist, count=1):
        """Let the last `count` numbers that were written down show on the marks of an artist."""
        if self.canvas.told is None:
            return
        told = [hovered(*row[1:7]) for row in self.canvas.points[-count:]]
        artist.set_gid(f"{_TOLD}{len(self.canvas.told)}")
        self.canvas.told.append(told)

    def key(self, name, look, **options):
        """An entry of the legend."""
        self.canvas.keys.setdefault(name, Line2D([], [], **look.marks(**options)))

    def line(self, name, points, look, *, bars=True, shift=1.0, key=True, **marks):
        """Means with their intervals along an option, each ``(x, y)`` or ``(x, y, low, high)``.

        ``shift`` moves them along a logarithmic axis, so that those of several lines stand side by
        side; a look without a line (dash "none") leaves them apart.
        """
        points = [(*point, math.nan, math.nan)[:4] for point in points]
        points = [point for point in points if not math.isnan(point[0] + point[1])]
        if not points:
            return
        for at, value, low, high in points:
            self.note(name, value, "", at, low, high)
        x, y, low, high = np.array(points, float).T
        if bars:
            self.strokes(np.stack([shift * x, low, shift * x, high], 1), look.colour)
        (drawn,) = self.ax.plot(shift * x, y, **look.marks(**marks))
        told = self.canvas.told
        few = told is not None and len(points) + sum(map(len, told)) <= _HOVERED
        if not look.marker and few:
            # A line without markers has places for the pointer that nobody sees.
            size = {"marker": "o", "markersize": 9, "alpha": 0, "linestyle": "none"}
            (drawn,) = self.ax.plot(shift * x, y, color=look.colour, **size)
        if few:
            self.hover(drawn, len(points))
        if key:
            self.key(name, look)

    def splits(self, frame, one):
        """Values of repeats (rows) by step (columns): thin lines, and their mean."""
        for _, values in frame.iterrows():
            self.line(f"one {one}", values.dropna().items(), Look(PALE, ""))
        look = MAIN._replace(marker="o" if len(frame.columns) < 32 else "")
        # A repeat that has converged keeps its last value, so the mean stays one over all.
        self.line(f"mean over {one}s", frame.ffill(axis=1).mean().items(), look, linewidth=1.8)
        self.ax.locator_params(axis="x", integer=True, nbins=6)

    def level(self, name, known, look, key=True):
        """An `Estimate` that holds along the whole axis, with its interval as a band."""
        if not known.known:
            return
        self.note(name, known.mean, low=known.low, high=known.high)
        if known.high > known.low:
            self.ax.axhspan(known.low, known.high, color=look.colour, alpha=0.15, linewidth=0)
        line = {"color": look.colour, "linewidth": 0.9, "linestyle": look.dash, "zorder": 1}
        self.ax.axhline(known.mean, **line)
        if key:
            self.key(name, look._replace(marker=""))

    def band(self, x, low, high, colour=BLUE, alpha=0.15):
        """An area between two lines, behind all else."""
        self.ax.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0, zorder=0)

    def upright(self, value, look, name="", least=0.0):
        """A line across all rows, from a share of the panel's height on."""
        line = {"color": look.colour, "linewidth": 1.0, "linestyle": look.dash, "zorder": 1}
        self.ax.axvline(value, ymin=least, **line)
        self.uprights.append(value)
        if name:
            self.note(name, value)
            self.key(name, look)

    def rates(self, rates):
        """A logarithmic axis of keep rates, all rows (l = 1) on the left."""
        rates = sorted(rates)
        self.ticks(rates)
        self.ax.set_xlim(rates[-1] * 1.6, rates[0] / 1.6)

    def ticks(self, values):
        """A logarithmic axis with the given values."""
        self.ax.set_xscale("log")
        self.ax.minorticks_off()
        self.ax.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)])

    def dot(self, row, name, known, look, key=False, **marks):
        """An `Estimate`, or a number, in a row."""
        known = known if isinstance(known, tuple) else (known, 0, math.nan, math.nan)
        mean, _, low, high = known[:4]
        if math.isnan(mean):
            return
        self.note(name, mean, self.items[round(row)], low=low, high=high)
        if not math.isnan(low):
            self.ax.hlines(row, low, high, color=look.colour, linewidth=1.2)
        marks = {"markersize": 4.6, "linestyle": "none", **marks}
        (drawn,) = self.ax.plot([mean], [row], **look.marks(**marks))
        self.hover(drawn)
        self.dots.append((row, mean, low, high))
        if key:
            self.key(name, look, **marks)

    def cut(self):
        """End a scale where all but far-off values of rows do, if that halves it; tell the others.

        A value is far off that is further from the middle half of all than `FAR` times as much as
        that half, or half the intervals, are wide.
        """
        row, mean, low, high = np.array(self.dots or [(math.nan,) * 4], float).T
        if len(mean) < 4 or self.ax.get_xscale() != "linear":
            return
        first, last = np.percentile(mean, [25, 75])
        widths = (high - low)[~np.isnan(high - low)]
        far = FAR * max(last - first, np.median(widths) if len(widths) else 0.0)
        left, right = self.ax.get_xlim()
        ends = min([first - far, *self.uprights]), max([last + far, *self.uprights])
        ends = max(left, ends[0]), min(right, ends[1])
        if far > 0 and right - left > 2 * (ends[1] - ends[0]):
            self.ax.set_xlim(*ends)
            places = places_for(mean)
            for at, value in zip(row, mean, strict=True):
                if not ends[0] <= value <= ends[1]:
                    up = value > ends[1]
                    told = f"{number(value, places)} →" if up else f"← {number(value, places)}"
                    where = {"ha": "right" if up else "left", "va": "center", "fontsize": 7.5}
                    where["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6}
                    self.ax.text(ends[int(up)], at, told, **where)

    def link(self, row, values):
        """A pale line between two values of a row."""
        self.ax.plot(values, [row, row], color=PALE, linewidth=2, zorder=1)

    def bars(self, name, places, values, colour, width, rows=False):
        """Bars that stand side by side (or hang); in rows if `rows`."""
        drawn = (self.ax.barh if rows else self.ax.bar)(places, values, width, color=colour)
        for bar, at, value in zip(drawn, places, values, strict=True):
            where = {"item": self.items[at]} if rows else {"at": at}
            self.note(name, abs(value), **where)
            if not math.isnan(value):
                self.hover(bar)
        self.canvas.keys.setdefault(name, Patch(color=colour))

    def cloud(self, name, x, y, colour, size=2.2, square=False, alpha=1.0):
        """Many points as one short path: dots, or squares."""
        x, y = (np.asarray(values, float) for values in (x, y))
        if not len(x):
            return
        for at, value in zip(x, y, strict=True):
            self.note(name, value, at=at)
        # A stroke of hardly any length with wide ends is a dot.
        ends = np.stack([x, y, x + 1e-3 * (np.ptp(x) or 1.0), y], 1)
        end = "projecting" if square else "round"
        self.strokes(ends, colour, linewidth=size, capstyle=end, alpha=alpha)
        mark = Look(colour, "s" if square else "o", "none")
        self.key(name, mark, markersize=4.5, markeredgewidth=0, alpha=alpha)

    def strokes(self, ends, colour, linewidth=1.0, **options):
        """Straight lines as one short path: x and y of both ends, (n, 4); NaN is left out."""
        ends = ends[~np.isnan(ends).any(axis=1)].reshape(-1, 2)
        path = Outline(ends, np.resize([Outline.MOVETO, Outline.LINETO], len(ends)))
        path.should_simplify = False
        look = {"edgecolor": colour, "facecolor": "none", "linewidth": linewidth}
        self.ax.add_patch(PathPatch(path, **look, **options))
        self.ax.autoscale_view()

    def cells(self, rows, columns, values, strengths, texts, above=True):
        """Numbers over colours: blue for positive strengths (at most 1), orange for negative ones.

        The names of the columns stand above (steep ones make the figure taller), or slanted below.
        """
        steps = np.round(8 * np.clip(np.nan_to_num(strengths), -1, 1)).astype(int)
        corners = 0.5 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
        for step in sorted(set(steps.ravel()) - {0}):
            boxes = [Outline(corners + (c, r), closed=True) for r, c in np.argwhere(steps == step)]
            colour = BLUE if step > 0 else ORANGE
            look = {"facecolor": colour, "alpha": abs(step) / 8 * STRONGEST, "linewidth": 0}
            self.ax.add_patch(PathPatch(Outline.make_compound_path(*boxes), **look))
        middle = {"ha": "center", "va": "center", "fontsize": 7 if len(columns) > 8 else 7.5}
        for (r, c), value in np.ndenumerate(values):
            self.note(columns[c], value, rows[r])
            self.ax.text(c, r, texts[r][c], **middle)
        self.ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        names = [_wrapped(one, 1.3) for one in rows] if is_narrow() else rows
        self.ax.set_yticks(range(len(rows)), names)
        room = (page_width() - 0.09 * max(map(len, rows))) / len(columns) / _LETTER
        steep = is_narrow() or (above and max(map(len, columns)) > room)
        slanted = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        names = {"rotation": 90} if steep else {} if above else slanted
        self.ax.set_xticks(range(len(columns)), columns, **names)
        if above:
            self.ax.xaxis.tick_top()
            taller = 0.07 * max(map(len, columns)) * steep
            self.canvas.figure.set_figheight(self.canvas.figure.get_figheight() + taller)
        self.ax.tick_params(length=0)
        self.ax.grid(visible=False)
        self.ax.spines[:].set_visible(False)

    def tree(self, lines, name):
        """Texts of a tree, from the root on, depth first; see `tree_height`.

        A line has ``node``, ``parent``, ``answer`` (yes, no or empty) and ``kind``: split, folded,
        or leaf, whose box is the darker the larger its ``share``, which is called `name`.
        """
        # Data units are inches, from the top, so that texts have known places.
        ax, places = self.ax, {line["node"]: line for line in lines}
        ax.set(xlim=(0, page_width() - 0.1), ylim=(lines[-1]["y"] + 0.4, 0))
        ax.set_axis_off()
        style_of, box = {"fontsize": 7.5, "va": "center"}, {"marker": "s", "markersize": 6.5}
        for line in lines:
            x, y, above = line["x"] + 0.05, line["y"], places.get(line["parent"])
            if above:
                at, ys = above["x"] + 0.06, [above["y"] + 0.07, y, y]
                ax.plot([at, at, line["x"]], ys, color=GREY, linewidth=0.8)
                colour = BLUE if line["answer"] == "yes" else RED_TEXT
                ax.text(x, y, line["answer"], color=colour, fontweight="bold", **style_of)
                x += 0.24
            if line["kind"] == "leaf":
                self.note(name, line["share"], line["texts"][0].partition(":")[0])
                share = float(np.nan_to_num(line["share"]))
                ax.plot([x + 0.05], [y], color=BLUE, alpha=share, markeredgewidth=0, **box)
                edge = {"color": INK, "markeredgewidth": 0.7, "markerfacecolor": "none"}
                ax.plot([x + 0.05], [y], **box, **edge)
                x += 0.17
            for place, words in enumerate(line["lines"]):
                second = line["kind"] == "folded" or (line["kind"] == "leaf" and place > 0)
                ax.text(x, y + place * _LINE, words, color=GREY if second else INK, **style_of)


def tree_height(lines):
    """Inches of a tree, whose lines have ``depth`` and ``texts``: these are wrapped and placed."""
    top = 0.0
    for line in lines:
        line["x"] = _INDENT * line["depth"] * (0.5 if is_narrow() else 1)
        line["y"] = top + _LINE * 0.75
        room = max(24, int((page_width() - line["x"] - 0.55) / 0.0605))
        line["lines"] = [part for text in line["texts"] for part in textwrap.wrap(text, room)]
        top += _LINE * (len(line["lines"]) + 0.75)
    return top


def row_height(count, labels=(), marks=1):
    """Inches of a panel of rows: names above them, of two lines beside, and marks take room."""
    two = any("\n" in _wrapped(label, BESIDE) for label in labels)
    return 0.35 + (0.22 + 0.12 * marks if is_narrow() else 0.31 if two else 0.25) * count


def one_panel(names, words, marks=1):
    """A canvas of one panel with a row of so many marks for each name, and the panel."""
    canvas = Canvas([""], row_height(len(names), names, marks) + 0.2, words)
    canvas.rows(names, marks=marks)
    return canvas, canvas.all[0]


def of_all(items):
    """What the title says where not all are drawn."""
    said = f" ({MOST_ROWS} of {len(items)} drawn: the others stand in the tables)"
    return said * (len(items) > MOST_ROWS)


#: Marks of a figure from which lines show no more values on hover.
_HOVERED = 40


def by_step(rows):
    """Values of a stepwise metric: repeats by steps; None where there are none."""
    rows = rows[rows["step"].notna() & rows["value"].notna()].astype({"step": "Int64"})
    if rows.empty:
        return None
    return rows.pivot_table(index="repeat", columns="step", values="value").sort_index(axis=1)


def point(at, known, factor=1.0):
    """An `Estimate` as a point of a line."""
    return (at, factor * known.mean, factor * known.low, factor * known.high)


def against(study, metric, target, source=None, **place):
    """``X: +0.4 points [0.1, 0.7] against Y``; the value itself without a baseline; or ""."""
    source, measure = source or study.main, study.measure(metric, place.get("measure", ""))
    if source is None or not (value := study.get(source, metric, target, **place)).known:
        return ""
    if study.baseline not in (None, source):
        gap = study.against(study.baseline, source, metric, target, **place)
        if gap.known:
            gap = told(gap, measure, sign=True)
            return f"{study.label(source)}: {gap} against {study.label(study.baseline)}"
    return f"{study.label(source)}: {told(value, measure)}"


def main_first(study, swept=None):
    """Ids of methods, the main one first."""
    names = [one["id"] for one in study.methods(swept)]
    return sorted(names, key=lambda name: name != study.main)


def _wrapped(text, inches, size=1.0):
    return textwrap.fill(text, max(12, int(inches / (_LETTER * size))), break_long_words=False)
