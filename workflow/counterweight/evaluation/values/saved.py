"""What a study of one's own log gives away: its roles and policies, to value another log by."""

import logging
from pathlib import Path

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.values.log_values import log_values
from counterweight.evaluation.values.value_tables import tables_of
from counterweight.files.streams import log_batches
from counterweight.labeling.outcomes.logged_reward import logged_reward
from counterweight.labeling.own_log import CLUSTERS, LogProblems, own_log, present, roles_of
from counterweight.models.policies.given import GivenPolicy

log = logging.getLogger("counterweight")

#: Rows of a new log that are looked at at once.
ROWS = 100_000


class SavedValues:
    """The question of a log, asked of other rows: which columns, which policies.

    Nothing was fitted. It holds what the columns are, and what the log was like, so that a new
    one that is unlike it is told.

    Parameters
    ----------
    facts : dict
        ``outcome`` and ``labeling`` (options of their rules), ``policies`` (options of
        `GivenPolicy` by name), ``text`` (columns that hold text), ``level``, ``thin``, ``logged``
        (mean reward of the log and its standard error), ``rows``.
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
        """Value of each policy by a log.

        Parameters
        ----------
        rows : pandas.DataFrame, str or Path
            Rows of a log with the columns of the first one; or its file, CSV or Parquet, which is
            read in batches.

        Returns
        -------
        pandas.DataFrame
            Columns of ``value_tables.VALUES``; the first line is of the policy that made the log.

        Raises
        ------
        CounterweightError
            As of the log of the study: one sentence.
        """
        import pandas as pd

        return pd.DataFrame(self.tables(rows)[0])

    def comparisons(self, rows):
        """Differences of the policies by a log, paired; see `values`, ``value_tables.COMPARISONS``."""
        import pandas as pd

        return pd.DataFrame(self.tables(rows)[1])

    def tables(self, rows):
        """Values and comparisons as dicts of columns, from the same passes over a log."""
        facts = self.facts
        known = log_values(
            lambda: self._batches(rows),
            list(facts["policies"]),
            clusters=CLUSTERS if facts["labeling"].get("user") else 0,
            reward_range=(facts["outcome"].get("low"), facts["outcome"].get("high")),
            level=facts["level"],
            thin=facts["thin"],
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

    def _batches(self, rows):
        facts = self.facts
        policies = [GivenPolicy(**options) for options in facts["policies"].values()]
        problems = LogProblems(roles_of(facts["outcome"], facts["labeling"]))
        wanted = {*roles_of(facts["outcome"], facts["labeling"]).values()}
        wanted |= {column for policy in policies for column in policy.columns}
        start = 0
        for frame in _frames(rows, wanted):
            for column in wanted:
                present(frame, column, "column of a log of this study")
            frame = frame[sorted(wanted)]
            frame = frame.assign(row=np.arange(start, start + len(frame)))
            start += len(frame)
            frame = _typed(frame, wanted - {*facts["text"]})
            part = {"row": frame["row"].to_numpy()} | own_log(frame, **facts["labeling"])
            part["reward"] = logged_reward(frame, np.ones(len(frame), bool), **facts["outcome"])
            problems.look(part)
            table = {name: frame[name].to_numpy() for name in wanted}
            part["p"] = np.stack(
                [policy.look(part | {"table": table}) for policy in policies], axis=1
            )
            if not problems.noted:
                yield part
        problems.tell()
        for policy in policies:
            policy.tell()


def text_columns(table):
    """Columns of a prepared table that hold text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = (pa.types.is_string, pa.types.is_large_string)
    return [f.name for f in pq.read_schema(table) if any(is_text(f.type) for is_text in texts)]


def _frames(rows, wanted):
    """A log in batches of frames; of Parquet only the columns that are wanted."""
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        for start in range(0, len(rows), ROWS):
            yield rows.iloc[start : start + ROWS].reset_index(drop=True)
        return
    path = Path(rows)
    if path.suffix in (".parquet", ".pq") or (path.is_dir() and any(path.glob("*.parquet"))):
        for columns in log_batches(path, sorted(wanted), ROWS):
            yield pd.DataFrame(columns)
        return
    from counterweight.files.people import row_batches

    for table in row_batches(rows, absent="name the file of a log", rows=ROWS):
        yield table.to_pandas(ignore_metadata=True)


def _typed(frame, columns):
    """Columns of numbers as numbers, where a text file gave them as text."""
    import pandas as pd

    from counterweight.files.people import MISSING

    for column in columns:
        values = frame[column]
        if values.dtype.kind in "biuf" or not len(values):
            continue
        text = values.astype("str").str.strip()
        numbers = pd.to_numeric(text.where(~text.isin(MISSING)), errors="coerce")
        wrong = numbers.isna() & ~text.isin(MISSING) & values.notna()
        if wrong.any():
            first = int(np.argmax(wrong.to_numpy()))
            raise CounterweightError(
                f"The column {column!r} holds {text.iloc[first]!r} in row "
                f"{frame['row'].iloc[first]} (counted from 0), which is no number as in the log of "
                "the study: correct the row."
            )
        frame = frame.assign(**{column: numbers.astype(float)})
    return frame

