"""Reliability curves: what is predicted against what is observed, with and without correction."""

import numpy as np

from counterweight.files.settings import numbers_of
from counterweight.reporting.charts.logs.keep_rates import WAYS, learners
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import CORRECTIONS, learner_name

CAPTION = (
    "Share of positives among test rows of about the same predicted probability, against that "
    "probability, in bins of equal weight, mean over splits, on logarithmic axes; on the grey "
    "diagonal a model is calibrated, below it predictions are too high. Top: trained on all rows; "
    "bottom: on a fraction of the zero rows. Bins without positives are left out."
)
_BEST, _LEAST = 0.01, 1e-4
_TICKS = (0.001, 0.01, 0.1)


def draw(study):
    """Two rows (all rows, about a hundredth of the zeros), one column for each learner.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    curves = {}
    for learner in learners(study):
        for way in WAYS:
            for rate, points in _curves(study, f"{learner}-{way}").items():
                curves[learner, rate, way] = points
    rates = {rate for _, rate, _ in curves}
    if not rates:
        return style.blank("No reliability curve was measured in this study.")
    low = min(rates, key=lambda rate: (abs(np.log(rate / _BEST)), rate))
    rates = list(dict.fromkeys([max(rates), low]))
    columns = list(dict.fromkeys(learner for learner, _, _ in curves))
    values = np.concatenate([np.ravel(points) for points in curves.values()])
    lowest = max(np.min(values[values > 0], initial=0.1) / 1.5, _LEAST)
    with style.look():
        figure, axes = style.panels(
            len(rates), len(columns), height=0.6 + 1.8 * len(rates), sharex=True, sharey=True
        )
        for row, rate in enumerate(rates):
            for column, learner in enumerate(columns):
                lines = {way: curves.get((learner, rate, way)) for way in WAYS}
                _panel(axes[row, column], {w: p for w, p in lines.items() if p is not None}, lowest)
                axes[row, column].set_title(f"{learner_name(learner)}, l = {rate:g}")
            axes[row, 0].set_ylabel("Observed share")
        figure.supxlabel("Predicted probability", fontsize=8.5)
        handles = [axes[0, 0].plot([], [], color=colour)[0] for colour in WAYS.values()]
        figure.legend(
            handles,
            [CORRECTIONS[way] for way in WAYS],
            loc="outside upper center",
            ncols=len(WAYS),
            handlelength=1.6,
            columnspacing=1.4,
        )
    return figure


def _curves(study, source):
    """``{keep rate: (predicted, observed)}`` by bin, means over splits."""
    predicted, observed = (
        study.means_by(["setting", "part"], source, f"reliability_{which}", "general")
        for which in ("predicted", "observed")
    )
    bins = {}
    for place in predicted.index.intersection(observed.index):
        setting, number = place
        rate = numbers_of(setting).get("keep_rate")
        if rate is not None:
            bins.setdefault(rate, []).append((int(number), predicted[place], observed[place]))
    return {rate: np.array(sorted(points))[:, 1:].T for rate, points in bins.items()}


def _panel(ax, lines, low):
    ax.plot([low, 1], [low, 1], color=style.PALE, linewidth=1)
    for way, (predicted, observed) in lines.items():
        shown = (predicted > 0) & (observed > 0)
        order = np.argsort(predicted[shown])
        ax.plot(
            predicted[shown][order],
            observed[shown][order],
            "o-",
            color=WAYS[way],
            markersize=2.5,
            linewidth=1.1,
        )
    ax.set(xscale="log", yscale="log", xlim=(low, 1.15), ylim=(low, 1.15))
    ax.minorticks_off()
    ticks = [tick for tick in _TICKS if tick > 1.4 * low]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([*ticks, 1], [f"{tick:g}" for tick in (*ticks, 1)])
