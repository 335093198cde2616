"""How well the models of the labeling know who is labeled."""

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Share of labeled rows among rows of about the same predicted chance (on the diagonal a model "
    "is calibrated), and how the chances are spread among labeled and unlabeled rows: where "
    "labeled rows are absent, weights cannot help."
)
_BINS, _SHARE, _ROWS = 20, "Labeled, share", "Rows, %"


def draw(study):
    names = [one["id"] for one in study.plan["selectors"]]
    names = [name for name in names if len(study.rows(name, "calibration_predicted"))]
    if not names:
        return kit.blank("No selection model of this study was measured.")
    known = {name: study.get(name, "auc", "") for name in names}
    titles = [
        (study.label(name) + (f" (AUC {auc.mean:.2f})" if auc.known else ""), "Overlap")
        for name, auc in known.items()
    ]
    x = "Predicted chance of being labeled"
    canvas = kit.Canvas(titles, 1.5, x, _SHARE, pairs=True, sharex=True)
    for name, (left, right) in zip(names, canvas.panels, strict=True):
        predicted, observed = (
            study.means_by("part", name, f"calibration_{which}")
            for which in ("predicted", "observed")
        )
        left.line("calibrated", [(0, 0), (1, 1)], kit.Look(style.PALE, ""), key=False)
        points = zip(predicted, observed.reindex(predicted.index), strict=True)
        left.line("observed", sorted(points), kit.MAIN, key=False)
        left.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        right.measures, right.name = _ROWS, study.label(name)
        for which, colour, sign in (("labeled", style.BLUE, 1), ("unlabeled", style.ORANGE, -1)):
            share = 100 * sign * study.means_by("part", name, f"overlap_{which}")
            places = (share.index.astype(int).to_numpy() + 0.5) / _BINS
            right.bars(f"{which} rows", places, share.to_numpy(), colour, 0.9 / _BINS)
        limit = 1.1 * max(map(abs, right.ax.get_ylim()))
        right.ax.set(ylim=(-limit, limit), ylabel=_ROWS)
        right.ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    best = max(known, key=lambda name: known[name].mean if known[name].known else -1)
    title = "How well selection models know who is labeled"
    if known[best].known:
        title = f"{study.label(best)} tells best who is labeled: AUC {kit.told(known[best])}"
    return canvas.drawing(title, "Calibration and overlap of each model of who is labeled")
