"""Disclosivity against imbalance, a line for each filter along its settings."""

import numpy as np

from counterweight.reporting.charts.canvas import Canvas, looks
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.filters.levels import (
    TARGETS,
    ground,
    limit,
    main_filter,
    measured,
    nearest,
    points_of,
)
from counterweight.reporting.charts.words import capital, number, target_name, told
from counterweight.reporting.wording import setting_label

CAPTION = (
    "Imbalance of the accepted rows against the disclosivity of the filter, on training and on test "
    "rows; a line for each filter along its settings, means with 95 % intervals over repeats (cut at "
    "the panel). The cross is the sample without a filter; no filter can be below the grey line. "
    "Below: variants of the same filters."
)
_SHOWN = 0.2


def draw(study):
    sets = _sets(study)
    if not sets:
        return blank("No filter of this study was measured.")
    canvas, shown = Canvas(len(sets), 2, 2.7, sharex="row", sharey="row"), looks(study)
    for row, sources in zip(canvas.panels, sets, strict=True):
        points = []
        for panel, target in zip(row, TARGETS, strict=True):
            which = capital(target_name(target))
            panel.title(which if row is canvas.panels[0] else f"{which}, variants", "Imbalance")
            ground(panel, study, target)
            for source in sources:
                points += _line(panel, study, source, target, shown[source])
        limit(row, study, points)
    canvas.label("Disclosivity", "Imbalance")
    source = main_filter(study)
    setting = nearest(study, source, (_SHOWN,))[0]
    start = study.get("labels", "starting_imbalance", "test")
    known = study.get(source, "imbalance", "test", setting=setting)
    title = (
        f"{study.label(source)}, {setting_label(setting)}: imbalance from {number(start.mean, 2)} "
        f"to {told(known, places=2)} on test rows"
    )
    return canvas.drawing(title, "Imbalance against disclosivity by filter, training and test rows")


def _sets(study):
    """The first filter of each kind of proxy and acceptance; then variants, beside their first."""
    kinds = {one["id"]: one["selector"] for one in study.plan["selectors"]}
    first, variants = {}, {}
    for source in measured(study):
        method = study.method(source)
        kind = (kinds.get(method["selector"], ""), method["weights"])
        if kind in first:
            variants.setdefault(kind, []).append(source)
        else:
            first[kind] = source
    plain = list(first.values())
    grown = [first[kind] for kind in variants] + [s for one in variants.values() for s in one]
    return [sources for sources in (plain, grown) if sources]


def _line(panel, study, source, target, look):
    points, crosses = [], []
    for across, up, _ in points_of(study, source, target):
        # Along the grid of budgets the same tree may come again and again.
        if points and points[-1][:2] == (across.mean, up.mean):
            continue
        points.append((across.mean, up.mean, up.low, up.high))
        crosses.append((across.mean, up.low, across.mean, up.high))
        crosses.append((across.low, up.mean, across.high, up.mean))
    panel.strokes(np.array(crosses), look.colour, linewidth=0.7, alpha=0.4)
    panel.line(study.label(source), points, look, bars=False, linewidth=1.2, markeredgewidth=0.6)
    return points
