"""How well the models of the labeling know who is labeled."""

from counterweight.reporting.charts.canvas import MAIN, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import BLUE, ORANGE, PALE
from counterweight.reporting.charts.words import told

CAPTION = (
    "First of each pair: share of labeled rows among rows that a selection model gives about the "
    "same probability; on the diagonal it is calibrated. Second: how its probabilities are spread "
    "among labeled and unlabeled rows; where labeled rows are absent, weights cannot help."
)
_BINS = 20


def draw(study):
    names = [one["id"] for one in study.plan["selectors"]]
    names = [name for name in names if len(study.rows(name, "calibration_predicted"))]
    if not names:
        return blank("No selection model of this study was measured.")
    canvas = Canvas(len(names), 2, 1.5, pairs=True, sharex=True, width_ratios=[1, 1.7])
    known = {name: study.get(name, "auc", "") for name in names}
    for name, (left, right) in zip(names, canvas.panels, strict=True):
        auc = known[name].mean
        left.title(study.label(name) + ("" if auc != auc else f" (AUC {auc:.2f})"), "Labeled, share")
        predicted, observed = (
            study.means_by("part", name, f"calibration_{which}") for which in ("predicted", "observed")
        )
        left.line("calibrated", [(0, 0), (1, 1)], Look(PALE, ""), key=False)
        points = sorted((predicted[part], observed.get(part, float("nan"))) for part in predicted.index)
        left.line("observed", points, MAIN, key=False)
        left.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        left.ax.set_ylabel("Labeled, share")
        _overlap(right, study, name)
    canvas.label("Predicted chance of being labeled")
    known = {name: one for name, one in known.items() if one.known}
    title = "How well selection models know who is labeled"
    if known:
        best = max(known, key=lambda name: known[name].mean)
        title = f"{study.label(best)} tells best who is labeled: AUC {told(known[best], places=3)}"
    return canvas.drawing(title, "Calibration and overlap of each model of who is labeled")


def _overlap(panel, study, name):
    for which, colour, below in (("labeled", BLUE, False), ("unlabeled", ORANGE, True)):
        share = study.means_by("part", name, f"overlap_{which}")
        x = (share.index.astype(int).to_numpy() + 0.5) / _BINS
        panel.bars(f"{which} rows", x, 100 * share.to_numpy(), colour, 0.9 / _BINS, below=below)
    panel.title("", "Rows, %")
    panel.name = study.label(name)
    limit = 1.1 * max(map(abs, panel.ax.get_ylim()))
    panel.ax.set_ylim(-limit, limit)
    panel.ax.axhline(0, color=PALE, linewidth=0.6)
    panel.ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    panel.ax.set_ylabel("Rows, %")
