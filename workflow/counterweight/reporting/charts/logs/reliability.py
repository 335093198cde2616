"""Reliability curves: what is predicted against what is observed, with and without correction."""

import numpy as np

from counterweight.files.settings import numbers_of
from counterweight.reporting.charts.canvas import Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.logs.keep_rates import WAYS, learner_name, swept
from counterweight.reporting.charts.style import PALE
from counterweight.reporting.charts.words import told

CAPTION = (
    "Share of positives among test rows of about the same predicted probability, against that "
    "probability, in bins of equal weight, mean over splits, on logarithmic axes; on the grey "
    "diagonal a model is calibrated, below it predictions are too high. First trained on all rows, "
    "then on a fraction of the zero rows. Bins without positives are left out."
)
_SHOWN, _LEAST, _ERROR = 0.01, 1e-4, "calibration_error"
_TICKS = (0.001, 0.01, 0.1)


def draw(study):
    learners = swept(study, study.plan["columns"][0]) if study.plan["columns"] else {}
    curves = {}
    for learner, sources in learners.items():
        for way, source in sources.items():
            for rate, points in _curves(study, source).items():
                curves[learner, rate, way] = points
    rates = {rate for _, rate, _ in curves}
    if not rates:
        return blank("No reliability curve was measured in this study.")
    low = min(rates, key=lambda rate: (abs(np.log(rate / _SHOWN)), rate))
    rates = list(dict.fromkeys([max(rates), low]))
    columns = list(dict.fromkeys(learner for learner, _, _ in curves))
    values = np.concatenate([np.ravel(points) for points in curves.values()])
    lowest = max(np.min(values[values > 0], initial=0.1) / 1.5, _LEAST)
    canvas = Canvas(len(rates), len(columns), 1.75, pairs=True, sharex=True, sharey=True)
    for rate, row in zip(rates, canvas.panels, strict=True):
        for learner, panel in zip(columns, row, strict=True):
            panel.ax.set(xscale="log", yscale="log", xlim=(lowest, 1.15), ylim=(lowest, 1.15))
            panel.line("calibrated", [(lowest, lowest), (1, 1)], Look(PALE, ""), key=False)
            for way, (name, look) in WAYS.items():
                if (learner, rate, way) in curves:
                    points = curves[learner, rate, way]
                    points = points[:, (points > 0).all(axis=0)]
                    panel.line(name, sorted(zip(*points, strict=True)), look, markersize=2.8)
            panel.title(f"{learner_name(learner)}, l = {rate:g}")
            panel.ax.minorticks_off()
            ticks = [tick for tick in _TICKS if tick > 1.4 * lowest]
            panel.ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            panel.ax.set_yticks([*ticks, 1], [f"{tick:g}" for tick in (*ticks, 1)])
    canvas.label("Predicted probability", "Observed share")
    return canvas.drawing(_title(study, learners, low), "Observed against predicted shares by learner and keep rate")


def _curves(study, source):
    """``{keep rate: (predicted, observed)}`` by bin, means over splits."""
    predicted, observed = (
        study.means_by(["setting", "part"], source, f"reliability_{which}", "general")
        for which in ("predicted", "observed")
    )
    bins = {}
    for place in predicted.index.intersection(observed.index):
        rate = numbers_of(place[0]).get("keep_rate")
        if rate is not None:
            bins.setdefault(rate, []).append((int(place[1]), predicted[place], observed[place]))
    return {rate: np.array(sorted(points))[:, 1:].T for rate, points in bins.items()}


def _title(study, learners, rate):
    """Calibration errors of the first learner at the lower rate."""
    learner, sources = next(iter(learners.items()))
    errors = {}
    for way, source in sources.items():
        for setting in study.settings(source, _ERROR, "general"):
            if numbers_of(setting).get("keep_rate") == rate:
                errors[way] = study.get(source, _ERROR, setting=setting)
    if not errors:
        return "Predicted and observed shares of positives"
    ends = dict.fromkeys([min(errors, key=lambda way: errors[way].mean), list(errors)[-1]])
    said = "; ".join(f"{WAYS[way][0]} {told(errors[way], places=4)}" for way in ends)
    return f"{learner_name(learner)}, calibration error at l = {rate:g}: {said}"
