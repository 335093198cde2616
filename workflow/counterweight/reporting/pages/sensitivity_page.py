"""How wrong an answer could be where labels are missing: what was swept by Γ, in words."""

import math
from dataclasses import dataclass

from counterweight.numerics.sensitivity import MOST, TWICE, turn_sentence
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Line, Sheet, in_words
from counterweight.reporting.wording import number, percent, places_for
from counterweight.tables.parquet import setting_name, setting_options

#: What is swept: metric, what it is called in a title, what hidden labels say of it elsewhere.
SWEPT = (
    ("swept_rate", "Share of 1", None),
    ("swept_mean", "Mean outcome", None),
    ("swept_gain", "Gain in accuracy over {reference}", None),
    ("swept_accuracy", "Accuracy of {method}", "accuracy"),
    ("swept_brier", "Brier score of {method}", "brier"),
)
#: Whose rows, in print.
AMONG = {"general": "everyone", "unlabeled": "those without a label"}
GIVEN = "delivered"


@dataclass(frozen=True)
class Swept:
    """A quantity of a study by Γ.

    ``name`` and ``title`` say what it is, in short and in full; ``common`` says whether one
    factor for all rows gives a curve of its own; ``truth`` is what hidden labels say, where there
    are any.
    """

    numbers: object
    source: str
    metric: str
    target: str
    name: str
    title: str
    common: bool
    truth: Estimate

    @property
    def measure(self):
        return self.numbers.measure(self.metric)

    def at(self, gamma, end):
        """The `Estimate` of an end at a Γ."""
        place = {"setting": setting_name({"gamma": float(gamma)}), "variable": end}
        return self.numbers.get(self.source, self.metric, self.target, **place)

    def ends(self, end):
        """The `Estimate` of an end by setting, in the order of Γ."""
        settings = self.numbers.places(
            "setting", self.source, self.metric, self.target, variable=end
        )
        settings = sorted(settings, key=lambda one: setting_options(one)["gamma"])
        return {
            one: self.numbers.get(self.source, self.metric, self.target, setting=one, variable=end)
            for one in settings
        }

    def range(self, gamma, chance=False):
        """``12.1 to 31.0 %`` at a Γ; with `chance` to the outer ends of the bounds' intervals."""
        unit, factor = _told_in(self.measure)
        least, most = (self.at(gamma, end) for end in ("least", "most"))
        ends = (least.low, most.high) if chance and least.bounded else (least.mean, most.mean)
        places = 1 if factor == 100 else places_for(ends)
        return " to ".join(number(factor * end, places) for end in ends) + unit

    @property
    def centre(self):
        """Around what Γ is swept, in words."""
        return "with the tilt" if self.numbers.plan.get("tilt") else "if missing at random"

    @property
    def sentence(self):
        """The range at Γ = 2 and the estimate."""
        known = self.at(1.0, "least")
        unit, factor = _told_in(self.measure)
        middle = (
            number(factor * known.mean, 1 if factor == 100 else places_for([known.mean])) + unit
        )
        return f"{self.title}: {middle} {self.centre}, {self.range(TWICE)} at Γ = {TWICE:g}"


def swept_of(numbers, target=None):
    """Each `Swept` of a study: of what it gives away, or of its main method.

    By default of the rows without a label where they are a target, else of the first target.
    """
    targets = numbers.plan["targets"]
    target = target or ("unlabeled" if "unlabeled" in targets else targets[0])
    given, _ = numbers.given_away
    main, reference = given or numbers.main, reference_of(numbers)
    names = {"reference": numbers.label(reference) if reference else ""}
    for metric, title, known in SWEPT:
        source = _source(numbers, metric, target, main)
        if source is None:
            continue
        names["method"] = numbers.label(main if source == GIVEN else source)
        truth = Estimate()
        if source != GIVEN and known:
            truth = numbers.get(source, known, target)
        elif metric == "swept_gain":
            truth = numbers.against(reference, source, "accuracy", target).times(100)
        elif source != GIVEN:
            truth = numbers.get(source, metric, target, variable="truth")
        words, whom = title.format(**names), whom_of(numbers, target)
        yield Swept(
            numbers,
            source,
            metric,
            target,
            name=title.partition(" of {")[0].partition(" over {")[0],
            title=f"{words}, {whom}",
            common=metric in ("swept_accuracy", "swept_brier", "swept_gain"),
            truth=truth,
        )


def whom_of(numbers, target):
    """Whose rows, in print."""
    return numbers.plan.get("whom") or AMONG.get(target, target)


def reference_of(numbers):
    """The method whose chances are swept in a study of classifiers; None where there is none."""
    known = [
        one["id"] for one in numbers.methods() if numbers.measured("swept_rate", None, one["id"])
    ]
    return next(iter(known), None)


def _source(numbers, metric, target, main):
    """Whose numbers are shown: what is given away, the main method, else the reference."""
    sources = [GIVEN, main, reference_of(numbers)]
    return next((one for one in sources if one and numbers.measured(metric, target, one)), None)


def _told_in(measure):
    """Unit behind a number, with its blank, and the factor."""
    if measure.percent:
        return " %", 100.0
    return (f" {measure.unit}" if measure.unit == "points" else ""), 1.0


# How wrong an answer could be where labels are missing: sentences, and a table by Γ.


def turns(numbers, source, conclusion, target):
    """The side of a conclusion at Γ = 1 (above, below, "" for none), and where it turns."""
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
