"""Reliability curves: what is predicted against what is observed, with and without correction."""

import numpy as np

from counterweight.files.settings import numbers_of
from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.logs.keep_rates import WAYS, learner_name, swept

CAPTION = (
    "Share of positives among test rows of about the same predicted probability, against that "
    "probability, mean over splits; on the grey diagonal a model is calibrated, below it "
    "predictions are too high. Trained on all rows, and on a fraction of the zero rows."
)
_SHOWN, _LEAST, _ERROR = 0.01, 1e-4, "calibration_error"
_TICKS = (0.001, 0.01, 0.1)


def draw(study):
    metric, curves = kit.headline(study), {}
    learners = swept(study, metric) if metric else {}
    for learner, sources in learners.items():
        for way, source in sources.items():
            for rate, points in _curves(study, source).items():
                curves[learner, rate, way] = points
    rates = {rate for _, rate, _ in curves}
    if not rates:
        return kit.blank("No reliability curve was measured in this study.")
    low = min(rates, key=lambda rate: (abs(np.log(rate / _SHOWN)), rate))
    rates = list(dict.fromkeys([max(rates), low]))
    columns = list(dict.fromkeys(learner for learner, _, _ in curves))
    values = np.concatenate([np.ravel(points) for points in curves.values()])
    lowest = max(np.min(values[values > 0], initial=0.1) / 1.5, _LEAST)
    titles = [[f"{learner_name(one)}, l = {rate:g}" for one in columns] for rate in rates]
    shared, axes = {"sharex": True, "sharey": True}, ("Predicted probability", "Observed share")
    canvas = kit.Canvas(titles, 1.75, *axes, grid="both", pairs=True, **shared)
    ticks = [tick for tick in _TICKS if tick > 1.4 * lowest]
    for rate, row in zip(rates, canvas.panels, strict=True):
        for learner, panel in zip(columns, row, strict=True):
            panel.ax.grid(visible=False)
            panel.ax.set(xscale="log", yscale="log", xlim=(lowest, 1.15), ylim=(lowest, 1.15))
            ends = [(lowest, lowest), (1, 1)]
            panel.line("calibrated", ends, kit.Look(style.PALE, ""), key=False)
            for way, (name, look) in WAYS.items():
                points = curves.get((learner, rate, way), np.zeros((0, 2)))
                panel.line(name, sorted(points[(points > 0).all(axis=1)].tolist()), look)
            panel.ax.minorticks_off()
            panel.ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            panel.ax.set_yticks([*ticks, 1], [f"{tick:g}" for tick in (*ticks, 1)])
    title = _title(study, learners, low)
    return canvas.drawing(title, "Observed against predicted shares by learner and keep rate")


def _curves(study, source):
    """Predicted and observed shares (bins, 2) by keep rate, means over splits."""
    bins = study.means_by(["setting", "part"], source, "reliability_predicted", "general").to_frame(
        "p"
    )
    bins["y"] = study.means_by(["setting", "part"], source, "reliability_observed", "general")
    rates = [numbers_of(setting).get("keep_rate", np.nan) for setting, _ in bins.index]
    return {rate: part[["p", "y"]].dropna().to_numpy() for rate, part in bins.groupby(rates)}


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
    said = "; ".join(f"{WAYS[way][0]} {kit.told(errors[way])}" for way in ends)
    return f"{learner_name(learner)}, calibration error at l = {rate:g}: {said}"
