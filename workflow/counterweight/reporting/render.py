"""Pages as HTML, one file each or all in one, with all that they need inside; tables as LaTeX.

Nothing is loaded from anywhere and all text is escaped. Without scripts a page says the same;
they add the search, the marks of the place, the explanations on hover and the filters.
"""

import colorsys
import functools
import html
import itertools
import posixpath
import re
import unicodedata
from pathlib import Path

import jinja2
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from counterweight.reporting import blocks

TEMPLATES = Path(__file__).with_name("templates")
#: Short verdicts by how they begin: what a filter calls them, their class and their sign.
VERDICTS = (
    ("holds where", "holds where it could be decided", "part", "\N{CIRCLE WITH LEFT HALF BLACK}"),
    ("holds by", "holds by construction", "none", "\N{IDENTICAL TO}"),
    ("holds", "holds", "yes", "\N{CHECK MARK}"),
    ("does not", "does not hold", "no", "\N{MULTIPLICATION X}"),
    ("depends", "depends", "part", "\N{PLUS-MINUS SIGN}"),
    ("undecided", "undecided", "none", "?"),
    ("cannot", "cannot be tested", "none", "\N{EN DASH}"),
)
#: What stands beside a row's label, by its mark.
MARKS = {"": "", "main": "", "baseline": "baseline", "oracle": "bound", "failed": "failed"}
#: What the foot of a page says.
WHAT_RAN = "What was run: data, seed, versions, commit"
_NUMERIC = re.compile(r"[+\-\N{MINUS SIGN}\N{PLUS-MINUS SIGN}<>\N{ALMOST EQUAL TO}]?\s*[\d.]")
#: Ids of the shell itself.
_TAKEN = ("main", "contents", "side", "find", "list", "theme", "places", "tip", "foot")
#: Characters of the words of a place in the search.
_WORDS = 1500
#: Characters that a table of three columns or fewer may have beside its labels on a phone.
_SLIM = 22
#: Columns of a table that fit on paper: all tables of a whole run that did not fit had more.
#: Rows of these are printed as cards.
_BROAD = 10
#: JSON of pages: strict, and short.
STRICT = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}


def slug(text):
    """A text as an id: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "part"


def term_anchor(term):
    """The id of a term on the glossary page."""
    return f"term-{slug(term)}"


def verdict(text):
    """A verdict as filters know it: ``name``, ``kind`` (a class) and ``sign``."""
    for start, name, kind, sign in VERDICTS:
        if text.lower().startswith(start):
            return {"name": name, "kind": kind, "sign": sign}
    return {"name": text, "kind": "none", "sign": ""}


def _verdicts(claims):
    """Verdicts that there are, by their short names, in the order of `VERDICTS`."""
    names = [verdict(claim.verdict)["name"] for claim in claims]
    known = [name for _, name, _, _ in VERDICTS if name in names]
    return list(dict.fromkeys([*known, *names]))


def _papers(claims):
    """Claims by their paper, in the order in which the papers come up."""
    papers = {}
    for claim in claims:
        papers.setdefault(claim.paper, []).append(claim)
    return papers


class _Shell:
    """What one HTML file gathers while it is rendered.

    ``anchors`` has the places of the pages that are in this very file, by path. The whole report
    is sent ``alone``: it names files that lie beside it, and has no links to them.
    """

    def __init__(self, site, path, anchors=None):
        self.site, self.path, self.anchors = site, path, anchors or {}
        self.alone = path == blocks.WHOLE
        self.colours, self.outline = Colours(), []
        self.rules = {"wide": [], "cards": [], "paper": []}
        self._ids, self._told, self._page, self._prefix = set(_TAKEN), set(), None, ""
        #: What the search finds in this file; see `found`.
        self._found = []
        self._terms = {term.lower(): term for term in site.terms}
        paths = (entry["path"] for entry in site.entries)
        self._glossary = next((path for path in paths if path.endswith("glossary.html")), "")
        # Whole words, the longest first, with a plural s.
        words = "|".join(
            re.escape(term) if term != term.lower() else f"(?i:{re.escape(term)})"
            for term in sorted(site.terms, key=len, reverse=True)
        )
        self._pattern = re.compile(rf"(?<![\w-])({words})(s?)(?![\w-])") if words else None

    def begin(self, page):
        """Begin with a page: its terms are explained anew, its ids stand apart."""
        self._page, self._told = page, set()
        self._prefix = f"{slug(Path(page.path).stem)}-" if self.anchors else ""
        self.find(page.title, "", page.group or "page")
        return self.anchors.get(page.path, "")

    def find(self, title, place, kind, text="", under=True, names=""):
        """Note a place that the search finds; with `under` what is said next belongs to it."""
        entry = {"title": title, "place": place, "kind": kind, "texts": [text], "names": names}
        self._found.insert(len(self._found) if under else max(len(self._found) - 1, 0), entry)

    @staticmethod
    def unknown(kind):
        raise TypeError(f"{kind} is no block that a page may hold")

    def anchor(self, text, given=""):
        """An id that this file has only once."""
        name = self._prefix + (given or slug(text)[:60])
        names = itertools.chain([name], (f"{name}-{k}" for k in itertools.count(2)))
        name = next(one for one in names if one not in self._ids)
        self._ids.add(name)
        return name

    def heading(self, text, given, level):
        """The id of a heading, noted for the contents."""
        name = self.anchor(text, given)
        self.outline.append((level, name, text))
        self.find(text, name, self._page.title)
        return name

    def place(self, title, given, text=""):
        """The id of a claim or a term, which the search finds."""
        name = self.anchor(title, given)
        kind = "term" if given.startswith("term-") else "claim"
        self.find(title, name, kind, text, under=False)
        return name

    def linked(self, target, text, note=""):
        """Where a link leads; the search finds a file by its name where it is linked to."""
        name = target.rpartition("/")[2].lower()
        if "." in name and ".html" not in name and ":" not in target:
            place = self._found[-1]["place"]
            self.find(text, place, f"file in {self._page.title}", note, False, name)
        return self.href(target)

    def leads(self, target):
        """Whether a link leads anywhere for who has this file alone."""
        return not self.alone or re.match(r"(#|[a-z][a-z0-9+.-]*:)", self.href(target))

    def href(self, target):
        """Where a link leads that was given relative to the folder of results."""
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return target
        path, _, part = target.partition("#")
        if not path:
            return f"#{self._prefix}{part}"
        if path in self.anchors:
            return f"#{slug(Path(path).stem)}-{part}" if part else f"#{self.anchors[path]}"
        if path == self.path:
            return f"#{part or 'main'}"
        place = posixpath.relpath(path, posixpath.dirname(self.path) or ".")
        return f"{place}#{part}" if part else place

    def words(self, text):
        """A text whose terms are explained where they come up for the first time."""
        if self._found:
            self._found[-1]["texts"].append(text)
        if self._pattern is None or self._page.path == self._glossary:
            return escape(text)
        parts, end = [], 0
        for match in self._pattern.finditer(text):
            term = self._terms[match.group(1).lower()]
            if term in self._told:
                continue
            parts += [escape(text[end : match.start()]), self.term(match.group(), term)]
            end = match.end()
        return Markup("").join([*parts, escape(text[end:])])

    def term(self, text, term, meaning=""):
        """A word with its explanation; it leads to the glossary where that has it."""
        self._told.add(term)
        meaning = meaning or self.site.terms[term]
        if self._glossary and term in self.site.terms:
            place = self.href(f"{self._glossary}#{term_anchor(term)}")
            link = Markup('<a class="term" href="{}" title="{}">{}</a>')
            return link.format(place, meaning, text)
        button = Markup('<button type="button" class="term" title="{}">{}</button>')
        return button.format(meaning, text)

    def head(self, head):
        """Head of a column with its explanation, if it has one."""
        if head.term:
            term = self._terms.get(head.text.lower(), head.text)
            return self.term(head.text, term, head.term)
        return self.words(head.text)

    def drawn(self, figure):
        """The id of a figure, which the search finds."""
        name = self.anchor(figure.name, f"figure-{figure.name}")
        self.find(figure.title, name, f"figure in {self._page.title}", figure.caption, False)
        return name

    def drawing(self, svg, alt):
        """An SVG text as an element of the page."""
        return Markup(inline_svg(svg, self.anchor("d"), alt, self.colours))

    def table(self, table):
        """How a table is set: its id, and whether it stays a table on a phone."""
        name, cells = self.anchor("t"), [row.cells for row in table.rows if row.cells]
        labels = [one.text for one in table.head] + [row.label for row in table.rows]
        self.find(table.caption, name, f"table in {self._page.title}", " ".join(labels), False)
        room = 0
        for k, head in enumerate(table.head[1:]):
            column = [row[k] for row in cells if k < len(row)]
            texts = [cell.text for cell in column if cell.text]
            child = f":nth-child({k + 2})"
            if sum(bool(_NUMERIC.match(text)) for text in texts) * 2 <= len(texts):
                self.rules["wide"].append(f"#{name} :is(th,td){child}{{text-align:left}}")
            # As a text inside the quotes of a style sheet; the space ends the number.
            text = re.sub(r"[^\w ]", lambda m: f"\\{ord(m[0]):x} ", head.text, flags=re.ASCII)
            label = f'{{content:"{text}"}}'
            self.rules["cards"].append(f"#{name} td{child}::before{label}")
            sizes = [len(text) for cell in column for text in (cell.text, cell.bracket)]
            room += max([*sizes, *map(len, head.text.split())], default=0)
        slim = len(table.head) <= 3 and room <= _SLIM
        if slim:
            del self.rules["cards"][len(self.rules["cards"]) + 1 - len(table.head) :]
        if len(table.head) > _BROAD:
            self.rules["paper"] += self.rules["cards"][1 - len(table.head) :]
        tones = any(cell.tone for row in cells for cell in row)
        return {"id": name, "slim": slim, "tones": tones}

    def style(self):
        """The style that only this file has: its colours, figures and tables."""
        rules = {name: "".join(some) for name, some in self.rules.items()}
        on = {"cards": "screen and (max-width:44rem)", "paper": "print"}
        media = (f"@media {on[name]}{{{rules[name]}}}" for name in on if rules[name])
        return Markup(rules["wide"] + self.colours.rules() + "".join(media))

    def contents(self):
        """Groups of the contents: ``title``, ``entries`` and whether one is there."""
        for title, entries in itertools.groupby(self.site.entries, lambda e: e["group"]):
            entries = [
                {"title": entry["title"], "href": self.href(entry["path"])}
                | {"here": not self.anchors and entry["path"] == self.path}
                for entry in entries
            ]
            here = any(entry["here"] for entry in entries)
            yield {"title": title, "entries": entries, "here": here}

    def found(self):
        """What the search finds in this file: title, place, kind, words, exact names of each."""
        for entry in self._found:
            words = re.findall(r"[^\W_]+", " ".join(entry["texts"]).lower())
            place = f"{self.path}#{entry['place']}" if entry["place"] else self.path
            called = self.site.names.get(entry["title"], "") if entry["kind"] == "term" else ""
            names = entry["names"] or called
            words = " ".join(dict.fromkeys(words))[:_WORDS]
            yield [entry["title"], place, entry["kind"], words, names]

    def places(self):
        """What the search knows at once (titles of pages, the foot), and what files know more."""
        entries = [
            [entry["title"], self.href(entry["path"]) if self.anchors else entry["path"]]
            + [entry["group"], entry.get("words", ""), ""]
            for entry in self.site.entries
        ]
        if self.site.facts:
            foot, facts = "#foot" if self.anchors else f"{self.path}#foot", self.site.facts
            entries.append([WHAT_RAN, foot, "on this page", " ".join(facts).lower(), ""])
        told = {
            "root": posixpath.relpath(".", posixpath.dirname(self.path) or "."),
            "pages": entries,
        }
        told["files"] = [] if self.anchors else [self.href(path) for path in self.site.searches]
        return htmlsafe_json_dumps(told, **STRICT)


@functools.cache
def _environment():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Neighbours of one kind, such as links, stand together.
    kind = functools.partial(itertools.groupby, key=lambda block: type(block).__name__)
    environment.globals.update(
        runs=lambda blocks: ((name, list(some)) for name, some in kind(blocks))
    )
    environment.globals.update(papers=_papers, marks=MARKS)
    environment.globals.update(verdict=verdict, verdicts=_verdicts, term_anchor=term_anchor)
    for name, files in (("css", ("style.css",)), ("js", ("words.js", "script.js"))):
        texts = [(TEMPLATES / file).read_text(encoding="utf-8") for file in files]
        # Lines of comments and indents are for who reads the files.
        environment.globals[name] = Markup(re.sub(r"(?m)^ *(//.*\n)?", "", "".join(texts)))
    environment.globals["grounds"], environment.globals["broad"] = GROUNDS, _BROAD
    return environment


#: Spaces at which no line may break: in an interval, before a unit, around a sign of relation.
_KEPT = re.compile(
    r"(?<=\d) (?=%|(?:nats|points|MB|GB)\b)|(?<=[Γαβεηκλp²]) (?=(?:=|≤|≥|&lt;) )"
    r"|(?<=[Γαβεηκλp²] =) (?=[−.\d])|(?<=[≤≥]) (?=[−.\d])|(?<=\[)([+−]?[\d.,]+,) (?=[+−]?[\d.,]+\])"
)
#: Texts of HTML that are taken as they are.
_VERBATIM = re.compile(r"(<(pre|code|script|style)\b.*?</\2>|<[^>]*>)", re.DOTALL)


def unbroken(text):
    """HTML in which numbers stay with their units, symbols with their numbers, intervals whole."""
    parts = _VERBATIM.split(text)
    kept = [_KEPT.sub(lambda m: m[0].replace(" ", "\u00a0"), part) for part in parts[::3]]
    verbatim = [*parts[1::3], ""]
    return "".join(itertools.chain(*zip(kept, verbatim, strict=True)))


def _file(shell, title, pages, whole):
    """An HTML file with the pages in it."""
    environment = _environment()
    body = environment.get_template("page.html").render(shell=shell, pages=pages, whole=whole)
    text = environment.get_template("base.html").render(
        shell=shell, title=title, site=shell.site, body=Markup(unbroken(body)), whole=whole
    )
    return re.sub(r"\n\s*\n+", "\n", text) if "<pre" not in text else text


def render(page, site):
    """A `counterweight.reporting.blocks.Page` as a file of its own, with all that it needs inside.

    Links are relative to the page's folder. Raises TypeError when the page holds what is no block.
    """
    return rendered(page, site)[0]


def rendered(page, site):
    """`render`, and what the search finds in the page; see `search_file`."""
    shell = _Shell(site, page.path)
    return _file(shell, page.title, [page], False), [*shell.found()]


def search_file(entries):
    """A script that hands over what the search finds: read from a disk, too, where JSON is not.

    With terms that say the same, which a page without a search need not hold.
    """
    told = htmlsafe_json_dumps(entries, **STRICT)
    same = (TEMPLATES / "same.js").read_text(encoding="utf-8")
    return f"(self.found=self.found||[]).push(...{told});\n{same}"


def render_one(pages, site, path=blocks.WHOLE):
    """All pages in one file at a path below the folder of results; links lead to their places.

    The whole report is sent alone: files that are not in it are named there, without a link.
    """
    anchors = {page.path: f"page-{slug(Path(page.path).stem)}" for page in pages}
    return _file(_Shell(site, path, anchors), site.title, pages, True)


# Figures inside a page: SVG in colours that follow the theme of the page.


#: What figures stand on, by theme: the page and the cards on it.
GROUNDS = {"light": ("#fbfaf7", "#ffffff"), "dark": ("#14171b", "#1b1f25")}
#: Contrast of text with what it stands on, with some room above WCAG's 4.5.
CONTRAST = 4.7
#: Colours of the figures' palette in the dark theme, where it is not the turned one; "#ffffff" is
#: the page itself. Ordered shades turn around, so that the least stays nearest to the page.
_DARK = {
    **{"#0072b2": "#4aa3e0", "#e69f00": "#f0b232", "#009e73": "#2cc295", "#d55e00": "#f3803a"},
    **{"#cc79a7": "#dd93bd", "#56b4e9": "#8fd0f7", "#222222": "#e6e8eb", "#d9d9d9": "#3a4049"},
    **{"#1f6fa8": "#74b4de", "#0b3c61": "#bfe0f5", "#ffffff": GROUNDS["dark"][0]},
}
_LIGHT = {"#ffffff": GROUNDS["light"][0]}
_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")


def _rgb(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def _hex(parts):
    return "#" + "".join(f"{round(255 * min(max(part, 0.0), 1.0)):02x}" for part in parts)


def contrast(first, second):
    """Contrast of two colours, 1 to 21, by WCAG 2.2."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def line_colour(colour, theme):
    """The colour of lines and areas in a theme; one that is not of the palette is turned."""
    colour = colour.lower()
    if theme == "light":
        return _LIGHT.get(colour, colour)
    if colour in _DARK:
        return _DARK[colour]
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    return _hex(colorsys.hls_to_rgb(hue, 0.92 - 0.8 * lightness, saturation))


def text_colour(colour, theme):
    """The same colour for text: as near as it can be read on the page and on its cards."""
    colour = line_colour(colour, theme)
    if colour in GROUNDS[theme]:
        return colour
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
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

    def style_class(self, style, text):
        """The class that stands for a style, e.g. ``s3``: said once, however often it is drawn."""
        style = re.sub(r"\s*([:;])\s*", r"\1", style)
        style = _HEX.sub(lambda found: self.variable(found.group(), text), style)
        return self._styles.setdefault(style, f"s{len(self._styles)}")

    def rules(self):
        """The style sheet of the classes."""
        return "".join(f".{name}{{{style}}}" for style, name in self._styles.items())


#: What of a figure's file no page needs: its head, its style, grounds that nobody sees.
_NEEDLESS = r'<\?xml.*?\?>|<defs><style.*?</style></defs>|<path [^>]*style="fill: none"/>'


def inline_svg(text, prefix, alt, colours):
    """An SVG file as an element to put into a page, as wide as its place.

    Fixed colours become variables of the page, styles classes, ids unique by the prefix. The text
    is one of `counterweight.reporting.charts.forms.svg_text`, or a small chart; `alt` is "" beside
    words that say the same; `colours` takes up what the figure uses.
    """
    head, _, body = re.sub(_NEEDLESS, "", text[text.index("<") :]).partition(">")
    names = {name: f"{prefix}-{k}" for k, name in enumerate(re.findall(r' id="([^"]+)"', body))}

    def said(tag):
        """A tag with its style as a class and its ids, as they are called in the page."""
        name, rest = tag.groups()
        rest = re.sub(
            r'style="([^"]*)"',
            lambda found: f'class="{colours.style_class(found[1], name in ("text", "tspan"))}"',
            rest,
        )
        rest = re.sub(r'(?<=id=")[^"]+', lambda found: names[found[0]], rest)
        where = r'(?:xlink:)?((?:href|clip-path)="(?:url\()?#)([^")]+)'
        return f"<{name}{re.sub(where, lambda found: found[1] + names[found[2]], rest)}>"

    body = re.sub(r"<(\w+)( [^>]*)>", said, body[: body.rindex("</svg>")])
    # Groups that say nothing of what they hold are left out.
    bare, kept = [], []
    for part in re.split(r"(<g\b[^>]*>|</g>)", body):
        if part.startswith("<g"):
            bare.append(part == "<g>")
        if not (part == "<g>" or (part == "</g>" and bare.pop())):
            kept.append(part)
    (box,) = re.findall(r'viewBox="([^"]*)"', head)
    label = f'role="img" aria-label="{html.escape(alt)}"' if alt else 'aria-hidden="true"'
    title = f"<title>{html.escape(alt, quote=False)}</title>" if alt else ""
    return f'<svg viewBox="{box}" {label}>{title}{"".join(kept)}</svg>'


# Tables of a page in LaTeX, as they are read: the paper's figures stand beside.


#: What LaTeX reads otherwise than it is written. Other letters stay as they are, in UTF-8.
SAID = {char: "\\" + char for char in "&%$#_{}"}
SAID |= {char: f"${char}$" for char in "<>|"} | {"\N{MINUS SIGN}": "$-$", "²": "$^2$"}
SAID |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
SAID |= {"×": "$\\times$", "±": "$\\pm$", "≤": "$\\le$", "≥": "$\\ge$", "→": "$\\to$"}
SAID |= {"\N{EN DASH}": "--", "—": "---", "…": "\\dots{}", "†": "\\dag{}"}
SAID |= {"“": "``", "”": "''", "\N{RIGHT SINGLE QUOTATION MARK}": "'"}
SAID |= {"\u00a0": "~"}
DAGGER = "†"


def latex(page):
    """Tables of a page's results for the package booktabs; only a remark where there is none."""
    name = page.path.rpartition("/")[2].removesuffix(".html")
    found = [
        block
        for section in page.sections
        if section.id == "results"
        for block in section.blocks
        if isinstance(block, blocks.Table)
    ]
    head = f"% {' '.join(page.title.split())}. Put \\usepackage{{booktabs}} in the preamble.\n"
    parts = [_latex_table(one, f"tab:{name}-{place}") for place, one in enumerate(found, 1)]
    return head + ("\n".join(parts) if parts else "% This study has no table of results.\n")


def _latex_table(table, label):
    columns, rows = len(table.head), []
    for row in table.rows:
        if row.group:
            group = f"\\textit{{{latex_escaped(row.group)}}}"
            rows.append(f"\\multicolumn{{{columns}}}{{l}}{{{group}}} \\\\")
        name = row.label + (f" {DAGGER}" if row.mark == "oracle" else "")
        if row.reason:
            failed = f"\\multicolumn{{{columns - 1}}}{{l}}{{{latex_escaped(row.reason)}}}"
            rows.append(f"{latex_escaped(name)} & {failed} \\\\")
            continue
        cells = [f"{cell.text} {cell.bracket}".strip() for cell in row.cells]
        cells += [""] * (columns - 1 - len(cells))
        rows.append(_latex_line((name, *cells), bold=row.best))
    said = [table.note] if table.note else []
    if any(row.mark == "oracle" for row in table.rows):
        said.append(f"{DAGGER} sees what is hidden from the others.")
    lines = (
        "\\begin{table}",
        f"\\caption{{{latex_escaped(table.caption)}}}",
        f"\\label{{{label}}}",
        f"\\begin{{tabular}}{{l{'r' * (columns - 1)}}}",
        "\\toprule",
        _latex_line(head.text for head in table.head),
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
        *([f"\\par\\footnotesize {latex_escaped(' '.join(said))}"] if said else []),
        "\\end{table}",
    )
    return "\n".join(lines) + "\n"


def _latex_line(texts, bold=False):
    texts = map(latex_escaped, texts)
    return " & ".join(f"\\textbf{{{one}}}" if bold and one else one for one in texts) + " \\\\"


def latex_escaped(text):
    """Text that LaTeX prints as it is, a Greek letter by its name."""

    def said(char):
        words = unicodedata.name(char, "").split()
        if char in SAID or words[:1] != ["GREEK"] or len(words) != 4:
            return SAID.get(char, char)
        name = words[3].lower()
        return f"$\\{name.capitalize() if words[1] == 'CAPITAL' else name}$"

    return "".join(map(said, str(text)))
