"""How well the models of the labeling know who is labeled."""

import numpy as np

from counterweight.reporting.page import style

CAPTION = (
    "Left of each row: share of labeled rows among rows that a selection model gives about the "
    "same probability; on the diagonal the model is calibrated. Right: how its probabilities "
    "are spread among labeled and unlabeled rows; where labeled rows are absent, weights cannot "
    "help."
)


def draw(study):
    """One row for each selector: calibration curve, and overlap by labeling.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = [one["id"] for one in study.plan["selectors"]]
    names = [name for name in names if len(study.rows(name, "calibration_predicted"))]
    if not names:
        return style.blank("No selection model of this study was measured.")
    with style.look():
        figure, axes = style.panels(
            len(names),
            2,
            height=0.5 + 1.55 * len(names),
            sharex=True,
            gridspec_kw={"width_ratios": [1, 1.7]},
        )
        for place, name in enumerate(names):
            _calibration(axes[place, 0], study, name)
            _overlap(axes[place, 1], study, name, legend=place == 0)
        axes[-1, 0].set_xlabel("Predicted p(labeled)")
        axes[-1, 1].set_xlabel("Predicted p(labeled)")
    return figure


def _calibration(ax, study, name):
    predicted = study.means_by("part", name, "calibration_predicted")
    observed = study.means_by("part", name, "calibration_observed").reindex(predicted.index)
    order = np.argsort(predicted.to_numpy())
    ax.plot([0, 1], [0, 1], color=style.PALE, linewidth=1)
    ax.plot(
        predicted.to_numpy()[order],
        observed.to_numpy()[order],
        "o-",
        color=style.BLUE,
        markersize=3,
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.set_ylabel("Observed share")
    auc = study.rows(name, "auc", "")["value"].mean()
    shown = name.replace("_", " ")
    ax.set_title(shown if np.isnan(auc) else f"{shown} (AUC {auc:.2f})")


def _overlap(ax, study, name, legend):
    for which, colour, up in (("labeled", style.BLUE, 1), ("unlabeled", style.ORANGE, -1)):
        share = study.means_by("part", name, f"overlap_{which}")
        if share.empty:
            continue
        bins = share.index.astype(int).to_numpy()
        width = 1 / 20
        ax.bar((bins + 0.5) * width, up * 100 * share.to_numpy(), width=0.9 * width, color=colour)
        if legend:
            ax.text(
                0.5,
                0.95 if up > 0 else 0.05,
                f"{which} rows",
                color=colour,
                ha="center",
                va="top" if up > 0 else "bottom",
                transform=ax.transAxes,
                fontweight="bold",
            )
    limit = 1.35 * max(np.abs(ax.get_ylim()))
    ax.set_ylim(-limit, limit)
    ax.axhline(0, color=style.GREY, linewidth=0.6)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    ax.set_ylabel("Rows, %")
