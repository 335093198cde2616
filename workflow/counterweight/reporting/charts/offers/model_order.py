"""Log-likelihood and description length by the number of segments."""

import numpy as np

from counterweight.reporting.charts.canvas import DASHED, MAIN, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import INK, PALE, RED, text_colour

CAPTION = (
    "Log-likelihood of the training rows above that of the fewest segments, and description length "
    "above its least, by the number of segments J. Thin lines are single repeats, the thick line "
    "their mean; triangles mark in how many repeats a number was chosen, a dashed line the true one."
)
_ONE, _CHOSEN = Look(PALE, ""), Look(RED, "^", "none")


def draw(study):
    for source in sorted((one["id"] for one in study.methods()), key=lambda s: s != study.main):
        likelihood, length = (
            _by_size(study.rows(source, metric, "general")) for metric in ("log_likelihood", "mdl")
        )
        if length is not None and likelihood is not None and len(length.columns) > 1:
            return _drawing(study, source, likelihood, length)
    return blank("No choice model of this study was fitted with several numbers of segments.")


def _by_size(rows):
    """Repeats by number of segments; the record of the chosen model has no step."""
    rows = rows[rows["step"].notna() & rows["value"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(size=rows["step"].astype(int))
    return rows.pivot_table(index="repeat", columns="size", values="value").sort_index(axis=1)


def _drawing(study, source, likelihood, length):
    gained = likelihood.sub(likelihood.iloc[:, 0], axis=0)
    above = length.sub(length.min(axis=1), axis=0)
    true = study.rows(source, "rmse_component", "general")["part"].nunique()
    chosen = study.rows(source, "components_chosen", "general")["value"].astype(int).value_counts()
    canvas = Canvas(1, 2, 2.2)
    titles = ("Log-likelihood gained", "Description length")
    for panel, frame, title in zip(canvas.all, (gained, above), titles, strict=True):
        panel.title(title, f"{title}, nats")
        for _, line in frame.iterrows():
            panel.line("one repeat", line.dropna().items(), _ONE)
        panel.line("mean over repeats", frame.mean(axis=0).items(), MAIN, linewidth=1.8)
        if true:
            panel.upright(true, Look(INK, "", DASHED), least=0.2 if frame is above else 0.0)
            panel.key("true number", Look(INK, "", DASHED))
        panel.ax.locator_params(axis="x", integer=True, nbins=8)
        panel.grid()
    _choices(canvas.all[1], above, chosen.sort_index())
    canvas.label("Number of segments J", "nats")
    most = chosen.index[0] if len(chosen) else None
    title = "Log-likelihood and description length by number of segments"
    if most is not None:
        title = f"{most} segments chosen in {chosen.iloc[0]} of {chosen.sum()} repeats"
        title += f"; {true} are true" if true else ""
    return canvas.drawing(title, "Fit and description length by number of segments")


def _choices(panel, above, chosen):
    """Limits of the right panel, and below its axis in how many repeats a number was chosen."""
    # One segment is so far off that the neighbours of the least would not be told apart.
    middle = above.mean(axis=0).to_numpy()
    top = np.sort(middle)[: max(2, int(np.ceil(0.8 * len(middle))))].max() * 1.15 or 1.0
    panel.ax.set_ylim(-0.22 * top, top)
    panel.ax.set_yticks([tick for tick in panel.ax.get_yticks() if 0 <= tick <= top])
    marks = {"ha": "center", "va": "top", "fontsize": 7.5, "color": text_colour(RED)}
    for size, times in chosen.items():
        panel.note("repeats that chose it", times, at=size)
        panel.ax.plot([size], [-0.06 * top], **_CHOSEN.marks(markersize=5, linestyle="none"))
        panel.ax.text(size, -0.1 * top, str(times), **marks)
    panel.key("chosen (repeats)", _CHOSEN)
