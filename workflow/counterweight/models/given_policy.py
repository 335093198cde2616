"""A policy that a log itself tells: by its probabilities, or by the action that it would take."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Text
from counterweight.labeling.logs import a_word, lone_word, present
from counterweight.numerics.checks import note_wrong
from counterweight.plan import components

KIND = "log"
#: What tells q and v where a reward model is asked for.
REWARDS = "counterweight.models.policy_rewards:GivenReward"
OPTIONS = {
    "probability": Text("", "Column of the probability that the policy gives to the logged action."),
    "takes": Text("", "Column of the action that a deterministic policy takes, in place of probability."),
    "shown": Text("", "Column of the logged action, which takes is compared with."),
    "reward_model": Choice("none", ["none", "linear", "boosting"], "Regressor of the reward, cross-fitted, for the doubly robust values."),
    "reward_by": Array([], "Columns that the reward goes by in the reward model, known before it.", items={"type": "string"}),
}  # fmt: skip
LABEL = "{probability}{takes}"


class GivenPolicy:
    """A policy by columns of the log; nothing is learned, unless a reward model is asked for.

    `probability` is a column with a number from 0 to 1 for each row. Or `takes` and `shown` are
    those of the policy's action and of the logged one, numbers or texts: the probability is 1 where
    they are equal, else 0. For the reward model see `OPTIONS` and `policy_rewards.GivenReward`.
    """

    def __init__(self, probability="", takes="", shown="", reward_model="none", reward_by=()):
        if bool(probability) == bool(takes) or bool(takes) != bool(shown):
            raise CounterweightError(
                "A policy is given either by the column of its probability of the logged action, "
                "or by the column of the action that it takes together with that of the logged "
                "action: name one or the other."
            )
        self.probability, self.takes, self.shown = probability, takes, shown
        self.reward_model, self.reward_by = reward_model, list(reward_by)
        self.rows_ = self.rows_agreed_ = 0
        self._bad = {}

    @property
    def columns(self):
        """Columns of the log that it needs."""
        names = [name for name in (self.probability, self.takes, self.shown) if name]
        return list(dict.fromkeys([*names, *(self.reward_by if self._modelled else ())]))

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
            # By name, so that logs without a reward model do not rest on its regressors.
            reward = components.reference(REWARDS)
            rewards = reward(self.reward_model, self.reward_by, self.takes, self.shown)
        for part in parts:
            self.look(part)
            if rewards:
                rewards.add(part)
        self.tell()
        self._rewards = rewards and rewards.fit()
        return self

    def look(self, part):
        """Probabilities (n,) of one batch, its rows and problems counted."""
        p = self._probabilities(part)
        self.rows_ += len(p)
        self.rows_agreed_ += int((p > 0).sum())
        return p

    def _probabilities(self, part):
        rows, table = part["row"], part["table"]
        for name in self.columns:
            present(table, name)
        if self.probability:
            p = np.asarray(table[self.probability])
            if p.dtype.kind not in "biuf" and (found := lone_word(p)):
                raise CounterweightError(
                    f"The policy's column {self.probability!r} is {found[1]!r} in row "
                    f"{np.asarray(rows)[found[0]]}, where most rows have numbers: correct it, or "
                    "leave such rows out."
                )
            if p.dtype.kind not in "biuf":
                raise CounterweightError(
                    f"The policy's column {self.probability!r} holds text"
                    f"{a_word(p)} where probabilities belong: a policy "
                    "that takes one action is given as {column: "
                    f"{self.probability}, action: the column of the logged action}}."
                )
            p = p.astype(float)
            note_wrong(self._bad, self.probability, ~((p >= 0) & (p <= 1)), p, rows)
        else:
            own, shown = (_comparable(table[name]) for name in (self.takes, self.shown))
            for name, values in ((self.takes, own), (self.shown, shown)):
                lacks = _missing(values)
                note_wrong(self._bad, name, lacks, np.full(len(values), np.nan), rows)
            if (own.dtype == object) != (shown.dtype == object):
                own, shown = _as_text(own), _as_text(shown)
            p = (own == shown).astype(float)
        return p

    def tell(self):
        """Refuse what the batches had wrong: a probability that is missing or not from 0 to 1, a
        missing action, a policy that takes no logged action."""
        self.tell_rows()
        if not self.rows_agreed_:
            of = f"{self.takes!r} equals {self.shown!r}" if self.takes else self.probability
            what = f"in no row {of}" if self.takes else f"{of!r} is 0 in every row"
            raise CounterweightError(
                f"The policy never takes a logged action ({what} of {self.rows_}), so the log says "
                "nothing of it: check that the columns belong together, or try the policy first."
            )

    def tell_rows(self):
        """Refuse what single rows had wrong."""
        for column, (count, value, row) in self._bad.items():
            rows = "1 row" if count == 1 else f"{count} rows"
            if np.isnan(value):
                raise CounterweightError(
                    f"The policy's column {column!r} is missing in {rows} of {self.rows_} (first: "
                    f"row {row}): fill it in, or leave these rows out."
                )
            hint = "; per cents are divided by 100" if 1 < value <= 100 else ""
            raise CounterweightError(
                f"The policy's column {column!r} is no probability from 0 to 1 in {rows} of "
                f"{self.rows_} (first: {value:g} in row {row}): correct it, or name another "
                f"column{hint}."
            )

    def predict(self, part):
        """``p``, the policy's probability of the logged action, of one batch; of a reward model
        ``q`` and ``v``, too."""
        told = {"p": self._probabilities(part)}
        return told | self._rewards.predict(part) if self._modelled else told

    def to_arrays(self):
        """Rows, and those where the policy may take the logged action."""
        return {"rows_log": self.rows_, "rows_agreed": self.rows_agreed_}


def _comparable(values):
    values = np.asarray(values)
    return values.astype(float) if values.dtype.kind in "biuf" else values.astype(object)


def _missing(values):
    if values.dtype != object:
        return np.isnan(values)
    import pandas as pd

    return pd.isna(values)


def _as_text(values):
    """Whole numbers without a point, as a table writes them."""
    if values.dtype == object:
        return values.astype(str)
    whole = np.isfinite(values) & (values % 1 == 0)
    text = values.astype(str).astype(object)
    text[whole] = values[whole].astype("int64").astype(str)
    return text
