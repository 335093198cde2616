"""Mixtures of classifiers under constraints on rates, from best responses to prices.

The Lagrangian of Problem 2 is, for any prices of the constraints, a sum over rows of what a yes
costs: to make it small is to classify with a cost for each row. Prices and classifiers play a game
whose value is that of the best mixture of classifiers (Agarwal, Beygelzimer, Dudik, Langford &
Wallach 2018, sections 3.1 and 3.2).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from counterweight.numerics.rates.promises import ROUNDING

#: Prices begin at such a share of the objective's total cost.
FIRST_PRICE = 0.1
#: First step of exponentiated gradient, in logarithms of prices.
STEP = 1.0
#: Answers to prices of exponentiated gradient in a row that bring nothing before the end. A fit by
#: another loss than costs answers well, not best: a gap among such fits closes early.
PATIENCE = 8
#: Room for rounding in the constraints of a linear program.
ROOM = 1e-10
#: Classifiers of a smaller share are left out of a mixture.
SMALLEST = 1e-7


class Mixture(NamedTuple):
    """A mixture, and how near to the best one it is.

    Attributes
    ----------
    shares : ndarray (k,)
        Of the classifiers in the order in which they were found; they sum to 1.
    multipliers : ndarray (m,)
        Prices of the constraints among these classifiers.
    objective : float
    violations : ndarray (m,)
        Value minus bound.
    gap : float
        Duality gap, in units of the objective, at least 0.
    """

    shares: np.ndarray
    multipliers: np.ndarray
    objective: float
    violations: np.ndarray
    gap: float


def best_mixture(problem, respond, *, most, tolerance, fits, begun=()):
    """Mixture of least objective under constraints, over the classifiers that answer prices.

    Prices follow exponentiated gradient (with steps by the violations so far) and, in turn, the
    multipliers of the linear program over the mixtures of what was found; that program gives the
    mixture, too.

    Parameters
    ----------
    problem : Problem
        From `counterweight.numerics.rates.coefficients.compile`; its objective is not the same
        for all classifiers.
    respond : callable
        From what a yes costs, (n,), to the decisions of a classifier for which the sum of
        costs is small, bool (n,). Each call is a new classifier.
    most : float
        Largest sum of prices, in total costs of the objective.
    tolerance : float
        Gap at which to stop, in total costs of the objective, once answers bring no more than that.
    fits : int
        Most calls of `respond`.
    begun : sequence of bool array (n,), optional
        Decisions of classifiers that are known already, the first of them the answer to prices
        of 0.

    Returns
    -------
    Mixture
        Of least objective among those that meet the constraints; where none of the classifiers
        found does, among those whose largest violation is least. The gap is that of the
        Lagrangian with prices up to the largest sum. Where answers are best ones in a class, no
        mixture of the class that meets the constraints has an objective lower by more than it.
    """
    slopes = problem.positive - problem.negative
    fixed = problem.negative.sum(axis=1) + problem.constants
    fixed[1:] -= problem.bounds
    scale = np.abs(slopes[0]).sum()
    top, m = most * scale, len(problem.bounds)
    found = [slopes @ says + fixed for says in begun]
    asked = [np.zeros(m)] if found else []

    def ask(prices):
        found.append(slopes @ respond(slopes[0] + prices @ slopes[1:]) + fixed)
        asked.append(prices)

    if not found:
        ask(np.zeros(m))
    log_prices, seen = np.full(m, np.log(FIRST_PRICE / most)), 0.0
    lowest, idle = np.inf, 0
    while m and len(asked) < fits:
        values = np.array(found)
        shares, prices = _priced(values, top)
        reached = shares @ values[:, 0] + top * max((shares @ values[:, 1:]).max(), 0.0)
        if reached < lowest - tolerance * scale:
            lowest, idle = reached, 0
        near = _gap(values, shares, asked, top) <= tolerance * scale
        if near and (idle >= PATIENCE or not prices.any()):
            break
        if not near and len(asked) % 2 == 0:
            ask(prices)
            continue
        idle += 1
        # As shares of the largest sum; the rest of it is paid for nothing.
        highest = max(log_prices.max(), 0.0)
        shifted = np.exp(log_prices - highest)
        ask(top * shifted / (shifted.sum() + np.exp(-highest)))
        over = found[-1][1:]
        seen += np.abs(over).max() ** 2
        log_prices = log_prices + (STEP / np.sqrt(seen) * over if seen else 0.0)
    values = np.array(found)
    shares = _least(values)
    told = shares @ values
    return Mixture(
        shares, _priced(values, top)[1], float(told[0]), told[1:], _gap(values, shares, asked, top)
    )


def _priced(values, top):
    """Shares of least objective plus `top` times the largest violation, and the prices of that."""
    if values.shape[1] == 1:
        return _least(values), np.zeros(0)
    upper = np.column_stack([values[:, 1:].T, -np.ones(values.shape[1] - 1)])
    done = _solved(np.append(values[:, 0], top), upper, np.zeros(len(upper)), 1)
    return done.x[:-1], np.maximum(-done.ineqlin.marginals, 0.0)


def _least(values):
    """Shares of least objective under the constraints, or under the least largest violation."""
    count, m = len(values), values.shape[1] - 1
    if not m:
        return np.eye(1, count, int(np.argmin(values[:, 0])))[0]
    upper = np.column_stack([values[:, 1:].T, -np.ones(m)])
    least = _solved(np.append(np.zeros(count), 1.0), upper, np.zeros(m), 1).x[-1]
    done = _solved(values[:, 0], values[:, 1:].T, np.full(m, max(least, 0.0) + ROOM))
    shares = np.where(done.x > SMALLEST, done.x, 0.0)
    return shares / shares.sum()


def _solved(cost, upper, bounds, free=0):
    """A program over shares, which sum to 1, and further variables from 0 up."""
    equal = np.append(np.ones(len(cost) - free), np.zeros(free))[None]
    done = linprog(cost, upper, bounds, equal, [1.0], method="highs-ds")
    if done.x is None:
        raise RuntimeError(f"The linear program over mixtures was not solved: {done.message}")
    return done


def _gap(values, shares, asked, top):
    """How far the Lagrangian of a mixture is above the best answer to any prices asked."""
    told = shares @ values
    over = told[1:].max(initial=0.0)
    reached = told[0] + top * (over if over > ROUNDING else 0.0)
    answered = (values[:, :1] + values[:, 1:] @ np.array(asked).T).min(axis=0)
    return float(max(reached - answered.max(), 0.0))
