"""Promises about rates, one by one: what predictions make of each, and how sure that is."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.coefficients import affine, checked_parameters, rate_parts
from counterweight.numerics.rates.language import (
    PARAMETERS,
    Operation,
    UndefinedRate,
    parse_constraint,
)
from counterweight.numerics.rates.measures import meter_of

#: Rules of prediction, in the order of all arrays here.
RULES = ("deterministic", "randomised")
#: A promise is kept that is missed by no more than this: rounding of a solver.
ROUNDING = 1e-6
#: What is told of a promise by each rule, in the order of the arrays of `promise_values`.
TOLD = ("left", "right", "excess", "standard_error")


class Promise(NamedTuple):
    """A plain constraint by one rule on some rows.

    ``excess`` is by how much it is broken (at most 0 where it is kept): left minus right side for
    ``<=``, right minus left for ``>=``; ``low`` to ``high`` is its interval. ``verdict`` is kept,
    broken or undecided.
    """

    promise: str
    rule: str
    rows: str
    left: float
    right: float
    excess: float
    low: float
    high: float
    verdict: str


def plain_promises(constraints):
    """The plain constraints of texts, shorthands written out."""
    if isinstance(constraints, str):
        constraints = [constraints]
    return [plain for text in constraints for plain in parse_constraint(text)]


def promise_values(p, decided, data, constraints, parameters=None, level=0.95):
    """Sides, excess and standard error of each plain constraint, by both rules.

    Parameters
    ----------
    p : array (n,)
        Chance of a positive prediction.
    decided : array (n,)
        The deterministic predictions, 0 or 1; None for p > 1/2.
    data : DataSets
    constraints : sequence of str
    parameters : dict of str to float, optional
    level : float
        Of the intervals that the standard errors are for; see `standard_errors`.

    Returns
    -------
    array (m, 2, 4)
        By constraint and by `RULES`: `TOLD`. NaN where a set lacks the rows, labels or scores.
    """
    known = checked_parameters(parameters)
    meter = meter_of(p, data, known, decided=decided, errors=True, undefined="nan")
    found = np.full((len(plains := plain_promises(constraints)), 2, 4), np.nan)
    for j, plain in enumerate(plains):
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                (left, dleft), (right, dright) = meter.value(plain.left), meter.value(plain.right)
                change = np.broadcast_to(dleft - dright, (2, len(data)))
        except CounterweightError as error:
            raise CounterweightError(f"Constraint {plain.text}: {error}") from error
        sign = 1.0 if plain.sign == "<=" else -1.0
        variance = (change**2).sum(axis=1) + _small_sample(plain, data, known, level)
        # Two rules a line: sides are numbers where they hold no rate.
        lines = [left, right, sign * (left - right), np.sqrt(variance)]
        found[j] = np.column_stack([np.broadcast_to(line, 2) for line in lines])
        meter.known.clear()  # influences are 2n numbers for each rate
    return found


def _small_sample(plain, data, parameters, level):
    """What Wilson's interval adds to the variance of a share: z^2 / 4n^2 for each rate.

    Without it a share of 0 or 1 among few rows would count as known for certain.
    """
    try:
        _, terms = affine(Operation("-", plain.left, plain.right), data, parameters)
        added = 0.0
        for rate, factor in terms.items():
            name = {"precision": "error", "fmeasure": "recall"}.get(rate.name, rate.name)
            mass = rate_parts(name, rate.sets, data).mass
            if mass is not None:
                added += factor**2 * (np.dot(mass, mass) / mass.sum() ** 2) ** 2
    except UndefinedRate:
        return np.nan
    return added * float(ndtri(0.5 + level / 2)) ** 2 / 4


def verdict(excess, low, high, fact=False):
    """kept, broken or undecided; of a fact the interval does not matter."""
    if not np.isfinite(excess):
        return "undecided"
    if fact:
        return "kept" if excess <= ROUNDING else "broken"
    return "kept" if high <= ROUNDING else "broken" if low > ROUNDING else "undecided"


def promises_of(values, constraints, rows, level=0.95):
    """What `promise_values` gave, as a list of `Promise`.

    Parameters
    ----------
    values : array (m, 2, 4)
    constraints : sequence of str
    rows : str
        Which rows: of ``training`` rows the verdict is a fact, else it goes by the interval.
    level : float
        Of the intervals, normal ones with rows drawn independently.
    """
    z, told = float(ndtri(0.5 + level / 2)), []
    for plain, both in zip(plain_promises(constraints), values, strict=True):
        for rule, (left, right, excess, error) in zip(RULES, both, strict=True):
            low, high = excess - z * error, excess + z * error
            says = verdict(excess, low, high, rows == "training")
            numbers = map(float, (left, right, excess, low, high))
            told.append(Promise(plain.text, rule, rows, *numbers, says))
    return told


def told_promises(promises):
    """A sentence on each promise, one for both rules."""
    for first, second in zip(promises[::2], promises[1::2], strict=True):
        parts = [f"{one.rule} {_kept(one)}" for one in (second, first)]
        yield f"{first.promise}: {', '.join(parts)} on {first.rows} rows."


def _kept(promise):
    if promise.verdict == "undecided":
        return "undecided" if np.isfinite(promise.excess) else "not defined"
    if promise.verdict == "kept":
        return "kept"
    return f"broken by {promise.excess:.3g}"


def promises_asked(study, method):
    """What a method is held to: its own constraints, else those of the main method.

    Those of the main method only where no number in them is swept.

    Returns
    -------
    dict or None
        ``texts``, and ``numbers`` that stand in them.
    """
    for name in filter(None, dict.fromkeys([method, study.get("main")])):
        options, sweep = (study["methods"][name][key] or {} for key in ("options", "sweep"))
        texts = [*(options.get("constraints") or ())]
        texts += [options["constraint"]] if options.get("constraint") else []
        if texts and (name == method or not {*PARAMETERS} & {*sweep}):
            known = {key: options.get(key) for key in PARAMETERS}
            numbers = {key: value for key, value in known.items() if value is not None}
            return {"texts": texts, "numbers": numbers}
    return None
