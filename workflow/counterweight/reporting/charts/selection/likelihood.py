"""Likelihood of the unlabeled rows while the mixture shifts."""

import numpy as np

from counterweight.reporting.page import style
from counterweight.reporting.page.wording import number

CAPTION = (
    "Log-likelihood of the unlabeled rows, per row and relative to the unshifted start, after "
    "each step of the shifted mixtures. Thin lines are single splits, the thick line their mean; "
    "each panel has its own scale."
)


def draw(study):
    """One panel for each shifted mixture.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    curves = {}
    for method in study.methods():
        if method["model"] == "shifted_mixture":
            curve = _curves(study.rows(method["id"], "log_likelihood", "unlabeled"))
            if curve is not None:
                curves[method["id"]] = curve
    if not curves:
        return style.blank("No shifted mixture of this study was fitted.")
    with style.look():
        figure, axes = style.panels(1, len(curves), height=2.5)
        for ax, (name, curve) in zip(axes[0], curves.items(), strict=True):
            _panel(ax, study.label(name), curve)
        axes[0, 0].set_ylabel("Gain in log-likelihood,\nnats per unlabeled row")
    return figure


def _curves(rows):
    """Repeats by steps, relative to step 0; None without a start to compare with."""
    rows = rows[rows["step"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(step=rows["step"].astype(int))
    frame = rows.pivot_table(index="repeat", columns="step", values="value").sort_index(axis=1)
    return frame.sub(frame[0], axis=0) if 0 in frame else None


def _panel(ax, title, curve):
    for _, line in curve.iterrows():
        ax.plot(curve.columns, line, color=style.PALE, linewidth=0.8)
    # A repeat that has converged keeps its last value, so the mean stays one over all.
    mean = curve.ffill(axis=1).mean(axis=0)
    ax.plot(
        curve.columns,
        mean,
        color=style.BLUE,
        linewidth=1.8,
        marker="o" if len(mean) < 12 else None,
        markersize=3.5,
    )
    low, high = float(np.nanmin(curve)), float(np.nanmax(curve))
    room = (high - low or 1.0) * 0.18
    ax.set_ylim(low - room / 2, high + room)
    ax.annotate(
        number(mean.iloc[-1], 3, sign=True),
        (curve.columns[-1], mean.iloc[-1]),
        xytext=(0, 6),
        textcoords="offset points",
        ha="right",
        color=style.BLUE,
        fontweight="bold",
    )
    style.grid(ax, "y")
    ax.locator_params(axis="x", integer=True, nbins=6)
    ax.set_title(title)
    ax.set_xlabel("Step")
