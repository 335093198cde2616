"""People in the plane of two features, and the segments of the choice model."""

import numpy as np

from counterweight.labeling.offer_scale import OfferScale
from counterweight.labeling.offered import offer_range
from counterweight.models.choice.offers import optimal_offer
from counterweight.models.choice.scaling import Features
from counterweight.reporting.charts import kit, style

CAPTION = (
    "Training rows of the first repeat by two features, and the segments as ellipses that hold "
    "half and nine tenths of a Gaussian (the thicker, the more people); dashed: nine tenths of "
    "each true component, where the truth is known."
)
_POINTS, _SEGMENTS = 1200, 30
#: What the arrays of a fitted choice model are called.
_ARRAYS = ("weights", "eta", "k")
_FOUND, _TRUE = kit.Look(style.INK, ""), kit.Look(style.RED, "", kit.DASHED)


def draw(study):
    found = choice_model(study)
    if found is None:
        return kit.blank("No choice model of this study was fitted.")
    means, covariances, weights = (found[name] for name in ("means", "covariances", "weights"))
    if means.shape[1] < 2:
        return kit.blank("No plane: the choice model uses fewer than two numbers.")
    names, rows = found["names"][:2], found["rows"]
    points = rows[["row", "repeat", "answer", *names]].dropna()
    canvas = kit.Canvas([""], 3.4, *(name.replace("_", " ") for name in names), grid="x")
    (panel,) = canvas.all
    panel.ax.grid(visible=False)
    shown = points.iloc[:: max(1, len(points) // _POINTS)]
    for name, answer, *look in (
        ("refused", 0, style.ORANGE, 1.9, True, 0.75),
        ("accepted", 1, style.BLUE, 2.2, False, 0.75),
    ):
        own = shown[shown["answer"].astype(float) == answer]
        panel.cloud(name, own[names[0]], own[names[1]], *look)
    for j in np.argsort(weights)[::-1][:_SEGMENTS]:
        width = 0.9 + 1.4 * float(weights[j] / weights.max())
        for share, thick in ((0.5, 1.0), (0.9, 0.6)):
            ring = _ellipse(means[j, :2], covariances[j, :2, :2], share)
            panel.line("segment", ring, _FOUND, linewidth=width * thick)
    truth = study.table("truth.parquet")
    true = 0
    if "component" in truth:
        known = points.merge(truth[["repeat", "row", "component"]], on=["repeat", "row"])
        for _, part in known.groupby("component"):
            if len(part) > 2:
                true += 1
                mean, covariance = (
                    part[names].mean().to_numpy(),
                    np.cov(part[names].T.astype(float)),
                )
                panel.line("true component", _ellipse(mean, covariance, 0.9), _TRUE, linewidth=1.0)
    for axis, name in zip("xy", names, strict=True):
        room = 0.04 * (np.ptp(points[name]) or 1.0)
        panel.ax.set(**{f"{axis}lim": (points[name].min() - room, points[name].max() + room)})
    title = f"{len(weights)} segments; the largest holds {100 * weights.max():.0f} % of people"
    title += f"; {true} are true" if true else ""
    return canvas.drawing(title, "People in a plane by answer, with the segments that were found")


def choice_model(study, repeat=0):
    """The study's first model of segments with curves, the main method before others; or None.

    Returns
    -------
    dict
        Its arrays; ``source``; ``rows``: labels and features of its training rows; ``names`` of the
        numbers that it uses; ``columns`` and ``profiles``, names and means by segment of these
        and of the columns of its categories; ``scale`` of offers and the ``best`` offer of each
        segment, in the user's units.
    """
    for source in kit.main_first(study, False):
        if not (study.folder / "models" / f"{source}.parquet").exists():
            continue
        arrays = {name: np.atleast_1d(one) for name, one in study.model(source, repeat).items()}
        if not all(name in arrays for name in _ARRAYS):
            continue
        features, labels = study.table("features.parquet"), study.table("labels.parquet")
        made = labels["offer"]
        labels = labels[(labels["repeat"] == repeat) & (labels["role"] == "train")]
        names = [name for name in features.columns if name != "row"]
        means = np.reshape(arrays.get("means", ()), (len(arrays["weights"]), -1))
        used = arrays.get("features_used", np.arange(means.shape[1])).astype(int)
        offer = study.plan.get("offer") or {}
        known = ("direction", "revenue")
        own = {name: offer[name] for name in known if name in offer}
        scale = OfferScale(*offer_range(offer, made), **own)
        columns, profiles = _profiles(arrays, means, used)
        best = optimal_offer(arrays["eta"], arrays["k"], revenue=scale.scaled_revenue())
        return arrays | {
            "means": means,
            "source": source,
            "rows": labels.merge(features, on="row").sort_values("row"),
            "names": [names[j] for j in used],
            "columns": [names[j] for j in columns],
            "profiles": profiles,
            "scale": scale,
            "best": scale.offers(np.atleast_1d(best)),
        }
    return None


def _profiles(arrays, means, used):
    """Columns that a model uses, and their means by segment; of categories from their shares."""
    columns, parts = [*used], [means]
    if "layout_category" in arrays and "shares" in arrays:
        features = Features.from_arrays(arrays, used, 0.0, 1.0)
        shares, at = np.reshape(arrays["shares"], (len(means), -1)), 0
        for place, levels in zip(features.categories, features.levels, strict=True):
            block, own = features.layout.categories[place], shares[:, at : at + levels]
            at += levels
            if len(block) == 1 and levels == 2:
                low, high = features.low[block[0]], features.high[block[0]]
                own = low + own[:, 1:] * (high - low)
            elif len(block) == 1:
                own = own @ np.arange(levels)[:, None]
            columns += block
            parts.append(own)
    return columns, np.hstack(parts)


def _ellipse(mean, covariance, share):
    """The ellipse that holds a share of a Gaussian in the plane, as points."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, 49)
    circle = np.sqrt(-2 * np.log(1 - share)) * np.stack([np.cos(angle), np.sin(angle)])
    return (mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)).T
