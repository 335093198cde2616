"""A reward model for policies that a log itself tells, from columns of the log."""

import numpy as np

from counterweight.models.policies.reward_models import CHOICE, MOST_ROWS, RegressedReward
from counterweight.numerics.zero_rejection import keep_weights, row_uniforms

#: Words of a column that have an indicator of their own: the most frequent ones.
MOST_WORDS = 30
#: Seed of the halves for cross-fitting; no part of the config, so that all policies share them.
HALVES = 2012


class GivenReward(RegressedReward):
    """q and v of a policy, by a regressor of columns on kept rows, weighted by 1 / keep rate.

    Where the policy takes one action, q(x, a) knows the action, and v is q of the action that the
    policy takes. Of a policy that is known by its probability of the logged action alone, v cannot
    be summed over actions: then q(x) goes without the action and v is q, which keeps the doubly
    robust value right, since weights average 1 whatever x is. It is fitted twice, on either half of
    the rows (of users, where rows belong to them), and serves the other half.

    A missing number is the column's mean, with an indicator; of words the most frequent have
    indicators.

    Parameters
    ----------
    name : str
        Of `REGRESSORS`.
    by : sequence of str
        Columns of the log.
    takes, shown : str
        Columns of the policy's action and of the logged one; or "".
    """

    def __init__(self, name, by, takes="", shown=""):
        super().__init__(name, by)
        self.takes, self.shown = takes, shown

    def add(self, part):
        """Look at the rows of a batch."""
        reward = part["reward"]
        self._kept.append(
            {
                "half": halves(part),
                "draw": row_uniforms(part["row"], CHOICE),
                "reward": reward,
                "weight": part["weight"] * keep_weights(reward, part["keep_rate"]),
            }
            | {("x", name): part["table"][name] for name in self._columns}
        )
        if sum(len(kept["draw"]) for kept in self._kept) > 4 * MOST_ROWS:
            self._kept = [self._chosen()]

    @property
    def _columns(self):
        return [*self.by, self.shown] if self.takes else self.by

    def fit(self):
        """Fit both halves.

        Raises
        ------
        CounterweightError
            When one half of the rows (or users) is empty.
        """
        rows = self._chosen()
        self._kept, self._codes = [], {}
        for name in self._columns:
            values = np.asarray(rows["x", name])
            if values.dtype.kind in "biuf" and name != self.shown:
                known = values[np.isfinite(values.astype(float))].astype(float)
                self._codes[name] = float(known.mean()) if len(known) else 0.0
            else:
                words, counts = np.unique(values.astype(str), return_counts=True)
                self._codes[name] = words[np.argsort(-counts, kind="stable")[:MOST_WORDS]]
        X = self._encoded({name: rows["x", name] for name in self._columns})
        return self._by_halves(rows, lambda own: _Numbers(X[own]))

    def predict(self, part):
        """``q`` of the logged action and ``v``, the policy's mean, of a batch; arrays (n,)."""
        table, half = part["table"], halves(part)
        q = self._by_half({name: table[name] for name in self._columns}, half)
        if not self.takes:
            return {"q": q, "v": q}
        taken = {name: table[name] for name in self.by} | {self.shown: table[self.takes]}
        return {"q": q, "v": self._by_half(taken, half)}

    def _by_half(self, columns, half):
        X, q = self._encoded(columns), np.empty(len(half))
        for number, model in enumerate(self.models_):
            own = half == number
            if own.any():
                q[own] = model if isinstance(model, float) else model.predict(_Numbers(X[own]))
        return q

    def _encoded(self, columns):
        parts = []
        for name in self._columns:
            values, code = np.asarray(columns[name]), self._codes[name]
            if isinstance(code, float):
                values = values.astype(float)
                missing = ~np.isfinite(values)
                parts += [np.where(missing, code, values)[:, None], missing[:, None]]
            else:
                parts.append(values.astype(str)[:, None] == code)
        return np.column_stack(parts).astype(float)


def halves(part):
    """0 or 1 for each row of a batch, by its user where there is one, else by the row, (n,)."""
    user = part["cluster"]
    of_users = row_uniforms(np.maximum(user, 0), HALVES)
    return (np.where(user >= 0, of_users, row_uniforms(part["row"], HALVES)) >= 0.5).astype(int)


class _Numbers:
    """Numbers alone, as regressors of the house take rows."""

    def __init__(self, X):
        self._X, self.is_category = X, np.zeros(X.shape[1], bool)

    def dense(self):
        return self._X

    def typed(self):
        return self._X
