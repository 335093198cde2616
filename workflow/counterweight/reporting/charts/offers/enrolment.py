"""Table 9 of Noor et al. (2014) as a picture: totals predicted, actual, true; gains."""

import numpy as np

from counterweight.reporting.page import style
from counterweight.reporting.page.wording import method_label

CAPTION = (
    "Acceptances and revenue at the historical offers: predicted with 95 % interval of the mean "
    "over repeats, beside the actual total (line, with the band of chance where the truth is "
    "known) and the true expectation (dashed). Right: revenue with each method's best offers "
    "relative to the historical ones: claimed by the method itself, true where it is known, else "
    "by logged answers to such offers (SNIPS)."
)
_WAYS = ("hard", "soft", "")


def draw(study):
    """Three panels with a row for each method and assignment.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = [
        (method, way)
        for method in study.methods()
        for way in _WAYS
        if study.estimate(method["id"], "revenue_predicted", "general", way)
    ]
    if not rows:
        return style.blank("No method of this study predicted acceptances.")
    with style.look():
        height = 1.35 + 0.34 * len(rows)
        figure, axes = style.panels(1, 3, height=height, sharey=True)
        for ax, total, title in zip(
            axes[0], ("enrolment", "revenue"), ("Acceptances", "Revenue"), strict=False
        ):
            _totals(ax, study, rows, total)
            ax.set_title(title)
        truth = _gains(axes[0, 2], study, rows)
        axes[0, 2].set_title("With best offers")
        axes[0, 2].set_xlabel("% of historical revenue")
        labels = [
            method_label(method).replace(" (", "\n(") + (f", {way}" if way else "")
            for method, way in rows
        ]
        axes[0, 0].set_yticks(range(len(rows)), labels)
        axes[0, 0].set_ylim(len(rows) - 0.4, -0.6)
        figure.legend(
            *_keys(truth), loc="outside lower center", ncols=5, handlelength=1.4, columnspacing=1.2
        )
    return figure


def _totals(ax, study, rows, total):
    actual, noise = _actual(study, rows, total)
    true = _mean(study, rows[0], f"{total}_true")
    if not np.isnan(true):
        ax.axvspan(
            actual - 1.96 * noise, actual + 1.96 * noise, color=style.PALE, alpha=0.5, linewidth=0
        )
        ax.axvline(true, color=style.INK, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.axvline(actual, color=style.INK, linewidth=1.2)
    for y, (method, way) in enumerate(rows):
        mean, low, high = study.estimate(method["id"], f"{total}_predicted", "general", way)
        if low == low:
            ax.hlines(y, low, high, color=style.BLUE, linewidth=1.1)
        ax.plot([mean], [y], "o", color=style.BLUE, markersize=4.5)
    ax.locator_params(axis="x", nbins=5)
    style.grid(ax)
    ax.tick_params(axis="y", length=0)


def _actual(study, rows, total):
    """Mean actual total, and its standard deviation by chance for the mean over repeats."""
    actual = study.rows(rows[0][0]["id"], f"{total}_actual", "general")
    actual = actual[actual["setting"] == rows[0][1]]
    noise = np.sqrt((actual["standard_error"].astype(float) ** 2).mean() / max(len(actual), 1))
    return float(actual["value"].mean()), float(np.nan_to_num(noise))


def _mean(study, row, metric):
    found = study.estimate(row[0]["id"], metric, "general", row[1])
    return np.nan if found is None else found[0]


def _gains(ax, study, rows):
    """Claimed gain and what it comes to; True where the truth is known."""
    truth = not np.isnan(_mean(study, rows[0], "revenue_optimal_true"))
    base, checked = (
        ("revenue_true", "revenue_optimal_true") if truth else ("revenue_actual", "revenue_snips")
    )
    for y, row in enumerate(rows):
        before, actual = _mean(study, row, base), _mean(study, row, "revenue_actual")
        claim = 100 * _mean(study, row, "revenue_claimed") / actual if actual else np.nan
        found = 100 * _mean(study, row, checked) / before if before else np.nan
        if not np.isnan([claim, found]).any():
            ax.plot([claim, found], [y, y], color=style.PALE, linewidth=2, zorder=1)
        ax.plot([claim], [y], "o", color=style.ORANGE, markersize=5)
        ax.plot([found], [y], "D", color=style.GREEN, markersize=4.5)
    ax.axvline(100, color=style.INK, linewidth=0.8)
    ax.locator_params(axis="x", nbins=5)
    style.grid(ax)
    ax.tick_params(axis="y", length=0)
    return truth


def _keys(truth):
    from matplotlib.lines import Line2D

    def mark(colour, shape):
        return Line2D([], [], color=colour, marker=shape, linestyle="none", markersize=5)

    lines = [mark(style.BLUE, "o"), Line2D([], [], color=style.INK, linewidth=1.2)]
    names = ["predicted", "actual"]
    if truth:
        lines.append(Line2D([], [], color=style.INK, linestyle=(0, (4, 2)), linewidth=1.0))
        names.append("true")
    lines += [mark(style.ORANGE, "o"), mark(style.GREEN, "D")]
    names += ["claimed", "true" if truth else "by logged answers"]
    if truth:
        names[2], names[4] = "true expectation", "true, best offers"
        names[3] = "claimed, best offers"
    return lines, names
