"""People in the plane of two features, and the segments of the choice model."""

import numpy as np

from counterweight.reporting.charts.canvas import DASHED, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import BLUE, INK, ORANGE, RED
from counterweight.reporting.charts.words import number

CAPTION = (
    "Training rows of the first repeat by two features, and the segments of the choice model as "
    "ellipses that hold half and nine tenths of a Gaussian (the thicker, the more people). Where the "
    "truth is known, dashed ellipses hold nine tenths of each true component."
)
_POINTS, _SEGMENTS = 1200, 30
#: What the arrays of a fitted choice model are called.
_ARRAYS = ("weights", "eta", "k", "means", "covariances")
_SEGMENT, _TRUE = Look(INK, ""), Look(RED, "", DASHED)


def draw(study):
    found = choice_model(study)
    if found is None:
        return blank("No choice model of this study was fitted.")
    arrays = found[1]
    means, covariances = np.atleast_2d(arrays["means"]), np.asarray(arrays["covariances"])
    if means.shape[1] < 2:
        return blank("No plane: the choice model uses one feature only.")
    features = study.table("features.parquet")
    names = [name for name in features.columns if name != "row"]
    used = np.atleast_1d(arrays.get("features_used", np.arange(means.shape[1]))).astype(int)
    names = [names[used[0]], names[used[1]]]
    points = training_rows(study).merge(features[["row", *names]], on="row").sort_values("row")
    points = points.dropna(subset=names)
    canvas = Canvas(1, 1, 3.4)
    panel = canvas.first
    _points(panel, points.iloc[:: max(1, len(points) // _POINTS)], names)
    true = _true_components(study, points, names)
    weights = np.atleast_1d(arrays["weights"])
    for j in np.argsort(weights)[::-1][:_SEGMENTS]:
        width = 0.9 + 1.4 * float(weights[j] / weights.max())
        for share, thick in ((0.5, 1.0), (0.9, 0.6)):
            ring = _ellipse(means[j, :2], covariances[j, :2, :2], share)
            panel.line("segment", ring, _SEGMENT, linewidth=width * thick)
    for mean, covariance in true:
        panel.line("true component", _ellipse(mean, covariance, 0.9), _TRUE, linewidth=1.0)
    for axis, name in zip("xy", names, strict=True):
        low, high = points[name].min(), points[name].max()
        room = 0.04 * (high - low or 1.0)
        panel.ax.set(**{f"{axis}lim": (low - room, high + room)})
    canvas.label(*(name.replace("_", " ") for name in names))
    share = f"the largest holds {number(100 * weights.max(), 0)} % of people"
    title = f"{len(weights)} segments of people; {share}" + (f"; {len(true)} are true" if true else "")
    return canvas.drawing(title, "People in a plane by answer, with the segments that were found")


def choice_model(study, repeat=0):
    """Id and arrays of the study's first model of segments with curves; None where there is none.

    The main method comes before others.
    """
    for source in sorted((one["id"] for one in study.methods(False)), key=lambda s: s != study.main):
        if (study.folder / "models" / f"{source}.parquet").exists():
            arrays = study.model(source, repeat)
            if all(name in arrays for name in _ARRAYS):
                return source, arrays
    return None


def training_rows(study, repeat=0):
    """Labels of the training rows of a repeat, with the answer as a number."""
    labels = study.table("labels.parquet")
    return labels[(labels["repeat"] == repeat) & (labels["role"] == "train")]


def _points(panel, shown, names):
    answer = shown["answer"].to_numpy(float) == 1
    x, y = (shown[name].to_numpy(float) for name in names)
    panel.cloud("refused", x[~answer], y[~answer], ORANGE, 1.9, square=True, alpha=0.75)
    panel.cloud("accepted", x[answer], y[answer], BLUE, 2.2, alpha=0.75)


def _true_components(study, points, names):
    """Mean and covariance of the rows of each true component, where it is known."""
    truth = study.table("truth.parquet")
    if "component" not in truth:
        return []
    truth = truth[truth["repeat"] == points["repeat"].iloc[0]]
    known = points.merge(truth[["row", "component"]], on="row")
    return [
        (part[names].mean().to_numpy(), np.cov(part[names].to_numpy(float).T))
        for _, part in known.groupby("component")
        if len(part) > 2
    ]


def _ellipse(mean, covariance, share):
    """The ellipse that holds a share of a Gaussian in the plane, as points."""
    radius = np.sqrt(-2 * np.log(1 - share))
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, 49)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return (mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * radius * circle)).T
