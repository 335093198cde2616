"""What pages say of offers for a table of one's own.

What they bring a person and in all, by the model and by answers to offers that were drawn at
random; within limits; in the next experiment.
"""

import math

from counterweight.errors import in_figures
from counterweight.evaluation.offer_value import RANDOM_P, Against, Together, gain_shown
from counterweight.reporting.blocks import Card
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Line, Sheet
from counterweight.reporting.study_page import allotted_in_words
from counterweight.reporting.wording import (
    MINUS,
    SMALLEST,
    amount,
    capital,
    listing,
    middle,
    number,
    percent,
    places_for,
    total,
)
from counterweight.tables.parquet import read_table

_ENDS = ("", "_low", "_high")


#: What an interval by draws of a fit does not count; in made-up worlds it often is what is missed.
_FORM = " (the interval leaves out that the form of the model may be wrong)"


def in_total(numbers):
    """A sentence and cards on what the offers of the study's file bring, a person and in all.

    Of a table of one's own; "" and none elsewhere. An estimate stands beside its own interval:
    answers to offers that were drawn tell it where there are some, else the model.
    """
    path = numbers.folder / "offers.parquet"
    if not numbers.delivered[0] or not path.exists():
        return "", ()
    limited, columns = _limited(numbers), ["best_offer", "best_revenue", "revenue"]
    table = read_table(path, columns + ["allotted_offer", "allotted_revenue"] * limited)
    past, size = table["revenue"].mean(), len(table)
    claim = table["best_revenue"].mean() - (requested(numbers, "expected_optimism") or 0.0)
    priced, told, whom, by = table["revenue"].notna(), amount, "", ", expected"
    alone, right = _refuted(numbers, claim), _leading(numbers, claim)
    if stated := _stated(numbers):  # nothing by another revenue stands beside what these say
        claim, past, alone, right = (
            requested(numbers, "allotted_free") / size,
            stated[2],
            None,
            None,
        )
        past, priced = past and past / size, priced & (past is not None)
    within = _drawn(numbers, "allotted_drawn")
    if limited:  # the best offers cannot be had: what is within the limits leads
        own = table["allotted_revenue"].sum()
        known = _drawn(numbers, "allotted_revenue")._replace(mean=own)
        how = f"own claim{_FORM if known.bounded else ''}"
        if within.known:
            known, how, by = within, "claim put right by answers", ", put right by answers"
            if not _in_print(own, within, held=True, whole=True)[1]:
                how += f" (the claim itself, {total(own)}, is outside)"
        ends = _in_print(known.mean, known, whole=True)[1]
        sentence = f"Within the limits, {allotted_in_words(table, ends, known.mean, how)}"
        sentence += f"; without limits it would be {total(size * (right.mean if right else claim))}"
        if alone:
            sentence += f" by answers alone, which refute the model's {total(size * claim)}"
        best, known = known.mean / size, known.times(1 / size)
    else:
        offers = table["best_offer"].dropna()
        if not len(offers):
            return _nobody(numbers, past if priced.all() else None, size)
        which = f"the best offer for each person ({_among(numbers)}median {middle(offers)})"
        if table["best_offer"].nunique(dropna=False) == 1:
            which = f"one offer of {an_offer(offers.iloc[0])} to everybody"
        known = right or _drawn(numbers, "expected_revenue")._replace(mean=claim)
        best, how = known.mean, f", by the model's own claim{_FORM if known.bounded else ''}"
        if alone:  # what answers say leads: the curve of the model is off
            past, how = _drawn(numbers, "drawn_snips", "past").mean, ", by answers alone"
            by = how
        elif right:
            how, by = ", by the model's claim put right by answers", ", put right by answers"
            if not _in_print(claim, right, held=True)[1]:
                how += f" (the claim itself, {told(claim)}, is outside)"
        how += _nothing_like_it(numbers)
        if right and (answered := _answered(numbers)) < size:
            size, whom = answered, " with an answer"
        sentence = (
            f"With {which} a person is expected to bring {_words(known)}{how}, and all "
            f"{number(size, 0)} people{whom} {total(size * best)}"
        )
    if priced.all():
        which = "past offers, which were held to no limits," if limited else "past offers"
        sentence += f"; with {which} it is {told(past)} a person and {total(size * past)} in all"
    if alone and not limited:
        sentence += (
            f". The model's own claim, {told(claim)}, is refuted by these answers: best_p and "
            "best_revenue are off, and so may be which offers are best"
        )
    where = ", within the limits" if limited else ""
    shown, note = _in_print(best, known), f"{total(size * best)} in all{whom}{by}"
    cards = [Card(f"Revenue a person{where}", *shown, note)]
    if priced.all():
        by = by if alone and not limited else ", expected"
        note = f"{total(size * past)} in all{whom}{by} with past offers"
        free = ", without the limits" if limited else ""
        cards.append(Card(f"With past offers{free}", told(past), "", note))
    if not (alone and requested(numbers, "single_instead")):  # else it leads
        cards += _one_for_all(numbers, size, ", without the limits" if limited else "")
    return f"{'' if limited else none_better(numbers)}{sentence}.", cards


def none_better(numbers):
    """A sentence, with a blank behind it, on people to whom each offer loses; "" without any."""
    share = requested(numbers, "offers_none")
    if not share:
        return ""
    size = numbers.rows("delivered", "offers_none")["rows"].max()
    who = f"{number(share * size, 0)} of {number(size, 0)} people" if share < 1 else "everybody"
    return (
        f"To make no offer is better for {who}: each that may be made to them loses if it is "
        f"accepted. "
    )


def _nobody(numbers, past, size):
    """The first sentence and cards where to make no offer is better for everybody; `past` ones
    bring so much a person, None where that is not known."""
    said, cards = none_better(numbers), [Card("Revenue a person", "0", "", "without any offer")]
    if past is not None:
        brings = f"{amount(past)} a person and {total(size * past)} in all"
        said += f"With past offers it is {brings}, by the model's own claim."
        cards.append(Card("With past offers", amount(past), "", f"{total(size * past)} in all"))
    return said.strip(), cards


def taken_to_earn(numbers):
    """What an accepted offer is taken to earn where nobody said it, and that is no amount."""
    offer = numbers.plan["offer"]
    if offer["direction"] != "up" or offer["revenue"] is not None:
        return ""
    return (
        " An accepted offer is taken to earn the part of the range of offers that is not given "
        "away, 1 at the least and 0 at the largest: say offer.revenue to have amounts."
    )


def _among(numbers):
    """Of which offers the best ones are, where these are of few that were made; "" elsewhere."""
    if not requested(numbers, "offers_only_made"):
        return ""
    made = [an_offer(float(name)) for name in level_names(numbers)]
    told = listing(made) if len(made) <= _NAMED else f"{len(made)} from {made[0]} to {made[-1]}"
    return f"of those that were made, {told}; "


def _nothing_like_it(numbers):
    """Words on people whose best offer lies between those that were made; "" where none does."""
    share = requested(numbers, "offers_untried")
    if not share:
        return ""
    return (
        f" (for {percent(share, 0 if share >= 0.1 else 1)} of the people nothing like the best "
        "offer was tried: the interval holds whatever they may say to it, between the offers that "
        "were made)"
    )


def _one_for_all(numbers, size, free=""):
    """The card of the best offer to everybody: by answers where past offers were random.

    `free` says that it keeps no limits, where others keep some.
    """
    price, known = requested(numbers, "single_drawn"), _drawn(numbers, "drawn_snips", "single")
    if stated := _stated(numbers):
        price, value, _ = stated
        note = f"{total(value)} in all, with {an_offer(float(price))} for everybody"
        yield Card(f"One offer for all, by the model{free}", amount(value / size), "", note)
        return
    if price is not None and not math.isnan(known.low):
        note = f"{total(size * known.mean)} in all, with {an_offer(price)} for everybody"
        yield Card(f"One offer for all, by answers{free}", *_in_print(known.mean, known), note)
        return
    levels = _levels(numbers)
    if levels:
        at = max(levels, key=levels.get)
        note = f"{total(size * levels[at])} in all, with {an_offer(float(at))} for everybody"
        note += _unasked(numbers)
        yield Card(f"One offer for all, by the model{free}", amount(levels[at]), "", note)


def _put_right(numbers, how="doubly_robust"):
    """The claim of the offers that are delivered, put right by answers to offers near them."""
    part = "single" if requested(numbers, "single_instead") else "best"
    return _drawn(numbers, f"drawn_{how}", part)


def _leading(numbers, claimed):
    """The Estimate by answers that leads before the model's claim; None where that leads."""
    right = _put_right(numbers)
    if math.isnan(right.low):
        return None
    return _refuted(numbers, claimed) or right


def _answered(numbers):
    """Of how many people answers to offers that were drawn are known."""
    return int(numbers.rows("delivered", "drawn_doubly_robust")["rows"].max())


def _refuted(numbers, claimed):
    """What answers alone say, where neither they nor the claim put right by them hold the claim.

    Of the offers that are delivered, where past ones were random; else None.
    """
    alone, right = (_put_right(numbers, how) for how in ("snips", "doubly_robust"))
    known = not any(map(math.isnan, (alone.low, right.low, claimed)))
    hold = known and any(_in_print(claimed, one, held=True)[1] for one in (alone, right))
    return alone if known and not hold else None


def _in_print(value, known, figures=4, *, held=False, whole=False, sign=False):
    """An amount and the interval of `known` in print, all with the decimals of the largest.

    The interval is "" where none is known and, if it is to be `held`, where the amount is not
    within it as printed. `whole` is of sums, of hundreds without decimals.
    """
    if math.isnan(known.low):
        return amount(value, figures, sign), ""
    numbers = (value, known.low, known.high)
    places = places_for(numbers, 0, figures, SMALLEST)
    if whole and max(map(abs, numbers)) >= 100:
        places = 0
    low, high = (number(one, places) for one in numbers[1:])
    inside = known.low <= value <= known.high or number(value, places) in (low, high)
    return number(value, places, sign), f"[{low}, {high}]" if inside or not held else ""


def _words(known, figures=4, sign=False):
    """An Estimate in print, with its interval where one is known."""
    return " ".join(filter(None, _in_print(known.mean, known, figures, sign=sign)))


def _over(numbers, answers):
    """What the offers that are delivered bring a person more than past ones, and than one for all.

    By `answers` where these check them, else by the model; Estimates, unknown where none is, and
    the one offer for all.
    """
    price = requested(numbers, "single_drawn")
    if answers:
        return _drawn(numbers, "drawn_over_past"), _drawn(numbers, "drawn_gain"), price
    levels = _levels(numbers)
    price = float(max(levels, key=levels.get)) if levels else math.nan
    return *(_drawn(numbers, "expected_over", part) for part in ("past", "single")), price


def _unasked(numbers):
    """Words on people to whose like the one offer for all was never made; "" without any."""
    share = requested(numbers, "single_unasked") or 0.0
    told = f" (never made to people like {percent(share, 0 if share >= 0.1 else 1)} of these)"
    return told if share else ""


def no_gain(numbers):
    """A sentence on what the offers are not shown to bring more than, and what to do; else None.

    Of limits, and where answers to offers that were drawn have the last word, nothing is said.
    """
    path = numbers.folder / "offers.parquet"
    if _limited(numbers) or not (numbers.delivered[0] and path.exists()):
        return None
    answers = not math.isnan(_put_right(numbers).low)
    past, single, price = _over(numbers, answers)
    offers = read_table(path, ["best_offer"])["best_offer"]
    if offers.isna().all():
        return None
    which, made = "the best offer for each person", "make each person an offer of their own"
    rivals = {"past offers": (past, "go on as before")}
    if offers.nunique(dropna=False) == 1:
        which = f"one offer of {an_offer(offers.iloc[0])} to everybody"
        made = f"make everybody {an_offer(offers.iloc[0])}"
    elif single.known:
        whom = "everybody to whose like it was made" if _unasked(numbers) else "everybody"
        way = f"make {whom} {an_offer(price)}"
        if not answers:
            way = f"make some new people, drawn by chance, the one offer {an_offer(price)}, and "
            way += "see what it brings before all get it: the model alone says so"
        rivals[f"one offer of {an_offer(price)} for all{_unasked(numbers)}"] = single, way
    rivals = {
        name: (one, way)
        for name, (one, way) in rivals.items()
        if one.known and not gain_shown(one.mean, one.low)
    }
    if not rivals:
        return None
    names, gains = [*rivals], [_words(one, 3, sign=True) for one, _ in rivals.values()]
    by, told = "by the model's own claim", "as far as the model can tell"
    if answers:
        by, told = "put right by answers", "as far as the answers can tell"
    brings = "bring" if "past offers" in rivals else "brings"
    ways = [way for _, way in reversed(rivals.values())]
    return (
        f"No gain of {which} over {' or '.join(names)} is shown: {by}, the difference a person is "
        f"{listing(gains)}.",
        f"Do not {made} yet: {told}, {listing(names)} {brings} no less. "
        f"{capital(', or '.join(ways))}.",
    )


def claimed(numbers):
    """Sentences on what offers.csv adds up to, and what choosing by a curve adds to that claim."""
    path = numbers.folder / "offers.parquet"
    if not numbers.delivered[0] or not path.exists():
        return
    claim, off = read_table(path, ["best_revenue"])["best_revenue"], 0.0
    if not requested(numbers, "single_instead"):
        off = requested(numbers, "expected_optimism")
    led, why = _leading(numbers, claim.mean() - (off or 0.0)), ""
    if off is None:
        why = ", and this method has no draws that tell by how much: expect less than that"
    elif off > 0:
        why = f", by {in_figures(off, 2)} a person by draws of the fit: that is taken off "
        why += "what the best offers bring by the model"
        if _limited(numbers):
            why += " without limits; nothing is taken off what offers within the limits bring"
    if why or led:
        curve = "The largest value of an estimated curve is above the truth by chance"
        yield (
            "best_revenue of offers.csv is the model's own claim, "
            f"{amount(claim.mean())} on average and {total(claim.sum())} in all."
            f"{why and f' {curve}{why}.'}"
        )
    if requested(numbers, "expected_rough"):
        still = (
            " Where past offers went strongly by the columns it is too high still, by 9 % in the "
            "mean of made-up worlds: make some offers at random first."
        )
        yield (
            "This method is boosting, and what its offers bring is rough: trees hold back what few "
            "rows say, and draws do not tell by how much, so the interval also holds the claim with "
            f"nothing taken off.{'' if requested(numbers, 'offers_random') else still}"
        )


#: Offers that were made, up to which all are named.
_NAMED = 5


def _levels(numbers):
    """By offer, in print, what it brings a person by the model if everybody gets it."""
    return {part: requested(numbers, "uniform_revenue", part) for part in level_names(numbers)}


def _limited(numbers):
    """Whether offers keep limits together."""
    return requested(numbers, "allotted_revenue") is not None


def _stated(numbers):
    """Where limits say other amounts than offer.revenue: by theirs the best offer for all, in
    print, with what it brings in all, and what past ones do, None if unknown. Else ()."""
    best = numbers.rows("delivered", "allotted_single")[["part", "value"]].to_numpy().tolist()
    return (*best[0], requested(numbers, "allotted_past")) if best else ()


def an_offer(value):
    """An offer in four figures, without zeros behind them."""
    return in_figures(value).replace("-", MINUS)


def level_names(numbers):
    """Offers that were tried on everybody, as texts, from the least."""
    return sorted(numbers.places("part", "delivered", "uniform_revenue", ""), key=float)


def against(numbers):
    """A sentence where past answers contradict the direction of offers; "" elsewhere."""
    known = [requested(numbers, "offers_against", name) for name in Against._fields]
    return "" if None in known else Against(*known).words(numbers.plan["offer"]["direction"])


def together(numbers):
    """A sentence where answers of rows alike in every column go together; "" elsewhere."""
    known = [requested(numbers, "offers_together", name) for name in Together._fields]
    return "" if None in known else Together(*known).words()


def next_steps(numbers):
    """What somebody who has these offers does next."""
    if against(numbers):
        yield (
            "Correct offer.direction and what an accepted offer earns (offer.revenue), and run "
            "again. If they are right, ask by what past offers were made: their answers then do "
            "not tell what others would bring."
        )
        return
    none = 0.0 if _limited(numbers) else requested(numbers, "offers_none") or 0.0
    if none == 1:
        yield (
            "Make nobody one of these offers: all that were made lose if they are accepted. Look "
            "whether offer.revenue is right; if it is, make some people others, at random."
        )
        return
    new = "new_offers.csv" if numbers.plan.get("new_rows") else "the saved model"
    unshown = no_gain(numbers)
    if limited := _limited(numbers):
        new = f"the column allotted_offer of {new}" if "csv" in new else f"{new} (allot)"
    flagged = "pass over those that are flagged: nothing like their best offer was tried."
    kept = "which keep the limits among them, " if limited else ""
    if requested(numbers, "offers_untried"):
        yield (
            "Make offers that were made before, or try some of the others at random first: where "
            "neither offer.grid nor offer.between names others, best offers are of those that were "
            "made."
        )
    if none:
        yield "Make none to people whose best_offer is blank."
    if unshown:
        yield unshown[1]
    elif math.isnan(_put_right(numbers).low):
        yield (
            f"Make some new people, drawn by chance, the offers of {new}, {kept}and see what they "
            f"bring before all get them: the model alone says so. And {flagged}"
        )
    else:
        yield f"Make new people the offers of {new}, {kept}and {flagged}"
    planned = numbers.get("collect", "labels_planned", "unlabeled").known
    if not (planned or numbers.measured("tried_revenue")):
        untold = numbers.get("labels", "rows_dropped", "").mean > 0
        whom = "in the table without an answer" if untold else "whom you add without an answer"
        why = (
            "To know more closely what the best offers earn, make some of the next at random, too: "
            if requested(numbers, "offers_random")
            else "These are expectations of a model. Make some of the next offers at random, and "
            "their answers tell what offers earn without one: "
        )
        yield f"{why}collect: {{budget: 200}} says which to make to whom, of people {whom}."


# Where past offers were drawn at random: what offers earn by answers alone.


def _drawn(numbers, metric, part=""):
    """An Estimate of what is delivered, with the ends of its interval; unknown where it is not."""
    found = [requested(numbers, f"{metric}{end}", part) for end in _ENDS]
    mean, low, high = (math.nan if value is None else value for value in found)
    return Estimate(mean=mean, low=low, high=high)


def _by_answers(numbers, part):
    known = _drawn(numbers, "drawn_snips", part)
    if math.isnan(known.low):
        return "an unknown amount (nothing like them was offered)"
    return _words(known)


def at_random(numbers):
    """Sentences on past offers that were drawn at random: what answers alone say, and what follows.

    The first one is None unless one offer for all is given away.
    """
    random, p = (requested(numbers, name) for name in ("offers_random", "offers_random_p"))
    if random is None:
        return
    told = requested(numbers, "offers_random", "told")
    if not random:
        said = (
            f"Past offers seem to go by the columns (a test of chance has p {_p(p)}), so that no "
            "weights but estimated ones can check the claim; offer.random: true says that they were drawn."
        )
        yield from (None, None if told else said)
        return
    price, gain = requested(numbers, "single_drawn"), _drawn(numbers, "drawn_gain")
    instead = requested(numbers, "single_instead")
    more = "" if math.isnan(gain.mean) or math.isnan(gain.low) else _words(gain, 3, sign=True)
    chance = "" if gain.high < 0 else "; it may be chance, and one offer is simpler"
    yield (
        f"One offer of {an_offer(price)} is given to everybody: by cross-fitted answers it earns "
        f"more than the model's best offers, by a standard error at least (difference {more} a "
        f"person, of claims put right by answers{chance})."
        if instead
        else None
    )
    claimed = requested(numbers, "drawn_claimed", "best")
    so = "and only if they were do" if told and p < RANDOM_P else "so"
    how = "were drawn at random, as the config says" if told else "look drawn at random"
    if told and p < RANDOM_P:
        how = "are taken to have been drawn at random, as the config says, though columns tell them"
    yield (
        f"Past offers {how} (test of chance p {_p(p)}), {so} answers to them tell without the "
        "model what offers earn a person. By answers alone the best ones earn "
        f"{_by_answers(numbers, 'best')} where models fitted without them expect "
        f"{amount(claimed)}, one for all ({an_offer(price)}) {_by_answers(numbers, 'single')}, "
        f"past ones {_by_answers(numbers, 'past')}."
        f"{'' if instead else _both_put_right(numbers, more)}"
    )


def _both_put_right(numbers, gain):
    """A sentence on the claims put right by answers: of the best offers and of one for all."""
    best, single = (_drawn(numbers, "drawn_doubly_robust", part) for part in ("best", "single"))
    if math.isnan(best.low) or math.isnan(single.low) or not gain:
        return ""
    return (
        f" Put right by answers, models expect {_words(best)} of the best and "
        f"{_words(single)} of one for all, a difference of {gain}."
    )


def _p(value):
    return "< .001" if value < 0.001 else f"= {value:.2g}".replace(" 0.", " .")


class _Amounts(Column):
    """A column of amounts, which may be small in the unit of the table."""

    def style(self, numbers):
        measure, sizes = super().style(numbers), numbers.rows("delivered", self.metric)["value"]
        size = sizes.abs().median()
        small = measure.digits is None and 0 < size < 1e-4
        return measure._replace(digits=places_for([size], most=SMALLEST)) if small else measure


def _column(metric, label="", show="mean", in_all=False):
    """A column of what was requested, by the part of its line; `in_all` over all people."""

    def value(numbers, line):
        known = _drawn(numbers, metric, line.place["part"])
        return known.times(numbers.rows("delivered", metric)["rows"].max() if in_all else 1)

    return _Amounts(metric, label, value=value, show=show)


DRAWN = Sheet(
    "What offers earn a person, by answers to offers that were drawn at random",
    lambda numbers: [
        Line("delivered", label, {"part": part})
        for part, label in (
            ("best", "The best offers of the model"),
            ("single", "One offer for all"),
            ("past", "Past offers"),
        )
        if requested(numbers, "drawn_snips", part) is not None
    ],
    (
        _column("drawn_claimed", "Claimed by the model", "interval"),
        _column("drawn_snips", "By weights (SNIPS)", "interval"),
        _column("drawn_ips", "By weights (IPS)", "interval"),
        _column("drawn_doubly_robust", "Claim put right by weights", "interval"),
    ),
    first="Offers",
    note="Offers to a person, and one for all, are chosen without that person's answer (folds). "
    "Answers to offers near them count, each over the share of offers that are; what an accepted "
    "offer earns is known. Past offers: what was earned.",
    best=False,
)


# What pages of offers say of limits that these keep together, and of the next experiment.


def requested(numbers, metric, part=""):
    """A number of what was requested beyond best offers; None where it was not."""
    found = numbers.rows("delivered", metric)
    found = found[found["part"] == part]
    return float(found["value"].iloc[0]) if len(found) else None


#: What limits are called in sentences.
_LIMITS = {
    "capacity": "who accept",
    "budget": "given away, in units of the offer",
    "quality": "mean quality of those who accept",
    "share": "share of the group among those who accept",
}


def limits_of(numbers):
    """Names of the limits that offers were to keep."""
    return [name for name in _LIMITS if requested(numbers, "limit_used", name) is not None]


def _covered(numbers, name):
    """What the chance of keeping a limit is over; "" where that was not measured."""
    fit = requested(numbers, "limit_confidence_fit", name)
    if fit is None:
        return ""
    if fit:
        return " over answers and over what the fit is not sure of, if its form is right"
    return (
        " over the chance in answers alone: this method has no draws that tell how far its fit is "
        "off, so more may accept than that"
    )


def within_limits(numbers):
    """Sentences on offers within limits, and on the next experiment."""
    value, free, greedy, none, tried, best, low = (
        requested(numbers, name)
        for name in (
            *("allotted_revenue", "allotted_free", "allotted_greedy", "allotted_none"),
            *("tried_revenue", "level_revenue", "tried_least_p"),
        )
    )
    limits = limits_of(numbers) if value is not None else []
    expected = numbers.rows("delivered", "expected_revenue")
    # As the first sentence has it: what is optimistic in it is taken off.
    if len(expected) and not _stated(numbers):
        claim, size = expected["value"].iloc[0], expected["rows"].iloc[0]
        right = _leading(numbers, claim)
        free = float(size * (right.mean if right else claim))
    if value is not None:
        own, within = value, _drawn(numbers, "allotted_drawn")
        value = within.mean if within.known else own
        cost = f" {percent(1 - value / free, 1)} less than without" if free > value else ""
        beside = f"; the rule of the best people first would earn {total(greedy or 0)}"
        if within.known:
            beside = f"; by the model's own claim it is {total(own)}, and the rule of the best "
            beside += f"people first would earn {total(greedy or 0)}"
        beside = "" if greedy is None or not limits else beside
        gets = "1 person gets none" if none == 1 else f"{number(none or 0, 0)} people get none"
        left = f"; {gets}" if none else ""
        yield (
            f"Offers within the limits bring {total(value)} in all,{cost or ' as without'}"
            f"{beside}{left}."
        )
    if _stated(numbers):
        yield (
            "These amounts, and those without limits and of past offers beside them, go by revenue "
            "and spent under limits. best_offer, best_revenue and revenue of offers.csv, tables of "
            "one offer for everybody, and what past answers say of these go by offer.revenue."
        )
    for name in limits:
        used, bound, price, sure = (
            requested(numbers, f"limit_{what}", name)
            for what in ("used", "bound", "price", "confidence")
        )
        how = f", kept with confidence {percent(sure, 0)}{_covered(numbers, name)}" if sure else ""
        least = "at least" if name in ("quality", "share") else "at most"
        worth = f"; one more would earn {amount(price, 3)}" if price and least == "at most" else ""
        does = "" if price else "; it changes nothing"
        yield (
            f"Expected {_LIMITS[name]}: {amount(used)}, {least} {amount(bound)} were requested"
            f"{how}{worth}{does}."
        )
    if tried is not None:
        yield (
            f"The next experiment (tried_offer and its chance propensity, at least {low:.2g}) is "
            f"expected to earn {amount(tried)}, {percent(1 - tried / best, 1)} less than the best "
            "levels; a log of its answers can value any rule that chooses among these offers."
        )


LEVELS = Sheet(
    "One offer for everybody, by its size",
    lambda numbers: [
        Line("delivered", in_figures(float(part), 6), {"part": part})
        for part in level_names(numbers)
    ],
    (
        _column("uniform_accepted", "Would accept"),
        _column("uniform_revenue", "Revenue a person"),
        _column("uniform_revenue", "Revenue in all", in_all=True),
    ),
    first="Offer to everybody",
    note=lambda numbers: (
        "Expected, by the delivered model"
        + (
            ", which answers alone refute: see what offers earn by these."
            if _refuted(numbers, requested(numbers, "expected_revenue") or math.nan)
            else "."
        )
    ),
    best=False,
)
LIMITS = Sheet(
    "Limits that offers keep together",
    lambda numbers: [
        Line("delivered", capital(name), {"part": name}) for name in limits_of(numbers)
    ],
    tuple(_column(f"limit_{what}") for what in ("bound", "used", "price")),
    first="Limit",
    note="Expected, by the fitted model. The price is what one more unit would earn.",
    best=False,
)
