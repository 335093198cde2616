"""Models of every number of segments: the one of least description length, and what tells it."""

import numpy as np

#: Nats by which a category must fall short of its cost to be left out.
SHORT = 1e-6


class Sizes:
    """Best models by number of segments J, and the J that is chosen.

    A category that is independent of the segments has the same shares in all of them. It is then
    a constant factor of the density, and is left out. So the description length of a model is told
    with every category at the cheaper of two prices: shares of its own in each segment, or the
    same shares in all.

    Parameters
    ----------
    data : ChoiceRows
    best : dict of int to Best
        From `search.Search.up_to`.
    rule : dict
        What EM steps on the rows go by.
    parameters : callable
        ``parameters(J)``: free parameters.
    features : Features
    capped : int
        0, or the largest J that there are rows for.

    Attributes
    ----------
    sizes, logs, mdl : ndarray
        J, log-likelihood, description length with all categories that are used.
    gains : ndarray (J, categories)
        What shares of its own in each segment make the description shorter by.
    chosen : int
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
        places = np.flatnonzero(own < -SHORT)
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
