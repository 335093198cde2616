"""Objective and multipliers of the constraints by convex step."""

import numpy as np

from counterweight.reporting.charts import kit
from counterweight.reporting.wording import setting_label

CAPTION = (
    "What the optimiser did, mean over repeats, for some settings of the sweep: the objective by "
    "convex step, and the multiplier of each constraint, its price in that step, 0 where it does "
    "not bind."
)
_SETTINGS, _CONSTRAINTS = 4, 2


def draw(study):
    main = next((s for s in kit.main_first(study) if len(study.rows(s, "objective"))), None)
    if main is None:
        return kit.blank("No optimiser of this study told of its steps.")
    objective, prices = (
        study.rows(main, metric).dropna(subset=["step"]) for metric in ("objective", "multiplier")
    )
    # The start is far above the rest, which could not be told apart beside it.
    tables = {"Objective": objective[objective["step"] > 0]}
    for part in sorted(prices["part"].unique())[:_CONSTRAINTS]:
        tables[f"Multiplier {part}".strip()] = prices[prices["part"] == part]
    settings = study.settings(main, "objective")
    places = np.linspace(0, len(settings) - 1, min(_SETTINGS, len(settings))).round().astype(int)
    canvas = kit.Canvas(list(tables), 2.4, "Convex steps taken", grid="both")
    for panel, (name, table) in zip(canvas.all, tables.items(), strict=True):
        panel.measures = name
        for setting, look in zip([settings[place] for place in places], kit.TURNS, strict=False):
            means = table[table["setting"] == setting].groupby("step")["value"].mean()
            panel.line(setting_label(setting) or "all", means.items(), look, markersize=3)
        panel.ax.locator_params(axis="x", integer=True)
        if panel is not canvas.all[0]:
            panel.ax.set_ylim(bottom=min(0.0, panel.ax.get_ylim()[0]))
    steps = []
    for _, one in objective.groupby(["setting", "repeat"]):
        values = one.sort_values("step")["value"].to_numpy()
        steps.append(np.argmax(values <= values[-1] + 0.05 * (values[0] - values[-1])))
    title = f"95 % of the objective's fall is done by step {np.median(steps):.0f}"
    return canvas.drawing(
        f"{title} (median of {len(steps)} fits)", "Objective and multipliers by step"
    )
