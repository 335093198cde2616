"""Objective and multipliers of the constraints by convex step."""

import numpy as np

from counterweight.reporting.charts.canvas import TURNS, Canvas
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.words import number
from counterweight.reporting.wording import setting_label

CAPTION = (
    "What the optimiser did, mean over repeats: the objective falls from convex step to convex step "
    "and settles; the multiplier of each constraint is its price in the convex problem of that step, 0 "
    "where it does not bind. Lines are settings of the sweep."
)
_SETTINGS, _CONSTRAINTS = 4, 2


def draw(study):
    names = sorted((one["id"] for one in study.methods()), key=lambda s: s != study.main)
    main = next((s for s in names if len(study.rows(s, "objective"))), None)
    if main is None:
        return blank("No optimiser of this study told of its steps.")
    objective, prices = (study.rows(main, metric) for metric in ("objective", "multiplier"))
    objective = objective[objective["step"].notna()]
    prices = prices[prices["step"].notna()]
    settings = [s for s in study.settings(main) if s in set(objective["setting"])]
    places = np.linspace(0, len(settings) - 1, min(_SETTINGS, len(settings))).round().astype(int)
    parts = sorted(prices["part"].unique(), key=lambda part: int(part or 0))[:_CONSTRAINTS]
    # The start is far above the rest, which could not be told apart beside it.
    tables = [("Objective", objective[objective["step"] > 0])]
    for part in parts:
        which = f" of constraint {int(part or 0) + 1}" if len(parts) > 1 else ""
        tables.append((f"Multiplier{which}", prices[prices["part"] == part]))
    canvas = Canvas(1, len(tables), 2.4)
    for panel, (title, table) in zip(canvas.all, tables, strict=True):
        panel.title(title, title)
        for place, look in zip(dict.fromkeys(places), TURNS, strict=False):
            own = table[table["setting"] == settings[place]]
            means = own.groupby("step")["value"].mean()
            panel.line(setting_label(settings[place]) or "all", means.items(), look, markersize=3)
        panel.ax.locator_params(axis="x", integer=True)
        panel.ax.margins(y=0.08)
        panel.grid("both")
        if table is not tables[0][1]:
            panel.ax.set_ylim(bottom=min(0.0, panel.ax.get_ylim()[0]))
    canvas.label("Convex steps taken")
    return canvas.drawing(_title(objective), "Objective and multipliers by convex step", ends=True)


def _title(objective):
    """After which step nearly all of the objective's fall is done, over settings and repeats."""
    steps = []
    for _, one in objective.groupby(["setting", "repeat"]):
        values = one.sort_values("step")["value"].to_numpy()
        fall = values[0] - values[-1]
        if fall > 0:
            steps.append(int(np.argmax(values <= values[-1] + 0.05 * fall)))
    if not steps:
        return "Objective and multipliers by convex step"
    done = int(np.median(steps))
    return f"95 % of the objective's fall is done by step {number(done, 0)} (median of {len(steps)} fits)"
