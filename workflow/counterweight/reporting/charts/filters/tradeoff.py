"""Disclosivity against imbalance, a line for each filter along its settings."""

import numpy as np

from counterweight.reporting.charts import kit
from counterweight.reporting.charts.filters.levels import TARGETS, Filters
from counterweight.reporting.wording import setting_label

CAPTION = (
    "Imbalance of the accepted rows against the disclosivity of the filter; a line for each "
    "filter along its settings, means with 95 % intervals over repeats (cut at the panel). No "
    "filter can be below the grey line. Below: variants of the same filters."
)
_SHOWN = 0.2


def draw(study):
    known, shown = Filters(study), kit.looks(study)
    sets = [one for one in _sets(study, known) if one]
    if not sets:
        return kit.blank("No filter of this study was measured.")
    titles = [
        [title + ", variants" * row for title in TARGETS.values()] for row in range(len(sets))
    ]
    shared = {"sharex": "row", "sharey": "row"}
    canvas = kit.Canvas(titles, 2.7, "Disclosivity", "Imbalance", grid="both", **shared)
    for row, sources in zip(canvas.panels, sets, strict=True):
        points = []
        for panel, target in zip(row, TARGETS, strict=True):
            known.ground(panel, target)
            for source in sources:
                # Along the grid of budgets the same tree may come again and again.
                line = {(x.mean, y.mean): (x, y) for x, y, _ in known.points(source, target)}
                some = max(1, -(-len(line) // 14))  # marks and intervals of all would touch
                crosses = [
                    cross
                    for x, y in list(line.values())[::some]
                    for cross in ((x.mean, y.low, x.mean, y.high), (x.low, y.mean, x.high, y.mean))
                ]
                faint = {"linewidth": 0.7, "alpha": 0.4}
                panel.strokes(np.reshape(crosses, (-1, 4)), shown[source].colour, **faint)
                means = [kit.point(x.mean, y) for x, y in line.values()]
                marks = {"bars": False, "markevery": some}
                panel.line(study.label(source), means, shown[source], **marks)
                points += line
        known.limit(row, points)
    setting = known.nearest(known.main, (_SHOWN,))[0]
    start = known.get("labels", "starting_imbalance", "test").mean
    end = kit.told(known.get(known.main, "imbalance", "test", setting), places=2)
    moved = f"imbalance from {start:.2f} to {end} on test rows"
    title = f"{study.label(known.main)}, {setting_label(setting)}: {moved}"
    return canvas.drawing(title, "Imbalance against disclosivity by filter, training and test rows")


def _sets(study, known):
    """The first filter of each kind of proxy and acceptance; then variants, after their first."""
    kinds, sets = {one["id"]: one["selector"] for one in study.plan["selectors"]}, {}
    for source in known.levels:
        method = study.method(source)
        sets.setdefault((kinds.get(method["selector"]), method["weights"]), []).append(source)
    variants = [one for one in sets.values() if len(one) > 1]
    return [one[0] for one in sets.values()], sum(variants, [])
