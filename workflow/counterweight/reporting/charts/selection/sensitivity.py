"""How far a shifted mixture moves, and what that does to its accuracy."""

import numpy as np

from counterweight.files.settings import setting_options
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import number

CAPTION = (
    "Accuracy on the unlabeled population (top) and gain in its log-likelihood (bottom) after a "
    "number of steps, for each inertia (colour) and each set of parameters that may shift "
    "(column). Better likelihood does not mean better accuracy: compare each line with the "
    "dashed biased logistic regression and the dotted unshifted mixture with Lemma 2 weights."
)
_TARGET = "unlabeled"


def draw(study):
    """Two rows (accuracy, likelihood), one column for each set of shifting parameters.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    swept = [one for one in study.methods(swept=True) if one["model"] == "shifted_mixture"]
    frames = {}
    for metric in ("accuracy", "unlabeled_log_likelihood"):
        values = {}
        for one in swept:
            rows = study.rows(one["id"], metric)
            chosen = rows[rows["target"] == _TARGET]
            rows = chosen if len(chosen) else rows
            for setting, value in rows.groupby("setting", sort=False)["value"].mean().items():
                options = setting_options(setting)
                key = (options.get("shifts", "all"), options.get("inertia", np.nan))
                values.setdefault(key, {})[options.get("iterations", 1.0)] = value
        frames[metric] = values
    if not frames["accuracy"]:
        return style.blank("No sweep of this study was measured.")
    columns = list(dict.fromkeys(key[0] for key in frames["accuracy"]))
    inertias = sorted({key[1] for key in frames["accuracy"]}, reverse=True)
    with style.look():
        figure, axes = style.panels(2, len(columns), height=4.0, sharey="row", sharex=True)
        for place, shifts in enumerate(columns):
            _accuracy(axes[0, place], study, frames["accuracy"], shifts, inertias, place == 0)
            _likelihood(axes[1, place], frames["unlabeled_log_likelihood"], shifts, inertias)
            axes[0, place].set_title(f"{shifts} shift" if shifts == "all" else shifts)
        axes[0, 0].set_ylabel("Accuracy, %")
        axes[1, 0].set_ylabel("Log-likelihood,\nnats per row above lowest")
        figure.supxlabel("Steps", fontsize=8.5)
        _legend(figure, axes[0, 0], inertias)
    return figure


def _colour(inertias, inertia):
    place = inertias.index(inertia)
    return style.ORDERED[round(place * (len(style.ORDERED) - 1) / max(len(inertias) - 1, 1))]


def _lines(ax, values, shifts, inertias, factor, start=0.0):
    for inertia in inertias:
        points = sorted(values.get((shifts, inertia), {}).items())
        if points:
            x, y = zip(*points, strict=True)
            ax.plot(
                x,
                factor * (np.array(y) - start),
                "o-",
                markersize=3,
                linewidth=1.3,
                color=_colour(inertias, inertia),
                label=f"inertia {inertia:g}",
            )
    steps = sorted({x for line in values.values() for x in line})
    if len(steps) > 1 and steps[0] > 0:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(steps, [f"{step:g}" for step in steps])
    style.grid(ax, "y")


def _accuracy(ax, study, values, shifts, inertias, first):
    _lines(ax, values, shifts, inertias, 100.0)
    for name, pattern, label in (
        (study.plan.get("baseline", "logistic"), (0, (5, 3)), "baseline"),
        ("generative-lemma2", (0, (1, 1.5)), "unshifted"),
    ):
        found = study.estimate(name, "accuracy", _TARGET)
        if found is not None:
            ax.axhline(
                100 * found[0],
                color=style.RED,
                linewidth=1,
                linestyle=pattern,
                label=f"{label} ({number(100 * found[0], 1)} %)",
            )


def _likelihood(ax, values, shifts, inertias):
    every = [value for line in values.values() for value in line.values()]
    _lines(ax, values, shifts, inertias, 1.0, min(every, default=0.0))


def _legend(figure, ax, inertias):
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=min(len(labels), 6),
        handlelength=1.8,
        columnspacing=1.2,
    )
