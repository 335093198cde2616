"""What the methods of a study of constraints are asked to keep: read from the texts of the plan.

A constraint of one rate, or of a ratio of two, is a limit on the measure of the study that has the
same expression, whatever the measure is called. What a study itself says goes first.
"""

import functools
import math
from typing import NamedTuple

from counterweight.evaluation.rates.asked import RULES, asked_value
from counterweight.files.settings import setting_options
from counterweight.numerics.rates.language import (
    Number,
    Parameter,
    Rate,
    nodes,
    parse_constraint,
    parse_expression,
)
from counterweight.reporting.numbers import Estimate

#: A limit counts as binding from this share of it on training rows.
BINDING = 0.98
_TEXTS = ("constraint", "constraints")


class Limit(NamedTuple):
    """What a setting of a method asks of a measure.

    ``least``: at least the value, not at most. ``deployed``: the value is that of the deployed
    model, on the same rows.
    """

    measure: str
    least: bool
    value: float
    deployed: bool = False


class _Ratio(NamedTuple):
    """``factor * over / under``; a rate that is not there is None."""

    factor: float = 1.0
    over: Rate | None = None
    under: Rate | None = None

    def by(self, other):
        """Divided by another one; raises ValueError where that is no such ratio."""
        over = [rate for rate in (self.over, other.under) if rate]
        under = [rate for rate in (self.under, other.over) if rate]
        if len(over) > 1 or len(under) > 1 or not other.factor:
            raise ValueError
        return _Ratio(self.factor / other.factor, *(over or [None]), *(under or [None]))

    def inverse(self):
        return _Ratio().by(self)


def _ratio(tree, options):
    """An expression as a `_Ratio`; ValueError where it is none or lacks a number."""
    if isinstance(tree, Rate):
        return _Ratio(over=tree)
    if isinstance(tree, Number | Parameter):
        value = tree.value if isinstance(tree, Number) else options.get(tree.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        return _Ratio(float(value))
    left, right = _ratio(tree.left, options), _ratio(tree.right, options)
    if tree.sign in "*/":
        return left.by(right if tree.sign == "/" else right.inverse())
    if any([*left[1:], *right[1:]]):
        raise ValueError
    return _Ratio(left.factor + right.factor * (1 if tree.sign == "+" else -1))


_constraints = functools.lru_cache(None)(parse_constraint)
_expression = functools.lru_cache(None)(parse_expression)


def _limit(constraint, options, measures):
    """The first measure that a constraint limits, as a `Limit`, or None."""
    try:
        asked = _ratio(constraint.left, options).by(_ratio(constraint.right, options))
    except ValueError:
        return None
    if asked.factor <= 0:
        return None
    for name, text in measures.items():
        try:
            seen = _ratio(_expression(text), {})
        except ValueError:
            continue
        for turned in (False, True):
            one = asked.inverse() if turned else asked
            least = (constraint.sign == ">=") != turned
            if one[1:] == seen[1:]:
                return Limit(name, least, seen.factor / one.factor)
            under = one.under
            if under and under.deployed and (one.over, None) == seen[1:] == (_own(under), None):
                return Limit(name, least, seen.factor / one.factor, True)
    return None


def _own(rate):
    return Rate(rate.name, rate.sets)


@functools.lru_cache(8)
def limits_of(numbers, source, setting=""):
    """What a setting of a method asks for: a tuple of `Limit`, the study's own first.

    A method that takes no constraint as text is asked what the texts of others say, if it has the
    numbers that they name.
    """
    protocol = numbers.plan["protocol"]["options"] or {}
    measures, said = protocol.get("measures") or {}, protocol.get("asked")
    own = numbers.method(source).get("options") or {}
    options = own | setting_options(setting)
    known = {}
    value = asked_value(said, options) if said else math.nan
    if not math.isnan(value):
        least = said["form"] == "at_least"
        known[said["measure"], least] = Limit(said["measure"], least, value)
    constrained = any(option in own for option in _TEXTS)
    for one in [numbers.method(source)] if constrained else numbers.methods():
        for constraint in _told(one):
            named = [*nodes(constraint.left, Parameter), *nodes(constraint.right, Parameter)]
            limit = _limit(constraint, options, measures) if constrained or named else None
            if limit:
                known.setdefault((limit.measure, limit.least), limit)
    return tuple(known.values())


def _told(method):
    """The plain constraints of a method's texts."""
    for option in _TEXTS:
        texts = (method.get("options") or {}).get(option) or []
        for text in [texts] if isinstance(texts, str) else texts:
            yield from _constraints(text)


def settings_of(numbers, source):
    """Settings of a method whose rates were measured."""
    return numbers.settings(source, RULES[0], "general")


def asked_measures(numbers):
    """Measures of which anything is asked, those of the main method first."""
    sources = [main_of(numbers), *(one["id"] for one in numbers.methods())]
    return list(
        dict.fromkeys(
            limit.measure
            for source in sources
            if source
            for setting in settings_of(numbers, source)[:1]
            for limit in limits_of(numbers, source, setting)
        )
    )


def main_of(numbers):
    """The method that the study is about: its main one, or else the first that is asked anything."""
    main = numbers.main
    others = [one["id"] for one in numbers.methods() if one["id"] != numbers.baseline]
    if numbers.plan.get("main") == main or main is None:
        return main
    return next(
        (
            source
            for source in (main, *others)
            if any(limits_of(numbers, source, one) for one in settings_of(numbers, source))
        ),
        main,
    )


def rule_of(numbers, source):
    """The rule of prediction by which a method keeps what is asked; its model declares it."""
    return numbers.method(source).get("rule") or RULES[1]


def excess(numbers, source, setting, limit, rule, target="general"):
    """By how much a measure breaks its limit, as an `Estimate`; below 0 with room.

    In its own unit for shares; for others relative to the limit, and unknown where that is 0.
    """
    place = {"measure": limit.measure, "setting": setting}
    if limit.deployed:
        deployed = numbers.values(source, "deployed", "general", measure=limit.measure)
        if target != "general":
            return Estimate()
        seen = numbers.difference(numbers.values(source, rule, target, **place), deployed)
        wanted = deployed.mean() * limit.value
        seen = _shifted(seen, (1 - limit.value) * deployed.mean())
    else:
        wanted = limit.value
        seen = _shifted(numbers.get(source, rule, target, **place), -wanted)
    if not seen.known:
        return seen
    if not is_share(numbers, limit.measure):
        seen = seen.times(1 / wanted) if wanted else Estimate()
    return seen._replace(mean=-seen.mean, low=-seen.high, high=-seen.low) if limit.least else seen


def _shifted(estimate, by):
    return estimate._replace(
        mean=estimate.mean + by, low=estimate.low + by, high=estimate.high + by
    )


def is_share(numbers, measure):
    """Whether differences of a measure are told in points."""
    return numbers.measure(RULES[0], measure).unit == "share"


def binds(numbers, source, setting):
    """Whether a setting asks for something that training rows do not give by themselves.

    None where it asks for nothing.
    """
    limits = [one for one in limits_of(numbers, source, setting) if not one.deployed]
    for limit in limits:
        place = {"measure": limit.measure, "setting": setting}
        seen = numbers.get(source, rule_of(numbers, source), "train", **place)
        seen = seen if seen.known else numbers.get(source, rule_of(numbers, source), **place)
        if limit.least and seen.mean * BINDING <= limit.value:
            return True
        if not limit.least and seen.mean >= BINDING * limit.value:
            return True
    return False if limits else None
