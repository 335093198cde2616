"""Figures inside a page: SVG made small, in colours that follow the theme of the page."""

import colorsys
import re
from html import escape
from xml.etree import ElementTree

#: What figures stand on, by theme: the page and the cards on it.
GROUNDS = {"light": ("#fbfaf7", "#ffffff"), "dark": ("#14171b", "#1b1f25")}
#: Contrast of text with what it stands on, with some room above WCAG's 4.5.
CONTRAST = 4.7
#: Colours of the figures' palette in the dark theme. Ordered shades turn around, so that the
#: least stays nearest to the page; "#ffffff" is the page itself.
_DARK = {
    "#0072b2": "#4aa3e0",
    "#e69f00": "#f0b232",
    "#009e73": "#2cc295",
    "#d55e00": "#f3803a",
    "#cc79a7": "#dd93bd",
    "#56b4e9": "#8fd0f7",
    "#222222": "#e6e8eb",
    "#000000": "#e6e8eb",
    "#767676": "#8d95a0",
    "#d9d9d9": "#3a4049",
    "#b3d4ea": "#24506f",
    "#56a3d1": "#3d82b3",
    "#1f6fa8": "#74b4de",
    "#0b3c61": "#bfe0f5",
    "#ffffff": GROUNDS["dark"][0],
}
_LIGHT = {"#ffffff": GROUNDS["light"][0]}
_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")
_NUMBER = re.compile(r"-?\d+\.\d+(?![\d.]*e)")
_REFERENCE = re.compile(r"(?<![^('\"])#([^\s)\"']+)")
#: Style that a page sets once for all figures.
_DROPPED = ("font-family", "stroke-linejoin: round", "stroke-linecap: butt")


#: Elements that hold text.
_TEXT = ("text", "tspan")


def _parts(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def _hex(parts):
    return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in parts)


def contrast(first, second):
    """Contrast of two colours, 1 to 21, by WCAG 2.2."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(_parts(first)), luminance(_parts(second))))
    return (high + 0.05) / (low + 0.05)


def line_colour(colour, theme):
    """The colour of lines and areas in a theme; one that is not of the palette is turned."""
    colour = colour.lower()
    if theme == "light":
        return _LIGHT.get(colour, colour)
    if colour in _DARK:
        return _DARK[colour]
    hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
    return _hex(colorsys.hls_to_rgb(hue, 0.92 - 0.8 * lightness, saturation))


def text_colour(colour, theme):
    """The same colour for text: as near as it can be read on the page and on its cards."""
    colour = line_colour(colour, theme)
    if colour in GROUNDS[theme]:
        return colour
    hue, lightness, saturation = colorsys.rgb_to_hls(*_parts(colour))
    step = -0.01 if theme == "light" else 0.01
    while min(contrast(colour, ground) for ground in GROUNDS[theme]) < CONTRAST:
        lightness += step
        colour = _hex(colorsys.hls_to_rgb(hue, lightness, saturation))
    return colour


class Colours:
    """Colours and styles that the figures of a file use, for its style sheet."""

    def __init__(self):
        self._used, self._styles = {}, {}

    def variable(self, colour, text=False):
        """The variable that stands for a colour, e.g. ``var(--c0072b2)``."""
        colour = colour.lower()
        name = f"--{'t' if text else 'c'}{colour[1:]}"
        self._used[name] = (colour, text)
        return f"var({name})"

    def declarations(self, theme):
        """What the variables are in a theme."""
        return "".join(
            f"{name}:{(text_colour if text else line_colour)(colour, theme)};"
            for name, (colour, text) in sorted(self._used.items())
        )

    def style_class(self, style):
        """The class that stands for a style, e.g. ``s3``: said once, however often it is drawn."""
        return self._styles.setdefault(style, f"s{len(self._styles)}")

    def passes_on(self, name):
        """Whether a class may stand at a group in place of all that the group holds."""
        style = next(style for style, own in self._styles.items() if own == name)
        return not re.search(r"(?<!-)opacity:|clip-path:", style)

    def rules(self):
        """The style sheet of the classes."""
        return "".join(f".{name}{{{style}}}" for style, name in self._styles.items())


def _short(match):
    value = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if value == "-0" else value


def _path(data):
    return re.sub(r"\s*([A-DF-Za-df-z])\s*", r"\1", _NUMBER.sub(_short, " ".join(data.split())))


def _transform(value):
    """A transform without turns by nothing; factors keep their digits."""
    value = re.sub(r"rotate\(-?0(?: [^)]*)?\)", "", value).strip()
    return value if "matrix" in value else _NUMBER.sub(_short, value)


_ROUNDED = {"d": _path, "points": _path, "transform": _transform} | dict.fromkeys(
    ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"),
    lambda value: _NUMBER.sub(_short, value),
)


def _name(tag):
    return tag.rpartition("}")[2]


def _images(root):
    """Boxes of the raster images of a figure: left, top, right, bottom."""
    for image in root.iter():
        if _name(image.tag) == "image":
            x, y, width, height = (float(image.get(k, 0)) for k in ("x", "y", "width", "height"))
            top = -y if "scale(1 -1)" in image.get("transform", "") else y
            yield x, top, x + width, top + height


class _Drawing:
    """One figure on its way into a page."""

    def __init__(self, root, prefix, colours):
        self.colours, self.images = colours, list(_images(root))
        values = [value for node in root.iter() for value in node.attrib.values() if "#" in value]
        names = dict.fromkeys(name for value in values for name in _REFERENCE.findall(value))
        self.names = {name: f"{prefix}-{k}" for k, name in enumerate(names)}

    def _on_image(self, node):
        """Whether a text stands on a raster image, whose colours are the same in all themes."""
        x, y = (float(node.get(k, "nan")) for k in ("x", "y"))
        return any(left <= x <= right and top <= y <= low for left, top, right, low in self.images)

    def _style(self, node, style, text):
        rules = [rule.strip() for rule in style.split(";") if rule.strip()]
        rules = [rule for rule in rules if not rule.startswith(_DROPPED)]
        style = ";".join(re.sub(r"\s*:\s*", ":", rule) for rule in rules)
        style = re.sub(r"(?<=\d)\.0+(?=px)", "", style)
        if text and self._on_image(node):
            return style
        return _HEX.sub(lambda match: self.colours.variable(match.group(), text), style)

    def attributes(self, node, text):
        """Attributes of an element as they stand in the page."""
        shown = {}
        for key, value in node.attrib.items():
            key = _name(key)
            if key == "id":
                value = self.names.get(value, "")
            elif key == "style":
                style = self._style(node, value, text)
                key, value = "class", self.colours.style_class(style) if style else ""
            elif key in ("href", "clip-path"):
                value = _REFERENCE.sub(lambda m: f"#{self.names[m.group(1)]}", value)
            elif key in _ROUNDED:
                value = _ROUNDED[key](value)
            if value and key != "type":
                shown[key] = value
        return shown

    def markup(self, node):
        """Elements, each as text, that an element becomes; a bare group is what it holds."""
        tag = _name(node.tag)
        if tag in ("metadata", "style", "title", "desc"):
            return []
        shown = self.attributes(node, tag in _TEXT)
        if tag in _TEXT:
            content = escape(node.text or "", quote=False)
            for child in node:
                content += "".join(self.markup(child)) + escape(child.tail or "", quote=False)
        else:
            elements = [text for child in _without_ground(node) for text in self.markup(child)]
            if tag == "g" and "class" not in shown:
                shown, elements = self._common(shown, elements)
            if tag in ("g", "defs") and (not elements or not shown and tag == "g"):
                return elements
            content = "".join(elements)
        said = "".join(f' {key}="{escape(value)}"' for key, value in shown.items())
        return [f"<{tag}{said}>{content}</{tag}>" if content else f"<{tag}{said}/>"]

    def _common(self, shown, elements):
        """Attributes of a group with the class that all its elements share, and those bare."""
        heads = [re.match(r'<(?:use|path|text)\b[^>]*? class="(s\d+)"', text) for text in elements]
        if len(heads) < 2 or not all(heads) or len({head.group(1) for head in heads}) > 1:
            return shown, elements
        name = heads[0].group(1)
        if not self.colours.passes_on(name):
            return shown, elements
        bare = [text.replace(f' class="{name}"', "", 1) for text in elements]
        return shown | {"class": name}, bare


def _without_ground(node):
    """Children of an element, without the white ground of a figure or of its axes."""
    children = list(node)
    if children and node.get("id", "").startswith(("figure_", "axes_")):
        first = children[0]
        shapes = list(first)
        if first.get("id", "").startswith("patch_") and len(shapes) == 1:
            style = shapes[0].get("style", "").replace(" ", "").rstrip(";").lower()
            if style in ("fill:#ffffff", "fill:none"):
                return children[1:]
    return children


def inline_svg(text, prefix, alt, colours):
    """An SVG file as an element to put into a page.

    Its ids are made unique, those that nothing refers to left out, numbers rounded to two
    decimals (of a point), fixed colours turned into variables of the page.

    Parameters
    ----------
    text : str
        An SVG document, such as matplotlib writes with its text as text.
    prefix : str
        Of its ids.
    alt : str
        What is drawn, in some ten words; "" for a drawing beside words that say the same.
    colours : Colours
        Takes up the colours that the figure uses.

    Returns
    -------
    str
        An ``<svg>`` element that is as wide as its place.

    Raises
    ------
    xml.etree.ElementTree.ParseError
        When the text is no SVG.
    """
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text[text.index("<") :]))
    drawing = _Drawing(root, prefix, colours)
    content = "".join(text for child in root for text in drawing.markup(child))
    box = root.get("viewBox") or f"0 0 {root.get('width', '')} {root.get('height', '')}"
    box = _NUMBER.sub(_short, re.sub(r"pt|px", "", box))
    said = f'role="img" aria-label="{escape(alt)}"' if alt else 'aria-hidden="true"'
    name = f"<title>{escape(alt, quote=False)}</title>" if alt else ""
    return f'<svg viewBox="{box}" {said}>{name}{content}</svg>'
