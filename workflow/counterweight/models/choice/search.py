"""Search for good predictive choice models of every number of segments J, and the choice of J.

EM finds a local maximum, and with many segments the start decides which. For each J many
starts run a few steps in single precision, the better ones some more, and the best few to the end
in double precision: random ones (k-means++ on x), and the best model of J - 1 with one segment
split. A way back from the
largest J then starts from the best model of J + 1 with two segments merged or one left out,
and a last way forth splits again what has become better. Of all J it is the one of least
description length.
"""

from itertools import islice, pairwise, product
from typing import NamedTuple

import numpy as np

from counterweight.models.choice.covariates import columns_of
from counterweight.models.choice.steps import (
    LEAST_SLOPE,
    MOST_POSITION,
    MOST_SLOPE,
    Choices,
    climb,
    fit_curves,
)
from counterweight.numerics.mixture_steps import floored

#: Rows that starts are drawn from, and rows that short runs see.
START_ROWS, SEARCH_ROWS = 5_000, 20_000
#: EM steps of the first and the second short run, and the share that goes on to the second.
SHORT = (4, 10)
GO_ON = 0.25
#: Starts that are run to the end, for each J and each way.
FINISHED = 2
LLOYD = 4
#: Splits and merges that are tried in a short run, at most, for each J.
MOVES = 30
#: Of a split by a category: what of a level is left to the other side, and the tilt of the curves.
LEFT, TILT = 0.1, np.array([0.5, 0.0])
#: Nats by which a model must be better for its neighbours in J to be sought again.
GAIN = 0.5
#: Nats by which a category must fall short of its cost to be left out.
SHORTFALL = 1e-6


class Best(NamedTuple):
    """The best model of J segments: a batch of one, and how it came to be."""

    parameters: Choices
    log_likelihood: float
    score: float
    history: np.ndarray
    iterations: int
    converged: bool
    held: int


class Search:
    """Best models by J, of `ChoiceRows`.

    `n_init` are the random starts for each J; `selection` ("observed", "complete") decides
    between finished models of the same J: the observed log-likelihood or, as in the paper's
    Algorithm 1, the expected one of the completed data; `moves` says whether splits and merges are
    tried, `curves` ("random", "regression") what random starts answer (see
    `predictive_choice.OPTIONS`). The rest is of `steps.climb`.
    """

    def __init__(
        self,
        data,
        rng,
        *,
        n_init,
        tol,
        iterations,
        selection="observed",
        moves=True,
        curves="random",
        **rule,
    ):
        self.data, self.rng, self.n_init, self.rule = data, rng, n_init, rule
        self.tol, self.iterations = tol, iterations
        self.selection, self.moves, self.curves = selection, moves, curves
        n, self.width = data.rows.shape
        self.emission, self.best = data.emission, {}
        positive = np.flatnonzero(data.row_weights > 0)
        brief = data
        if n > SEARCH_ROWS:
            brief = data.part(np.sort(rng.permutation(positive)[:SEARCH_ROWS]))
        # Short runs do no more than rank starts.
        self.brief = brief.single()
        chosen = rng.permutation(positive)[:START_ROWS]
        # Missing values start at the mean, which is 0 here.
        self.points = np.nan_to_num(data.rows[chosen])
        self.point_weights = data.row_weights[chosen]
        self.answers = data.t[chosen] - 0.5, data.y[chosen]
        self.pooled = fit_curves(data.t, data.y, data.row_weights)[0]
        marks = columns_of(np.empty((n, 0)), data.codes, self.emission.levels)
        self.marks = marks[chosen]
        if not data.levels:
            return
        # Centred indicators: each category has the variance of one number.
        even = self.marks - self.marks.mean(axis=0)
        for first, last in pairwise(self.emission.offsets):
            spread = np.square(even[:, first:last]).mean(axis=0).sum()
            even[:, first:last] /= np.sqrt(max(spread, 1e-12))
        self.points = np.hstack([self.points, even])
        # Of each level of each category, how much more it accepts than its offers tell.
        a, k = self.pooled
        rest = data.row_weights * (data.y - 1.0 / (1.0 + np.exp(-(a + k * (data.t - 0.5)))))
        self.order = (rest @ marks) / np.maximum(data.row_weights @ marks, 1.0)

    def up_to(self, most):
        """Best models of 1 to `most` segments, a dict by J."""
        for j in range(1, most + 1):
            starts = self.random(j)
            if self.moves and j > 1:
                both = zip(starts, self.splits(j - 1), strict=True)
                starts = Choices(*(np.concatenate(pair, axis=1) for pair in both))
            self.improve(j, starts)
        changed = set()
        if self.moves:
            for j in range(most - 1, 0, -1):
                if self.improve(j, self.merges(j + 1)):
                    changed.add(j)
            for j in range(2, most + 1):
                if j - 1 in changed and self.improve(j, self.splits(j - 1)):
                    changed.add(j)
        return self.best

    def improve(self, j, starts):
        """Run starts of j segments; True when one beats the best so far by `GAIN`."""
        if j == 1:
            # One segment has one optimum.
            starts = starts.at([0])
        finish = min(FINISHED, starts.weights.shape[1])
        for round_, steps in enumerate(SHORT):
            count = starts.weights.shape[1]
            if count <= finish:
                break
            left = max(int(np.ceil(GO_ON * count)), finish) if round_ == 0 else finish
            asked = {"iterations": steps, "tol": 0.0, "brief": True}
            run = climb(self.brief, starts, **asked, **self.rule)
            best = np.argsort(-run.last, kind="stable")[:left]
            starts = run.parameters.at(best)
        run = climb(self.data, starts, iterations=self.iterations, tol=self.tol, **self.rule)
        before = self.best[j].score if j in self.best else -np.inf
        complete = self.selection == "complete"
        statistics = self.data.expectation(run.parameters, entropy=complete, moments=False)
        penalty = self.data.penalty(run.parameters, self.rule.get("prior"))
        scores = statistics.log_likelihood + penalty
        if complete:
            scores = scores - statistics.entropy
        for index, score in enumerate(scores.tolist()):
            if j in self.best and score <= self.best[j].score + 1e-6 * abs(score) / 1e3:
                continue
            path = np.array([row[index] for row in run.history])
            path = path[~np.isnan(path)]
            self.best[j] = Best(
                run.parameters.at([index]),
                float(statistics.log_likelihood[index]),
                score,
                path,
                max(len(path) - 1, 0),
                bool(run.converged[index]),
                int(run.held[index]),
            )
        return self.best[j].score > before + GAIN

    def random(self, j):
        """Starts from a few steps of k-means after k-means++ seeds, (K=j, R=n_init)."""
        points, w, d, starts = self.points, self.point_weights, self.width, []
        squares, numbers = np.square(points).sum(axis=1), points[:, :d]
        pooled = np.eye(d)
        if len(points) > 1 and d:
            pooled = np.cov(numbers.T, aweights=w, bias=True).reshape(d, d)
        for _ in range(self.n_init):
            centres = self._seeds(j, squares)
            for _ in range(LLOYD):
                far = -2.0 * (points @ centres.T) + np.square(centres).sum(axis=1)
                own = far.argmin(axis=1)
                members = (own[:, None] == np.arange(j)) * w[:, None]
                count = members.sum(axis=0)
                sums = members.T @ points / np.maximum(count, 1e-300)[:, None]
                centres = np.where(count[:, None] > 0, sums, centres)
            rest = numbers - centres[own, :d]
            spread = np.stack([(rest * mine[:, None]).T @ rest for mine in members.T])
            # A few rows of the whole keep small clusters from being flat.
            within = spread.sum(axis=0) / w.sum() + 1e-3 * pooled
            pseudo = (d + 1.0) * w.mean()
            covariances = (spread + pseudo * within) / (count + pseudo)[:, None, None]
            weights = (count + w.mean()) / (count + w.mean()).sum()
            shares = members.T @ self.marks
            if self.curves == "regression":
                curves = self._curves(self._lines(members))
            else:
                curves = self._curves(self.pooled + self.rng.normal(size=(j, 2)) * (1.0, 2.0))
            shaped = self._shaped(covariances, weights)
            shares = self.emission.smoothed(shares)
            starts.append(Choices(weights, centres[:, :d], shaped, curves, shares))
        return Choices(*(np.stack(values, axis=1) for values in zip(*starts, strict=True)))

    def _seeds(self, j, squares):
        points, w = self.points, self.point_weights
        centres, share = np.empty((j, points.shape[1])), w / w.sum()
        nearest = np.full(len(points), np.inf)
        for number in range(j):
            centres[number] = points[self.rng.choice(len(points), p=share)]
            gap = squares - 2.0 * (points @ centres[number]) + centres[number] @ centres[number]
            nearest = np.minimum(nearest, np.maximum(gap, 0.0))
            mass = w * nearest
            share = mass / mass.sum() if mass.sum() > 0 else w / w.sum()
        return centres

    def _shaped(self, covariances, weights):
        """Covariances (K, ...) of the kind that the model has, floored."""
        if self.emission.covariance == "diagonal":
            covariances = covariances * np.eye(self.width)
        elif self.emission.covariance == "tied":
            share = (weights / weights.sum(axis=0))[..., None, None]
            pooled = (share * covariances).sum(axis=0)
            covariances = np.broadcast_to(pooled, covariances.shape).copy()
        return floored(covariances, self.rule["floor"]) if self.width else covariances

    @staticmethod
    def _curves(curves):
        return np.clip(curves, (-MOST_POSITION, LEAST_SLOPE), (MOST_POSITION, MOST_SLOPE))

    def _lines(self, members):
        """Curves (J, 2) of slope and height, at the middle offer, of lines by least squares."""
        u, y = self.answers
        total = np.maximum(members.sum(axis=0), 1e-300)
        place, height = members.T @ u / total, members.T @ y / total
        spread = members.T @ u**2 / total - place**2
        slope = (members.T @ (u * y) / total - place * height) / np.maximum(spread, 1e-6)
        # A logistic curve of slope k rises by k / 4 at its middle.
        return 4 * np.stack([height - slope * place - 0.5, slope], axis=-1)

    def splits(self, j):
        """Starts of j + 1 segments: the best of j with one split along a main axis."""
        best = self.best[j].parameters
        values, vectors = np.linalg.eigh(best.covariances[:, 0])
        axes = [(c, -1) for c in np.argsort(-best.weights[:, 0], kind="stable")] * bool(self.width)
        if self.width > 1 and 2 * j <= MOVES:
            axes += [(c, -2) for c, _ in axes]
        starts = []
        for c, axis in axes[:MOVES]:
            along = 0.8 * np.sqrt(values[c, axis]) * vectors[c][:, axis]
            new = _doubled(best, c, self.rng.normal(size=2) * (0.5, 1.0))
            new.weights[[c, -1]] /= 2
            new.means[c] += along
            new.means[-1] -= along
            new.covariances[[c, -1]] -= 0.8 * np.outer(along, along)
            starts.append(new)
        return self._batch(starts + self._level_splits(best))

    def _level_splits(self, best):
        """Splits of the largest segments by a category, between levels that answer otherwise."""
        starts, parts = [], list(pairwise(self.emission.offsets))
        order = np.argsort(-best.weights[:, 0], kind="stable")
        for c, (first, last) in islice(product(order, parts), MOVES):
            part = best.shares[c, 0, first:last]
            levels = np.argsort(-self.order[first:last], kind="stable")
            running = part[levels].cumsum() - 0.5 * part[levels]
            more = np.zeros(last - first, dtype=bool)
            more[levels[(running < 0.5) | (np.arange(len(levels)) == 0)]] = True
            more[levels[-1]] = False
            new = _doubled(best, c, TILT)
            share = np.maximum([part[more].sum(), part[~more].sum()], 0.05)
            new.weights[[c, -1]] *= share / share.sum()
            for at, mine in ((c, more), (-1, ~more)):
                mixed = part * np.where(mine, 1.0, LEFT)
                new.shares[at, first:last] = mixed / mixed.sum()
            starts.append(new)
        return starts

    def merges(self, j):
        """Starts of j - 1 segments: the best of j with two merged, or one left out."""
        own = Choices(*(values[:, 0] for values in self.best[j].parameters))
        starts = []
        for pair in self._near_pairs(*own)[: MOVES // 2]:
            share = own.weights[pair] / own.weights[pair].sum()
            mean = share @ own.means[pair]
            gap = own.means[pair] - mean
            covariance = np.einsum("c,cij->ij", share, own.covariances[pair])
            covariance = covariance + (gap.T * share) @ gap
            one = own.weights[pair].sum(), mean, covariance
            one = *one, share @ own.curves[pair], share @ own.shares[pair]
            both = zip(own, one, strict=True)
            starts.append(
                Choices(*(np.concatenate([np.delete(v, pair, 0), [new]]) for v, new in both))
            )
        for out in np.argsort(own.weights, kind="stable")[: MOVES // 2]:
            starts.append(Choices(*(np.delete(values, out, axis=0) for values in own)))
        return self._batch(starts)

    def _near_pairs(self, w, means, covariances, curves, shares):
        """Pairs of segments (m, 2), first those whose merger costs least in log-likelihood.

        About, for each row: Runnalls' bound for the Gaussians, and the loss of two response curves
        at the offers 1/4, 1/2, 3/4.
        """
        i, j = np.triu_indices(len(w), 1)
        both = w[i] + w[j]
        si, sj = w[i] / both, w[j] / both
        gap = means[i] - means[j]
        joint = si[:, None, None] * covariances[i] + sj[:, None, None] * covariances[j]
        joint = joint + (si * sj)[:, None, None] * gap[:, :, None] * gap[:, None, :]
        logs = np.linalg.slogdet(covariances)[1]
        cost = 0.5 * (both * np.linalg.slogdet(joint)[1] - w[i] * logs[i] - w[j] * logs[j])
        if shares.shape[1]:
            mixed = si[:, None] * shares[i] + sj[:, None] * shares[j]
            cost -= both * (mixed * np.log(mixed)).sum(axis=1)
            own = (shares * np.log(shares)).sum(axis=1)
            cost += w[i] * own[i] + w[j] * own[j]
        odds = np.clip(curves[:, :1] + curves[:, 1:] * np.array([-0.25, 0.0, 0.25]), -12, 12)
        p = 1.0 / (1.0 + np.exp(-odds))
        mixed = si[:, None] * p[i] + sj[:, None] * p[j]
        spread = (si * sj)[:, None] * (p[i] - p[j]) ** 2 / (mixed * (1 - mixed))
        order = np.argsort(cost + 0.5 * both * spread.mean(axis=1), kind="stable")
        return np.column_stack([i, j])[order]

    def _batch(self, starts):
        batch = Choices(*(np.stack(values, axis=1) for values in zip(*starts, strict=True)))
        return batch._replace(
            weights=batch.weights / batch.weights.sum(axis=0),
            covariances=self._shaped(batch.covariances, batch.weights),
            curves=self._curves(batch.curves),
        )


def _doubled(best, c, tilt):
    """The segments of a batch of one and segment c again, at the end; the two part in curves."""
    new = Choices(*(np.concatenate([values[:, 0], values[[c], 0]]) for values in best))
    new.curves[c] += tilt
    new.curves[-1] -= tilt
    return new


class Sizes:
    """Best models by number of segments J (`Search.up_to`), and the J that is chosen.

    A category that is independent of the segments has the same shares in all of them. It is then
    a constant factor of the density, and is left out. So the description length of a model is told
    with every category at the cheaper of two prices: shares of its own in each segment, or the
    same shares in all.

    `rule` is what EM steps go by, ``parameters(J)`` their free parameters, `capped` 0 or the
    largest J that there are rows for. ``sizes``, ``logs`` and ``mdl`` are J, log-likelihood and
    description length with all categories that are used, ``gains`` (J, categories) what shares of
    its own in each segment make the description shorter by.
    """

    def __init__(self, data, best, rule, parameters, features, capped):
        self.data, self.best, self.rule = data, best, rule
        self.features, self.capped = features, capped
        self.sizes = np.array(sorted(best))
        self.logs = np.array([best[j].log_likelihood for j in self.sizes])
        counts = np.array([parameters(j) for j in self.sizes])
        self.mdl = -self.logs + 0.5 * counts * np.log(data.total)
        parts = [self._gains(best[j].parameters) for j in self.sizes]
        self.gains = np.array(parts).reshape(len(parts), -1)
        self.chosen = int(self.sizes[-1])
        self.thresholds = None

    def spare(self, parameters):
        """Models of every size have so many parameters less."""
        saved = 0.5 * parameters * np.log(self.data.total)
        self.mdl -= saved
        self.length -= saved

    def settle(self, run, log_likelihood):
        """Take a better model of the chosen size: a `steps.Climb` and its log-likelihood."""
        at, best = self.chosen - 1, self.best[self.chosen]
        gain = log_likelihood - self.logs[at]
        self.logs[at] += gain
        self.mdl[at] -= gain
        self.length -= gain
        self.best[self.chosen] = best._replace(
            parameters=run.parameters,
            log_likelihood=log_likelihood,
            history=np.append(best.history, run.last[0]),
            iterations=best.iterations + int(run.iterations[0]),
            converged=bool(run.converged[0]),
            held=best.held + int(run.held[0]),
        )

    def choose(self):
        """Choose the J of least description length."""
        saved = np.minimum(self.gains, 0.0).sum(axis=1)
        self.chosen = int(self.sizes[(self.mdl + saved).argmin()])

    def useless(self):
        """Places of the categories that the chosen model has no use for; one feature is kept."""
        own = self.gains[self.chosen - 1]
        places = np.flatnonzero(own < -SHORTFALL)
        if len(places) == len(own) and not len(self.features.numbers):
            places = np.delete(places, own[places].argmax()) if len(places) else places
        return places

    def marginal(self, places):
        """Log-likelihood of categories by shares of all rows, less half log N a parameter."""
        counts = self._level_counts(self.best[1].parameters)
        half = 0.5 * np.log(self.data.total)
        each = (_entropy_sum(counts[at][0]) - half * (counts[at].shape[1] - 1) for at in places)
        return float(sum(each))

    def _gains(self, parameters):
        """What shares of its own in each segment make the description of each category shorter."""
        cost = 0.5 * (len(parameters.weights) - 1) * np.log(self.data.total)
        return [
            sum(_entropy_sum(one) for one in part)
            - _entropy_sum(part.sum(axis=0))
            - cost * (part.shape[1] - 1)
            for part in self._level_counts(parameters)
        ]

    def _level_counts(self, parameters):
        """Expected counts (J, levels) of the levels of each category in the segments."""
        if not self.data.levels:
            return []
        counts = self.data.expectation(parameters).moments[:, 0, -self.data.levels :]
        return np.split(counts, self.data.emission.offsets[1:-1], axis=1)


def _entropy_sum(counts):
    """Log-likelihood of counts (L,) by their own shares."""
    total, there = counts.sum(), counts[counts > 0]
    return float((there * np.log(there / total)).sum()) if total > 0 else 0.0
