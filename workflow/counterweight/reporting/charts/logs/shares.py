"""What share of positives a fixed budget of training rows should have."""

from counterweight.reporting.page import style
from counterweight.reporting.page.wording import LOSSES, metric_name, percent

CAPTION = (
    "Quality of trees trained on a fixed number of rows, against the share of positives among "
    "them (line, mean over splits with 95 % intervals): ranking on the left, decisions on the "
    "right. Marked are the natural share, equal shares, and the share that progressive sampling "
    "came to within the same budget."
)
_MARKED = (
    ("natural", "natural", style.ORANGE),
    ("balanced", "balanced", style.GREEN),
    ("progressive", "progressive", style.PURPLE),
)
_METRICS = ("auc", "accuracy")
_HEIGHT = 2.6


def draw(study):
    """Two panels, AUC and accuracy, with the three ways to choose a share marked.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    swept = [one["id"] for one in study.methods(swept=True)]
    source = next((name for name in swept if study.curve(name, "auc", "share")), None)
    if source is None:
        return style.blank("No sweep over shares of positives was measured in this study.")
    learner = source.rpartition("-")[0]
    with style.look():
        figure, axes = style.panels(1, len(_METRICS), height=_HEIGHT)
        for ax, metric in zip(axes[0], _METRICS, strict=True):
            style.grid(ax, "y")
            style.interval_line(ax, study.curve(source, metric, "share"), style.BLUE)
            ends = []
            for way, name, colour in _MARKED:
                found = study.estimate(f"{learner}-{way}", metric, "general")
                share = _share(study, f"{learner}-{way}", way)
                if found is None or share is None:
                    continue
                mean, low, high = found
                if low == low:
                    ax.vlines(share, low, high, color=colour, linewidth=1.3)
                ax.plot(share, mean, "D", color=colour, markersize=5.5, zorder=3)
                ends.append((mean, f"{name} ({percent(share, 0)})", colour))
            shown = metric_name(metric)
            less = ", lower is better" if metric in LOSSES else ""
            ax.set_title(f"{shown[0].upper()}{shown[1:]}{less}")
            ax.set_xlim(-0.02, 1.02)
            ax.margins(y=0.08)
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
            style.label_ends(ax, ends, 0.7 * _HEIGHT)
        figure.supxlabel("Share of positives among the rows bought", fontsize=8.5)
    return figure


def _share(study, source, way):
    """Mean share of positives of a method's training rows, or None."""
    if way == "balanced":
        return 0.5
    rows = study.rows(source, "chosen_share")
    if len(rows):
        return float(rows["value"].mean())
    rows = study.rows("labels", "positive_share")
    rows = rows[rows["part"] == "all"]
    return float(rows["value"].mean()) if way == "natural" and len(rows) else None
