"""The look of all figures: colours, sizes, two widths; SVG with the same bytes for one figure.

Backgrounds are transparent. Only the colours named here are drawn, lighter ones by opacity, so
that a dark page can put those of `DARK` in their place.
"""

import contextlib
import contextvars
import io
import re

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

#: Okabe and Ito's palette, told apart under all common forms of colour blindness.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
INK, GREY, PALE, PAPER = "#222222", "#6B6B6B", "#D9D9D9", "#FFFFFF"
#: Light to dark, for ordered settings.
ORDERED = ("#8FBEDC", "#4A97C9", "#1F6FA8", "#0B3C61")
#: Darker forms for words: contrast with white is 4.5 or more.
TEXT = {
    ORANGE: "#8A5A00",
    GREEN: "#00704F",
    RED: "#A84600",
    PURPLE: "#95477A",
    SKY: "#23709F",
    ORDERED[0]: "#2E6C93",
    ORDERED[1]: "#25688F",
    PALE: "#606060",
}
#: What stands for each colour on a dark page: as words, contrast with #16191D is 4.5 or more.
DARK = {
    BLUE: "#5AB1E8",
    ORANGE: "#F0B440",
    GREEN: "#3CC79C",
    RED: "#FF8A4C",
    PURPLE: "#E39DC2",
    SKY: "#8CCBF2",
    INK: "#E8E8E8",
    GREY: "#A6A6A6",
    PALE: "#3D434A",
    PAPER: "#16191D",
    ORDERED[0]: "#2F5F80",
    ORDERED[1]: "#4A8DB8",
    ORDERED[2]: "#7DB9DE",
    ORDERED[3]: "#C4E2F5",
    TEXT[ORANGE]: "#F0B441",
    TEXT[GREEN]: "#3CC79D",
    TEXT[RED]: "#FF8A4D",
    TEXT[PURPLE]: "#E39DC3",
    TEXT[SKY]: "#8CCBF3",
    TEXT[ORDERED[0]]: "#6FA9CC",
    TEXT[ORDERED[1]]: "#7CB2D3",
    TEXT[PALE]: "#A6A6A7",
}
#: Most of a colour under a number, so that the number can be read on it, light or dark.
STRONGEST = 0.45
#: Inches of the two widths: a page, and a telephone.
WIDE, NARROW = 7.0, 3.6
_width = contextvars.ContextVar("width", default=WIDE)

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
    "axes.facecolor": "none",
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
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "path.simplify_threshold": 0.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}


def look():
    """Context in which figures are drawn and saved."""
    return matplotlib.rc_context(_SETTINGS)


@contextlib.contextmanager
def narrow():
    """Context in which figures are as wide as a telephone."""
    token = _width.set(NARROW)
    try:
        yield
    finally:
        _width.reset(token)


def width():
    return _width.get()


def is_narrow():
    return _width.get() == NARROW


def text_colour(colour):
    """The form of a colour that words are written in."""
    return TEXT.get(colour, colour)


def empty_figure(height):
    return Figure(figsize=(width(), height), layout="constrained")


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
    scale = ax.transLimits if ax.get_yscale() == "linear" else ax.transScale + ax.transLimits
    places = [min(max(float(scale.transform((1, y))[1]), 0.0), 1.0) for y, _, _ in ends]
    for place, (_, text, colour) in zip(
        spread(places, 1.25 * size / (72 * height)), ends, strict=True
    ):
        style = {"color": text_colour(colour), "va": "center", "fontsize": size}
        ax.text(1.03, place, text, transform=ax.transAxes, **style)


def svg_text(figure):
    """A figure as SVG text: no date, no random ids, so the same bytes every time.

    Coordinates have two digits, and what no reader of the file needs is left out.
    """
    with look():
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = buffer.getvalue()
    for pattern, put in _SHORTER:
        text = pattern.sub(put, text)
    return text


def _rounded(attribute):
    """The coordinates of an attribute, which is on one line, with two digits at most."""
    text = re.sub(r"\s+", " ", attribute[0])
    text = re.sub(r"-?\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"(?<=[MLCQ]) | (?=[z\"])", "", text)


#: What is shortened in an SVG file, in this order; never the words in it.
_SHORTER = [
    (re.compile(pattern, re.DOTALL), put)
    for pattern, put in (
        (r"<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", ""),
        (r' transform="rotate\(-0[^"]*"| id="(?!C\d)[a-z][\w.]*_\d+"|font-family: [^;"]*; ', ""),
        (r' (?:d|x|y|transform)="[^"]*"', _rounded),
        (r"(?<=>)\s+(?=<)", ""),
        ("<svg ", "<svg font-family=\"'DejaVu Sans', Verdana, sans-serif\" "),
    )
]
