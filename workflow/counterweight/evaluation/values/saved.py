"""What a study of one's own log gives away: its roles and policies, to value another log by."""

import logging

import numpy as np

from counterweight.evaluation.values.log_values import begun, log_values, values_of_sums
from counterweight.evaluation.values.own_values import tables_of
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.log_files import looked_at
from counterweight.labeling.logs import LogProblems, roles_of
from counterweight.models.given_policy import GivenPolicy

log = logging.getLogger("counterweight")


class SavedValues:
    """The question of a log, asked of other rows: which columns, which policies.

    Nothing was fitted. ``facts`` hold what the columns are, and what the log was like, so that a
    new one that is unlike it is told: ``outcome`` and ``labeling`` (options of their rules),
    ``policies`` (options of `GivenPolicy` by name), ``types`` and ``forms`` of the columns,
    ``level``, ``thin``, ``anytime``, ``limit``, ``limit_at``, ``logged`` (mean reward of the log
    and its standard error), ``rows``.
    """

    KIND = "log"

    def __init__(self, facts):
        self.facts = facts

    def to_gift(self):
        """Kind, facts and arrays for `counterweight.files.gifts.write_gift`."""
        return self.KIND, self.facts, {}

    @classmethod
    def from_gift(cls, gift):
        return cls(gift.facts)

    def values(self, rows):
        """Value of each policy by a log, as a data frame.

        Parameters
        ----------
        rows : pandas.DataFrame, str or Path
            Rows of a log with the columns of the first one; or its file, CSV or Parquet, which is
            read in batches.

        Returns
        -------
        pandas.DataFrame
            Columns of ``own_values.VALUES``; the first line is of the policy that made the log.

        Raises
        ------
        CounterweightError
            As of the log of the study: one sentence.
        """
        import pandas as pd

        return pd.DataFrame(self.tables(rows)[0])

    def comparisons(self, rows):
        """Differences of the policies by a log, paired, as ``own_values.COMPARISONS``."""
        import pandas as pd

        return pd.DataFrame(self.tables(rows)[1])

    def tables(self, rows, reading=None):
        """Values and comparisons as dicts of columns, from the same passes over a log.

        ``reading`` says how the text of a file is read, see `counterweight.files.people`.
        """
        facts = self.facts
        known = log_values(
            lambda: self._batches(rows, reading),
            list(facts["policies"]),
            clusters=CLUSTERS if facts["labeling"].get("user") else 0,
            reward_range=(facts["outcome"].get("low"), facts["outcome"].get("high")),
            level=facts["level"],
            thin=facts["thin"],
            **{name: facts[name] for name in ("anytime", "limit", "limit_at") if name in facts},
        )
        self._compare(known)
        return tables_of(known)

    def _compare(self, known):
        """Warn of a log that earned something else than the first one did."""
        before, error = self.facts["logged"]
        gap = known.logged.value - before
        spread = np.hypot(error, known.logged.standard_error)
        if spread > 0 and abs(gap) > 4 * spread:
            log.warning(
                "The new log earned %.4g a row, the log of the study %.4g: more than chance "
                "explains, so its values are of another time or other people.",
                known.logged.value,
                before,
            )

    def sums(self, rows, reading=None, keys=None):
        """`LogSums` over one partition of a log, and what is counted in it.

        ``keys`` are columns that the names of its folders say, with their values. Counted are
        ``problems`` (`LogProblems.state`), ``agreed`` (rows whose action each policy may take) and
        the ``least`` propensity. What single rows have wrong is refused.
        """
        whole, counted = self.begun(), {"least": 1.0}
        for batch in self._batches(rows, reading, counted, keys):
            whole.add(batch)
            counted["least"] = min(counted["least"], float(batch["propensity"].min()))
        return whole, counted

    def begun(self):
        """Sums without a row."""
        facts = self.facts
        return begun(
            list(facts["policies"]),
            CLUSTERS if facts["labeling"].get("user") else 0,
            in_one_pass=True,
            **{name: facts[name] for name in ("thin", "limit", "limit_at")},
        )

    def values_of_sums(self, sums):
        """`LogValues` of the sums over all partitions."""
        facts = self.facts
        return values_of_sums(
            sums,
            list(facts["policies"]),
            reward_range=(facts["outcome"].get("low"), facts["outcome"].get("high")),
            level=facts["level"],
            anytime=facts["anytime"],
            rows_before=facts["labeling"]["rows_before"],
        )

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
            policy = GivenPolicy(**options)
            policy.rows_ = problems.rows
            policy.rows_agreed_ = sum(counted["agreed"][number] for counted in counts)
            policy.tell()

    def _batches(self, rows, reading, counted=None, keys=None):
        facts = self.facts
        policies = [GivenPolicy(**options) for options in facts["policies"].values()]
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
        named += GivenPolicy(**options).columns
    return list(dict.fromkeys(named))


def types_by_role(facts):
    """Types of the columns that values of a log need, as their roles ask."""
    types = dict.fromkeys(columns_of(facts), "number")
    texts = [facts["labeling"].get("user")]
    texts += [facts["outcome"]["column"]] if facts["outcome"].get("positive") is not None else []
    for options in facts["policies"].values():
        texts += [options.get("takes"), options.get("shown")]
    return types | {name: "text" for name in texts if name}
