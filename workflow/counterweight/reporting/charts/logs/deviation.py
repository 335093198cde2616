"""How far the AUC of a few rows lies from that of all, by the share of positives among them."""

from counterweight.files.settings import setting_options
from counterweight.reporting.charts import kit, style

CAPTION = (
    "Distance between the AUC of N drawn test rows and that of all of them, against the share of "
    "positives among the drawn: mean and upper quantile over resamples, and the bound of Agarwal "
    "and colleagues, which is least at equal shares; means over splits with 95 % intervals."
)
_LINES = {
    "auc_deviation": ("mean", kit.Look(style.BLUE)),
    "auc_deviation_quantile": ("quantile", kit.Look(style.SKY, "^")),
    "agarwal_bound": ("bound", kit.Look(style.RED, "s")),
}


def draw(study):
    sources = [s for s in kit.main_first(study) if study.measured("auc_deviation", source=s)]
    if not sources:
        return kit.blank("No deviation of an AUC was measured in this study.")
    curves = {metric: _curves(study, sources[0], metric) for metric in _LINES}
    budgets = sorted({budget for lines in curves.values() for budget in lines})
    titles = [f"{study.label(sources[0])}, N = {budget:g}" for budget in budgets]
    x = "Share of positives among the N rows"
    canvas = kit.Canvas(titles, 2.2, x, "Distance of the AUC", sharey=True)
    for panel, budget in zip(canvas.all, budgets, strict=True):
        for metric, (name, look) in _LINES.items():
            points = curves[metric].get(budget, {})
            panel.line(name, [kit.point(rho, points[rho]) for rho in sorted(points)], look)
        panel.ax.axvline(0.5, color=style.PALE, linewidth=0.9)
        panel.ax.set_xticks([0, 0.5, 1])
        panel.ax.set_ylim(bottom=0)
    mean, bound = (
        curves[metric].get(budgets[-1], {}) for metric in ("auc_deviation", "agarwal_bound")
    )
    rho = min(mean, key=lambda one: abs(one - 0.5))
    title = f"The AUC of {budgets[-1]:g} rows ({rho:g} positive) is off by {kit.told(mean[rho])}"
    if rho in bound:
        title += f"; the bound is {bound[rho].mean:.2g}"
    return canvas.drawing(title, "Distance of the AUC and its bound by share of positives")


def _curves(study, source, metric):
    """`Estimate` of one metric by N, then by share."""
    curves = {}
    for setting in study.settings(source, metric, "general"):
        options = setting_options(setting)
        if set(options) == {"N", "rho"}:
            known = study.get(source, metric, setting=setting)
            curves.setdefault(options["N"], {})[options["rho"]] = known
    return curves
