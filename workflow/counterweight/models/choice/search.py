"""Search for good predictive choice models of every number of segments J, and the choice of J.

EM finds a local maximum, and with many segments the start decides which. For each J many
starts run a few steps, the better ones some more, and the best few to the end: random ones
(k-means++ on x), and the best model of J - 1 with one segment split. A way back from the
largest J then starts from the best model of J + 1 with two segments merged or one left out,
and a last way forth splits again what has become better. Of all J it is the one of least
description length.
"""

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
    objective: float
    log_likelihood: float
    score: float
    history: np.ndarray
    iterations: int
    converged: bool
    held: int
    start: str


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
        floor,
        minimum_rows,
        prior=None,
        selection="observed",
        moves=True,
        curves="random",
    ):
        self.data, self.rng, self.n_init = data, rng, n_init
        self.rule = {"floor": floor, "minimum_rows": minimum_rows, "prior": prior}
        self.tol, self.iterations = tol, iterations
        self.selection, self.moves, self.curves = selection, moves, curves
        n, self.width = data.rows.shape
        self.emission = data.emission
        positive = np.flatnonzero(data.row_weights > 0)
        self.brief = data
        if n > SEARCH_ROWS:
            chosen = np.sort(rng.permutation(positive)[:SEARCH_ROWS])
            self.brief = data.part(chosen)
        chosen = rng.permutation(positive)[:START_ROWS]
        # Missing values start at the mean, which is 0 here.
        self.points = np.nan_to_num(data.rows[chosen])
        self.point_weights = data.row_weights[chosen]
        self.answers = data.t[chosen] - 0.5, data.y[chosen]
        # Categories, each with the variance of one number.
        levels, none = self.emission.levels, np.empty((n, 0))
        self.marks = columns_of(none[chosen], data.codes[chosen], levels)
        if data.levels:
            self.points = np.hstack([self.points, _evened(self.marks, self.emission)])
        self.pooled = fit_curves(data.t, data.y, data.row_weights)[0]
        if data.levels:
            self.order = self._levels_by_answer(data)
        self.best = {}

    def one(self, j):
        """Best model of exactly j segments, by random starts and a chain of splits."""
        return self.up_to(j)[j]

    def up_to(self, most):
        """Best models of 1 to `most` segments, a dict by J."""
        for j in range(1, most + 1):
            starts = self.random(j)
            origin = ["random"] * starts.weights.shape[1]
            if self.moves and j > 1:
                starts, origin = self._with(starts, origin, self.splits(j - 1), "split")
            self.improve(j, starts, origin)
        changed = set()
        if self.moves:
            for j in range(most - 1, 0, -1):
                if self.improve(j, self.merges(j + 1), None, "merge"):
                    changed.add(j)
            for j in range(2, most + 1):
                if j - 1 in changed and self.improve(j, self.splits(j - 1), None, "split"):
                    changed.add(j)
        return self.best

    def improve(self, j, starts, origin, name=None):
        """Run starts of j segments; True when one beats the best so far by `GAIN`."""
        if j == 1:
            # One segment has one optimum.
            starts, origin = starts.restarts(slice(0, 1)), ["random"]
        origin = np.array(origin if origin is not None else [name] * starts.weights.shape[1])
        rule = self.rule | {"tol": 0.0}
        paths = np.empty((0, len(origin)))
        finish = min(FINISHED, len(origin))
        for round_, steps in enumerate(SHORT):
            if len(origin) <= finish:
                break
            left = max(int(np.ceil(GO_ON * len(origin))), finish) if round_ == 0 else finish
            run = climb(self.brief, starts, iterations=steps, **rule)
            best = np.argsort(-run.last, kind="stable")[:left]
            starts, origin = run.parameters.restarts(best), origin[best]
            if self.brief is self.data:
                paths = np.vstack([paths[:, best], np.array(run.history)[:, best]])
            else:
                paths = paths[:, best]
        run = climb(self.data, starts, iterations=self.iterations, **self.rule, tol=self.tol)
        before = self.best[j].score if j in self.best else -np.inf
        complete = self.selection == "complete"
        statistics = self.data.expectation(run.parameters, entropy=complete, moments=False)
        penalty = self.data.penalty(run.parameters, self.rule["prior"])
        scores = statistics.log_likelihood + penalty
        if complete:
            scores = scores - statistics.entropy
        for index in range(len(origin)):
            score = float(scores[index])
            if j in self.best and score <= self.best[j].score + 1e-6 * abs(score) / 1e3:
                continue
            path = np.concatenate([paths[:, index], [row[index] for row in run.history]])
            self.best[j] = Best(
                run.parameters.restarts([index]),
                float(run.last[index]),
                float(statistics.log_likelihood[index]),
                score,
                path[~np.isnan(path)],
                max(int((~np.isnan(path)).sum()) - 1, 0),
                bool(run.converged[index]),
                int(run.held[index]),
                str(origin[index]),
            )
        return self.best[j].score > before + GAIN

    @staticmethod
    def _with(starts, origin, more, name):
        joined = Choices(*(np.concatenate(pair, axis=1) for pair in zip(starts, more, strict=True)))
        return joined, origin + [name] * more.weights.shape[1]

    def random(self, j):
        """Starts from a few steps of k-means after k-means++ seeds, (K=j, R=restarts)."""
        r = self.n_init
        points, w = self.points, self.point_weights
        m, d = len(points), self.width
        squares = np.square(points).sum(axis=1)
        numbers = points[:, :d]
        pooled = np.eye(d)
        if m > 1 and d:
            pooled = np.cov(numbers.T, aweights=w, bias=True).reshape(d, d)
        result = Choices(
            np.empty((j, r)),
            np.empty((j, r, d)),
            np.empty((j, r, d, d)),
            np.empty((j, r, 2)),
            np.empty((j, r, self.marks.shape[1])),
        )
        for start in range(r):
            centres = self._seeds(j, squares)
            for _ in range(LLOYD):
                far = -2.0 * (points @ centres.T) + np.square(centres).sum(axis=1)
                own = far.argmin(axis=1)
                members = (own[:, None] == np.arange(j)) * w[:, None]
                count = members.sum(axis=0)
                sums = members.T @ points
                centres = np.where(
                    count[:, None] > 0, sums / np.maximum(count, 1e-300)[:, None], centres
                )
            rest = numbers - centres[own, :d]
            spread = np.stack([(rest * mine[:, None]).T @ rest for mine in members.T])
            # A few rows of the whole keep small clusters from being flat.
            within = spread.sum(axis=0) / w.sum() + 1e-3 * pooled
            pseudo = (d + 1.0) * w.mean()
            covariances = (spread + pseudo * within) / (count + pseudo)[:, None, None]
            result.weights[:, start] = (count + w.mean()) / (count + w.mean()).sum()
            result.means[:, start] = centres[:, :d]
            result.covariances[:, start] = self._shaped(covariances, result.weights[:, start])
            if self.marks.shape[1]:
                result.shares[:, start] = self.emission.smoothed(members.T @ self.marks)
            if self.curves == "regression":
                result.curves[:, start] = self._curves(0.0, self._lines(members))
            else:
                result.curves[:, start] = self._curves(self.rng.normal(size=(j, 2)) * (1.0, 2.0))
        return result

    def _shaped(self, covariances, weights):
        """Covariances (K, ...) of the kind that the model has, floored."""
        if self.emission.covariance == "diagonal":
            covariances = covariances * np.eye(self.width)
        elif self.emission.covariance == "tied":
            share = (weights / weights.sum(axis=0))[..., None, None]
            pooled = (share * covariances).sum(axis=0)
            covariances = np.broadcast_to(pooled, covariances.shape).copy()
        return floored(covariances, self.rule["floor"]) if self.width else covariances

    def _levels_by_answer(self, data):
        """Of each level of each category, how much more it accepts than its offers tell."""
        a, k = self.pooled
        odds = np.exp(-(a + k * (data.t - 0.5)))
        marks = columns_of(np.empty((len(data.codes), 0)), data.codes, self.emission.levels)
        counts = data.row_weights @ marks
        rest = data.row_weights * (data.y - 1.0 / (1.0 + odds))
        return (rest @ marks) / np.maximum(counts, 1.0)

    def _seeds(self, j, squares):
        points, w = self.points, self.point_weights
        centres = np.empty((j, points.shape[1]))
        share = w / w.sum()
        nearest = np.full(len(points), np.inf)
        for number in range(j):
            centres[number] = points[self.rng.choice(len(points), p=share)]
            gap = squares - 2.0 * (points @ centres[number]) + centres[number] @ centres[number]
            nearest = np.minimum(nearest, np.maximum(gap, 0.0))
            mass = w * nearest
            share = mass / mass.sum() if mass.sum() > 0 else w / w.sum()
        return centres

    def _curves(self, change, base=None):
        curves = (self.pooled if base is None else base) + change
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
            length = 0.8 * np.sqrt(values[c, axis])
            along = length * vectors[c][:, axis]
            narrow = best.covariances[c, 0] - 0.8 * np.outer(along, along)
            tilt = self.rng.normal(size=2) * (0.5, 1.0)
            starts.append(
                Choices(
                    np.append(best.weights[:, 0], best.weights[c, 0] / 2),
                    np.vstack([best.means[:, 0], best.means[c, 0] - along]),
                    np.concatenate([best.covariances[:, 0], narrow[None]]),
                    np.vstack([best.curves[:, 0], best.curves[c, 0] - tilt]),
                    np.vstack([best.shares[:, 0], best.shares[c, 0]]),
                )
            )
            new = starts[-1]
            new.weights[c] /= 2
            new.means[c] += along
            new.covariances[c] = narrow
            new.curves[c] += tilt
        return self._batch(starts + self._level_splits(best))

    def _level_splits(self, best):
        """Splits of the largest segments by a category, between levels that answer otherwise."""
        starts, offsets = [], self.emission.offsets
        for c in np.argsort(-best.weights[:, 0], kind="stable"):
            for first, last in zip(offsets[:-1], offsets[1:], strict=True):
                if len(starts) == MOVES:
                    return starts
                part = best.shares[c, 0, first:last]
                order = np.argsort(-self.order[first:last], kind="stable")
                running = part[order].cumsum() - 0.5 * part[order]
                more = np.zeros(last - first, dtype=bool)
                more[order[(running < 0.5) | (np.arange(len(order)) == 0)]] = True
                more[order[-1]] = False
                share = np.array([part[more].sum(), part[~more].sum()])
                two = np.where([more, ~more], 1.0, LEFT)
                weights = np.maximum(share, 0.05) / np.maximum(share, 0.05).sum()
                shares = np.vstack([best.shares[:, 0], best.shares[c, 0]])
                for at, row in zip((c, -1), two, strict=True):
                    mixed = part * row
                    shares[at, first:last] = mixed / mixed.sum()
                curves = np.vstack([best.curves[:, 0], best.curves[c, 0] - TILT])
                curves[c] += TILT
                own = best.weights[c, 0]
                split = np.append(best.weights[:, 0], own * weights[1])
                split[c] = own * weights[0]
                starts.append(
                    Choices(
                        split,
                        np.vstack([best.means[:, 0], best.means[c, 0]]),
                        np.concatenate([best.covariances[:, 0], best.covariances[c]]),
                        curves,
                        shares,
                    )
                )
        return starts

    def merges(self, j):
        """Starts of j - 1 segments: the best of j with two merged, or one left out."""
        best = self.best[j].parameters
        w, means, covariances, curves, shares = (values[:, 0] for values in best)
        starts = []
        for first, second in self._near_pairs(w, means, covariances, curves, shares)[: MOVES // 2]:
            pair = np.array([first, second])
            share = w[pair] / w[pair].sum()
            mean = share @ means[pair]
            gap = means[pair] - mean
            covariance = np.einsum("c,cij->ij", share, covariances[pair]) + (gap.T * share) @ gap
            rest = np.setdiff1d(np.arange(j), pair)
            starts.append(
                Choices(
                    np.append(w[rest], w[pair].sum()),
                    np.vstack([means[rest], mean]),
                    np.concatenate([covariances[rest], covariance[None]]),
                    np.vstack([curves[rest], share @ curves[pair]]),
                    np.vstack([shares[rest], share @ shares[pair]]),
                )
            )
        for out in np.argsort(w, kind="stable")[: MOVES // 2]:
            rest = np.setdiff1d(np.arange(j), [out])
            starts.append(
                Choices(w[rest], means[rest], covariances[rest], curves[rest], shares[rest])
            )
        return self._batch(starts)

    def _near_pairs(self, w, means, covariances, curves, shares):
        # What a merger costs in log-likelihood for each row, about: Runnalls' bound for the
        # Gaussians, and the loss of two response curves at the offers 1/4, 1/2, 3/4.
        i, j = np.triu_indices(len(w), 1)
        both = w[i] + w[j]
        si, sj = w[i] / both, w[j] / both
        gap = means[i] - means[j]
        joint = (
            si[:, None, None] * covariances[i]
            + sj[:, None, None] * covariances[j]
            + (si * sj)[:, None, None] * gap[:, :, None] * gap[:, None, :]
        )
        logs = np.linalg.slogdet(covariances)[1]
        cost = 0.5 * (both * np.linalg.slogdet(joint)[1] - w[i] * logs[i] - w[j] * logs[j])
        if shares.shape[1]:
            mixed = si[:, None] * shares[i] + sj[:, None] * shares[j]
            cost -= both * (mixed * np.log(mixed)).sum(axis=1)
            own = (shares * np.log(shares)).sum(axis=1)
            cost += w[i] * own[i] + w[j] * own[j]
        offers = np.array([-0.25, 0.0, 0.25])
        odds = np.clip(curves[:, :1] + curves[:, 1:] * offers, -12, 12)
        p = 1.0 / (1.0 + np.exp(-odds))
        mixed = si[:, None] * p[i] + sj[:, None] * p[j]
        spread = (si * sj)[:, None] * (p[i] - p[j]) ** 2 / (mixed * (1 - mixed))
        order = np.argsort(cost + 0.5 * both * spread.mean(axis=1), kind="stable")
        return list(zip(i[order], j[order], strict=True))

    def _batch(self, starts):
        batch = Choices(*(np.stack(values, axis=1) for values in zip(*starts, strict=True)))
        return Choices(
            batch.weights / batch.weights.sum(axis=0),
            batch.means,
            self._shaped(batch.covariances, batch.weights),
            self._curves(0.0, batch.curves),
            batch.shares,
        )


def _evened(marks, emission):
    """Centred indicators, those of a category with a variance of one together."""
    result = marks - marks.mean(axis=0)
    for first, last in zip(emission.offsets[:-1], emission.offsets[1:], strict=True):
        spread = np.square(result[:, first:last]).mean(axis=0).sum()
        result[:, first:last] /= np.sqrt(max(spread, 1e-12))
    return result


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
            objective=float(run.last[0]),
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
        counts = self.data.expectation(self.best[1].parameters).moments[0, 0]
        total, half = 0.0, 0.5 * np.log(self.data.total)
        for part in self._parts(counts[len(counts) - self.data.levels :], places):
            total += _entropy_sum(part) - half * (len(part) - 1)
        return float(total)

    def _gains(self, parameters):
        levels, size = self.data.levels, len(parameters.weights)
        if not levels:
            return np.empty(0)
        counts = self.data.expectation(parameters).moments[:, 0, -levels:]
        cost = 0.5 * (size - 1) * np.log(self.data.total)
        places = range(len(self.features.categories))
        return np.array(
            [
                sum(_entropy_sum(one) for one in part)
                - _entropy_sum(part.sum(axis=0))
                - cost * (part.shape[1] - 1)
                for part in self._parts(counts, places)
            ]
        )

    def _parts(self, counts, places):
        offsets = self.data.emission.offsets
        return [counts[..., offsets[at] : offsets[at + 1]] for at in places]


def _entropy_sum(counts):
    """Log-likelihood of counts (L,) by their own shares."""
    total = counts.sum()
    there = counts[counts > 0]
    return float((there * np.log(there / total)).sum()) if total > 0 else 0.0
