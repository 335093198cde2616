"""How far the AUC of a few rows lies from that of all, by the share of positives among them."""

from counterweight.files.settings import setting_options
from counterweight.reporting.page import style

CAPTION = (
    "Distance between the AUC of N drawn test rows and that of all of them, against the share of "
    "positives among the drawn: mean and upper quantile over resamples, and the bound of Agarwal "
    "and colleagues that the distance exceeds with at most the complementary probability; means "
    "over splits with 95 % intervals. The bound is least at equal shares (thin line)."
)
_LINES = (
    ("auc_deviation", "mean", style.BLUE),
    ("auc_deviation_quantile", "quantile", style.SKY),
    ("agarwal_bound", "bound", style.RED),
)
_HEIGHT = 2.6


def draw(study):
    """One panel for each number of rows.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of the protocol ``ranking_resamples``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    source = next(
        (one["id"] for one in study.plan["methods"] if len(study.rows(one["id"], "auc_deviation"))),
        None,
    )
    if source is None:
        return style.blank("No deviation of an AUC was measured in this study.")
    curves = {metric: _curves(study, source, metric) for metric, *_ in _LINES}
    budgets = sorted({budget for lines in curves.values() for budget in lines})
    with style.look():
        figure, axes = style.panels(1, len(budgets), height=_HEIGHT, sharey=True)
        for ax, budget in zip(axes[0], budgets, strict=True):
            style.grid(ax, "y")
            ax.axvline(0.5, color=style.PALE, linewidth=0.9)
            for metric, _, colour in _LINES:
                style.interval_line(ax, curves[metric].get(budget), colour)
            ax.set_title(f"{study.label(source)}, N = {budget:g}")
            ax.set_xticks([0, 0.5, 1])
        axes[0, 0].set_ylim(bottom=0)
        axes[0, 0].set_ylabel("Distance of the AUC")
        ends = [
            (curves[metric][budgets[-1]][-1][1], name, colour)
            for metric, name, colour in _LINES
            if budgets[-1] in curves[metric]
        ]
        style.label_ends(axes[0, -1], ends, 0.7 * _HEIGHT)
        figure.supxlabel("Share of positives among the N rows", fontsize=8.5)
    return figure


def _curves(study, source, metric):
    """``{N: [(share, mean, low, high), ...]}`` of one metric."""
    curves = {}
    for setting in study.rows(source, metric, "general")["setting"].unique():
        options = setting_options(setting)
        estimate = study.estimate(source, metric, "general", setting)
        if set(options) == {"N", "rho"} and estimate is not None:
            mean, low, high = estimate
            bounds = (mean, mean) if low != low else (low, high)
            curves.setdefault(options["N"], []).append((options["rho"], mean, *bounds))
    return {budget: sorted(points) for budget, points in curves.items()}
