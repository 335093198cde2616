"""The look of all figures, and SVG files with the same bytes for the same figure."""

import io

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from counterweight.tables import replacing

#: Okabe and Ito's palette, told apart under all common forms of colour blindness.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9",
)  # fmt: skip
INK, GREY, PALE = "#222222", "#767676", "#D9D9D9"
#: Light to dark, for ordered settings.
ORDERED = ("#B3D4EA", "#56A3D1", "#1F6FA8", "#0B3C61")
WIDTH = 7.0

_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "counterweight",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "text.color": INK,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def look():
    """Context in which figures are drawn and saved."""
    return matplotlib.rc_context(_SETTINGS)


def panels(rows, columns, height, width=WIDTH, **options):
    """A figure and its axes, as a two-dimensional array."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, axes


def blank(message):
    """A figure that says why there is nothing to draw."""
    with look():
        figure = Figure(figsize=(WIDTH, 1.2))
        figure.text(0.5, 0.5, message, ha="center", va="center", color=GREY)
    return figure


def grid(ax, axis="x"):
    ax.grid(axis=axis, color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)


def spread(positions, gap):
    """Move label positions apart to at least `gap`, keeping their order and centre.

    Parameters
    ----------
    positions : sequence of float
    gap : float

    Returns
    -------
    list of float
        In the order of `positions`.
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks = []
    for i in order:
        blocks.append([[i], positions[i]])
        while len(blocks) > 1:
            (lower, low), (upper, high) = blocks[-2:]
            room = gap * (len(lower) + len(upper)) / 2
            if high - low >= room:
                break
            members = lower + upper
            low_sum = low * len(lower) + high * len(upper)
            blocks[-2:] = [[members, low_sum / len(members)]]
    placed = [0.0] * len(positions)
    for members, centre in blocks:
        for place, i in enumerate(members):
            placed[i] = centre + gap * (place - (len(members) - 1) / 2)
    return placed


def svg_text(figure):
    """A figure as SVG text: no date, no random ids, so the same bytes every time."""
    with look():
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return buffer.getvalue()


def save_svg(figure, path):
    """Write a figure as SVG, whole or not at all.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or Path
    """
    text = svg_text(figure)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
