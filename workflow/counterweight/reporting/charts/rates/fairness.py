"""Test error against the observed ratio of two groups' rates (Goh et al. 2016, Figure 2 left)."""

from counterweight.reporting.page import style
from counterweight.reporting.rates.tables import RateNumbers
from counterweight.reporting.rates.words import is_share, measure_name

CAPTION = (
    "Test error against the observed test ratio of the two groups' rates, one line for each "
    "method, one point for each of its settings (mean over repeats; bars: 95 % intervals of the "
    "error). Lower is better at the same ratio; a ratio of 1 treats both groups alike. Left: other "
    "ways to keep a ratio; right: what the ramp and its convex steps are worth (from w = 0 the "
    "first convex step is the hinge problem, so that the two coincide). Full lines: "
    "deterministic rule; dashed: randomised rule. The diamond is the SVM without a constraint. "
    "Methods that err far more leave the panel above."
)
#: Methods of each panel with colour and marker; a method that is not listed is not drawn.
MAIN_LOOK = (style.BLUE, "o")
OTHERS = {
    "zafar": (style.GREEN, "s"),
    "thresholds": (style.ORANGE, "^"),
    "shifted": (style.RED, "v"),
    "fairlearn_gradient": (style.PURPLE, "D"),
    "fairlearn_thresholds": (style.SKY, "P"),
}
RELAXED = {"ramp_one": (style.ORANGE, "o"), "hinge": (style.GREY, "<")}
_HEIGHT = 3.6
#: How far beyond the main method's errors a panel reaches, and at least, as error.
_REACH, _LEAST = 1.7, 0.01


def draw(study):
    """Two panels of error against observed ratio.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    numbers = RateNumbers(study.metrics, study.plan)
    main = numbers.main()
    measure = numbers.asked["measure"] if numbers.asked else "ratio"
    panels = [
        [name for name in group if name in numbers.methods and _curve(numbers, measure, name)]
        for group in (OTHERS, RELAXED)
    ]
    have_main = main is not None and bool(_curve(numbers, measure, main))
    if not have_main and not any(panels):
        return style.blank("No ratio and error were measured in this study.")
    titles = ["Beside other methods", "Ramp, one convex step, hinge"]
    shown = [k for k in (0, 1) if panels[k]] or [0]
    with style.look():
        figure, axes = style.panels(1, len(shown), height=_HEIGHT, sharey=True)
        entries = {}
        for ax, k in zip(axes[0], shown, strict=True):
            style.grid(ax, "both")
            if have_main:
                for rule, dash in (("randomised", (0, (4, 2))), ("deterministic", "-")):
                    label = f"{numbers.label(main)}, {rule}"
                    entries[label] = _line(ax, numbers, measure, main, rule, *MAIN_LOOK, dash)
            for name in panels[k]:
                look = (OTHERS | RELAXED)[name]
                entries[numbers.label(name)] = _line(
                    ax, numbers, measure, name, "deterministic", *look, "-"
                )
            _alone(ax, numbers, measure, entries)
            if len(shown) > 1:
                ax.set_title(titles[k])
        _limits(axes[0], numbers, measure, main if have_main else panels[shown[0]][0])
        axes[0, 0].set_ylabel("Test error, %")
        for ax in axes[0]:
            ax.set_xlabel(f"Observed {measure_name(measure)} on test rows")
        handles = {label: handle for label, handle in entries.items() if handle is not None}
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=3, columnspacing=1.5
        )
    return figure


def _curve(numbers, measure, name, rule="deterministic"):
    return numbers.curve(name, measure, "error", rule)


def _line(ax, numbers, measure, name, rule, colour, marker, dash):
    points = _curve(numbers, measure, name, rule)
    if not points:
        return None
    x = [point[0] for point in points]
    mean, low, high = ([100 * point[k] for point in points] for k in (1, 2, 3))
    ax.vlines(x, low, high, color=colour, linewidth=0.8, alpha=0.7)
    hollow = {"markerfacecolor": "white"} if rule == "randomised" else {}
    if name == "ramp_one":
        # It may coincide with the hinge, and is to be seen around it.
        hollow = {"markerfacecolor": "none", "markersize": 7}
    (line,) = ax.plot(
        x,
        mean,
        marker=marker,
        color=colour,
        linestyle=dash,
        linewidth=1.2,
        **{"markersize": 3.5, **hollow},
    )
    return line


def _alone(ax, numbers, measure, entries):
    """The SVM without a constraint."""
    if "svm" not in numbers.methods:
        return
    points = _curve(numbers, measure, "svm")
    if not points:
        return
    x, mean, low, high, _ = points[0]
    ax.axhline(100 * mean, color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.vlines(x, 100 * low, 100 * high, color=style.INK, linewidth=0.8)
    (entries[numbers.label("svm")],) = ax.plot(
        x, 100 * mean, "D", color=style.INK, markersize=5.5, linestyle="none", zorder=5
    )


def _limits(axes, numbers, measure, main):
    """Limits that show the main method well; others may leave the panel above."""
    points = [
        p for rule in ("deterministic", "randomised") for p in _curve(numbers, measure, main, rule)
    ]
    errors = [p[1] for p in points]
    x = [p[0] for p in points]
    if "svm" in numbers.methods:
        for point in _curve(numbers, measure, "svm"):
            errors.append(point[1])
            x.append(point[0])
    least = min(errors)
    top = least + max(_REACH * (max(errors) - least), _LEAST)
    for name in OTHERS | RELAXED:
        inside = [
            p
            for p in (_curve(numbers, measure, name) if name in numbers.methods else ())
            if p[1] <= top
        ]
        x += [p[0] for p in inside]
        least = min([least, *(p[1] for p in inside)])
    room = 0.04 * (max(x) - min(x)) or 0.1
    for ax in axes:
        ax.set_xlim(min(x) - room, max(x) + room)
        ax.set_ylim(100 * (least - 0.06 * (top - least)), 100 * top)
        if is_share(measure):
            ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g}")
