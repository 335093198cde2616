"""Policies whose value is estimated from a log: uniform, imitated, given as a column.

A policy says with which probability p = pi(a | x) it takes the action a that was logged in
the context x. A reward model comes with it: q(x, a), the expected reward of the logged action,
and v(x) = sum_a pi(a | x) q(x, a), that of the policy. Both are means over cells, so a log is
fitted in one pass over its rows and predicted in another, and memory does not grow with
their number.
"""

import logging
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Integer, Text
from counterweight.models.given_policy import REWARD_MODEL, RegressedReward
from counterweight.numerics.checks import note_wrong
from counterweight.numerics.zero_rejection import keep_weights, row_uniforms

#: Most cells times actions of a table: more would be a table of single rows.
MOST_CELLS = 100_000


class Cells:
    """Sums over the cells that columns form, whose values are found as the rows come.

    `what` says for messages what the cells are of; there are `groups` of sums in each cell. The
    last of the `columns` is the action. ``levels`` are the ascending values of each column,
    ``sums`` an array (groups, levels of column 1, ..., levels of the last).
    """

    def __init__(self, what, groups, columns):
        self._what = what
        self.levels = [np.empty(0) for _ in range(columns)]
        self.sums = np.zeros((groups, *[0] * columns))

    def meet(self, columns):
        """Positions of each column's values (n,), after making room for new ones."""
        return [self._met(axis, np.asarray(values)) for axis, values in enumerate(columns)]

    def _met(self, axis, values):
        at = positions(self.levels[axis], values)
        if not (at < 0).any():
            return at
        old, self.levels[axis] = self.levels[axis], np.union1d(self.levels[axis], values)
        shape = [len(self.sums), *map(len, self.levels)]
        if np.prod(shape[1:], dtype=float) > MOST_CELLS:
            raise CounterweightError(
                f"The {self._what} has more than {MOST_CELLS} cells: choose fewer columns, or "
                "columns of few values."
            )
        sums = np.zeros(shape)
        place = [slice(None)] * sums.ndim
        place[axis + 1] = np.searchsorted(self.levels[axis], old)
        sums[tuple(place)] = self.sums
        self.sums = sums
        return positions(self.levels[axis], values)

    def add(self, at, group, values):
        """Add values to the cells at the positions `at`, in a group for each row."""
        flat = np.ravel_multi_index((group, *at), self.sums.shape)
        self.sums += np.bincount(flat, values, minlength=self.sums.size).reshape(self.sums.shape)

    def find(self, columns):
        """Each row's cell and its position in the last column (the action); -1 where unknown."""
        at = [positions(*pair) for pair in zip(self.levels, columns, strict=True)]
        shape = self.sums.shape[1:-1]
        cell = np.zeros(len(at[-1]), int)
        for size, where in zip(shape, at[:-1], strict=True):
            cell = np.where((cell < 0) | (where < 0), -1, cell * size + where)
        return cell, at[-1]

    def table(self):
        """Sums as an array (groups, cells, actions)."""
        cells = int(np.prod(self.sums.shape[1:-1]))
        return self.sums.reshape(len(self.sums), cells, self.sums.shape[-1])

    def cells(self):
        """Values of the columns without the action (cells, columns), of which there must be one."""
        grids = np.meshgrid(*self.levels[:-1], indexing="ij")
        return np.column_stack([grid.ravel() for grid in grids])


def positions(levels, values):
    """Where the values stand among the sorted levels; -1 for those that do not."""
    if not len(levels):
        return np.full(len(values), -1)
    at = np.searchsorted(levels, values)
    at[at == len(levels)] = 0
    return np.where(levels[at] == values, at, -1)


log = logging.getLogger("counterweight")

#: These models are for logs of actions.
TASK = "log"
OPTIONS_BY_NAME = {
    "uniform_policy": {
        "actions": Integer(0, "Actions that it chooses from; 0 for as many as the log shows.", minimum=0),
        **REWARD_MODEL,
    },
    "imitated_policy": {
        "by": Array([], "Features whose values are the cells in which shares of actions are counted.", items={"type": "string"}),
        **REWARD_MODEL,
    },
    "column_policy": {
        "probability": Text(..., "Column of the prepared table: probability of the logged action."),
        "action": Text("",
            "Column of an action that the policy takes in the row's context, drawn by it and independent of the logged "
            "one; empty for none, and no doubly robust value."),
        **REWARD_MODEL,
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "uniform_policy": "Uniform policy",
    "imitated_policy": "Imitated policy",
    "column_policy": "Logged policy",
}
#: Seed of the halves for cross-fitting; no part of the config, so that all methods share them.
HALVES = 2010


@dataclass(eq=False, repr=False, kw_only=True)
class _LogPolicy(BaseEstimator):
    """What the policies share: passes over a log, the reward model."""

    reward_by: list | tuple = ()
    reward_model: str = "cells"
    shrinkage: float = 100.0

    #: Columns of the prepared table that the policy needs besides features.
    columns = ()
    #: Layout of its predictions; rows and their order are those of the labels.
    layout = (("row", "int32"), ("p", "float64"), ("q", "float64"), ("v", "float64"))

    def fit(self, parts):
        """Count cells in one pass over a log, batches of ``labeling.log_files.log_rows``.

        The reward model q(x, a) is the mean reward of the log's rows in the cell of x and a, with
        `shrinkage` rows of the overall mean added. It is fitted twice, on either half of the rows
        (halves by a hash of the row id), and serves the rows of the other half: so no row's own
        reward enters its q. Zero-reward rows count 1 / keep rate. Refused are missing columns,
        halves without a row and cells that are too many.
        """
        by = self._cells_by
        rewards = Cells("reward model", 4, 1 + len(by))
        regressed = None
        if self.reward_model != "cells":
            regressed = RegressedReward(self.reward_model, self.reward_by)
        self.rows_log_ = self.rows_on_policy_ = 0
        self._start()
        for part in parts:
            logged = part["logged"]
            self.rows_log_ += int(logged.sum())
            self.rows_on_policy_ += int((~logged).sum())
            self._columns(part, self.reward_by, "reward_by")
            at = rewards.meet(self._columns(part, by, "reward_by"))
            if regressed:
                regressed.add(part, _half(_draw(part)))
            reward = part["reward"][logged]
            weight = keep_weights(reward, part["keep_rate"][logged])
            at = [values[logged] for values in at]
            group = 2 * _half(_draw(part))[logged]
            rewards.add(at, group, weight)
            rewards.add(at, group + 1, weight * reward)
            self._look(part)
        if not self.rows_log_:
            raise CounterweightError("The log has no row: loosen labeling.log.")
        self._rewards = rewards
        self._fit_rewards(rewards.table())
        self._regressed = regressed and regressed.fit(rewards.levels[-1])
        self._finish()
        return self

    @property
    def _cells_by(self):
        """Features whose cells have means; a regressor has those of actions alone."""
        return self.reward_by if self.reward_model == "cells" else ()

    def _modelled(self, part, half, action, cells):
        """q of actions by their positions; `cells` are the means of their cells."""
        if not self._regressed:
            return cells
        q = self._regressed.predict(part, half, action)
        return np.where(np.isnan(q), self.mean_reward_[half], q)

    def _fit_rewards(self, table):
        # The model for the rows of one half comes from the other.
        count, total = table[[2, 0]], table[[3, 1]]
        every = count.sum(axis=(1, 2))
        if not every.all():
            raise CounterweightError(
                f"All rows of the log ({self.rows_log_}) are in one half: cross-fitting the reward "
                "model needs rows in both; use a larger log."
            )
        self.reward_rows_ = count.sum(axis=0)
        self.mean_reward_ = total.sum(axis=(1, 2)) / every
        mean = self.mean_reward_[:, None, None]
        shrunken = (total + self.shrinkage * mean) / (count + self.shrinkage)
        self.reward_ = shrunken
        # Position -1, a cell or an action that no row of the fit had, gets the mean.
        self._reward = np.broadcast_to(
            mean, (2, shrunken.shape[1] + 1, shrunken.shape[2] + 1)
        ).copy()
        self._reward[:, :-1, :-1] = shrunken

    def _columns(self, part, names, option):
        missing = [name for name in names if name not in part["features"]]
        if missing:
            raise CounterweightError(
                f"The policy's option {option} names {listed(missing)}, which is no feature of the "
                f"study; these are {listed(part['features'])}: correct it, or add the column to "
                "the features."
            )
        return [*(part["features"][name] for name in names), part["action"]]

    def _reward_cells(self, part):
        """Half, cell and action position of each row in the reward model."""
        cell, action = self._rewards.find(self._columns(part, self._cells_by, "reward_by"))
        return _half(_draw(part)), cell, action

    def _start(self):
        """Begin a pass."""

    def _look(self, part):
        """See one batch of it."""

    def _finish(self):
        """End it."""

    def to_arrays(self):
        """Fitted numbers by name: reward model, policy, counts of rows."""
        arrays = {
            "action": self._rewards.levels[-1],
            "reward": self.reward_,
            "reward_rows": self.reward_rows_,
            "mean_reward": self.mean_reward_,
            "rows_log": self.rows_log_,
            "rows_on_policy": self.rows_on_policy_,
        }
        if self._cells_by:
            arrays["reward_cell"] = self._rewards.cells()
        return arrays


class _TablePolicy(_LogPolicy):
    """A policy known as a table of probabilities by cell and action."""

    def predict(self, part):
        """Probabilities and rewards of the rows of one batch of ``labeling.log_files.log_rows``.

        Arrays (n,): ``p`` = pi(a | x) and ``q`` = q(x, a) of the logged action, and ``v`` = sum
        over all actions of pi(a | x) q(x, a).
        """
        half, cell, action = self._reward_cells(part)
        own = self._policy_cells(part)
        p = self._table[own, action]
        # Rows that agree in half and cells share one v.
        shape = (2, self._reward.shape[1], len(self._table))
        code, back = np.unique(
            np.ravel_multi_index((half, cell, own), shape, mode="wrap"), return_inverse=True
        )
        half_, cell_, own_ = np.unravel_index(code, shape)
        v = (self._table[own_] * self._reward[half_, cell_]).sum(axis=1)[back]
        if self._regressed:
            # Actions that no row had are told by the mean.
            v = self._regressed.mean(part, half, own, self._table)
            v += self._table[own, -1] * self.mean_reward_[half]
        return {
            "p": p,
            "q": self._modelled(part, half, action, self._reward[half, cell, action]),
            "v": v,
        }

    def _keep(self, probabilities, rest):
        """Store the table; `rest` (cells,) is the probability of actions that no row had.

        One more row, position -1, stands for cells that the policy never had: 0 for every
        action. One more column for the rest.
        """
        self.probabilities_ = probabilities
        self._table = np.zeros((len(probabilities) + 1, probabilities.shape[1] + 1))
        self._table[:-1, :-1] = probabilities
        self._table[:-1, -1] = rest


@dataclass(eq=False, repr=False, kw_only=True)
class UniformPolicy(_TablePolicy):
    """Every action with the same probability 1 / K.

    K is `actions`; 0 for the number of different actions in the log and the on-policy rows. If it
    is more than these, the others get the mean reward in v. For the others see `fit`.
    """

    actions: int = 0

    def _policy_cells(self, part):
        return np.zeros(len(part["row"]), int)

    def _finish(self):
        seen = len(self._rewards.levels[-1])
        count = self.actions or seen
        if count < seen:
            raise CounterweightError(
                f"The log has {seen} different actions, more than the {count} that the option "
                "actions of uniform_policy allows: correct it, or give 0 to count them."
            )
        self._keep(np.full((1, seen), 1 / count), 1 - seen / count)

    def to_arrays(self):
        """See `_LogPolicy.to_arrays`; ``policy`` is by cell (one) and action."""
        return super().to_arrays() | {"policy": self.probabilities_}


@dataclass(eq=False, repr=False, kw_only=True)
class ImitatedPolicy(_TablePolicy):
    """The shares of the actions among the rows that the policy logged itself, by cell.

    Rows of reward 0 count 1 / keep rate, so that shares are those before the rejection. It stands
    in for the policy that logged them as far as that one depends on the features in `by`; what it
    does by anything else (time, other features) is averaged, so its value may differ from the mean
    reward of those rows. A row of the log in a cell without such a row gets probability 0 for its
    action and for every other.
    """

    by: list | tuple = ()

    def _start(self):
        # Group 0: rows of the policy itself; group 1: rows of the log.
        self._counts = Cells("table of action shares", 2, 1 + len(self.by))

    def _look(self, part):
        at = self._counts.meet(self._columns(part, self.by, "by"))
        # A kept row of reward 0 stands for the 1 / rate rows that took its action.
        weight = keep_weights(part["reward"], part["keep_rate"])
        self._counts.add(at, part["logged"].astype(int), np.where(part["logged"], 1.0, weight))

    def _finish(self):
        if not self.rows_on_policy_:
            raise CounterweightError(
                "imitated_policy has no rows to imitate: name those that the policy logged in "
                "labeling.on_policy."
            )
        own, logged = self._counts.table()
        self.policy_rows_ = own.sum(axis=1)
        self.rows_without_policy_ = int(logged[self.policy_rows_ == 0].sum())
        if self.rows_without_policy_:
            log.warning(
                "%d of %d rows of the log are in cells of %s where the imitated policy has no row: "
                "it gives probability 0 to their actions",
                self.rows_without_policy_,
                self.rows_log_,
                listed(self.by),
            )
        self._keep(own / np.maximum(self.policy_rows_, 1)[:, None], 0.0)

    def _policy_cells(self, part):
        return self._counts.find(self._columns(part, self.by, "by"))[0]

    def to_arrays(self):
        """See `_LogPolicy.to_arrays`; ``policy`` is by cell and action, its rows weighted."""
        arrays = super().to_arrays() | {
            "policy": self.probabilities_,
            "policy_rows": self.policy_rows_,
            "rows_without_policy": self.rows_without_policy_,
        }
        if self.by:
            arrays["policy_cell"] = self._counts.cells()
        return arrays


@dataclass(eq=False, repr=False, kw_only=True)
class ColumnPolicy(_LogPolicy):
    """A policy that the data set knows: a column of probabilities of the logged action.

    Where a column names an `action` that the policy takes in each row's context, drawn by the
    policy without regard to the logged action, v(x) = q(x, that action): the sum over actions if
    the policy is deterministic, else an unbiased draw of it, which leaves doubly robust values
    unbiased. Without that column there is no q and no v, and no doubly robust value. Both are
    columns of the prepared table.
    """

    probability: str
    action: str = ""

    @property
    def columns(self):
        """Columns of the prepared table that it needs."""
        return [name for name in (self.probability, self.action) if name]

    @property
    def layout(self):
        """Layout of its predictions; without q and v where it names no actions."""
        return super().layout if self.action else super().layout[:2]

    def _start(self):
        self._bad = {}
        self._taken = np.empty(0)

    def _look(self, part):
        for name in self.columns:
            if np.asarray(part["table"][name]).dtype.kind not in "biuf":
                raise CounterweightError(
                    f"The column {name!r} of column_policy holds text, not numbers: choose another "
                    "column."
                )
        p = part["table"][self.probability]
        note_wrong(self._bad, self.probability, ~((p >= 0) & (p <= 1)), p, part["row"])
        if self.action:
            taken = part["table"][self.action]
            note_wrong(self._bad, self.action, np.isnan(taken), taken, part["row"])
            self._taken = np.union1d(self._taken, taken)

    def _finish(self):
        for column, (count, value, row) in self._bad.items():
            needed = "probability from 0 to 1" if column == self.probability else "action"
            raise CounterweightError(
                f"The column {column!r} is missing or no {needed} in {count} of "
                f"{self.rows_log_ + self.rows_on_policy_} rows (first: {value:g} in row {row}): "
                "correct it, or choose another column."
            )
        unseen = np.setdiff1d(self._taken, self._rewards.levels[-1])
        self.actions_unseen_ = len(unseen)
        if len(unseen):
            log.warning(
                "%d actions of the policy (%s) are in no row of the log: the reward model gives "
                "them the mean reward",
                len(unseen),
                listed(f"{value:g}" for value in unseen),
            )
        if not self.action:
            log.warning(
                "no column names the actions of the policy %s: the doubly robust value is left out",
                self.probability,
            )

    def predict(self, part):
        """Probabilities and rewards of the rows of one batch; see `_TablePolicy.predict`."""
        p = np.asarray(part["table"][self.probability], dtype=float)
        if not self.action:
            return {"p": p}
        half, cell, action = self._reward_cells(part)
        taken = positions(self._rewards.levels[-1], part["table"][self.action])
        q, v = (
            self._modelled(part, half, at, self._reward[half, cell, at]) for at in (action, taken)
        )
        return {"p": p, "q": q, "v": v}

    def to_arrays(self):
        """See `_LogPolicy.to_arrays`."""
        return super().to_arrays() | {"actions_unseen": self.actions_unseen_}


def _draw(part):
    """What is independent in a batch: users where rows belong to them, else rows, (n,)."""
    return part.get("cluster", part["row"])


def _half(ids):
    """0 or 1 for each id, by a hash."""
    return (row_uniforms(ids, HALVES) < 0.5).astype(int)
