"""A log of one's own: rewards, propensities, keep rates, weights and users, batch by batch."""

import contextlib

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Flag, Integer, Option, Text
from counterweight.labeling.columns import clusters
from counterweight.numerics.checks import note_wrong

#: Studies with this labeling rule are about a log, not about classes.
KIND = "log"
#: The value of its policies is known to nobody.
OWN_LOG = True
#: Options of every log of one's own.
ROWS = {
    "keep_rate": Option(1.0, "Rate at which rows of reward 0 were kept, or the column of each row's rate; 1 where all were.", type=["number", "string"]),
    "rows_before": Integer(0,
        "Number of rows before any of reward 0 was dropped, if it is known; 0 where it is not. A keep rate that "
        "contradicts it is refused.", minimum=0),
    "user": Text("", "Column of the user (or session, or day) whose rows are not independent; empty where every row stands for itself."),
    "weight": Text("", "Column of how many rows each row stands for, besides its keep rate; empty for one."),
}  # fmt: skip
OPTIONS = {
    "propensity": Text(..., "Column of the probability with which the logged action was chosen."),
    **ROWS,
    "by_partition": Flag(False,
        "Whether each file of a folder is summed by a job of its own, of which one that changed is summed anew alone; "
        "all columns are then read as their roles ask."),
}  # fmt: skip
LABEL = "rewards are seen of logged actions only"
LABELS = (
    ("row", "int32"),
    ("role", "string"),
    ("keep_rate", "float64"),
    ("propensity", "float64"),
    ("reward", "float64"),
    ("weight", "float64"),
    ("cluster", "int32"),
)


def own_log(
    frame, *, propensity, keep_rate=1.0, rows_before=0, user="", weight="", by_partition=False
):
    """Propensities, keep rates, weights and clusters of some rows, unchecked but for their types.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of a log, with ``row``; one batch of it.
    propensity, user, weight : str
        Columns; empty for none. Without propensities all are 1.
    keep_rate : float or str
        A rate, or the column of rates.
    rows_before : int
        Not used for single rows; see `LogProblems`.
    by_partition : bool
        Not used for single rows; see `counterweight.kinds.log_parts`.

    Returns
    -------
    dict of str to numpy.ndarray
        ``propensity``, ``keep_rate``, ``weight``; ``cluster`` (int32), -1 for every row where
        no user is named, -2 where the user is missing.

    Raises
    ------
    CounterweightError
        When a column is missing from the log or is text.
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
    return {
        "propensity": column_of(frame, propensity, "propensity") if propensity else np.ones(rows),
        "keep_rate": column_of(frame, rate, "keep rate") if rate else np.full(rows, keep_rate),
        "weight": column_of(frame, weight, "weight") if weight else np.ones(rows),
        "cluster": clusters(present(frame, user, "user")) if user else np.full(rows, -1, "int32"),
    }


def present(frame, column, role):
    """A column of a log, as it is.

    Raises
    ------
    CounterweightError
        When the log lacks it.
    """
    if column not in frame.columns:
        raise CounterweightError(
            f"The log has no column {column!r}, which is named as the {role}; it has "
            f"{listed(name for name in frame.columns if name != 'row')}: correct the name."
        )
    return frame[column]


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

    Parameters
    ----------
    values : array (n,)
        A column that was read as text.
    """
    import pandas as pd

    values = pd.Series(np.asarray(values, dtype=object))
    words = values.notna() & pd.to_numeric(values, errors="coerce").isna()
    if not words.any() or words.mean() >= 0.5:
        return None
    place = int(np.flatnonzero(words)[0])
    return place, str(values[place])


def column_of(frame, column, role):
    """A column of a log as floats, NaN where it is missing.

    Raises
    ------
    CounterweightError
        When the log lacks it, or it holds text.
    """
    values = present(frame, column, role)
    try:
        return values.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {role} {column!r} holds text{a_word(values)} where numbers "
            "belong: correct the column, or name another one."
        ) from error


_COUNTS = ("rows", "nonzero", "_stand_for", "_spread", "_least_rate", "largest")


class LogProblems:
    """What is wrong with the rows of a log, counted over its batches.

    Parameters
    ----------
    roles : mapping of str to str
        Columns by role, for the sentences: ``propensity``, ``keep_rate``, ``weight``, ``user``.
    rows_before : int
        Rows before any of reward 0 was dropped; 0 where that is not known.
    """

    def __init__(self, roles, rows_before=0):
        self.roles, self.noted, self.rows_before = roles, {}, rows_before
        self.rows = self.nonzero = 0
        self._stand_for = self._spread = 0.0
        self._least_rate = 1.0
        self.largest = -np.inf

    def look(self, part):
        """Look at a batch: arrays by ``row, reward, propensity, keep_rate, weight, cluster``."""
        p, rate, weight = part["propensity"], part["keep_rate"], part["weight"]
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
                ("propensity_missing", np.isnan(p), p),
                ("propensity_zero", p == 0, p),
                ("propensity", ~np.isnan(p) & (p != 0) & ~((p > 0) & (p <= 1)), p),
                ("rate", ~np.isnan(rate) & ~((rate > 0) & (rate <= 1)), rate),
                ("rate_missing", np.isnan(rate) & (part["reward"] == 0), rate),
                ("weight", ~(np.isfinite(weight) & (weight >= 0)), weight),
                ("user", part["cluster"] == -2, rate),
            ):
                note_wrong(self.noted, name, wrong, values, part["row"])

    def state(self):
        """Counts over the rows, for `add`: plain numbers."""
        return {name: float(getattr(self, name)) for name in _COUNTS}

    def add(self, state):
        """Add the counts over other rows, those of another partition."""
        for name in _COUNTS[:4]:
            setattr(self, name, getattr(self, name) + type(getattr(self, name))(state[name]))
        self._least_rate = min(self._least_rate, state["_least_rate"])
        self.largest = max(self.largest, state["largest"])

    def tell(self):
        """Raise for the first kind of problem found.

        Raises
        ------
        CounterweightError
        """
        self.tell_rows()
        if not self.rows:
            raise CounterweightError("The log has no row: put the rows of a log in the table.")
        if not self.nonzero:
            raise CounterweightError(
                f"The reward {self.roles.get('reward')!r} is 0 in all {self.rows} rows of the log, "
                "so no policy can be told from another: name the column of the rewards, or use a "
                "longer log."
            )
        self._counts()

    def tell_rows(self):
        """Raise for what single rows have wrong."""
        percent = (
            "they look like per cents, so divide the column by 100"
            if 1 < self.largest <= 100
            else "correct these rows"
        )
        texts = {
            "propensity_missing": "The propensity {column!r} is missing in {rows} (first: row "
            "{row}): every row needs the probability with which its action was chosen; fill it in "
            "or leave these rows out.",
            "propensity_zero": "The propensity {column!r} is 0 in {rows} (first: row {row}): an "
            "action that was logged had a probability above 0; correct these rows or leave them "
            "out.",
            "propensity": "The propensity {column!r} is no probability in {rows} (first: "
            f"{{value:g}} in row {{row}}): {percent}.",
            "rate": "The keep rate {column!r} is not above 0 and at most 1 in {rows} (first: "
            "{value:g} in row {row}): it is the probability with which a row of reward 0 was kept.",
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


def roles_of(outcome, labeling):
    """Columns of a log by role, from the options of its two rules."""
    rate = labeling.get("keep_rate", 1.0)
    roles = {"reward": outcome["column"], "propensity": labeling.get("propensity", "")}
    roles |= {"keep_rate": rate if isinstance(rate, str) else ""}
    roles |= {name: labeling.get(name, "") for name in ("user", "weight")}
    return {name: column for name, column in roles.items() if column}


def label_own_log(table, outputs, *, recipe, outcome, rule, rng, roles):
    """Write features, labels and an empty truth of a log of one's own, a batch at a time.

    Rows keep their order. Memory does not grow with their number.

    Parameters
    ----------
    table : str or Path
        Prepared table, with ``row`` ascending.
    outputs : mapping of str to path
        ``features``, ``labels``, ``truth``.
    recipe, outcome, rule : callable
        A features recipe, `logged_reward` and `own_log`, with their options.
    rng : numpy.random.Generator
        For the recipe.
    roles : mapping of str to str
        From `roles_of`.

    Returns
    -------
    list of dict
        Metric records: ``rows_log``, ``rows_all``, ``rows_nonzero``, ``smallest_propensity``.

    Raises
    ------
    CounterweightError
        One sentence: a column is missing or text; the propensity is missing, 0 or no
        probability; the reward is missing, or 0 everywhere; a keep rate, weight or user is
        missing or out of range.
    """
    import pandas as pd

    from counterweight.files.streams import batches, column_names, writing
    from counterweight.files.tables import ROW_GROUP, write_table
    from counterweight.labeling.logs import TRUTH

    names = column_names(table)
    for role, column in roles.items():
        present(pd.DataFrame(columns=names), column, role.replace("_", " "))
    needs = getattr(getattr(recipe, "func", recipe), "needs", None)
    wanted = None if needs is None else list(dict.fromkeys(["row", *roles.values(), *needs]))
    before = getattr(rule, "keywords", {}).get("rows_before", 0)
    problems, least = LogProblems(roles, before), np.inf
    with contextlib.ExitStack() as stack:
        out = {"labels": stack.enter_context(writing(outputs["labels"], LABELS))}
        for columns in batches(table, wanted, ROW_GROUP):
            frame = pd.DataFrame(columns)
            part = {"row": frame["row"].to_numpy()} | rule(frame)
            part["reward"] = outcome(frame, np.ones(len(frame), bool))
            problems.look(part)
            if problems.noted:
                continue  # the rest is only read to count
            features = recipe(frame, rng, outcome=roles["reward"])
            if "features" not in out:
                layout = [("row", "int32")]
                layout += [(name, "float64") for name in features.columns if name != "row"]
                out["features"] = stack.enter_context(writing(outputs["features"], layout))
            out["features"].write({name: features[name].to_numpy() for name in features})
            out["labels"].write(part | {"role": np.full(len(frame), "log", object)})
            least = min(least, part["propensity"].min())
        problems.tell()
    write_table(outputs["truth"], {name: [] for name, _ in TRUTH}, TRUTH)
    place = {"rows": problems.rows}
    return [
        place | {"metric": "rows_log", "value": problems.rows},
        place | {"metric": "rows_all", "value": problems.rows},
        place
        | {"metric": "rows_nonzero", "value": problems.nonzero}
        | {"target": "general", "part": "log"},
        place
        | {"metric": "smallest_propensity", "value": least}
        | {"target": "general", "part": "log"},
    ]
