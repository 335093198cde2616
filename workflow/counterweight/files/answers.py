"""Tables of answers about people, as Parquet and as CSV."""

import contextlib
import csv as text
import io

from counterweight.files.tables import ROW_GROUP, replacing


@contextlib.contextmanager
def writing_answers(parquet, csv):
    """Write answers about people twice, batch by batch, both files whole or none of them.

    Parameters
    ----------
    parquet, csv : str or Path

    Yields
    ------
    callable
        ``write(columns)`` takes a dict of str to array, or a data frame, of the same columns
        each time. True and false become yes and no in the CSV file; numbers keep all their
        digits.
    """
    import pyarrow.parquet as pq
    from pyarrow import csv as arrow

    with contextlib.ExitStack() as stack:
        table_path, lines_path = (stack.enter_context(replacing(path)) for path in (parquet, csv))
        lines = stack.enter_context(open(lines_path, "wb"))
        plain = arrow.WriteOptions(include_header=False, quoting_style="needed")
        writers = []

        def write(columns):
            table = _table(columns)
            words = _as_words(table)
            if not writers:
                header = io.StringIO()
                text.writer(header, lineterminator="\n").writerow(table.column_names)
                lines.write(header.getvalue().encode())
                options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
                writers.append(
                    stack.enter_context(pq.ParquetWriter(table_path, table.schema, **options))
                )
            writers[0].write_table(table.cast(writers[0].schema), row_group_size=ROW_GROUP)
            arrow.write_csv(words, lines, plain)

        yield write


def write_answers(parquet, csv, columns):
    """Write answers about people as Parquet and as CSV; see `writing_answers`."""
    with writing_answers(parquet, csv) as write:
        write(columns)


def _table(columns):
    import pyarrow as pa

    if isinstance(columns, dict):
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    table = pa.Table.from_pandas(columns, preserve_index=False)
    return table.replace_schema_metadata(None)


def _as_words(table):
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_boolean(column.type):
            table = table.set_column(at, name, pc.if_else(column, "yes", "no"))
    return table
