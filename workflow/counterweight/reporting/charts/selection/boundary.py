"""Decision boundaries learned from all, from labeled, and from weighted points."""

import numpy as np

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Generated points with a known true boundary, in one split: the boundary learned from all "
    "labels (repeated as a dashed line), from those that are seen, and from these with weights. "
    "Labels of grey points are hidden."
)
#: Draws points in a plane with a known boundary: simulated data sets only.
KNOWN_BOUNDARY = True
_POINTS, _ALL = 600, "All labels seen"
_LEARNED, _TRUE = kit.Look(style.RED, ""), kit.Look(style.INK, "")
_REFERENCE = kit.Look(style.INK, "", kit.DASHED)


def draw(study):
    lines = _lines(study)
    if not lines:
        return kit.blank("No boundary of this study was learned.")
    features = study.table("features.parquet")
    first, truth = (
        table[table["repeat"] == table["repeat"].min()].drop(columns="repeat")
        for table in (study.table("labels.parquet"), study.table("truth.parquet"))
    )
    names = [name for name in features.columns if name != "row"][:2]
    points = features.merge(truth, on="row").merge(first[["row", "selected", "role"]], on="row")
    shown = points[points["role"] != "test"].sort_values("row")
    shown = shown.iloc[:: max(1, len(shown) // _POINTS)]
    canvas = kit.Canvas(list(lines), 2.2, *names, grid="x", sharex=True, sharey=True)
    for panel, (title, line) in zip(canvas.all, lines.items(), strict=True):
        panel.ax.grid(visible=False)
        x, y, label = (shown[name].to_numpy() for name in (*names, "y_general"))
        seen = (shown["selected"].to_numpy() == 1) | (title == _ALL)
        for name, rows, *look in (
            ("hidden", ~seen, style.GREY, 1.6, False, 0.45),
            ("negative", seen & (label == 0), style.ORANGE, 2.3, True),
            ("positive", seen & (label == 1), style.BLUE, 2.5),
        ):
            panel.cloud(name, x[rows], y[rows], *look)
        if "p_positive" in points:
            x, y, p = (points[name].to_numpy() for name in (*names, "p_positive"))
            panel.ax.tricontour(x, y, p, levels=[0.5], colors=style.INK, linewidths=0.8)
            panel.key("true boundary", _TRUE, linewidth=0.8)
        limits = [(points[name].min(), points[name].max()) for name in names]
        if title != _ALL and _ALL in lines:
            panel.line("from all labels", _ends(*lines[_ALL], *limits), _REFERENCE)
        panel.line("learned", _ends(*line, *limits), _LEARNED, linewidth=1.8)
        panel.ax.set(xlim=limits[0], ylim=limits[1])
    return canvas.drawing(_title(lines), "Points in a plane with learned and true boundaries")


def _lines(study):
    """Coefficients and intercept by title: of a bound, the baseline and a weighted method.

    All are of the baseline's model; the weighted one is the main method, if it is one of them.
    """
    if study.baseline is None or study.metrics.empty:
        return {}
    model = study.method(study.baseline)["model"]
    same = [name for name in kit.main_first(study, False) if study.method(name)["model"] == model]
    bounds = [name for name in same if study.role(name) == "bound"]
    others = [name for name in same if name != study.baseline and name not in bounds]
    lines = {_ALL: bounds, "Labels seen only": [study.baseline], "With weights": others}
    for title, names in list(lines.items()):
        known = [name for name in names if (study.folder / f"models/{name}.parquet").exists()]
        if not known:
            del lines[title]
            continue
        arrays = study.model(known[0], int(study.metrics["repeat"].min()))
        lines[title] = np.ravel(arrays["coef"]), float(arrays["intercept"])
    return lines


def _ends(coefficients, intercept, x, y):
    """Two points of a line, along the longer side: steep ones are drawn as well as flat ones."""
    a, b = coefficients[:2]
    if abs(b) >= abs(a):
        return [(at, -(intercept + a * at) / b) for at in x]
    return [(-(intercept + b * at) / a, at) for at in y]


def _title(lines):
    """How far the lines are turned from the one learned from all labels."""
    units = {title: w / np.linalg.norm(w) for title, (w, _) in lines.items()}
    if len(units) < 3:
        return "Boundaries learned from all labels and from those that are seen"
    cosines = np.clip([unit @ units[_ALL] for unit in units.values()], -1, 1)
    before, after = np.degrees(np.arccos(cosines[1:]))
    return f"Hidden labels turn the boundary by {before:.0f}°; with weights it is {after:.0f}° off"
