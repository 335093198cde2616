"""What a study of offers delivers: one method fitted on every answer, and offers for people."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.delivery.saved_models import learned_encoder
from counterweight.delivery.saved_offers import ROUGH, SavedOffers
from counterweight.errors import CounterweightError, in_brackets, in_figures, listed
from counterweight.evaluation.offer_value import (
    RANDOM_P,
    against_direction,
    answers_together,
    best_single,
    chance_of_draws,
    drawn_density,
    drawn_value,
    gain_shown,
    off_by,
    single_choices,
)
from counterweight.labeling.columns import copies_of, forms_of, once, types_of
from counterweight.labeling.offered import answered_rows, hole_ends, holes, offer_range
from counterweight.labeling.split import prepared_rows
from counterweight.models.choice.offer_limits import columns_asked
from counterweight.models.choice.offer_model import scale_of
from counterweight.models.choice.offer_training import answer_loss, compared, told_categories
from counterweight.models.choice.offers_to_try import as_asked, coins_of_offers, drawn_by
from counterweight.models.choice.pricing import offer_reasons, tell_offers
from counterweight.numerics.checks import features_named, one_of_each
from counterweight.numerics.estimate import ratio_mean
from counterweight.tables.parquet import (
    by_setting,
    metrics_table,
    read_columns,
    read_models,
    read_table,
    write_table,
)
from counterweight.tables.saved_form import write_answers
from counterweight.tables.study_data import by_repeat, found_rows, generator

#: People, at most, of the comparison of methods in a study that keeps no answers from them.
COMPARED = 1500
#: Nats by which losses that are the same may differ.
SAME = 1e-5
_ABSENT = "Results are of rows that the table does not have: run the study again."


def final_offers(job):
    """Fit a method on every answer, save it, and write an offer for each person.

    Of several methods it is the one of least log loss on answers that it has not seen: those of
    the test rows of the study's repeats, or else cross-validated ones.
    """
    given = job.given
    frame, features, _, rule, outcome = prepared_rows(job, ordered=True)
    labels = read_columns(job.input.labels)
    copies = copies_of(job, frame)
    first, layout = by_repeat(labels)[0], once(rule, copies)(frame)
    at, answers = answered_rows(frame, features, layout, outcome)
    rows, held = frame["row"].to_numpy(), None
    if len(given["candidates"]) > 1:
        held = _held_out_losses(job, labels, rows[at], answers)
    if layout["world"] is not None:
        # Of worlds drawn anew each repeat has its own; the model that is delivered is of the first.
        own = layout["world"][at] == 0
        at, answers = at[own], answers[own]
    with features_named([name for name in features.columns if name != "row"]):
        told = job, frame, features, labels, at, answers, layout["offer"], held
        saved, losses, drawn, within = _fitted(*told)
    places = found_rows(features["row"].to_numpy(), rows[at], _ABSENT) if within else None
    if not given["everybody"]:
        features = features[features["row"].isin(first["row"])]
    people = found_rows(rows, features["row"].to_numpy(), _ABSENT)
    made_to, people = layout["offer"][people], frame.iloc[people]
    X = features.drop(columns="row").to_numpy(dtype=float)
    if given["everybody"]:
        saved.facts["optimism"] = saved.optimism(X)
    priced, untried = saved.priced(X), 0.0
    if given["everybody"]:
        untried = float((np.ptp(saved.between(priced["best_offer"]), axis=0) > 0).mean())
        saved.facts |= {"untried": untried} if untried else {}
        none = float(np.isnan(priced["best_offer"]).mean())
        saved.facts |= {"best_none": none} if none else {}
    # What was offered to people; null where nothing was.
    inside = (made_to >= saved.scale.low) & (made_to <= saved.scale.high)
    expected, levels = [], []
    if given["everybody"]:
        levels, expected = _levels(saved, X, made_to[inside]), _expected(saved, X, priced)
        if not any(one["metric"] == "drawn_doubly_robust" for one in drawn):
            expected += _gains(saved, X, priced, levels, np.where(inside, made_to, np.nan))
        unasked = _unasked(saved, priced, levels, drawn)
        over = _told_over(expected + drawn, alike=np.ptp(priced["best_offer"]) == 0)
        saved.facts["answers"] = _shown(expected + drawn, over)
        unshown = [name for name, (value, low, _) in over.items() if not gain_shown(value, low)]
        if unasked and SINGLE in unshown:
            never = f" (never made to people like {100 * unasked[0]['value']:.3g} %)"
            unshown[unshown.index(SINGLE)] += never
        expected += unasked
        saved.facts["no_gain"] = unshown
    saved.save(job.output.model)
    table = saved.named(people) | priced
    if given["id"] not in table:
        table["row"] = people["row"].to_numpy("int64")
    coins = None
    if given.get("experiment") is not None:
        coins = coins_of_offers(saved, people, drawn_by(job, "experiment"))
    asked = given.get("limits"), given.get("experiment"), coins
    p = np.full(len(X), np.nan)
    p[inside] = saved.accepted(X[inside], made_to[inside])
    known = {"answers": partial(within, places) if within else None, "past": (made_to, p)}
    columns, records = as_asked(saved, X, people.reset_index(drop=True), *asked, **known)
    # Copies have the role of the one that is learned from or judged.
    one, place = one_of_each(copies, len(rows))
    own = pd.Series(rows[one][place], index=rows).loc[people["row"]]
    role = pd.Series(first["role"], index=first["row"]).reindex(own).fillna("")
    made = {"role": role.to_numpy(str), "offer": made_to, "p": p}
    made["revenue"] = p * saved.scale.revenue(made_to)
    # People stand in the file as in the table, whatever order draws go by.
    table = pd.DataFrame(table | columns | made).iloc[np.argsort(people["row"].to_numpy())]
    table = table.reset_index(drop=True)
    write_answers(job.output.offers, job.output.csv, table)
    if hasattr(job.output, "metrics"):
        records = _comparison(given, saved, losses, len(table)) + drawn + records
        for column, reason in saved.pooled_reasons().items():
            if many := int((table["reason"] == reason).sum()):
                place = {"metric": "offers_pooled", "part": column, "rows": len(table)}
                records.append(place | {"value": many / len(table)})
        if none := saved.facts.get("best_none"):
            records.append({"metric": "offers_none", "value": none, "rows": len(table)})
        if untried:
            records.append({"metric": "offers_untried", "value": untried, "rows": len(table)})
        if saved.facts["offer"].get("only_made"):
            records.append({"metric": "offers_only_made", "value": 1.0, "rows": len(table)})
        records += levels + expected
        write_table(job.output.metrics, metrics_table(given["study"], "delivered", records))
    tell_offers(job.log, table, given["labeling"]["options"]["offer"])


def _fitted(job, frame, features, labels, at, answers, made, held):
    """The saved method of the answers of some rows, the losses of all by their places, records of
    what its offers earn where past ones were drawn at random, and then what those within limits do.

    Where it was trained on every answer in the first repeat, that fit is the one.
    """
    given, options = job.given, job.given["labeling"]["options"]
    low, high = offer_range(options, labels["offer"])
    first, rows = by_repeat(labels)[0], frame["row"].to_numpy()[at]
    names = [name for name in features.columns if name != "row"]
    answer = given["outcome"]["options"].get("column")
    encoder = learned_encoder(frame, names, given["features"], answer, saved="model")
    X, offers = features.set_index("row").loc[rows].to_numpy(dtype=float), made[at]
    offer = options | {"column": options["offer"], "low": low, "high": high}
    categories, answers = features.attrs.get("categories"), answers.astype(float)
    asked = partial(told_categories, names=names, categories=categories)
    scaling, gaps = scale_of(offer, labels["offer"]), ()
    if given["everybody"]:
        gaps = offer["holes"] = holes(labels["offer"])
        offer["only_made"] = offer.get("grid") is None and scaling[1] is not None
        if offer["only_made"]:
            offer["grid"] = np.unique(labels["offer"]).tolist()
    scaled = scaling[0].scaled(offers)
    chosen, losses, comparison = chosen_method(job, X, scaled, answers, asked, held)
    drawn = None
    if comparison is not None and given["everybody"]:
        told = options.get("random"), np.sort(scaling[0].scaled(gaps), axis=1)
        drawn = drawn_offers(comparison, chosen, X, scaled, answers, scaling, *told)
    against = None
    if given["everybody"]:
        random = drawn is not None and drawn.random
        against = against_direction(X, scaled, answers, offers, random)
    stored = None
    everyone = (first["role"] == "train").all() and np.array_equal(first["row"], rows)
    if everyone and job.input.model:
        models = dict(zip(given["methods"], np.atleast_1d(job.input.model), strict=True))
        stored = by_setting(read_models(str(models[chosen["method"]]))[0, "general"])[""]
    facts = {name: given[name] for name in ("study", "title", "id")} | {
        "method": chosen["method"],
        "losses": {_name(given["candidates"][place]): loss for place, loss in losses.items()},
        "id_numbers": bool(given["id"]) and pd.api.types.is_numeric_dtype(frame[given["id"]]),
    }
    facts |= _typed(job.input.columns, encoder.columns_)
    limits = given.get("limits") or {}
    facts["asked"] = _typed(job.input.columns, columns_asked(limits))
    # Where limits say that everybody gets an offer, or what one earns, losses are no reason.
    facts["none"] = limits.get("skip", True) and limits.get("revenue") is None
    if facts["none"] and drawn is not None and drawn.best is not None and drawn.best.claimed < 0:
        drawn = Drawn(*drawn[:4])  # all offers lose: to be held against each other they need not be
    rivals = []
    if comparison is not None and given["everybody"]:
        rivals = comparison.rivals(chosen["place"], given["candidates"], answers)
    facts["rests_on"] = _rests_on(chosen, losses, given["candidates"], drawn)
    records = [] if drawn is None else drawn.records()
    if against is not None:
        facts["doubt"] = against.words(offer["direction"])
        job.log.warning("%s", facts["doubt"])
        told = {"metric": "offers_against", "rows": len(X)}
        records += [told | {"part": p, "value": v} for p, v in against._asdict().items()]
    if rivals:
        others = listed(dict.fromkeys(one["model"] for one in rivals))
        facts["rests_on"].append(
            f"Answers are not as this method has them: several methods together foretell them "
            f"better, so that intervals also hold the best offers by fits of {others}."
        )
    if drawn is not None and drawn.instead:
        facts["single_offer"] = float(drawn.single)
    saved = SavedOffers.fitted(
        X,
        offers,
        answers,
        encoder,
        method={name: chosen[name] for name in ("method", "model", "options")},
        setting=chosen["setting"],
        offer=offer,
        categories=categories,
        rng=generator(given["seed"], given["stream"], 0, f"final {chosen['model']}"),
        stored=stored,
        facts=facts,
        rivals=rivals,
    )
    if given["everybody"] and (tied := answers_together(X, answers, saved.accepted(X, offers))):
        job.log.warning("%s", tied.words())
        saved.facts["doubt"] = " ".join([*([facts["doubt"]] if against else ()), tied.words()])
        told = {"metric": "offers_together", "rows": len(X)}
        records += [told | {"part": p, "value": v} for p, v in tied._asdict().items()]
    if saved.rough:
        facts["rests_on"].append(ROUGH)
    if offer.get("only_made"):
        facts["rests_on"].append(
            f"Only {listed(in_figures(one, 6) for one in offer['grid'])} were made, and no answer "
            "tells of what lies between: offers are of these (offer.between: any lets others be)."
        )
    for sentence in facts["rests_on"]:
        job.log.info("%s", sentence)
    # No answer is near offers between few that were made.
    if drawn is None or not drawn.random or (len(gaps) and not offer["only_made"]):
        return saved, losses, records, None
    within = partial(drawn_within, comparison, chosen, X, scaled, answers, scaling[0])
    return saved, losses, records, within


class Drawn(NamedTuple):
    """Whether past offers were drawn at random, and what offers earn then by answers alone.

    ``told`` is what the config says, None where `p` of the test decides; ``best`` and ``one`` are
    `DrawnValue` of the method's offers and of one for all, ``single`` in the user's unit, ``past``
    what was earned a person, ``gain`` an Estimate of the difference; ``instead`` says that one for
    all earns more, by a standard error, and is given away. ``over_past`` is what those given away
    earn more than past ones, an Estimate of the same people.
    """

    told: bool | None
    p: float
    random: bool
    rows: int
    past: object = None
    best: object = None
    one: object = None
    gain: object = None
    single: float = float("nan")
    instead: bool = False
    over_past: object = None

    def records(self):
        """Measurements of what is delivered."""
        found = [("offers_random", float(self.random)), ("offers_random_p", self.p)]
        if self.random and self.best is None:
            return []
        if self.random:
            found += [("single_drawn", self.single), ("single_instead", float(self.instead))]
            found += _estimate_records("drawn_gain", self.gain)
            found += _estimate_records("drawn_over_past", self.over_past)
        made = [{"metric": name, "value": value, "rows": self.rows} for name, value in found]
        if self.told is not None:
            # Told by the config, whatever the test says.
            made.append({"metric": "offers_random", "value": 1.0, "part": "told"})
        for part, own in (("best", self.best), ("single", self.one)) if self.random else ():
            told = [("drawn_claimed", own.claimed)]
            for name in ("ips", "snips", "doubly_robust"):
                told += _estimate_records(f"drawn_{name}", getattr(own, name))
            made += [{"metric": n, "value": v, "part": part, "rows": self.rows} for n, v in told]
        for name, value in _estimate_records("drawn_snips", self.past) if self.random else ():
            made.append({"metric": name, "value": value, "part": "past", "rows": self.rows})
        return [one for one in made if np.isfinite(one["value"])]


def _estimate_records(name, estimate):
    if estimate is None:
        return []
    ends = (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high))
    return [(f"{name}{end}", float(value)) for end, value in ends]


def drawn_offers(comparison, chosen, X, t, y, scaling, told=None, gaps=()):
    """`Drawn` of the offers of a chosen method, cross-fitted; one for all is, too.

    The latter is the best by the method's own curves, taken over all people: they hold more than
    the answers near one offer, by which it is chosen only where that earns more beyond chance.

    `scaling` is of `scale_of`; `told` whether offers were drawn at random, None to test it; `gaps`
    are `holes`, scaled: one for all is none of them, and other offers have the bounds of both ends.
    """
    (scale, grid), place = scaling, chosen["place"]
    people, fold = comparison.people, comparison.fold
    p = chance_of_draws(X[people], t[people])
    random, rows = (p >= RANDOM_P if told is None else told), len(people)
    if not random:
        return Drawn(told, p, False, rows)
    revenue = scale.scaled_revenue()
    asked = chosen["setting"], X, t, revenue, grid
    offers, accept = comparison.policy(place, *asked)
    made, answers = t[people], np.asarray(y, dtype=float)[people]
    choices = tried_alone(single_choices(made, grid), gaps)
    earned = np.column_stack([accept(np.full(rows, one)) for one in choices])
    earned *= revenue[0] + revenue[1] * choices
    by_curves, by_answers = np.empty(rows), np.empty(rows)
    for number in np.unique(fold):
        own = fold == number
        by_curves[own] = choices[earned[own].mean(axis=0).argmax()]
        by_answers[own] = best_single(made[~own], answers[~own], revenue, choices)
    shared, values = (accept(made), drawn_density(made), revenue), []
    for policy in (offers, by_curves, by_answers):
        ends = hole_ends(policy, gaps)
        between = [(end, accept(end)) for end in ends] if (ends[0] < ends[1]).any() else ()
        told_of = made, answers, policy, accept(policy), *shared
        values.append(drawn_value(*told_of, between=between))
    best, one, other = values
    everyone = choices[earned.mean(axis=0).argmax()]
    # Answers near one offer are few: their choice is taken where it is better beyond chance.
    more = _gain(other, one)
    if more is not None and more.low > 0:
        one, everyone = other, best_single(made, answers, revenue, choices)
    gain = _gain(best, one)
    earned = answers * (revenue[0] + revenue[1] * made)
    past = ratio_mean(earned)
    everyone = scale.offers(everyone)
    everyone = float(scale.rounded(everyone)) if grid is None else float(everyone)
    instead = gain is not None and gain.value < -gain.standard_error
    given = one if instead else best
    over_past = None if given.snips is None else given.more(earned)
    return Drawn(told, p, True, rows, past, best, one, gain, everyone, instead, over_past)


def drawn_within(comparison, chosen, X, t, y, scale, places, asked, found):
    """What offers within limits bring in all by answers to offers that were drawn at random.

    Value and ends of its interval: what the model claims of those that are `found`, put right by
    weighted answers as in `drawn_value`. The same limits are kept anew by models that have not
    seen a person's answer. `places` (n,) are of the people with an answer, among all. Empty where
    that cannot be, or no answer is near.
    """
    at, offers = places[comparison.people], np.clip(scale.scaled(asked.offers), 0.0, 1.0)
    made, answers = t[comparison.people], np.asarray(y, dtype=float)[comparison.people]
    at_made, each = comparison.accepted(chosen["place"], chosen["setting"], X, t, offers)
    try:
        choice = asked.again(found, at, each)
    except CounterweightError:
        return ()
    rows, own, got = np.arange(len(at)), np.maximum(choice, 0), choice >= 0
    worth = asked.worth[at, own]
    policy = np.where(got, offers[own], np.nan)
    off = off_by(made, answers, policy, at_made, drawn_density(made), worth)
    if off is None:
        return ()
    brought = np.where(got, each[rows, own] * worth - asked.spent[own], 0.0) + off
    # What is known of these people by the claim is not told by chance.
    told = ratio_mean(brought - asked.programme().earned(found.choice)[at])
    return tuple(found.value + len(asked.p) * one for one in (told.value, told.low, told.high))


def _gain(value, other):
    """An `Estimate` of what offers earn above others, both a `DrawnValue`; None where unknown."""
    if value.snips is None or other.snips is None:
        return None
    return value.more(other)


def tried_alone(offers, gaps):
    """Those of some offers that lie in no hole; all where each does."""
    ends = hole_ends(offers, gaps)
    tried = ends[0] == ends[1]
    return np.asarray(offers)[tried] if tried.any() else np.asarray(offers)


def _rests_on(chosen, losses, candidates, drawn):
    """Sentences on what delivered offers rest on."""
    name, loss = _name(chosen), losses.get(chosen.get("place"))
    made = "The method is the one that was asked for."
    if loss is not None and len(candidates) > 1:
        made = f"Of {len(candidates)} methods {name} is the one to go by: log loss {loss:.3f}."
    if drawn is None or not drawn.random:
        tested = "" if drawn is None else f" (a test of chance has p = {drawn.p:.2g})"
        return [
            f"Offers are taken to have been made by what the columns tell{tested}; no table can "
            "show that they were.",
            made,
        ]
    how = "as the config says" if drawn.told else f"a test of chance has p = {drawn.p:.2g}"
    said = [f"Offers were drawn at random ({how}).", made]
    if drawn.gain is not None:
        ends = in_brackets(drawn.gain.value, drawn.gain.low, drawn.gain.high)
        said.append(
            f"By weighted answers the offers of {name} earn {ends} more a person than one for all."
        )
    if drawn.instead:
        said.append(f"So one for all, {in_figures(drawn.single, 6)}, is given away.")
    return said


def _name(candidate):
    return f"{candidate['method']} {candidate['setting']}".strip()


def _typed(columns, needed):
    """Types and forms of the columns that new people must have, by a column report."""
    if not columns:
        return {}
    report = read_table(columns)
    types, forms = types_of(report), forms_of(report)
    strange = [name for name in needed if name not in types]
    if strange:
        raise CounterweightError(
            f"limits name {strange[0]!r}, no column of the table: it has {listed(types)}."
        )
    return {
        "types": {name: types[name] for name in needed},
        "forms": {name: forms[name] for name in needed if name in forms},
    }


def _held_out_losses(job, labels, rows, answers):
    """Log loss of each candidate on the test rows of all repeats; None where there are none."""
    paths = getattr(job.input, "predictions", None)
    if not len(paths or ()) or not (labels["role"] == "test").any():
        return None
    losses = []
    tables = dict(zip(job.given["methods"], np.atleast_1d(paths), strict=True))
    for one in job.given["candidates"]:
        table = read_columns(str(tables[one["method"]]))
        own = (table["role"] == "test") & (table["setting"] == one["setting"])
        places = found_rows(rows, table["row"][own], _ABSENT)
        losses.append(answer_loss(table["p"][own], np.asarray(answers)[places]))
    return losses


def chosen_method(job, X, t, answers, asked, losses=None):
    """A candidate, all losses by place, and how they were `Compared`, None where they were not.

    It is that of least log loss on answers not seen; where they are cross-validated on a table of
    one's own, the first one whose loss is within a standard error of the least. With ``place``. A
    single one on a table of one's own is cross-validated, too, for what its offers earn by answers.
    """
    candidates = job.given["candidates"]
    only = (candidates[0] | {"place": 0}, {}, None) if len(candidates) == 1 else None
    if only and not job.given["everybody"]:
        return only
    refusals, how, comparison = {}, "held-out", None
    if losses is None:
        rng = generator(job.given["seed"], job.given["stream"], 0, "comparison")
        most = {} if job.given["everybody"] else {"most": COMPARED}
        comparison = compared(X, t, answers, candidates, rng, asked, **most)
        losses, refusals = comparison.losses, comparison.refusals
        how = "cross-validated"
    if only and refusals:  # of a part of the rows: the fit to all says what is wrong, if anything
        return only
    if len(refusals) == len(candidates):
        raise CounterweightError(f"No method can be delivered. {refusals[0]}")
    known = {}
    for place, one in enumerate(candidates):
        if place in refusals:
            job.log.warning("%s is passed over: %s", _name(one), refusals[place])
        else:
            known[place] = losses[place]
            job.log.info("%s: %s log loss %.4f", _name(one), how, losses[place])
    # Methods that come to the same fit differ by rounding: the first one of them is taken.
    least = min(losses) + SAME
    place = next(at for at, loss in enumerate(losses) if loss <= least)
    if comparison is not None and job.given["everybody"]:
        place = comparison.near_best()
    chosen = candidates[place] | {"place": place}
    job.log.info("delivered: %s", _name(chosen))
    return chosen, known, comparison


#: Offers to everybody that are told of, where no grid says which; up to `FEW` all that were made.
LEVELS, FEW = 7, 30
#: Offers from the level below the best one to that above it, among which one may earn still more.
BETWEEN = 41


def _levels(saved, X, past):
    """Records of one offer for all, by the model: who would accept, and revenue a person.

    At the levels of the grid, or at past offers (n,): all where they are few, else those nearest to
    `LEVELS` points that are spread evenly between the least and the largest; without a grid also
    at the best offer between them, since people's best ones may be any number, too.
    """
    grid, made = saved.facts["offer"]["grid"], np.unique(past)
    gaps = saved.facts["offer"].get("holes", ())
    if grid is not None:
        made = tried_alone(np.sort(grid), gaps)
    elif len(made) > FEW:
        points = np.linspace(made[0], made[-1], LEVELS)
        made = made[np.unique(np.abs(made[:, None] - points).argmin(axis=0))]

    def expected(levels):
        """Who would accept each level, and the revenue a person (2, levels)."""
        p = [saved.accepted(X, np.full(len(X), float(level))).mean() for level in levels]
        return np.array([p, p * saved.scale.revenue(np.asarray(levels, dtype=float))])

    values = expected(made)
    if grid is None and not len(gaps) and len(made) > 1:
        at = values[1].argmax()
        between = np.linspace(made[max(at - 1, 0)], made[min(at + 1, len(made) - 1)], BETWEEN)
        between = np.setdiff1d(saved.scale.rounded(between), made)
        near = expected(between)
        if len(between) and near[1].max() > values[1].max():
            best = near[1].argmax()
            place = np.searchsorted(made, between[best])
            made = np.insert(made, place, between[best])
            values = np.insert(values, place, near[:, best], axis=1)
    return [
        {"metric": name, "value": float(value), "part": f"{level:.6g}", "rows": len(X)}
        for level, told in zip(made, values.T, strict=True)
        for name, value in zip(("uniform_accepted", "uniform_revenue"), told, strict=True)
    ]


def _expected(saved, X, priced):
    """Records of what the best offers bring a person."""
    found = saved.expected_of(X, priced)
    names = ("", "_low", "_high"), found[:3]
    made = {f"expected_revenue{end}": value for end, value in zip(*names, strict=True)}
    made |= {"expected_optimism": found.optimism} if saved.has_draws else {}
    made |= {"expected_rough": 1.0} if saved.rough else {}
    return [
        {"metric": name, "value": float(value), "rows": len(X)}
        for name, value in made.items()
        if np.isfinite(value)
    ]


#: Share of people from which it is told that one offer for all was never made to such people.
UNASKED = 0.01


def _best_for_all(levels):
    """The offer that earns most where everybody has the same, by the model's records of them."""
    rates = {one["part"]: one["value"] for one in levels if one["metric"] == "uniform_revenue"}
    return float(max(rates, key=rates.get))


def _unasked(saved, priced, levels, drawn):
    """Record of the share of people to whose like the best offer for all was never made: it lies
    beyond what such people were offered (chance alone, where offers were drawn), or nobody like
    them was offered anything."""
    untried, unmade, *_ = offer_reasons(saved.facts["offer"]["column"])
    unlike = ~priced["supported"] & ~np.isin(priced["reason"].astype(str), (untried, unmade))
    if not any(one["metric"] == "single_drawn" for one in drawn):
        price = _best_for_all(levels)
        unlike |= (price < priced["offered_min"]) | (price > priced["offered_max"])
    found = {"metric": "single_unasked", "value": float(unlike.mean()), "rows": len(unlike)}
    return [found] if unlike.mean() >= UNASKED else []


def _gains(saved, X, priced, levels, past):
    """Records of what the best offers bring a person more, by the model, each draw of the same
    people: than the best of one for all, and than `past` ones (n,), NaN where none were made."""
    best = priced["best_offer"]
    others = {"past": past}
    if np.ptp(best) != 0:  # also where some get none
        others["single"] = np.full(len(X), _best_for_all(levels))
    found = []
    for part, other in others.items():
        rows = np.flatnonzero(np.isfinite(other))
        people, own, beside = X[rows], best[rows], other[rows]
        worth = saved.accepted(people, beside) * saved.scale.revenue(beside)
        claim = float(np.mean(priced["best_revenue"][rows] - worth))
        off = most = saved.facts["optimism"]
        back = 0.0
        if part == "single":
            # All that choosing adds, or half where a prior has held curves back: within are both.
            most = max(min(saved.by_choosing(X), claim), 0.0)
            off = back = most if off else most / 2
        value = claim - off
        told = people, own, saved.scale.revenue(own), len(rows) * value
        low, high = (one / len(rows) for one in saved.total_ends(*told, beside=beside))
        ends = low - (most - off), high + back
        for end, one in zip(("", "_low", "_high"), (value, *ends), strict=True):
            if np.isfinite(one):
                made = {"metric": f"expected_over{end}", "part": part, "rows": len(rows)}
                found.append(made | {"value": one})
    return found


#: What delivered offers are compared with: in words, by answers and by the model.
SINGLE = "the best one for all"
_OVER = {
    "past offers": (("drawn_over_past", None), ("expected_over", "past")),
    SINGLE: (("drawn_gain", None), ("expected_over", "single")),
}


def _told_over(records, alike):
    """By what delivered offers are compared with: value and ends of what they bring more.

    Where they are `alike` for everybody they are one for all themselves.
    """
    known, told = {(one["metric"], one.get("part")): one["value"] for one in records}, {}
    for name, ways in _OVER.items():
        for metric, part in ways:
            ends = [known.get((f"{metric}{end}", part), np.nan) for end in ("", "_low", "_high")]
            if np.isfinite(ends[0]) and not (alike and name != "past offers"):
                told[name] = ends
    return told


def _shown(records, over):
    """What a notebook shows: what the best offers bring a person, by the model and by answers, and
    how much more than others; see `_told_over`. The claim put right leads, as on the page."""
    known, told = {(one["metric"], one.get("part")): one["value"] for one in records}, {}
    given = "single" if known.get(("single_instead", None)) else "best"
    for metric, part, by in (
        ("drawn_doubly_robust", given, "by the model's claim put right by answers"),
        ("expected_revenue", None, "as the model expects"),
        ("drawn_snips", given, "by answers alone"),
    ):
        ends = [known.get((f"{metric}{end}", part), np.nan) for end in ("", "_low", "_high")]
        if np.isfinite(ends[0]):
            told[f"revenue a person by the best offers, {by}"] = [False, *ends]
    for name, ends in over.items():
        told[f"more a person than {name}"] = [False, *ends]
    return told


def _comparison(given, saved, losses, count):
    """Records of the method that is delivered and of those that it was chosen from."""
    # A page of one's own table is about the method that is delivered.
    metric = "delivered" if given["everybody"] else "given_away"
    place = {"part": saved.facts["method"], "setting": saved.facts["setting"]}
    return [{"metric": metric, "value": 1.0, "rows": count} | place] + [
        {
            "metric": "validated_log_loss",
            "part": one["method"],
            "setting": one["setting"],
            "value": losses[at],
            "target": "general",
        }
        for at, one in enumerate(given["candidates"])
        if at in losses
    ]
