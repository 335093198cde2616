"""The figure of labels that are to be bought: what interval to expect, by the budget."""

from counterweight.reporting.charts import forms
from counterweight.reporting.wording import number, places_for

CAPTION = (
    "Half of the 95 % interval of the rate, or mean, of the rows without an outcome, by how much "
    "is spent on labels: as planned; of a plain random sample that uses no estimates; and as "
    "planned if the estimates told nothing of single rows, which is the cost of being wrong about "
    "them. The cross is what the labels that were bought have reached."
)
#: Of what a line is, in the order in which they are drawn.
LINES = {
    "plan": ("as planned", forms.MAIN),
    "plain": ("plain random sample", forms.BASELINE),
    "wrong": ("as planned, estimates told nothing", forms.Look(forms.GREY, "o", forms.DASHED)),
}
_REACHED = forms.Look(forms.RED, "X", "none")
_SOURCE, _TARGET = "collect", "unlabeled"


def draw_collect(study):
    """Expected half-widths by budget, and the one that was reached."""
    known = (one for one in ("points", "half_width") if study.measured(f"expected_{one}", _TARGET))
    kind = next(known, None)
    if kind is None:
        return forms.blank("No plan of labels was made in this study.")
    metric, spent = f"expected_{kind}", study.measured("labels_cost", _TARGET)
    words, _ = forms.axis_of(study.measure(metric))
    below = "Spent on labels" if spent else "Labels in all"
    canvas = forms.Canvas(["The interval to expect"], 2.6, below, words)
    panel = canvas.all[0]
    for variable, (name, look) in LINES.items():
        points = [
            (float(at), study.get(_SOURCE, metric, _TARGET, part=at, variable=variable).mean)
            for at in study.places("part", _SOURCE, metric, _TARGET)
        ]
        panel.line(name, points, look, bars=False)
    budget = study.get(_SOURCE, "labels_budget", _TARGET).mean
    panel.upright(budget, forms.Look(forms.INK, "", forms.DOTTED), "the plan")
    target = study.plan["targets"][0]
    reached = study.get("delivered", f"reached_{kind}", target)
    if reached.known and not spent:
        at = study.get("delivered", "labels_bought", target).mean
        panel.line("reached", [(at, reached.mean)], _REACHED, bars=False, markersize=7)
    panel.ax.set_xlim(left=0)
    panel.ax.set_ylim(bottom=0)
    planned = study.get(_SOURCE, f"planned_{kind}", _TARGET).mean
    count = number(study.get(_SOURCE, "labels_planned", _TARGET).mean, 0)
    size = number(planned, places_for([planned], 1)) + " points" * (kind == "points")
    return canvas.drawing(
        f"With {count} labels the interval is expected to be ±{size}",
        "Expected half-width of the interval by number of labels",
    )
