"""Figure 3 of Noor et al. (2014): log-likelihood and description length by number of segments."""

import numpy as np

from counterweight.reporting.page import style

CAPTION = (
    "Log-likelihood of the training rows above that of one segment (left) and description length "
    "above its least (right), by the number of segments J. Thin lines are single repeats, the "
    "thick line their mean; triangles mark in how many repeats a number was chosen. A dashed "
    "line marks the true number."
)


def draw(study):
    """Two panels for the first choice model whose number of segments was sought.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    for method in study.methods():
        if method["model"] == "predictive_choice":
            likelihood = _by_size(study.rows(method["id"], "log_likelihood", "general"))
            length = _by_size(study.rows(method["id"], "mdl", "general"))
            if length is not None and likelihood is not None and len(length.columns) > 1:
                chosen = study.rows(method["id"], "components_chosen", "general")["value"]
                true = _true_number(study, method["id"])
                return _figure(likelihood, length, chosen, true)
    return style.blank("No choice model of this study was fitted with several numbers of segments.")


def _by_size(rows):
    """Repeats by number of segments; the record of the chosen model has no step."""
    rows = rows[rows["step"].notna() & rows["value"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(size=rows["step"].astype(int))
    return rows.pivot_table(index="repeat", columns="size", values="value").sort_index(axis=1)


def _true_number(study, method):
    return study.rows(method, "rmse_component", "general")["part"].nunique()


def _figure(likelihood, length, chosen, true):
    gained = likelihood.sub(likelihood.iloc[:, 0], axis=0)
    above = length.sub(length.min(axis=1), axis=0)
    with style.look():
        figure, axes = style.panels(1, 2, height=2.7)
        left, right = axes[0]
        for ax, frame in ((left, gained), (right, above)):
            for _, line in frame.iterrows():
                ax.plot(frame.columns, line, color=style.PALE, linewidth=0.8)
            mean = frame.mean(axis=0)
            ax.plot(frame.columns, mean, "o-", color=style.BLUE, markersize=3, linewidth=1.8)
            if true:
                below = 0.17 if ax is right else 0.0
                ax.axvline(
                    true,
                    ymin=below,
                    color=style.INK,
                    linewidth=0.8,
                    linestyle=(0, (4, 2)),
                    zorder=0,
                )
            ax.locator_params(axis="x", integer=True, nbins=8)
            ax.set_xlabel("Number of segments J")
            style.grid(ax, "y")
        left.set_title("Log-likelihood gained")
        left.set_ylabel("nats above one segment")
        right.set_title("Description length")
        right.set_ylabel("nats above the least")
        # One segment is so far off that the neighbours of the least would not be told apart.
        middle = above.mean(axis=0).to_numpy()
        top = np.sort(middle)[: max(2, int(np.ceil(0.8 * len(middle))))].max() * 1.15
        right.set_ylim(-0.2 * top, top or 1.0)
        right.set_yticks([tick for tick in right.get_yticks() if 0 <= tick <= (top or 1.0)])
        sizes = chosen.astype(int).value_counts().sort_index()
        right.plot(
            sizes.index, np.full(len(sizes), -0.06 * top), "^", color=style.RED, markersize=5
        )
        for size, times in sizes.items():
            right.annotate(
                str(times),
                (size, -0.06 * top),
                xytext=(0, -5),
                color=style.RED,
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=7.5,
            )
    return figure
