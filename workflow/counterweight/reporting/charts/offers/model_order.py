"""Log-likelihood and description length by the number of segments."""

import numpy as np

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Log-likelihood of the training rows above that of the fewest segments, and description "
    "length above its least, by the number of segments J. Triangles mark in how many repeats a "
    "number was chosen, a dashed line the true one."
)
_CHOSEN, _TRUE = kit.Look(style.RED, "^", "none"), kit.Look(style.INK, "", kit.DASHED)


def draw(study):
    for source in kit.main_first(study):
        likelihood, length = (
            kit.by_step(study.rows(source, metric, "general"))
            for metric in ("log_likelihood", "mdl")
        )
        if length is not None and likelihood is not None and len(length.columns) > 1:
            break
    else:
        return kit.blank("No model of this study was fitted with several numbers of segments.")
    gained = likelihood.sub(likelihood.iloc[:, 0], axis=0)
    above = length.sub(length.min(axis=1), axis=0)
    true = study.rows(source, "rmse_component", "general")["part"].nunique()
    chosen = study.rows(source, "components_chosen", "general")["value"].astype(int).value_counts()
    titles = ["Log-likelihood gained", "Description length"]
    canvas = kit.Canvas(titles, 2.2, "Number of segments J", "nats")
    for panel, frame, least in zip(canvas.all, (gained, above), (0.0, 0.2), strict=True):
        panel.splits(frame, "repeat")
        if true:
            panel.upright(true, _TRUE, "true number", least)
    # One segment is so far off that the neighbours of the least would not be told apart.
    middle, (_, right) = np.sort(above.mean(axis=0)), canvas.all
    top = 1.15 * middle[: max(2, int(np.ceil(0.8 * len(middle))))].max() or 1.0
    right.ax.set_ylim(-0.22 * top, top)
    right.ax.set_yticks([tick for tick in right.ax.get_yticks() if 0 <= tick <= top])
    marks = {"ha": "center", "va": "top", "fontsize": 7.5, "color": style.RED_TEXT}
    for size, times in chosen.sort_index().items():
        right.note("repeats that chose it", times, at=size)
        right.ax.plot([size], [-0.06 * top], **_CHOSEN.marks(markersize=5))
        right.ax.text(size, -0.1 * top, str(times), **marks)
    right.key("chosen (repeats)", _CHOSEN)
    title = "Log-likelihood and description length by number of segments"
    if len(chosen):
        title = f"{chosen.index[0]} segments chosen in {chosen.iloc[0]} of {chosen.sum()} repeats"
        title += f"; {true} are true" if true else ""
    return canvas.drawing(title, "Fit and description length by number of segments")
