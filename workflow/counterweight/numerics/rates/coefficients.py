"""Rates as coefficients of each row's positive and negative prediction (Problem 2)."""

import numbers
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import (
    LEVELS,
    RATES,
    Number,
    Operation,
    Parameter,
    Rate,
    UndefinedRate,
    check_parameter,
    parse_constraint,
    parse_expression,
    product_refused,
    ratio_refused,
    set_text,
)


class Parts(NamedTuple):
    """A rate is sum(positive * p + negative * (1 - p)) / sum(mass) over `rows`.

    `mass` is None for a count. p is the probability of a positive prediction.
    """

    rows: np.ndarray
    positive: np.ndarray
    negative: np.ndarray
    mass: np.ndarray | None


class Problem(NamedTuple):
    """Problem 2's coefficients: see `compile`."""

    positive: np.ndarray
    negative: np.ndarray
    bounds: np.ndarray
    constants: np.ndarray
    names: list


# y and d (the deployed model's positive prediction) are bool; what a positive prediction
# counts, what a negative one counts, and which rows are the denominator.
_COUNTED = {
    "coverage": lambda y, d: (True, False, True),
    "negative_rate": lambda y, d: (False, True, True),
    "error": lambda y, d: (~y, y, True),
    "accuracy": lambda y, d: (y, ~y, True),
    "recall": lambda y, d: (y, False, y),
    "false_negative_rate": lambda y, d: (False, y, y),
    "false_positive_rate": lambda y, d: (~y, False, ~y),
    "true_negative_rate": lambda y, d: (False, ~y, ~y),
    "true_positives": lambda y, d: (y, False, None),
    "true_negatives": lambda y, d: (False, ~y, None),
    "false_positives": lambda y, d: (~y, False, None),
    "false_negatives": lambda y, d: (False, y, None),
    "errors": lambda y, d: (~y, y, None),
    "churn": lambda y, d: (~d, d, True),
    "changes": lambda y, d: (~d, d, None),
    "wins": lambda y, d: (y & ~d, ~y & d, None),
    "losses": lambda y, d: (~y & ~d, y & d, None),
    "win_rate": lambda y, d: (y & ~d, ~y & d, True),
    "loss_rate": lambda y, d: (~y & ~d, y & d, True),
}


def rate_parts(name, sets, data):
    """What each row of a data set adds to a rate.

    Rates that need labels use the labeled rows of the set with their weights; the others
    use all its rows, with weights only where the set is ``labeled``.

    Parameters
    ----------
    name : str
        Of `RATES`, but not precision or fmeasure.
    sets : tuple of tuple of str
    data : DataSets

    Returns
    -------
    Parts

    Raises
    ------
    CounterweightError
        When the set has no row, label, positive, negative or score that the rate needs.
    """
    kind, where = RATES[name], f"{name}({set_text(sets)})"
    chosen = data.mask(sets)
    if kind.labels:
        total = np.count_nonzero(chosen)
        chosen = chosen & (data.y >= 0)
        if not chosen.any():
            raise UndefinedRate(
                f"{where} needs labels, and none of the {total} rows of {set_text(sets)} has "
                "one: use coverage or churn, or give labels."
            )
    rows = np.flatnonzero(chosen)
    weighted = kind.labels or data.weighted(sets)
    weight = data.weight[rows] if weighted else np.ones(len(rows))
    deployed = deployed_positive(data, rows, where) if kind.deployed else None
    positive, negative, mass = _COUNTED[name](data.y[rows] == 1, deployed)
    if mass is not None:
        mass = weight * mass
        if not mass.any():
            label = {"recall": "positive", "false_negative_rate": "positive"}.get(
                name, "negative" if name.endswith(("positive_rate", "negative_rate")) else None
            )
            which = f"{label} label" if label and kind.labels else "row"
            raise UndefinedRate(
                f"{where} has nothing to be a share of: no {which} with a weight above 0 in "
                f"{set_text(sets)} ({len(rows)} rows)."
            )
    return Parts(rows, weight * positive, weight * negative, mass)


def deployed_positive(data, rows, where):
    """The deployed model's predictions on some rows, bool.

    Raises
    ------
    CounterweightError
        When there is no deployed model, or it has no score for some of the rows.
    """
    if data.deployed is None:
        raise UndefinedRate(f"{where} needs the scores of a deployed model, and none is given.")
    scores = data.deployed[rows]
    missing = np.isnan(scores)
    if missing.any():
        raise UndefinedRate(
            f"{where}: the deployed model has no score for {int(missing.sum())} of {len(rows)} "
            f"rows (first: row {rows[np.argmax(missing)]}); leave them out of the data set."
        )
    return scores > 0


def deployed_value(rate, data):
    """A rate of the deployed model: a number."""
    top = bottom = 0.0
    for name, (above, below) in (rate.counted or {rate.name: (1.0, 0.0)}).items():
        parts = rate_parts(name, rate.sets, data)
        predicted = deployed_positive(data, parts.rows, str(rate))
        total = np.where(predicted, parts.positive, parts.negative).sum()
        total = total if parts.mass is None else total / parts.mass.sum()
        top, bottom = top + above * total, bottom + below * total
    if not rate.counted:
        return float(top)
    if not bottom:
        raise UndefinedRate(f"{rate}: the deployed model has no positive prediction there.")
    return float(top / bottom)


def ratio_base(rate, p, data):
    """What a ratio of predictions is a share of, per labeled weight of its set; 1 for others.

    `compile` multiplies constraints on such rates by it.
    """
    if not rate.counted:
        return 1.0
    base = 0.0
    for name, (_, below) in rate.counted.items():
        parts = rate_parts(name, rate.sets, data)
        own = p[parts.rows]
        base += below * (parts.positive * own + parts.negative * (1 - own)).sum()
    return float(base / rate_parts("error", rate.sets, data).mass.sum())


def affine(tree, data, parameters):
    """An expression as a number plus numbers times rates.

    Returns
    -------
    constant : float
    terms : dict of Rate to float

    Raises
    ------
    CounterweightError
        For products and ratios of rates, parameters without a value, division by 0.
    """
    if isinstance(tree, Number):
        return tree.value, {}
    if isinstance(tree, Parameter):
        check_parameter(tree.name, parameters)
        return float(parameters[tree.name]), {}
    if isinstance(tree, Rate):
        return (deployed_value(tree, data), {}) if tree.deployed else (0.0, {tree: 1.0})
    constant, terms = affine(tree.left, data, parameters)
    other, more = affine(tree.right, data, parameters)
    if tree.sign in "+-":
        sign = 1.0 if tree.sign == "+" else -1.0
        merged = dict(terms)
        for rate, value in more.items():
            merged[rate] = merged.get(rate, 0.0) + sign * value
        return constant + sign * other, merged
    if tree.sign == "/":
        if more:
            raise ratio_refused(next(iter(more)))
        if other == 0:
            raise CounterweightError("An expression divides by 0.")
        return constant / other, {rate: value / other for rate, value in terms.items()}
    if terms and more:
        raise product_refused(next(iter(terms)), next(iter(more)))
    factor, scaled = (constant, more) if more else (other, terms)
    return constant * other, {rate: value * factor for rate, value in scaled.items()}


def _row(terms, data, precision=None):
    """Positive and negative coefficients (n,) of a sum of rates, and its constant.

    s_p + s_n = 1 for each row, so what a row counts for both predictions, and what it
    counts with a minus sign, becomes a constant: the remaining coefficients are >= 0.
    """
    slope = np.zeros(len(data))
    constant = 0.0
    for rate, value in terms.items():
        if rate.counted:
            raise CounterweightError(
                f"{rate} can only be compared with a number, as in {rate} >= 0.8."
            )
        parts = rate_parts(rate.name, rate.sets, data)
        scale = value if parts.mass is None else value / parts.mass.sum()
        slope[parts.rows] += scale * (parts.positive - parts.negative)
        constant += scale * parts.negative.sum()
    return np.maximum(slope, 0), np.maximum(-slope, 0), constant + np.minimum(slope, 0).sum()


def _ratio_terms(rate, value, constant, data):
    """``k bottom - top <= 0`` for a ratio of predictions >= k, as a share of the labeled weight.

    Of ``value * rate + constant <= 0``; e.g. ``k FP <= (1 - k) TP`` for precision.
    """
    level = -constant / value
    if not 0 < level < 1:
        raise CounterweightError(f"{rate} can be asked to be above 0 and below 1, not {level:g}.")
    if rate.name == "fmeasure":
        rate_parts("recall", rate.sets, data)  # of a set without positives it is no number
    parts = rate_parts("error", rate.sets, data)
    scale = (1.0 if value < 0 else -1.0) / parts.mass.sum()
    return {
        Rate(name, rate.sets): scale * (level * below - above)
        for name, (above, below) in rate.counted.items()
    }


def compile(objective, constraints, data, parameters=None):
    """Coefficients of Problem 2 for an objective and constraints given as text.

    With p_i the probability that row i is predicted positive, expression j is
    ``positive[j] @ p + negative[j] @ (1 - p) + constants[j]``, all coefficients >= 0;
    j = 0 is the objective, the others must be at most ``bounds[j - 1]``.

    Parameters
    ----------
    objective : str
    constraints : sequence of str
    data : DataSets
    parameters : dict of str to float, optional
        Values of the names in the expressions, e.g. kappa. None counts as not given.

    Returns
    -------
    Problem
        positive, negative : ndarray (1 + m, n); bounds : ndarray (m,);
        constants : ndarray (1 + m,); names : list of str, the plain constraints' texts.

    Raises
    ------
    CounterweightError
        For texts that cannot be read, unknown data sets, parameters without a value, kappa
        that is not positive, products of rates, and data sets without what a rate needs.
    """
    parameters = checked_parameters(parameters)
    constant, terms = affine(parse_expression(objective), data, parameters)
    if not terms:
        raise CounterweightError(f"The objective {objective!r} has no rate of the model.")
    rows = [_row(terms, data)]
    fixed, bounds, names = [constant], [], []
    if isinstance(constraints, str):
        raise CounterweightError("Constraints are a list of texts, not one text.")
    for constraint in (plain for text in constraints for plain in parse_constraint(text)):
        try:
            row, bound = _constraint_row(constraint, data, parameters)
        except CounterweightError as error:
            raise CounterweightError(f"Constraint {constraint.text}: {error}") from error
        rows.append(row)
        fixed.append(0.0)
        bounds.append(bound)
        names.append(constraint.text)
    return Problem(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array(bounds, dtype=float),
        np.array([row[2] for row in rows]) + fixed,
        names,
    )


def checked_parameters(parameters):
    """Parameters that have a value, as floats; kappa must be above 0."""
    known = {name: value for name, value in (parameters or {}).items() if value is not None}
    for name, value in known.items():
        good = isinstance(value, numbers.Real) and np.isfinite(value)
        if not good or (name == "kappa" and value <= 0):
            asked = "a number above 0" if name == "kappa" else "a number"
            raise CounterweightError(f"{name} must be {asked}, not {value!r}.")
    return {name: float(value) for name, value in known.items()}


def _constraint_row(constraint, data, parameters):
    """Coefficients and constant of a plain constraint's left side, and its bound."""
    for level, kind in constraint.levels:
        value, _ = affine(level, data, parameters)
        holds, asked = LEVELS[kind]
        if not holds(value):
            raise CounterweightError(f"the level must be {asked}, not {value:g}.")
    constant, terms = affine(Operation("-", constraint.left, constraint.right), data, parameters)
    if constraint.sign == ">=":
        constant, terms = -constant, {rate: -value for rate, value in terms.items()}
    terms = {rate: value for rate, value in terms.items() if value != 0}
    if not terms:
        raise CounterweightError("the rates cancel out, so there is nothing to ask for.")
    (rate, value), *more = terms.items()
    if rate.counted and not more:
        terms, constant = _ratio_terms(rate, value, constant, data), 0.0
    return _row(terms, data), -constant
