"""Likelihood of the unlabeled rows while a mixture shifts."""

from counterweight.reporting.charts import kit

CAPTION = (
    "Log-likelihood of the unlabeled rows, per row and relative to the start, after each step of "
    "the mixtures that shift; each panel has its own scale."
)


def draw(study):
    curves = {}
    for method in study.methods(swept=False):
        curve = kit.by_step(study.rows(method["id"], "log_likelihood", "unlabeled"))
        if curve is not None and 0 in curve and len(curve.columns) > 1:
            curves[method["id"]] = curve.sub(curve[0], axis=0)
    if not curves:
        return kit.blank("No shifted mixture of this study was fitted.")
    canvas = kit.Canvas([study.label(name) for name in curves], 2.1, "Steps", "Gain, nats a row")
    for panel, curve in zip(canvas.all, curves.values(), strict=True):
        panel.splits(curve, "split")
    gains = {name: curve.ffill(axis=1).iloc[:, -1] for name, curve in curves.items()}
    best = max(gains, key=lambda name: gains[name].mean())
    gain = kit.told(study.difference(gains[best], 0 * gains[best]), sign=True, unit="nats")
    title = f"{study.label(best)}: {gain} a row on the unlabeled"
    return canvas.drawing(title, "Gain in log-likelihood of the unlabeled rows by step")
