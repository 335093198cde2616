"""The look of all figures, and SVG files with the same bytes for the same figure."""

import io

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from counterweight.files.tables import replacing

#: Okabe and Ito's palette, told apart under all common forms of colour blindness.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
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


def label_ends(ax, ends, height, size=8):
    """Write names to the right of a panel, each at the height of its line's end.

    Names that would overlap are moved apart.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        With its final limits, on a linear or logarithmic y axis.
    ends : sequence of (float, str, str)
        Height, text and colour.
    height : float
        About the height of the panel in inches.
    size : float
        Of the text, in points.
    """
    if not ends:
        return
    scale = ax.transLimits if ax.get_yscale() == "linear" else ax.transScale + ax.transLimits
    places = [min(max(float(scale.transform((1, y))[1]), 0.0), 1.0) for y, _, _ in ends]
    for place, (_, text, colour) in zip(
        spread(places, 1.25 * size / (72 * height)), ends, strict=True
    ):
        ax.text(1.03, place, text, color=colour, va="center", fontsize=size, transform=ax.transAxes)


def interval_line(ax, points, colour, shift=1.0, line=True, **options):
    """Means with their intervals along an option, from `StudyResults.curve`.

    ``shift`` moves them along a logarithmic axis, so that intervals of several lines stand
    side by side.
    """
    if not points:
        return
    x, mean, low, high = (list(column) for column in zip(*points, strict=True))
    x = [shift * value for value in x]
    ax.vlines(x, low, high, color=colour, linewidth=1.1)
    style = {"markersize": 3.5, "linewidth": 1.3, **options}
    ax.plot(x, mean, "o-" if line else "o", color=colour, **style)


def rate_axis(ax, rates):
    """A logarithmic axis of keep rates, all rows (l = 1) on the left."""
    ax.set_xscale("log")
    ax.minorticks_off()
    rates = sorted(rates)
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    ax.set_xlim(rates[-1] * 1.6, rates[0] / 1.6)


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
