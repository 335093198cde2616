"""Reward models beyond means of cells: a regressor of features and action, cross-fitted."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Number
from counterweight.models.scores.boosting import BoostedScore
from counterweight.models.scores.linear import LinearScore
from counterweight.numerics.zero_rejection import keep_weights, row_uniforms

#: Options of the reward model that comes with every policy.
REWARD_MODEL = {
    "reward_by": Array([],
        "Features whose values, with the action, are the cells of the reward model; of a regressor its features, all "
        "of the study where none is named.", items={"type": "string"}),
    "reward_model": Choice("cells", ["cells", "linear", "boosting"], "Means of cells, or a regressor of features and action, both cross-fitted."),
    "shrinkage": Number(100.0, "Rows of mean reward added to each cell of the reward model.", above=0),
}  # fmt: skip
#: Regressors by the name of the option.
REGRESSORS = {"linear": LinearScore, "boosting": BoostedScore}
#: Rows of each half that a regressor learns from, at most: those of the least hash.
MOST_ROWS = 100_000
#: Seed of that hash; no part of the config, so that all methods share the rows.
CHOICE = 2011


class RegressedReward:
    """q(x, a) by a regressor of the house on kept rows, weighted by 1 / keep rate.

    It is fitted twice, on either half of the rows, and serves the rows of the other half. Where a
    half has more than `MOST_ROWS` rows, it learns from so many, drawn by a hash of their ids.

    Parameters
    ----------
    name : str
        Of `REGRESSORS`.
    by : sequence of str
        Features; all of the study where it is empty.
    """

    def __init__(self, name, by):
        self.name, self.by, self._kept = name, list(by), []

    def add(self, part, half):
        """Look at the logged rows of a batch of ``log_rows.log_rows``, each of a half."""
        logged = part["logged"]
        self.by = self.by or list(part["features"])
        if not self.by:
            raise CounterweightError(
                f"The reward model {self.name} needs features, and the study has none: add columns "
                "to its features, or take the reward model cells."
            )
        reward = part["reward"][logged]
        self._kept.append(
            {
                "half": half[logged],
                "draw": row_uniforms(part["row"][logged], CHOICE),
                "X": self._features(part)[logged],
                "action": np.asarray(part["action"])[logged],
                "reward": reward,
                "weight": keep_weights(reward, part["keep_rate"][logged]),
            }
        )
        if sum(len(kept["draw"]) for kept in self._kept) > 4 * MOST_ROWS:
            self._kept = [self._chosen()]

    def _features(self, part):
        return np.column_stack([np.asarray(part["features"][name], float) for name in self.by])

    def _chosen(self):
        """Rows so far, at most `MOST_ROWS` of each half, in the order of the log."""
        rows = {name: np.concatenate([kept[name] for kept in self._kept]) for name in self._kept[0]}
        chosen = np.zeros(len(rows["draw"]), bool)
        for half in (0, 1):
            own = np.flatnonzero(rows["half"] == half)
            chosen[own[np.argsort(rows["draw"][own], kind="stable")[:MOST_ROWS]]] = True
        return {name: values[chosen] for name, values in rows.items()}

    def fit(self, actions):
        """Fit both halves; `actions` are the ascending actions that there are."""
        rows = self._chosen()
        self.actions_, self.rows_ = np.asarray(actions), len(rows["half"])
        self._kept = []
        code = np.searchsorted(self.actions_, rows["action"])
        return self._by_halves(rows, lambda own: _Rows(rows["X"][own], code[own], len(actions)))

    def _by_halves(self, rows, encoded):
        """Fit a regressor for each half, or its one reward, to the other half.

        Parameters
        ----------
        rows : dict of str to array (n,)
            ``half``, ``reward``, ``weight``.
        encoded : callable
            ``encoded(own)`` gives those rows as regressors take them.

        Raises
        ------
        CounterweightError
            When one half of the rows (or users) is empty.
        """
        binary = bool(np.isin(rows["reward"], (0, 1)).all())
        self.models_ = []
        for half in (0, 1):
            # The model for the rows of one half comes from the other.
            own = (rows["half"] != half) & (rows["weight"] > 0)
            if not own.any():
                raise CounterweightError(
                    f"The reward model {self.name} is fitted on halves of the rows (of the users), "
                    "and one is empty: use a longer log, or leave reward_model out."
                )
            reward, weight = rows["reward"][own], rows["weight"][own]
            if len(np.unique(reward)) < 2:
                self.models_.append(float(reward[0]))
                continue
            model = REGRESSORS[self.name]()
            self.models_.append(model.fit(encoded(own), reward, weight, binary=binary))
        return self

    def predict(self, part, half, position):
        """q (n,) of actions by their positions; NaN for an action that no row had (-1)."""
        X, q = self._features(part), np.full(len(half), np.nan)
        for number, model in enumerate(self.models_):
            own = np.flatnonzero((half == number) & (position >= 0))
            if isinstance(model, float) or not len(own):
                q[own] = model if isinstance(model, float) else q[own]
                continue
            q[own] = model.predict(_Rows(X[own], position[own], len(self.actions_)))
        return q

    def mean(self, part, half, own, table):
        """v (n,): the sum over actions of ``table[own]``, its probabilities, times q.

        Rows that agree in features, half and cell share one v. NaN where the policy takes an
        action that no row had.
        """
        X = np.column_stack([self._features(part), half, own])
        _, first, back = np.unique(X, axis=0, return_index=True, return_inverse=True)
        few = {"features": {name: np.asarray(part["features"][name])[first] for name in self.by}}
        v = np.zeros(len(first))
        for position in range(len(self.actions_)):
            at = np.full(len(first), position)
            v += table[own[first], position] * self.predict(few, half[first], at)
        return v[back.ravel()]


class _Rows:
    """Numbers and one category, as regressors of the house take rows."""

    def __init__(self, X, code, levels):
        self._X, self._code, self._levels = X, code, levels
        self.is_category = np.append(np.zeros(X.shape[1], bool), True)

    def dense(self):
        return np.column_stack([self._X, np.eye(self._levels)[self._code]])

    def typed(self):
        return np.column_stack([self._X, np.asarray(self._code, float)])
