"""Tables of answers about people, as Parquet and as CSV."""

from counterweight.files.tables import replacing, write_table


def write_answers(parquet, csv, columns):
    """Write the answers about people twice, each file whole or not at all.

    Parameters
    ----------
    parquet, csv : str or Path
    columns : dict of str to array
        True and false become yes and no in the CSV file; numbers keep all their digits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow

    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    write_table(parquet, table)
    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_boolean(column.type):
            table = table.set_column(at, name, pc.if_else(column, "yes", "no"))
    with replacing(csv) as path:
        arrow.write_csv(table, path, arrow.WriteOptions(quoting_style="needed"))
