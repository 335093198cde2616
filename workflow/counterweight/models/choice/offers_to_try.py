"""Which offers to try next: drawn near the best ones, each with a chance that is told."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_limits import (
    MEAN_LIMITS,
    allotted,
    amounts_of,
    choices,
    levels_of,
)
from counterweight.numerics.coins import own_key
from counterweight.numerics.designs import keyed_uniforms
from counterweight.tables.study_data import generator

#: How they are drawn.
WAYS = ("around", "thompson")


class Tried(NamedTuple):
    """Offers to try: `offers` (m,), the `chances` (n, m) of each for each person, the chance `p`
    (n, m) that it is accepted, what it is expected to have `earned` (n, m; -inf where it was never
    made to such people), and the place `best` (n,) of the one that earns most."""

    offers: np.ndarray
    chances: np.ndarray
    p: np.ndarray
    earned: np.ndarray
    best: np.ndarray

    def drawn(self, uniforms):
        """Place (n,) of the offer that uniform numbers (n,) draw for each person."""
        running = self.chances.cumsum(axis=1)
        at = (np.asarray(uniforms)[:, None] * running[:, -1:] >= running).sum(axis=1)
        return np.minimum(at, len(self.offers) - 1)


def offers_to_try(saved, X, *, how="around", levels=7, spread=0.1, least=0.02):
    """`Tried` of people with these features: offers near the best ones, each with a known chance.

    Once people have answered, they are a log of decisions with known chances, by which any
    rule that chooses among these offers can be valued without a model.

    Parameters
    ----------
    how : {"around", "thompson"}
        around: chances fall with the distance from the best offer as a normal density does.
        thompson: the chance of an offer is the share of bootstrap draws in which it is best.
    levels : int
        Offers to choose from, where no grid was asked for: also between few that were made, of
        which these answers tell.
    spread : float
        Standard deviation of around, as a share of the range of offers.
    least : float
        Chance, at least, of every offer that was made to such people.

    Raises
    ------
    CounterweightError
        Where the least chances leave nothing to chance, or the model has no draws.
    """
    if how not in WAYS:
        raise CounterweightError(
            f"An experiment by {how!r} is not known: choose {' or '.join(WAYS)}."
        )
    if not (levels >= 2 and 0 < spread < np.inf and 0 < least < 1):
        raise CounterweightError(
            f"An experiment needs two levels at least, a spread above 0 and a least chance between "
            f"0 and 1, not {levels}, {spread} and {least}."
        )
    offers = levels_of(saved, levels, between=True)
    p, fits = choices(saved, X, offers)
    if least * fits.sum(axis=1).max() >= 1.0:
        raise CounterweightError(
            f"An experiment with {len(offers)} offers cannot give each a chance of {least:g}: "
            "lower least, or take fewer levels."
        )
    earned = np.where(fits, p * saved.scale.revenue(offers), -np.inf)
    best, count = earned.argmax(axis=1), fits.sum(axis=1)[:, None]
    if how == "thompson":
        weights = _draws_best(saved, X, offers)
    else:
        away = (offers - offers[best][:, None]) / (spread * saved.scale.width)
        weights = np.exp(-0.5 * np.minimum(away**2, 1e3))
    weights = np.where(fits, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights / np.maximum(total, 1e-300), fits / count)
    chances = np.where(fits, least + (1 - least * count) * weights, 0.0)
    return Tried(offers, chances, p, earned, best)


def experiment(saved, X, uniforms, **asked):
    """Offers drawn by uniform numbers (n,) with the chances of `offers_to_try`.

    Returns
    -------
    dict of str to array (n,)
        ``tried_offer``; its ``propensity``; ``best_level``, the offer among these that earns
        most in expectation; ``tried_revenue``, what the experiment is expected to earn of each,
        and ``level_revenue``, what the best levels are.
    """
    made, rows = offers_to_try(saved, X, **asked), np.arange(len(X))
    drawn, earned = made.drawn(uniforms), made.earned
    return {
        "tried_offer": made.offers[drawn],
        "propensity": made.chances[rows, drawn],
        "best_level": made.offers[made.best],
        "tried_revenue": (made.chances * np.where(earned > -np.inf, earned, 0.0)).sum(axis=1),
        "level_revenue": earned[rows, made.best],
    }


def _draws_best(saved, X, offers):
    """Share (n, m) of the bootstrap draws in which each offer earns most."""
    own = saved._pricer
    if not saved.has_draws:
        raise CounterweightError(
            f"{saved.facts['model']} has no bootstrap draws to choose by: take how: around, or "
            "deliver another method (deliver)."
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
        asked = about, saved.kinds_of(about, X[at])[0], ends, saved.scale.scaled_revenue(), grid
        return {"shares": own.ends(*asked, saved.part("draw"), shares).T}

    found = np.empty((len(X), len(offers)))
    found[:, order] = saved._by_parts(of, len(X))["shares"]
    return found


def _as_earned(saved, frame, limits, asked, past):
    """What offers without limits earn in all by the revenue and the costs that limits say, as
    ``(name, value, place)``: the best one for all, and `past` ones; none where these say no other
    amounts than the scale does.
    """
    if np.allclose(asked.worth, saved.scale.revenue(asked.offers)) and not asked.spent.any():
        return
    totals = (asked.p * asked.worth - asked.spent).sum(axis=0)
    best = int(totals.argmax())
    yield "single", totals[best], {"part": f"{asked.offers[best]:.6g}"}
    if past is None or not np.isfinite(past[1]).all():
        return
    told = {name: limits.get(name) for name in ("revenue", "spent")}
    try:
        worth, spent = amounts_of(saved, frame, past[0][:, None], **told)
    except CounterweightError:  # of offers beyond the points nothing is said
        return
    yield "past", (past[1][:, None] * worth - spent).sum(), {}


#: What offers to try are drawn for, so that a key has other coins for everything else.
TRYING = "counterweight offers to try"


def drawn_by(job, purpose):
    """What offers to try are drawn by; see `coins_of_offers`."""
    given = job.given
    told = {"rng": generator(given["seed"], given["stream"], 0, purpose)}
    return told | ({"key": own_key(given["key"])} if given.get("key") else {})


def coins_of_offers(saved, people, drawn):
    """Uniform numbers (n,) that draw an offer for each person.

    `drawn` has ``rng``; with a ``key`` they are keyed hashes of the ids, where each person has one:
    the same person gets the same offer in any file.
    """
    person, key = saved.facts.get("id"), drawn.get("key")
    if (
        key is None
        or not person
        or people[person].isna().any()
        or people[person].duplicated().any()
    ):
        return drawn["rng"].random(len(people))
    return keyed_uniforms(people[person].to_numpy(), key, TRYING)


def as_asked(saved, X, frame, limits=None, tried=None, coins=None, answers=None, past=None):
    """Columns of people, and records for the page, of a config's ``limits`` and ``experiment``.

    `coins` (n,) draw the offers of the latter. ``answers(asked, found)`` gives value and interval
    of what answers to offers that were drawn say of those within limits, or nothing. `past` are
    the offers that were made (n,), NaN where none was, and the chances of a yes to them.
    """
    columns, records = {}, []

    def add(metric, value, **more):
        records.append({"metric": metric, "value": float(value), **more, "rows": len(X)})

    if limits:
        own, found, asked = allotted(saved, X, frame, **limits)
        columns |= {f"allotted_{name}": values for name, values in own.items()}
        facts = {"revenue": found.value, "bound": found.dual, "free": found.free}
        facts |= {"greedy": found.greedy, "none": (found.choice < 0).sum()}
        facts |= {"revenue_low": found.low, "revenue_high": found.high}
        right = answers(asked, found) if answers else ()
        facts |= dict(zip(("drawn", "drawn_low", "drawn_high"), right, strict=False))
        for name, value in facts.items():
            if np.isfinite(value):
                add(f"allotted_{name}", value)
        for name, value, part in _as_earned(saved, frame, limits, asked, past):
            add(f"allotted_{name}", value, **part)
        for name, used in found.used.items():
            bound = limits[name]
            if name in MEAN_LIMITS:
                # A mean is told as such, among those who accept.
                bound = bound["least"]
                used = bound - used / max(float(own["p"].sum()), 1e-300)
            add("limit_used", used, part=name)
            add("limit_price", found.multipliers[name], part=name)
            add("limit_bound", bound, part=name)
        if (sure := limits.get("confidence")) is not None:
            add("limit_confidence", sure, part="capacity")
            add("limit_confidence_fit", saved.has_draws, part="capacity")
    if tried:
        own = experiment(saved, X, coins, **tried)
        for name in ("tried_revenue", "level_revenue"):
            add(name, own.pop(name).sum())
        columns |= own
        add("tried_least_p", own["propensity"].min())
    return columns, records
