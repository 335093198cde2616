"""Pages as HTML: one file each, or all of them in one, with all that they need inside.

Nothing is loaded from anywhere and all text is escaped. Without scripts a page says the same;
they add the search, the marks of the place, the explanations on hover and the filters.
"""

import functools
import itertools
import posixpath
import re
from pathlib import Path

import jinja2
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from counterweight.reporting.page.drawing import GROUNDS, Colours, inline_svg

TEMPLATES = Path(__file__).with_name("templates")
#: Short verdicts by how they begin: what a filter calls them, their class and their sign.
VERDICTS = (
    ("holds where", "holds where it could be decided", "part", "\N{CIRCLE WITH LEFT HALF BLACK}"),
    ("holds", "holds", "yes", "\N{CHECK MARK}"),
    ("does not", "does not hold", "no", "\N{MULTIPLICATION X}"),
    ("depends", "depends", "part", "\N{PLUS-MINUS SIGN}"),
    ("undecided", "undecided", "none", "?"),
    ("cannot", "cannot be tested", "none", "\N{EN DASH}"),
)
#: What stands beside a row's label, by its mark.
MARKS = {"": "", "main": "", "baseline": "baseline", "oracle": "bound", "failed": "failed"}
_NUMERIC = re.compile(r"[+\-\N{MINUS SIGN}\N{PLUS-MINUS SIGN}<>\N{ALMOST EQUAL TO}]?\s*[\d.]")
#: Ids of the shell itself.
_TAKEN = ("main", "contents", "side", "find", "list", "theme", "places", "tip")
#: Characters that a table of three columns or fewer may have beside its labels on a phone.
_SLIM = 22


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


def _runs(blocks):
    """Neighbours of one kind, such as links, together: (kind, blocks)."""
    for kind, members in itertools.groupby(blocks, lambda block: type(block).__name__):
        yield kind, list(members)


def _escaped(text):
    """A text inside the quotes of a style sheet."""
    return re.sub(r"[^\w ]", lambda m: f"\\{ord(m.group()):06x}", text, flags=re.ASCII)


def _pattern(terms):
    """What finds the terms in a text: whole words, the longest first, with a plural s."""
    if not terms:
        return None
    words = [
        re.escape(term) if term != term.lower() else f"(?i:{re.escape(term)})"
        for term in sorted(terms, key=len, reverse=True)
    ]
    return re.compile(rf"(?<![\w-])({'|'.join(words)})(s?)(?![\w-])")


class _Shell:
    """What one HTML file gathers while it is rendered.

    ``anchors`` has the places of the pages that are in this very file, by path.
    """

    def __init__(self, site, path, anchors=None):
        self.site, self.path, self.anchors = site, path, anchors or {}
        self.colours, self.outline, self.rules = Colours(), [], {"wide": [], "cards": []}
        self._pattern, self._ids, self._told = _pattern(site.terms), set(_TAKEN), set()
        self._terms = {term.lower(): term for term in site.terms}
        self._glossary = next(
            (entry["path"] for entry in site.entries if entry["path"].endswith("glossary.html")), ""
        )
        self._page, self._prefix = None, ""

    def begin(self, page):
        """Begin with a page: its terms are explained anew, its ids stand apart."""
        self._page, self._told = page, set()
        self._prefix = f"{slug(Path(page.path).stem)}-" if self.anchors else ""
        return self.anchors.get(page.path, "")

    @staticmethod
    def unknown(kind):
        raise TypeError(f"{kind} is no block that a page may hold")

    def anchor(self, text, given=""):
        """An id that this file has only once."""
        name = self._prefix + (given or slug(text)[:60])
        number = next(k for k in itertools.count(1) if _numbered(name, k) not in self._ids)
        self._ids.add(_numbered(name, number))
        return _numbered(name, number)

    def heading(self, text, given, level):
        """The id of a heading, noted for the contents."""
        name = self.anchor(text, given)
        self.outline.append((level, name, text))
        return name

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
            return Markup('<a class="term" href="{}" title="{}">{}</a>').format(
                place, meaning, text
            )
        return Markup('<button type="button" class="term" title="{}">{}</button>').format(
            meaning, text
        )

    def head(self, head):
        """Head of a column with its explanation, if it has one."""
        if head.term:
            term = self._terms.get(head.text.lower(), head.text)
            return self.term(head.text, term, head.term)
        return self.words(head.text)

    def drawing(self, svg, alt):
        """An SVG text as an element of the page."""
        return Markup(inline_svg(svg, self.anchor("d"), alt, self.colours))

    def table(self, table):
        """How a table is set: its id, and whether it stays a table on a phone."""
        name, cells = self.anchor("t"), [row.cells for row in table.rows if row.cells]
        room = 0
        for k, head in enumerate(table.head[1:]):
            column = [row[k] for row in cells if k < len(row)]
            texts = [cell.text for cell in column if cell.text]
            child = f":nth-child({k + 2})"
            if sum(bool(_NUMERIC.match(text)) for text in texts) * 2 <= len(texts):
                self.rules["wide"].append(f"#{name} :is(th,td){child}{{text-align:left}}")
            label = f'{{content:"{_escaped(head.text)}"}}'
            self.rules["cards"].append(f"#{name} td{child}::before{label}")
            sizes = [len(text) for cell in column for text in (cell.text, cell.bracket)]
            room += max([*sizes, *map(len, head.text.split())], default=0)
        slim = len(table.head) <= 3 and room <= _SLIM
        if slim:
            del self.rules["cards"][len(self.rules["cards"]) + 1 - len(table.head) :]
        tones = any(cell.tone for row in cells for cell in row)
        return {"id": name, "slim": slim, "tones": tones}

    def style(self):
        """The style that only this file has: its colours, figures and tables."""
        cards = "".join(self.rules["cards"])
        return Markup(
            "".join(self.rules["wide"])
            + self.colours.rules()
            + (f"@media screen and (max-width:44rem){{{cards}}}" if cards else "")
        )

    def contents(self):
        """Groups of the contents: ``title``, ``entries`` and whether one is there."""
        for title, entries in itertools.groupby(self.site.entries, lambda e: e["group"]):
            entries = [
                {
                    "title": entry["title"],
                    "href": self.href(entry["path"]),
                    "here": not self.anchors and entry["path"] == self.path,
                }
                for entry in entries
            ]
            here = any(entry["here"] for entry in entries)
            yield {"title": title, "entries": entries, "here": here}

    def places(self):
        """What the search knows of the site: title, place and words of every entry."""
        entries = [
            [entry["title"], self.href(entry["path"]), entry["group"], entry.get("words", "")]
            for entry in self.site.entries
        ]
        return htmlsafe_json_dumps(entries, ensure_ascii=False, separators=(",", ":"))


def _numbered(name, number):
    return name if number == 1 else f"{name}-{number}"


@functools.cache
def _environment():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        runs=_runs,
        papers=_papers,
        verdict=verdict,
        verdicts=_verdicts,
        marks=MARKS,
        term_anchor=term_anchor,
    )
    environment.globals.update(
        grounds=GROUNDS,
        css=Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
        js=Markup((TEMPLATES / "script.js").read_text(encoding="utf-8")),
    )
    return environment


def _file(shell, title, pages, whole):
    """An HTML file with the pages in it."""
    environment = _environment()
    body = environment.get_template("page.html").render(shell=shell, pages=pages, whole=whole)
    text = environment.get_template("base.html").render(
        shell=shell, title=title, site=shell.site, body=Markup(body), whole=whole
    )
    return re.sub(r"\n\s*\n+", "\n", text) if "<pre" not in text else text


def render(page, site):
    """A page as a file of its own.

    Parameters
    ----------
    page : counterweight.reporting.page.blocks.Page
    site : counterweight.reporting.page.blocks.Site

    Returns
    -------
    str
        HTML with style, script and figures inside. Links are relative to the page's folder.

    Raises
    ------
    TypeError
        When the page holds what is no block.
    """
    return _file(_Shell(site, page.path), page.title, [page], False)


def render_one(pages, site, path="report_whole.html"):
    """All pages in one file, one below the other.

    Parameters
    ----------
    pages : sequence of counterweight.reporting.page.blocks.Page
    site : counterweight.reporting.page.blocks.Site
    path : str
        Where the file will stand, below the folder of results.

    Returns
    -------
    str
        HTML as of `render`; links from page to page lead to their places in the file.
    """
    anchors = {page.path: f"page-{slug(Path(page.path).stem)}" for page in pages}
    return _file(_Shell(site, path, anchors), site.title, pages, True)
