"""How far a shifted mixture moves, and what that does to its accuracy."""

import numpy as np

from counterweight.files.settings import setting_options
from counterweight.reporting.charts import kit, style

CAPTION = (
    "The headline measure (top) and the gain in log-likelihood of the unlabeled rows (bottom) "
    "after a number of steps, for each inertia (colour) and each set of parameters that may "
    "shift, beside the baseline (dashed) and a mixture that was not shifted (dotted)."
)
_TARGET, _LIKELIHOOD = "unlabeled", "unlabeled_log_likelihood"


def draw(study):
    metric = kit.headline(study)
    targets = (_TARGET, *study.plan["targets"])
    target = next((one for one in targets if study.measured(metric, one)), "")
    known = {}
    for one in study.methods(swept=True):
        for setting in study.settings(one["id"], _LIKELIHOOD):
            place = {"target": target, "setting": setting}
            pair = [study.get(one["id"], name, **place).mean for name in (metric, _LIKELIHOOD)]
            known[one["id"], setting] = setting_options(setting), pair
    if not known:
        return kit.blank("No sweep of this study was measured.")
    options = [one for one, _ in known.values()]
    columns = list(dict.fromkeys(one.get("shifts", "all") for one in options))
    inertias = sorted({one.get("inertia", np.nan) for one in options}, reverse=True)
    steps = sorted({one.get("iterations", 1.0) for one in options})
    shades = np.linspace(0, len(style.ORDERED) - 1, len(inertias)).round().astype(int)
    label, factor = kit.axis_of(study.measure(metric))
    titles = ["all may shift" if one == "all" else f"only {one}" for one in columns]
    labels, shared = (label, "Gain, nats a row"), {"sharex": True, "sharey": "row"}
    canvas = kit.Canvas([titles, titles], 1.75, "Steps", labels, pairs=True, **shared)
    least = min(pair[1] for _, pair in known.values())
    for row, (panels, scale, start) in enumerate(
        zip(canvas.panels, (factor, 1), (0, least), strict=True)
    ):
        for panel, shifts in zip(panels, columns, strict=True):
            for inertia, shade in zip(inertias, shades, strict=True):
                points = [
                    (one.get("iterations", 1.0), scale * (pair[row] - start))
                    for one, pair in known.values()
                    if (one.get("shifts", "all"), one.get("inertia", np.nan)) == (shifts, inertia)
                ]
                look = kit.Look(style.ORDERED[shade])
                panel.line(f"inertia {inertia:g}", sorted(points), look)
            for source, dash in _levels(study) if not row else ():
                level = study.get(source, metric, target).times(factor)._replace(low=np.nan)
                panel.level(study.label(source), level, kit.Look(style.RED, "", dash))
            if len(steps) > 1 and steps[0] > 0:
                panel.ticks(steps)
    source, setting = max(known, key=lambda key: known[key][1][1])
    found = kit.against(study, metric, target, source, setting=setting)
    title = f"The likeliest setting of {found}"
    return canvas.drawing(title, "Accuracy and likelihood by steps, inertia and what may shift")


def _levels(study):
    """The baseline, and a mixture that is not shifted, as weighted for the target."""
    if study.baseline is not None:
        yield study.baseline, kit.DASHED
    weighted = {one["weighting"] for one in study.plan["weightings"] if one["target"] == _TARGET}
    for one in study.methods(swept=False):
        plain = one["model"] == "generative" and study.role(one["id"]) != "bound"
        if plain and one["weights"] in weighted:
            yield one["id"], kit.DOTTED
            return
