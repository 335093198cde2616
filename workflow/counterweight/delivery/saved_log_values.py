"""What a study of one's own log delivers: tables of values, and its question for other logs."""

from __future__ import annotations

import logging
import math
from pathlib import Path

import numpy as np
import pandas as pd

from counterweight.delivery.saved_models import SavedModel
from counterweight.errors import listed
from counterweight.evaluation.log_values import LOGGED, users_in_words, values_of_log
from counterweight.labeling.columns import ids_again
from counterweight.labeling.log_files import LogQuestion, check_users
from counterweight.labeling.logs import OF_LOG
from counterweight.numerics.checks import pandas_frame
from counterweight.tables.parquet import write_table
from counterweight.tables.saved_form import write_csv

log = logging.getLogger("counterweight")
_RATIO = ("value", "low", "high", "standard_error")
_NUMBERS = (
    *_RATIO,
    *(f"{name}{end}" for name in ("gain", "lift") for end in ("", "_low", "_high")),
)
_SUPPORT = ("effective_rows", "largest_weight", "largest_share")
_WEIGHT = ("mean_weight", "mean_weight_low", "mean_weight_high", "thin_share")
#: Layouts of the tables.
VALUES = (
    *((name, "string") for name in ("policy", "estimator")),
    *((name, "float64") for name in _NUMBERS),
    *((name, "int64") for name in ("rows", "rows_rewarded")),
    *((name, "float64") for name in (*_SUPPORT, *_WEIGHT)),
    *((name, "string") for name in ("support", "rests_on")),
)
COMPARISONS = (
    *((name, "string") for name in ("policy", "other", "estimator")),
    *((name, "float64") for name in ("difference", "low", "high", "standard_error")),
    *((name, "string") for name in ("verdict", "support", "reason")),
)


class SavedValues(SavedModel):
    """The question of a log, asked of other rows: which columns, which policies.

    Nothing was fitted. ``facts`` are those of `LogQuestion`, with ``logged`` (mean reward of the
    log and its standard error) and ``rows``, so that a new log that is unlike it is told.
    """

    KIND = "log"

    def __init__(self, facts: dict, arrays: dict | tuple = ()) -> None:
        super().__init__(facts, dict(arrays))
        self.question = LogQuestion(facts)

    def _shown(self):
        return super()._shown() | {"policies": listed([*self.facts["policies"]], 8)}

    def values(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Value of each policy by a log, as a data frame of `VALUES`; first the policy that made
        the log.

        `rows` are a data frame with the columns of the first log, or its file (CSV or Parquet),
        which is read in batches; mistakes are refused as those of the study's log.
        """
        return pd.DataFrame(self.tables(rows)[0])

    def comparisons(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Differences of the policies by a log, paired, as `COMPARISONS`."""
        return pd.DataFrame(self.tables(rows)[1])

    def tables(self, rows: pd.DataFrame | str | Path, reading: dict | None = None) -> tuple:
        """Values and comparisons as dicts of columns, from the same passes over a log.

        ``reading`` says how the text of a file is read, see `counterweight.tables.table_reader`.
        """
        if not isinstance(rows, (str, Path)):
            rows = pandas_frame(rows, "rows of the log")
        known = values_of_log(self.question, rows, reading)
        if known.clusters:
            check_users(known.clusters, self.facts["labeling"].get("user"))
        count, error, whole = self.question.again
        if count:
            said = ids_again(count, whole, self.facts["labeling"].get("user"), error > 0)
            log.warning("Look at the column %s: %s.", self.facts["id"], said)
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


def delivered(output, known, facts):
    """Write what a study delivers: its question, and the tables of what its log says."""
    logged = [known.logged.value, known.logged.standard_error]
    told = {"logged": logged, "rows": known.rows, "answers": answers_of(known)}
    SavedValues(facts | told).save(output.model)
    write_tables(output, *tables_of(known))
    for (policy, estimator), support in known.support.items():
        why = f" ({'; '.join(support.reasons)})" if support.reasons else ""
        log.info("%s by %s: support %s%s", policy, estimator, support.flag, why)


def answers_of(known):
    """What a notebook shows: the value of each policy, by the estimator that answers go by."""
    of_each = {OF_LOG: known.logged}
    of_each |= {
        policy: one for (policy, by), one in known.values.items() if by == known.estimators[0]
    }
    return {
        f"value of {policy}": [False, one.value, one.low, one.high]
        for policy, one in of_each.items()
    }


def tables_of(known):
    """Values and comparisons of a log (`LogValues`) as two tables, dicts of str to list.

    Layouts `VALUES` and `COMPARISONS`; the first line of the values is of the policy that made the
    log, and the estimator that answers go by comes first. ``gain`` is the value minus that
    policy's, paired; ``verdict`` is better, worse, open or the same. ``support`` of a comparison
    is the worst of both values'.
    """
    values, comparisons = [], []
    mine = {"policy": OF_LOG, "estimator": "mean", "rows": known.rows}
    mine["support"], why = known.own
    mine |= _interval(known.logged) | {"rows_rewarded": known.nonzero}
    whose = users_in_words(known.clusters)
    said = f"{known.nonzero} rows with a reward of {known.rows}{whose}"
    mine["rests_on"] = ": ".join([said, *why])
    mine |= {"effective_rows": known.effective_rows, "largest_weight": 1.0, "mean_weight": 1.0}
    values.append(mine)
    for policy in dict.fromkeys(policy for policy, _ in known.values):
        for name in known.estimators:
            support = known.support[policy, name]
            gain, lift = known.differences[policy, LOGGED, name], known.lifts[policy, name]
            line = {"policy": policy, "estimator": name, "rows": known.rows}
            line |= _interval(known.values[policy, name]) | _told("gain", gain)
            line |= _told("lift", lift) | _told("mean_weight", support.mean_weight)
            line |= {key: getattr(support, key) for key in (*_SUPPORT, "rows_rewarded")}
            line |= {"thin_share": support.thin_share, "support": support.flag}
            line["rests_on"] = rests_on(support)
            values.append(line)
    pairs = sorted(known.differences, key=lambda pair: known.estimators.index(pair[2]))
    for policy, other, name in pairs:
        one = known.differences[policy, other, name]
        line = {"policy": policy, "other": other or OF_LOG, "estimator": name}
        line |= _interval(one) | {"difference": one.value, "verdict": verdict(one)}
        line["support"], line["reason"] = known.support_of(policy, other, name)
        comparisons.append(line)
    return _columns(values, VALUES), _columns(comparisons, COMPARISONS)


def verdict(one):
    """better, worse or open, by which side of 0 an interval lies on; the same where there is no
    difference at all.
    """
    if one.low == one.high == 0:
        return "the same"
    return "better" if one.low > 0 else "worse" if one.high < 0 else "open"


def rests_on(support):
    """What a value rests on, and why that is not good where it is not, in words."""
    count = "users" if support.clusters else "rows"
    said = (
        f"{support.rows_rewarded} rows with a reward among {support.rows_agreed} of {support.rows} "
        f"rows{users_in_words(support.clusters)} whose action the policy may take; as much as "
        f"{support.effective_rows:.0f} {count} that count alike"
    )
    return said + (f": {'; '.join(support.reasons)}" if support.reasons else "")


def _interval(one):
    return {name: getattr(one, name) for name in _RATIO}


def _told(name, one):
    return {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}


def _columns(rows, layout):
    empty = {"string": "", "float64": math.nan, "int64": 0}
    return {name: [row.get(name, empty[kind]) for row in rows] for name, kind in layout}


def write_tables(output, values, comparisons):
    """Write both tables of `tables_of` as Parquet and CSV, to ``values_parquet`` and so on."""
    for name, columns, layout in (
        ("values", values, VALUES),
        ("comparisons", comparisons, COMPARISONS),
    ):
        write_table(getattr(output, f"{name}_parquet"), columns, layout)
        write_csv(getattr(output, f"{name}_csv"), columns)
