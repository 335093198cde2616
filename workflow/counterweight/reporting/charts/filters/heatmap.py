"""Figure 4 of Deng et al. (2023): shares of the groups in each leaf."""

import numpy as np

from counterweight.reporting.charts.filters.proportions import _short
from counterweight.reporting.filters.tables import FilterResults, main_method, methods_of
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import chance_text, setting_label

CAPTION = (
    "Shares of the groups (columns, in per cent) in each leaf of one proxy (rows) at three "
    "budgets, training rows of the first repeat; the darker, the larger. On the right of each row "
    "the share of people in the leaf and, in brackets, their chance of being accepted. With a "
    "budget of 0 there is one leaf, with the shares before filtering."
)
_BUDGETS = (0.0, 0.82, 1.0)
_LEAVES = 16


def draw(study):
    """One heat map above the other, one for each budget.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``filter``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    results = FilterResults(study.metrics, study.plan)
    name = main_method(results, "alpha_beta", "relaxed")
    groups = results.groups()
    wanted = _BUDGETS if name and results.option(name) == "alpha" else (1.0, 0.5, 0.0)
    settings = list(dict.fromkeys(results.at(name, value) for value in wanted)) if name else []
    maps = [leaves_of(results, name, setting, groups) for setting in settings]
    shown = [
        (setting, *table) for setting, table in zip(settings, maps, strict=True) if len(table[0])
    ]
    if not shown:
        return style.blank("No leaves of this study were measured.")
    sizes = [min(len(table[1]), _LEAVES) for table in shown]
    label = dict(methods_of(results.plan))[name]
    with style.look():
        figure, axes = style.panels(
            len(shown),
            1,
            height=1.3 + 0.24 * sum(sizes) + 0.42 * len(shown),
            gridspec_kw={"height_ratios": [size + 0.6 for size in sizes]},
            sharex=True,
        )
        for ax, (setting, leaves, shares, mass, accepted) in zip(axes[:, 0], shown, strict=True):
            _panel(ax, leaves, shares, mass, accepted, groups)
            hidden = len(leaves) - _LEAVES
            more = f"; {hidden} smaller leaves not shown" if hidden > 0 else ""
            ax.set_title(
                f"{label}, {setting_label(setting)}: {len(leaves)} "
                f"{'leaf' if len(leaves) == 1 else 'leaves'}{more}"
            )
        last = axes[-1, 0]
        last.set_xticks(
            range(len(groups)),
            [_short(group) for group in groups],
            rotation=35,
            ha="right",
            rotation_mode="anchor",
        )
    return figure


def leaves_of(results, name, setting, groups):
    """Numbers, shares of groups, mass and acceptance of the leaves at a setting, by mass.

    Returns
    -------
    leaves : list of str
    shares : array (L, K)
    mass, accepted : array (L,)
    """
    for target in ("train", "test"):
        leaves = results.parts(name, "leaf_mass", target, setting)
        if leaves:
            break
    mass, accepted = (
        np.array([results.get(name, metric, target, setting, leaf).mean for leaf in leaves])
        for metric in ("leaf_mass", "leaf_acceptance")
    )
    shares = np.array(
        [
            [results.get(name, "leaf_share", target, setting, leaf, group).mean for group in groups]
            for leaf in leaves
        ]
    ).reshape(len(leaves), len(groups))
    order = np.argsort(-mass, kind="stable")
    return [leaves[k] for k in order], shares[order], mass[order], accepted[order]


def _panel(ax, leaves, shares, mass, accepted, groups):
    count = min(len(leaves), _LEAVES)
    shares = np.nan_to_num(shares[:count])
    ax.imshow(colours(shares), aspect="auto")
    for row in range(count):
        for column in range(len(groups)):
            value = 100 * shares[row, column]
            text = "0" if value == 0 else "< 1" if value < 0.95 else f"{value:.0f}"
            ax.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=7,
                color="white" if value > 55 else style.INK,
            )
    ax.set_yticks(range(count), [f"leaf {leaf}" for leaf in leaves[:count]])
    for row in range(count):
        ax.text(
            len(groups) - 0.42,
            row,
            f"{100 * mass[row]:.1f} % ({chance_text(accepted[row])})",
            va="center",
            fontsize=7.5,
        )
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def colours(shares):
    """White at 0, dark blue at 1; small shares are spread by a root."""
    pale, dark = np.array([1.0, 1.0, 1.0]), np.array([0.04, 0.24, 0.38])
    strength = np.sqrt(np.clip(shares, 0, 1))[..., None]
    return pale + strength * (dark - pale)
