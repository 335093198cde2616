"""The figure of what components bring to a page: their sections, in the forms that they name."""

import numpy as np

from counterweight.reporting.charts import forms
from counterweight.reporting.sheets import declared_sheet
from counterweight.reporting.wording import capital

CAPTION = (
    "Sections of the page that are drawn as well: means over repeats with their 95 % intervals, a "
    "panel for each column."
)


def draw_sections(study):
    """A row of panels for each declared section with a form: dots, bars or a heat map."""
    shown = {}
    for caption, said in (study.plan.get("sections") or {}).items():
        sheet = declared_sheet(caption, said)
        lines, columns = list(sheet.lines(study)), sheet.columns
        values = [[column.estimate(study, line) for column in columns] for line in lines]
        known = [k for k, row in enumerate(values) if any(one.known for one in row)]
        if known and said.get("form"):
            lines = [lines[k] for k in known]
            shown[caption] = said["form"], lines, columns, [values[k] for k in known]
    if not shown:
        return forms.blank("No section of this study was measured.")
    titles, heights = [], []
    for caption, (form, lines, columns, _) in shown.items():
        heads = [_axis(study, one) for one in columns]
        titles.append([caption] if form == "heat map" else heads)
        heights.append(forms.row_height(len(lines)) + (0.4 if form == "heat map" else 0))
    canvas = forms.Canvas(titles, heights, sharey="row")
    for row, (form, lines, columns, values) in zip(canvas.panels, shown.values(), strict=True):
        FORMS[form](study, canvas, row, _labels(study, lines), lines, columns, values)
    caption, (_, lines, columns, values) = next(iter(shown.items()))
    at = next((k for k, line in enumerate(lines) if line.source == study.main), 0)
    at = at if values[at][0].known else next(k for k, row in enumerate(values) if row[0].known)
    measure = columns[0].style(study)
    said = f"{_labels(study, lines)[at]} has {measure.label} {forms.told(values[at][0], measure)}"
    return canvas.drawing(f"{capital(caption)}: {said}", "What components of the study tell of it")


def _labels(study, lines):
    """Lines in one text each, with the method where they stand for its parts."""
    names = [study.label(line.source) for line in lines]
    return [
        line.label if line.label == name else f"{name}, {line.label}"
        for line, name in zip(lines, names, strict=True)
    ]


def _axis(study, column):
    """Head of a panel: the column with its unit."""
    words = forms.axis_of(column.style(study))[0]
    return (
        capital(column.label) + words[len(column.style(study).label) :] if column.label else words
    )


def _dots(study, canvas, panels, labels, lines, columns, values):
    canvas.rows(labels, panels)
    for k, (panel, column) in enumerate(zip(panels, columns, strict=True)):
        panel.measures, factor = forms.axis_of(column.style(study))
        for place, (line, row) in enumerate(zip(lines, values, strict=True)):
            look = forms.BOUND if line.mark == "oracle" else forms.role_look(study, line.source)
            panel.dot(place, panel.name, row[k].times(factor), look)
        panel.ax.margins(x=0.08)


def _bars(study, canvas, panels, labels, lines, columns, values):
    canvas.rows(labels, panels)
    for k, (panel, column) in enumerate(zip(panels, columns, strict=True)):
        panel.measures, factor = forms.axis_of(column.style(study))
        sizes = [factor * row[k].mean for row in values]
        panel.bars("mean", range(len(labels)), sizes, forms.BLUE, 0.5, rows=True)


def _heat_map(study, canvas, panels, labels, lines, columns, values):
    means = np.array([[one.mean for one in row] for row in values])
    most = np.nanmax(np.abs(means), axis=0)
    heads = [column.label or column.style(study).label for column in columns]
    texts = [
        [
            forms.told(one._replace(low=np.nan), column.style(study))
            for one, column in zip(row, columns, strict=True)
        ]
        for row in values
    ]
    panels[0].measures = "value"
    panels[0].cells(labels, heads, means, means / np.where(most > 0, most, 1.0), texts)


#: How a section may be drawn.
FORMS = {"dots": _dots, "bars": _bars, "heat map": _heat_map}
