"""EM steps of many predictive choice models at once: segments of features, logistic choice.

The density of Noor et al. (2014) is p(x, y | t) = sum_j w_j N(x; mu_j, Sigma_j) p_j(y | t), with
p_j(1 | t) = logistic(a_j + k_j (t - 1/2)) and 0 < k_j <= 30, so that eta_j = 1/2 - a_j / k_j.
Categories add a factor each, the share of the level in the segment
(`counterweight.numerics.emissions`). The log density is linear in (1, x_i, x_i x_j) and in
indicators of levels, and the log odds of an answer in (1, t), so an E-step of R models of K
segments is two matrix products over blocks of rows, and the sums for the M-step are three more.
Arrays of a batch start with the axes (K, R).

A row with missing features counts by the density of the features it has, and the M-step uses
the conditional moments of the missing ones: this is EM for values missing at random.
"""

import copy
from typing import NamedTuple

import numpy as np

from counterweight.numerics.emissions import Emission
from counterweight.numerics.mixture_steps import LEAST_LOGS, chosen, extrapolated, upper_triangle

#: Slopes: steeper curves are hardly steeper to see (section 3.4.2); 0 would leave eta undefined.
LEAST_SLOPE, MOST_SLOPE = 1e-3, 30.0
#: Largest log odds at the offer 1/2: a segment with one kind of answer goes there.
MOST_POSITION = 30.0
#: Numbers (segments x models x rows) of a block: a few of them fit the processor's cache.
BLOCK = 1 << 15
#: Largest change of (position, slope) in one Newton step.
STRIDE = (4.0, 10.0)
#: Shortest step tried again before the choice part of an update is given up.
HALVINGS = 12


class Choices(NamedTuple):
    """A batch of R models of K segments over d features.

    Curves (K, R, 2) are positions a (log odds at the offer 1/2) and slopes k; shares (K, R, L) are
    of the levels of all categories, L being 0 where there are none.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    curves: np.ndarray
    shares: np.ndarray

    def at(self, index):
        """The models at `index` of the batch."""
        return Choices(*(values[:, index] for values in self))


class Prior(NamedTuple):
    """Normal prior of every segment's position and slope: means and precisions, (2,) each."""

    mean: np.ndarray
    precision: np.ndarray

    def log_density(self, curves):
        """Up to a constant, summed over segments: (R,) for curves (K, R, 2)."""
        return -0.5 * (self.precision * (curves - self.mean) ** 2).sum(axis=(0, 2))


class Statistics(NamedTuple):
    """What an E-step leaves for the M-step, and the log-likelihood (R,).

    ``moments`` (K, R, q) are sums of responsibility times what the density is linear in,
    ``gradient`` (K, R, 2) and ``curvature`` (K, R, 3) derivatives of the expected log-likelihood in
    the curves, ``entropy`` (R,) that of the responsibilities (zero unless asked for).
    """

    moments: np.ndarray
    log_likelihood: np.ndarray
    gradient: np.ndarray
    curvature: np.ndarray
    entropy: np.ndarray


class _Group(NamedTuple):
    """Rows that miss the same features; ``index`` are their places."""

    index: np.ndarray
    observed: np.ndarray
    features: np.ndarray
    answers: np.ndarray
    offers: np.ndarray


class ChoiceRows:
    """Rows of scaled features (n, d), NaN where missing, laid out for matrix products.

    Without offers `t`, from 0 to 1, and answers `y` only densities of x can be had. `row_weights`
    are (n,), or (R, n), those of each model of a batch; `codes` (n, categories) levels, -1 where
    missing; `emission` says what segments look like, with full covariances if not given.
    """

    #: Of the two matrix products and what lies between them; sums are in double precision.
    precision = np.float64

    def __init__(self, rows, t=None, y=None, row_weights=None, codes=None, emission=None):
        n, d = rows.shape
        self.rows, self.t, self.y = rows, t, y
        # The offers that were made, where thresholds move `t`.
        self.offered = t
        self.codes = np.empty((n, 0), dtype=np.int32) if codes is None else codes
        self.emission = Emission(d) if emission is None else emission
        self.levels = int(self.emission.offsets[-1])
        self._diagonal = self.emission.covariance == "diagonal"
        self.row_weights = np.ones(n) if row_weights is None else row_weights
        self.total = self.row_weights.sum(axis=-1)
        self.width = self._width(d)
        missing = np.isnan(rows)
        if missing.any():
            patterns, codes = np.unique(missing, axis=0, return_inverse=True)
            codes = codes.reshape(-1)
            order = np.argsort(codes, kind="stable")
            cuts = np.cumsum(np.bincount(codes, minlength=len(patterns)))[:-1]
            parts = list(zip(np.split(order, cuts), ~patterns, strict=True))
        else:
            parts = [(np.arange(n), np.ones(d, dtype=bool))]
        self.groups = [self._group(index, np.flatnonzero(seen)) for index, seen in parts]

    def _width(self, d):
        return 1 + d + (d if self._diagonal else d * (d + 1) // 2) + self.levels

    def _group(self, index, observed):
        values = self.rows[np.ix_(index, observed)].T
        n, d = len(index), len(observed)
        features = np.ones((self._width(d), n))
        features[1 : d + 1] = values
        i, j = (np.arange(d),) * 2 if self._diagonal else upper_triangle(d)
        np.multiply(values[i], values[j], out=features[d + 1 : len(features) - self.levels])
        if self.levels:
            marks, codes = features[-self.levels :], self.codes[index]
            marks[:] = 0.0
            for at, offset in enumerate(self.emission.offsets[:-1]):
                there = np.flatnonzero(codes[:, at] >= 0)
                marks[offset + codes[there, at], there] = 1.0
        return _Group(index, observed, features, **self._answered(index))

    def _answered(self, index):
        """Powers of the offers, and the first two of them with the sign of the answer."""
        if self.t is None:
            return {"answers": None, "offers": None}
        offers = np.ones((3, len(index)))
        offers[1] = self.t[index] - 0.5
        offers[2] = offers[1] ** 2
        return {"answers": offers[:2] * (2.0 * self.y[index] - 1.0), "offers": offers}

    def part(self, index):
        """The rows at `index` alone."""
        own = (values[index] for values in (self.rows, self.t, self.y))
        weights = self.row_weights[..., index]
        return ChoiceRows(*own, weights, self.codes[index], self.emission)

    def reweighted(self, row_weights):
        """The same rows with other weights."""
        other = copy.copy(self)
        other.row_weights, other.total = row_weights, row_weights.sum(axis=-1)
        return other

    def single(self):
        """The same rows in single precision, for steps that need no more."""
        other = copy.copy(self)
        other.precision = np.float32
        names = ("features", "answers", "offers")
        other.groups = [
            group._replace(**{name: getattr(group, name).astype(np.float32) for name in names})
            for group in self.groups
        ]
        return other

    def moved(self, moves):
        """The same rows, each answering the offer t as others answer t - moves (n,)."""
        other = copy.copy(self)
        other.t = self.t - moves
        other.groups = [group._replace(**other._answered(group.index)) for group in self.groups]
        return other

    def expectation(self, parameters, entropy=False, moments=True):
        """`Statistics` of one E-step (equation 11) of all models over all rows.

        Without `moments` only the log-likelihood is told, in little more than half the time.
        """
        k, r = parameters.weights.shape
        models = k * r
        found = np.zeros((k, r, self.width))
        gradient, curvature = np.zeros((models, 2)), np.zeros((models, 3))
        log_likelihood, doubt = np.zeros(r), np.zeros(r)
        kind = self.precision
        against = -parameters.curves.reshape(models, 2).astype(kind)
        step = max(BLOCK // models, 64)
        room = np.empty((2, models * min(step, len(self.rows))), kind)
        for group in self.groups:
            coefficients = self.emission.coefficients(parameters, group.observed)
            coefficients = coefficients.reshape(models, -1).astype(kind)
            sums = np.zeros(coefficients.shape)
            own = self.row_weights[..., group.index].astype(kind)
            for start in range(0, len(group.index), step):
                at = slice(start, start + step)
                features, answers = group.features[:, at], group.answers[:, at]
                weights = own[..., at]
                joint, chance = room[:, : models * features.shape[1]].reshape(2, models, -1)
                np.matmul(coefficients, features, out=joint)
                shaped = joint.reshape(k, r, -1)
                # Probability of the answer that was given.
                np.matmul(against, answers, out=chance)
                np.exp(chance, out=chance)
                chance += 1.0
                np.reciprocal(chance, out=chance)
                top = shaped.max(axis=0)
                shaped -= top
                np.maximum(joint, LEAST_LOGS[kind], out=joint)
                np.exp(joint, out=joint)
                joint *= chance
                total = shaped.sum(axis=0)
                log_likelihood += ((np.log(total) + top) * weights).sum(axis=-1)
                if entropy:
                    share = shaped / total
                    logs = np.log(np.maximum(share, 1e-300))
                    doubt -= ((share * logs).sum(axis=0) * weights).sum(axis=-1)
                if not moments:
                    continue
                shaped *= weights / total
                sums += _summed(joint, features)
                # In place: gamma (1 - p), then gamma p (1 - p).
                np.subtract(1.0, chance, out=chance)
                joint *= chance
                gradient += _summed(joint, answers)
                np.subtract(1.0, chance, out=chance)
                joint *= chance
                curvature += _summed(joint, group.offers[:, at])
            if moments:
                full = self.emission.completed(sums.reshape(k, r, -1), parameters, group.observed)
                found += full
        return Statistics(
            found, log_likelihood, gradient.reshape(k, r, 2), curvature.reshape(k, r, 3), doubt
        )

    def log_joint(self, parameters):
        """log w_j + log density of x, (n, K), of a batch of one: answers play no part."""
        result = np.empty((len(self.rows), len(parameters.weights)))
        for group in self.groups:
            coefficients = self.emission.coefficients(parameters, group.observed)[:, 0]
            result[group.index] = group.features.T @ coefficients.T
        return result

    def log_answer(self, curves):
        """Log probability (n, K) of the answers by curves (K, 2)."""
        odds = curves[:, 0] + (self.t[:, None] - 0.5) * curves[:, 1]
        return -np.logaddexp(0.0, -(2.0 * self.y - 1.0)[:, None] * odds)

    def maximised(self, moments, previous, minimum_rows, floor, curves):
        """Models after the part of an M-step that describes the features."""
        held = moments[..., 0] < minimum_rows
        made = self.emission.maximisation(moments, previous, held, floor)
        return Choices(made.weights, made.means, made.covariances, curves, made.shares)

    def penalty(self, parameters, prior=None):
        """What priors add to the log-likelihood, (R,); 0 where there are none."""
        added = self.emission.log_prior(parameters.shares) if self.levels else 0.0
        return added if prior is None else added + prior.log_density(parameters.curves)


def _summed(joint, values):
    """Products (models, q) of joint (models, n) and values (q, n), summed over the rows."""
    # A few short columns are copied: the product by a part of longer ones is much slower.
    few = len(values) < len(joint)
    return joint @ (np.ascontiguousarray(values.T) if few else values.T)


def curve_step(curves, gradient, curvature, prior=None, stride=STRIDE):
    """Newton step (..., 2) of positions and slopes, exact within their bounds.

    Maximises the quadratic model g's - s'Hs/2 over the rectangle that the bounds and the
    largest step leave: its maximum is the free one if that lies inside, else the best of those
    on the four edges. `curvature` (..., 3) are sums of gamma p (1 - p) times
    (1, t - 1/2, (t - 1/2)^2).
    """
    h, cross = curvature[..., [0, 2]], curvature[..., 1]
    if prior is not None:
        gradient = gradient - prior.precision * (curves - prior.mean)
        h = h + prior.precision
    # Offers that do not vary, or answers that are certain, leave no curvature.
    h = h * (1 + 1e-9) + 1e-10
    least = np.maximum(np.array([-MOST_POSITION, LEAST_SLOPE]) - curves, -np.asarray(stride))
    most = np.minimum(np.array([MOST_POSITION, MOST_SLOPE]) - curves, np.asarray(stride))
    least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
    ga, gk = gradient[..., 0], gradient[..., 1]
    free = np.stack([h[..., 1] * ga - cross * gk, h[..., 0] * gk - cross * ga], axis=-1)
    free = free / (h[..., 0] * h[..., 1] - cross**2)[..., None]
    inside = ((free >= least) & (free <= most)).all(axis=-1)
    if inside.all():
        return free
    # Few others remain.
    out, result = ~inside, free
    gradient, h, cross = np.broadcast_to(gradient, free.shape)[out], h[out], cross[out]
    least, most, steps = least[out], most[out], []
    for fixed in (0, 1):
        other = 1 - fixed
        for edge in (least[..., fixed], most[..., fixed]):
            move = (gradient[..., other] - cross * edge) / h[..., other]
            move = np.clip(move, least[..., other], most[..., other])
            steps.append(np.stack([edge, move] if fixed == 0 else [move, edge], axis=-1))
    steps = np.stack(steps)
    values = (gradient * steps).sum(-1) - 0.5 * (h * steps**2).sum(-1)
    values = values - cross * steps[..., 0] * steps[..., 1]
    result[out] = np.take_along_axis(steps, values.argmax(axis=0)[None, :, None], axis=0)[0]
    return result


def fit_curves(t, y, weights, start=None, prior=None, tol=1e-12, iterations=100):
    """Weighted logistic regressions with slopes between bounds, the M-step in full: (J, 2).

    Newton's method with halved steps until the largest is below `tol`, relative to the size
    of the parameters; each step respects the bounds exactly, so does the optimum. Columns are
    position a = k (1/2 - eta) and slope k; `weights` (J, n) are responsibilities times row weights.
    """
    u = np.asarray(t, dtype=float) - 0.5
    sign, weights = 2.0 * np.asarray(y) - 1.0, np.atleast_2d(weights)
    curves = np.tile([0.0, 1.0], (len(weights), 1)) if start is None else np.array(start)

    def value(curves):
        odds = sign * (curves[:, :1] + curves[:, 1:] * u)
        total = -(weights * np.logaddexp(0.0, -odds)).sum(axis=1)
        if prior is None:
            return total
        return total - 0.5 * (prior.precision * (curves - prior.mean) ** 2).sum(axis=1)

    powers, current = np.stack([np.ones_like(u), u, u**2]), value(curves)
    for _ in range(iterations):
        chance = 1.0 / (1.0 + np.exp(-sign * (curves[:, :1] + curves[:, 1:] * u)))
        rest = weights * (1.0 - chance)
        step = curve_step(curves, rest @ (sign * powers[:2]).T, (rest * chance) @ powers.T, prior)
        for _ in range(40):
            after = value(curves + step)
            worse = after < current - 1e-13 * np.abs(current)
            if not worse.any():
                break
            step[worse] *= 0.5
        curves, current = curves + step, after
        if (np.abs(step) <= tol * (1.0 + np.abs(curves))).all():
            break
    return curves


class _Ahead:
    """Points beyond two steps of EM, of each model of a batch by itself; see `extrapolated`.

    ``far`` (R,) says which models stand at such a point.
    """

    def __init__(self, parameters, floor, normalised, brief):
        size = parameters.weights.shape[1]
        self.floor, self.normalised, self.brief = floor, normalised, brief
        self.far, self.steps = np.zeros(size, dtype=bool), np.zeros(size, dtype=int)
        self.reach, self.path = np.ones(size), [parameters, parameters, parameters]
        self.step = np.zeros_like(parameters.curves)

    def keep(self, which):
        """Go on with some models alone."""
        self.path = [one.at(which) for one in self.path]
        self.far, self.steps, self.reach = (
            values[which] for values in (self.far, self.steps, self.reach)
        )
        self.step = self.step[:, which]

    def after(self, before, new, step, fell):
        """Where models go on, and the last step of their curves, after one step of EM.

        Those that `fell` at a point ahead go back to where EM had come to; others that fell, to a
        shorter step, begin their two steps anew.
        """
        if self.brief:
            return new, step
        back, first = fell & self.far, self.far | fell
        new = chosen(back, self.path[2], new) if back.any() else new
        step = np.where(back[:, None], self.step, step)
        self.reach = np.where(back, np.maximum(self.reach / 4, 1.0), self.reach)
        # A point that was good is left by a step that is none of the two.
        self.steps = np.where(first, 0, self.steps + 1)
        one = self.steps == 1
        self.path[0] = chosen(one, before, self.path[0]) if one.any() else self.path[0]
        self.path[1] = chosen(one, new, self.path[1]) if one.any() else self.path[1]
        self.far = self.steps == 2
        if self.far.any():
            self.path[2], self.step = chosen(self.far, new, self.path[2]), step
            path = [one.at(self.far) for one in self.path]
            told = extrapolated(path, self.reach[self.far], self.floor, self.normalised)
            beyond, self.reach[self.far] = told
            least, most = (-MOST_POSITION, LEAST_SLOPE), (MOST_POSITION, MOST_SLOPE)
            beyond = beyond._replace(curves=np.clip(beyond.curves, least, most))
            new = Choices(*(values.copy() for values in new))
            for values, some in zip(new, beyond, strict=True):
                values[:, self.far] = some
        return new, step


class Climb(NamedTuple):
    """What EM left of a batch: models, objective (R,), steps, convergence, and the path."""

    parameters: Choices
    last: np.ndarray
    iterations: np.ndarray
    converged: np.ndarray
    held: np.ndarray
    history: list


def climb(data, parameters, *, tol, iterations, floor, minimum_rows, prior=None, brief=False):
    """`Climb`: EM of a batch of models until the objective of each rises by less than `tol`.

    The part of an M-step that describes the features is exact. Its choice part is one Newton step,
    which comes almost free with the E-step. If the objective (log-likelihood plus log prior) falls
    after it, the step is halved until it does not. From two such steps a third one is foretold
    (squared extrapolation: Varadhan & Roland 2008), and undone where the objective is less there:
    it never falls, and a model stops by the gain of a step of EM itself. Nothing is foretold in
    runs that are to be `brief`. `tol` is per unit of row weight, `floor` the least eigenvalue of a
    covariance; a segment with responsibilities below `minimum_rows` in all keeps its Gaussian and
    weight.
    """
    slack = 1e-12 if data.precision == np.float64 else 1e-6
    size = parameters.weights.shape[1]
    live, last = np.arange(size), np.full(size, -np.inf)
    final = Choices(*(values.copy() for values in parameters))
    count, halved, held_back = np.zeros((3, size), dtype=int)
    converged, step, history = np.zeros(size, dtype=bool), np.zeros_like(parameters.curves), []
    total = np.broadcast_to(data.total, size)
    ahead = _Ahead(parameters, floor, data.emission.normalised, brief)
    while True:
        # After the last step it is the objective alone that matters.
        statistics = data.expectation(parameters, moments=bool((count[live] < iterations).any()))
        current = statistics.log_likelihood + data.penalty(parameters, prior)
        before, far = last[live], ahead.far
        fell = ~(current >= before - slack * np.abs(before)) & (far | (halved[live] < HALVINGS))
        last[live] = np.where(fell, before, np.maximum(current, before))
        history.append(np.full(size, np.nan))
        history[-1][live[~fell]] = current[~fell]
        done = ~fell & ~far & (current - before <= tol * total[live])
        converged[live[done]] = True
        keep = ~done & ((count[live] < iterations) | fell)
        if not keep.all():
            for target, values in zip(final, parameters, strict=True):
                target[:, live[~keep]] = values[:, ~keep]
            parameters, step, fell, far = parameters.at(keep), step[:, keep], fell[keep], far[keep]
            live = live[keep]
            ahead.keep(keep)
        if not len(live):
            return Climb(final, last, count, converged, held_back, history)
        sums = (values[:, keep] for values in statistics[:1] + statistics[2:4])
        # What is undone has no use for its sums, which may be none.
        moments, *sloped = (np.where((fell & far)[:, None], 0.0, one) for one in sums)
        held_back[live] += np.where(fell, 0, (moments[..., 0] < minimum_rows).sum(axis=0))
        newton = curve_step(parameters.curves, *sloped, prior)
        count[live] += ~fell
        halved[live] = np.where(fell & ~far, halved[live] + 1, 0)
        # The last halving undoes the step: the part of the features cannot lower it.
        back = np.where(halved[live] < HALVINGS, 0.5, 1.0)[:, None]
        curves = parameters.curves + np.where(fell[:, None], -step * back, newton)
        taken = np.where(fell[:, None], step * (1 - back), newton)
        new = data.maximised(moments, parameters, minimum_rows, floor, curves)
        if fell.any():
            new = chosen(fell, parameters, new)._replace(curves=curves)
        parameters, step = ahead.after(parameters, new, taken, fell)


def few_steps(data, parameters, steps, *, floor, minimum_rows, prior=None):
    """`Choices` after a fixed number of EM steps; row weights may be (R, n), of each model."""
    for _ in range(steps):
        statistics = data.expectation(parameters)
        step = curve_step(parameters.curves, statistics.gradient, statistics.curvature, prior)
        parameters = data.maximised(
            statistics.moments, parameters, minimum_rows, floor, parameters.curves + step
        )
    return parameters
