"""Logs of actions: which rows the known policy logged, and which the policy to be evaluated."""

import contextlib

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Option, Text
from counterweight.labeling.columns import (
    CLUSTERS,
    check_finite,
    clusters,
    floats,
    matches,
    require,
)
from counterweight.numerics.checks import note_wrong
from counterweight.numerics.zero_rejection import keep_weights

#: Studies with this labeling rule are about a log, not about classes.
KIND = "log"
OPTIONS = {
    "action": Text("action", "Column of the action that was taken (a whole number)."),
    "propensity": Text("propensity", "Column of the probability with which the logging policy took it."),
    "log": Option({}, "Column and value of the rows that the logging policy made; {} for all.", type="object"),
    "on_policy": Option(None,
        "Column and value of rows that the policy to be evaluated made itself; null for none. Their mean reward is the "
        "truth.", type="object", null=True),
    "keep_rate": Text("", "Column of the rate at which zero-reward rows were kept; empty where all were."),
    "user": Text("", "Column of the user (or session, or day) whose rows are not independent; empty where every row stands for itself."),
}  # fmt: skip
LABEL = "rewards are seen of logged actions only"
LABELS = (
    ("row", "int32"),
    ("role", "string"),
    ("keep_rate", "float64"),
    ("action", "int32"),
    ("propensity", "float64"),
    ("reward", "float64"),
)
TRUTH = (
    ("policy", "string"),
    ("value", "float64"),
    ("standard_error", "float64"),
    ("rows", "int64"),
)
ROLES = ("log", "on_policy")


#: Column of the labels where rows belong to users.
USER = ("cluster", "int32")


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
    """Roles, actions, propensities and keep rates of some rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows, with ``row``; of a log in batches, one batch.
    action, propensity, keep_rate, user : str
        Columns; ``keep_rate=""`` where every row was kept, ``user=""`` where it stands for itself.
    log, on_policy : mapping of str to value
        The rows that have these values, all of them; an empty `log` is every row, and
        ``on_policy=None`` no row.

    Returns
    -------
    dict of str to numpy.ndarray
        ``role`` (number in `ROLES`, -1 for neither), ``action``, ``propensity``,
        ``keep_rate``, as floats where a value may be missing; with users ``cluster``, see
        ``own_log.clusters``.

    Raises
    ------
    CounterweightError
        When a column is missing or is text, or a row has both roles.
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


def label_log(table, known, outputs, *, recipe, outcome, rule, rng, reward=None):
    """Write features, labels and truth of a log, a batch of rows at a time.

    Rows keep their order. Memory does not grow with their number.

    Parameters
    ----------
    table : str or Path
        Prepared table, with ``row`` ascending.
    known : str or Path, or None
        What is known of a generated data set. Its values of policies are used if it has any
        (columns ``policy`` and ``value``).
    outputs : mapping of str to path
        ``features``, ``labels``, ``truth``.
    recipe : callable
        ``recipe(frame, rng, outcome=reward) -> features`` of the same rows.
    outcome : callable
        ``outcome(frame, population) -> rewards``.
    rule : callable
        `logged` with its options.
    rng : numpy.random.Generator
        For the recipe.
    reward : str, optional
        Column that must not become a feature.

    Returns
    -------
    list of dict
        Metric records: ``rows_log``, ``rows_on_policy``, ``rows_all``, ``rows_dropped`` (of
        neither), and by role ``rows_nonzero``, ``reward_mean`` (weighted by 1 / keep rate
        where the reward is 0, with its linearised standard error), ``smallest_propensity``.

    Raises
    ------
    CounterweightError
        When no row belongs to the log; a propensity is missing or not in (0, 1]; an action
        is no whole number; a keep rate is out of (0, 1], or missing where the reward
        is 0; the row ids do not ascend; and whatever the rules refuse.
    """
    import pandas as pd

    from counterweight.files.streams import batches, writing
    from counterweight.files.tables import ROW_GROUP, write_table

    for part, other in ((recipe, "as_is"), (outcome, "reward")):
        made = getattr(part, "func", part)
        if getattr(made, "whole_table", False):
            raise CounterweightError(
                f"The rule {made.__name__} looks at all rows, and those of a log are read in "
                f"batches: choose another, e.g. {other}."
            )
    sums = [_Sums() for _ in ROLES]
    problems, dropped, last = _Problems(), 0, -1
    with contextlib.ExitStack() as stack:
        out = {}
        for columns in batches(table, size=ROW_GROUP):
            frame = pd.DataFrame(columns)
            last = _ascending(frame["row"].to_numpy(), last)
            part = rule(frame)
            mine = part["role"] >= 0
            dropped += int((~mine).sum())
            if not mine.any():
                continue
            frame = frame[mine].reset_index(drop=True)
            part = {name: values[mine] for name, values in part.items()}
            part |= {
                "row": frame["row"].to_numpy(),
                "reward": np.asarray(outcome(frame, np.ones(len(frame), bool)), dtype=float),
            }
            problems.look(part)
            if "labels" not in out:
                own = (*LABELS, USER) if "cluster" in part else LABELS
                out["labels"] = stack.enter_context(writing(outputs["labels"], own))
            features = recipe(frame, rng, outcome=reward)
            _check_features(features, part["row"])
            if "features" not in out:
                layout = [("row", "int32")]
                layout += [(name, "float64") for name in features.columns if name != "row"]
                out["features"] = stack.enter_context(writing(outputs["features"], layout))
            elif list(features.columns) != [name for name, _ in layout]:
                changed = set(features.columns) ^ {name for name, _ in layout}
                raise CounterweightError(
                    "The feature recipe makes other features of some rows of the log than of its "
                    f"first ({listed(sorted(changed))}): choose another, e.g. as_is."
                )
            if problems.noted:
                continue  # the rest is only read to count
            out["features"].write({name: features[name].to_numpy() for name in features})
            out["labels"].write(part | {"role": _role_names(part["role"])})
            for number, total in enumerate(sums):
                total.add(part, part["role"] == number)
        problems.tell()
        if last < 0:
            raise CounterweightError(f"{table} has no row: a log needs some.")
        if not sums[0].rows:
            raise CounterweightError(
                f"No row belongs to the log: none of {sums[1].rows + dropped} rows has the values "
                "that labeling.log asks for; correct its columns and values."
            )
    values = _known_values(known)
    if sums[1].rows:
        mean, error = sums[1].mean()
        values.append({"policy": "", "value": mean, "standard_error": error, "rows": sums[1].rows})
    write_table(
        outputs["truth"], {name: [value[name] for value in values] for name, _ in TRUTH}, TRUTH
    )
    return _describe(sums, dropped)


def _ascending(rows, last):
    from counterweight.files.study_data import check_row_ids

    check_row_ids(np.concatenate([[last], rows]))
    return rows[-1] if len(rows) else last


def _check_features(features, rows):
    if not np.array_equal(features["row"], rows):
        raise CounterweightError(
            "The feature recipe leaves rows of the log out, and a log needs all of its rows: "
            "choose a recipe that keeps every row, e.g. as_is."
        )
    check_finite(features)


def _role_names(role):
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(role.astype("int8")), pa.array(ROLES))


def _known_values(known):
    if not known:
        return []
    from counterweight.files.streams import column_names
    from counterweight.files.tables import read_table

    # What is known of single rows is no truth of a policy, and may be large.
    if not {"policy", "value"} <= set(column_names(known)):
        return []
    return read_table(known, [name for name, _ in TRUTH]).to_dict("records")


def _describe(sums, dropped):
    totals = {f"rows_{role}": total.rows for role, total in zip(ROLES, sums, strict=True)}
    totals |= {"rows_all": sum(total.rows for total in sums), "rows_dropped": dropped}
    records = [
        {"metric": name, "value": value, "rows": totals["rows_all"]}
        for name, value in totals.items()
    ]
    for role, total in zip(ROLES, sums, strict=True):
        if total.rows:
            mean, error = total.mean()
            place = {"target": "general", "part": role, "rows": total.rows}
            records += [
                place | {"metric": "rows_nonzero", "value": total.nonzero},
                place | {"metric": "reward_mean", "value": mean, "standard_error": error},
                place | {"metric": "smallest_propensity", "value": total.least},
            ]
    return records


class _Problems:
    """Counts what is wrong over all batches, so that the sentence can say how often."""

    def __init__(self):
        self.noted = {}

    def look(self, part):
        p, rate, action = part["propensity"], part["keep_rate"], part["action"]
        with np.errstate(invalid="ignore"):
            missing = np.isnan(rate)
            for name, wrong, values in (
                ("action", (action % 1 != 0) | (np.abs(action) >= 2**31), action),
                ("propensity", (part["role"] == 0) & ~((p > 0) & (p <= 1)), p),
                ("rate", ~missing & ~((rate > 0) & (rate <= 1)), rate),
                ("missing", missing & (part["reward"] == 0), rate),
                ("user", part.get("cluster", np.zeros(len(p))) == -2, p),
            ):
                note_wrong(self.noted, name, wrong, values, part["row"])

    def tell(self):
        """Raise for the first kind of problem found."""
        texts = {
            "action": "The action is not a whole number, or not below 2^31, in {rows} (first: "
            "{value:g} in row {row}): number the actions.",
            "propensity": "The propensity is missing, or not above 0 and at most 1, in {rows} of "
            "the log (first: {value:g} in row {row}): every row of the log needs the probability "
            "with which its action was taken; correct these rows or leave them out.",
            "rate": "The keep rate is not above 0 and at most 1 in {rows} (first: {value:g} in row "
            "{row}): it is the probability with which a zero-reward row was kept.",
            "user": "The user is missing in {rows} (first: row {row}): fill it in, or leave these "
            "rows out.",
            "missing": "The keep rate is missing in {rows} of reward 0 (first: row {row}): fill in "
            "the probability with which these rows were kept.",
        }
        for name, text in texts.items():
            if name in self.noted:
                count, value, row = self.noted[name]
                rows = "1 row" if count == 1 else f"{count} rows"
                raise CounterweightError(text.format(rows=rows, value=value, row=row))


class _Sums:
    """Moments of the rewards of one role, with weight 1 / keep rate where they are 0."""

    def __init__(self):
        self.rows = self.nonzero = 0
        self.least = np.inf
        self.moments, self.users = np.zeros(5), None

    def add(self, part, mask):
        reward = part["reward"][mask]
        weight = keep_weights(reward, part["keep_rate"][mask])
        self.rows += len(reward)
        self.nonzero += int((reward != 0).sum())
        known = part["propensity"][mask]
        self.least = min(self.least, np.min(known, initial=np.inf, where=~np.isnan(known)))
        if "cluster" in part:
            self.users = np.zeros((2, CLUSTERS)) if self.users is None else self.users
            for own, values in zip(self.users, (weight, weight * reward), strict=True):
                own += np.bincount(part["cluster"][mask], values, CLUSTERS)
        square = weight * weight
        self.moments += [
            term.sum()
            for term in (weight, weight * reward, square, square * reward, square * reward**2)
        ]

    def mean(self):
        """Ratio mean of the rewards and its linearised standard error, of users where there are."""
        total, first, w2, w2r, w2r2 = self.moments
        mean = first / total
        squares = max(w2r2 - 2 * mean * w2r + mean**2 * w2, 0.0)
        n = self.rows
        if self.users is not None:
            size, earned = self.users
            squares, n = float(((earned - mean * size) ** 2).sum()), int((size > 0).sum())
        return mean, np.sqrt(squares * n / (n - 1)) / total if n > 1 else np.nan
