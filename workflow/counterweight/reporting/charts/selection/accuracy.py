"""The headline measure of every method on each population."""

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Each method on each population: mean over random splits with its 95 % interval. The dashed "
    "line is the baseline; methods with a dagger see labels that are hidden from all others."
)


def draw(study):
    methods, targets = study.methods(swept=False), study.plan["targets"]
    metric = kit.headline(study)
    if metric is None:
        return kit.blank("No method was measured in this study.")
    label, factor = kit.axis_of(study.measure(metric))
    titles = [kit.capital(kit.TARGETS.get(target, target)) for target in targets]
    roles = {one["id"]: study.role(one["id"]) for one in methods}
    names = [study.label(s) + (" †" if role == "bound" else "") for s, role in roles.items()]
    canvas = kit.Canvas(titles, kit.row_height(len(names), names), x=label, sharey=True)
    canvas.rows(names)
    for panel, target in zip(canvas.all, targets, strict=True):
        level = study.get(study.baseline, metric, target)
        if level.known:
            panel.upright(factor * level.mean, kit.Look(style.INK, "", kit.DASHED))
        for place, source in enumerate(roles):
            known = study.get(source, metric, target).times(factor)
            panel.dot(place, study.label(source), known, kit.role_look(study, source))
            if not known.known:
                where = {"transform": panel.ax.get_yaxis_transform(), "va": "center"}
                panel.ax.text(0.02, place, "failed", color=style.RED_TEXT, fontsize=8, **where)
        panel.ax.margins(x=0.08)
    gap = kit.against(study, metric, targets[0])
    title = f"{gap} ({kit.TARGETS.get(targets[0], targets[0])})" if gap else f"{label} by method"
    return canvas.drawing(title, f"{label} of every method, with intervals, by population")
