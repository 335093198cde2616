"""What is asked of a log of one's own: policies that it tells itself, sums over its partitions."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.conditions import types_of_condition
from counterweight.labeling.log_files import looked_at
from counterweight.labeling.logs import LogProblems, a_word, lone_word, present, roles_of
from counterweight.numerics.checks import note_wrong
from counterweight.numerics.log_sums import begun


class PolicyColumns:
    """A policy by columns of a log, which is looked at batch by batch.

    `probability` is a column with a number from 0 to 1 for each row. Or `takes` and `shown` are
    those of the policy's action and of the logged one, numbers or texts: the probability is 1 where
    they are equal, else 0.
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


class LogQuestion:
    """What is asked of a log of one's own, whole or by partition: which columns, which policies.

    ``facts`` are ``outcome`` and ``labeling`` (options of their rules), ``policies`` (options of
    `PolicyColumns` by name), ``types`` and ``forms`` of the columns, the options of the protocol.
    """

    def __init__(self, facts):
        self.facts = facts

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

    def check(self, counts):
        """Refuse partitions that together are no log; for each what `sums` counted."""
        facts = self.facts
        problems = LogProblems(
            roles_of(facts["outcome"], facts["labeling"]), facts["labeling"]["rows_before"]
        )
        for counted in counts:
            problems.add(counted["problems"])
        problems.tell()
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
        problems = LogProblems(roles_of(facts["outcome"], labeling))
        rules = facts["outcome"], labeling, problems
        read = columns_of(facts), facts["types"], facts["forms"], reading, keys
        for frame, part in looked_at(rows, *rules, *read):
            table = {name: frame[name].to_numpy() for name in frame}
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
        for policy in policies:
            policy.tell()


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
