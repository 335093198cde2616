"""What the surveys of bids and yes/no answers share."""

from counterweight.files.tables import replacing


def named_index(path, columns):
    """Columns of a file whose first one numbers the rows, under the name that the file has.

    The published files have had several names for it, and none.

    Parameters
    ----------
    path : Path
    columns : dict of str to str
        As in `read_fields`.

    Returns
    -------
    dict of str to str
    """
    import csv

    kinds = dict(columns)
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            found = next(csv.reader([file.readline()]), [])
    except (OSError, csv.Error):
        return kinds  # the reader says what is wrong
    own = list(columns)[0]
    if found[1:] == list(columns)[1:] and found[0] not in kinds:
        del kinds[own]
        kinds = {found[0]: columns[own]} | kinds
    return kinds


def drawn(shares, group, rng):
    """Category numbers; row g of `shares` holds the shares in group g."""
    import numpy as np

    cumulated = np.cumsum(shares, axis=1)
    cumulated /= cumulated[:, -1:]
    return (rng.random(len(group))[:, None] >= cumulated[group]).sum(axis=1)


def write_fields(path, names, columns):
    """Write fields with commas between them below a header, without quotes."""
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii", newline="") as out:
        out.write(",".join(names) + "\n")
        out.writelines(",".join(map(str, line)) + "\n" for line in zip(*columns, strict=True))
