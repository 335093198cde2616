"""The look of all figures: colours, sizes, two widths; SVG with the same bytes for one figure.

Backgrounds are transparent. Only the colours named here are drawn, paler ones by opacity, so that
a dark page can put those of `DARK` in their place.
"""

import contextlib
import contextvars
import hashlib
import io
import re

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

#: Okabe and Ito's palette, told apart under all common forms of colour blindness.
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
RED, PURPLE, SKY = "#D55E00", "#CC79A7", "#56B4E9"
INK, GREY, PALE, PAPER = "#222222", "#6B6B6B", "#D9D9D9", "#FFFFFF"
#: Words are written in INK, GREY, BLUE and this darker red: contrast with white is 5 or more.
RED_TEXT = "#A84600"
#: Light to dark, for ordered settings.
ORDERED = ("#8FBEDC", "#4A97C9", "#1F6FA8", "#0B3C61")
_LIGHT = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, INK, GREY, PALE, PAPER, RED_TEXT, *ORDERED)
_DARK = (
    "#5AB1E8 #F0B440 #3CC79C #FF8A4C #E39DC2 #8CCBF2 #E8E8E8 #A6A6A6 #3D434A #16191D #FF8A4D "
    "#2F5F80 #4A8DB8 #7DB9DE #C4E2F5"
)
#: What stands for each colour on a dark page: as words, contrast with #16191D is 7 or more.
DARK = dict(zip(_LIGHT, _DARK.split(), strict=True))
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
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "path.simplify_threshold": 0.4,
    **{
        f"{axis}tick.{name}": value
        for axis in "xy"
        for name, value in (
            ("color", GREY),
            ("labelcolor", INK),
            ("labelsize", 8),
            ("major.width", 0.6),
        )
    },
    **dict.fromkeys(("text.color", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
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
    return width() == NARROW


def empty_figure(height):
    return Figure(figsize=(width(), height), layout="constrained")


def svg_text(figure):
    """A figure as SVG text: no date, no random ids, so the same bytes every time.

    Coordinates have two digits, and what no reader of the file needs is left out.
    """
    none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with look():
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata=none)
    text = buffer.getvalue()
    for pattern, put in _SHORTER.items():
        text = re.sub(pattern, put, text, flags=re.DOTALL)
    # A clip is named by what it clips, as rounded: the layout's last bits differ between runs.
    for name, area in re.findall(r'<clipPath id="(\w+)">(.*?)</clipPath>', text):
        text = text.replace(name, "p" + hashlib.sha256(area.encode()).hexdigest()[:10])
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
