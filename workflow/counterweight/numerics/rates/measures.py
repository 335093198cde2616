"""Values of expressions of rates for given predictions."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.coefficients import (
    checked_parameters,
    deployed_positive,
    rate_parts,
)
from counterweight.numerics.rates.language import (
    Number,
    Parameter,
    Rate,
    UndefinedRate,
    check_parameter,
    parse_expression,
)


def measure(
    p, data, expressions, parameters=None, *, errors=False, undefined="raise", decided=None
):
    """Measure expressions of rates, deterministic (p > 1/2) and randomised (p).

    Ratios and products of rates may be measured; a ratio with denominator 0 is NaN or
    infinite.

    Parameters
    ----------
    p : array (n,)
        Probability of a positive prediction, in [0, 1].
    data : DataSets
        Its ``X`` is not looked at.
    expressions : dict of str to str
    parameters : dict of str to float, optional
    errors : bool
        Whether standard errors are wanted too. They are those of the delta method for rows
        drawn independently, the model given; of the randomised rule's expected rate.
    undefined : {"raise", "nan"}
        What a data set without the rows, labels or scores that a rate needs gives.
    decided : array (n,), optional
        Deterministic predictions, 0 or 1, where they are not p > 1/2.

    Returns
    -------
    dict of str to tuple of float
        (deterministic, randomised), or with `errors` (deterministic, randomised, standard
        error of the first, of the second).

    Raises
    ------
    CounterweightError
        For texts that cannot be read, probabilities outside [0, 1], and as `undefined` says.
    """
    meter = meter_of(p, data, parameters, decided=decided, errors=errors, undefined=undefined)
    values = {}
    for name, text in expressions.items():
        tree = parse_expression(text)
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                both, change = meter.value(tree)
                spread = np.sqrt((np.broadcast_to(change, (2, len(data))) ** 2).sum(1))
        except CounterweightError as error:
            raise CounterweightError(f"Measure {name} ({text}): {error}") from error
        values[name] = (float(both[0]), float(both[1]))
        if errors:
            meter.known.clear()  # influences are 2n numbers for each rate
            values[name] += (float(spread[0]), float(spread[1]))
    return values


def meter_of(p, data, parameters=None, *, decided=None, errors=False, undefined="raise"):
    """What gives values of parsed expressions by both rules; arguments as of `measure`."""
    p = np.asarray(p, dtype=float)
    if p.shape != (len(data),):
        raise CounterweightError(f"There are {len(data)} rows but predictions of shape {p.shape}.")
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {len(p)} predictions are no probability (first: row "
            f"{int(np.argmax(bad))}): they must be between 0 and 1."
        )
    signs = p > 0.5 if decided is None else np.asarray(decided, dtype=float)
    return _Meter(np.array([signs, p]), data, checked_parameters(parameters), errors, undefined)


class _Meter:
    """Values of expressions with each row's influence on them.

    A value is an array (2,): deterministic, randomised. Influences are (2, n), or 0 where
    they are not asked for; the standard error is the root of the sum of their squares.
    """

    def __init__(self, predictions, data, parameters, errors, undefined):
        self.predictions, self.data, self.parameters = predictions, data, parameters
        self.errors, self.undefined, self.known = errors, undefined, {}

    def value(self, tree):
        if isinstance(tree, Number):
            return np.full(2, tree.value), 0.0
        if isinstance(tree, Parameter):
            check_parameter(tree.name, self.parameters)
            return np.full(2, self.parameters[tree.name]), 0.0
        if isinstance(tree, Rate):
            if tree not in self.known:
                self.known[tree] = self._rate(tree)
            return self.known[tree]
        left, dleft = self.value(tree.left)
        right, dright = self.value(tree.right)
        if tree.sign == "+":
            return left + right, dleft + dright
        if tree.sign == "-":
            return left - right, dleft - dright
        if tree.sign == "*":
            return left * right, dleft * right[:, None] + dright * left[:, None]
        return _ratio(left, dleft, right, dright)

    def _rate(self, rate):
        try:
            if not rate.counted:
                return self._plain(rate.name, rate)
            if rate.name == "fmeasure":
                rate_parts("recall", rate.sets, self.data)
            top = dtop = bottom = dbottom = 0.0
            for name, (above, below) in rate.counted.items():
                value, change = self._plain(name, rate)
                top, dtop = top + above * value, dtop + above * change
                bottom, dbottom = bottom + below * value, dbottom + below * change
        except UndefinedRate:
            if self.undefined != "nan":
                raise
            return np.full(2, np.nan), np.nan if self.errors else 0.0
        return _ratio(top, dtop, bottom, dbottom)

    def _plain(self, name, rate):
        parts = rate_parts(name, rate.sets, self.data)
        if rate.deployed:
            positive = np.array([deployed_positive(self.data, parts.rows, str(rate))] * 2)
        else:
            positive = self.predictions[:, parts.rows]
        counted = parts.negative + positive * (parts.positive - parts.negative)
        total = counted.sum(1)
        mass = 1.0 if parts.mass is None else parts.mass.sum()
        value = total / mass
        if not self.errors:
            return value, 0.0
        change = np.zeros((2, len(self.data)))
        if parts.mass is None:
            change[:, parts.rows] = counted
            change -= (total / len(self.data))[:, None]
        else:
            change[:, parts.rows] = (counted - value[:, None] * parts.mass) / mass
        return value, change


def _ratio(top, dtop, bottom, dbottom):
    ratio = top / bottom
    return ratio, (dtop - ratio[:, None] * dbottom) / bottom[:, None]
