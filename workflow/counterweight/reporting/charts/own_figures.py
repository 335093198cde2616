"""Figures of tables of one's own (what leads their pages, answers for new rows) and of
sections that components bring.
"""

import numpy as np

from counterweight.reporting import study_page
from counterweight.reporting.charts import forms
from counterweight.reporting.pages import filters_page, own_logs_page, promises_page
from counterweight.reporting.sheets import declared_sheet
from counterweight.reporting.wording import capital, count, number, percent, places_for, told_apart

#: Text under each figure.
CAPTION_BY_NAME = {
    "policies": (
        "What a row earns with each policy, by the rows of the log, with 95 % intervals; the dashed "
        "line is what the policy earned that made the log."
    ),
    "predictions": (
        "How good each column of predictions is on the rows of the log, with 95 % intervals, a "
        "panel for each of the first measures of the table."
    ),
    "groups": (
        "Shares of the groups among all rows that were held out and among those that the filter "
        "accepts; the red mark is the share that is wanted. Of many groups the rarest are drawn."
    ),
    "kept": (
        "By how much each promise is broken by decisions on rows that were held out, with 95 % "
        "intervals: left of the dashed line it is kept. In points, where a promise is about shares."
    ),
    "sections": (
        "Sections of the page that are drawn as well: means over repeats with their 95 % intervals, a "
        "panel for each column."
    ),
    "new_rows": (
        "The answers for the new rows beside those for the rows of the table, in shares of each."
    ),
}
#: What figures read beside measurements.
READS_BY_NAME = {"new_rows": ["deliver", "apply"]}
_LOG = forms.Look(forms.INK, "", forms.DASHED)
_WANTED = forms.Look(forms.RED, "|", "none")
#: Rows of a figure at most, and bars of a histogram.
MOST, BINS = 10, 20


def draw_policies(study):
    """The value of each policy beside what the log earned."""
    lines = own_logs_page.policies(study)
    values = [own_logs_page.value_of(study, line) for line in lines]
    known = [pair for pair in zip(lines, values, strict=True) if pair[1].known]
    shown = known[:MOST]
    if not shown:
        return forms.blank("No policy of this log has a value.")
    names, base = [line.label for line, _ in shown], own_logs_page.logged(study)
    measure = study.measure("value")
    canvas = forms.Canvas([""], forms.row_height(len(names), names) + 0.2, "Reward a row")
    canvas.rows(names)
    (panel,) = canvas.all
    if base.known:
        panel.upright(base.mean, _LOG, "the log's own policy")
    for place, (line, value) in enumerate(shown):
        panel.dot(place, line.label, value, forms.OTHER if place else forms.MAIN)
    panel.ax.margins(x=0.1)
    title = f"{names[0]}: {forms.told(shown[0][1], measure)} a row; the log's own earned "
    title += forms.told(base, measure) + _of_all(known)
    return canvas.drawing(title, "Value of each policy with its interval, by the log")


def draw_predictions(study):
    """Each column of predictions by the first measures of the table."""
    ranked = own_logs_page.ranked(study)
    lines = ranked[:MOST]
    metrics = [one for one in study.plan["columns"] if study.measured(one)][:3]
    if not lines or not metrics:
        return forms.blank("No predictions of this log were measured.")
    names = [line.label for line in lines]
    heads = [forms.axis_of(study.measure(metric)) for metric in metrics]
    titles = [head for head, _ in heads]
    canvas = forms.Canvas(titles, forms.row_height(len(names), names), sharey=True)
    canvas.rows(names)
    for panel, metric, (_, factor) in zip(canvas.all, metrics, heads, strict=True):
        for place, line in enumerate(lines):
            known = study.get(line.source, metric).times(factor)
            panel.dot(place, line.label, known, forms.OTHER if place else forms.MAIN)
        panel.ax.margins(x=0.1)
    measure = study.measure(metrics[0])
    said = forms.told(study.get(lines[0].source, metrics[0]), measure)
    title = f"{names[0]} has {measure.label} {said}{_of_all(ranked)}"
    return canvas.drawing(title, "Measures of each column of predictions, with intervals")


def draw_groups(study):
    """Shares of groups among all, among the accepted, and as wanted, by the delivered filter."""
    about, known = filters_page.shown_filter(study), []
    for line in filters_page.group_lines(study):
        first = study.get("labels", "group_share", "test", **line.place).times(100)
        place = about.place | line.place
        after = study.get(line.source, "group_share", "test", **place).times(100)
        wanted = 100 * filters_page.wanted(study, line).mean
        known.append((first.mean, line.place["part"].replace("=", ": "), first, after, wanted))
    every = sorted(known, key=lambda one: one[0])
    known = every[:MOST]
    if not known:
        return forms.blank("No filter of this study was measured.")
    names = [name for _, name, *_ in known]
    canvas = forms.Canvas([""], forms.row_height(len(names), names) + 0.2, "Share of the people, %")
    canvas.rows(names)
    (panel,) = canvas.all
    for place, (_, _, first, after, wanted) in enumerate(known):
        panel.link(place, (first.mean, after.mean))
        panel.dot(place, "among all", first.mean, forms.BOUND, key=True)
        panel.dot(place, "accepted", after, forms.MAIN, key=True)
        panel.dot(place, "wanted", wanted, _WANTED, key=True, markersize=10)
    panel.ax.set_xlim(left=0)
    _, name, first, after, wanted = known[0]
    title = f"{name}: {first.mean:.1f} % of all, {after.mean:.1f} % of the accepted"
    title += f"; wanted {wanted:.1f} %{_of_all(every)}"
    return canvas.drawing(title, "Shares of groups before and after")


def draw_kept(study):
    """By how much each promise is broken on rows that were held out."""
    main = promises_page.main_of(study)
    texts = promises_page.texts_of(study, main) if main else []
    if not texts:
        return forms.blank("No promise of this study was measured.")
    names = told_apart(texts[:MOST], 60, 30)
    canvas = forms.Canvas([""], forms.row_height(len(names), names) + 0.2, "Broken by, points")
    canvas.rows(names)
    (panel,) = canvas.all
    panel.upright(0.0, _LOG, "the limit")
    sources = [one for one in (main, study.baseline, *study.sources) if one in study.sources]
    sources, looks = [*dict.fromkeys(sources)][:3], (forms.MAIN, *forms.TURNS)
    kept = 0
    for rank, (source, look) in enumerate(zip(sources, looks, strict=False)):
        for place in range(len(names)):
            known = promises_page.broken_by(study, source, place).times(100)
            at = place + 0.18 * (rank - (len(sources) - 1) / 2)
            panel.dot(at, study.label(source), known, look, key=True)
            kept += rank == 0 and known.known and known.high < 0
    panel.ax.margins(x=0.06)
    title = f"{kept} of {count(len(texts), 'promise')} shown kept on rows that were held out"
    title += _of_all(texts)
    return canvas.drawing(title, "By how much promises are broken, with intervals")


def _of_all(items):
    """What the title says where not all are drawn."""
    return f" ({MOST} of {len(items)} drawn: the others stand in the tables)" * (len(items) > MOST)


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
            if not len(new):
                break
            if stem == "values":
                return _new_values(study, new, old, words)
            if stem == "accepted":
                return _new_accepted(new, old)
            told, table = old[column], "the table's"
            if "cross_validated" in old:
                # Known outcomes are no estimates: what models that did not see them said.
                told = old["cross_validated"].fillna(told)
                table = "the table's by models that had not seen the row"
            factor = 100 if stem == "scores" and study_page.is_share(new) else 1
            words += ", %" * (factor == 100)
            return _new_answers(factor * new[column], factor * told, words, name, table)
    return forms.blank("No new rows were answered.")


def _new_answers(new, old, words, name, table):
    """Two histograms on the same bins; `table` says whose the second one is."""
    new, old = (np.asarray(values.dropna(), float) for values in (new, old))
    ends = min(new.min(), old.min()), max(new.max(), old.max())
    ends = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[1] + 0.5)
    canvas = forms.Canvas([""], 1.3, words, "Rows, %")
    (panel,) = canvas.all
    heights, edges = np.histogram(new, bins=BINS, range=ends)
    middles, width = (edges[1:] + edges[:-1]) / 2, 0.9 * np.diff(edges)[0]
    panel.bars("new rows", middles, 100 * heights / len(new), forms.ORDERED[1], width)
    known = 100 * np.histogram(old, bins=BINS, range=ends)[0] / len(old)
    panel.line("rows of the table", zip(middles, known, strict=True), forms.BASELINE, bars=False)
    unit = " %" if words.endswith("%") else ""
    places = 1 if unit else places_for([np.abs(new).mean()])
    title = f"New rows: {name} {number(new.mean(), places)}{unit} on average; {table} "
    title += number(old.mean(), places) + unit
    return canvas.drawing(title, f"Spread of the {name} among new rows and in the table")


def _new_accepted(new, old):
    rates = [float(table["accepted"].astype(bool).mean()) for table in (new, old)]
    names = ["new people", "people of the table"]
    canvas = forms.Canvas([""], forms.row_height(2) + 0.2, "Accepted, %")
    canvas.rows(names)
    (panel,) = canvas.all
    panel.bars("accepted", range(2), [100 * rate for rate in rates], forms.ORDERED[1], 0.5, True)
    panel.ax.set_xlim(left=0)
    title = f"{percent(rates[0])} of the new people are accepted; of the table {percent(rates[1])}"
    return canvas.drawing(title, "Share that is accepted of new people and of the table")


def _new_values(study, new, old, words):
    tables = {"new log": new, "log of the table": old}
    tables = {
        name: one.drop_duplicates("policy").set_index("policy") for name, one in tables.items()
    }
    names = [*tables["new log"].index][:MOST]
    canvas = forms.Canvas([""], forms.row_height(len(names), names) + 0.2, words)
    canvas.rows(names)
    (panel,) = canvas.all
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
    return canvas.drawing(f"New log: {names[-1]} {said} a row", "Values by the new log and the old")


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
