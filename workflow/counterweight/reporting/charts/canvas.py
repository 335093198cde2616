"""What figures are made of: panels of lines along an option, of rows, bars, clouds and cells.

A `Canvas` has panels in a grid, one below the other in the narrow form. Whatever a `Panel` draws it
writes down too: what a figure draws and what its CSV holds are the same numbers.
"""

import math
import textwrap
from typing import NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from counterweight.reporting.charts import style
from counterweight.reporting.charts.drawing import Drawing

DASHED, DOTTED = (0, (4, 2)), (0, (1, 1.6))
#: Inches that a letter takes, and a key in a legend beside its text.
_LETTER, _KEY = 0.062, 0.5


class Look(NamedTuple):
    """Colour, marker ("" for none) and line of a series; hollow markers are filled with paper."""

    colour: str = style.BLUE
    marker: str = "o"
    dash: object = "-"
    hollow: bool = False

    def marks(self, **options):
        face = style.PAPER if self.hollow else self.colour
        return {"marker": self.marker, "color": self.colour, "markerfacecolor": face} | options

    def handle(self, **options):
        return Line2D([], [], linestyle=self.dash, **self.marks(**options))


MAIN, BASELINE = Look(), Look(style.INK, "D")
BOUND, OTHER = Look(style.GREY, "o", hollow=True), Look(style.ORDERED[1])
_OTHERS = (
    (style.ORANGE, "^"),
    (style.GREEN, "s"),
    (style.RED, "v"),
    (style.PURPLE, "D"),
    (style.SKY, "P"),
    (style.GREY, "<"),
)
#: Looks of series that have no role, in turn.
TURNS = [Look(*look, hollow=hollow) for hollow in (False, True) for look in _OTHERS]
#: The same with the main look first.
SERIES = [MAIN, *TURNS]


def looks(study, sources=None):
    """Looks of methods by role and order: the same in every figure of a study.

    Parameters
    ----------
    study : counterweight.reporting.numbers.StudyNumbers
    sources : sequence of str, optional
        All methods by default.
    """
    made, turn = {}, iter(TURNS * 9)
    for source in sources or [one["id"] for one in study.methods()]:
        if source == study.main:
            made[source] = MAIN
        elif source == study.baseline:
            made[source] = BASELINE
        else:
            made[source] = BOUND if study.role(source) == "bound" else next(turn)
    return made


def role_look(study, source):
    """Look of a method by its role alone, for figures that name methods beside their rows."""
    if source == study.main:
        return MAIN
    return {"baseline": BASELINE, "bound": BOUND}.get(study.role(source), OTHER)


class Canvas:
    """A figure with its panels.

    Parameters
    ----------
    rows : int
    columns : int or sequence of int
        In each row.
    height : float or sequence of float
        Of a row of panels, in inches.
    pairs : bool
        Whether the narrow form has two columns (turned if there were more), not one.
    room : float
        Inches for what stands around the panels.
    **options
        ``sharex`` and ``sharey`` (True, "row" or "col") and ``width_ratios``, as
        `matplotlib.figure.Figure.subplots` has them.

    Attributes
    ----------
    panels : list of list of Panel
        By row and column as asked for, whatever the form.
    """

    def __init__(self, rows=1, columns=1, height=2.3, *, pairs=False, room=0.5, **options):
        counts = [columns] * rows if isinstance(columns, int) else list(columns)
        heights = [height] * rows if isinstance(height, int | float) else list(height)
        self.points, self.keys, self.panels = [], {}, []
        self.turned = style.is_narrow() and pairs and max(counts) > 2
        if self.turned:
            self._grid([rows] * columns, [max(heights)] * columns, room, _turned(options))
            self.panels = [list(row) for row in zip(*self.panels, strict=True)]
        elif style.is_narrow() and not pairs:
            every = [h for count, h in zip(counts, heights, strict=True) for _ in range(count)]
            self._grid([1] * len(every), every, room, options)
            left = iter([panel for (panel,) in self.panels])
            self.panels = [[next(left) for _ in range(count)] for count in counts]
        else:
            self._grid(counts, heights, room, options)

    def _grid(self, counts, heights, room, options):
        """Panels by row; a row of fewer panels has wider ones."""
        self.figure = style.empty_figure(sum(heights) + room)
        least = math.lcm(*counts)
        ratios = {key: options[key] for key in ("width_ratios",) if key in options}
        grid = self.figure.add_gridspec(len(counts), least, height_ratios=heights, **ratios)
        for r, (count, height) in enumerate(zip(counts, heights, strict=True)):
            made = []
            for c in range(count):
                above = self.panels[0][0] if self.panels else made[0] if made else None
                beside = {True: above, "row": made[0] if made else None}
                beside["col"] = self.panels[0][c] if self.panels else None
                shared = {
                    key: one.ax
                    for key in ("sharex", "sharey")
                    if (one := beside.get(options.get(key))) is not None
                }
                place = grid[r, c * least // count : (c + 1) * least // count]
                ax = self.figure.add_subplot(place, **shared)
                if options.get("sharex") in (True, "col"):
                    ax.tick_params(labelbottom=r == len(counts) - 1)
                if options.get("sharey") in (True, "row"):
                    ax.tick_params(labelleft=c == 0)
                made.append(Panel(self, ax, height, style.width() / count, c == 0))
            self.panels.append(made)

    @property
    def all(self):
        return [panel for row in self.panels for panel in row]

    @property
    def first(self):
        return self.panels[0][0]

    def label(self, x="", y=""):
        """Name the axes: x once below, y (one text, or one for each row) on the left."""
        self.figure.supxlabel(x, fontsize=8.5)
        texts = [y] * len(self.panels) if isinstance(y, str) else y
        for row, text in zip(self.panels, texts, strict=True):
            for panel in row:
                panel.measures = panel.measures or text
                if panel.first or self.turned:
                    panel.ax.set_ylabel(text)

    def rows(self, labels, panels=None):
        """Name the rows of all panels, from the top: beside them, above each one if narrow."""
        for panel in panels or self.all:
            panel.items = labels
            panel.ax.tick_params(axis="y", length=0)
            panel.ax.spines["left"].set_visible(False)
            panel.ax.set_ylim(len(labels) - 0.4, -0.7 if style.is_narrow() else -0.6)
            if style.is_narrow():
                panel.ax.set_yticks([])
                paper = {"facecolor": style.PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.4}
                where = {"transform": panel.ax.get_yaxis_transform(), "va": "bottom"}
                for place, label in enumerate(labels):
                    panel.ax.text(0, place - 0.28, label, fontsize=8, bbox=paper, **where)
            elif panel.first:
                panel.ax.set_yticks(range(len(labels)), [_wrapped(one, 2.3) for one in labels])
            panel.grid("x")

    def drawing(self, title, alt, ends=False):
        """The finished `counterweight.reporting.charts.drawing.Drawing`.

        Parameters
        ----------
        title, alt : str
        ends : bool
            Whether series are named at the ends of their lines where there is room for it: in
            the wide form, if the last panel has all of them. Else they stand in a legend.
        """
        last = self.all[-1]
        known = {name for name, *_ in last.ends}
        if ends and not style.is_narrow() and known >= set(self.keys):
            end = np.argmin if last.ax.xaxis_inverted() else np.argmax
            places = {name: (y[end(x)], name, colour) for name, x, y, colour in last.ends}
            places = [place for name, place in places.items() if name in self.keys]
            style.label_ends(last.ax, places, 0.7 * last.height)
        elif self.keys:
            widest = min(max(map(len, self.keys)), 44)
            columns = max(1, int(style.width() / (widest * _LETTER + _KEY)))
            names = [_wrapped(name, 44 * _LETTER) for name in self.keys]
            self.figure.legend(
                self.keys.values(),
                names,
                loc="outside upper center",
                ncols=min(columns, len(names)),
                handlelength=1.8,
                columnspacing=1.3,
            )
        return Drawing(self.figure, title, alt, self.points)


class Panel:
    """One pair of axes. Methods draw, and write down what they drew."""

    def __init__(self, canvas, ax, height, width, first):
        self.canvas, self.ax, self.height, self.width = canvas, ax, height, width
        self.first = first  # of its row, as it is drawn
        self.name = self.measures = ""
        self.items, self.ends = (), []

    def title(self, text, measures=""):
        """Name the panel; `measures`: what its numbers are, if the title is not that."""
        self.name, self.measures = text, measures or self.measures
        self.ax.set_title(_wrapped(text, self.width - 0.35, 1.1))

    def grid(self, axis="y"):
        self.ax.grid(axis=axis, color=style.PALE, linewidth=0.5)
        self.ax.set_axisbelow(True)

    def note(self, series, value, item="", at=math.nan, low=math.nan, high=math.nan):
        """Write down a number that is drawn: a row of the figure's CSV."""
        self.canvas.points.append((self, series, item, at, value, low, high))

    def line(self, name, points, look, *, bars=True, shift=1.0, joined=True, key=True, **marks):
        """Means with their intervals along an option.

        Parameters
        ----------
        name : str
            Of the series; in the legend if `key`.
        points : sequence of (x, y) or (x, y, low, high)
        look : Look
        bars : bool
            Whether intervals are drawn.
        shift : float
            Moves them along a logarithmic axis, so that those of several lines stand side by side.
        joined : bool
        """
        points = [(*point, math.nan, math.nan)[:4] for point in points]
        points = [point for point in points if not math.isnan(point[0] + point[1])]
        if not points:
            return
        x, y, low, high = (np.array(column, float) for column in zip(*points, strict=True))
        for at, value, *bounds in points:
            self.note(name, value, "", at, *bounds)
        if bars and not np.isnan(low).all():
            self.strokes(np.stack([shift * x, low, shift * x, high], 1), look.colour)
        style_of = look.marks(linestyle=look.dash if joined else "none", **marks)
        self.ax.plot(shift * x, y, **style_of)
        if key:
            self.key(name, look._replace(dash=look.dash if joined else "none"))
        self.ends.append((name, x, y, look.colour))

    def key(self, name, look, **options):
        self.canvas.keys.setdefault(name, look.handle(**options))

    def level(self, name, value, look, low=math.nan, high=math.nan, key=True):
        """A value that holds along the whole axis, with its interval as a band."""
        if math.isnan(value):
            return
        self.note(name, value, low=low, high=high)
        if high > low:
            self.ax.axhspan(low, high, color=look.colour, alpha=0.15, linewidth=0)
        self.ax.axhline(value, color=look.colour, linewidth=0.9, linestyle=look.dash, zorder=1)
        if key:
            self.key(name, look._replace(marker=""))
        self.ends.append((name, np.zeros(1), np.array([value]), look.colour))

    def upright(self, value, look, least=0.0):
        """A line across all rows, from a share of the panel's height on."""
        style_of = {"color": look.colour, "linewidth": 1.0, "linestyle": look.dash, "zorder": 1}
        self.ax.axvline(value, ymin=least, **style_of)

    def rates(self, rates):
        """A logarithmic axis of keep rates, all rows (l = 1) on the left."""
        self.ax.set_xscale("log")
        self.ax.minorticks_off()
        rates = sorted(rates)
        self.ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
        self.ax.set_xlim(rates[-1] * 1.6, rates[0] / 1.6)

    def dot(self, row, name, estimate, look, key=False, **marks):
        """A mean with its interval in a row.

        Parameters
        ----------
        row : float
        name : str
        estimate : (mean, low, high)
        look : Look
        """
        mean, low, high = estimate
        if math.isnan(mean):
            return
        self.note(name, mean, self.items[round(row)], low=low, high=high)
        if not math.isnan(low):
            self.ax.hlines(row, low, high, color=look.colour, linewidth=1.2)
        self.ax.plot([mean], [row], linestyle="none", **look.marks(**{"markersize": 4.6, **marks}))
        if key:
            self.key(name, look._replace(dash="none"))

    def link(self, row, values):
        """A pale line between two values of a row."""
        if not np.isnan(values).any():
            self.ax.plot(values, [row, row], color=style.PALE, linewidth=2, zorder=1)

    def bar(self, row, name, value, colour, height=0.6, key=False):
        """A bar in a row."""
        self.note(name, value, self.items[round(row)])
        self.ax.barh(row, value, height=height, color=colour)
        if key:
            self.canvas.keys.setdefault(name, Patch(color=colour))

    def bars(self, name, x, heights, colour, width, below=False):
        """Bars that stand side by side, or hang."""
        for at, height in zip(x, heights, strict=True):
            self.note(name, height, at=at)
        heights = -np.asarray(heights) if below else heights
        self.ax.bar(x, heights, width=width, color=colour)
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
        style_of = {"capstyle": "projecting" if square else "round", "alpha": alpha}
        self.strokes(ends, colour, linewidth=size, **style_of)
        marker = Look(colour, "s" if square else "o", "none")
        self.key(name, marker, markersize=4.5, markeredgewidth=0, alpha=alpha)

    def strokes(self, ends, colour, linewidth=1.0, **style_of):
        """Straight lines as one short path.

        Parameters
        ----------
        ends : array (n, 4)
            x and y of both ends; those that are not known are left out.
        """
        ends = ends[~np.isnan(ends).any(axis=1)].reshape(-1, 2)
        path = Path(ends, np.resize([Path.MOVETO, Path.LINETO], len(ends)))
        path.should_simplify = False
        look = {"edgecolor": colour, "facecolor": "none", "linewidth": linewidth}
        self.ax.add_patch(PathPatch(path, **look, **style_of))
        self.ax.autoscale_view()

    def cells(self, rows, columns, values, strengths, texts, series="", upright=True):
        """A table of numbers over colours: blue for positive strengths, orange for negative ones.

        Parameters
        ----------
        rows, columns : sequence of str
        values, strengths : array (rows, columns)
            Strengths between -1 and 1.
        texts : sequence of sequence of str
        upright : bool
            Whether the names of the columns stand upright above, not slanted below.
        """
        steps = np.round(8 * np.clip(np.nan_to_num(strengths), -1, 1)).astype(int)
        for step in sorted(set(steps.ravel()) - {0}):
            corners = [
                [(c - 0.5, r - 0.5), (c + 0.5, r - 0.5), (c + 0.5, r + 0.5), (c - 0.5, r + 0.5)]
                for r, c in np.argwhere(steps == step)
            ]
            path = Path.make_compound_path(*(Path([*box, box[0]], closed=True) for box in corners))
            colour = style.BLUE if step > 0 else style.ORANGE
            alpha = abs(step) / 8 * style.STRONGEST
            self.ax.add_patch(PathPatch(path, facecolor=colour, alpha=alpha, linewidth=0))
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                self.note(series or column, values[r][c], f"{row}: {column}" if series else row)
                size = 7 if len(columns) > 8 or style.is_narrow() else 7.5
                self.ax.text(c, r, texts[r][c], ha="center", va="center", fontsize=size)
        self.ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        self.ax.set_yticks(range(len(rows)), rows)
        room = (style.width() - 0.09 * max(map(len, rows))) / len(columns) / _LETTER
        steep = style.is_narrow() or max(map(len, columns)) > room
        slanted = {"rotation": 90 if style.is_narrow() else 35, "ha": "right"}
        slanted |= {"rotation_mode": "anchor", "va": "center" if style.is_narrow() else "baseline"}
        above = {"rotation": 90, "va": "bottom"} if steep else {}
        self.ax.set_xticks(range(len(columns)), columns, **(above if upright else slanted))
        if upright:
            self.ax.xaxis.tick_top()
        self.ax.tick_params(length=0)
        self.ax.spines[:].set_visible(False)


def _turned(options):
    """Options of a grid of which rows become columns."""
    swapped = {"row": "col", "col": "row"}
    return {key: swapped.get(value, value) for key, value in options.items()}


def row_height(count):
    """Inches of a panel of rows: a name above each one takes room."""
    return 0.35 + (0.34 if style.is_narrow() else 0.25) * count


def _wrapped(text, inches, size=1.0):
    return textwrap.fill(text, max(12, int(inches / (_LETTER * size))), break_long_words=False)
