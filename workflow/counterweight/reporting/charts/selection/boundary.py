"""Figure 1: decision boundaries learned from all, from labeled, and from weighted points."""

import numpy as np

from counterweight.reporting.page import style

CAPTION = (
    "Generated points with a curved true boundary (thin black) and labels missing at random: "
    "logistic regression from all points, from the labeled points, and from labeled points with "
    "Lemma 1 weights. The dashed line repeats the one from all points; labels of grey points are "
    "hidden."
)
#: Draws points in a plane with a known boundary: simulated data sets only.
KNOWN_BOUNDARY = True
_POINTS = 600
_PANELS = (
    ("All labels seen", "logistic-oracle"),
    ("Labeled points only", "logistic"),
    ("With Lemma 1 weights", "logistic-lemma1"),
)


def draw(study):
    """Three panels: all points, biased, weighted; points of the first repeat.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a simulated data set with at least two features, of which the first two are shown.

    Returns
    -------
    matplotlib.figure.Figure
    """
    features = study.table("features.parquet")
    first, truth = (
        table[table["repeat"] == table["repeat"].min()].drop(columns="repeat")
        for table in (study.table("labels.parquet"), study.table("truth.parquet"))
    )
    names = [name for name in features.columns if name != "row"][:2]
    points = features.merge(truth, on="row").merge(first[["row", "selected", "role"]], on="row")
    shown = points[points["role"] != "test"].sort_values("row")
    shown = shown.iloc[:: max(1, len(shown) // _POINTS)]
    with style.look():
        figure, axes = style.panels(1, 3, height=2.75, sharex=True, sharey=True)
        for place, (ax, (title, method)) in enumerate(zip(axes[0], _PANELS, strict=True)):
            _points(ax, shown, names, hide=place > 0)
            _truth(ax, points, names)
            if place:
                _line(ax, study, "logistic-oracle", points, names, reference=True)
            _line(ax, study, method, points, names)
            ax.set_title(title)
            ax.set_xlabel(names[0])
        axes[0, 0].set_ylabel(names[1])
        figure.legend(
            *_keys(),
            loc="outside lower center",
            ncols=6,
            handlelength=1.6,
            columnspacing=1.1,
            handletextpad=0.5,
        )
    return figure


def _points(ax, shown, names, hide):
    x, y = (shown[name].to_numpy() for name in names)
    label = shown["y_general"].to_numpy() == 1
    seen = shown["selected"].to_numpy() == 1 if hide else np.ones(len(shown), dtype=bool)
    for rows, colour, mark, size in (
        (~seen, "#A6A6A6", "o", 1.7),
        (seen & ~label, style.ORANGE, "o", 2.3),
        (seen & label, style.BLUE, "^", 2.6),
    ):
        ax.plot(
            x[rows],
            y[rows],
            mark,
            color=colour,
            markersize=size,
            markeredgewidth=0,
            linestyle="none",
        )


def _truth(ax, points, names):
    """The curve on which both classes are equally likely, where the truth is known."""
    if "p_positive" in points:
        ax.tricontour(
            *(points[name].to_numpy() for name in names),
            points["p_positive"].to_numpy(),
            levels=[0.5],
            colors=style.INK,
            linewidths=0.8,
        )


def _line(ax, study, method, points, names, reference=False):
    path = study.folder / "models" / f"{method}.parquet"
    if not path.exists():
        if not reference:
            ax.text(0.5, 0.5, "failed", transform=ax.transAxes, ha="center", color=style.RED)
        return
    model = study.model(method, int(study.metrics["repeat"].min()))
    coefficients, intercept = model["coef"], float(model["intercept"])
    (x_low, x_high), (y_low, y_high) = ((points[name].min(), points[name].max()) for name in names)
    # Walk along the longer side, so that steep lines are drawn as well as flat ones.
    if abs(coefficients[1]) >= abs(coefficients[0]):
        x = np.array([x_low, x_high])
        y = -(intercept + coefficients[0] * x) / coefficients[1]
    else:
        y = np.array([y_low, y_high])
        x = -(intercept + coefficients[1] * y) / coefficients[0]
    kind = {"linestyle": (0, (4, 2)), "linewidth": 1.2} if reference else {"linewidth": 1.8}
    ax.plot(x, y, color=style.RED if not reference else style.INK, **kind)
    ax.set(xlim=(x_low, x_high), ylim=(y_low, y_high))


def _keys():
    from matplotlib.lines import Line2D

    def dot(colour, mark):
        return Line2D(
            [], [], color=colour, marker=mark, linestyle="none", markersize=5, markeredgewidth=0
        )

    return (
        [
            dot(style.BLUE, "^"),
            dot(style.ORANGE, "o"),
            dot("#A6A6A6", "o"),
            Line2D([], [], color=style.INK, linewidth=0.8),
            Line2D([], [], color=style.RED),
            Line2D([], [], color=style.INK, linestyle=(0, (4, 2)), linewidth=1.2),
        ],
        ["positive", "negative", "hidden", "true boundary", "learned", "from all labels"],
    )
