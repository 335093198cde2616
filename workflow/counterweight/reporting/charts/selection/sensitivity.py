"""How far a shifted mixture moves, and what that does to its accuracy."""

import numpy as np

from counterweight.files.settings import setting_options
from counterweight.reporting.charts.canvas import DASHED, DOTTED, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import ORDERED, RED
from counterweight.reporting.charts.words import against, axis_of, factor_of, target_name

CAPTION = (
    "The headline measure (top) and the gain in log-likelihood of the unlabeled rows (bottom) after "
    "a number of steps, for each inertia (colour) and each set of parameters that may shift. Better "
    "likelihood does not mean better decisions: compare each line with the dashed baseline and the "
    "dotted mixture that was not shifted."
)
_TARGET, _LIKELIHOOD = "unlabeled", "unlabeled_log_likelihood"


def draw(study):
    metric = next((one for one in study.plan["columns"] if study.measured(one, _TARGET)), "accuracy")
    swept = [one["id"] for one in study.methods(swept=True) if study.measured(_LIKELIHOOD, None, one["id"])]
    settings = [(name, one) for name in swept for one in study.settings(name, metric)]
    target = next((t for t in (_TARGET, *study.plan["targets"]) if study.measured(metric, t)), "")
    scores, gains = {}, {}
    for source, setting in settings:
        options = setting_options(setting)
        place = (options.get("shifts", "all"), options.get("inertia", np.nan))
        step = options.get("iterations", 1.0)
        for known, of in ((scores, metric), (gains, _LIKELIHOOD)):
            value = study.get(source, of, target, setting=setting)
            if value.known:
                known.setdefault(place, {})[step] = value.mean
    if not scores:
        return blank("No sweep of this study was measured.")
    columns = list(dict.fromkeys(shifts for shifts, _ in scores))
    inertias = sorted({inertia for _, inertia in scores}, reverse=True)
    shades = np.linspace(0, len(ORDERED) - 1, len(inertias)).round().astype(int)
    looks = {inertia: Look(ORDERED[shade]) for inertia, shade in zip(inertias, shades, strict=True)}
    canvas = Canvas(2, len(columns), 1.75, pairs=True, room=0.7, sharey="row", sharex=True)
    factor = factor_of(study.measure(metric))
    least = min((value for line in gains.values() for value in line.values()), default=0.0)
    labels = (axis_of(study.measure(metric)), "Gain, nats a row")
    for row, known, scale, start, label in zip(
        canvas.panels, (scores, gains), (factor, 1.0), (0.0, least), labels, strict=True
    ):
        for panel, shifts in zip(row, columns, strict=True):
            panel.title("all may shift" if shifts == "all" else f"only {shifts}", label)
            for inertia, look in looks.items():
                points = sorted(known.get((shifts, inertia), {}).items())
                line = [(step, scale * (value - start)) for step, value in points]
                panel.line(f"inertia {inertia:g}", line, look)
            _steps(panel, {step for line in known.values() for step in line})
    for source, look in _levels(study):
        level = study.get(source, metric, target).times(factor)
        for panel in canvas.panels[0]:
            panel.level(study.label(source), level.mean, look)
    canvas.label("Steps", labels)
    likeliest = [pair for pair in settings if study.get(pair[0], _LIKELIHOOD, target, setting=pair[1]).known]
    title = f"{axis_of(study.measure(metric))} after shifting ({target_name(target)})"
    if likeliest:
        source, setting = max(
            likeliest, key=lambda pair: study.get(pair[0], _LIKELIHOOD, target, setting=pair[1]).mean
        )
        title = "The likeliest setting of " + against(
            study, metric, target, source, setting=setting
        )
    return canvas.drawing(title, "Accuracy and likelihood by steps, inertia and what may shift")


def _levels(study):
    """The baseline, and the mixture from which the others are shifted: as weighted for the target."""
    if study.baseline is not None:
        yield study.baseline, Look(RED, "", DASHED)
    weighted = {one["weighting"] for one in study.plan["weightings"] if one["target"] == _TARGET}
    for one in study.methods(swept=False):
        if one["model"] == "generative" and one["weights"] in weighted and study.role(one["id"]) != "bound":
            yield one["id"], Look(RED, "", DOTTED)
            return


def _steps(panel, steps):
    steps = sorted(steps)
    if len(steps) > 1 and steps[0] > 0:
        panel.ax.set_xscale("log")
        panel.ax.minorticks_off()
    panel.ax.set_xticks(steps, [f"{step:g}" for step in steps])
    panel.grid()
