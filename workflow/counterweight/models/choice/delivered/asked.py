"""What deciders ask of saved offers beyond the best one for each: limits, and the next experiment.

Both choose among a few offers: those of the grid, or points evenly over what was made. Nobody gets
one outside what was made to people like them.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.fields import booleans
from counterweight.models.choice.delivered.limits import Limit, allot

#: Smallest sum of the least chances of offers that an experiment refuses.
WHOLE = 1.0
#: Digits of the width of the range that offers are rounded to, and by how much ends may differ.
DIGITS, MARGIN = 6, 1e-6
#: What limits are called, and the words that a decider has for them.
SUM_LIMITS = ("capacity", "budget")
MEAN_LIMITS = ("quality", "share")


def levels_of(saved, points):
    """The offers to choose from, in the user's units, rising."""
    grid, made = saved.facts["offer"]["grid"], saved.arrays["made"]
    if grid is not None:
        return np.unique(np.asarray(grid, dtype=float))
    digits = DIGITS - int(np.ceil(np.log10(saved.scale.width)))
    return np.unique(np.round(np.linspace(made.min(), made.max(), int(points)), digits))


def choices(saved, X, offers):
    """Chance (n, m) that people accept each offer, and whether it was made to such people."""
    ends = np.sort(saved.arrays["made"], axis=1)
    room = MARGIN * saved.scale.width
    fits = (offers >= ends[:, :1] - room) & (offers <= ends[:, 1:] + room)
    # Whom no point fits gets the nearest one.
    away = np.maximum(ends[:, :1] - offers, offers - ends[:, 1:])
    fits[np.arange(len(ends)), away.argmin(axis=1)] |= ~fits.any(axis=1)
    t = np.clip(saved.scale.scaled(offers), 0.0, 1.0)

    def of(at):
        own = saved._pricer
        about = own.about(X[at])
        p = own.accept_each(about, t)
        return {"p": p, "kind": saved.kinds_of(about, X[at])[0]}

    found = saved._by_parts(of, len(X))
    return found["p"], fits[found["kind"]]


def allotted(
    saved,
    X,
    frame,
    *,
    capacity=None,
    confidence=None,
    budget=None,
    quality=None,
    share=None,
    revenue=None,
    spent=None,
    skip=True,
    points=21,
):
    """Offers that earn most together; see `SavedOffers.allot`, whose arguments these are.

    Parameters
    ----------
    saved : SavedOffers
    X : array (n, d)
        Features of the people.
    frame : pandas.DataFrame
        Their table, for the columns that limits and revenue name.

    Returns
    -------
    columns : dict of str to array (n,)
        ``offer`` (NaN for none), ``p``, ``revenue``.
    Allotment
    """
    offers, scale = levels_of(saved, points), saved.scale
    p, fits = choices(saved, X, offers)
    worth = scale.revenue(offers)
    if isinstance(revenue, str):
        worth = _numbers(frame, revenue)[:, None] + scale.slope * offers
    elif revenue is not None:
        worth = _curve(revenue, offers, "revenue")
    cost = np.zeros(len(offers)) if spent is None else _curve(spent, offers, "spent")
    given = offers - scale.low if scale.direction == "up" else scale.high - offers
    limits = []
    if capacity is not None:
        limits.append(Limit("capacity", 1.0, 1.0, float(capacity)))
    elif confidence is not None:
        raise CounterweightError("A confidence is of a capacity: give that, too.")
    if budget is not None:
        limits.append(Limit("budget", 1.0, given, float(budget)))
    if quality is not None:
        column, least = _parts(quality, "column", "least")
        limits.append(Limit("quality", float(least) - _numbers(frame, column), 1.0, 0.0))
    if share is not None:
        column, value, least = _parts(share, "column", "value", "least")
        limits.append(Limit("share", float(least) - _marked(frame, column, value), 1.0, 0.0))
    if not limits and revenue is None and spent is None:
        raise CounterweightError(
            "There is no limit, nor a revenue or cost of its own: give one, or take optimal_offers."
        )
    found = allot(p, worth, limits, cost, skip, confidence, fits)
    at, none, rows = np.maximum(found.choice, 0), found.choice < 0, np.arange(len(p))
    chance = np.where(none, 0.0, p[rows, at])
    worth = np.broadcast_to(worth, p.shape)[rows, at]
    columns = {"offer": np.where(none, np.nan, offers[at]), "p": chance}
    return columns | {"revenue": chance * worth - np.where(none, 0.0, cost[at])}, found


def experiment(saved, X, rng, *, how="around", levels=7, spread=0.1, least=0.02):
    """Offers drawn at random near the best ones, each with the chance with which it was drawn.

    Once people have answered, the table is a log of decisions with known chances, by which any
    rule that chooses among these offers can be valued without a model.

    Parameters
    ----------
    saved : SavedOffers
    X : array (n, d)
    rng : numpy.random.Generator
    how : {"around", "thompson"}
        around: chances fall with the distance from the best offer as a normal density does.
        thompson: the chance of an offer is the share of bootstrap draws in which it is best.
    levels : int
        Offers to choose from, where there is no grid.
    spread : float
        Standard deviation of around, as a share of the range of offers.
    least : float
        Chance, at least, of every offer that was made to such people.

    Returns
    -------
    dict of str to array (n,)
        ``tried_offer``; ``tried_p``, its chance; ``best_level``, the offer among these that earns
        most in expectation; ``tried_revenue``, what the experiment is expected to earn of each,
        and ``level_revenue``, what the best levels are.

    Raises
    ------
    CounterweightError
        Where the least chances leave nothing to chance, or the model has no draws.
    """
    offers = levels_of(saved, levels)
    p, fits = choices(saved, X, offers)
    if least * fits.sum(axis=1).max() >= WHOLE:
        raise CounterweightError(
            f"An experiment with {len(offers)} offers cannot give each a chance of {least:g}: "
            "lower least, or take fewer levels."
        )
    earned = np.where(fits, p * saved.scale.revenue(offers), -np.inf)
    best = earned.argmax(axis=1)
    if how == "thompson":
        weights = _draws_best(saved, X, offers)
    else:
        away = (offers - offers[best][:, None]) / (spread * saved.scale.width)
        weights = np.exp(-0.5 * np.minimum(away**2, 1e3))
    weights = np.where(fits, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(
        total > 0, weights / np.maximum(total, 1e-300), fits / fits.sum(axis=1)[:, None]
    )
    chances = np.where(fits, least + (1 - least * fits.sum(axis=1)[:, None]) * weights, 0.0)
    running = chances.cumsum(axis=1)
    drawn = (rng.random(len(X))[:, None] * running[:, -1:] >= running).sum(axis=1)
    drawn = np.minimum(drawn, len(offers) - 1)
    rows = np.arange(len(X))
    return {
        "tried_offer": offers[drawn],
        "tried_p": chances[rows, drawn],
        "best_level": offers[best],
        "tried_revenue": (chances * np.where(fits, earned, 0.0)).sum(axis=1),
        "level_revenue": earned[rows, best],
    }


def _draws_best(saved, X, offers):
    """Share (n, m) of the bootstrap draws in which each offer earns most."""
    own = saved._pricer
    if not own.has_draws:
        raise CounterweightError(
            f"{saved.facts['model']} has no bootstrap draws to choose by: take how: around, or "
            "give away another method (deliver)."
        )
    scaled = saved.scale.scaled(offers)
    order = np.argsort(scaled)
    ends = np.sort(np.clip(saved.scale.scaled(saved.arrays["made"]), 0.0, 1.0), axis=1)
    grid = scaled[order]

    def shares(best):
        place = np.abs(best[..., None] - grid).argmin(axis=-1)
        return np.stack([(place == at).mean(axis=0) for at in range(len(grid))])

    def of(at):
        about = own.about(X[at])
        kind = saved.kinds_of(about, X[at])[0]
        asked = about, kind, ends, saved.scale.scaled_revenue(), grid
        return {"shares": own.ends(*asked, saved._part("draw"), shares).T}

    found = np.empty((len(X), len(offers)))
    found[:, order] = saved._by_parts(of, len(X))["shares"]
    return found


def told_of_limits(found, count, confidence=None, bounds=None):
    """Records of an allotment for the page: totals, and by limit (the part) what is used."""
    facts = {
        "allotted_revenue": found.value,
        "allotted_bound": found.dual,
        "allotted_free": found.free,
        "allotted_greedy": found.greedy,
        "allotted_none": float((found.choice < 0).sum()),
    }
    records = [{"metric": name, "value": float(v)} for name, v in facts.items() if np.isfinite(v)]
    for name, used in found.used.items():
        own = {"limit_used": used, "limit_price": found.multipliers[name]}
        if name in (bounds or {}):
            own["limit_bound"] = float(bounds[name])
        records += [{"metric": metric, "value": v, "part": name} for metric, v in own.items()]
    if confidence is not None:
        records.append({"metric": "limit_confidence", "value": confidence, "part": "capacity"})
    return [one | {"rows": count} for one in records]


def as_asked(saved, X, frame, limits=None, tried=None, rng=None):
    """Columns of people and records for the page, of what a config asks.

    Parameters
    ----------
    saved : SavedOffers
    X : array (n, d)
    frame : pandas.DataFrame
    limits, tried : dict or None
        Keys of the config ``limits`` and ``experiment``.
    rng : numpy.random.Generator
        Of the experiment.

    Returns
    -------
    columns : dict of str to array (n,)
    records : list of dict
    """
    columns, records = {}, []
    if limits:
        own, found = allotted(saved, X, frame, **limits)
        columns |= {f"allotted_{name}": values for name, values in own.items()}
        # A mean is told as such, among those who accept.
        bounds = {name: limits[name] for name in SUM_LIMITS if limits.get(name) is not None}
        bounds |= {name: limits[name]["least"] for name in MEAN_LIMITS if limits.get(name)}
        chance = own["p"]
        for name in found.used.keys() & set(MEAN_LIMITS):
            least = bounds[name]
            found.used[name] = least - found.used[name] / max(float(chance.sum()), 1e-300)
        records += told_of_limits(found, len(X), limits.get("confidence"), bounds)
    if tried:
        own = experiment(saved, X, rng, **tried)
        sums = {name: float(own.pop(name).sum()) for name in ("tried_revenue", "level_revenue")}
        columns |= own
        records += [{"metric": name, "value": v, "rows": len(X)} for name, v in sums.items()]
        low = {"metric": "tried_least_p", "value": float(own["tried_p"].min()), "rows": len(X)}
        records.append(low)
    return columns, records


def columns_asked(limits):
    """Columns of the table that limits name."""
    limits = limits or {}
    named = [limits[name]["column"] for name in MEAN_LIMITS if limits.get(name)]
    revenue = limits.get("revenue")
    return list(dict.fromkeys(named + [revenue] * isinstance(revenue, str)))


def _parts(told, *names):
    return [told[name] for name in names] if isinstance(told, dict) else list(told)


def _curve(told, offers, what):
    """A function of offers: a number, a function, or points [offer, amount] with lines between."""
    if callable(told):
        return np.broadcast_to(np.asarray(told(offers), dtype=float), offers.shape)
    if np.ndim(told) == 0:
        return np.full(offers.shape, float(told))
    points = np.asarray(told, dtype=float)
    points = points[np.argsort(points[:, 0], kind="stable")]
    room = 1e-9 * max(np.ptp(offers), 1e-300)
    if points[0, 0] > offers[0] + room or points[-1, 0] < offers[-1] - room:
        raise CounterweightError(
            f"The points of {what} reach from {points[0, 0]:g} to {points[-1, 0]:g}, but offers "
            f"from {offers[0]:g} to {offers[-1]:g}: give points over all of them."
        )
    return np.interp(offers, points[:, 0], points[:, 1])


def _there(frame, name):
    if name not in frame:
        raise CounterweightError(f"The table of people has no column {name!r}.")
    return frame[name]


def _numbers(frame, name):
    values = _there(frame, name)
    try:
        values = values.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        values = _yes_or_no(values)
        if values is None:
            raise CounterweightError(
                f"The column {name!r}, which limits or revenue name, holds text: name one of "
                "numbers."
            ) from None
    blank = np.flatnonzero(~np.isfinite(values))
    if len(blank):
        raise CounterweightError(
            f"The column {name!r}, which limits or revenue name, is blank or infinite for "
            f"{len(blank)} people (first: row {blank[0]}): fill it in."
        )
    return values


def _yes_or_no(values):
    """Words for yes and no as 1 and 0; None where there are others."""
    import pyarrow as pa

    ones, right = booleans(pa.array(values.astype(object).map(str).str.strip(), pa.string()), {})
    return ones.astype(float) if right.all() else None


def _marked(frame, name, value):
    own = _there(frame, name)
    hit = (own == value).fillna(False).to_numpy(dtype=bool)
    if not hit.any():
        hit = (own.astype(str) == str(value)).to_numpy(dtype=bool)
    if not hit.any():
        raise CounterweightError(
            f"Nobody has the value {value!r} in the column {name!r}, of which limits ask a least "
            "share: correct one of them."
        )
    return hit.astype(float)
