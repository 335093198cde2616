"""How far the AUC of a few rows lies from that of all, by the share of positives among them."""

from counterweight.files.settings import setting_options
from counterweight.reporting.charts.canvas import Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import BLUE, PALE, RED, SKY
from counterweight.reporting.charts.words import told

CAPTION = (
    "Distance between the AUC of N drawn test rows and that of all of them, against the share of "
    "positives among the drawn: mean and upper quantile over resamples, and the bound of Agarwal "
    "and colleagues; means over splits with 95 % intervals. The bound is least at equal shares "
    "(thin line)."
)
_LINES = {
    "auc_deviation": ("mean", Look(BLUE)),
    "auc_deviation_quantile": ("quantile", Look(SKY, "^")),
    "agarwal_bound": ("bound", Look(RED, "s")),
}


def draw(study):
    measured = [one["id"] for one in study.methods() if study.measured("auc_deviation", source=one["id"])]
    if not measured:
        return blank("No deviation of an AUC was measured in this study.")
    source = study.main if study.main in measured else measured[0]
    curves = {metric: _curves(study, source, metric) for metric in _LINES}
    budgets = sorted({budget for lines in curves.values() for budget in lines})
    canvas = Canvas(1, len(budgets), 2.2, sharey=True)
    for panel, budget in zip(canvas.all, budgets, strict=True):
        for metric, (name, look) in _LINES.items():
            points = curves[metric].get(budget, ())
            panel.line(name, [(rho, *known[:1], *known[2:4]) for rho, known in points], look)
        panel.ax.axvline(0.5, color=PALE, linewidth=0.9)
        panel.title(f"{study.label(source)}, N = {budget:g}")
        panel.ax.set_xticks([0, 0.5, 1])
        panel.grid()
    canvas.first.ax.set_ylim(bottom=0)
    canvas.label("Share of positives among the N rows", "Distance of the AUC")
    at = {
        metric: min(lines[budgets[-1]], key=lambda point: abs(point[0] - 0.5))
        for metric, lines in curves.items()
        if budgets[-1] in lines
    }
    rho, mean = at["auc_deviation"]
    title = f"The AUC of {budgets[-1]:g} rows ({rho:g} positive) is off by {told(mean, places=3)}"
    if "agarwal_bound" in at:
        title += f"; the bound is {told(at['agarwal_bound'][1]._replace(low=float('nan'), high=float('nan')), places=2)}"
    return canvas.drawing(title, "Distance of the AUC and its bound by share of positives", ends=True)


def _curves(study, source, metric):
    """``{N: [(share, Estimate), ...]}`` of one metric."""
    curves = {}
    for setting in study.settings(source, metric, "general"):
        options = setting_options(setting)
        if set(options) == {"N", "rho"}:
            known = study.get(source, metric, setting=setting)
            curves.setdefault(options["N"], []).append((options["rho"], known))
    return {budget: sorted(points, key=lambda point: point[0]) for budget, points in curves.items()}
