"""Figures of a table of one's own whose offers are given away by a method without segments.

They tell of the offers in the files, person by person, not of segments that price nobody.
"""

import numpy as np
import pandas as pd

from counterweight.labeling.offer_scale import OfferScale
from counterweight.labeling.offered import offer_range
from counterweight.reporting.charts import kit
from counterweight.reporting.wording import shortened

_BINS, _GROUPS, _FEATURES, _LEAST = 10, 5, 10, 20
_DONE = kit.SERIES[1]


def people(study, segments):
    """The people of the files of offers, with features; None where segments price them.

    Parameters
    ----------
    study : StudyNumbers
    segments : dict or None
        From `choice_model`.
    """
    given, _ = study.given_away
    if given is None or (segments or {}).get("source") == given:
        return None
    path = study.folder / "offers.parquet"
    if not path.exists():
        return None
    offers, features = study.table("offers.parquet"), study.table("features.parquet")
    features = features.sort_values("row").reset_index(drop=True)
    if len(offers) != len(features):
        return None
    truth = study.table("truth.parquet")
    answers = truth.loc[truth["repeat"] == truth["repeat"].min(), ["row", "answer"]]
    wanted = ["best_offer", "best_p", "best_revenue", "offer", "p"]
    told = pd.concat([features, offers[wanted].add_prefix("@")], axis=1)
    return told.merge(answers.rename(columns={"answer": "@answer"}), on="row", how="left")


def curves(study, told):
    """Acceptance and revenue by past offer, predicted and as answered; the best offers below."""
    offer = study.plan.get("offer") or {}
    known = told.dropna(subset=["@offer", "@p", "@answer"])
    own = {name: offer[name] for name in ("direction", "revenue") if name in offer}
    scale = OfferScale(*offer_range(offer, known["@offer"].to_numpy(float)), **own)
    edges = np.unique(np.quantile(known["@offer"], np.linspace(0, 1, _BINS + 1)))
    place = np.clip(np.searchsorted(edges, known["@offer"], "right") - 1, 0, max(len(edges) - 2, 0))
    known = known.assign(
        **{"@bin": place, "@earns": scale.revenue(known["@offer"].to_numpy(float))}
    )
    groups = known.groupby("@bin")
    at, count = groups["@offer"].mean(), groups.size()
    x = ", ".join(filter(None, ["Offer", offer.get("unit", "")]))
    canvas = kit.Canvas(
        [[""], [""], [""]],
        1.6,
        x,
        ("Accepted", "Revenue a person", "People"),
        grid="both",
        sharex=True,
    )
    above, middle, below = canvas.all
    for panel, factor in ((above, 1.0), (middle, known["@earns"])):
        for name, column, look in (("predicted", "@p", kit.MAIN), ("answered", "@answer", _DONE)):
            values = known[column].astype(float) * factor
            mean = values.groupby(known["@bin"]).mean()
            error = 1.96 * values.groupby(known["@bin"]).std().fillna(0.0) / np.sqrt(count)
            ends = (mean - error, mean + error) if column == "@answer" else (mean * np.nan,) * 2
            points = zip(at, mean, *ends, strict=True)
            dash = "none" if column == "@answer" else "-"
            panel.line(name, points, look._replace(marker="o", dash=dash))
    best = told["@best_offer"].to_numpy(float)
    heights, edges = np.histogram(best, bins=20, range=(scale.low, scale.high))
    below.bars(
        "best offers",
        (edges[1:] + edges[:-1]) / 2,
        heights,
        kit.MAIN.colour,
        0.9 * np.diff(edges)[0],
    )
    above.ax.set(ylim=(0, 1.02), xlim=(scale.low, scale.high))
    places = kit.places_for([scale.high - scale.low], 2, 3)
    low, high = np.quantile(best, [0.1, 0.9])
    title = f"{study.label(study.given_away[0])} is used: most best offers are "
    title += kit.span([low, high], places, offer.get("unit", ""))
    return canvas.drawing(title, "Acceptance and revenue by past offer, and the best offers")


def profiles(study, told):
    """Means of features by fifth of the best offer."""
    names = [name for name in told.columns if not name.startswith("@") and name != "row"]
    best = told["@best_offer"].to_numpy(float)
    groups = min(_GROUPS, max(len(told) // _LEAST, 1))
    order = np.argsort(best, kind="stable")
    fifths = np.array_split(order, groups)
    values = told[names].to_numpy(float)
    spread = np.nanstd(values, axis=0)
    means = np.array([np.nanmean(values[own], axis=0) for own in fifths])
    away = (means - np.nanmean(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    tells = np.sqrt((away**2).mean(axis=0))
    columns = np.sort(np.argsort(-tells, kind="stable")[:_FEATURES])
    digits = {j: kit.places_for([np.abs(means[:, j]).max()], 0) for j in columns}
    texts = [[kit.number(row[j], digits[j]) for j in columns] for row in means]
    places = kit.places_for([np.abs(best).max()], 1)
    labels = [f"offers {kit.span(best[own], places)}" for own in fifths]
    heads = [shortened(names[j].replace("_", " "), 24) for j in columns]
    hidden = len(names) - len(columns)
    text = f"Not shown: {hidden} features that tell less" if hidden else ""
    canvas = kit.Canvas([""], 0.5 + 0.27 * len(fifths), text)
    canvas.all[0].cells(labels, heads, means[:, columns], away[:, columns] / 2, texts)
    title = f"Best offers differ most by {names[int(np.argmax(tells))].replace('_', ' ')}"
    return canvas.drawing(title, "Means of features by best offer, coloured by distance from all")
