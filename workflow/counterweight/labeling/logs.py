"""Rules of logs: who logged each row, rewards, propensities, keep rates, weights, users; checks.

``kept_log`` is of classes, ``kept_numbers`` of tables whose other rewards are numbers, of logs of
one's own that lost a part of their zeros before anybody looked: every row is labeled, and zeros
are taken to have been dropped by the rate alone, whatever the features.
"""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Flag, Integer, Number, Option, Text
from counterweight.labeling.columns import (
    NEGATIVE,
    IdCounts,
    SomeValues,
    TornCodes,
    actions,
    as_number,
    clusters,
    condition_mask,
    floats,
    matches,
    refuse_outside,
    require,
    told_apart,
)
from counterweight.numerics.checks import note_wrong
from counterweight.plan.components import columns_of_condition

#: Studies with these labeling rules are about a log, not about classes; `scored_log` about
#: predictions that a log holds.
TASK = "log"
TASK_BY_NAME = {
    "scored_log": "prediction_logs",
    "kept_log": "classification",
    "kept_numbers": "missing_outcomes",
}
#: ``kept_log`` gets features and outcome, and tells the rate at which each row was kept; its test
#: rows stand for others that were dropped.
FEATURES_BY_NAME = {"kept_log": True}
COMPLETE_BY_NAME = {"kept_log": True}
KEPT_BY_NAME = {"kept_log": True, "kept_numbers": True}
#: The value of its policies is known to nobody.
OWN_LOG_BY_NAME = {"own_log": True}
#: The rows that a keep rate is of.
WHERE = Option({},
    "Condition of the rows of reward 0 that were kept at the keep rate, as the key samples of a study has it; of all others every one "
    "was kept. {} where all were kept at it.", type="object")  # fmt: skip
#: Options of every log of one's own.
ROWS = {
    "kept_where": WHERE,
    "keep_rate": Option(1.0, "Rate at which rows of reward 0 were kept, or the column of each row's rate; 1 where all were.", type=["number", "string"]),
    "rows_before": Integer(0,
        "Number of rows before any of reward 0 was dropped, if it is known; 0 where it is not. A keep rate that "
        "contradicts it is refused.", minimum=0),
    "user": Text("", "Column of the user (or session, or day) whose rows are not independent; empty where every row stands for itself."),
    "weight": Text("", "Column of how many rows each row stands for, besides its keep rate; empty for one."),
}  # fmt: skip
#: Options of a log that kept a part of its zeros.
KEPT = {
    "kept_where": WHERE,
    "keep_rate": Option(...,
        "Rate at which rows whose outcome is 0 were kept, or the column of each row's rate.", type=["number", "string"], above=0, maximum=1),
    "rows_before": Integer(0,
        "Number of rows before any was dropped, if it is known; 0 where it is not. A keep rate that contradicts it is "
        "refused.", minimum=0),
}  # fmt: skip
OPTIONS_BY_NAME = {
    "kept_log": KEPT,
    "kept_numbers": KEPT,
    "logged": {
        "action": Text("action", "Column of the action that was taken (a whole number)."),
        "propensity": Text("propensity", "Column of the probability with which the logging policy took it."),
        "log": Option({}, "Column and value of the rows that the logging policy made; {} for all.", type="object"),
        "on_policy": Option(None,
            "Column and value of rows that the policy to be evaluated made itself; null for none. Their mean reward is the "
            "truth.", type="object", null=True),
        "keep_rate": Text("", "Column of the rate at which zero-reward rows were kept; empty where all were."),
        "user": Text("", "Column of the user (or session, or day) whose rows are not independent; empty where every row stands for itself."),
    },
    "own_log": {
        "propensity": Text(..., "Column of the probability with which the logged action was chosen."),
        **ROWS,
        "by_partition": Flag(False,
            "Whether each file of a folder is summed by a job of its own, of which one that changed is summed anew alone; "
            "all columns are then read as their roles ask."),
    },
    "scored_log": ROWS,
    "logged_reward": {
        "column": Text(..., "Column of the log."),
        "positive": Option(None,
            "Value of the column that is a reward of 1; null where the column holds numbers.", type=["string", "number", "boolean"], null=True),
        "negative": NEGATIVE,
        "low": Number(None, "Least reward that can occur; null for 0, or the least one if that is less.", null=True),
        "high": Number(None, "Largest reward that can occur; null for the largest one in the log.", null=True),
    },
}  # fmt: skip
LABEL = "rewards are seen of logged actions only"
LABEL_BY_NAME = {
    "scored_log": "rewards are seen beside predictions of them",
    "kept_log": "a log that kept a part of its zeros",
    "kept_numbers": "a log that kept a part of its rows of reward 0",
}
#: Why none of its rows may be without an outcome, and what to do.
BLANK = (
    "and of a log that dropped zeros every row has one: fill it in, or leave these rows out (a "
    "table or a query of the others)."
)
ROLES = ("log", "on_policy")
#: What the policy that made a log is called.
OF_LOG = "the log's own"


def logged(
    frame,
    *,
    action="action",
    propensity="propensity",
    log=(),
    on_policy=None,
    keep_rate="",
    user="",
):
    """Roles, actions, propensities and keep rates of some rows, floats where one may be missing.

    Rows that have the values of `log` (by column) belong to the log, all of them where it is empty;
    those of `on_policy` to the policy to be evaluated, none where it is None; a role is its number
    in `ROLES`, -1 for neither. The other options are columns, ``keep_rate=""`` where every row was
    kept, ``user=""`` where it stands for itself; with users there is ``cluster``, see
    ``columns.clusters``. Columns that are missing or text, and rows of both roles, are refused.
    """
    log, on_policy = dict(log), on_policy and dict(on_policy)
    what = "labeling rule logged"
    require(frame, [action, propensity, *log, *(on_policy or ())], what)
    role = np.where(matches(frame, log), 0, -1)
    if on_policy is not None:
        own = matches(frame, on_policy)
        both = own & (role == 0)
        if both.any():
            raise CounterweightError(
                f"{int(both.sum())} rows (first: row {frame['row'].to_numpy()[both][0]}) belong to "
                "the log and to the rows of the policy to be evaluated: make labeling.log and "
                "labeling.on_policy exclude each other."
            )
        role[own] = 1
    users = {}
    if user:
        require(frame, [user], what)
        users = {"cluster": clusters(frame[user])}
    return users | {
        "role": role,
        "keep_rate": floats(frame, keep_rate, what) if keep_rate else np.ones(len(frame)),
        "action": floats(frame, action, what),
        "propensity": floats(frame, propensity, what),
    }


def own_log(
    frame,
    *,
    propensity,
    keep_rate=1.0,
    kept_where=(),
    rows_before=0,
    user="",
    weight="",
    by_partition=False,
):
    """Propensities, keep rates, weights and clusters of some rows, unchecked but for their types.

    Options but the rate are columns, empty for none; without propensities all are 1. `keep_rate` is
    a rate, or the column of rates, of the rows that meet the condition `kept_where`; of others all
    were kept. `rows_before` and `by_partition` are of the whole log: see
    `LogProblems` and `tasks.logs`. Clusters (int32) are -1 for every row where no user
    is named, -2 where the user is missing. A column that the log lacks, or that is text, is
    refused.
    """
    rows = len(frame)
    rate = keep_rate if isinstance(keep_rate, str) else ""
    if not rate and not 0 < keep_rate <= 1:
        raise CounterweightError(
            f"The keep rate is {keep_rate:g}: it is the share of the rows of reward 0 that were "
            "kept, a number above 0 and at most 1"
            + (
                f" ({keep_rate:g} per cent are {keep_rate / 100:g})."
                if 1 < keep_rate <= 100
                else "."
            )
        )
    rates = column_of(frame, rate, "keep rate") if rate else np.full(rows, keep_rate)
    return {
        "propensity": column_of(frame, propensity, "propensity") if propensity else np.ones(rows),
        "keep_rate": _kept_at(frame, rates, kept_where),
        "weight": column_of(frame, weight, "weight") if weight else np.ones(rows),
        "cluster": _users(frame, user),
    }


def _kept_at(frame, rates, where):
    """Rates of rows that meet a condition, 1 of all others."""
    met = condition_mask(frame, where, "keep_rate.where") if where else True
    return np.where(met, rates, 1.0)


def _users(frame, user):
    if not user:
        return np.full(len(frame), -1, "int32")
    present(frame.columns, user, "user")
    return clusters(frame[user])


def scored_log(frame, *, keep_rate=1.0, kept_where=(), rows_before=0, user="", weight=""):
    """Keep rates, weights and clusters of some rows; see `own_log`, which has propensities, too."""
    kept = {"keep_rate": keep_rate, "kept_where": kept_where, "rows_before": rows_before}
    return own_log(frame, propensity="", user=user, weight=weight, **kept)


def logged_reward(frame, population, *, column, positive=None, negative=None, low=None, high=None):
    """The rewards of a column of some rows of a log, checked; float64.

    `positive` is compared as numbers where the column holds numbers, else as text; `negative`, a
    value or a list of values, is a reward of 0, needed where a batch has several values beside
    `positive`. Refused are a column that is missing or text without `positive`, rewards that are
    missing, infinite or outside the bounds (`low` and `high`, themselves included), and bounds in
    the wrong order.
    """
    bottom = -np.inf if low is None else low
    top = np.inf if high is None else high
    if not bottom < top:
        raise CounterweightError(
            f"The bounds of the reward are {bottom:g} and {top:g}: low must be below high."
        )
    present(frame.columns, column, "reward")
    if positive is not None:
        return _rewarded(frame, column, positive, negative)
    if frame[column].dtype.kind not in "biuf":
        if found := lone_word(frame[column]):
            place, word = found
            row = np.asarray(frame["row"])[place]
            raise CounterweightError(
                f"The reward {column!r} is {word!r} in row {row}, where most rows have numbers: "
                "correct it, or leave such rows out."
            )
        words = sorted({str(word) for word in frame[column].dropna().unique()[:20]})
        raise CounterweightError(
            f"The reward {column!r} holds text ({listed(words[:3])}), not numbers: say which value "
            f"is a reward of 1, as in reward: {{column: {column}, positive: {words[0]}}}."
            if words
            else f"The reward {column!r} is missing in every row looked at: fill it in."
        )
    values = floats(frame, column, "outcome rule logged_reward")
    refuse_outside(
        values,
        bottom,
        top,
        rows=np.asarray(frame["row"]),
        name=f"reward {column!r}",
        where="reward",
    )
    return values


def _rewarded(frame, column, positive, negative):
    values = frame[column]
    missing = values.isna().to_numpy()
    if missing.any():
        raise CounterweightError(
            f"The reward {column!r} is missing in {int(missing.sum())} of {len(values)} rows "
            f"looked at (first: row {frame['row'].to_numpy()[missing][0]}): fill in or leave out "
            "those rows."
        )
    number = values.dtype.kind in "biuf"
    if number and np.isnan(as_number(positive)):
        raise CounterweightError(
            f"The reward {column!r} holds numbers, so none of its values is {positive!r}: give "
            "the number that counts as a reward of 1."
        )
    said = {"what": f"reward {column!r}", "key": "reward", "blanks": False}
    return told_apart(values, positive, negative, text=not number, **said)


#: Begins the roles of columns that say which rows were kept at the keep rate.
_WHERE = "keep_rate where"


def roles_of(outcome, labeling):
    """Columns of a log by role, from the options of its two rules."""
    rate = labeling.get("keep_rate", 1.0)
    roles = {"reward": outcome["column"], "propensity": labeling.get("propensity", "")}
    roles |= {"keep_rate": rate if isinstance(rate, str) else ""}
    roles |= {name: labeling.get(name, "") for name in ("user", "weight")}
    asked = columns_of_condition(labeling.get("kept_where") or {})
    roles |= {f"{_WHERE} {column}": column for column in asked}
    return {name: column for name, column in roles.items() if column}


def present(names, column, role=""):
    """Refuse a column that is not among the `names` of a log; `role` is what it was named as."""
    if column not in names:
        what = (
            f"{column!r}, which is named as the {role}"
            if role
            else f"{column}, which a policy names"
        )
        raise CounterweightError(
            f"The log has no column {what}; it has "
            f"{listed(name for name in names if name != 'row')}: correct the name."
        )


def a_word(values):
    """The first text that is no number, in brackets for a sentence; "" where there is none."""
    for value in values:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return f" ({value!r})"
    return ""


def lone_word(values):
    """Place and text of the first value that is no number, where most are numbers; else None.

    ``values`` (n,) were read as text.
    """
    import pandas as pd

    values = pd.Series(np.asarray(values, dtype=object))
    words = values.notna() & pd.to_numeric(values, errors="coerce").isna()
    if not words.any() or words.mean() >= 0.5:
        return None
    place = int(np.flatnonzero(words)[0])
    return place, str(values[place])


def column_of(frame, column, role):
    """A column of a log as floats, NaN where it is missing; refused where it holds text."""
    present(frame.columns, column, role)
    values = frame[column]
    try:
        return values.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {role} {column!r} holds text{a_word(values)} where numbers "
            "belong: correct the column, or name another one."
        ) from error


def known_number(labeling):
    """``rows_before`` of a log's labeling where it says how many rows all stand for, else 0: beside
    a weight it is a number of rows, which says nothing of what those that were dropped weighed."""
    return 0 if labeling.get("weight") else labeling["rows_before"]


_COUNTS = ("rows", "nonzero", "_stand_for", "_spread", "_least_rate", "largest")
_PARTS = ("ids", "users", "values")


class LogProblems:
    """What is wrong with the rows of a log, counted over its batches.

    `roles` are columns by role, for the sentences: ``propensity``, ``keep_rate``, ``weight``,
    ``user``, ``action``. `rows_before` is the number of rows before any of reward 0 was dropped; 0
    where that is not known. `person` is the column of ids, of which those that stand twice are
    counted.
    """

    def __init__(self, roles, rows_before=0, person=""):
        self.person, self.ids, self.users = person, IdCounts(), TornCodes()
        self.asked = [column for role, column in roles.items() if role.startswith(_WHERE)]
        self.values, self.roles, self.noted, self.rows_before = SomeValues(), roles, {}, rows_before
        self.rows = self.nonzero = self.dropped = 0
        self._stand_for = self._spread = 0.0
        self._least_rate = 1.0
        self.largest = -np.inf

    def look(self, part, frame=()):
        """Look at a batch: arrays by ``row, reward, propensity, keep_rate``, and perhaps ``role``,
        of which only rows of number 0 need a propensity, ``weight``, ``cluster`` and ``action``.
        Its `frame` has the column of users."""
        p, rate = part["propensity"], part["keep_rate"]
        weight, user = part.get("weight", np.ones(len(p))), part.get("cluster", np.zeros(len(p)))
        action, logged = part.get("action", user), part.get("role", np.zeros(len(p))) == 0
        if (column := self.roles.get("user")) in frame:
            self.users.add(frame[column])
        self.values.add(frame, self.asked)
        self.rows += len(p)
        self.nonzero += int((part["reward"] != 0).sum())
        self.largest = max(self.largest, np.nanmax(p, initial=-np.inf))
        rated = np.where(part["reward"] == 0, rate, 1.0)
        rated = rated[(rated > 0) & (rated <= 1)]
        self._stand_for += float((1 / rated).sum())
        self._spread += float(((1 - rated) / rated**2).sum())
        self._least_rate = min(self._least_rate, np.nanmin(rate, initial=1.0))
        with np.errstate(invalid="ignore"):
            for name, wrong, values in (
                ("action", (action % 1 != 0) | (np.abs(action) >= 2**31), action),
                ("propensity_missing", logged & np.isnan(p), p),
                ("propensity_zero", logged & (p == 0), p),
                ("propensity", logged & ((p < 0) | (p > 1)), p),
                ("rate", ~np.isnan(rate) & ~((rate > 0) & (rate <= 1)), rate),
                ("rate_missing", np.isnan(rate) & (part["reward"] == 0), rate),
                ("weight", ~(np.isfinite(weight) & (weight >= 0)), weight),
                ("user", user == -2, rate),
            ):
                note_wrong(self.noted, name, wrong, values, part["row"])

    def state(self):
        """Counts over the rows, for `add`: plain numbers."""
        parts = {name: getattr(self, name).state for name in _PARTS}
        return {name: float(getattr(self, name)) for name in _COUNTS} | parts

    def add(self, state):
        """Add the counts over other rows, those of another partition."""
        for name in _COUNTS[:4]:
            setattr(self, name, getattr(self, name) + type(getattr(self, name))(state[name]))
        self._least_rate = min(self._least_rate, state["_least_rate"])
        self.largest = max(self.largest, state["largest"])
        for name in _PARTS:
            getattr(self, name).merge(state[name])

    def tell(self):
        """Raise for the first kind of problem found."""
        self.tell_rows()
        if not self.rows:
            raise CounterweightError("The log has no row: put the rows of a log in the table.")
        if not self.nonzero:
            raise CounterweightError(
                f"The reward {self.roles.get('reward')!r} is 0 in all {self.rows} rows of the log, "
                "so no policy can be told from another: name the column of the rewards, or use a "
                "longer log."
            )
        if said := self.users.said(self.roles.get("user")):
            raise CounterweightError(said)
        self._counts()

    def tell_rows(self):
        """Raise for what single rows have wrong."""
        unit = "divide 1 by the column if it has weights"
        percent = "correct these rows"
        if self.largest > 1:
            percent = f"divide the column by 100 if it is in per cent, and {unit}"
            percent = percent if self.largest <= 100 else f"{unit}, or correct these rows"
        texts = {
            "action": "The action {column!r} is not a whole number, or not below 2^31, in {rows} "
            "(first: {value:g} in row {row}): number the actions.",
            "propensity_missing": "The propensity {column!r} is missing in {rows} (first: row "
            "{row}): every row needs the probability with which its action was chosen; fill it in "
            "or leave these rows out.",
            "propensity_zero": "The propensity {column!r} is 0 in {rows} (first: row {row}): an "
            "action that was logged had a probability above 0; correct these rows or leave them "
            "out.",
            "propensity": "The propensity {column!r} is no probability in {rows} (first: "
            f"{{value:g}} in row {{row}}): {percent}.",
            "rate": "The keep rate {column!r} is not above 0 and at most 1 in {rows} (first: "
            "{value:g} in row {row}): it is the probability with which a row of reward 0 was kept; "
            f"{unit}, 1 over that probability, or the column by 100 if it is in per cent.",
            "rate_missing": "The keep rate {column!r} is missing in {rows} of reward 0 (first: row "
            "{row}): fill in the probability with which these rows were kept.",
            "weight": "The weight {column!r} is missing, infinite or below 0 in {rows} (first: "
            "{value:g} in row {row}): a weight says how many rows a row stands for.",
            "user": "The user {column!r} is missing in {rows} (first: row {row}): fill it in, or "
            "leave these rows out.",
        }
        for name, text in texts.items():
            if name in self.noted:
                count, value, row = self.noted[name]
                rows = "1 row" if count == 1 else f"{count} rows"
                if name == "rate_missing" and not self.nonzero:
                    # A word that is misspelt leaves no row with a reward.
                    text = text.replace(
                        "fill in",
                        "no row looked at has a reward; correct the "
                        "column or the value that is a 1 (positive) of the reward, or fill in",
                    )
                role = {"rate": "keep_rate"}.get(name.split("_")[0], name.split("_")[0])
                raise CounterweightError(
                    text.format(column=self.roles.get(role), rows=rows, value=value, row=row)
                )

    def _counts(self):
        """Whether the rows that are left agree with the keep rate and the rows before."""
        if self.asked and self._least_rate == 1:
            raise CounterweightError(
                f"None of the {self.rows - self.nonzero} rows of reward 0 meets the condition "
                f"under keep_rate.where, which asks for {listed(self.asked)}, or their rate is 1"
                f"{self.values.said()}. Correct it, or leave keep_rate out."
            )
        before, said = self.rows_before, "rows_before"
        if before and before < self.rows:
            raise CounterweightError(
                f"The log has {self.rows} rows, but {said} is {before}: give the number of rows "
                "before any was dropped."
            )
        if self.nonzero == self.rows:
            if not before and self._least_rate < 1:
                raise CounterweightError(
                    f"None of the {self.rows} rows has a reward of 0, so nothing tells how many "
                    f"rows there were: give their number as {said}, or keep some rows of reward 0."
                )
            if self.roles.get("weight") and before > self.rows:
                raise CounterweightError(
                    f"None of the {self.rows} rows has a reward of 0, and {said} says how many "
                    "were dropped, not what they weighed: keep some rows of reward 0, or leave "
                    "weight out."
                )
            return
        if not before:
            return
        # How many rows those at hand stand for, and how far chance moves that.
        gap, error = self._stand_for - before, max(self._spread, 0.0) ** 0.5
        if abs(gap) > max(4 * error, 0.5):
            zeros = before - self.nonzero
            rate = (self.rows - self.nonzero) / zeros if zeros > 0 else 1.0
            raise CounterweightError(
                f"By the keep rate the {self.rows} rows stand for {self._stand_for:.0f}, but "
                f"{said} is {before}: {self.rows - self.nonzero} of {zeros} rows of reward 0 are a "
                f"rate of {rate:.3g}. Correct keep_rate or {said}."
            )


def kept_log(frame, truth, rng, *, features, outcome, keep_rate, kept_where=(), rows_before=0):
    """All rows (``selected``), with the rates at which each was kept (1 where it is no zero).

    Zeros are taken to have been dropped by that rate alone, whatever the features.
    """
    missing = np.isnan(np.asarray(outcome, float))
    if missing.any():
        raise CounterweightError(
            f"The outcome is missing in {int(missing.sum())} of {len(frame)} rows (first: row "
            f"{frame['row'].to_numpy()[missing][0]}), {BLANK}"
        )
    column = keep_rate if isinstance(keep_rate, str) else ""
    rate = np.full(len(frame), keep_rate) if not column else floats(frame, column, "key keep_rate")
    whole = {"row": frame["row"].to_numpy(), "reward": outcome, "keep_rate": rate}
    whole["propensity"] = np.ones(len(frame))
    roles = {"keep_rate": column, "reward": "outcome"}
    whole["keep_rate"] = rate = _kept_at(frame, rate, kept_where)
    roles |= {f"{_WHERE} {one}": one for one in columns_of_condition(kept_where or {})}
    problems = LogProblems(roles, rows_before)
    problems.look(whole, frame)
    problems.tell()
    return {"selected": np.ones(len(frame), bool), "keep_rate": np.where(outcome == 0, rate, 1.0)}


def kept_numbers(frame, types, outcome, *, keep_rate, kept_where=(), rows_before=0):
    """All rows as ``labeled``, and how many each stands for as ``weight``: 1 / rate where the
    outcome is 0, else 1. `keep_rate` is a rate, or the column of rates; see `own_log`. Where
    `rows_before` is known, those of outcome 0 stand for as many as there were, so that the weights
    add up to it.
    """
    rates = {"keep_rate": keep_rate, "kept_where": kept_where, "rows_before": rows_before}
    made = kept_log(frame, None, None, features=None, outcome=outcome, **rates)
    weight, zeros = 1 / made["keep_rate"], np.asarray(outcome) == 0
    if rows_before and zeros.any():
        weight[zeros] *= (rows_before - (~zeros).sum()) / weight[zeros].sum()
    return {"labeled": made["selected"], "weight": weight}


#: Rows in which an action was logged, below which its propensities are not judged.
LEAST_LOGGED = 20
#: Most actions and contexts that are told apart, and actions that were never logged.
MOST_CELLS, MOST_ABSENT = 1000, 3


class PropensityTest:
    """Whether propensities are those of the logged actions, by action and context.

    Over the rows of a context the mean of ``1{A = a} / p`` is 1 in expectation for each action a
    that could be taken in all of them, and less for one that could not. So only means above 1 speak
    against the propensities. Parts of the log have a ``table`` with the column `action` and those
    of `contexts`, each of which parts the rows by its values; the whole log is a context, too.
    Where rows belong to users, errors are those of sums over users. Nothing is told of columns with
    more than `MOST_CELLS` pairs; cells with fewer than `LEAST_LOGGED` rows of the action, or users
    who had it, are left out.

    A mean has the error of ``sum k^2 (1{A = a} / p - 1)^2``, that of the expected rows where fewer
    were logged, so that rare actions are no alarm: of 400 right logs each of 480 to 20,000 rows,
    propensities down to .01, 0 to 1.3 % had a chance below .01, and all with shuffled ones.
    """

    def __init__(self, action, contexts, takes=()):
        self._action, self._takes, self._users = action, takes, False
        self._found = {name: [] for name in ("", *contexts)}

    @property
    def _by(self):
        return ["context", "action", *["cluster"] * self._users]

    def add(self, part):
        """Add a batch of rows: propensity, reward, keep_rate, perhaps weight and cluster, table."""
        import pandas as pd

        self._users |= bool("cluster" in part and (part["cluster"] >= 0).any())
        p, kept = part["propensity"], np.where(part["reward"] == 0, part["keep_rate"], 1.0)
        k = part.get("weight", np.ones(len(p))) / kept
        sums = {"total": k / p, "spread": k * k * (1 / p - 2) / p, "rows": 1.0}
        sums |= {"k": k, "squares": k * k, "action": actions(part["table"][self._action])}
        sums |= {"cluster": part["cluster"]} if self._users else {}
        for name, own in self._found.items():
            context = part["table"][name] if name else 0
            context = actions(context) if name in self._takes else context
            frame = pd.DataFrame(sums | {"context": context})
            own.append(frame.groupby(self._by, sort=False).sum())

    def records(self):
        """Records of the cell that is most above 1: its mean (``propensity_mean``, the cell as
        ``variable``) and the chance of such a cell among all (``propensity_p``, two-sided,
        Bonferroni).

        Of those contexts that are what a policy `takes`, each action that was never logged is told
        with its share of the rows (``action_unlogged``, the action as ``variable``, the column as
        ``part``).
        """
        import pandas as pd
        from scipy.special import ndtr

        tested, made, by = [], [], self._by
        for name, own in self._found.items():
            summed = pd.concat(own).groupby(level=by).sum()
            cells = summed.groupby(level=by[:2]).sum()
            if name in self._takes:
                shares = cells["k"].groupby(level=0).sum() / cells["k"].sum()
                logged = {taken for _, taken in cells.index}
                absent = shares[[taken not in logged for taken in shares.index]]
                made += [
                    {"metric": "action_unlogged", "value": float(share), "target": "general"}
                    | {"part": name, "variable": taken}
                    for taken, share in absent.nlargest(MOST_ABSENT).items()
                ]
            if not 1 < len(cells) <= MOST_CELLS:
                continue
            if self._users:
                cells["rows"] = np.minimum(cells["rows"], summed.groupby(level=by[:2]).size())
            for (context, taken), (z, mean, rows) in self._scores(cells, summed).iterrows():
                place = f"{taken} where {name} is {context!s}" if name else taken
                if rows >= LEAST_LOGGED:
                    tested.append((z, mean, place))
        if not tested:
            return made
        z, mean, cell = max(tested)
        z = max(z, 0.0)
        place = {"target": "general", "part": "log", "variable": cell}
        chance = min(2 * float(ndtr(-z)) * len(tested), 1.0)
        return [
            place | {"metric": "propensity_mean", "value": float(mean)},
            place | {"metric": "propensity_p", "value": chance},
            *made,
        ]

    def _scores(self, cells, summed):
        """How many errors each cell is above 1, its mean and its rows, a frame."""
        import pandas as pd

        by, whole = self._by, cells.groupby(level=0)[["k", "squares"]].transform("sum")
        if self._users:
            # Of a user t - k, with the sum t of the action and k of all: 0 - k where none is t.
            own = summed.groupby(level=["context", "cluster"])["k"]
            apart = summed["total"] * (summed["total"] - 2 * own.transform("sum"))
            rest = (own.sum() ** 2).groupby(level=0).sum()
            rest = rest.reindex(cells.index.get_level_values(0)).to_numpy()
            variance = np.maximum(apart.groupby(level=by[:2]).sum() + rest, 0)
        else:
            more = np.maximum(whole["k"] / cells["total"], 1.0)
            variance = np.maximum(cells["spread"] * more, 0) + whole["squares"]
        above, mean = cells["total"] - whole["k"], cells["total"] / whole["k"]
        z = (above / np.sqrt(variance)).where(variance > 1e-12 * whole["k"] ** 2, 0.0)
        return pd.DataFrame({"z": z, "mean": mean, "rows": cells["rows"]})


def propensity_records(parts, action, contexts, takes=()):
    """Records of `PropensityTest` by batches of a log."""
    test = PropensityTest(action, contexts, takes)
    for part in parts:
        test.add(part)
    return test.records()


#: Chance below which propensities are called wrong.
WRONG = 0.01


def wrong_propensities(records, copies=False):
    """Words on why propensities are not those of the logged actions, by records; "" if they may be.

    `records` are dicts with ``metric``, ``part``, ``variable``, ``value``; `copies`: `in_common`.
    """
    own, so = {}, ", or copies of rows make it look so" * copies
    for one in records:
        if one["metric"] in ("propensity_p", "propensity_mean") and one["part"] == "log":
            own.setdefault(one["variable"], {})[one["metric"]] = one["value"]
    for cell, told in own.items():
        if told["propensity_p"] < WRONG:
            return (
                f"the propensities are not those of the logged actions{so}: rows with the action "
                f"{cell}, each counted as 1 / propensity, make {told['propensity_mean']:.3g} times "
                "the rows that they stand for"
            )
    return ""
