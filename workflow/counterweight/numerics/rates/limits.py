"""Upper confidence limits of how far constraints on rates are broken, and of looser ones.

The decisions are fixed before the rows are looked at: rows that neither fitted nor chose them.

References
----------
Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
Newcombe (1998), Interval estimation for the difference between independent proportions.
Zou & Donner (2008), Construction of confidence limits about effect measures.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from counterweight.errors import CounterweightError
from counterweight.numerics.groups import exact_interval
from counterweight.numerics.rates.language import (
    Number,
    Operation,
    Parameter,
    check_parameter,
    linear,
)
from counterweight.numerics.rates.values import (
    ROUNDING,
    UndefinedRate,
    checked_parameters,
    deployed_positive,
    meter_of,
    plain_constraints,
    rate_parts,
    small_sample,
)

#: Looser constraints that are tried, in shares of what is asked: steps of a hundredth.
LOOSER = np.arange(100) / 100
#: The same with stricter ones, to see what a bound costs.
BOUNDS = np.arange(-50, 100) / 100
#: A rule that is judged by so many times the margin of a test passes four times in five.
POWER = 1 + float(ndtri(0.8) / ndtri(0.95))


class Sides(NamedTuple):
    """A constraint as ``factors @ rates + constant <= 0``.

    Where `low` and `high` are given, exact limits of shares of rows that no two rates have in
    common; else `influence` (terms, n) of each row on each rate, what Wilson's interval adds, and,
    of rows whose weights differ, `heavy` (terms,): the part of a rate that one more row of the
    largest weight would be.
    """

    factors: np.ndarray
    constant: float
    values: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    influence: np.ndarray | None
    added: float = 0.0
    heavy: np.ndarray | float = 0.0

    def limits(self, confidence, loosened):
        """Excess and its upper limit (2, L) where what bounds is divided by 1 - `loosened`."""
        scale = 1 / (1 - np.asarray(loosened, dtype=float))
        factors = np.where(self.factors < 0, self.factors * scale[:, None], self.factors)
        constant = self.constant * (scale if self.constant < 0 else 1.0)
        excess = factors @ self.values + constant
        if self.influence is None:
            far = np.where(factors > 0, self.high - self.values, self.values - self.low)
            error = np.sqrt(((factors * far) ** 2).sum(axis=1))
        else:
            variance = ((factors @ self.influence) ** 2).sum(axis=1) + self.added
            z = float(ndtri(confidence))
            moved = factors * self.heavy * ((factors > 0) - self.values)
            further = moved.sum(axis=1) + z * np.sqrt(variance + (moved**2).sum(axis=1))
            error = np.maximum(z * np.sqrt(variance), further)
        return np.array([excess, excess + error])


def upper_limits(predicted, data, constraints, parameters=None, confidence=0.95, loosened=(0.0,)):
    """Excess of each plain constraint on these rows, and its upper confidence limit: (m, 2, L).

    At most 0 is kept. Each limit has the whole confidence: that all constraints are kept is shown
    if each is, so that many constraints share nothing (an intersection-union test, Berger 1982).
    Rates of decisions that are shares of rows have exact (Clopper-Pearson) limits; of two such
    rates or more, on different rows, the distances to these are added by their squares (Newcombe
    1998; Zou & Donner 2008). Others (chances, weights that differ, rates on the same rows or of the
    deployed model, rows with copies) have a normal limit by the delta method, with what Wilson's
    interval adds; where weights differ, one more row of the largest weight stands on the side that
    breaks the constraint, since few heavy rows may have met none so far. A rate that is not defined
    here has the limit infinity. Assumes rows drawn independently.

    Parameters
    ----------
    predicted : array (n,)
        Decisions, 0 or 1, or chances of a yes.
    data : DataSets
    constraints : list of str
    loosened : array (L,)
        Shares by which the constraints are looser than asked: what bounds is divided by 1 minus
        this, as .8 becomes .72 at a tenth in ``coverage(a) >= 0.8 * coverage(b)``.
    """
    known, predicted = checked_parameters(parameters), np.asarray(predicted, dtype=float)
    exact = bool(np.isin(predicted, (0, 1)).all())
    meter = meter_of(predicted, data, known, decided=predicted, errors=True, undefined="nan")
    loosened, found = np.asarray(loosened, dtype=float), []
    for plain in plain_constraints(constraints):
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                sides = _sides(plain, data, known, predicted, meter, confidence, exact)
                both = sides.limits(confidence, loosened)
        except CounterweightError as error:
            raise CounterweightError(f"Constraint {plain.text}: {error}") from error
        found.append(np.where(np.isfinite(both), both, np.inf))
        meter.known.clear()
    return np.array(found).reshape(-1, 2, len(loosened))


def _sides(plain, data, known, predicted, meter, confidence, exact):
    def leaf(tree):
        if isinstance(tree, Number):
            return tree.value, {}
        if isinstance(tree, Parameter):
            check_parameter(tree.name, known)
            return known[tree.name], {}
        return 0.0, {tree: 1.0}

    constant, terms = linear(Operation("-", plain.left, plain.right), leaf)
    sign = 1.0 if plain.sign == "<=" else -1.0
    terms = {rate: sign * factor for rate, factor in terms.items() if factor}
    factors = np.array(list(terms.values()))
    told = [meter.value(rate) for rate in terms]
    values = np.array([value[0] for value, _ in told])
    counts = [_counted(rate, data, predicted) for rate in terms] if exact else [None]
    if all(one is not None for one in counts) and np.sum(counts, axis=0).max(initial=0) <= 1:
        rows = np.array([one.sum() for one in counts])
        low, high = exact_interval(np.round(values * rows), rows, 2 * (1 - confidence))
        return Sides(factors, sign * constant, values, low, high, None)
    influence = np.array([np.broadcast_to(change, (2, len(data)))[0] for _, change in told])
    influence = data.by_draw(influence)
    added = small_sample(plain, data, known, 2 * confidence - 1)
    heavy = np.array([_heavy(rate, data, predicted) for rate in terms])
    return Sides(factors, sign * constant, values, None, None, influence, added, heavy)


def _heavy(rate, data, predicted):
    """The part of a rate that one more row of the largest weight would be; 0 where all are alike.

    Of precision and F-measure the rows with a yes count, and for the latter positives.
    """
    parts, alike = _shared(rate, data)
    if parts is None or alike:
        return 0.0
    below = mass = parts.mass
    most = data.by_draw(mass, parts.rows).max()
    if rate.counted:
        yes = predicted[parts.rows]
        if rate.deployed:
            yes = deployed_positive(data, parts.rows, str(rate))
        below = mass * (yes + (data.y[parts.rows] == 1) * (rate.name == "fmeasure"))
    return float(most / (below.sum() + most))


def _shared(rate, data):
    """`Parts` of the rows that a rate is a share of, and whether they weigh alike; or None."""
    try:
        parts = rate_parts("error" if rate.counted else rate.name, rate.sets, data)
    except UndefinedRate:
        return None, False
    if parts.mass is None:
        return None, False
    used = parts.mass[parts.mass > 0]
    return parts, bool(np.ptp(used) <= 1e-12 * used.max())


def _counted(rate, data, predicted):
    """Rows (n,) of which a rate of decisions is a share, as 0 and 1; None where it is no share."""
    if rate.deployed or rate.name == "fmeasure" or data.copies is not None:
        return None
    parts, alike = _shared(rate, data)
    if parts is None or not alike:
        return None
    rows, used = np.zeros(len(data)), parts.mass > 0
    rows[parts.rows[used]] = predicted[parts.rows[used]] if rate.counted else 1.0
    return rows


def least_loosened(limits, shares=LOOSER, kept=ROUNDING):
    """The least of some shares (L,) from which on all constraints are shown kept; None without one.

    `limits` (m, L) are upper limits by these. As looser constraints hold where stricter ones do,
    the chance that it is too small is at most that of one test.
    """
    shown = (limits <= kept).all(axis=0)
    if not shown[-1]:
        return None
    return float(shares[0 if shown.all() else len(shown) - int(np.argmin(shown[::-1]))])


def loosened_text(plain, share, parameters=None):
    """A plain constraint as it is written where it is looser by a share; see `upper_limits`."""
    if not share:
        return plain.text
    known = checked_parameters(parameters)

    def leaf(tree):
        if isinstance(tree, Number):
            return tree.value, {}
        if isinstance(tree, Parameter):
            return known[tree.name], {}
        return 0.0, {tree: 1.0}

    (own, terms), (constant, others) = (linear(side, leaf) for side in (plain.left, plain.right))
    if own or list(terms.values()) != [1.0]:
        return f"{plain.text}, looser by {share:.0%}"
    bounds, scale = plain.sign == "<=", 1 - share
    words = []
    for rate, number in [*others.items(), (None, constant)]:
        if number > 0:
            number = _rounded(number / scale if bounds else number * scale, bounds)
        if number:
            sign = "- " if number < 0 else "+ " if words else ""
            by = f" * {rate}" if rate else ""
            words.append(f"{sign}{abs(number):g}{by}")
    return f"{next(iter(terms))} {plain.sign} {' '.join(words) or '0'}"


def _rounded(number, up):
    """To three decimals, to the side that is looser."""
    return (np.ceil if up else np.floor)(number * 1000 + (-1e-9 if up else 1e-9)) / 1000


def rows_needed(rows, excess, upper, in_fit):
    """Rows like these by which four of five tests would show a constraint kept; infinite: none.

    `excess` and its `upper` limit are of rows that judge, `in_fit` is the excess on the rows of
    the fit. The margin falls as the root of the rows, what rows of the fit flatter as the rows.
    """
    flattered, margin, room = max(excess - in_fit, 0.0), POWER * (upper - excess), -in_fit
    if room <= 1e-3 * margin:
        return np.inf
    root = margin + np.sqrt(margin**2 + 4 * flattered * room)
    return rows * (root / (2 * room)) ** 2
