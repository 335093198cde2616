"""Train one method of an `offers` study in one repeat, and what it says of every person."""

import logging

import numpy as np
import pyarrow as pa

from counterweight.errors import CounterweightError
from counterweight.labeling.offered import OfferScale, offer_range
from counterweight.models.choice.acceptance import (
    acceptance,
    checked_revenue,
    feasible,
    mixed_acceptance,
    optimal_offer,
    soft_optimal_offer,
)
from counterweight.models.choice.logitboost import fold_numbers
from counterweight.numerics.emissions import Layout
from counterweight.plan.components import load
from counterweight.tables.parquet import constant, stacked
from counterweight.tables.seeds import generator

log = logging.getLogger("counterweight")

#: Columns of a table of predictions, in order; ``setting`` is hard, soft or "".
PREDICTIONS = (
    ("repeat", "int16"),
    ("row", "int32"),
    ("role", "string"),
    ("setting", "string"),
    ("p", "float64"),
    ("segment", "int16"),
    ("segment_p", "float64"),
    ("eta", "float64"),
    ("k", "float64"),
    ("best_offer", "float64"),
    ("best_p", "float64"),
    ("best_revenue", "float64"),
    ("revenue", "float64"),
)
#: First grid of the search for models without a closed form, and rounds of refinement.
POINTS, ROUNDS, FINER = 65, 3, 9
#: Deviation of scaled offers in a segment below which they hardly vary, and the share of people in
#: such segments from which on claims have no interval.
STILL, FEW = 0.05, 0.05
#: People, at most, and folds of a comparison of methods.
COMPARED, FOLDS = 20_000, 3


def scale_of(offer, made=()):
    """`OfferScale` of the labeling rule's options, and the scaled grid of possible offers.

    `made` are offers of all rows, in the user's units, for ends that are null.
    """
    low, high = offer_range(offer, made)
    names = ("direction", "revenue")
    scale = OfferScale(low, high, **{name: offer[name] for name in names if name in offer})
    grid = offer.get("grid")
    return scale, None if grid is None else feasible(scale.scaled(grid), 0.0, 1.0)


def told_categories(kind, names, categories):
    """Arguments of ``fit`` that say which columns are categories, where a class asks for them.

    `categories` are as a recipe declares them, ``blocks`` and ``flags``, or None.
    """
    if not (categories and getattr(kind, "CATEGORIES", False)):
        return {}
    return {"categories": Layout.named(list(names), **categories)}


def offer_rows(data, repeat):
    """``X, t, train, answer, component, row, role`` of the rows of a repeat.

    Labels are ``repeat, row, role, offer, t, answer``, without answers of test rows. A truth with
    ``component`` is only for an oracle.
    """
    labels, at = data.labels[repeat], data.rows_of(repeat)
    component = None
    if data.truth is not None and "component" in data.truth[repeat]:
        truth = data.truth[repeat]
        order = np.argsort(truth["row"], kind="stable")
        component = truth["component"][order][np.searchsorted(truth["row"][order], labels["row"])]
    train = labels["role"] == "train"
    if not train.any():
        raise CounterweightError(f"Repeat {repeat} has no training rows: lower the test share.")
    return {
        "X": data.X[at],
        "t": np.asarray(labels["t"], dtype=float),
        "train": train,
        "answer": np.asarray(labels["answer"][train], dtype=float),
        "component": component,
        "row": labels["row"],
        "role": labels["role"],
    }


def train_offers_repeat(data, method, repeat, *, offer, seed, study, bootstrap=0, level=0.95):
    """Fit one method on the training rows of a repeat, and predict all its rows.

    `offer` are options of the labeling rule (`scale_of`), `bootstrap` the draws for intervals of
    expected enrolment and revenue, where the model can give them; random streams go by seed and
    study.

    Returns
    -------
    arrays : dict of str or (str, str) to array
        The fitted model, and the ends of the intervals, by total and setting (`totals_intervals`).
    predictions : pyarrow.Table
        Columns of `PREDICTIONS`. A model without segments has segment -1 with probability,
        eta and k 0.
    """
    made = np.concatenate([np.asarray(own["offer"], float) for own in data.labels.values()])
    rows, (scale, grid) = offer_rows(data, repeat), scale_of(offer, made)
    model = load("model", method["model"])(**method["options"])
    rng = generator(seed, study, repeat, f"fit {method['model']}")
    train, X, t = rows["train"], rows["X"], rows["t"]
    oracle = bool(method["options"].get("per_component"))
    if hasattr(model, "predict_segments"):
        told = told_categories(type(model), data.names, data.categories)
        model.fit(X[train], rows["answer"], t[train], rng=rng, **told)
        said = segment_predictions(model, X, t, scale, grid)
    else:
        component = rows["component"] if oracle else None
        own = component[train] if component is not None else None
        model.fit(X[train], rows["answer"], t[train], rng=rng, component=own)
        said = {"": curve_predictions(model, X, t, scale, grid, component)}
    arrays = model.to_arrays()
    if bootstrap and hasattr(model, "bootstrap_totals"):
        fresh = generator(seed, study, repeat, f"bootstrap {method['model']}")
        arrays |= totals_intervals(model, rows, scale, said, fresh, bootstrap, level, grid)
    tables = []
    for setting, columns in said.items():
        _check_finite(columns, method["model"], repeat)
        count = len(X)
        columns = columns | {
            "repeat": np.full(count, repeat),
            "row": rows["row"],
            "role": pa.array(list(rows["role"])),
            "setting": constant(setting, count),
        }
        tables.append(
            pa.table(
                {
                    name: columns[name]
                    if isinstance(columns[name], pa.Array)
                    else pa.array(columns[name]).cast(pa.type_for_alias(kind))
                    for name, kind in PREDICTIONS
                }
            )
        )
    return arrays, stacked(tables)


def totals_intervals(model, rows, scale, said, rng, draws, level=0.95, grid=None):
    """Bootstrap intervals (2,) of expected enrolment and revenue, by total and setting.

    Totals are over the test rows, or over the training rows where there are no others.
    ``predicted`` is at the historical offers, by percentiles; ``claimed`` at the model's best ones,
    which every draw finds anew (`ResampledModel.bootstrap_claims`), with the draws' mean excess
    taken off the claim and not: draws of a fit that follows its rows too closely exceed by more
    than the fit does, up to three times in simulated admissions. There is no interval of a claim
    where offers hardly varied (deviation below `STILL`) in segments of more than `FEW` of the
    people: how acceptance would change with the offer is then a guess in every draw.
    ``single_offer`` is the one to everybody that earns most, by percentiles.
    """
    train = rows["train"]
    used = ~train if (~train).any() else train
    ends, intervals = [(1 - level) / 2, (1 + level) / 2], {}
    past = (rows["X"][train], rows["answer"], rows["t"][train])
    shared = {"rng": rng, "draws": draws, "revenue": scale.scaled_revenue()}
    share = 0.0
    if hasattr(model, "offer_deviation_"):
        share = float(model.weights_[model.offer_deviation_ < STILL].sum())
    still = share > FEW
    claiming = hasattr(model, "bootstrap_claims") and not still
    if hasattr(model, "refits"):
        shared["refits"] = model.refits(*past, rng=rng, draws=draws)
    for setting, columns in said.items():
        asked = shared | {"assignment": setting}
        totals = model.bootstrap_totals(*past, rows["X"][used], rows["t"][used], **asked)
        excess = (
            model.bootstrap_claims(*past, rows["X"][used], **asked, grid=grid) if claiming else None
        )
        claims = columns["best_p"][used].sum(), columns["best_revenue"][used].sum()
        for at, name in enumerate(("enrolment", "revenue")):
            intervals[f"{name}_predicted", setting] = np.quantile(totals[at], ends)
            if claiming:
                intervals[f"{name}_claimed", setting] = _what_it_brings(
                    claims[at], excess[at], ends
                )
        if claiming:
            single = np.sort(scale.offers(np.quantile(excess[2], ends)))
            intervals["single_offer", setting] = single
    if still:
        log.warning(
            "No interval of what best offers would bring: past offers hardly varied in segments of "
            "%.0f %% of the people.",
            100 * share,
        )
    return intervals


def _what_it_brings(claim, excess, ends):
    """Interval of what a claim stands for, by draws of its excess; see `totals_intervals`."""
    low, high = claim - np.quantile(excess, ends[::-1])
    mean = excess.mean()
    return np.array([low + min(mean, 0.0), high + max(mean, 0.0)])


def segment_predictions(model, X, t, scale, grid=None):
    """Predictions of a model of segments, by assignment: hard and soft."""
    weights = np.asarray(model.predict_segments(X))
    eta, k = np.asarray(model.eta_), np.asarray(model.k_)
    segment = weights.argmax(axis=1)
    at = np.arange(len(weights))
    moves = (
        model.threshold_moves(X) if hasattr(model, "threshold_moves") else np.zeros(len(weights))
    )
    own = eta[segment] + moves
    shared = {"segment": segment, "segment_p": weights[at, segment], "eta": own, "k": k[segment]}
    asked = {"revenue": scale.scaled_revenue(), "grid": grid}
    best = {
        "hard": optimal_offer(own, k[segment], **asked),
        "soft": soft_optimal_offer(weights, eta, k, **asked, moves=moves if moves.any() else None),
    }
    predictions = {}
    for setting, offers in best.items():
        p = np.asarray(model.predict_acceptance(X, t, assignment=setting))
        if setting == "hard":
            best_p = acceptance(offers, own, k[segment])
        else:
            best_p = mixed_acceptance(weights, offers - moves, eta, k)
        predictions[setting] = shared | _money(p, t, offers, best_p, scale)
    return predictions


def curve_predictions(model, X, t, scale, grid=None, component=None):
    """Predictions of a model without segments; the best offers by a search."""
    asked = {} if component is None else {"component": component}
    count = len(X)

    def accept(offers):
        return model.predict_acceptance(X, offers, **asked)

    p = accept(t)
    offers = searched_offers(accept, count, scale.scaled_revenue(), grid)
    nothing = np.zeros(count)
    shared = {"segment": np.full(count, -1), "segment_p": nothing, "eta": nothing, "k": nothing}
    return shared | _money(p, t, offers, accept(offers), scale)


def _money(p, t, best, best_p, scale):
    offers = scale.offers(best)
    return {
        "p": p,
        "revenue": p * scale.revenue(scale.offers(t)),
        "best_offer": offers,
        "best_p": best_p,
        "best_revenue": best_p * scale.revenue(offers),
    }


def searched_offers(accept, rows, revenue=(1.0, -1.0), grid=None, low=0.0, high=1.0):
    """Offers (n,) that maximise expected revenue under any curve, by grid and refinement.

    The best of `POINTS` offers is refined `ROUNDS` times between its neighbours, to (high - low) /
    64 / 4^3; narrower steps of a curve may be missed. Where offers tie, the lowest is taken. The
    curve is ``accept(t (n,)) -> p (n,)``; `grid` holds the only offers that can be made.
    """
    a, b = checked_revenue(revenue)
    best = np.full(rows, float(low))
    value = np.full(rows, -np.inf)

    def look(offers):
        nonlocal best, value
        earned = accept(offers) * (a + b * offers)
        better = earned > value + 1e-12 * np.abs(earned)
        best, value = np.where(better, offers, best), np.where(better, earned, value)

    first = np.linspace(low, high, POINTS) if grid is None else feasible(grid, low, high)
    for offer in first:
        look(np.full(rows, offer))
    if grid is None:
        step = (high - low) / (POINTS - 1)
        for _ in range(ROUNDS):
            center = best
            for shift in np.linspace(-step, step, FINER):
                if shift:
                    look(np.clip(center + shift, low, high))
            step *= 2 / (FINER - 1)
    return best


def _check_finite(columns, model, repeat):
    for name, values in columns.items():
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise CounterweightError(
                f"{bad} values of {name} by {model} in repeat {repeat} are not finite: the model "
                "failed; see its log."
            )


def compared(X, t, y, candidates, rng, told=None, most=COMPARED):
    """Cross-validated log loss of some methods on people with an answer, and refusals by place.

    Of more people than `most` some are taken at random, in `FOLDS` folds with equal shares of yes.
    `candidates` have ``model``, ``options`` and ``setting``; those that differ in the setting alone
    are of one fit; ``told(kind)`` gives further arguments of ``fit``. A method that refuses these
    people has an infinite loss.
    """
    if len(X) > most:
        some = np.sort(rng.choice(len(X), most, replace=False))
        X, t, y = X[some], t[some], y[some]
    fold = fold_numbers(y, FOLDS, rng)
    seed = int(rng.integers(2**31))
    fits, losses, refusals = {}, [], {}
    for place, one in enumerate(candidates):
        key = (one["model"], repr(one["options"]))
        if key not in fits:
            fits[key] = _held_out(X, t, y, one, fold, seed, told)
        if isinstance(fits[key], CounterweightError):
            refusals[place] = str(fits[key])
            losses.append(np.inf)
            continue
        asked = {"assignment": one["setting"]} if one["setting"] else {}
        p = np.empty(len(y))
        for number, model in enumerate(fits[key]):
            held = fold == number
            p[held] = model.predict_acceptance(X[held], t[held], **asked)
        given = np.where(y > 0.5, p, 1 - p)
        losses.append(float(-np.log(np.maximum(given, 1e-12)).mean()))
    return losses, refusals


def _held_out(X, t, y, one, fold, seed, told=None):
    """A model for each fold, fitted to the others; the refusal where it cannot be."""
    kind = load("model", one["model"])
    more = told(kind) if told else {}
    try:
        return [
            kind(**one["options"]).fit(
                X[fold != number],
                y[fold != number],
                t[fold != number],
                rng=np.random.default_rng([seed, number]),
                **more,
            )
            for number in range(FOLDS)
        ]
    except CounterweightError as error:
        return error
