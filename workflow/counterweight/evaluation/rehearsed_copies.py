"""Copies of a table for a rehearsal: what is drawn anew in them, and what they say together.

See `counterweight.rehearsal`, which runs studies on them.
"""

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

#: Chances are kept from 0 and 1 by this, so that their odds can be moved.
EDGE = 1e-9


def drawn_copy(expected, chance, weight, rng, *, spread=None, factor=1.0, gamma=1.0, overlap=1.0):
    """Who has an outcome in a copy, and how everybody turns out.

    Parameters
    ----------
    expected : (n,) array
        Expected outcome of a row that has one: the chance of 1 of a class.
    chance : (n,) array
        Chance of having an outcome.
    weight : (n,) array
        Design weights; the weighted share that has one is kept by `overlap`.
    rng : numpy.random.Generator
    spread : (m,) array, optional
        Deviations of numbers from what was expected, which are drawn from; a class has none.
    factor, gamma : float
        Odds of 1 of a row without an outcome over those of a like row that has one: as the study
        assumes, and beyond that. Of numbers a deviation d counts ``(factor gamma) ** (d / sd)``.
    overlap : float
        Factor of the log odds of having an outcome.

    Returns
    -------
    labeled : (n,) array of bool
    outcome : (n,) array
    """
    chance = np.clip(chance, EDGE, 1 - EDGE)
    if overlap != 1:
        steep, share = overlap * logit(chance), np.average(chance, weights=weight)
        reach = np.abs(steep).max() + 1 / EDGE
        move = brentq(
            lambda at: np.average(expit(steep + at), weights=weight) - share, -reach, reach
        )
        chance = expit(steep + move)
    labeled = rng.random(len(chance)) < chance
    delta = np.log(factor * gamma)
    if spread is None:
        p = np.where(labeled, expected, expit(logit(expected) + delta))
        return labeled, (rng.random(len(p)) < p).astype(float)
    drawn = rng.choice(spread, len(chance))
    scale = spread.std()
    if delta and scale > 0:
        tilted = np.exp(delta * (spread - spread.mean()) / scale)
        drawn = np.where(labeled, drawn, rng.choice(spread, len(chance), p=tilted / tilted.sum()))
    return labeled, expected + drawn


def foretold(columns, classes, count, rng):
    """Cross-fitted chances (n, K) of classes, or the means (n,) of numbers where `count` is None.

    `columns` is a frame of numbers and words; `classes` (n,) are codes below `count`, negative
    where they are not known, or numbers. By boosted trees of eight leaves: two halves, each told by
    the other.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X = np.column_stack(
        [
            values.to_numpy(float, na_value=np.nan)
            if pd.api.types.is_numeric_dtype(values)
            else pd.Series(pd.factorize(values, sort=True)[0]).to_numpy(float)
            for _, values in columns.items()
        ]
    )
    half = rng.permutation(len(X)) % 2
    made = np.zeros(len(X)) if count is None else np.zeros((len(X), count))
    told = {"max_leaf_nodes": 8, "max_iter": 60, "learning_rate": 0.1, "early_stopping": False}
    kind = HistGradientBoostingRegressor if count is None else HistGradientBoostingClassifier
    for own in (0, 1):
        fit = (half != own) & (np.ones(len(X), bool) if count is None else classes >= 0)
        known, at = classes[fit], half == own
        if count is not None and len(np.unique(known)) < 2:
            made[at, int(known[0])] = 1.0
            continue
        model = kind(**told, random_state=0).fit(X[fit], known)
        if count is None:
            made[at] = model.predict(X[at])
        else:
            made[np.ix_(at, model.classes_.astype(int))] = model.predict_proba(X[at])
    return made


def balancing(moments):
    """Chances (m,) nearest to equal ones with which the moments (m, J) average 0; None if none.

    Their logarithms are linear in the moments; Newton's method on the convex dual.
    """
    scale = np.abs(moments).max(axis=0)
    D = moments[:, scale > 0] / scale[scale > 0]
    at, chance = np.zeros(D.shape[1]), np.full(len(D), 1 / len(D))
    for _ in range(60):
        mean = chance @ D
        if np.abs(mean).max(initial=0.0) < 1e-12:
            return chance
        spread = (D - mean).T @ ((D - mean) * chance[:, None]) + 1e-12 * np.eye(len(at))
        step = np.linalg.solve(spread, mean)
        at = at - step / max(1.0, np.abs(D @ step).max() / 2)
        logs = D @ at
        chance = np.exp(logs - logs.max())
        chance /= chance.sum()
    # As few rows as this would not be a log like the one at hand.
    return chance if np.abs(chance @ D).max() < 1e-6 else None


def donors(expected, reward, times, gamma, rng, least=30, most=20, among=None):
    """Rows whose rewards others may have, and what is expected of them.

    Rows are in bins of about the same expected reward, each with `least` rewarded rows or more, at
    most `most` bins; not rewarded are those of the reward that counts most, of equals the lowest.
    Bins are of each code `among` (n,), such as an action, since that may decide the reward; rows of
    codes with fewer than `least` rows are taken together.
    Gives the mean reward (n,) of each row's bin, and ``draw(rows)``: a row of the same bin for
    each, as often as it counts, times ``gamma`` where it has a reward: one that is not 0, or above
    the mean where none is 0. So odds are ``gamma`` times as much, however far rewards reach.
    """
    kinds, kind = np.unique(reward, return_inverse=True)
    usual = np.argmax(np.bincount(kind, times))
    codes = np.zeros(len(reward), int) if among is None else np.asarray(among)
    codes = np.where(np.bincount(codes)[codes] < least, -1, codes)
    place, bins = np.zeros(len(reward), int), 0
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        rewarded = np.sort(expected[own][kind[own] != usual])
        count = int(np.clip(len(rewarded) // least, 1, most))
        edges = np.unique(np.quantile(rewarded, np.arange(1, count) / count)) if count > 1 else []
        place[own] = bins + np.searchsorted(edges, expected[own], side="right")
        bins += len(edges) + 1
    order, start = np.argsort(place, kind="stable"), np.zeros(bins + 1, int)
    start[1:] = np.cumsum(np.bincount(place, minlength=bins))
    has = reward != 0 if (reward == 0).any() else reward > np.average(reward, weights=times)
    counted = times * np.where(has, gamma, 1.0)
    means, totals = np.zeros(len(start) - 1), np.r_[0.0, np.cumsum(counted[order])]
    for at in range(len(means)):
        own = order[start[at] : start[at + 1]]
        means[at] = np.average(reward[own], weights=times[own]) if len(own) else 0.0

    def draw(rows):
        low, high = totals[start[place[rows]]], totals[start[place[rows] + 1]]
        found = (
            np.searchsorted(totals, low + rng.random(len(rows)) * (high - low), side="right") - 1
        )
        return order[np.clip(found, start[place[rows]], start[place[rows] + 1] - 1)]

    return means[place], draw


def summed_up(copies):
    """Of each scenario and population: how often the interval held the truth, and how far off.

    `copies` are records of single copies, as `rehearse` writes them. Returned are records of
    ``rehearsed_held`` (share of copies whose interval, or bounds, held the truth),
    ``rehearsed_off`` (mean of estimate minus truth), ``rehearsed_rmse`` and
    ``rehearsed_naive_rmse`` (root mean squared errors of the answer, and of the mean of the labeled
    rows), ``rehearsed_half_width`` and ``rehearsed_bounded`` (share of copies that had bounds in
    place of an interval); of each method (a variable) ``rehearsed_mean_loss``, the mean loss on the
    outcomes that are hidden in the copy, and ``rehearsed_best``, the share of copies in which that
    was the least; ``rows`` is the number of copies.
    """
    keys = ["target", "setting", "part"]
    by_method = copies[copies["metric"].eq("rehearsed_loss")]
    records = _best(by_method, keys)
    copies = copies[copies["metric"].ne("rehearsed_loss")]
    wide = copies.pivot_table("value", [*keys, "step"], "metric", sort=False)
    wide = wide.rename(columns=lambda name: name.removeprefix("rehearsed_"))
    for place, one in wide.groupby(keys, sort=False):
        told, count = _told_of(one), len(one)
        records += [
            dict(zip(keys, place, strict=True))
            | {"metric": f"rehearsed_{what}", "value": value, "standard_error": error}
            | {"rows": count}
            for what, (value, error) in told.items()
        ]
        if "held" not in told:
            continue
        # Exact interval of a share (Clopper & Pearson 1934).
        hits = told["held"][0] * count
        ends = {
            "low": betaincinv(hits, count - hits + 1, 0.025) if hits else 0.0,
            "high": betaincinv(hits + 1, count - hits, 0.975) if hits < count else 1.0,
        }
        records += [
            dict(zip(keys, place, strict=True))
            | {"metric": "rehearsed_held", "variable": end, "value": value, "rows": count}
            for end, value in ends.items()
        ]
    return records


def _told_of(one):
    """What copies say together, by measure a value and its standard error, of one part (K rows)."""
    count, told = len(one), {}

    def mean(name, values):
        values = values.dropna()
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        told[name] = values.mean(), error

    if "refused" in one and one["refused"].notna().any():
        mean("refused", one["refused"])
    if "truth" not in one or one["truth"].isna().all():
        return told
    off = one["estimate"] - one["truth"]
    held = one["share"] if "share" in one else pd.Series(np.nan, one.index)
    if "high" in one and held.isna().all():
        within = (one["low"] <= one["truth"]) & (one["truth"] <= one["high"])
        held = within.astype(float).where(one["high"].notna())
    if held.notna().any():
        share = held.mean()
        told["held"] = share, np.sqrt(share * (1 - share) / count)
    mean("off", off)
    told["rmse"] = np.sqrt((off**2).mean()), np.nan
    if "naive" in one and one["naive"].notna().any():
        told["naive_rmse"] = np.sqrt(((one["naive"] - one["truth"]) ** 2).mean()), np.nan
    if "high" in one and np.isfinite(one["high"] - one["low"]).any():
        told["half_width"] = (one["high"] - one["low"]).mean() / 2, np.nan
    if "bounded" in one and one["bounded"].notna().any():
        told["bounded"] = one["bounded"].mean(), np.nan
    if "possible" in one and one["possible"].notna().any():
        told["reached"] = one["truth"].mean() / one["possible"].mean(), np.nan
    return told


def _best(copies, keys):
    """Mean loss of each method over copies, and the share of copies in which it was the least."""
    records = []
    for place, one in copies.groupby(keys, sort=False):
        wide = one.pivot(index="step", columns="variable", values="value")
        wide = wide[list(dict.fromkeys(one["variable"]))]
        least = wide.idxmin(axis=1)
        for method in wide:
            at = dict(zip(keys, place, strict=True)) | {"rows": len(wide), "variable": method}
            values, count = wide[method], len(wide)
            error = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
            records += [
                at
                | {
                    "metric": "rehearsed_mean_loss",
                    "value": values.mean(),
                    "standard_error": error,
                },
                at | {"metric": "rehearsed_best", "value": (least == method).mean()},
            ]
    return records
