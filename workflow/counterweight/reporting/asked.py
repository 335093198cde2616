"""What the methods of a study of constraints are asked to keep: read from the texts of the plan.

A constraint on a rate, or on a ratio of two, is a limit on the measure of the study that has the
same expression, whatever the measure is called. What the study itself says goes first.
"""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

from counterweight.evaluation.rates.asked import RULES, asked_value
from counterweight.files.settings import setting_options
from counterweight.numerics.rates.language import (
    Number,
    Operation,
    Parameter,
    Rate,
    nodes,
    parse_constraint,
    parse_expression,
)
from counterweight.reporting.numbers import Estimate

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
    """An expression as a factor and powers of rates.

    Raises
    ------
    ValueError, KeyError, TypeError, ZeroDivisionError
        Where it is no such product, or a parameter has no number.
    """
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
    if said and not math.isnan(value := asked_value(said, options)):
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
