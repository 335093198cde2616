"""A policy that a log itself tells, and reward models of policies: regressors, cross-fitted."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Number, Text
from counterweight.labeling.columns import actions
from counterweight.labeling.log_files import PolicyColumns
from counterweight.models.score_models import EncodedModel
from counterweight.numerics.zero_rejection import keep_weights, row_uniforms

TASK = "log"
OPTIONS = {
    "probability": Text("", "Column of the probability that the policy gives to the logged action."),
    "takes": Text("", "Column of the action that a deterministic policy takes, in place of probability."),
    "shown": Text("", "Column of the logged action, which takes is compared with."),
    "reward_model": Choice("none", ["none", "linear", "boosting"], "Regressor of the reward, cross-fitted, for the doubly robust values."),
    "reward_by": Array([], "Columns that the reward goes by in the reward model, known before it.", items={"type": "string"}),
}  # fmt: skip
LABEL = "{probability}{takes}"
#: Options of the reward model that comes with every policy.
REWARD_MODEL = {
    "reward_by": Array([],
        "Features whose values, with the action, are the cells of the reward model; of a regressor its features, all "
        "of the study where none is named.", items={"type": "string"}),
    "reward_model": Choice("cells", ["cells", "linear", "boosting"], "Means of cells, or a regressor of features and action, both cross-fitted."),
    "shrinkage": Number(100.0, "Rows of mean reward added to each cell of the reward model.", above=0),
}  # fmt: skip
#: Rows of each half that a regressor learns from, at most: those of the least hash.
MOST_ROWS = 100_000
#: Seed of that hash; no part of the config, so that all methods share the rows.
CHOICE = 2011
#: Words of a column that have an indicator of their own: the most frequent ones.
MOST_WORDS = 30
#: Seed of the halves for cross-fitting a `GivenReward`; all policies share them.
HALVES = 2012


class RegressedReward:
    """q(x, a) by a regressor of the house on kept rows, weighted by 1 / keep rate.

    It is fitted twice, on either half of the rows, and serves the rows of the other half. Where a
    half has more than `MOST_ROWS` rows, it learns from so many, drawn by a hash of their ids.
    `name` is linear or boosting, `by` are features; all of the study where it is empty.
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
        self._keep(
            half=half[logged],
            row=part["row"][logged],
            reward=reward,
            weight=keep_weights(reward, part["keep_rate"][logged]),
            X=self._features(part)[logged],
            action=np.asarray(part["action"])[logged],
        )

    def _keep(self, *, row, **columns):
        self._kept.append({"draw": row_uniforms(row, CHOICE)} | columns)
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

        `rows` have ``half``, ``reward`` and ``weight``; ``encoded(own)`` gives some of them as
        regressors take them. A half without rows (users) is refused.
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
            told = self.name, encoded(own), reward, weight
            self.models_.append(EncodedModel.learned(*told, binary=binary))
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
    """Numbers and perhaps one category of `levels`, as regressors of the house take rows."""

    def __init__(self, X, code=None, levels=0):
        self._X, self._code, self._levels = X, code, levels
        self.is_category = np.arange(X.shape[1] + (code is not None)) >= X.shape[1]

    def __len__(self):
        return len(self._X)

    def __getitem__(self, part):
        code = None if self._code is None else self._code[part]
        return _Rows(self._X[part], code, self._levels)

    def dense(self):
        if self._code is None:
            return self._X
        return np.column_stack([self._X, np.eye(self._levels)[self._code]])

    def typed(self):
        if self._code is None:
            return self._X
        return np.column_stack([self._X, np.asarray(self._code, float)])


class GivenReward(RegressedReward):
    """q and v of a policy that a log itself tells, by a regressor of columns of the log.

    Where the policy takes one action, q(x, a) knows the action, and v is q of the action that the
    policy takes: `takes` and `shown` are columns of its action and of the logged one. Of a policy
    that is known by its probability of the logged action alone, v cannot be summed over actions:
    then q(x) goes without the action and v is q, which keeps the doubly robust value right, since
    weights average 1 whatever x is. Halves are those of users, where rows belong to them. A missing
    number is the column's mean, with an indicator; of words the most frequent have indicators.
    """

    def __init__(self, name, by, takes="", shown=""):
        super().__init__(name, by)
        self.takes, self.shown = takes, shown

    def add(self, part):
        """Look at the rows of a batch."""
        reward = part["reward"]
        self._keep(
            half=halves(part),
            row=part["row"],
            reward=reward,
            weight=part["weight"] * keep_weights(reward, part["keep_rate"]),
            **{f"by {name}": part["table"][name] for name in self._columns},
        )

    @property
    def _columns(self):
        return [*self.by, self.shown] if self.takes else self.by

    def fit(self):
        """Fit both halves."""
        rows = self._chosen()
        self._kept, self._codes = [], {}
        for name in self._columns:
            values = self._values(name, rows[f"by {name}"])
            if values.dtype.kind in "biuf":
                known = values[np.isfinite(values.astype(float))].astype(float)
                self._codes[name] = float(known.mean()) if len(known) else 0.0
            else:
                words, counts = np.unique(values.astype(str), return_counts=True)
                self._codes[name] = words[np.argsort(-counts, kind="stable")[:MOST_WORDS]]
        X = self._encoded({name: rows[f"by {name}"] for name in self._columns})
        return self._by_halves(rows, lambda own: _Rows(X[own]))

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
                q[own] = model if isinstance(model, float) else model.predict(_Rows(X[own]))
        return q

    def _values(self, name, values):
        """A column's values; a number is one action however the log and the policy have it."""
        return actions(values) if name == self.shown else np.asarray(values)

    def _encoded(self, columns):
        parts = []
        for name in self._columns:
            values, code = self._values(name, columns[name]), self._codes[name]
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


class GivenPolicy(PolicyColumns):
    """A policy by columns of the log; nothing is learned, unless a reward model is asked for.

    For the columns see `PolicyColumns`, for the reward model `OPTIONS` and `GivenReward`.
    """

    def __init__(self, probability="", takes="", shown="", reward_model="none", reward_by=()):
        super().__init__(probability, takes, shown)
        self.reward_model, self.reward_by = reward_model, list(reward_by)

    @property
    def columns(self):
        """Columns of the log that it needs."""
        return list(dict.fromkeys([*super().columns, *(self.reward_by if self._modelled else ())]))

    @property
    def _modelled(self):
        return self.reward_model != "none"

    @property
    def layout(self):
        """Layout of its predictions; rows and their order are those of the labels."""
        names = ("p", "q", "v") if self._modelled else ("p",)
        return (("row", "int32"), *((name, "float64") for name in names))

    def fit(self, parts):
        """Check the columns in one pass over a log, batches of ``labeling.log_files.log_rows``."""
        rewards = None
        if self._modelled:
            rewards = GivenReward(self.reward_model, self.reward_by, self.takes, self.shown)
        for part in parts:
            self.look(part)
            if rewards:
                rewards.add(part)
        self.tell()
        self._rewards = rewards and rewards.fit()
        return self

    def predict(self, part):
        """``p``, the policy's probability of the logged action, of one batch; of a reward model
        ``q`` and ``v``, too."""
        told = {"p": self._probabilities(part)}
        return told | self._rewards.predict(part) if self._modelled else told

    def to_arrays(self):
        """Rows, and those where the policy may take the logged action."""
        return {"rows_log": self.rows_, "rows_agreed": self.rows_agreed_}
