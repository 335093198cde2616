"""Tables of a page in LaTeX, as they are read: the paper's figures stand beside."""

import unicodedata

from counterweight.reporting.page import blocks

#: What LaTeX reads otherwise than it is written. Other letters stay as they are, in UTF-8.
SAID = {char: "\\" + char for char in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": "\\dots{}",
    "×": "$\\times$",
    "±": "$\\pm$",
    "≤": "$\\le$",
    "≥": "$\\ge$",
    "→": "$\\to$",
    "²": "$^2$",
    "†": "\\dag{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "\u202f": "\\,",
    "\u00a0": "~",
}
ORACLE = "†"


def latex(page):
    """The tables of a page's results, one below the other; only a remark where there is none.

    Parameters
    ----------
    page : counterweight.reporting.page.blocks.Page

    Returns
    -------
    str
        LaTeX for the package booktabs.
    """
    name = page.path.rpartition("/")[2].removesuffix(".html")
    found = [
        block
        for section in page.sections
        if section.id == "results"
        for block in section.blocks
        if isinstance(block, blocks.Table)
    ]
    head = f"% {' '.join(page.title.split())}. Put \\usepackage{{booktabs}} in the preamble.\n"
    parts = [_table(one, f"tab:{name}-{place}") for place, one in enumerate(found, 1)]
    return head + ("\n".join(parts) if parts else "% This study has no table of results.\n")


def _table(table, label):
    columns = len(table.head)
    lines = ["\\begin{table}", f"\\caption{{{escaped(table.caption)}}}", f"\\label{{{label}}}"]
    lines += [f"\\begin{{tabular}}{{l{'r' * (columns - 1)}}}", "\\toprule"]
    lines += [_line(head.text for head in table.head), "\\midrule"]
    for row in table.rows:
        if row.group:
            lines.append(
                f"\\multicolumn{{{columns}}}{{l}}{{\\textit{{{escaped(row.group)}}}}} \\\\"
            )
        label = row.label + (f" {ORACLE}" if row.mark == "oracle" else "")
        if row.reason:
            failed = f"\\multicolumn{{{columns - 1}}}{{l}}{{{escaped(row.reason)}}}"
            lines.append(f"{escaped(label)} & {failed} \\\\")
            continue
        cells = [f"{cell.text} {cell.bracket}".strip() for cell in row.cells]
        cells += [""] * (columns - 1 - len(cells))
        lines.append(_line((label, *cells), bold=row.best))
    lines += ["\\bottomrule", "\\end{tabular}"]
    said = [table.note] if table.note else []
    if any(row.mark == "oracle" for row in table.rows):
        said.append(f"{ORACLE} sees what is hidden from the others.")
    lines += [f"\\par\\footnotesize {escaped(' '.join(said))}"] if said else []
    return "\n".join([*lines, "\\end{table}", ""])


def _line(texts, bold=False):
    texts = map(escaped, texts)
    return " & ".join(f"\\textbf{{{one}}}" if bold and one else one for one in texts) + " \\\\"


def escaped(text):
    """Text that LaTeX prints as it is.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return "".join(SAID.get(char) or _greek(char) or char for char in str(text))


def _greek(char):
    words = unicodedata.name(char, "").split()
    if words[:1] != ["GREEK"] or len(words) != 4:
        return ""
    name = words[3].lower()
    return f"$\\{name.capitalize() if words[1] == 'CAPITAL' else name}$"
