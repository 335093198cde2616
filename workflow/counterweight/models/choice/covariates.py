"""What features do beside telling segments: they move thresholds, or gate who is of which segment.

*Moving thresholds*, eta_j + s(x) in place of eta_j. Segments alone need one for each combination
of categories whose thresholds differ: twelve for a category of three and one of four levels that
add up. Here the threshold of everybody in a segment is moved by
s(x) = z'b + sum_c theta_{c, x_c}, the same in all segments: z are the scaled numbers, theta the
effects of levels, also of combinations of two categories where they pay. So
p_j(1 | x, t) = f_j(t - s(x)): a person who is moved by s answers the offer t as others answer
t - s. One segment of this kind is a logistic regression of the answer on features and offer. A
missing value moves nothing: numbers are centred, and so are effects of levels.

*Gates*: p(j | x) is a multinomial logit of the features (mixture of experts, Jacobs, Jordan, Nowlan
& Hinton 1991): p(y | x, t) = sum_j p_j(x) p_j(y | t), p_j(x) = exp(b_j + x'w_j) /
sum_l exp(b_l + x'w_l). Nothing is said of how features are distributed, so segments are what tells
answers apart and not what features cluster by. That p_j(x) is such a logit is assumed; where
segments are Gaussian of one covariance it is one exactly. The log-likelihood is that of the answers
given features and offers, and so is the description length: neither can be compared with those of a
model of the features, too. A missing number counts as the mean of its feature, a missing category
as none of its levels.
"""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from counterweight.models.choice.offer_model import logistic
from counterweight.models.choice.steps import (
    LEAST_SLOPE,
    MOST_POSITION,
    MOST_SLOPE,
    Choices,
    climb,
    few_steps,
)
from counterweight.numerics.linear import fit_logistic

#: Pairs of categories, at most, that are tried, and most combinations of their levels.
MOST_PAIRS, MOST_CELLS = 15, 60
#: Rounds, at most, of segments and thresholds in turn.
ROUNDS = 25
#: Most iterations of L-BFGS of the curves and thresholds within a round.
STEPS = 200
#: Added to the information of thresholds in a draw's step.
RIDGE = 1e-6
#: Largest move of a threshold by one number's unit or one level in a draw's step.
STRIDE = 0.2
#: Precision of the normal prior of a gate's coefficients, around 0: no gate is infinitely steep.
GATE_RIDGE = 1e-2
#: Most iterations of a fit, and of a bootstrap draw, which begins at the fit.
GATE_STEPS, GATE_DRAWN_STEPS = 300, 15
#: Variance of the numbers by which gates are written as segments, see `as_choices`.
NARROW = 1e-2


class Thresholds:
    """How far thresholds of people are from those of their segments.

    `coefficients` (a + L,), in units of t, are of the scaled numbers, the levels of the categories
    of `features` and those of the `pairs` of categories whose combinations move thresholds.
    """

    def __init__(self, features, coefficients, pairs=()):
        self.features, self.coefficients = features, coefficients
        self.pairs = [tuple(int(at) for at in pair) for pair in pairs]

    def rows(self, X):
        """What moves are linear in, (n, a + L); zeros where a value is missing."""
        return columns_of(*self.features.split(X), self.features.levels, self.pairs)

    def moves(self, X):
        """s(x) of each row, (n,)."""
        return self.rows(np.asarray(X, dtype=float)) @ self.coefficients

    def to_arrays(self):
        return {
            "threshold_categories": self.features.categories,
            "threshold_coefficients": self.coefficients,
            "threshold_pairs": np.array(self.pairs, dtype=int).reshape(-1),
        }

    @classmethod
    def from_arrays(cls, arrays, features):
        """From `to_arrays`, and the features of the segments; None where nothing moves."""
        categories, told, pairs = (
            np.reshape(arrays.get(f"threshold_{name}", ()), -1)
            for name in ("categories", "coefficients", "pairs")
        )
        if not len(told):
            return None
        own = replace(features, categories=categories.astype(int))
        return cls(own, told.astype(float), pairs.astype(int).reshape(-1, 2))


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
    """Finds thresholds that move with the features (n, width), a `Features`.

    ``design`` (n, p) are numbers and centred indicators, without the commonest level of each
    category and pair, ``blocks`` the columns of each number, category and pair, ``pairs`` those of
    categories.
    """

    def __init__(self, X, t, y, row_weights, features):
        self.features, self.t, self.y, self.row_weights = features, t, y, row_weights
        levels, width = features.levels, len(features.numbers)
        pairs = combinations(range(len(levels)), 2)
        self.pairs = [(a, b) for a, b in pairs if levels[a] * levels[b] <= MOST_CELLS][:MOST_PAIRS]
        rows = columns_of(*features.split(X), levels, self.pairs)
        self.blocks, kept, first = [[column] for column in range(width)], [*range(width)], width
        wide = np.eye(rows.shape[1])
        for many in (*levels, *(levels[a] * levels[b] for a, b in self.pairs)):
            own = np.arange(first, first + many)
            mass = row_weights @ rows[:, own]
            wide[np.ix_(own, own)] -= mass / max(mass.sum(), 1e-300)
            # What nobody has, moves nothing.
            wide[own[mass == 0]] = 0.0
            others = own[(mass > 0) & (own != own[mass.argmax()])]
            self.blocks.append([*range(len(kept), len(kept) + len(others))])
            kept += others.tolist()
            first += many
        self.wide = wide[:, kept]
        self.design = rows @ self.wide

    def begin(self):
        """Columns of the design, and moves (p,), by one segment alone; no column where none pays.

        Features whose moves are worth less (by Wald's statistic) than their parameters cost in
        description length are left out, one at a time; then pairs of categories are taken in that
        are worth more than they cost, in place of both.
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
            gains = [fit.score(self.design[:, self.blocks[alone + at]], half_log) for at in left]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            pair = left.pop(best)
            own = [len(self.features.numbers) + one for one in self.pairs[pair]]
            kept = [*(one for one in kept if one not in own), alone + pair]
            fit = self._fit(kept)
        if not kept or not fit.matters:
            return [], np.empty(0)
        columns = [column for at in kept for column in self.blocks[at]]
        return columns, -fit.coef[:-1] / max(fit.coef[-1], LEAST_SLOPE)

    def _fit(self, kept):
        columns = [column for at in kept for column in self.blocks[at]]
        rows = np.column_stack([self.design[:, columns], self.t])
        return _Line(rows, self.y, self.row_weights, [len(self.blocks[at]) for at in kept])

    def settled(self, data, parameters, columns, moves, *, tol, iterations, **rule):
        """Segments, curves and thresholds best together: `Climb`, columns, moves (p,).

        In turn EM runs with the thresholds held, and curves and thresholds rise together with the
        segments' features held; the log-likelihood never falls. Then features are left out, one at
        a time, that no longer pay for their parameters beside the segments. Other arguments are of
        `steps.climb`; `data` has the offers that were made.
        """
        asked = {"tol": tol, "iterations": iterations} | rule
        while True:
            rows, before = self.design[:, columns], -np.inf
            for _ in range(ROUNDS):
                run = climb(data.moved(rows @ moves), parameters, **asked)
                parameters = run.parameters
                if run.last[0] - before <= tol * float(data.total):
                    break
                before = run.last[0]
                curves, moves = risen(data, parameters, rows, moves, rule.get("prior"))
                parameters = parameters._replace(curves=curves)
            blocks = [block for block in self.blocks if {*block} <= {*columns}]
            order = [column for block in blocks for column in block]
            moves = moves[[columns.index(column) for column in order]]
            columns = order
            worth = self._worth(data, parameters, columns, moves, blocks) if columns else []
            if min(worth, default=0.0) >= 0:
                return run, columns, moves
            left = {*blocks[int(np.argmin(worth))]}
            kept = [at for at, column in enumerate(columns) if column not in left]
            columns, moves = [columns[at] for at in kept], moves[kept]

    def _worth(self, data, parameters, columns, moves, blocks):
        """Wald's statistic of each block beside the segments, less what its parameters cost."""
        rows = self.design[:, columns]
        share, chance, _ = _shares(data.moved(rows @ moves), parameters)
        place, k = (data.t - rows @ moves - 0.5)[:, None], parameters.curves[:, 0, 1]
        weight, size = share * chance * (1 - chance), len(k)
        # Derivatives of the log-odds by position and slope of a segment, and by moves.
        own = np.column_stack([np.ones_like(place), place])
        information = np.zeros((2 * size + len(columns),) * 2)
        for j in range(size):
            at = slice(2 * j, 2 * j + 2)
            curve = own * weight[:, j, None]
            information[at, at] = curve.T @ own
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

    def thresholds(self, columns, moves):
        """`Thresholds` of moves by some columns of the design."""
        return Thresholds(self.features, self.wide[:, columns] @ moves, self.pairs)


class _Line:
    """Logistic regression of the answers on columns of the design, then the offer."""

    def __init__(self, rows, y, row_weights, sizes):
        self.coef, intercept, _, _ = fit_logistic(rows, y, row_weights)
        chance = logistic(np.clip(rows @ self.coef + intercept, -30, 30))
        self.full = np.column_stack([rows, np.ones(len(rows))])
        self.rest, self.weight = row_weights * (y - chance), row_weights * chance * (1 - chance)
        information = (self.full * self.weight[:, None]).T @ self.full
        self.covariance = np.linalg.pinv(information, hermitian=True)
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


def few_steps_apart(data, rows, parameters, moves, steps, **rule):
    """`steps.few_steps` of one model in which its thresholds take part: `Choices`, moves (p,).

    `rows` (n, p) are what the moves are linear in; after the curves, which move everybody's
    threshold, these take Newton's step with the expected log-likelihood's curvature.
    """
    for _ in range(steps):
        moved = data.moved(rows @ moves)
        parameters = few_steps(moved, parameters, 1, **rule)
        share, chance, sign = _shares(moved, parameters)
        k = parameters.curves[:, 0, 1]
        gradient = -rows.T @ ((share * sign * chance) @ k)
        weight = (share * chance * (1 - chance)) @ k**2
        information = (rows * weight[:, None]).T @ rows
        information[np.diag_indices_from(information)] += RIDGE * max(float(weight.sum()), 1.0)
        step = np.linalg.solve(information, gradient)
        moves = moves + np.clip(step, -STRIDE, STRIDE)
    return parameters, moves


def _shares(data, parameters):
    """Responsibilities times row weights (n, K), chance of the other answer, sign (n, 1)."""
    curves, sign = parameters.curves[:, 0], (2.0 * data.y - 1.0)[:, None]
    odds = sign * (curves[:, 0] + curves[:, 1] * (data.t - 0.5)[:, None])
    share = _posterior(data.log_joint(parameters) + data.log_answer(curves), data.row_weights)
    return share, 1 / (1 + np.exp(np.clip(odds, -500, 500))), sign


def _posterior(logs, row_weights):
    """Shares (n, K) by logs up to a constant, times row weights."""
    share = np.exp(logs - logs.max(axis=1, keepdims=True))
    return share * (row_weights / share.sum(axis=1))[:, None]


class Gated(NamedTuple):
    """Gates and curves of J segments; the objective has the priors.

    Gates (J, 1 + a + L) are of 1, the scaled numbers and indicators of levels, and add up to 0 over
    the segments; curves (J, 2) are position (log odds at the offer 1/2) and slope.
    """

    gates: np.ndarray
    curves: np.ndarray
    objective: float
    log_likelihood: float
    iterations: int
    converged: bool


def gate_design(data):
    """What gates are linear in, (n, 1 + a + L): 1, numbers, indicators, of `ChoiceRows`."""
    rows = columns_of(data.rows, data.codes, data.emission.levels)
    return np.column_stack([np.ones(len(rows)), rows])


def gate_parameters(components, data):
    """Free parameters of gates and curves of J segments."""
    own = 1 + data.rows.shape[1] + sum(levels - 1 for levels in data.emission.levels)
    return (components - 1) * own + 2 * components


def discriminant(rows, shares):
    """Gates (J, q) of segments with members by `shares` (J, n), by linear discriminant analysis."""
    mass = np.maximum(shares.sum(axis=1), 1e-9)
    means = shares @ rows / mass[:, None]
    total = (rows * shares.sum(axis=0)[:, None]).T @ rows - (means * mass[:, None]).T @ means
    within = total[1:, 1:] / mass.sum() + 1e-2 * np.eye(rows.shape[1] - 1)
    slopes = np.linalg.solve(within, means[:, 1:].T).T
    heights = np.log(mass / mass.sum()) - 0.5 * (slopes * means[:, 1:]).sum(axis=1)
    gates = np.column_stack([heights, slopes])
    return gates - gates.mean(axis=0)


def fit_gates(data, gates, curves, prior=None, row_weights=None, rows=None, steps=GATE_STEPS):
    """`Gated` of largest log-likelihood (with priors), from good gates (J, q) and curves (J, 2).

    `data` (`ChoiceRows`) has offers and answers; `row_weights` stand in place of its own, `rows`
    are its `gate_design` where it is there already, `steps` the most iterations of L-BFGS.
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    rows = gate_design(data) if rows is None else rows
    weights = data.row_weights if row_weights is None else row_weights
    u, sign, (size, width) = data.t - 0.5, 2.0 * data.y - 1.0, gates.shape
    cut, scale = size * width, max(float(weights.sum()), 1e-300)

    def parts(point):
        own, a, k = point[:cut].reshape(size, width), point[cut : cut + size], point[cut + size :]
        logs = own @ rows.T
        logs -= logsumexp(logs, axis=0)
        odds = sign * (a[:, None] + k[:, None] * u)
        joint = logs - np.logaddexp(0.0, -odds)
        total = logsumexp(joint, axis=0)
        return own, a, k, logs, odds, joint, total

    def loss(point):
        own, a, k, logs, odds, joint, total = parts(point)
        shares = np.exp(joint - total) * weights
        value = weights @ total - 0.5 * GATE_RIDGE * np.square(own[:, 1:]).sum()
        pull = (shares - np.exp(logs) * weights) @ rows
        pull[:, 1:] -= GATE_RIDGE * own[:, 1:]
        rest = shares * sign / (1.0 + np.exp(np.clip(odds, -500, 500)))
        slope = np.stack([rest.sum(axis=1), rest @ u])
        if prior is not None:
            told = np.stack([a, k], axis=-1)
            value += prior.log_density(told[:, None])[0]
            slope -= (prior.precision * (told - prior.mean)).T
        return -value / scale, -np.concatenate([pull.ravel(), slope.ravel()]) / scale

    start = np.concatenate([gates.ravel(), curves.T.ravel()])
    bounds = [(None, None)] * cut + [(-MOST_POSITION, MOST_POSITION)] * size
    bounds += [(LEAST_SLOPE, MOST_SLOPE)] * size
    asked = {"maxiter": steps, "ftol": 1e-10}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=asked)
    own, a, k, *_, total = parts(found.x)
    own = own - own.mean(axis=0)
    objective = -float(found.fun) * scale
    return Gated(
        own, np.stack([a, k], axis=-1), objective, float(weights @ total), found.nit, found.success
    )


def as_choices(gates, curves, numbers):
    """Gates as a batch of one of `Choices` whose p(j | x) they are.

    Gaussians of one covariance v I with means v w_j and weights exp(b_j + v |w_j|^2 / 2) have the
    log-odds b_j + x'w_j, and so have levels of shares exp(w_jl).
    """
    slopes, levels = gates[:, 1 : 1 + numbers], gates[:, 1 + numbers :]
    logs = gates[:, 0] + 0.5 * NARROW * np.square(slopes).sum(axis=1)
    weights = np.maximum(np.exp(logs - logs.max()), 1e-300)
    covariance = NARROW * np.eye(numbers)
    return Choices(
        weights[:, None],
        NARROW * slopes[:, None],
        np.tile(covariance, (len(gates), 1, 1, 1)),
        curves[:, None],
        np.exp(levels - levels.max(initial=0.0))[:, None],
    )


def gates_by_size(data, starts, prior):
    """`Gated` by number of segments, each begun at segments of the features.

    `starts` are, by number, log of weight times density of the features (n, J), and curves (J, 2).
    """
    rows, found = gate_design(data), {}
    for size, (joint, curves) in sorted(starts.items()):
        # Members by the features alone, and by the answers, too.
        tries = []
        for logs in (joint, joint + data.log_answer(curves)):
            gates = discriminant(rows, _posterior(logs, data.row_weights).T)
            tries.append(fit_gates(data, gates, curves, prior, rows=rows))
        if size - 1 in found:
            tries.append(_split_gates(data, found[size - 1], prior, rows))
        found[size] = max(tries, key=lambda one: one.objective)
    return found


def memberships(data, found):
    """p(j | x), and that given the answer, too: (J, n) each."""
    logs = found.gates @ gate_design(data).T
    prior = np.exp(logs - logs.max(axis=0))
    prior /= prior.sum(axis=0)
    joint = prior * np.exp(data.log_answer(found.curves).T)
    return prior, joint / joint.sum(axis=0)


def _split_gates(data, found, prior, rows):
    """From gates of one segment less: the one of most members answers by two curves."""
    logs = found.gates @ rows.T
    shares = np.exp(logs - logs.max(axis=0))
    largest = int((shares / shares.sum(axis=0) @ data.row_weights).argmax())
    gates = np.vstack([found.gates, found.gates[largest]])
    gates[[largest, -1], 0] -= np.log(2.0)
    curves = np.vstack([found.curves, found.curves[largest]])
    curves[largest, 0] = min(curves[largest, 0] + 1.0, MOST_POSITION)
    curves[-1, 0] = max(curves[-1, 0] - 1.0, -MOST_POSITION)
    # Equal gates stay equal: they part along the direction that tells the answers best.
    odds = data.y - data.y.mean()
    lean = rows[:, 1:].T @ (data.row_weights * odds) / max(float(data.total), 1e-300)
    gates[largest, 1:] += 0.5 * lean
    gates[-1, 1:] -= 0.5 * lean
    return fit_gates(data, gates, curves, prior, rows=rows)
