"""How wrong an answer could be where labels are missing: sentences, and a table by Γ."""

import math

from counterweight.files.settings import setting_options
from counterweight.numerics.sensitivity import MOST, TWICE, turn_sentence
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Line, Sheet, in_words
from counterweight.reporting.swept import GIVEN, reference_of, swept_of, whom_of
from counterweight.reporting.wording import number, percent


def turns(numbers, source, conclusion, target):
    """The side of a conclusion that holds at Γ = 1 with its breakdown value by repeat.

    Returns
    -------
    side : str
        above or below; "" where nothing was measured.
    known : Estimate
    """
    sides = {
        side: numbers.get(source, "turns_at", target, part=conclusion, variable=side)
        for side in ("above", "below")
    }
    sides = {side: one for side, one in sides.items() if one.known}
    if not sides:
        return "", Estimate()
    side = max(sides, key=lambda one: sides[one].mean)
    return side, sides[side]


def turn(conclusion, known):
    """A conclusion with its breakdown value; over repeats with the range of it."""
    text = turn_sentence(conclusion, known.mean if known.least < MOST else math.inf)
    if known.n > 1 and known.greatest > known.least and known.least < MOST:
        text = f"{text[:-1]} on average, {number(known.least, 1)} to {number(known.greatest, 1)} "
        text += f"over {known.n} splits."
    return text


def how_wrong(numbers):
    """What is assumed, the range at Γ = 2, breakdown values, and the truth where it is known."""
    shown = list(swept_of(numbers))
    if not shown:
        return
    first = shown[0]
    around = "the tilt" if numbers.plan.get("tilt") else "missing at random"
    yield (
        "How wrong it could be: labels may be missing for reasons that no column shows. Γ says by "
        "what factor, at equal features, the odds of an outcome may differ from what is assumed "
        f"of rows without a label. Γ = 1 is {around}; Γ = {TWICE:g}, odds at most twice or half "
        "as large, is a point of reference and no estimate: no data tell Γ."
    )
    if first.source != GIVEN:
        label = numbers.label(reference_of(numbers))
        yield (
            f"Swept are the chances that {label} learns from labeled rows. Where its form is wrong "
            "for rows of other kinds than those, numbers are off at Γ = 1, though labels be "
            "missing at random."
        )
    for one in shown:
        yield one.sentence + "."
    yield from conclusions(numbers, first.target)
    yield from _truth(numbers, shown)


def conclusions(numbers, target):
    """Sentences on the Γ at which conclusions turn."""
    given, _ = numbers.given_away
    main, whom = given or numbers.main, whom_of(numbers, target)
    for source in dict.fromkeys((GIVEN, reference_of(numbers))):
        side, known = turns(numbers, source, "rate", target) if source else ("", Estimate())
        if side:
            binary = numbers.measured("swept_rate", target)
            what = "share of 1" if binary else "mean outcome"
            conclusion = f"The {what} among {whom} is {side} that of the labeled rows"
            yield turn(conclusion, known)
            break
    for source in (GIVEN, main):
        others = numbers.places("part", source, "turns_at", target) if source else []
        for other in others:
            side, known = turns(numbers, source, other, target)
            if other == "rate" or not side:
                continue
            against = {"constant": "one answer for all"}.get(other)
            against = against or numbers.label(numbers.baseline if other == "reference" else other)
            more = {"above": "more", "below": "less"}[side]
            yield turn(f"{numbers.label(main)} decides right {more} often than {against}", known)
        if others:
            break
    share = numbers.get(GIVEN, "decisions_open", target)
    if share.known:
        yield (
            f"{percent(share.mean)} of the decisions on rows without a label would turn if their "
            f"odds were {TWICE:g} times as large, or as small (estimates between 1/3 and 2/3)."
        )


def _truth(numbers, shown):
    """From which Γ on the bounds hold what hidden labels say."""
    for one in shown:
        place = {"part": one.metric}
        known = numbers.get(one.source, "gamma_of_truth", one.target, **place)
        if known.known and one.metric in ("swept_rate", "swept_accuracy"):
            size = f"from Γ = {number(known.mean, 1)} on"
            if known.mean <= 1.005:
                size = "at Γ = 1 already"
            elif known.least >= MOST:
                size = f"not up to Γ = {MOST:g}"
            yield (
                f"The hidden labels, which nobody sees in practice: {one.title[0].lower()}"
                f"{one.title[1:]} is {in_words(one.truth, one.measure)}; the bounds hold it {size}."
            )


def _lines(numbers):
    for one in list(swept_of(numbers))[:1]:
        for setting in one.ends("least"):
            yield Line(
                one.source, f"Γ = {setting_options(setting)['gamma']:g}", {"setting": setting}
            )


def _columns(numbers):
    for one in swept_of(numbers):
        for end in ("least", "most"):
            yield Column(
                one.metric,
                f"{one.title}: {end}",
                target=one.target,
                source=one.source,
                place={"variable": end},
                show="mean",
            )


#: Bounds by Γ: a line each.
BY_GAMMA = Sheet(
    "How wrong it could be, by Γ",
    _lines,
    lambda numbers: tuple(_columns(numbers)),
    first="Odds at most",
    fold=True,
    best=False,
)
