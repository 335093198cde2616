"""Figures of answers for new rows, and of sections that components bring."""

import numpy as np

from counterweight.reporting import study_page
from counterweight.reporting.charts import forms
from counterweight.reporting.sheets import declared_sheet
from counterweight.reporting.wording import capital, number, percent, places_for

#: Text under each figure.
CAPTION_BY_NAME = {
    "sections": (
        "Sections of the page that are drawn as well: means over repeats with their 95 % intervals, a "
        "panel for each column."
    ),
    "new_rows": (
        "Which share of the new rows has an answer of which size, beside that of the rows of the table."
    ),
}
#: What figures read beside measurements.
READS_BY_NAME = {"new_rows": ["deliver", "apply"]}
#: Bars of a histogram.
BINS = 20


#: By the name of the file: the column that is drawn, its words, and its name in the title.
_ANSWERS = {
    "scores": ("estimate", "Estimate", "estimate"),
    "offers": ("best_offer", "Best offer", "best offer"),
    "accepted": ("accepted", "", "accepted"),
    "values": ("value", "Reward a row", "value"),
}


def draw_new_rows(study):
    """Answers for the new rows beside those of the table."""
    for stem, (column, words, name) in _ANSWERS.items():
        paths = [study.folder / f"{new}{stem}.parquet" for new in ("new_", "")]
        if all(path.exists() for path in paths):
            new, old = (study.table(path.name) for path in paths)
            if stem == "offers":  # to make some people none is better
                new, old = (one.dropna(subset=[column]) for one in (new, old))
                if new.empty or old.empty:
                    return forms.blank("Here no offer is better than none for anybody.")
            if not len(new):
                break
            if stem == "values":
                return _new_values(study, new, old, words)
            if stem == "accepted":
                return _new_accepted(new, old)
            if study_page.decides(study.plan, new):
                return _new_decided(new, old, _stands_for(study, len(old)))
            told, table = old[column], "the table's"
            if "cross_validated" in old:
                # Known outcomes are no estimates: what models that did not see them said.
                told = old["cross_validated"].fillna(told)
                table = "the table's by models that had not seen the row"
            factor = 100 if stem == "scores" and study_page.is_share(new) else 1
            words += ", %" * (factor == 100)
            told = factor * told, _stands_for(study, len(old))
            return _new_answers(factor * new[column], *told, words, name, table)
    return forms.blank("No new rows were answered.")


def _stands_for(study, rows):
    """How many rows each row of the table stands for: its weight, or one over its keep rate.

    Labels tell it, in an order of their own; (n,) in that of the table, ones where they do not.
    """
    if not (study.folder / "labels.parquet").exists():
        return np.ones(rows)
    labels = study.table("labels.parquet")
    if "repeat" in labels:
        labels = labels[labels["repeat"] == labels["repeat"].min()]
    if len(labels) != rows:
        return np.ones(rows)
    labels = labels.sort_values("row")
    weight = labels.get("weight", 1.0) / labels.get("keep_rate", 1.0)
    return np.broadcast_to(np.asarray(weight, float), rows)


def _new_answers(new, old, weight, words, name, table):
    """Two histograms on the same bins; `table` says whose the second one is, by their weights."""
    new, old = (np.asarray(values, float) for values in (new, old))
    new, weight, old = new[~np.isnan(new)], weight[~np.isnan(old)], old[~np.isnan(old)]
    ends = min(new.min(), old.min()), max(new.max(), old.max())
    ends = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[1] + 0.5)
    canvas = forms.Canvas([""], 1.3, words, "Rows, %")
    (panel,) = canvas.all
    heights, edges = np.histogram(new, bins=BINS, range=ends)
    middles, width = (edges[1:] + edges[:-1]) / 2, 0.9 * np.diff(edges)[0]
    panel.bars("new rows", middles, 100 * heights / len(new), forms.ORDERED[1], width)
    known = 100 * np.histogram(old, bins=BINS, range=ends, weights=weight)[0] / weight.sum()
    panel.line("rows of the table", zip(middles, known, strict=True), forms.BASELINE, bars=False)
    unit = " %" if words.endswith("%") else ""
    places = 1 if unit else places_for([np.abs(new).mean()])
    title = f"New rows: {name} {number(new.mean(), places)}{unit} on average; {table} "
    title += number(np.average(old, weights=weight), places) + unit
    return canvas.drawing(title, f"Spread of the {name} among new rows and in the table")


def _two_shares(new, old, column, words, weight=None):
    """Bars of the shares that a column is true for, new rows beside the table; and the shares.

    `weight` (n,) says how many rows each one of the table stands for.
    """
    pairs = (new, None), (old, weight)
    rates = [float(np.average(one[column].astype(bool), weights=by)) for one, by in pairs]
    canvas, panel = forms.one_panel(["new rows", "rows of the table"], f"{words}, %")
    shares = [100 * rate for rate in rates]
    panel.bars(words.lower(), range(2), shares, forms.ORDERED[1], 0.5, True)
    panel.ax.set_xlim(left=0)
    return canvas, *map(percent, rates)


def _new_accepted(new, old):
    canvas, here, there = _two_shares(new, old, "accepted", "Accepted")
    caption = (
        "The share of people who were accepted when all were drawn once, those of accepted.csv and "
        "those of new_accepted.csv. Chance moves both; the card above has the share on rows held out."
    )
    title = f"{here} of the new people are accepted; of the table {there}"
    alt = "Share that is accepted of new people and of the table"
    return canvas.drawing(title, alt, caption)


def _new_decided(new, old, weight):
    canvas, here, there = _two_shares(new, old, "decision", "Decided yes", weight)
    title = f"{here} of the new rows get a yes; of the table {there}"
    caption = "The share of rows whose decision is yes, in scores.csv and in new_scores.csv."
    return canvas.drawing(title, "Share that gets a yes of new rows and of the table", caption)


def _new_values(study, new, old, words):
    tables = {"new log": new, "log of the table": old}
    tables = {
        name: one.drop_duplicates("policy").set_index("policy") for name, one in tables.items()
    }
    names = [*tables["new log"].index][: forms.MOST_ROWS]
    canvas, panel = forms.one_panel(names, words)
    for shift, (name, table), look in zip(
        (-0.14, 0.14), tables.items(), forms.SERIES, strict=False
    ):
        for place, policy in enumerate(names):
            if policy in table.index:
                one = table.loc[policy]
                known = (one["value"], 0, one["low"], one["high"])
                panel.dot(place + shift, name, known, look, key=True)
    panel.ax.margins(x=0.1)
    best = tables["new log"].loc[names[-1]]
    said = number(best["value"], places_for([best["value"]], 2, 3))
    caption = "What a row earns with each policy, by the new log and by that of the table, with "
    caption += "95 % intervals."
    title = f"New log: {names[-1]} {said} a row"
    return canvas.drawing(title, "Values by the new log and the old", caption)


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
