"""Tables in LaTeX: every special character is printed as it is, every line has all its cells."""

import re

import pytest
from counterweight.reporting import blocks
from counterweight.reporting.render import latex, latex_escaped


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a & b_1 #3 $5 50 % {x}", r"a \& b\_1 \#3 \$5 50 \% \{x\}"),
        ("a\\b ~ ^", r"a\textbackslash{}b \textasciitilde{} \textasciicircum{}"),
        ("−0.2 – 0.3, ±1, p ≤ 2", r"$-$0.2 -- 0.3, $\pm$1, p $\le$ 2"),
        ("(α,β)-proxy, Γ", r"($\alpha$,$\beta$)-proxy, $\Gamma$"),
        ("Köln “so”", "Köln ``so''"),
    ],
)
def test_what_latex_reads_otherwise_is_escaped(text, said):
    assert latex_escaped(text) == said


def page(*tables):
    section = blocks.Section("Results", tables, "results")
    other = blocks.Section("Details", (table("Elsewhere"),), "details")
    return blocks.Page("report/toy_study.html", "A toy", (), (section, other))


def table(caption="Accuracy, 50 % & more"):
    rows = (
        blocks.Row("plain", (blocks.Cell("0.5", "[0.4, 0.6]"), blocks.Cell("−1")), "first"),
        blocks.Row("best_one", (blocks.Cell("0.7"), blocks.Cell("2")), best=True),
        blocks.Row("all", (blocks.Cell("0.9"), blocks.Cell("–")), mark="oracle"),
        blocks.Row("lost", mark="failed", reason="it broke & ended"),
    )
    head = (blocks.Head("Method"), blocks.Head("Accuracy"), blocks.Head("In print"))
    return blocks.Table(caption, head, rows, note="n = 10.")


def test_a_table_is_told_whole():
    text = latex(page(table()))
    lines = text.splitlines()
    assert "\\begin{tabular}{lrr}" in lines and "Method & Accuracy & In print \\\\" in lines
    assert "\\multicolumn{3}{l}{\\textit{first}} \\\\" in lines
    assert "plain & 0.5 [0.4, 0.6] & $-$1 \\\\" in lines
    assert "\\textbf{best\\_one} & \\textbf{0.7} & \\textbf{2} \\\\" in lines
    assert "all \\dag{} & 0.9 & -- \\\\" in lines
    assert "lost & \\multicolumn{2}{l}{it broke \\& ended} \\\\" in lines
    assert "\\label{tab:toy_study-1}" in lines and "Elsewhere" not in text
    assert "n = 10. \\dag{} sees what is hidden" in text


def test_lines_have_all_cells_and_braces_close():
    text = latex(page(table(), table("Another")))
    assert text.count("\\begin{table}") == text.count("\\end{table}") == 2
    for line in text.splitlines():
        if line.endswith("\\\\"):
            spans = sum(int(k) - 1 for k in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + spans == 2, line
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


def test_a_page_without_tables_says_so():
    assert "no table" in latex(page())
