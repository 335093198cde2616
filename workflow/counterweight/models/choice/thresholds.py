"""Thresholds that move with the features: eta_j + s(x) in place of eta_j.

Segments alone need one for each combination of categories whose thresholds differ: twelve for a
category of three and one of four levels that add up. Here the threshold of everybody in a segment
is moved by s(x) = z'b + sum_c theta_{c, x_c}, the same in all segments: z are the scaled numbers,
theta the effects of levels, also of combinations of two categories where they pay. So
p_j(1 | x, t) = f_j(t - s(x)): a person who is moved by s answers the offer t as others answer
t - s. One segment of this kind is a logistic regression of the answer on features and offer.

A missing value moves nothing: numbers are centred, and so are effects of levels.
"""

import numpy as np

from counterweight.models.choice.scaling import Features
from counterweight.models.choice.steps import (
    LEAST_SLOPE,
    MOST_POSITION,
    MOST_SLOPE,
    climb,
    curve_step,
)
from counterweight.numerics.linear import fit_logistic

#: Pairs of categories, at most, that are tried, and most combinations of their levels.
MOST_PAIRS, MOST_CELLS = 15, 60
#: Rounds, at most, of segments and thresholds in turn.
ROUNDS = 25
#: Most iterations of the curves and thresholds within a round.
STEPS = 200
#: Added to the information of thresholds in a draw's step.
RIDGE = 1e-6
#: Largest move of a threshold by one number's unit or one level in a draw's step.
STRIDE = 0.2


class Thresholds:
    """How far thresholds of people are from those of their segments.

    Parameters
    ----------
    features : Features
        With the categories that thresholds may depend on.
    coefficients : ndarray (a + L,)
        Of the scaled numbers, the levels of the categories and those of the pairs, in units of t.
    pairs : sequence of (int, int)
        Places, among the categories, of those whose combinations move thresholds.
    """

    def __init__(self, features, coefficients, pairs=()):
        self.features, self.coefficients = features, coefficients
        self.pairs = [tuple(int(at) for at in pair) for pair in pairs]

    def rows(self, X):
        """What moves are linear in, (n, a + L); zeros where a value is missing."""
        return columns_of(*self.features.split(X), self.features.levels, self.pairs)

    def moves(self, X):
        """s(x) of each row, (n,)."""
        return self.rows(X) @ self.coefficients

    def to_arrays(self):
        return {
            "threshold_categories": self.features.categories,
            "threshold_coefficients": self.coefficients,
            "threshold_pairs": np.array(self.pairs, dtype=int).reshape(-1),
        }

    @classmethod
    def from_arrays(cls, arrays, features):
        """From `to_arrays`, and the features of the segments; None where nothing moves."""
        told = np.asarray(arrays.get("threshold_coefficients", ()), dtype=float).reshape(-1)
        if not len(told):
            return None
        used, pairs = (
            np.asarray(arrays.get(f"threshold_{name}", ())).astype(int).reshape(-1)
            for name in ("categories", "pairs")
        )
        own = Features(**(features.__dict__ | {"categories": used}))
        return cls(own, told, pairs.reshape(-1, 2))


def columns_of(numbers, codes, levels, pairs=()):
    """Scaled numbers and an indicator of each level, (n, a + L); zeros where missing."""
    parts = [np.nan_to_num(numbers)]
    told = [(codes[:, at], count) for at, count in enumerate(levels)]
    for one, other in pairs:
        (first, _), (second, many) = told[one], told[other]
        both = np.where((first >= 0) & (second >= 0), first * many + second, -1)
        told.append((both, levels[one] * levels[other]))
    for own, count in told:
        marks = np.zeros((len(numbers), count))
        there = np.flatnonzero(own >= 0)
        marks[there, own[there]] = 1.0
        parts.append(marks)
    return np.hstack(parts)


class Mover:
    """Finds thresholds that move with the features.

    Parameters
    ----------
    X : ndarray (n, width)
    t, y, row_weights : ndarray (n,)
    features : Features

    Attributes
    ----------
    pairs : list of (int, int)
        Of categories that may move thresholds together.
    design : ndarray (n, p)
        Numbers and centred indicators, without the commonest level of each category and pair.
    blocks : list of list of int
        Columns of each number, category and pair.
    """

    def __init__(self, X, t, y, row_weights, features):
        self.features, self.t, self.y, self.row_weights = features, t, y, row_weights
        levels, width = features.levels, len(features.numbers)
        self.pairs = [
            (one, other)
            for one in range(len(levels))
            for other in range(one + 1, len(levels))
            if levels[one] * levels[other] <= MOST_CELLS
        ][:MOST_PAIRS]
        rows = columns_of(*features.split(X), levels, self.pairs)
        self.blocks, kept, first = [[column] for column in range(width)], [*range(width)], width
        wide = np.eye(rows.shape[1])
        for many in (*levels, *(levels[one] * levels[other] for one, other in self.pairs)):
            own = np.arange(first, first + many)
            mass = row_weights @ rows[:, own]
            for column, share in zip(own, mass / max(mass.sum(), 1e-300), strict=True):
                wide[own, column] -= share
            # What nobody has, moves nothing.
            wide[own[mass == 0]] = 0.0
            others = own[(mass > 0) & (own != own[mass.argmax()])]
            self.blocks.append([*range(len(kept), len(kept) + len(others))])
            kept += others.tolist()
            first += many
        self.wide = wide[:, kept]
        self.design = rows @ self.wide

    def begin(self):
        """Thresholds by one segment alone, and the columns of the features that pay for theirs.

        Features whose moves are worth less (by Wald's statistic) than their parameters cost in
        description length are left out, one at a time; then pairs of categories are taken in that
        are worth more than they cost, in place of both.

        Returns
        -------
        columns : list of int
            Of the design; empty where no feature pays, or the offer does not matter.
        moves : ndarray (p,)
        """
        half_log, alone = np.log(self.row_weights.sum()), len(self.blocks) - len(self.pairs)
        kept = [at for at in range(alone) if self.blocks[at]]
        while True:
            fit = self._fit(kept)
            worth = [fit.worth(own) - len(own) * half_log for own in fit.places]
            if not kept or min(worth) >= 0:
                break
            kept.pop(int(np.argmin(worth)))
        left = [*range(len(self.pairs))]
        while left:
            others = [
                [one for one in kept if one - len(self.features.numbers) not in self.pairs[at]]
                for at in left
            ]
            gains = [fit.score(self.design[:, self.blocks[alone + at]], half_log) for at in left]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            kept = [*others[best], alone + left.pop(best)]
            fit = self._fit(kept)
        if not kept or not fit.matters:
            return [], np.empty(0)
        columns = [column for at in kept for column in self.blocks[at]]
        return columns, -fit.coef[:-1] / max(fit.coef[-1], LEAST_SLOPE)

    def _fit(self, kept):
        columns = [column for at in kept for column in self.blocks[at]]
        rows = np.column_stack([self.design[:, columns], self.t])
        return _Line(rows, self.y, self.row_weights, [len(self.blocks[at]) for at in kept])

    def settled(self, data, parameters, columns, moves, *, tolerance, iterations, **rule):
        """Segments, curves and thresholds that are best together, from good ones.

        In turn EM runs with the thresholds held, and curves and thresholds rise together with the
        segments' features held; the log-likelihood never falls. Then features are left out, one at
        a time, that no longer pay for their parameters beside the segments.

        Parameters
        ----------
        data : ChoiceRows
            With the offers that were made.
        parameters : Choices
            A batch of one.
        columns, moves
            Of the design.
        tolerance, iterations, rule
            See `steps.climb`.

        Returns
        -------
        Climb
            The last one, with these thresholds.
        columns : list of int
        moves : ndarray (p,)
        """
        asked = {"tolerance": tolerance, "iterations": iterations} | rule
        while True:
            run, moves = self._settled(data, parameters, columns, moves, **asked)
            parameters, blocks = run.parameters, [b for b in self.blocks if {*b} <= {*columns}]
            order = [column for block in blocks for column in block]
            moves = moves[[columns.index(column) for column in order]]
            columns = order
            worth = self._worth(data, parameters, columns, moves, blocks)
            if min(worth, default=0.0) >= 0:
                return run, columns, moves
            left = {*blocks[int(np.argmin(worth))]}
            kept = [at for at, column in enumerate(columns) if column not in left]
            columns, moves = [columns[at] for at in kept], moves[kept]
            if not columns:
                return self._settled(data, parameters, [], moves, **asked)[0], [], moves

    def _worth(self, data, parameters, columns, moves, blocks):
        """Wald's statistic of each block beside the segments, less what its parameters cost."""
        rows = self.design[:, columns]
        share, chance, _ = _shares(data.moved(rows @ moves), parameters)
        place, k = (data.t - rows @ moves - 0.5)[:, None], parameters.curves[:, 0, 1]
        weight, size = share * chance * (1 - chance), len(k)
        # Derivatives of the log-odds by position and slope of a segment, and by moves.
        own = np.stack([np.ones_like(place), place], axis=-1)
        information = np.zeros((2 * size + len(columns),) * 2)
        for j in range(size):
            at = slice(2 * j, 2 * j + 2)
            curve = own[:, 0] * weight[:, j, None]
            information[at, at] = curve.T @ own[:, 0]
            information[at, 2 * size :] = -k[j] * curve.T @ rows
            information[2 * size :, at] = information[at, 2 * size :].T
        information[2 * size :, 2 * size :] = (rows * (weight @ k**2)[:, None]).T @ rows
        covariance = np.linalg.pinv(information, hermitian=True)[2 * size :, 2 * size :]
        worth, half_log, first = [], np.log(float(data.total)), 0
        for block in blocks:
            at = slice(first, first := first + len(block))
            part = np.linalg.pinv(covariance[at, at], hermitian=True)
            worth.append(float(moves[at] @ part @ moves[at]) - half_log * len(block))
        return worth

    def _settled(self, data, parameters, columns, moves, *, tolerance, iterations, **rule):
        rows, before = self.design[:, columns], -np.inf
        for _ in range(ROUNDS):
            run = climb(
                data.moved(rows @ moves),
                parameters,
                tolerance=tolerance,
                iterations=iterations,
                **rule,
            )
            parameters = run.parameters
            if run.last[0] - before <= tolerance * float(data.total):
                break
            before = run.last[0]
            curves, moves = risen(data, parameters, rows, moves, rule.get("prior"))
            parameters = parameters._replace(curves=curves)
        return run, moves

    def thresholds(self, columns, moves):
        """`Thresholds` of moves by some columns of the design."""
        return Thresholds(self.features, self.wide[:, columns] @ moves, self.pairs)


class _Line:
    """Logistic regression of the answers on columns of the design, then the offer."""

    def __init__(self, rows, y, row_weights, sizes):
        self.coef, intercept, _, _ = fit_logistic(rows, y, row_weights)
        odds = np.clip(rows @ self.coef + intercept, -30, 30)
        chance = 1 / (1 + np.exp(-odds))
        full = np.column_stack([rows, np.ones(len(rows))])
        weight = row_weights * chance * (1 - chance)
        information = (full * weight[:, None]).T @ full
        self.covariance = np.linalg.pinv(information, hermitian=True)
        self.rest, self.weight, self.full = row_weights * (y - chance), weight, full
        ends = np.cumsum([0, *sizes])
        self.places = [range(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        # Acceptance rises with the offer beyond doubt.
        self.matters = self.coef[-1] > 2 * np.sqrt(max(self.covariance[-2, -2], 0.0))

    def score(self, more, price):
        """Score statistic of further columns, less the price of those that are new."""
        across = (self.full * self.weight[:, None]).T @ more
        within = (more * self.weight[:, None]).T @ more - across.T @ self.covariance @ across
        values, vectors = np.linalg.eigh(within)
        new = values > 1e-8 * max(values.max(), 1.0)
        pull = vectors[:, new].T @ (self.rest @ more)
        return float((pull**2 / values[new]).sum() - price * new.sum())

    def worth(self, own):
        """Wald's statistic of some coefficients."""
        part = self.covariance[np.ix_(own, own)]
        return float(self.coef[own] @ np.linalg.pinv(part, hermitian=True) @ self.coef[own])


def risen(data, parameters, rows, moves, prior=None):
    """Curves (K, 1, 2) and moves (p,) of largest log-likelihood, segments of features held."""
    # Most jobs that load this module fit nothing.
    from scipy.optimize import minimize

    joint, curves = data.log_joint(parameters), parameters.curves[:, 0]
    size, sign = len(curves), 2.0 * data.y - 1.0
    unit = max(float(np.median(curves[:, 1])), 1.0)
    u = data.t - 0.5

    def loss(point):
        a, k = point[:size], point[size : 2 * size]
        s = rows @ (point[2 * size :] / unit)
        place = (u - s)[:, None]
        odds = sign[:, None] * (a + k * place)
        logs = joint - np.logaddexp(0.0, -odds)
        top = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - top)
        total = share.sum(axis=1, keepdims=True)
        value = data.row_weights @ (np.log(total) + top)[:, 0]
        rest = share / total * (data.row_weights * sign)[:, None]
        rest /= 1 + np.exp(np.clip(odds, -500, 500))
        slope = np.concatenate(
            [rest.sum(axis=0), (rest * place).sum(axis=0), -(rest @ k) @ rows / unit]
        )
        if prior is not None:
            value += prior.log_density(np.stack([a, k], axis=-1)[:, None])[0]
            pull = prior.precision * (np.stack([a, k], axis=-1) - prior.mean)
            slope[: 2 * size] -= pull.T.ravel()
        return -value / scale, -slope / scale

    scale = float(data.total)
    start = np.concatenate([curves.T.ravel(), moves * unit])
    bounds = [(-MOST_POSITION, MOST_POSITION)] * size + [(LEAST_SLOPE, MOST_SLOPE)] * size
    bounds += [(None, None)] * len(moves)
    found = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    best = found.x if found.fun <= loss(start)[0] else start
    return best[: 2 * size].reshape(2, size).T[:, None], best[2 * size :] / unit


def few_steps_apart(data, rows, parameters, moves, steps, *, floor, minimum_rows, prior=None):
    """A fixed number of EM steps of one model with its thresholds, in which these take part.

    Parameters
    ----------
    data : ChoiceRows
    rows : ndarray (n, p)
        What the moves are linear in.
    parameters : Choices
        A batch of one.
    moves : ndarray (p,)
    steps, floor, minimum_rows, prior
        See `steps.few_steps`.

    Returns
    -------
    parameters : Choices
    moves : ndarray (p,)
    """
    for _ in range(steps):
        moved = data.moved(rows @ moves)
        statistics = moved.expectation(parameters)
        step = curve_step(parameters.curves, statistics.gradient, statistics.curvature, prior)
        parameters = data.maximised(
            statistics.moments, parameters, minimum_rows, floor, parameters.curves + step
        )
        # After the curves, which move everybody's threshold.
        moves = moves + np.clip(_newton(moved, parameters, rows), -STRIDE, STRIDE)
    return parameters, moves


def _newton(data, parameters, rows):
    """Newton step of the moves, with the expected log-likelihood's curvature."""
    share, chance, sign = _shares(data, parameters)
    k = parameters.curves[:, 0, 1]
    gradient = -rows.T @ ((share * sign * chance) @ k)
    weight = (share * chance * (1 - chance)) @ k**2
    information = (rows * weight[:, None]).T @ rows
    information[np.diag_indices_from(information)] += RIDGE * max(float(weight.sum()), 1.0)
    return np.linalg.solve(information, gradient)


def _shares(data, parameters):
    """Responsibilities times row weights (n, K), chance of the other answer, sign (n, 1)."""
    a, k = parameters.curves[:, 0].T
    sign = (2.0 * data.y - 1.0)[:, None]
    odds = sign * (a + k * (data.t - 0.5)[:, None])
    logs = data.log_joint(parameters) - np.logaddexp(0.0, -odds)
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    share *= (data.row_weights / share.sum(axis=1))[:, None]
    return share, 1 / (1 + np.exp(np.clip(odds, -500, 500))), sign
