"""What methods are asked to keep, read from the texts of the plan, and what came of each promise.

A constraint on a rate, or on a ratio of two, is a limit on the measure of the study that has the
same expression, whatever the measure is called. What the study itself says goes first.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from counterweight.evaluation.rates import RULES, requested_value
from counterweight.numerics.rates.language import (
    Number,
    Operation,
    Parameter,
    Rate,
    nodes,
    parse_constraint,
    parse_expression,
)
from counterweight.numerics.rates.values import (
    ROUNDING,
    constraints_requested,
    plain_constraints,
    verdict,
)
from counterweight.reporting import blocks
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Line, Sheet
from counterweight.reporting.wording import Measure, count, listing, percent, setting_label
from counterweight.tables.parquet import setting_options

#: Options of models that hold constraints.
TEXTS = ("constraint", "constraints")
#: A limit binds where training rows come to this share of it.
BINDING = 0.98

_constraints = functools.lru_cache(None)(parse_constraint)
_expression = functools.lru_cache(None)(parse_expression)


class Limit(NamedTuple):
    """What a setting asks of a measure: at most a value, or at least.

    ``deployed``: the value is relative to the measure of the deployed model on the same rows.
    """

    measure: str
    least: bool
    value: float
    deployed: bool = False


def _product(tree, options):
    """An expression as a factor and powers of rates; raises where it is no such product."""
    if isinstance(tree, Rate):
        return 1.0, {tree: 1}
    if not isinstance(tree, Operation):
        return float(tree.value if isinstance(tree, Number) else options[tree.name]), {}
    (a, first), (b, second) = _product(tree.left, options), _product(tree.right, options)
    if tree.sign in "+-":
        if first or second:
            raise ValueError
        return a + b if tree.sign == "+" else a - b, {}
    turn = 1 if tree.sign == "*" else -1
    powers = {rate: first.get(rate, 0) + turn * second.get(rate, 0) for rate in first | second}
    return a * b**turn, {rate: power for rate, power in powers.items() if power}


def _limit(constraint, options, measures):
    """The first measure that a constraint limits, as a `Limit`; None if it limits none."""
    whole = Operation("/", constraint.left, constraint.right)
    for name, text in measures.items():
        try:
            factor, powers = _product(whole, options)
            scale, own = _product(_expression(text), {})
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            continue
        relative = own | {replace(rate, deployed=True): -power for rate, power in own.items()}
        for turn in (1, -1):
            turned = {rate: turn * power for rate, power in powers.items()}
            if factor > 0 and turned in (own, relative):
                least = (constraint.sign == ">=") == (turn == 1)
                return Limit(name, least, scale / factor**turn, turned == relative)
    return None


@functools.lru_cache(2048)
def limits_of(numbers, source, setting=""):
    """What a setting of a method asks for: a tuple of `Limit`; what the study says goes first.

    A method that takes no text is asked what those of others say, if it has the numbers in them.
    """
    protocol, own = numbers.plan["protocol"]["options"] or {}, numbers.method(source)["options"]
    measures, said = protocol.get("measures") or {}, protocol.get("asked")
    options, known = (own or {}) | setting_options(setting), {}
    if said and not math.isnan(value := requested_value(said, options)):
        least = said["form"] == "at_least"
        known[said["measure"], least] = Limit(said["measure"], least, value)
    takes = any(text in options for text in TEXTS)
    for one in [numbers.method(source)] if takes else numbers.methods():
        texts = [(one["options"] or {}).get(name) or [] for name in TEXTS]
        for text in [*([texts[0]] if texts[0] else []), *texts[1]]:
            for constraint in _constraints(text):
                sides = constraint.left, constraint.right
                if takes or any(any(nodes(side, Parameter)) for side in sides):
                    limit = _limit(constraint, options, measures)
                    if limit:
                        known.setdefault((limit.measure, limit.least), limit)
    return tuple(sorted(known.values(), key=lambda limit: limit.deployed))


def settings_of(numbers, source):
    """Settings of a method whose rates were measured."""
    return numbers.settings(source, RULES[0], "general")


def asking(numbers, source):
    """Those that ask for something."""
    return [name for name in settings_of(numbers, source) if limits_of(numbers, source, name)]


def main_of(numbers):
    """The method that the study is about: the named one, else the first that is asked something."""
    main, baseline = numbers.main, numbers.baseline
    if main is None or numbers.plan.get("main") == main:
        return main
    others = [one["id"] for one in numbers.methods() if one["id"] not in (main, baseline)]
    first = [main] if main != baseline else []
    return next((one for one in [*first, *others] if asking(numbers, one)), main)


def asked_measures(numbers):
    """Measures of which anything is asked, those of the main method first."""
    sources = filter(None, [main_of(numbers), *(one["id"] for one in numbers.methods())])
    limits = [
        limit
        for source in sources
        for setting in asking(numbers, source)
        for limit in limits_of(numbers, source, setting)
    ]
    return list(dict.fromkeys(limit.measure for limit in limits))


def rule_of(numbers, source):
    """The rule of prediction by which a method keeps what is asked; its model declares it."""
    return numbers.method(source).get("rule") or RULES[1]


def is_share(numbers, measure):
    """Whether differences of a measure are told in points."""
    return numbers.measure(RULES[0], measure).unit == "share"


def excess(numbers, source, setting, limit, rule, target="general"):
    """By how much a measure breaks its limit, as an `Estimate`; below 0 it is kept.

    In shares for shares; for others relative to the limit, and unknown where that is 0.
    """
    address, place = (source, rule, target), {"measure": limit.measure, "setting": setting}
    wanted = limit.value
    if limit.deployed:
        other = wanted * numbers.values(source, "deployed", measure=limit.measure)
        wanted = other.mean()
        same = target == "general"
        over = numbers.difference(numbers.values(*address, **place), other) if same else Estimate()
    else:
        seen = numbers.get(*address, **place)
        over = seen._replace(
            mean=seen.mean - wanted, low=seen.low - wanted, high=seen.high - wanted
        )
    if not is_share(numbers, limit.measure):
        over = over.times(1 / wanted) if wanted else Estimate()
    return over._replace(mean=-over.mean, low=-over.high, high=-over.low) if limit.least else over


def binds(numbers, source, setting):
    """Whether a setting asks for something that training rows do not give with room."""
    for limit in limits_of(numbers, source, setting):
        if not limit.deployed:
            place = {"measure": limit.measure, "setting": setting}
            seen = numbers.get(source, rule_of(numbers, source), "train", **place)
            seen = seen if seen.known else numbers.get(source, rule_of(numbers, source), **place)
            low, high = sorted((seen.mean, limit.value))
            broken = (seen.mean > limit.value) != limit.least
            if seen.known and (broken or low >= BINDING * high):
                return True
    return False


# Promises of classifiers, one by one: what came of each, on the rows of the fit and others.


#: Rules of prediction in print, and where their numbers stand.
BY = {"deterministic": "by decisions", "randomised": "by chances"}
TRAIN, TEST = "train", "general"
_SIDE = Measure("side of a promise", digits=3)
_EXCESS = Measure("excess", digits=3)


@dataclass(frozen=True)
class Verdict:
    """kept, broken or undecided: by the interval, or as a fact of the rows of the fit."""

    says: str
    fact: bool = False

    def judge(self, estimate):
        if not estimate.known:
            return ""
        low, high = (estimate.mean, estimate.mean) if self.fact else estimate.ends
        return verdict(estimate.mean, low, high, self.fact)


ON_TRAIN = Verdict("On the rows of the fit: kept if broken by no more than rounding.", True)
ON_TEST = Verdict(
    "On rows held out: kept or broken if the whole 95 % interval says so, else undecided."
)


def inline(numbers, source):
    """A method's name inside a sentence."""
    label = numbers.label(source)
    return f"t{label[1:]}" if label.startswith("The ") else label


def texts_of(numbers, source):
    """The plain promises that a method is held to, as texts; empty where none were measured."""
    methods = {one["id"]: one for one in numbers.methods()}
    asked = constraints_requested({"methods": methods, "main": numbers.plan.get("main")}, source)
    texts = [plain.text for plain in plain_constraints(asked["texts"])] if asked else []
    found = [_excess(numbers, source, one, 0).known for one in settings_of(numbers, source)]
    return texts if any(found) else []


def _excess(numbers, source, setting, j, rule="deterministic", target=TEST):
    place = {"part": str(j), "setting": setting}
    return numbers.get(source, f"promise_excess_{rule}", target, **place)


def promise_answer(numbers, main):
    """The sentence on promises and its cards; None of methods with a sweep or without promises."""
    texts = texts_of(numbers, main)
    if not texts or settings_of(numbers, main) != [""]:
        return None
    cards, told = [], {}
    for target, bound, where in ((TRAIN, ON_TRAIN, "rows of the fit"), (TEST, ON_TEST, "new rows")):
        for rule, by in BY.items():
            judged = {
                text: bound.judge(_excess(numbers, main, "", j, rule, target))
                for j, text in enumerate(texts)
            }
            told[target, rule] = judged
            kept = sum(one == "kept" for one in judged.values())
            counts = {word: [*judged.values()].count(word) for word in ("broken", "undecided")}
            note = ", ".join(f"{many} {word}" for word, many in counts.items() if many)
            label = f"Promises kept {by}, {where}"
            cards.append(blocks.Card(label, f"{kept} of {len(texts)}", note=note))
    label, new = numbers.label(main), told[TEST, "deterministic"]
    kept = [text for text in texts if new[text] == "kept"]
    fit = sum(one == "kept" for one in told[TRAIN, "deterministic"].values())
    several = count(len(texts), "promise")
    sentence = f"By its decisions {label[0].lower() if label.startswith('The ') else label[0]}"
    sentence += f"{label[1:]} keeps {fit} of {several} on the rows of the fit"
    others = _others(new)
    sentence += f"; on rows that were held out {len(kept)} of {len(texts)} are shown kept"
    return f"{sentence}{f' ({others})' if others else ''}.{_certified(numbers)}", tuple(cards)


def _certified(numbers):
    """What is known for new rows of the model that is given away, where a confidence was asked."""
    level = numbers.get("delivered", "fit_confidence")
    certified = numbers.get("delivered", "fit_certified")
    if not level.known:
        return ""
    at = f"at {percent(level.mean, 0)}"
    if not certified.known:
        return (
            f" Its margins for new rows ({at}) come from cross-fitting, and nothing certifies it."
        )
    if certified.mean:
        return (
            f" What is given away is certified {at}: held-out rows, which had no say in the fit, "
            "show that new rows like them keep all promises."
        )
    return (
        f" What is given away is not certified {at}: held-out rows do not show that new rows keep "
        "all promises."
    )


def _others(judged):
    parts = []
    for word in ("broken", "undecided"):
        named = [text for text, said in judged.items() if said == word]
        parts += [f"{word}: {listing(named)}"] if named else []
    return "; ".join(parts)


def _lines(swept):
    def lines(numbers):
        main = main_of(numbers)
        sources = [main, *(one["id"] for one in numbers.methods() if one["id"] != main)]
        for source in filter(None, sources):
            texts = texts_of(numbers, source)
            for setting in settings_of(numbers, source) if texts else ():
                if bool(setting) != swept:
                    continue
                name = ", ".join(filter(None, [numbers.label(source), setting_label(setting)]))
                for rank, (j, rule) in enumerate((j, r) for j in range(len(texts)) for r in BY):
                    place = {"setting": setting, "part": str(j), "rule": rule}
                    group = "" if rank else name
                    yield Line(source, f"{texts[j]}, {BY[rule]}", place, group)

    return lines


def _value(what, target):
    def value(numbers, line):
        place = dict(line.place)
        rule = place.pop("rule")
        return numbers.get(line.source, f"promise_{what}_{rule}", target, **place)

    return value


def _columns(target, where, bound):
    for what, label in (("left", "Left side"), ("right", "Right side")):
        yield Column(
            label=f"{label}, {where}", value=_value(what, target), measure=_SIDE, show="mean"
        )
    yield Column(
        label=f"Broken by, {where}", value=_value("excess", target), measure=_EXCESS, bound=bound
    )


COLUMNS = (*_columns(TEST, "held out", ON_TEST), *_columns(TRAIN, "fit", ON_TRAIN))
NOTE = (
    f"Broken by less than 0 ({ROUNDING:g} for rounding) is kept. By decisions: yes or no as given. "
    "By chances: as a rule would have it that tosses a coin near the boundary."
)
PROMISES = Sheet(
    "Each promise", _lines(False), COLUMNS, first="Promise", note=NOTE, fold=False, best=False
)
SWEPT = Sheet(
    "Each promise, by setting",
    _lines(True),
    COLUMNS,
    first="Promise",
    note=NOTE,
    fold=True,
    best=False,
)
