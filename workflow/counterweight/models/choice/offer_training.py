"""Train one method of an `offers` study in one repeat, and what it says of every person."""

import logging
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from counterweight.errors import CounterweightError
from counterweight.models.choice.logitboost import fold_numbers
from counterweight.models.choice.offer_model import (
    acceptance,
    best_offers,
    mixed_acceptance,
    scale_of,
    searched_offers,
)
from counterweight.models.choice.pricing import REACH, pricer
from counterweight.numerics.emissions import Layout
from counterweight.numerics.linear import EDGE, expit, fitted_factors, logit
from counterweight.plan.components import load
from counterweight.tables.parquet import constant, stacked
from counterweight.tables.study_data import found_rows, generator

log = logging.getLogger("counterweight")

#: Columns of a table of predictions, in order; ``setting`` is hard, soft or "".
PREDICTIONS = {
    **{"repeat": "int16", "row": "int32", "role": "string", "setting": "string", "p": "float64"},
    **{"segment": "int16", "segment_p": "float64", "eta": "float64", "k": "float64"},
    **dict.fromkeys(("best_offer", "best_p", "best_revenue", "revenue"), "float64"),
}
#: Deviation of scaled offers in a segment below which they hardly vary, and the share of people in
#: such segments from which on claims have no interval.
STILL, FEW = 0.05, 0.05
#: People, at most, and folds of a comparison of methods.
COMPARED, FOLDS = 20_000, 3
#: A method misses something that several together have less loss by so many standard errors, and
#: those of such a factor are told of.
MISSED, PART = 2.0, 0.1


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
        truth, absent = data.truth[repeat], f"The truth of repeat {repeat} lacks rows: run again."
        component = truth["component"][found_rows(truth["row"], labels["row"], absent)]
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
    study. Gives the fitted model as arrays, with the ends of the intervals by total and setting
    (`totals_intervals`), and a table with the columns of `PREDICTIONS`; a model without segments
    has segment -1 with probability, eta and k 0.
    """
    made = np.concatenate([np.asarray(own["offer"], float) for own in data.labels.values()])
    rows, (scale, grid) = offer_rows(data, repeat), scale_of(offer, made)
    model = load("model", method["model"])(**method["options"])
    rng = generator(seed, study, repeat, f"fit {method['model']}")
    train, X, t = rows["train"], rows["X"], rows["t"]
    if hasattr(model, "predict_segments"):
        told = told_categories(type(model), data.names, data.categories)
        model.fit(X[train], rows["answer"], t[train], rng=rng, **told)
        said = segment_predictions(model, X, t, scale, grid)
    else:
        component = rows["component"] if method["options"].get("per_component") else None
        own = component[train] if component is not None else None
        model.fit(X[train], rows["answer"], t[train], rng=rng, component=own)
        said = {"": curve_predictions(model, X, t, scale, grid, component)}
    arrays = model.to_arrays()
    if bootstrap and hasattr(model, "bootstrap_totals"):
        fresh = generator(seed, study, repeat, f"bootstrap {method['model']}")
        arrays |= totals_intervals(model, rows, scale, said, fresh, bootstrap, level, grid)
    tables, count = [], len(X)
    place = {"repeat": np.full(count, repeat), "row": rows["row"], "role": list(rows["role"])}
    for setting, columns in said.items():
        for name, values in columns.items():
            bad = int((~np.isfinite(values)).sum())
            if bad:
                raise CounterweightError(
                    f"{bad} values of {name} by {method['model']} in repeat {repeat} are not "
                    "finite: the model failed; see its log."
                )
        columns = columns | place
        made = [
            constant(setting, count)
            if name == "setting"
            else pa.array(columns[name]).cast(pa.type_for_alias(kind))
            for name, kind in PREDICTIONS.items()
        ]
        tables.append(pa.table(made, [*PREDICTIONS]))
    return arrays, stacked(tables)


def totals_intervals(model, rows, scale, said, rng, draws, level=0.95, grid=None):
    """Bootstrap intervals (2,) of expected enrolment and revenue, by total and setting.

    Totals are over the test rows, or over the training rows where there are no others.
    ``predicted`` is at the historical offers, by percentiles; ``claimed`` at the model's best ones,
    which every draw finds anew (`SegmentModel.bootstrap_claims`), with the draws' mean excess
    taken off the claim and not: draws of a fit that follows its rows too closely exceed by more
    than the fit does, up to three times in simulated admissions. There is no interval of a claim
    where offers hardly varied (deviation below `STILL`) in segments of more than `FEW` of the
    people: how acceptance would change with the offer is then a guess in every draw.
    ``single_offer`` is the one to everybody that earns most, by percentiles.
    """
    train = rows["train"]
    used = ~train if (~train).any() else train
    ends, intervals = np.array([(1 - level) / 2, (1 + level) / 2]), {}
    past = (rows["X"][train], rows["answer"], rows["t"][train])
    shared = {"rng": rng, "draws": draws, "revenue": scale.scaled_revenue()}
    share = 0.0
    if hasattr(model, "offer_deviation_"):
        share = float(model.weights_[model.offer_deviation_ < STILL].sum())
    claiming = hasattr(model, "bootstrap_claims") and share <= FEW
    if hasattr(model, "refits"):
        shared["refits"] = model.refits(*past, rng=rng, draws=draws)
    for setting, columns in said.items():
        asked = shared | {"assignment": setting}
        totals = model.bootstrap_totals(*past, rows["X"][used], rows["t"][used], **asked)
        if claiming:
            excess = model.bootstrap_claims(*past, rows["X"][used], **asked, grid=grid)
        for at, (name, best) in enumerate((("enrolment", "best_p"), ("revenue", "best_revenue"))):
            intervals[f"{name}_predicted", setting] = np.quantile(totals[at], ends)
            if claiming:
                low, high = columns[best][used].sum() - np.quantile(excess[at], ends[::-1])
                mean = excess[at].mean()
                brought = np.array([low + min(mean, 0.0), high + max(mean, 0.0)])
                intervals[f"{name}_claimed", setting] = brought
        if claiming:
            single = np.sort(scale.offers(np.quantile(excess[2], ends)))
            intervals["single_offer", setting] = single
    if share > FEW:
        log.warning(
            "No interval of what best offers would bring: past offers hardly varied in segments of "
            "%.0f %% of the people.",
            100 * share,
        )
    return intervals


def segment_predictions(model, X, t, scale, grid=None):
    """Predictions of a model of segments, by assignment: hard and soft."""
    weights = np.asarray(model.predict_segments(X))
    eta, k = np.asarray(model.eta_), np.asarray(model.k_)
    segment, at = weights.argmax(axis=1), np.arange(len(weights))
    moves = model.threshold_moves(X) if hasattr(model, "threshold_moves") else np.zeros(len(at))
    own = eta[segment] + moves
    shared = {"segment": segment, "segment_p": weights[at, segment], "eta": own, "k": k[segment]}
    asked = {"revenue": scale.scaled_revenue(), "grid": grid}
    asked["moves"] = moves if moves.any() else None
    predictions = {}
    for setting in ("hard", "soft"):
        offers = best_offers(weights, eta, k, setting, **asked)
        if setting == "hard":
            best_p = acceptance(offers, own, k[segment])
        else:
            best_p = mixed_acceptance(weights, offers - moves, eta, k)
        p = np.asarray(model.predict_acceptance(X, t, assignment=setting))
        predictions[setting] = shared | _money(p, t, offers, best_p, scale)
    return predictions


def curve_predictions(model, X, t, scale, grid=None, component=None):
    """Predictions of a model without segments; the best offers by a search."""
    asked, count = {} if component is None else {"component": component}, len(X)

    def accept(offers):
        return model.predict_acceptance(X, offers, **asked)

    p = accept(t)
    if grid is None and hasattr(model, "steps"):
        grid = np.concatenate([[0.0, 1.0], model.steps()])
    offers = searched_offers(accept, count, scale.scaled_revenue(), grid)
    shared = dict.fromkeys(("segment_p", "eta", "k"), np.zeros(count))
    shared["segment"] = np.full(count, -1)
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


class Compared(NamedTuple):
    """Methods judged by answers that they have not seen.

    ``losses`` are mean log losses by place, infinite where a method refused, ``refusals`` why, by
    place; ``each`` the losses of people (n,) by place; ``people`` (n,) are places of those who were
    asked, ``fold`` (n,) theirs, and ``fits`` the models of the folds by place.
    """

    losses: list
    refusals: dict
    each: dict
    people: np.ndarray
    fold: np.ndarray
    fits: dict

    def near_best(self):
        """The first method whose loss is within one standard error of the least."""
        best = int(np.argmin(self.losses))
        for place, own in sorted(self.each.items()):
            more = own - self.each[best]
            if more.mean() <= more.std() / np.sqrt(len(more)):
                return place
        return best

    def rivals(self, place, candidates, y):
        """Fits of methods that answers speak for, too, where that at `place` misses something.

        The log odds of all are combined with factors from 0 up, fitted to some folds and judged on
        the others (stacking, Wolpert 1992). Where these have clearly less loss, answers are not as
        the method has them, and its draws tell too little of what is not known; then the fits of
        all methods with a factor of `PART` and more are given, each with its ``model``,
        ``options``, ``setting`` and ``arrays``. `y` are the answers of all people.
        """
        y, places = np.asarray(y)[self.people] > 0.5, sorted(self.each)
        told = np.exp(-np.column_stack([self.each[one] for one in places]))
        scores = logit(np.clip(np.where(y[:, None], told, 1 - told), EDGE, 1 - EDGE))
        even, joint = np.ones(len(y)), np.empty(len(y))
        for number in np.unique(self.fold):
            held = self.fold == number
            own = scores[~held], y[~held].astype(float), even[~held]
            factors, constant = fitted_factors(*own, True)
            joint[held] = scores[held] @ factors + constant
        gain = self.each[place] - answer_losses(expit(joint), y)
        if gain.mean() <= MISSED * gain.std() / np.sqrt(len(y)):
            return []
        factors, _ = fitted_factors(scores, y.astype(float), even, True)
        return [
            {name: candidates[one][name] for name in ("model", "options", "setting")}
            | {"arrays": model.to_arrays()}
            for one, factor in zip(places, factors, strict=True)
            if factor >= PART
            for model in self.fits[one]
        ]

    def policy(self, place, setting, X, t, revenue, grid=None):
        """Best offers (n,) of people by the models that have not seen their answer.

        With ``accept(offers (n,))``, the chance of a yes to any. Offers are within the 1 % and 99 %
        quantiles of those made, or of a grid.
        """
        X, t = X[self.people], t[self.people]
        offers, bounds, known = np.empty(len(t)), np.quantile(t, [[REACH, 1 - REACH]]), []
        for number, model in enumerate(self.fits[place]):
            held, one = self.fold == number, pricer(model, setting)
            about, kind = one.about(X[held]), np.zeros(held.sum(), dtype=int)
            offers[held] = one.best(about, kind, bounds, revenue, grid)
            known.append((held, one, about))

        def accept(offers):
            p = np.empty(len(t))
            for held, one, about in known:
                p[held] = one.accept(about, offers[held])
            return p

        return offers, accept

    def accepted(self, place, setting, X, t, offers):
        """Chances that people accept theirs (n,), and each of some offers (n, m) in their place.

        By the models that have not seen their answer.
        """
        X, t, own = X[self.people], t[self.people], np.empty(len(self.people))
        each = np.empty((len(own), len(offers)))
        for number, model in enumerate(self.fits[place]):
            held, one = self.fold == number, pricer(model, setting)
            about = one.about(X[held])
            own[held], each[held] = one.accept(about, t[held]), one.accept_each(about, offers)
        return own, each


def compared(X, t, y, candidates, rng, told=None, most=COMPARED):
    """`Compared` methods by their cross-validated log loss on people with an answer.

    Of more people than `most` some are taken at random, in `FOLDS` folds with equal shares of yes.
    `candidates` have ``model``, ``options`` and ``setting``; those that differ in the setting alone
    are of one fit; ``told(kind)`` gives further arguments of ``fit``. A method that refuses these
    people has an infinite loss.
    """
    some = np.arange(len(X))
    if len(X) > most:
        some = np.sort(rng.choice(len(X), most, replace=False))
        X, t, y = X[some], t[some], y[some]
    fold, seed = fold_numbers(y, FOLDS, rng), int(rng.integers(2**31))
    fits, losses, refusals = {}, [np.inf] * len(candidates), {}
    each, models = {}, {}
    for place, one in enumerate(candidates):
        key = (one["model"], repr(one["options"]))
        if key not in fits:
            fits[key] = _held_out(X, t, y, one, fold, seed, told)
        if isinstance(fits[key], CounterweightError):
            refusals[place] = str(fits[key])
            continue
        asked = {"assignment": one["setting"]} if one["setting"] else {}
        p = np.empty(len(y))
        for number, model in enumerate(fits[key]):
            held = fold == number
            p[held] = model.predict_acceptance(X[held], t[held], **asked)
        each[place], models[place] = answer_losses(p, y), fits[key]
        losses[place] = float(each[place].mean())
    return Compared(losses, refusals, each, some, fold, models)


def answer_losses(p, y):
    """Log loss (n,) of answers y (n,), 0 or 1, by the chances p (n,) that they are 1."""
    given = np.where(np.asarray(y) > 0.5, p, 1 - p)
    return -np.log(np.maximum(given, 1e-12))


def answer_loss(p, y):
    """Mean of `answer_losses`."""
    return float(answer_losses(p, y).mean())


def _held_out(X, t, y, one, fold, seed, told=None):
    """A model for each fold, fitted to the others; the refusal where it cannot be."""
    kind, found = load("model", one["model"]), []
    more = told(kind) if told else {}
    try:
        for number in range(FOLDS):
            rng, own = np.random.default_rng([seed, number]), fold != number
            model = kind(**one["options"])
            found.append(model.fit(X[own], y[own], t[own], rng=rng, **more))
    except CounterweightError as error:
        return error
    return found
