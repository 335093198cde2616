"""Helpers to look into lists of partial metric records."""

from counterweight.tables.parquet import PLACE


def where(record):
    """What of the place of a record is not empty: measure, setting, part, variable, step, rate."""
    return tuple(record[name] for name in PLACE if record.get(name) not in (None, ""))
