"""Figure 1 of Goh et al. (2016): the ramp that stands for a rate, and its two convex bounds."""

import numpy as np

from counterweight.models.constraints.solver.convex_step import ramp, upper_ramp
from counterweight.reporting.charts import kit, style

CAPTION = (
    "As Figure 1 of Goh et al. (2016): the ramp, a row's part in a rate by its score z, and the "
    "convex bounds that each step of the fit puts in its place. Where the score was at most 1/2 "
    "in the step before, it is the hinge, which is the ramp up to there; beyond, the constant."
)
_STEPS = 181


def draw(study):
    if not any(len(study.rows(source, "objective")) for source in kit.main_first(study)):
        return kit.blank("No optimiser of this study told of its steps.")
    canvas = kit.Canvas([""], 2.6, "Score z of a row", "Part in the rate", grid="both")
    (panel,) = canvas.all
    panel.measures = "Part in the rate"
    z = np.linspace(-1.25, 1.0, _STEPS)
    bounds = {
        "hinge bound": (upper_ramp(z, np.zeros_like(z)), kit.Look(style.RED, "", kit.DASHED)),
        "constant bound": (upper_ramp(z, np.ones_like(z)), kit.Look(style.BLUE, "", kit.DOTTED)),
    }
    exact = ramp(z)
    panel.line("ramp", zip(z, exact, strict=True), kit.Look(style.INK, ""), linewidth=1.8)
    for name, (values, look) in bounds.items():
        panel.line(name, zip(z, values, strict=True), look)
    panel.ax.set(xlim=(-1.25, 1.0), ylim=(-0.05, 1.55))
    # From the numbers: where each bound is the ramp.
    hinge, constant = (np.isclose(values, exact) for values, _ in bounds.values())
    title = (
        f"The hinge is the ramp up to z = {z[hinge].max():.1f}, the constant from "
        f"z = {z[constant].min():.1f} on"
    )
    return canvas.drawing(title, "The ramp by the score, with its hinge and its constant bound")
