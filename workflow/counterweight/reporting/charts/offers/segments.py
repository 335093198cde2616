"""Figure 2 of Noor et al. (2014): people in the plane of two features, and their segments."""

import numpy as np

from counterweight.reporting.page import style

CAPTION = (
    "Training rows of the first repeat by their first two features, and the segments of the choice "
    "model as ellipses that hold half and nine tenths of a Gaussian (the thicker, the more "
    "people). Where the truth is known, dashed ellipses hold nine tenths of each true component."
)
_POINTS = 1500
_SEGMENTS = 30


def draw(study):
    """Points by answer, ellipses by segment.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = first_model(study)
    if found is None:
        return style.blank("No choice model of this study was fitted.")
    arrays = found[1]
    means, covariances = np.atleast_2d(arrays["means"]), np.asarray(arrays["covariances"])
    if means.shape[1] < 2:
        return style.blank("No plane: the choice model uses one feature only.")
    features = study.table("features.parquet")
    names = [name for name in features.columns if name != "row"]
    used = np.atleast_1d(arrays.get("features_used", np.arange(means.shape[1]))).astype(int)
    names = [names[used[0]], names[used[1]]]
    points = training_rows(study).merge(features[["row", *names]], on="row").sort_values("row")
    points = points.dropna(subset=names)
    with style.look():
        figure, axes = style.panels(1, 1, height=4.3)
        ax = axes[0, 0]
        _points(ax, points.iloc[:: max(1, len(points) // _POINTS)], names)
        true = _true_components(study, points, names)
        weights = np.atleast_1d(arrays["weights"])
        for j in np.argsort(weights)[::-1][:_SEGMENTS]:
            width = 0.9 + 1.4 * float(weights[j] / weights.max())
            for share in (0.5, 0.9):
                _ellipse(
                    ax,
                    means[j, :2],
                    covariances[j, :2, :2],
                    share,
                    color=style.INK,
                    linewidth=width * (1.0 if share == 0.5 else 0.6),
                )
        for mean, covariance in true:
            _ellipse(
                ax, mean, covariance, 0.9, color=style.RED, linewidth=1.0, linestyle=(0, (4, 2))
            )
        for axis, name in zip("xy", names, strict=True):
            low, high = points[name].min(), points[name].max()
            room = 0.04 * (high - low or 1.0)
            ax.set(**{f"{axis}lim": (low - room, high + room)})
        ax.set_xlabel(names[0].replace("_", " "))
        ax.set_ylabel(names[1].replace("_", " "))
        figure.legend(*_keys(bool(true)), loc="outside lower center", ncols=4)
    return figure


def first_model(study, repeat=0):
    """Id and arrays of the study's first choice model; None where there is none."""
    for method in study.methods():
        path = study.folder / "models" / f"{method['id']}.parquet"
        if method["model"] == "predictive_choice" and path.exists():
            return method["id"], study.model(method["id"], repeat)
    return None


def training_rows(study, repeat=0):
    """Labels of the training rows of a repeat, with the answer as a number."""
    labels = study.table("labels.parquet")
    return labels[(labels["repeat"] == repeat) & (labels["role"] == "train")]


def _points(ax, shown, names):
    answer = shown["answer"].to_numpy(float) == 1
    x, y = (shown[name].to_numpy(float) for name in names)
    for rows, colour, mark, size in (
        (~answer, style.ORANGE, "o", 2.0),
        (answer, style.BLUE, "^", 2.4),
    ):
        ax.plot(
            x[rows],
            y[rows],
            mark,
            color=colour,
            markersize=size,
            markeredgewidth=0,
            linestyle="none",
            alpha=0.75,
        )


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


def _ellipse(ax, mean, covariance, share, **line):
    """The ellipse that holds a share of a Gaussian in the plane."""
    radius = np.sqrt(-2 * np.log(1 - share))
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, 73)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    x, y = mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * radius * circle)
    ax.plot(x, y, **line)


def _keys(true):
    from matplotlib.lines import Line2D

    def dot(colour, mark):
        return Line2D(
            [], [], color=colour, marker=mark, linestyle="none", markersize=5, markeredgewidth=0
        )

    lines = [dot(style.BLUE, "^"), dot(style.ORANGE, "o"), Line2D([], [], color=style.INK)]
    names = ["accepted", "refused", "segment"]
    if true:
        lines.append(Line2D([], [], color=style.RED, linestyle=(0, (4, 2)), linewidth=1.0))
        names.append("true component")
    return lines, names
