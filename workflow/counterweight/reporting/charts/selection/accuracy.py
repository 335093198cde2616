"""Accuracy of every method on each target."""

from counterweight.reporting.page import style

CAPTION = (
    "Accuracy of each method, mean over random splits with a 95 % interval, on each target "
    "population; the dashed line is the method that the others are compared with. Methods marked "
    "with a dagger see labels that are hidden from all others."
)
_NAMES = {"general": "General population", "unlabeled": "Unlabeled population"}


def draw(study):
    """Dot plot: one row for each method, one panel for each target.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    methods = study.methods()
    targets = list(study.plan["targets"])
    baseline = study.plan.get("baseline", "logistic")
    if not any(study.estimate(m["id"], "accuracy", t) for m in methods for t in targets):
        return style.blank("No method has an accuracy in this study.")
    with style.look():
        figure, axes = style.panels(1, len(targets), height=0.7 + 0.25 * len(methods), sharey=True)
        for ax, target in zip(axes[0], targets, strict=True):
            _panel(ax, study, methods, target, baseline)
        labels = [study.label(m["id"]) + (" †" if m.get("oracle") else "") for m in methods]
        axes[0, 0].set_yticks(range(len(methods)), labels)
        axes[0, 0].set_ylim(len(methods) - 0.5, -0.5)
        figure.supxlabel("Accuracy, %", fontsize=8.5)
    return figure


def _panel(ax, study, methods, target, baseline):
    style.grid(ax)
    reference = study.estimate(baseline, "accuracy", target)
    if reference is not None:
        ax.axvline(100 * reference[0], color=style.GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for place, method in enumerate(methods):
        found = study.estimate(method["id"], "accuracy", target)
        if found is None:
            ax.text(
                0.02,
                place,
                "failed",
                color=style.RED,
                va="center",
                fontsize=8,
                transform=ax.get_yaxis_transform(),
            )
            continue
        mean, low, high = (100 * value for value in found)
        oracle = bool(method.get("oracle"))
        colour = style.GREY if oracle else style.BLUE
        ax.plot([low, high], [place, place], color=colour, linewidth=1.3)
        ax.plot(
            mean,
            place,
            "o",
            markersize=5,
            markeredgewidth=1.2,
            color=colour,
            markerfacecolor="white" if oracle else colour,
        )
    ax.margins(x=0.08)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_title(_NAMES.get(target, target))
