"""Decision boundaries learned from all, from labeled, and from weighted points."""

import numpy as np

from counterweight.reporting.charts import style
from counterweight.reporting.charts.canvas import DASHED, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.words import number

CAPTION = (
    "Generated points with a known true boundary, in the first split: the boundary learned from "
    "all labels, from the labels that are seen, and from these with weights. The dashed line "
    "repeats the one from all labels; labels of grey points are hidden."
)
#: Draws points in a plane with a known boundary: simulated data sets only.
KNOWN_BOUNDARY = True
_POINTS = 600
_LEARNED, _REFERENCE = Look(style.RED, ""), Look(style.INK, "", DASHED)
_TRUE = Look(style.INK, "")


def draw(study):
    lines = _lines(study)
    if not lines:
        return blank("No boundary of this study was learned.")
    features = study.table("features.parquet")
    first, truth = (
        table[table["repeat"] == table["repeat"].min()].drop(columns="repeat")
        for table in (study.table("labels.parquet"), study.table("truth.parquet"))
    )
    names = [name for name in features.columns if name != "row"][:2]
    points = features.merge(truth, on="row").merge(first[["row", "selected", "role"]], on="row")
    shown = points[points["role"] != "test"].sort_values("row")
    shown = shown.iloc[:: max(1, len(shown) // _POINTS)]
    canvas = Canvas(1, len(lines), 2.2, room=0.7, sharex=True, sharey=True)
    bound = next((line for _, role, line in lines if role == "bound"), None)
    for panel, (title, role, line) in zip(canvas.all, lines, strict=True):
        panel.title(title, names[1])
        _cloud(panel, shown, names, hide=role != "bound")
        _truth(panel, points, names)
        if role != "bound" and bound is not None:
            _straight(panel, "from all labels", bound, points, names, _REFERENCE)
        _straight(panel, "learned", line, points, names, _LEARNED, linewidth=1.8)
    canvas.label(names[0], names[1])
    return canvas.drawing(_title(lines, bound), "Points in a plane with learned and true boundaries")


def _lines(study):
    """``(title, role, (coefficients, intercept))``: a bound, the baseline and a weighted method.

    All are of the baseline's model; the weighted one is the main method, if it is one of them.
    """
    if study.baseline is None:
        return []
    model = study.method(study.baseline)["model"]
    same = [one["id"] for one in study.methods(swept=False) if one["model"] == model]
    bounds = [name for name in same if study.role(name) == "bound"]
    others = [name for name in same if name != study.baseline and name not in bounds]
    others.sort(key=lambda name: name != study.main)
    chosen = [("All labels seen", "bound", bounds), ("Labels seen only", "", [study.baseline])]
    chosen.append(("With weights", "", others))
    lines, repeat = [], int(study.metrics["repeat"].min()) if len(study.metrics) else 0
    for title, role, names in chosen:
        known = [name for name in names if (study.folder / f"models/{name}.parquet").exists()]
        if known:
            arrays = study.model(known[0], repeat)
            lines.append((title, role, (np.ravel(arrays["coef"]), float(arrays["intercept"]))))
    return lines


def _cloud(panel, shown, names, hide):
    x, y = (shown[name].to_numpy() for name in names)
    label = shown["y_general"].to_numpy() == 1
    seen = shown["selected"].to_numpy() == 1 if hide else np.ones(len(shown), dtype=bool)
    panel.cloud("hidden", x[~seen], y[~seen], style.GREY, 1.6, alpha=0.45)
    panel.cloud("negative", x[seen & ~label], y[seen & ~label], style.ORANGE, 2.3, square=True)
    panel.cloud("positive", x[seen & label], y[seen & label], style.BLUE, 2.5)


def _truth(panel, points, names):
    """The curve on which both classes are equally likely, where the truth is known."""
    if "p_positive" not in points:
        return
    x, y, p = (points[name].to_numpy() for name in (*names, "p_positive"))
    panel.ax.tricontour(x, y, p, levels=[0.5], colors=style.INK, linewidths=0.8)
    panel.key("true boundary", _TRUE, linewidth=0.8)


def _straight(panel, name, line, points, names, look, **marks):
    (a, b), intercept = line
    (x_low, x_high), (y_low, y_high) = ((points[one].min(), points[one].max()) for one in names)
    # Walk along the longer side, so that steep lines are drawn as well as flat ones.
    if abs(b) >= abs(a):
        ends = [(x, -(intercept + a * x) / b) for x in (x_low, x_high)]
    else:
        ends = [(-(intercept + b * y) / a, y) for y in (y_low, y_high)]
    panel.line(name, ends, look, **marks)
    panel.ax.set(xlim=(x_low, x_high), ylim=(y_low, y_high))


def _title(lines, bound):
    """How far the lines are turned from the one learned from all labels."""
    turns = []
    for _, role, (coefficients, _) in lines:
        if role != "bound" and bound is not None:
            cosine = coefficients @ bound[0] / np.linalg.norm(coefficients) / np.linalg.norm(bound[0])
            turns.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    if len(turns) < 2:
        return "Boundaries learned from all labels and from those that are seen"
    before, after = (number(turn, 0) for turn in turns)
    return f"Hidden labels turn the boundary by {before}°; with weights it is {after}° off (one split)"
