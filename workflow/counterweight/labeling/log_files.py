"""Files of a log, in batches, and what is asked of it: its policies, sums over its partitions.

Memory does not grow with the rows of a log.
"""

import contextlib
from pathlib import Path

import numpy as np

from counterweight.datasets.own_table import forms_found, new_rows, typed_like
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import CLUSTERS, actions, check_finite, types_of_condition
from counterweight.labeling.logs import (
    ROLES,
    LogProblems,
    PropensityTest,
    a_word,
    logged_reward,
    lone_word,
    own_log,
    present,
    roles_of,
    wrong_propensities,
)
from counterweight.numerics.checks import note_wrong, with_columns
from counterweight.numerics.log_sums import Columns, LogSums, begun
from counterweight.tables.parquet import (
    ROW_GROUP,
    batches,
    column_names,
    read_table,
    row_count,
    together,
    write_table,
    writing,
)
from counterweight.tables.table_reader import header_of

#: Labels of a log, of a log of one's own, and what is known of policies.
LABELS = (
    ("row", "int32"),
    ("role", "string"),
    ("keep_rate", "float64"),
    ("action", "int32"),
    ("propensity", "float64"),
    ("reward", "float64"),
)
OWN_LABELS = (
    ("row", "int32"),
    ("role", "string"),
    ("keep_rate", "float64"),
    ("propensity", "float64"),
    ("reward", "float64"),
    ("weight", "float64"),
    ("cluster", "int32"),
)
#: Column of the labels where rows belong to users.
USER = ("cluster", "int32")
#: Rows of a new log that are looked at at once.
NEW_ROWS = 100_000
#: What to do where a new log is not there.
ABSENT = "name the file of a log"
TRUTH = (
    ("policy", "string"),
    ("value", "float64"),
    ("standard_error", "float64"),
    ("rows", "int64"),
)


def rows_in_step(sources):
    """Batches of several files of the same rows, in step; files of others are refused.

    `sources` are pairs of a path and its columns, ``row`` among them; the first says which rows. A
    column ``role`` comes as ``(codes, names)``. Yields a list of dicts of arrays.
    """
    start = 0
    asked = [(path, columns, [n for n in columns if n == "role"]) for path, columns in sources]
    for ours, *others in together(asked):
        for (path, _), theirs in zip(sources[1:], others, strict=True):
            differ = ours["row"] != theirs["row"]
            if differ.any():
                first = int(np.argmax(differ))
                raise CounterweightError(
                    f"{path} is not of the rows of {sources[0][0]}: line {start + first} has the "
                    f"row id {theirs['row'][first]}, not {ours['row'][first]}; delete the "
                    "predictions of the study and run again."
                )
        start += len(ours["row"])
        yield [ours, *others]


def of_role(role, name="log"):
    """Which rows have a role, given as ``(codes, names)``."""
    codes, names = role
    return np.array([one == name for one in names] or [False])[codes]


def log_rows(features, labels, table=None, columns=()):
    """Rows of a log as policies see them: with features and columns, a batch at a time.

    `features` and `labels` were written by `label_log`; of `table`, the prepared table, which may
    have more rows, come the `columns` that are no features. Yields the labels as arrays (n,), with
    ``logged`` (bool: by the known policy) in the place of the role; ``features`` and ``table`` are
    dicts of arrays (n,). Files that do not belong together or lack a column are refused.
    """
    stale = CounterweightError(
        f"{features} and {labels} are not of the same rows: delete the results of the study and "
        "run again."
    )
    if row_count(features) != row_count(labels):
        raise stale
    for name in columns:
        present(column_names(table), name)
    lookup = _Lookup(table, columns) if columns else None
    sources = [(labels, None, ["role"]), (features, None, ())]
    for part, x in together(sources, ROW_GROUP):
        if not np.array_equal(x["row"], part["row"]):
            raise stale
        part["logged"] = of_role(part.pop("role"))
        part["features"] = {name: values for name, values in x.items() if name != "row"}
        part["table"] = lookup.get(part["row"]) if lookup else {}
        yield part


class _Lookup:
    """Columns of a table by row id, for ids that come in ascending order."""

    def __init__(self, path, columns):
        self._path = path
        self._parts = batches(path, ["row", *columns], ROW_GROUP)
        self._rest = {"row": np.empty(0, int)}

    def get(self, rows):
        parts, done = [], 0
        while done < len(rows):
            if not len(self._rest["row"]):
                self._rest = next(self._parts, None)
                if self._rest is None:
                    raise self._missing(rows[done])
            ids = self._rest["row"]
            stop = int(np.searchsorted(rows, ids[-1], side="right"))
            at = np.searchsorted(ids, rows[done:stop])
            if not np.array_equal(ids[at], rows[done:stop]):
                raise self._missing(rows[done:stop][ids[at] != rows[done:stop]][0])
            parts.append({name: values[at] for name, values in self._rest.items()})
            used = at[-1] + 1 if stop == len(rows) else len(ids)
            self._rest = {name: values[used:] for name, values in self._rest.items()}
            done = stop
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _missing(self, row):
        return CounterweightError(
            f"{self._path} has no row {row}, which the labels have: delete the results of the "
            "study and run again."
        )


def label_log(table, known, outputs, *, recipe, outcome, rule, rng, reward=None, roles=None):
    """Write features, labels and truth of a log, a batch of rows at a time, in their order.

    `table` is the prepared table, with ``row`` ascending; `known` what is known of a generated data
    set, of which values of policies are used if it has any (columns ``policy`` and ``value``).
    ``recipe(frame, rng, outcome=reward)`` gives features of the same rows, ``outcome(frame,
    population)`` rewards; the rule is `logs.logged` or `logs.own_log` with its options. `reward` is
    the column that must not become a feature, `roles` the columns of a log of one's own by role
    (`logs.roles_of`). Returns metric records: ``rows_log``, ``rows_all``, and by role
    ``rows_nonzero`` and ``smallest_propensity``; but for a log of one's own also
    ``rows_on_policy``, ``rows_dropped`` (of neither role) and ``reward_mean`` (weighted by 1 / keep
    rate where the reward is 0, with its linearised standard error). Refused are a log without a
    row, row ids that do not ascend, what `logs.LogProblems` tells and what the rules refuse.
    """
    for part, other in ((recipe, "as_is"), (outcome, "reward")):
        made = getattr(part, "func", part)
        if getattr(made, "whole_table", False):
            raise CounterweightError(
                f"The rule {made.__name__} looks at all rows, and those of a log are read in "
                f"batches: choose another, e.g. {other}."
            )
    needs, wanted, own = getattr(getattr(recipe, "func", recipe), "needs", None), None, roles
    said = getattr(rule, "keywords", {})
    if own is None:
        roles = {"propensity": "propensity", "action": "action"} | said
    else:
        names = column_names(table)
        for role, column in roles.items():
            present(names, column, role.replace("_", " "))
        if needs is not None:
            wanted = list(dict.fromkeys(["row", *roles.values(), *needs]))
    sums, users = None, False
    problems = LogProblems(roles, said.get("rows_before", 0))
    layout = OWN_LABELS if own else LABELS
    rules = {"recipe": recipe, "outcome": outcome, "rule": rule, "rng": rng}
    with contextlib.ExitStack() as stack:
        for part in _labeled(table, wanted, outputs, stack, layout, problems, reward, rules):
            if sums is None:
                users = "cluster" in part and part["cluster"][0] >= 0
                sums = [_Role(CLUSTERS if users else 0) for _ in ROLES]
            for number, total in enumerate(sums):
                total.see(part, part["role"] == number)
        (problems.tell_rows if own is None else problems.tell)()
        if not problems.rows + problems.dropped:
            raise CounterweightError(f"{table} has no row: a log needs some.")
        sums = sums or [_Role(0) for _ in ROLES]
        if not sums[0].rows:
            raise CounterweightError(
                f"No row belongs to the log: none of {sums[1].rows + problems.dropped} rows has "
                "the values that labeling.log asks for; correct its columns and values."
            )
        if users:
            check_users(sums[0].groups.any(axis=0).sum(), roles["user"])
    values = []
    # What is known of single rows is no truth of a policy, and may be large.
    if known and {"policy", "value"} <= set(column_names(known)):
        values = read_table(known, [name for name, _ in TRUTH]).to_dict("records")
    if sums[1].rows:
        mean, error = sums[1].mean_reward()
        values.append({"policy": "", "value": mean, "standard_error": error, "rows": sums[1].rows})
    write_table(
        outputs["truth"], {name: [value[name] for value in values] for name, _ in TRUTH}, TRUTH
    )
    return _describe(sums, problems.dropped, own is not None)


def _labeled(table, wanted, outputs, stack, layout, problems, reward, rules):
    """The labels of the rows of a log, batch by batch, once they and their features are written."""
    import pandas as pd
    import pyarrow as pa

    from counterweight.tables.study_data import check_row_ids

    out, last = {}, -1
    for columns in batches(table, wanted, ROW_GROUP):
        frame = pd.DataFrame(columns)
        check_row_ids(np.r_[last, frame["row"]])
        last = frame["row"].iloc[-1] if len(frame) else last
        part = {"role": np.zeros(len(frame), int)} | rules["rule"](frame)
        mine = part["role"] >= 0
        problems.dropped += int((~mine).sum())
        if not mine.any():
            continue
        if not mine.all():
            frame = frame[mine].reset_index(drop=True)
            part = {name: values[mine] for name, values in part.items()}
        part["row"] = frame["row"].to_numpy()
        part["reward"] = np.asarray(rules["outcome"](frame, np.ones(len(frame), bool)), dtype=float)
        problems.look(part, frame)
        if "labels" not in out:
            layout = (*layout, USER) if "cluster" in part and USER not in layout else layout
            out["labels"] = stack.enter_context(writing(outputs["labels"], layout))
        features = rules["recipe"](frame, rules["rng"], outcome=reward)
        _check_features(features, part["row"])
        named = [name for name in features.columns if name != "row"]
        if "features" not in out:
            first = named
            kinds = [("row", "int32"), *((name, "float64") for name in named)]
            out["features"] = stack.enter_context(writing(outputs["features"], kinds))
        elif named != first:
            raise CounterweightError(
                "The feature recipe makes other features of some rows of the log than of its "
                f"first ({listed(sorted(set(named) ^ set(first)))}): choose another, e.g. as_is."
            )
        if problems.noted:
            continue  # the rest is only read to count
        out["features"].write({name: features[name].to_numpy() for name in features})
        role = pa.DictionaryArray.from_arrays(part["role"].astype("int8"), ROLES)
        out["labels"].write(part | {"role": role})
        yield part


def _check_features(features, rows):
    if not np.array_equal(features["row"], rows):
        raise CounterweightError(
            "The feature recipe leaves rows of the log out, and a log needs all of its rows: "
            "choose a recipe that keeps every row, e.g. as_is."
        )
    check_finite(features)


def _describe(sums, dropped, own):
    totals = {f"rows_{role}": total.rows for role, total in zip(ROLES, sums, strict=True)}
    totals |= {"rows_all": sum(total.rows for total in sums), "rows_dropped": dropped}
    if own:
        totals = {name: totals[name] for name in ("rows_log", "rows_all")}
    records = [
        {"metric": name, "value": value, "rows": totals["rows_all"]}
        for name, value in totals.items()
    ]
    for role, total in zip(ROLES, sums, strict=True):
        if total.rows:
            place = {"target": "general", "part": role, "rows": total.rows}
            records.append(place | {"metric": "rows_nonzero", "value": total.nonzero})
            if not own:
                mean, error = total.mean_reward()
                told = {"metric": "reward_mean", "value": mean, "standard_error": error}
                records.append(place | told)
            records.append(place | {"metric": "smallest_propensity", "value": total.smallest})
    return records


class _Role(LogSums):
    """Sums over the rows of one role, without policies, and their smallest propensity."""

    def __init__(self, clusters):
        super().__init__(Columns(0), clusters, thin=0)
        self.smallest = np.inf

    def see(self, part, mask):
        rows = int(mask.sum())
        names = ("reward", "propensity", "keep_rate", *["cluster"] * (self.groups is not None))
        own = {name: part[name][mask] for name in names}
        self.smallest = np.fmin(self.smallest, np.nanmin(own["propensity"], initial=np.inf))
        self.add(own | {"weight": np.ones(rows), "p": np.empty((rows, 0))})


def types_of_table(table):
    """Types of the columns of a prepared table that has no column report: text or number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = (pa.types.is_string, pa.types.is_large_string)
    return {
        one.name: "text" if any(is_text(one.type) for is_text in texts) else "number"
        for one in pq.read_schema(table)
    }


def looked_at(rows, outcome, labeling, problems, columns, types, forms, reading, keys):
    """Batches of a new log of one's own: the frame, and its labels, of which `problems` are noted.

    `outcome` and `labeling` are the options of the rules; for the others see `frames_of`.
    """
    for frame in frames_of(rows, columns, types, forms, reading, keys):
        part = {"row": frame["row"].to_numpy()} | own_log(frame, **labeling)
        part["reward"] = logged_reward(frame, np.ones(len(frame), bool), **outcome)
        problems.look(part, frame)
        if problems.person:
            problems.ids.add(frame[problems.person])
        yield frame, part


def frames_of(rows, needed, types, forms, reading, keys=None):
    """A log in batches of frames, typed as that of the study.

    Where `forms` is None, the log is read as its roles ask, and its first rows say how numbers are
    written.
    """
    import pandas as pd

    keys = {name: value for name, value in (keys or {}).items() if name in needed}
    needed = [name for name in needed if name not in keys]
    if isinstance(rows, pd.DataFrame):
        if forms is None:
            forms = forms_found("the log", rows, types, needed=needed, reading=reading)
        frames = (
            typed_like("the log", part, types, needed=needed, forms=forms, first=start)
            for start in range(0, len(rows), NEW_ROWS)
            for part in [rows.iloc[start : start + NEW_ROWS]]
        )
    elif not isinstance(rows, (str, Path)):
        raise CounterweightError(
            f"The log is of the type {type(rows).__name__}: give a data frame, or its file."
        )
    else:
        frames = new_rows(
            rows,
            types,
            needed,
            forms=forms,
            reading=reading,
            rows=NEW_ROWS,
            absent=ABSENT,
            find=forms is None,
        )
    for frame in frames:
        whole = [name for name in needed if types[name] == "boolean"]
        frame = frame.astype(dict.fromkeys(whole, float)) if whole else frame
        # A folder's name tells a text; a number where the role asks for one.
        told = {k: v if types[k] == "text" else pd.to_numeric(v) for k, v in keys.items()}
        yield with_columns(frame, told) if told else frame


class PolicyColumns:
    """A policy by columns of a log, which is looked at batch by batch.

    `probability` is a column with a number from 0 to 1 for each row. Or `takes` and `shown` are
    those of the policy's action and of the logged one, numbers or texts: the probability is 1 where
    they are the same action (`columns.actions`), else 0.
    """

    def __init__(self, probability="", takes="", shown=""):
        if bool(probability) == bool(takes) or bool(takes) != bool(shown):
            raise CounterweightError(
                "A policy is given either by the column of its probability of the logged action, "
                "or by the column of the action that it takes together with that of the logged "
                "action: name one or the other."
            )
        self.probability, self.takes, self.shown = probability, takes, shown
        self.rows_ = self.rows_agreed_ = 0
        self._bad = {}

    @property
    def columns(self):
        """Columns of the log that it needs."""
        return [name for name in (self.probability, self.takes, self.shown) if name]

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
            own, shown = (actions(table[name]) for name in (self.takes, self.shown))
            for name, values in ((self.takes, own), (self.shown, shown)):
                lacks = np.equal(values, None)
                note_wrong(self._bad, name, lacks, np.full(len(values), np.nan), rows)
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


class LogQuestion:
    """What is asked of a log of one's own, whole or by partition: which columns, which policies.

    ``facts`` are ``outcome`` and ``labeling`` (options of their rules), ``policies`` (options of
    `PolicyColumns` by name), ``types`` and ``forms`` of the columns, the options of the protocol;
    ``id`` is the column of ids, "" for none. ``again`` are the last log's rows that share theirs
    with others, their standard error and all rows.
    """

    def __init__(self, facts):
        self.facts, self.again, self._tests = facts, (0.0, 0.0, 0), []

    @property
    def clusters(self):
        """Number of clusters of users, 0 where rows stand for themselves."""
        return CLUSTERS if self.facts["labeling"].get("user") else 0

    def sums(self, rows, reading=None, keys=None):
        """`LogSums` over one partition of a log, and what is counted in it.

        ``keys`` are columns that the names of its folders say, with their values. Counted are
        ``problems`` (`LogProblems.state`), ``agreed`` (rows whose action each policy may take) and
        the ``least`` propensity. What single rows have wrong is refused.
        """
        whole, counted = self.begun(), {"least": 1.0}
        for batch in self.batches(rows, reading, counted, keys):
            whole.add(batch)
            counted["least"] = min(counted["least"], float(batch["propensity"].min()))
        return whole, counted

    def begun(self):
        """Sums without a row, of one partition or of several."""
        limits = {name: self.facts[name] for name in ("thin", "limit", "limit_at")}
        return begun(len(self.facts["policies"]), self.clusters, in_one_pass=True, **limits)

    def wrong(self):
        """Words on why propensities of the last log, a whole one, are wrong; "" if they may be."""
        return wrong_propensities([one for test in self._tests for one in test.records()])

    def check(self, counts):
        """Refuse partitions that together are no log; for each what `sums` counted."""
        facts = self.facts
        problems = LogProblems(
            roles_of(facts["outcome"], facts["labeling"]), facts["labeling"]["rows_before"]
        )
        for counted in counts:
            problems.add(counted["problems"])
        problems.tell()
        self.again = (*problems.ids.shared(), problems.rows)
        for number, options in enumerate(facts["policies"].values()):
            policy = PolicyColumns(**options)
            policy.rows_ = problems.rows
            policy.rows_agreed_ = sum(counted["agreed"][number] for counted in counts)
            policy.tell()

    def batches(self, rows, reading=None, counted=None, keys=None):
        """Batches of a log as values are made of, with ``p`` of each policy; mistakes are refused.

        Of one partition of several the rows are `counted`.
        """
        facts = self.facts
        policies = [PolicyColumns(**options) for options in facts["policies"].values()]
        # How many rows a new log had before is not known.
        labeling = facts["labeling"] | {"rows_before": 0}
        person = id_among(facts.get("id"), rows, reading)
        problems = LogProblems(roles_of(facts["outcome"], labeling), person=person)
        rules, types = (facts["outcome"], labeling, problems), facts["types"]
        columns = columns_of(facts)
        if person and person not in columns:
            columns, types = [*columns, person], types | {person: "text"}
        read, taken = (columns, types, facts["forms"], reading, keys), {}
        for one in facts["policies"].values() if counted is None else ():
            if one.get("takes"):
                taken.setdefault(one["shown"], []).append(one["takes"])
        self._tests = [PropensityTest(shown, takes, takes) for shown, takes in taken.items()]
        for frame, part in looked_at(rows, *rules, *read):
            table = {name: frame[name].to_numpy() for name in frame}
            for test in self._tests:
                test.add(part | {"table": table})
            p = [policy.look(part | {"table": table}) for policy in policies]
            if not problems.noted:
                yield part | {"p": np.stack(p, axis=1)}
        if counted is not None:
            # One partition of several: what only the whole log can be is not asked of it.
            problems.tell_rows()
            for policy in policies:
                policy.tell_rows()
            counted["problems"] = problems.state()
            counted["agreed"] = [policy.rows_agreed_ for policy in policies]
            return
        problems.tell()
        self.again = (*problems.ids.shared(), problems.rows)
        for policy in policies:
            policy.tell()


def id_among(person, rows, reading=None):
    """The column of ids of a log, a frame or a file; "" where it has none."""
    import pandas as pd

    if not person or not isinstance(rows, (pd.DataFrame, str, Path)):
        return ""
    whole = isinstance(rows, pd.DataFrame)
    names = rows.columns if whole else header_of(rows, absent=ABSENT, reading=reading)
    return person if person in names else ""


def columns_of(facts):
    """Columns that values of a log need, by its facts."""
    named = list(roles_of(facts["outcome"], facts["labeling"]).values())
    for options in facts["policies"].values():
        named += PolicyColumns(**options).columns
    return list(dict.fromkeys(named))


def types_by_role(facts):
    """Types of the columns that values of a log need, as their roles ask."""
    types = dict.fromkeys(columns_of(facts), "number")
    texts = [facts["labeling"].get("user")]
    texts += [facts["outcome"]["column"]] if facts["outcome"].get("positive") is not None else []
    for options in facts["policies"].values():
        texts += [options.get("takes"), options.get("shown")]
    types |= {name: "text" for name in texts if name}
    return types | types_of_condition(facts["labeling"].get("kept_where") or {})


def check_users(count, column):
    """Refuse a log whose rows belong to one user of a column."""
    if count < 2:
        raise CounterweightError(
            f"All rows of the log belong to one user (column {column!r}), and what a value may be "
            "off by is told by how users differ: name another column, or leave user out if rows "
            "are independent."
        )
