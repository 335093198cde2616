"""The rows of a log as policies see them: batch after batch, with features and columns."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.files.streams import batches, column_names, row_count
from counterweight.files.tables import ROW_GROUP


def log_rows(features, labels, table=None, columns=()):
    """Rows of a log with their features, a batch at a time.

    Parameters
    ----------
    features, labels : str or Path
        Written by ``labeling.logs.label_log``: the same rows in the same order.
    table : str or Path, optional
        Prepared table, for `columns` that are no features; it may have more rows.
    columns : sequence of str

    Yields
    ------
    dict
        ``row, action, propensity, reward, keep_rate`` and ``logged`` (bool: by the known
        policy) as arrays (n,); ``features`` and ``table``, dicts of arrays (n,).

    Raises
    ------
    CounterweightError
        When the files do not belong together or lack a column.
    """
    stale = CounterweightError(
        f"{features} and {labels} are not of the same rows: delete the results of the study and "
        "run again."
    )
    if row_count(features) != row_count(labels):
        raise stale
    missing = [name for name in columns if name not in column_names(table)]
    if missing:
        raise CounterweightError(
            f"The log has no column {listed(missing)}, which a policy names; it has "
            f"{listed(name for name in column_names(table) if name != 'row')}: correct the name."
        )
    lookup = _Lookup(table, columns) if columns else None
    for x, part in zip(
        batches(features, size=ROW_GROUP),
        batches(labels, size=ROW_GROUP, categories=["role"]),
        strict=True,
    ):
        if not np.array_equal(x["row"], part["row"]):
            raise stale
        codes, names = part.pop("role")
        part["logged"] = np.array([name == "log" for name in names])[codes]
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
